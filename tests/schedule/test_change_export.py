"""A history of changes made of a team's own runs."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_recall.schedule.change_backtest import ChangePolicy, play, ruled
from pytest_recall.schedule.change_export import JudgedRun, affected_in, exported, judged_run
from pytest_recall.schedule.change_history import facts_of
from pytest_recall.schedule.change_history_file import read_history
from pytest_recall.trials.record import Header, Record
from pytest_recall.trials.trial import Outcome, Trial
from tests.schedule.history_samples import write


def run(
    change: str, day: int, affected: tuple[str, ...] | None, passed: tuple[str, ...] = (), failed: tuple[str, ...] = ()
) -> JudgedRun:
    verdicts = [(one, True) for one in passed] + [(one, False) for one in failed]
    return JudgedRun(change, change, f"2026-01-{day:02}", affected, tuple(verdicts))


def test_verdicts_are_counted_from_one_change_of_the_requests_to_the_next(tmp_path: Path) -> None:
    nights = [run(f"night {day}", day, None, ("a", "b", "c")) for day in range(1, 11)]
    broken = [run(f"night {day}", day, None, ("b", "c"), ("a",)) for day in range(12, 22)]
    runs = [*nights, run("7", 11, ("a",), failed=("a",)), *broken, run("8", 22, ("a",), ("a",))]
    lines = list(exported(runs))
    assert lines == [
        {
            "commit": "7",
            "date": "2026-01-11",
            "source": True,
            "cases": [[0, "a", ["1"], [10, 0]], [1, "b", ["1"], [20, 0]], [2, "c", ["1"], [20, 0]]],
            "changed": [[0, ["1"], ["2"], [10, 0], [0, 11]]],
        },
        {"commit": "8", "date": "2026-01-22", "source": True, "changed": [[0, ["2"], ["3"], [0, 11], [1, 0]]]},
    ]
    history = read_history(write(tmp_path / "t.jsonl", lines), "t")
    facts = facts_of(history)
    assert facts.bad is not None
    assert [(one.commit, one.broken) for one in facts.bad] == [("7", (0,))]
    found = play(history, ChangePolicy("affected", "affected", ruled(None)), 0.04)
    assert found.caught is not None
    assert [one.once for one in found.caught] == [True]


def test_what_an_earlier_push_of_a_pull_request_failed_was_never_merged() -> None:
    runs = [
        run("night", 1, None, ("a", "b")),
        run("7", 2, ("a",), ("b",), ("a",)),
        run("7", 3, ("a",), ("a",)),
        run("night", 4, None, ("a",)),
    ]
    (line,) = exported(runs)
    assert line["changed"] == [[0, ["1"], ["2"], [1, 0], [2, 0]]]
    assert line["date"] == "2026-01-03"
    assert line["cases"][1] == [1, "b", ["1"], [2, 0]]


def test_a_case_that_comes_later_is_added_and_not_affected_by_what_brings_it(tmp_path: Path) -> None:
    runs = [
        run("7", 1, (), ("a",)),
        run("night", 2, None, ("a", "b")),
        run("8", 3, ("b", "c"), ("b",), ("c",)),
    ]
    lines = list(exported(runs))
    assert lines[0]["cases"] == [[0, "a", ["1"], [2, 0]], [1, "b", ["1"], [1, 0]]]
    assert lines[1]["added"] == [[2, "c", ["1"], [0, 1]]]
    assert lines[1]["changed"] == [[1, ["1"], ["2"], [1, 0], [1, 0]]]
    assert read_history(write(tmp_path / "t.jsonl", lines), "t").counted


def test_an_affected_case_without_a_verdict_has_no_counts() -> None:
    (line,) = exported([run("night", 1, None, ("a",)), run("7", 2, ("a",))])
    assert line["changed"] == [[0, ["1"], ["2"], [1, 0], None]]


def test_runs_that_say_nothing_of_a_change_make_no_history() -> None:
    assert list(exported([run("night", 1, None, ("a",)), run("7", 2, None, ("a",))])) == []
    assert list(exported([])) == []


def test_a_run_is_what_its_journal_says() -> None:
    header = Header("r", "2026-01-02", "pr", "s", "t", True, True, 3, (), pr="7", commit="0123456789abcdef")
    trials = (
        Trial("a", Outcome.PASSED),
        Trial("a", Outcome.FAILED),
        Trial("b", Outcome.ERROR),
        Trial("c", Outcome.PASSED, counts_for_schedule=False),
        Trial("d", Outcome.PASSED, reason="dataset"),
        Trial("e", Outcome.PASSED, arm="tail-window"),
    )
    found = judged_run(Record(header, trials))
    assert found._replace(affected=None) == JudgedRun(
        "pull request 7", "012345678", "2026-01-02", None, (("a", True), ("a", False))
    )
    assert found.affected == affected_in(header)
    alone = judged_run(Record(header._replace(pr=None, commit="")))
    assert (alone.change, alone.commit) == ("commit r", "r")
    assert json.dumps(alone)
