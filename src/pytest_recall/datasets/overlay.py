"""Correct wrong references in a dataset's answer key, by a user's list or ours of LoCoMo, and show the changes.

The shipped ones come from reading the conversations of LoCoMo against each reference. They hold no text of the
dataset but short corrected answers: a question is named by conversation, index and digest.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pytest_recall.datasets.categories import category_title
from pytest_recall.datasets.rows import DatasetRow
from pytest_recall.files.wording import listed, plural

SHIPPED = "shipped"
"""What names the shipped list in place of a file."""
_NO_CHANGE = 5e-4


class KeyQuestion(NamedTuple):
    """A question of an answer key. `sample` is its conversation (LongMemEval: itself), `number` counts from 0 in it."""

    sample: str
    number: int
    id: str
    text: str
    reference: str | None
    category: str


class OverlayEntry(NamedTuple):
    """What an overlay says of a reference: another `answer`, or None where the question is dropped; and why."""

    answer: str | None
    reason: str


class Overlay(NamedTuple):
    """The corrections by question; `others` counts those of the list that are about no question of this key."""

    entries: Mapping[str, OverlayEntry]
    others: int = 0


def digest_of_key(text: str, reference: str | None) -> str:
    """Return the SHA-256 of question and reference, by which an overlay knows that it means this one."""
    return hashlib.sha256(f"{text}{reference or ''}".encode("utf-8", "surrogatepass")).hexdigest()


def entry_of(
    row: DatasetRow, fields: Mapping[str, Any], places: Mapping[tuple[str, int], KeyQuestion]
) -> tuple[KeyQuestion | None, OverlayEntry | str]:
    """Return the question that a line is about, and what it says of it or what is wrong with it."""
    sample, number = row.text(fields.get("sample_id"), "sample_id"), fields.get("index")
    reason = row.text(fields.get("reason"), "reason")
    one = places.get((sample, number)) if type(number) is int else None
    drop, answer = fields.get("drop"), row.answer(fields.get("answer"), "answer")
    if one is None:
        return None, f"there is no question {number!r} of {sample!r}; indices count from 0"
    if fields.get("sha256") != digest_of_key(one.text, one.reference):
        return one, f"{one.id}: sha256 is that of another question or reference; correct the line"
    if (drop is True) == (answer is not None) or drop not in (None, True):
        return one, f"{one.id}: give either `drop: true` or an `answer`"
    return one, OverlayEntry(answer, reason)


def overlay_line(overlay: Overlay, key: Iterable[KeyQuestion]) -> str:
    """Return how many references of each category are corrected, and how many questions left out."""
    names = {one.id: category_title(one.category) for one in key}
    counts = Counter(names[id] for id in overlay.entries)
    dropped = sum(entry.answer is None for entry in overlay.entries.values())
    told = f"corrected key: {plural(len(overlay.entries) - dropped, 'other reference')}"
    told += f", {plural(dropped, 'question')} left out" if dropped else ""
    told += f" ({listed(f'{name} {count}' for name, count in sorted(counts.items()))})" if counts else ""
    return told + (f"; {overlay.others} more are about questions that are not here" if overlay.others else "")


def by_both(after: float | None, before: float | None) -> str:
    """Return a mean by the corrected key, with its difference to the one by the published key."""
    if after is None:
        return "–"
    same = before is None or abs(after - before) < _NO_CHANGE
    return f"{after:.2f}" if same or before is None else f"{after:.2f} ({after - before:+.3f})"
