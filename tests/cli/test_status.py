"""`recall status`: the boxes, and the calendar."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Recall
from tests.cli.samples import DATE, TODAY, files, recall

ON = ("status", "--date", DATE)
BAR = "█" * 40


def test_histogram_and_calendar(project: Path) -> None:
    before = files(project)
    done = recall(project, *ON)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[:11] == [
        "5 cases on 2026-03-10",
        "  box 1, every  1 d      0",
        f"  box 2, every  3 d      1  {BAR[:20]}",
        f"  box 3, every  7 d      1  {BAR[:20]}",
        f"  box 4, every 14 d      1  {BAR[:20]}",
        "  box 5, every 30 d      0",
        f"  never seen             2  {BAR}",
        "",
        "due by day, over 30 days",
        f"  overdue               1  {BAR}",
        f"  2026-03-10 Tue        1  {BAR}",
    ]
    days = lines[10:40]
    assert [line.split()[0] for line in days] == [str(TODAY + timedelta(days=n)) for n in range(30)]
    assert [line.split()[0] for line in days if line.split()[2] != "0"] == ["2026-03-10", "2026-03-22"]
    assert lines[40:] == ["", "rows without a case in the case files (1): gone"]
    assert files(project) == before


def test_counts_stand_in_one_column(project: Path, inside: Recall) -> None:
    lines = inside(project, *ON).out.splitlines()
    assert len({len(line.rstrip("█ ")) for line in lines[1:7]}) == 1


def test_failing_cases_are_named(ran: Path, inside: Recall) -> None:
    assert "\nlast verdict was a fail (1): worse\n" in inside(ran, *ON).out


def test_json(ran: Path, inside: Recall) -> None:
    done = inside(ran, *ON, "--json", "--days", "2")
    assert json.loads(done.out) == {
        "date": DATE,
        "boxes": {"1": 1, "2": 0, "3": 1, "4": 1, "5": 0},
        "unseen": 2,
        "overdue": 0,
        "due": {"2026-03-10": 0, "2026-03-11": 1},
        "failing": ["worse"],
        "orphans": ["gone"],
        "unanswered": {name: {"last_asked": DATE, "days": 1, "next_asked": DATE} for name in ("crash", "skipped")},
    }


@pytest.mark.parametrize(
    ("given", "days", "rows"),
    [([], 30, 2), (["--days", "7"], 7, 1), (["--days", "1"], 1, 1), (["--days", "400"], 400, 2)],
)
def test_days_ahead(project: Path, given: list[str], days: int, rows: int, inside: Recall) -> None:
    due = json.loads(inside(project, *ON, "--json", *given).out)["due"]
    assert (len(due), sum(due.values())) == (days, rows)


def test_before_the_first_run(project: Path, inside: Recall) -> None:
    (project / "eval" / "recall.yaml").unlink()
    found = json.loads(inside(project, *ON, "--json").out)
    assert (found["unseen"], found["overdue"], sum(found["boxes"].values())) == (5, 0, 0)


def test_without_cases(project: Path, inside: Recall) -> None:
    (project / "eval" / "cases.yaml").unlink()
    found = json.loads(inside(project, *ON, "--json").out)
    assert (found["unseen"], found["orphans"]) == (0, ["gone", "later", "right", "worse"])


@pytest.mark.parametrize("arguments", [["--date", "9999-12-25"], ["--days", "1000000000"]])
def test_beyond_the_calendar(project: Path, arguments: list[str], inside: Recall) -> None:
    assert inside(project, "status", *arguments).code in (0, 2)
