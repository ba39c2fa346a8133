"""What a run says of its batches."""

from __future__ import annotations

from pytest_recall.models.batch import left, tally_line
from pytest_recall.runs.progress import Progress, line
from pytest_recall.trials.cost import Bill


def test_what_went_through_batches_and_what_directly() -> None:
    assert tally_line({"batched": 1, "batches": 1}) == "batches: 1 call at half price, 1 batch made"
    tally = {"batched": 1200, "found": 7, "batches": 2, "direct: that stream": 2, "direct: larger than a batch": 1}
    assert tally_line(tally) == (
        "batches: 1,200 calls at half price, 7 of them asked by an earlier run, 2 batches made;"
        " 3 calls directly: 1 larger than a batch; 2 that stream"
    )


def test_what_is_left() -> None:
    one = "1 batch goes on, or has answers that no case has used (a); the next run with --recall-batch picks it up"
    assert left(["a"]) == one
    assert left(["a", "b"]).startswith("2 batches go on, or have answers that no case has used (a, b); the next run")


def test_progress_says_how_many_calls_wait() -> None:
    progress = Progress(1, 0, 0, 9, Bill(), None)
    assert line(progress, 1, 1) == "recall: 1 of 9 cases, 1 call waits in 1 batch"
    assert line(progress, 8, 2) == "recall: 1 of 9 cases, 8 calls wait in 2 batches"
    assert line(progress) == "recall: 1 of 9 cases"
