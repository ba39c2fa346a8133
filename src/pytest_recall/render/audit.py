"""Re-graded runs as terminal lines, Markdown and JSON: as judged, as re-graded, and who was wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_recall.core.audit import Confusion, Regraded
from pytest_recall.core.calibration import JudgeKey
from pytest_recall.render.markdown import cell
from pytest_recall.render.sentences import plural


def lines(found: Regraded) -> Iterator[str]:
    """Yield both numbers, and a line for each judge."""
    yield from _numbers(found)
    for key, confusion in found.confusions.items():
        yield f"  {_name(key)}: {_told(confusion)}"


def markdown(found: Regraded) -> list[str]:
    """Return the same as lines of Markdown."""
    rows = [
        f"| {cell(_name(key))} | {one.right_passes} | {one.false_passes} | {one.right_fails} | {one.false_fails} |"
        for key, one in found.confusions.items()
    ]
    head = ["| judge | right passes | false passes | right fails | false fails |", "| --- |" + " ---: |" * 4]
    return [*(f"- {cell(line)}" for line in _numbers(found)), *(["", *head, *rows] if rows else [])]


def as_json(found: Regraded) -> dict[str, Any]:
    """Return the same as plain JSON types."""
    count = found.verdicts - found.defects
    return {
        "as_judged": {"passed": found.judged, "failed": found.verdicts - found.judged},
        "as_regraded": {"passed": found.passed, "failed": count - found.passed, "case_defects": found.defects},
        "grades": dict(found.grades),
        "judges": [{**key._asdict(), **confusion._asdict()} for key, confusion in found.confusions.items()],
    }


def _numbers(found: Regraded) -> Iterator[str]:
    count = found.verdicts - found.defects
    graded = sum(found.grades.values())
    out = f", {plural(found.defects, 'defective case')} out of the count" if found.defects else ""
    yield f"as judged: {found.judged} of {found.verdicts} passed"
    yield f"as re-graded: {found.passed} of {count} passed{out}; {graded} of {found.verdicts} verdicts looked at again"


def _name(key: JudgeKey) -> str:
    return f"{key.judge}, {key.model}, version {key.version}" if key.model else key.judge


def _told(one: Confusion) -> str:
    passes, fails = one.right_passes + one.false_passes, one.right_fails + one.false_fails
    return f"false passes {one.false_passes} of {passes}, false fails {one.false_fails} of {fails}"
