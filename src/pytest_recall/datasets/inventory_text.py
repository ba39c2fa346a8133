"""Render what was found in the file of a dataset as a report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pytest_recall.datasets.categories import category_title
from pytest_recall.datasets.dataset import Inventory, Kind
from pytest_recall.datasets.file import Published
from pytest_recall.files.sections import Report, Section, TextTable
from pytest_recall.files.wording import plural

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


def dataset_report(checked: Checked) -> Report:
    """Return what the file holds, and what is odd in it."""
    found, origin = checked.inventory, checked.published
    published = (
        "no published file that is known by its digest"
        if origin is None
        else f"this is {origin.title} ({origin.source}; its digest was {origin.digest_by})"
    )
    lines = [
        f"{checked.name}: {checked.format}, {checked.how}",
        f"{checked.size:,} bytes, sha256 {checked.sha256}",
        published,
        f"{plural(found.conversations, 'conversation')}, {plural(found.sessions, 'session')},"
        f" {plural(found.turns, 'turn')}, {plural(found.questions, 'question')}, {found.unanswerable:,} unanswerable",
    ]
    counts = sorted((category_title(name), f"{n:,}") for name, n in found.categories.items())
    facts = {
        "file": checked.name,
        "format": checked.format,
        "recognised_by": checked.how,
        "bytes": checked.size,
        "sha256": checked.sha256,
        "published": None if origin is None else origin._asdict(),
        **found.to_json(),
    }
    odd = Section(f"odd ({found.oddities.total():,})", lines=list(_odd(found)))
    table = TextTable("", ("category", "questions"), counts)
    sections = [Section("", [table], lines=lines), odd if found.oddities else Section("", lines=["nothing odd"])]
    return Report(f"The dataset {checked.name}", sections, facts)


def _odd(found: Inventory) -> Iterator[str]:
    for kind in Kind:
        if count := found.oddities[kind]:
            yield f"  {kind.value}: {count:,}"
            kept = found.places[kind][:SHOWN_PLACES]
            yield from (f"    {one.place}: {one.said}" for one in kept)
            if count > len(kept):
                yield f"    … and {count - len(kept):,} more"
