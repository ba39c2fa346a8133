"""Accept the answers of failed cases: what each file becomes, all checked before any of them is written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile
from pytest_recall.files.disk import read_bytes
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.one_value import in_json, in_yaml
from pytest_recall.files.wording import plural
from pytest_recall.judges.by_answer import NotByAnswer, by_answer, differs
from pytest_recall.replay.cassette_file import read_header
from pytest_recall.replay.cassette_library import Layer, Library
from pytest_recall.replay.run_recordings import library_of_runs
from pytest_recall.runs.checkout import of_this_branch
from pytest_recall.schedule.acceptance import REASON, acceptance
from pytest_recall.schedule.boxes import BY_VERDICTS, UNSCHEDULED, quarantine_of, review
from pytest_recall.schedule.events import Events, fold_behind, fold_events, fold_unanswered
from pytest_recall.schedule.run_file import SUFFIX, name_of, run_file_text
from pytest_recall.schedule.state import current, unfolded
from pytest_recall.schedule.state_file import read_state
from pytest_recall.trials.conditions import kept_answer, taped_of
from pytest_recall.trials.journal import read_header as read_run
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.record import Header, Record
from pytest_recall.trials.series import graded, series
from pytest_recall.trials.trial import Outcome, Row, Trial

ExpectedValue = str | int | float


class Asked(NamedTuple):
    """What is to be accepted."""

    ids: tuple[str, ...]
    """Those cases, or all failed cases if there are none."""
    scenarios: tuple[str, ...]
    """The cases are of these scenarios, if any are named."""
    by: str
    """Who accepts."""
    now: datetime
    today: date
    """The day on which that is."""
    recorded: Path | None = None
    """The folder that the run was recorded into; None where that is the usual one."""


class Accepted(NamedTuple):
    """What accepting comes to."""

    cases: tuple[str, ...]
    """Those that are accepted."""
    left: tuple[str, ...]
    """Those that are not, with the place and the reason."""
    contents: Mapping[Path, bytes | None]
    """Of files; None for a file that goes."""
    diff: str
    """That of these contents."""
    notes: tuple[str, ...]
    """About recordings."""


class _Case(NamedTuple):
    """A case whose answer is accepted: as it is written now, in its file, and what it expects from then on."""

    trial: Trial
    file: CaseFile
    case: Case
    value: ExpectedValue


def accepted(place: Place, record: Record, files: Sequence[CaseFile], asked: Asked, *, folds: bool) -> Accepted:
    """Return what becomes of the files if answers of a run are accepted; the caller holds the lock of the state.

    Where the checkout `folds`, the rows of the state change, and elsewhere there is a new run file.
    Raises RecallError, a sentence for each problem, where one of the wanted cases was changed or asked since.
    """
    header = record.header
    if header.shard:
        raise RecallError(f"{header.run}: is shard {header.shard} of a run; join all of them with `recall ci merge`")
    if not header.of_cases:
        raise RecallError(
            f"{header.run}: asked questions of a {header.source_kind}, whose expected answers are in no case file;"
            " there is nothing to accept"
        )
    failed = _wanted(record, asked)
    found, left = _sorted_out(failed, series(record.trials), files)
    if asked.ids and left:
        raise RecallError(*left)
    rows = current(place).rows
    later = _later(place, header, {one.trial.case_id for one in found})
    problems = [why for one in found if (why := _problem(one, header, rows.get(one.trial.case_id), later))]
    if problems:
        raise RecallError(*problems)
    if not found:
        return Accepted((), tuple(left), {}, "", ())
    texts, fingerprints = _rewritten(found)
    note = f"{asked.today} {asked.by}"
    events = Events(
        f"{asked.now:%Y-%m-%dT%H%M%S.%f}",
        date.fromisoformat(header.date),
        REASON,
        verdicts=tuple(acceptance(one.trial, header, fingerprints[one.trial.case_id], note) for one in found),
    )
    recordings, notes = _recordings(place, found, series(record.trials), asked.recorded)
    state = _state(place, events, folds=folds)
    contents: dict[Path, bytes | None] = {**recordings}
    contents |= {path: after.encode() for path, (_, after) in {**texts, **state}.items()}
    diff = "".join(_diff(place.name(path), *both) for path, both in {**texts, **state}.items())
    return Accepted(tuple(one.trial.case_id for one in found), tuple(left), contents, diff, notes)


def _wanted(record: Record, asked: Asked) -> list[Trial]:
    """Return the trials that grade the failed cases which are wanted. Raises RecallError for an id that has none."""
    run, grading = record.header.run, graded(record.trials)
    problems = []
    for case_id in asked.ids:
        if case_id not in grading:
            problems.append(f"{run}: did not ask `{case_id}`{nearest(case_id, grading)}")
        elif not grading[case_id].outcome.is_verdict:
            problems.append(
                f"{run}: `{case_id}` came to no verdict, so that there is no answer to accept; run it again"
            )
    if problems:
        raise RecallError(*problems)
    failed = [trial for trial in grading.values() if trial.outcome is Outcome.FAILED]
    if asked.ids:
        failed = [trial for trial in failed if trial.case_id in asked.ids]
    return [trial for trial in failed if not asked.scenarios or trial.scenario in asked.scenarios]


def _sorted_out(
    failed: Iterable[Trial], trials: Mapping[str, Sequence[Trial]], files: Iterable[CaseFile]
) -> tuple[list[_Case], list[str]]:
    """Return the cases that can be accepted by their answers, and a sentence about each of the others.

    A case that expects its answer already is in neither.
    """
    failed = list(failed)
    ids = {trial.case_id for trial in failed}
    by_id = {case.id: (file, case) for file in files for case in file.cases(ids & file.lines.keys())}
    found: list[_Case] = []
    left: list[str] = []
    if questions := [trial for trial in failed if trial.reason in UNSCHEDULED]:
        left.append(
            f"{plural(len(questions), 'failed question')} of datasets or personas, such as `{questions[0].case_id}`:"
            " what they expect is in no case file, so that there is nothing to accept"
        )
    for trial in failed:
        if trial.reason in UNSCHEDULED:
            continue
        case_id = trial.case_id
        file, case = by_id.get(case_id, (None, None))
        if file is None or case is None:
            place = f"{trial.where}: " if trial.where else ""
            left.append(f"{place}`{case_id}` cannot be accepted by its answer: it is in no case file; edit it by hand")
            continue
        where = f"{file.name}:{file.lines[case_id]}"
        given = [one for one in trials[case_id] if one.outcome is Outcome.FAILED]
        value = by_answer(case, given)
        if isinstance(value, NotByAnswer):
            left.append(f"{where}: `{case_id}` cannot be accepted by its answer: {value.why}; edit the case")
        elif type(value) is type(case.expected) and value == case.expected:
            continue
        elif any(one.source == "replayed" for one in given):
            left.append(
                f"{where}: `{case_id}` was answered from a recording, which is no news of the model; run it live with"
                f" `pytest -p recall {file.name}::{case_id} --record --recall-update`, then accept that run"
            )
        elif case.fingerprint == trial.fingerprint and (judge := differs(case, trial)):
            left.append(f"{where}: `{case_id}` cannot be accepted by its answer: `{judge}` is one of your own; edit it")
        else:
            found.append(_Case(trial, file, case, value))
    return found, left


def _later(place: Place, header: Header, wanted: Collection[str]) -> dict[str, str]:
    """Return the runs of this machine that began later and came to a verdict on a case, by its id."""
    found: dict[str, str] = {}
    runs = place.artifacts.runs() if wanted else []
    names = [folder.name for folder in runs]
    # They are in order; a run of another machine has no place among them, but a time at which it began.
    after = runs[names.index(header.run) + 1 :] if header.run in names else runs
    for folder in after:
        if header.run in names or read_run(folder).started > header.started:
            for trial in graded(read_journal(folder).trials).values():
                if trial.case_id in wanted and trial.outcome.is_verdict and trial.source != "replayed":
                    found[trial.case_id] = folder.name
    return found


def _problem(one: _Case, header: Header, row: Row | None, later: Mapping[str, str]) -> str:
    """Return why the answer of a case is none that can be accepted any more; empty if it can."""
    trial = one.trial
    case_id = trial.case_id
    where = f"{one.file.name}:{one.file.lines[case_id]}: `{case_id}`"
    if one.case.fingerprint != trial.fingerprint:
        return f"{where} was edited since {header.run}; run it again, then accept that run"
    if case_id in later:
        return f"{where} has a newer verdict, of {later[case_id]}; accept that run"
    after = review(trial.row, trial, date.fromisoformat(header.date), quarantine_of(header))
    if _as_verdicts(row) == _as_verdicts(after):
        return ""
    if _as_verdicts(row) != _as_verdicts(trial.row):
        newer = "" if row is None else f", of {row.last_tested}"
        return f"{where} has another verdict in the state than {header.run} gave{newer}; accept the newest run"
    if header.writes:
        return f"{where}: {header.run} is not in the state yet; run `recall state apply {header.run}`, or pull it"
    return ""


def _as_verdicts(row: Row | None) -> tuple[object, ...]:
    """Return what verdicts set in a row."""
    return () if row is None else tuple(getattr(row, name) for name in BY_VERDICTS)


def _rewritten(found: Iterable[_Case]) -> tuple[dict[Path, tuple[str, str]], dict[str, str]]:
    """Return the texts of the case files, before and after, and the fingerprints that their cases have then."""
    by_file: dict[Path, list[_Case]] = {}
    for one in found:
        by_file.setdefault(one.file.path, []).append(one)
    texts: dict[Path, tuple[str, str]] = {}
    fingerprints: dict[str, str] = {}
    problems: list[str] = []
    for path, cases in by_file.items():
        file = cases[0].file
        before = read_bytes(path).decode("utf-8")
        after, why = _with_expected(before, file, {one.trial.case_id: one.value for one in cases})
        for case_id, told in why.items():
            problems.append(f"{file.name}:{file.lines[case_id]}: `{case_id}`: expected: {told}; edit it by hand")
        texts[path] = before, after
        if not problems:
            again = CaseFile(path, file.name, after.removeprefix("\ufeff").replace("\r\n", "\n"))
            ids = [one.trial.case_id for one in cases]
            fingerprints |= {case.id: case.fingerprint for case in again.cases(ids)}
    if problems:
        raise RecallError(*problems)
    return texts, fingerprints


def _with_expected(text: str, file: CaseFile, values: Mapping[str, ExpectedValue]) -> tuple[str, dict[str, str]]:
    if file.path.suffix != ".jsonl":
        return in_yaml(text, file.name, "expected", values)
    lines = text.split("\n")
    for case_id, value in values.items():
        place = file.lines[case_id] - 1
        lines[place] = in_json(lines[place], "expected", value)
    return "\n".join(lines), {}


def _recordings(
    place: Place, found: Iterable[_Case], trials: Mapping[str, Sequence[Trial]], recorded: Path | None
) -> tuple[dict[Path, bytes | None], tuple[str, ...]]:
    """Return the recordings that are taken over, and what is to be said about those that do not hold the answer.

    Raises RecallError for one that is the recording of another answer.
    """
    own = Library(place.cassettes)
    theirs = library_of_runs(place) if recorded is None else Library(recorded, (Layer(recorded, place.name(recorded)),))
    contents: dict[Path, bytes | None] = {}
    notes: list[str] = []
    for one in found:
        case_id, scenario = one.trial.case_id, one.trial.scenario
        asked = trials[case_id]
        for trial in asked:
            path = theirs.source(theirs.of_case(case_id, scenario, trial.repeat))
            if not path.exists():
                if trial.repeat == 1 and (recorded is not None or one.trial.calls):
                    notes.append(f"{case_id}: has no recording in {place.name(theirs.folder)}; a replay will miss it")
                continue
            taped = taped_of(read_header(path, theirs.name(path)))
            if trial.answer is not None and taped.answer not in (None, kept_answer(trial.answer.text)):
                told = f"{theirs.name(path)}: is the recording of another answer than `{case_id}` gave in this run"
                if recorded is not None:
                    raise RecallError(f"{told}; give the folder that the run was recorded into")
                notes.append(f"{told}; record it again, or a replay fails")
            if recorded is not None:
                target = own.of_case(case_id, scenario, trial.repeat)
                own.check(target)
                contents[target] = read_bytes(path)
        stale = own.of_case(case_id, scenario, len(asked) + 1)
        if recorded is not None and stale.exists():
            contents[stale] = None
    return contents, tuple(notes)


def _state(place: Place, events: Events, *, folds: bool) -> dict[Path, tuple[str, str]]:
    """Return the text of the state, before and after: of its file, or of a new run file."""
    if not folds:
        return {place.run_files / f"{name_of(events)}{SUFFIX}": ("", run_file_text(events, current(place).rows))}
    state = read_state(place.state, place.name(place.state))
    named = {**of_this_branch(place, unfolded(place, state)), name_of(events): events}
    waiting = fold_unanswered(state.unanswered, named)
    folded = sorted({*state.folded, *named})
    behind = fold_behind(state.behind, named)
    rows = fold_events(state.rows, named)
    return {place.state: (state.text, state.updated(rows, folded=folded, unanswered=waiting, behind=behind))}


def _diff(name: str, before: str, after: str) -> str:
    lines = unified_diff(before.splitlines(True), after.splitlines(True), name if before else "/dev/null", name)
    return "".join(_whole(lines))


def _whole(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
