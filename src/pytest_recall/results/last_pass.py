"""Read what a case that fails now answered when it last passed."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.git import Repository
from pytest_recall.replay.cassette_file import read_header
from pytest_recall.replay.run_recordings import library_of_runs
from pytest_recall.results.scorecard import LastPass
from pytest_recall.schedule.suspects import suspects
from pytest_recall.trials.conditions import RecordedAnswer, kept_answer, taped_of
from pytest_recall.trials.journal import NAME
from pytest_recall.trials.record import Header, Record
from pytest_recall.trials.trial import Outcome, Trial

_LASTPASS_BYTES = 64 * 2**20


class RunCheckout(NamedTuple):
    """What was checked out in a run, as its header says: the commit, and what was not committed."""

    commit: str
    uncommitted: str | None

    def has_history_of(self, other: RunCheckout, is_ancestor: Callable[[str], bool]) -> bool:
        """Whether another run was on a state that this one has in its history.

        What was not committed is in no history, so that both have to be at the same commit with the same edits. Without
        a repository there is one state of the files alone.
        """
        if not self.commit or not other.commit:
            return self.commit == other.commit
        if other.uncommitted:
            return other == self
        return other.uncommitted is not None and (other.commit == self.commit or is_ancestor(other.commit))


def last_passes(place: Place, header: Header, failed: Iterable[Trial]) -> dict[str, LastPass]:
    """Return the answers at the last pass before the run of this header, by case id, where they are known.

    They are in the journals of earlier runs on this machine whose commits are in the history of the run, else in the
    cassettes: those of the base, or of this checkout.
    """
    left = {trial.case_id: trial for trial in failed}
    passes: dict[str, LastPass] = {}
    repository = _repository(place) if header.commit else None
    checkout = RunCheckout(header.commit, header.uncommitted)

    @cache
    def is_ancestor(commit: str) -> bool:
        return repository is not None and repository.is_ancestor(commit, header.commit)

    names = [folder.name for folder in place.artifacts.runs()]
    earlier = place.artifacts.runs()[: names.index(header.run)] if header.run in names else []
    for folder in earlier[: -RUNS - 1 : -1]:
        if not left:
            break
        at = _checkout_of(folder / NAME)
        if at is None or not checkout.has_history_of(at, is_ancestor):
            continue
        for case_id, answer in _passes(folder / NAME, left).items():
            passes[case_id] = LastPass(kept_answer(answer), run=folder.name)
            del left[case_id]
    library = library_of_runs(place)
    for case_id, trial in left.items():
        path = library.source(library.of_case(case_id, trial.scenario))
        with suppress(RecallError, OSError):
            for whose, recorded in _recorded(path, header, repository):
                if recorded.passed and recorded.answer is not None:
                    passes[case_id] = LastPass(recorded.answer, recording=whose, date=recorded.day)
                    break
    return passes


def on_record(place: Place, failed: Iterable[Trial]) -> frozenset[str]:
    """Return the cases of which the recording has the answer that failed, so that a replay repeats it."""
    library, found = library_of_runs(place), set()
    for trial in failed:
        path = library.source(library.of_case(trial.case_id, trial.scenario))
        with suppress(RecallError, OSError):
            if trial.answer is not None and path.exists():
                recorded = taped_of(read_header(path, path.name))
                if not recorded.passed and recorded.answer == kept_answer(trial.answer.text):
                    found.add(trial.case_id)
    return frozenset(found)


def on_record_at(place: Place, commit: str, failed: Iterable[Trial]) -> frozenset[str]:
    """Return the same of what is checked out with a commit; nothing where the clone does not have it."""
    repository = _repository(place)
    with TemporaryDirectory() as scratch, suppress(RecallError):
        folder = Path(scratch, "eval")
        if repository is not None and repository.check_out(commit, place.eval_dir, folder, Path(scratch, "index")):
            return on_record(Place(folder.parent, folder), failed)
    return frozenset()


def _repository(place: Place) -> Repository | None:
    try:
        return Repository(place.root)
    except RecallError:
        return None


def _checkout_of(journal: Path) -> RunCheckout | None:
    """Return what was checked out in a run; None where its journal cannot be read."""
    with suppress(OSError, ValueError, AttributeError), journal.open("rb") as file:
        plain = json.loads(file.readline(_LASTPASS_BYTES))
        return RunCheckout(plain.get("commit", ""), plain.get("uncommitted"))
    return None


def _recorded(path: Path, header: Header, repository: Repository | None) -> Iterator[tuple[str, RecordedAnswer]]:
    """Yield the recordings of a case that a run can be compared with, and whose each is. Raises RecallError or OSError.

    A file that another commit has checked out by now is none of this run's.
    """
    here = path.exists() and (not header.commit or (repository is not None and repository.head() == header.commit))
    if repository is not None and header.base and header.base != header.commit:
        if path.exists() and not repository.changed(header.base, path):
            here = False
            yield "base", taped_of(read_header(path, path.name))
        elif (text := repository.text_beside(header.base, path)) is not None:
            with TemporaryDirectory() as folder:
                at_base = Path(folder) / path.name
                at_base.write_text(text, encoding="utf-8", newline="")
                yield "base", taped_of(read_header(at_base, path.name))
    if here:
        yield "checkout", taped_of(read_header(path, path.name))


def suspected(
    place: Place, record: Record, failed: Iterable[Trial], changed: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return which changes have touched each case since its last pass on the main branch, by case id.

    That none has is said only where it is known: of a case with a recording, in a project whose changes are replayed,
    as a row or this run shows that names what a change touched; and of none that is known to be `changed`. Others are
    left out, and so are all where the checkout has a change that was not replayed.
    """
    header = record.header
    replays = bool(header.affected) or any(trial.row is not None and trial.row.touched for trial in record.trials)
    replayed = header.knows_change or (header.uncommitted == "" and not header.commits)
    library = library_of_runs(place)
    by_case: dict[str, tuple[str, ...]] = {}
    for trial in failed:
        touched = suspects(trial, header)
        sound = trial.case_id not in changed and library.source(library.of_case(trial.case_id, trial.scenario)).exists()
        if touched or (touched is not None and replays and replayed and sound):
            by_case[trial.case_id] = touched
    return by_case


def _passes(journal: Path, wanted: Iterable[str]) -> dict[str, str]:
    """Return the last passing answer of each of the `wanted` cases in a journal; a broken line is passed over."""
    marks = {json.dumps(case_id, ensure_ascii=False).encode("utf-8", "surrogatepass"): case_id for case_id in wanted}
    found: dict[str, str] = {}
    with suppress(OSError):
        if journal.stat().st_size > _LASTPASS_BYTES:
            return {}
        for line in journal.read_bytes().split(b"\n"):
            if b'"passed"' not in line or not any(mark in line for mark in marks):
                continue
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                plain = json.loads(line)
                if plain["kind"] != "trial" or plain["case_id"] not in marks.values() or plain.get("arm"):
                    continue
                if plain["outcome"] == Outcome.PASSED.value:
                    found[plain["case_id"]] = str(plain["answer"]["text"])
    return found


RUNS = 40
"""How many earlier runs a case's way is taken from."""
