"""Naming: ids, scenarios and tags made of texts of other tools."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

LONGEST = 60
_ID = re.compile(r"\w[\w.\-/+@=]*(?::[\w.\-/+@=]+)*")


class Namer:
    """Gives out ids, each once."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def name(self, texts: Iterable[tuple[str, str, str]], position: int) -> tuple[str, str]:
        """Return what an id was taken from, and the id: that of the first text that makes one, with its suffix."""
        for source, text, suffix in texts:
            fits = source == "id" and len(text) <= 150 and _ID.fullmatch(text)
            if name := text if fits else slug(text):
                return source, self._unique(f"{name}-{suffix}" if suffix else name)
        return "position", self._unique(f"case-{position}")

    def free(self, name: str) -> None:
        """Take back an id that nobody uses."""
        self._given.discard(name)

    def _unique(self, name: str) -> str:
        number, chosen = 1, name
        while chosen.casefold() in self._given:
            number += 1
            chosen = f"{name}-{number}"
        self._given.add(chosen.casefold())
        return chosen


def slug(text: str, longest: int = LONGEST) -> str:
    """Return the words of a text in small letters, joined by `-`; nothing if it has none."""
    known = unicodedata.normalize("NFKC", text[: 4 * longest]).lower()
    words = re.findall(r"[^\W_]+(?:_+[^\W_]+)*", known)
    made = ""
    for word in words:
        if made and len(made) + 1 + len(word) > longest:
            break
        made = f"{made}-{word}" if made else word[:longest]
    return made


def word(text: str) -> str:
    """Return a text as the name of a scenario, a dimension or a tag; nothing if it has no fitting letters."""
    kept = "".join(c for c in unicodedata.normalize("NFKD", text) if c.isascii())
    made = slug(kept, 40).strip("_")
    return made if made[:1].isalpha() and made not in ("and", "or", "not") else ""
