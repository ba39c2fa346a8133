"""The handbook: its paragraphs in an SQLite FTS5 index, and what is known of its words."""

from __future__ import annotations

import difflib
import math
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from words import GENERAL_WORDS, STOP_WORDS, alike, sentences, stem, stems, words

_CANDIDATES = 30
_TITLE_WEIGHT, _HEADING_WEIGHT, _BODY_WEIGHT = 2.0, 1.5, 1.0
_NEAR = 0.85  # how like a known word an unknown one must be to be taken for it


@dataclass(frozen=True)
class Paragraph:
    """A paragraph under its title and heading, and the stems in each part of it."""

    text: str
    source: str
    stems: frozenset[str]
    head: frozenset[str]
    sentences: tuple[tuple[str, frozenset[str]], ...]


class Handbook:
    """The articles of a folder, indexed paragraph by paragraph."""

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute("CREATE VIRTUAL TABLE paragraph USING fts5(title, heading, body)")
        self._paragraphs: list[Paragraph] = []
        self._where: dict[str, set[int]] = {}  # the paragraphs that have a stem
        spellings = set(GENERAL_WORDS)
        for path in sorted(folder.glob("*.md")):
            title = heading = ""
            for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8").strip()):
                spellings.update(words(block))
                if block.startswith("## "):
                    heading = block[3:].strip()
                elif block.startswith("# "):
                    title = block[2:].strip()
                else:
                    self._add(title, heading, " ".join(block.split()), path.stem)
        self._spellings = sorted(spellings)

    def close(self) -> None:
        """Close the index."""
        self._db.close()

    def _add(self, title: str, heading: str, body: str, source: str) -> None:
        number, head = len(self._paragraphs), frozenset(stems(f"{title} {heading}"))
        cut = tuple((sentence, frozenset(stems(sentence))) for sentence in sentences(body))
        there = head.union(*(found for _, found in cut))
        self._paragraphs.append(Paragraph(f"{title} - {heading}\n{body}", source, there, head, cut))
        for root in there:
            self._where.setdefault(root, set()).add(number)
        row = (number, *(" ".join(stems(part)) for part in (title, heading, body)))
        self._db.execute("INSERT INTO paragraph (rowid, title, heading, body) VALUES (?, ?, ?, ?)", row)

    def search(self, roots: Iterable[str]) -> list[Paragraph]:
        """The paragraphs that have any of the stems, best bm25 first."""
        match = " OR ".join(f'"{root}"' for root in sorted(roots))
        if not match:
            return []
        rows = self._db.execute(
            "SELECT rowid FROM paragraph WHERE paragraph MATCH ? ORDER BY bm25(paragraph, ?, ?, ?), rowid LIMIT ?",
            (match, _TITLE_WEIGHT, _HEADING_WEIGHT, _BODY_WEIGHT, _CANDIDATES),
        )
        return [self._paragraphs[number] for (number,) in rows]

    def rarity(self, roots: Iterable[str]) -> float:
        """How much a match tells: the inverse document frequency of stems that count as one. Unknown ones are rare."""
        count = len(set[int]().union(*(self._where.get(root, ()) for root in roots)))
        return math.log(1 + len(self._paragraphs) / (count or 2))

    def corrected(self, text: str) -> str:
        """The text with each word that is unknown here in the spelling of a known one, if one is near."""
        return re.sub(r"[A-Za-z]{3,}", lambda found: self._spelt(found[0].lower()), text)

    def _spelt(self, word: str) -> str:
        if word in STOP_WORDS or not alike(stem(word)).isdisjoint(self._where):
            return word
        near = [known for known in self._spellings if known[0] == word[0]]
        swapped = [known for known in near if sorted(known) == sorted(word)]
        return [*swapped, *difflib.get_close_matches(word, near, 1, _NEAR), word][0]
