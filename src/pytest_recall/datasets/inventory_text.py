"""Render what was found in the file of a dataset as terminal lines and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pytest_recall.datasets.categories import category_title
from pytest_recall.datasets.dataset import Inventory, Kind
from pytest_recall.datasets.file import Published
from pytest_recall.files.wording import grid, plural

SHOWN_PLACES = 5


class Checked(NamedTuple):
    """What was found in a file."""

    name: str
    format: str
    how: str
    """How the format was recognised."""
    size: int
    """In bytes."""
    sha256: str
    published: Published | None
    inventory: Inventory


def dataset_lines(checked: Checked) -> Iterator[str]:
    """Yield the lines for a terminal."""
    found = checked.inventory
    yield f"{checked.name}: {checked.format}, {checked.how}"
    yield f"{checked.size:,} bytes, sha256 {checked.sha256}"
    if checked.published is not None:
        origin = checked.published
        yield f"this is {origin.title} ({origin.source}; its digest was {origin.digest_by})"
    else:
        yield "no published file that is known by its digest"
    yield (
        f"{plural(found.conversations, 'conversation')}, {plural(found.sessions, 'session')},"
        f" {plural(found.turns, 'turn')}, {plural(found.questions, 'question')}, {found.unanswerable:,} unanswerable"
    )
    yield ""
    counts = sorted((category_title(name), f"{n:,}") for name, n in found.categories.items())
    yield from grid(("category", "questions"), counts)
    yield ""
    if not found.oddities:
        yield "nothing odd"
        return
    yield f"odd ({found.oddities.total():,}):"
    for kind in Kind:
        if count := found.oddities[kind]:
            yield f"  {kind.value}: {count:,}"
            kept = found.places[kind][:SHOWN_PLACES]
            yield from (f"    {one.place}: {one.said}" for one in kept)
            if count > len(kept):
                yield f"    … and {count - len(kept):,} more"


def dataset_json(checked: Checked) -> dict[str, Any]:
    """Return the same as plain JSON types."""
    origin = checked.published
    return {
        "file": checked.name,
        "format": checked.format,
        "recognised_by": checked.how,
        "bytes": checked.size,
        "sha256": checked.sha256,
        "published": None if origin is None else origin._asdict(),
        **checked.inventory.to_json(),
    }
