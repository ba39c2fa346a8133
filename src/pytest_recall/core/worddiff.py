"""Word diff: two answers, and the few words in which they differ."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

Kind = Literal["same", "gone", "new"]
MOST = 400
"""Words of each answer that are compared: comparing takes time with the square of them."""
AROUND = 4
"""Words that stay on each side of a change."""


class Piece(NamedTuple):
    """Some words that both answers have, or only the one before (`gone`) or after (`new`)."""

    kind: Kind
    text: str


def word_diff(before: str, after: str, limit: int = 40) -> list[Piece]:
    """Return how `after` differs from `before`, in at most about `limit` words; empty if it does not.

    What both have is shortened to the words next to a change, with `…` for the rest.
    """
    old, new = before.split()[:MOST], after.split()[:MOST]
    if old == new:
        return []
    pieces: list[Piece] = []
    opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for place, (tag, i, j, k, m) in enumerate(opcodes):
        if tag == "equal":
            first, last = place == 0, place == len(opcodes) - 1
            pieces.append(Piece("same", _shortened(old[i:j], first=first, last=last)))
            continue
        if j > i:
            pieces.append(Piece("gone", _cut(old[i:j], limit)))
        if m > k:
            pieces.append(Piece("new", _cut(new[k:m], limit)))
    return list(_first(pieces, limit))


def _shortened(words: list[str], *, first: bool, last: bool) -> str:
    if first:
        return " ".join(words if len(words) <= AROUND else ["…", *words[-AROUND:]])
    if last:
        return " ".join(words if len(words) <= AROUND else [*words[:AROUND], "…"])
    return " ".join(words if len(words) <= 2 * AROUND + 1 else [*words[:AROUND], "…", *words[-AROUND:]])


def _cut(words: list[str], limit: int) -> str:
    return " ".join(words if len(words) <= limit // 2 else [*words[: limit // 2], "…"])


def _first(pieces: Iterable[Piece], limit: int) -> Iterable[Piece]:
    count = 0
    for piece in pieces:
        if count >= limit:
            yield Piece("same", "…")
            return
        yield piece
        count += piece.text.count(" ") + 1
