"""The words for why a run ended early."""

from __future__ import annotations

import pytest

from pytest_recall.results.stop_text import failed_item_text, left_text
from pytest_recall.trials.record import FailedItem
from pytest_recall.trials.run_stop import RunStop

INTERRUPTED = RunStop("interrupted")


@pytest.mark.parametrize(
    ("stop", "text"),
    [
        (None, ""),
        (RunStop("budget", usd=1.5, kind="spent"), "the budget of $1.50 is spent"),
        (RunStop("budget", usd=1.5, kind="no-room"), "the budget of $1.50 has no room for another call"),
        (
            RunStop("budget", usd=1.5, kind="no-room", in_ingest=True),
            "the budget of $1.50 has no room for another call in an ingest, which begins again",
        ),
        (
            RunStop("outage", "401: no such key", 3, "refused", "api.example.com"),
            "3 trials in a row ended alike: api.example.com refuses the key (401: no such key)",
        ),
        (
            RunStop("undecided", "agent: boom", 5),
            "5 trials in a row came to no verdict, the last one because of `agent: boom`",
        ),
        (RunStop("preflight", "preflight: the judge is wrong"), "preflight: the judge is wrong"),
        (RunStop("uncollected", "a.yaml:1: id: is missing", files=("a.yaml",)), "a.yaml:1: id: is missing"),
        (RunStop("uncollected", files=("a.py", "b.py")), "a.py could not be collected; and 1 more file"),
        (RunStop("pytest", "stopping after 1 failures"), "stopping after 1 failures"),
        (INTERRUPTED, "interrupted"),
        (RunStop("deselected", deselected=3), "deselected"),
        (RunStop("deselected", deselected=1), "1 deselected; the others: the run ended before their turn"),
        (INTERRUPTED._replace(deselected=3), "deselected; interrupted"),
        (INTERRUPTED._replace(deselected=1), "1 deselected; the others: interrupted"),
    ],
)
def test_why_three_cases_were_not_run(stop: RunStop | None, text: str) -> None:
    assert left_text(stop, 3) == text


@pytest.mark.parametrize(
    ("phase", "text"),
    [
        ("call", "t.py::x failed"),
        ("setup", "t.py::x failed in its setup"),
        ("teardown", "t.py::x failed in its teardown"),
        ("collect", "t.py::x could not be collected"),
        ("crash", "t.py::x crashed"),
    ],
)
def test_what_failed_beside_the_cases(phase: str, text: str) -> None:
    assert failed_item_text(FailedItem("t.py::x", phase)) == text


def test_a_failed_session_has_no_node_id() -> None:
    assert failed_item_text(FailedItem("", "crash")) == "the session crashed"
