"""Find what CI keeps of the runs of a pull request, where no push to its branch drops it.

It stands in a ref of the pull request, beside its branch: `refs/recall/pull/N`, with a folder for each run, which has
its recordings and its run file. A force push, a rebase or a deleted file of the branch leaves them
alone, and a job that runs again finds what it has asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import CASSETTES, Place
from pytest_recall.files.git import Repository
from pytest_recall.replay.cassette_library import Library
from pytest_recall.schedule.events import Event, Events
from pytest_recall.schedule.run_file import read_run_file, run_files
from pytest_recall.trials.conditions import taped_of
from pytest_recall.trials.trial import EarlierRun, Outcome

RECORDINGS = "recordings"
"""The folder in `_artifacts` into which the run of a pull request records what it asks."""
BASE_RECORDINGS = "recordings-of-base"
"""The folder there with the recordings of the base that answer what the cases of this run ask as before."""

RUNS = "runs"
REFS = "refs/recall/pull/"
"""What the names of these refs begin with."""


def ref_of(number: int | str) -> str:
    """Return the ref with the recordings of a pull or merge request."""
    return f"{REFS}{number}"


class PullRuns(NamedTuple):
    """What earlier runs of pull requests have left, the oldest first."""

    recordings: tuple[Path, ...] = ()
    """Folders of cassettes."""
    events: Mapping[str, Events] = MappingProxyType({})
    """What the run files of these runs hold, by name."""
    recorded_in: Mapping[str, Path] = MappingProxyType({})
    """The folder of cassettes of each run."""


NO_RUNS = PullRuns()


def runs_of(place: Place, number: int | None, scratch: Path) -> PullRuns:
    """Return what earlier runs of a pull request have left, written into the empty folder `scratch`.

    Each verdict has what is known of its trial. Nothing where the clone does not have it. Raises RecallError for what
    cannot be read.
    """
    return NO_RUNS if number is None else with_trials(_runs(place, [ref_of(number)], scratch))


def runs_of_all(place: Place, scratch: Path) -> PullRuns:
    """Return the same of all pull requests that the clone has, the newest request first.

    So of several recordings of the same requests that of the newest pull request decides.
    """
    repository = _repository(place)
    refs = [] if repository is None else repository.refs(REFS)
    return _runs(place, sorted(refs, key=lambda ref: (len(ref), ref), reverse=True), scratch)


def _runs(place: Place, refs: list[str], scratch: Path) -> PullRuns:
    if (repository := _repository(place)) is None:
        return NO_RUNS
    recordings: list[Path] = []
    events: dict[str, Events] = {}
    recorded_in: dict[str, Path] = {}
    for number, ref in enumerate(ref for ref in refs if repository.first_of([ref])):
        there = scratch / f"pull-{number}"
        repository.check_out(ref, place.eval_dir, there, scratch / f"index-{number}")
        for run in sorted(there.iterdir()) if there.is_dir() else ():
            if (run / CASSETTES).is_dir():
                recordings.append(run / CASSETTES)
            files = run_files(run / RUNS)
            found = {name: read_run_file(path, f"{ref}:{path.name}") for name, path in files.items()}
            events |= found
            if (run / CASSETTES).is_dir():
                recorded_in |= {one.run: run / CASSETTES for one in found.values()}
    return PullRuns(tuple(recordings), events, recorded_in)


def with_trials(runs: PullRuns) -> PullRuns:
    """Return the same with what is known of the trial of each verdict: which run has asked, and what it recorded."""
    own = {(one.run, event.case_id): event for one in runs.events.values() for event in one.verdicts if not event.run}
    answers: dict[tuple[str, str, bool], str] = {}
    for run, folder in runs.recorded_in.items():
        with suppress(RecallError):
            for _, header in Library(folder).headers():
                recorded = taped_of(header)
                if recorded.answer is not None and not header.get("baseline"):
                    # The trials of a case that came to the same are alike, and the first one stands for them.
                    answers.setdefault((run, str(header.get("case")), recorded.passed), recorded.answer)

    def known(event: Event, teller: str) -> Event:
        run = event.run or teller
        answer = answers.get((run, event.case_id, event.outcome is Outcome.PASSED))
        first = own.get((run, event.case_id))
        return event._replace(earlier=EarlierRun(run, answer, "" if first is None else first.weighed))

    events = {
        name: one._replace(verdicts=tuple(known(event, one.run) for event in one.verdicts))
        for name, one in runs.events.items()
    }
    return runs._replace(events=events)


def _repository(place: Place) -> Repository | None:
    try:
        return Repository(place.root)
    except RecallError:
        return None
