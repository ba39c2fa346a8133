"""Read-back: whether a memory still holds what it was given, found by asking for some of it word by word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from pytest_recall.cases.memory_part import Unit
from pytest_recall.trials.trial import Passage

NEAR = 0.6
"""The ratio of difflib from which a passage counts as a unit in other words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readback:
    """What came of asking for units back.

    Of `stored` units `asked` were asked for: `same` came back as they were, `changed` in other words or
    as a part, `missing` not at all. `held` is the client's own count after storing, None if it says none.
    """

    stored: int
    asked: int = 0
    same: int = 0
    changed: int = 0
    missing: int = 0
    held: int | None = None

    def __add__(self, other: Readback) -> Readback:
        held = None if self.held is None or other.held is None else self.held + other.held
        return Readback(
            stored=self.stored + other.stored,
            asked=self.asked + other.asked,
            same=self.same + other.same,
            changed=self.changed + other.changed,
            missing=self.missing + other.missing,
            held=held,
        )

    def __str__(self) -> str:
        count = "" if self.held is None or self.held == self.stored else f", of which it says it holds {self.held}"
        found = f"; of {self.asked} asked back, {self.same} came as they were, {self.changed} changed"
        back = f"{found}, {self.missing} not at all" if self.asked else ""
        return f"stored {self.stored} unit{'' if self.stored == 1 else 's'}{count}{back}"


def sample(units: Sequence[Unit], count: int) -> list[Unit]:
    """Return at most `count` of `units`, evenly spread, the first among them; always the same ones."""
    if count <= 0:
        return []
    if len(units) <= count:
        return list(units)
    return [units[place * len(units) // count] for place in range(count)]


def seen(readback: Readback, unit: Unit, passages: Iterable[Passage]) -> Readback:
    """Return `readback` with what came back when `unit` was asked for by its own text."""
    texts = list(passages)
    if any(one.text == unit.content for one in texts):
        return replace(readback, asked=readback.asked + 1, same=readback.same + 1)
    if any(_is_of(unit, one) for one in texts):
        return replace(readback, asked=readback.asked + 1, changed=readback.changed + 1)
    return replace(readback, asked=readback.asked + 1, missing=readback.missing + 1)


def _is_of(unit: Unit, passage: Passage) -> bool:
    """Whether a passage is what a memory made of a unit: by its id, as a whole in a larger text, or nearly."""
    if passage.source is not None:
        return passage.source == unit.id
    if unit.content in passage.text:
        return True
    return bool(passage.text.strip()) and SequenceMatcher(None, unit.content, passage.text).ratio() >= NEAR
