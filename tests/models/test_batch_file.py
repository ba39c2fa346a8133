"""The file of batches: who waits for which result, across runs and processes."""

from __future__ import annotations

import multiprocessing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.models.batch_file import BatchLog, BatchPlace
from tests.helpers.samples import costly

NOW = datetime.now(UTC)


def log(folder: Path, run: str) -> BatchLog:
    return BatchLog(folder, run)


def submitted(folder: Path, *keys: str, run: str = "first", batch: str = "b1") -> BatchLog:
    """Return the log of a run that has submitted a batch, and goes on."""
    made = log(folder, run)
    made.submitted(batch, "openai", "http://x/v1", [(key, f"{key}-{place}") for place, key in enumerate(keys)])
    return made


class TestClaim:
    """Results that a run finds."""

    def test_those_of_a_run_that_is_over_are_there_in_their_order(self, tmp_path: Path) -> None:
        submitted(tmp_path, "k", "l", "k").close()
        second = log(tmp_path, "second")
        assert second.claim("k", NOW, 29) == BatchPlace("b1", "k-0")
        assert second.claim("k", NOW, 29) == BatchPlace("b1", "k-2")
        assert second.claim("k", NOW, 29) is None
        assert second.claim("other", NOW, 29) is None

    def test_those_of_a_run_that_goes_on_are_its_own(self, tmp_path: Path) -> None:
        first = submitted(tmp_path, "k")
        assert log(tmp_path, "second").claim("k", NOW, 29) is None
        assert first.claim("k", NOW, 29) is None
        first.close()
        assert log(tmp_path, "third").claim("k", NOW, 29) == BatchPlace("b1", "k-0")

    def test_what_two_runs_look_for_only_one_finds(self, tmp_path: Path) -> None:
        submitted(tmp_path, "k").close()
        second, third = log(tmp_path, "second"), log(tmp_path, "third")
        assert third.claim("none", NOW, 29) is None
        assert second.claim("k", NOW, 29) == BatchPlace("b1", "k-0")
        assert third.claim("k", NOW, 29) is None
        second.close()
        assert third.claim("k", NOW, 29) == BatchPlace("b1", "k-0")

    def test_those_of_a_process_that_was_killed_are_there(self, tmp_path: Path) -> None:
        context = multiprocessing.get_context("spawn")
        ready, process = context.Event(), None
        process = context.Process(target=_submit, args=(tmp_path, ready))
        process.start()
        assert ready.wait(60)
        second = log(tmp_path, "second")
        assert second.claim("k", NOW, 29) is None
        process.kill()
        process.join()
        assert log(tmp_path, "third").claim("k", NOW, 29) == BatchPlace("b1", "k-0")

    def test_what_is_used_up_or_too_old_is_not(self, tmp_path: Path) -> None:
        first = submitted(tmp_path, "k", "l")
        first.take([BatchPlace("b1", "k-0")])
        first.close()
        assert log(tmp_path, "second").claim("k", NOW, 29) is None
        assert log(tmp_path, "second").claim("l", NOW + timedelta(days=30), 29) is None
        assert log(tmp_path, "second").claim("l", NOW, 29) == BatchPlace("b1", "l-1")

    @costly
    @given(keys=st.lists(st.sampled_from("kl"), min_size=1), used=st.integers(0, 5))
    def test_each_result_is_found_once(
        self, tmp_path_factory: pytest.TempPathFactory, keys: list[str], used: int
    ) -> None:
        folder = tmp_path_factory.mktemp("log")
        first = submitted(folder, *keys)
        first.take(BatchPlace("b1", f"{key}-{place}") for place, key in enumerate(keys[:used]))
        first.close()
        second = log(folder, "second")
        found = [second.claim(key, NOW, 29) for key in keys]
        assert sorted(place for place in found if place) == sorted(
            BatchPlace("b1", f"{key}-{place}") for place, key in enumerate(keys) if place >= used
        )
        second.close()


def test_what_is_left_is_of_this_run_and_not_used(tmp_path: Path) -> None:
    first = submitted(tmp_path, "k")
    submitted(tmp_path, "k", run="other", batch="b2").close()
    assert first.left() == ["b1"]
    first.take([BatchPlace("b1", "k-0")])
    assert first.left() == []
    second = log(tmp_path, "second")
    assert second.left() == []
    assert second.claim("k", NOW, 29) == BatchPlace("b2", "k-0")
    assert second.left() == ["b2"]


def test_a_line_that_was_cut_off_takes_no_other_with_it(tmp_path: Path) -> None:
    submitted(tmp_path, "k").close()
    with (tmp_path / "batches.jsonl").open("a") as file:
        file.write('{"batch": "b2", "cal')
    submitted(tmp_path, "l", run="second", batch="b3").close()
    with (tmp_path / "batches.jsonl").open("a") as file:
        file.write('{"taken": "b3", "calls": 3, "run": "x", "by": "y"}\n[1]\n{"later": true}\n')
    third = log(tmp_path, "third")
    assert third.claim("k", NOW, 29) == BatchPlace("b1", "k-0")
    assert third.claim("l", NOW, 29) == BatchPlace("b3", "l-0")


def test_nothing_is_written_before_there_is_a_batch(tmp_path: Path) -> None:
    one = log(tmp_path / "none", "first")
    assert one.claim("k", NOW, 29) is None
    assert one.left() == []
    one.close()
    assert not (tmp_path / "none").exists()


def _submit(folder: Path, ready: object) -> None:
    import time

    _held = submitted(folder, "k")
    ready.set()  # type: ignore[attr-defined]
    time.sleep(60)
