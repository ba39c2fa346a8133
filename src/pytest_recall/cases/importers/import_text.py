"""Import report: what became of a source, test by test and in sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pytest_recall.cases.importers.carry import Import, Remark
from pytest_recall.files.wording import plural


def lines(made: Import, *, every: bool = True) -> list[str]:
    """Return the report: the sum, what is left out or differs by kind, and then `every` one by its place."""
    return list(_lines(made, every))


def _lines(made: Import, every: bool) -> Iterator[str]:
    yield f"{plural(len(made.cases), 'case')} of {plural(made.found, 'test')}{_ids(made)}"
    groups = (
        ("no case", [r for r in made.remarks if r.whole]),
        ("left out", [r for r in made.remarks if r.left and not r.whole]),
        ("carried over, not quite the same", [r for r in made.remarks if not r.left]),
    )
    for title, remarks in groups:
        if not remarks:
            continue
        yield ""
        yield f"{title}:"
        for (what, advice), count in Counter((r.what, r.advice) for r in remarks).items():
            yield f"  {count:>3}  {what}: {advice}"
    if every and any(r.left for r in made.remarks):
        yield ""
        yield "where:"
        yield from (f"  {_where(remark)}" for remark in made.remarks if remark.left)


def _ids(made: Import) -> str:
    counted = Counter(case.named_by for case in made.cases)
    return f"; ids from {', '.join(f'{name} ({count})' for name, count in counted.items())}" if counted else ""


def _where(remark: Remark) -> str:
    about = remark.case or ("no case" if remark.whole else "")
    return f"{remark.place}: {f'{about}: ' if about else ''}{remark.what}"


def as_json(made: Import) -> dict[str, Any]:
    """Return the report as JSON has it."""
    return {
        "found": made.found,
        "carried": len(made.cases),
        "no_case": made.dropped,
        "cases": [{"id": c.id, "place": c.place, "id_from": c.named_by} for c in made.cases],
        "remarks": [
            {
                "place": r.place,
                "case": r.case or None,
                "kind": "no case" if r.whole else "left out" if r.left else "differs",
                "what": r.what,
                "advice": r.advice,
            }
            for r in made.remarks
        ],
    }
