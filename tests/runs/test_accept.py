"""Accepting answers: what is refused or left before anything is written, and what is said of recordings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_recall.cases.case_file import CaseFile
from pytest_recall.files.eval_directory import Place
from pytest_recall.replay.cassette_library import Library
from pytest_recall.runs import finish
from pytest_recall.runs.accept import Accepted, Asked, accepted
from pytest_recall.schedule.boxes import DATASET
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.trial import Answer, Trial
from tests.helpers.samples import FAILED, TODAY, trial
from tests.replay.recordings import call, write
from tests.runs.folding import NOON, journal
from tests.schedule.state_samples import problem

HOURS = "- id: hours\n  scenario: desk\n  dimension: facts\n  input: Open?\n  expected: until 4\n  judges: [exact]\n"


@dataclass
class Failed:
    """A run in which the case `hours` failed, and is in the state."""

    place: Place
    text: str = HOURS

    def trial(self, **more: Any) -> Trial:
        """Return its trial."""
        [case] = CaseFile(self.path, "eval/cases.yaml", self.text).cases()
        answer = Answer(text="until 5")
        return trial("hours", FAILED, answer=answer, scenario="desk", fingerprint=case.fingerprint, **more)

    @property
    def path(self) -> Path:
        """The case file."""
        return self.place.eval_dir / "cases.yaml"

    def accept(self, *besides: Trial, recorded: Path | None = None, **more: Any) -> Accepted:
        """Return what becomes of the files if its answer is accepted."""
        self.path.write_text(self.text, encoding="utf-8")
        run = journal(self.place, self.trial(), *besides, **more)
        finish.apply(self.place, run)
        asked = Asked((), (), "Ana", NOON, TODAY, recorded)
        files = [CaseFile(self.path, "eval/cases.yaml")]
        return accepted(self.place, read_journal(run), files, asked, folds=True)


def test_an_answer_is_accepted(place: Place) -> None:
    done = Failed(place).accept()
    assert (done.cases, done.left, done.notes) == (("hours",), (), ())
    assert done.contents[place.eval_dir / "cases.yaml"] == HOURS.replace("until 4", "until 5").encode()


def test_a_shard_is_refused(place: Place) -> None:
    told = problem(lambda: Failed(place).accept(shard="1/2"))
    assert told == "2026-03-10T120000: is shard 1/2 of a run; join all of them with `recall ci merge`"


def test_what_is_in_no_case_file_is_left(place: Place) -> None:
    marked = trial("marked", FAILED, where="tests/test_desk.py")
    done = Failed(place).accept(trial("q1", FAILED, reason=DATASET), trial("q2", FAILED, reason=DATASET), marked)
    assert done.cases == ("hours",)
    assert done.left == (
        "2 failed questions of datasets or personas, such as `q1`: what they expect is in no case file, so that there"
        " is nothing to accept",
        "tests/test_desk.py: `marked` cannot be accepted by its answer: it is in no case file; edit it by hand",
    )


def test_a_value_that_others_may_refer_to_is_refused(place: Place) -> None:
    text = HOURS.replace("until 4", "&hours until 4")
    assert problem(lambda: Failed(place, text).accept()) == (
        "eval/cases.yaml:1: `hours`: expected: has an anchor or a tag, which others may refer to; edit it by hand"
    )


def test_a_recording_of_another_answer_is_noted(place: Place) -> None:
    write(Library(place.cassettes).of_case("hours", "desk"), call(), answer="until 3")
    [note] = Failed(place).accept().notes
    assert note == (
        "eval/cassettes/desk/hours.ndjson: is the recording of another answer than `hours` gave in this run;"
        " record it again, or a replay fails"
    )


def test_the_recording_of_a_trial_that_there_is_no_more_goes(place: Place, tmp_path: Path) -> None:
    own, theirs = Library(place.cassettes), Library(tmp_path / "tapes")
    taken = write(theirs.of_case("hours", "desk"), call(), answer="until 5")
    stale = write(own.of_case("hours", "desk", 2), call())
    contents = Failed(place).accept(recorded=tmp_path / "tapes").contents
    assert contents[own.of_case("hours", "desk")] == taken.read_bytes()
    assert contents[stale] is None
