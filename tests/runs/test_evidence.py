"""What is known of the trials that earlier runs of a pull request tell of."""

from __future__ import annotations

from pathlib import Path

from pytest_recall.replay.cassette_file import write_cassette
from pytest_recall.replay.matching import Rules
from pytest_recall.runs.evidence import PullRuns, with_trials
from pytest_recall.schedule.events import Event, Events
from pytest_recall.trials.trial import EarlierRun
from tests.helpers.samples import FAILED, PASSED, TODAY


def recorded(folder: Path, name: str, **header: str) -> None:
    """Write the recording of a trial of the case `a`."""
    folder.mkdir(exist_ok=True)
    write_cassette(folder / f"{name}.ndjson", {"case": "a", **header}, [], Rules())


def test_a_verdict_has_the_run_that_asked_and_what_that_recorded(tmp_path: Path) -> None:
    recorded(tmp_path / "first", "a", outcome="passed", answer="yes")
    recorded(tmp_path / "first", "a~2", outcome="failed", answer="no")
    recorded(tmp_path / "first", "one-shot", outcome="failed", answer="of a baseline", baseline="one-shot")
    asks = Events("first", TODAY, "pr7", verdicts=(Event("a", FAILED, weighed="pff"), Event("b", PASSED)))
    tells = Events("second", TODAY, "pr7", verdicts=(Event("a", FAILED, run="first"), Event("b", FAILED)))
    runs = PullRuns(events={"1": asks, "2": tells}, recorded_in={"first": tmp_path / "first"})
    known = {name: [event.earlier for event in one.verdicts] for name, one in with_trials(runs).events.items()}
    assert known == {
        "1": [EarlierRun("first", "no", "pff"), EarlierRun("first")],
        "2": [EarlierRun("first", "no", "pff"), EarlierRun("second")],
    }


def test_a_recording_that_is_damaged_leaves_the_answer_unknown(tmp_path: Path) -> None:
    recorded(tmp_path / "first", "a", outcome="failed", answer="no")
    (tmp_path / "first" / "a.ndjson").write_text("no recording\n")
    asks = Events("first", TODAY, "pr7", verdicts=(Event("a", FAILED),))
    runs = with_trials(PullRuns(events={"1": asks}, recorded_in={"first": tmp_path / "first"}))
    assert runs.events["1"].verdicts[0].earlier == EarlierRun("first")
