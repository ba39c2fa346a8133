"""Apply a run's journal to the state, exactly once, and write its scorecard with links to its case files."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, get_args
from urllib.parse import quote

from pytest_recall.files.disk import locked, write_text
from pytest_recall.files.eval_directory import Place, relative, runs_in
from pytest_recall.results import scorecard_text
from pytest_recall.results.regressions import BY_PEOPLE
from pytest_recall.results.scorecard import Scorecard, summarize
from pytest_recall.runs.checkout import folds_here, head_of, of_this_branch, shared_names
from pytest_recall.runs.job import NO_JOB, Job
from pytest_recall.schedule.boxes import quarantine_of
from pytest_recall.schedule.events import Events, events_of, fold_events, waiver_of
from pytest_recall.schedule.run_file import name_of, run_files, trials_known, write_run_file
from pytest_recall.schedule.state import fold, is_remembered, unfolded, with_events
from pytest_recall.schedule.state_file import read_state
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.record import Header, Record
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Outcome, Row, judged_by_models

if TYPE_CHECKING:
    from pytest_recall.cases.gate import Blocks
    from pytest_recall.cases.settings import Settings
    from pytest_recall.judges.audit import Grading
    from pytest_recall.judges.calibration import Calibration, JudgeKey
    from pytest_recall.results.standing import Standing


def scorecard(record: Record, place: Place | None = None, run: Path | None = None) -> Scorecard:
    """Return the scorecard of a run from its journal, with the calibrations of judges that are at `place`.

    With its folder `run` also as re-graded. Raises RecallError if those cannot be read.
    """
    header = record.header
    known = None if place is None else calibrations(place, record)
    gradings = {} if run is None else _gradings(run)
    today = date.fromisoformat(header.date)
    card = summarize(
        record.trials,
        header.picks,
        header.total,
        today,
        quarantine_of(header),
        known or {},
        gradings,
        header.baselines,
        by_change=header.knows_change,
        judge_code=_judge_code(header),
        as_base=header.as_base,
        request_changes=dict(header.request_changes),
    )._replace(waiver=record.waiver)
    if card.panels is not None and known is not None:
        from pytest_recall.judges.judged_rates import judged_rates
        from pytest_recall.results.comparison import unit_of

        rates = judged_rates(record.trials, known, header.settings, group_of=unit_of)
        card = card._replace(rates=rates)
    if place is None:
        return card
    card = card._replace(directory=place.name(place.eval_dir))
    if failed := [result.trial for result in card.results if result.trial.outcome is Outcome.FAILED]:
        from pytest_recall.results.case_texts import case_texts
        from pytest_recall.results.last_pass import on_record

        card = card._replace(texts=case_texts(place, failed), on_record=on_record(place, failed))
    regressed = [result.trial for result in card.results if result.regression and not result.behind]
    if not regressed:
        return card
    from pytest_recall.results.last_pass import last_passes, suspected

    changed = {result.trial.case_id for result in card.results if result.cause and result.cause.label in BY_PEOPLE}
    suspects = suspected(place, record, regressed, changed)
    return card.with_history(suspects, last_passes(place, header, regressed), record.trials)


def _judge_code(header: Header) -> Mapping[str, list[tuple[str, str]]]:
    """Return the judges whose code the change of a run alters, each with its file, by case id."""
    found: dict[str, list[tuple[str, str]]] = {}
    for case_id, judge, path in header.judge_code:
        found.setdefault(case_id, []).append((judge, path))
    return found


def blocks_of(record: Record, rubric: Settings) -> Blocks:
    """Return what blocks: what the run was held to, or, of a run that does not say, the rubric's."""
    from pytest_recall.cases.gate import Blocks

    return next((one for one in get_args(Blocks) if one == record.header.blocks), rubric.blocks)


def gates_of_run(place: Place, paths: Iterable[Path], record: Record, rubric: Settings) -> tuple[Standing, ...]:
    """Return how the rubric's gates stand, over the case files `paths` and the state as they are now."""
    if not rubric.gates or not record.header.scheduled:
        return ()
    from pytest_recall.cases.case_file import CaseFile
    from pytest_recall.results.gates import gates_of
    from pytest_recall.runs.plan import read_cases
    from pytest_recall.schedule.state import current

    files = [CaseFile(path, place.name(path)) for path in paths]
    cases = {case.id: (case.scenario, case.dimension) for case in read_cases(files)}
    return gates_of(record, rubric, cases, current(place).rows)


def with_gates(
    card: Scorecard, place: Place, gates: tuple[Standing, ...], rubric: Settings, record: Record
) -> Scorecard:
    """Return the scorecard with how the rubric's gates stand, and which are looser than at the base of the run."""
    from pytest_recall.results.gates import loosened_gates

    return card._replace(gates=gates, loosened=loosened_gates(place, rubric.gates, record.header.base))


def calibrations(place: Place, *records: Record) -> Mapping[JudgeKey, Calibration]:
    """Return the calibrations at `place`, by judge; none where no model judged in `records`. Raises RecallError."""
    judged = any(judged_by_models(trial.verdicts) for record in records for trial in record.trials)
    if not judged or not place.calibration.exists():
        return {}
    from pytest_recall.judges.calibration_file import read_calibrations

    return read_calibrations(place.calibration, place.name(place.calibration))


def _gradings(run: Path) -> Mapping[str, Grading]:
    from pytest_recall.judges.audit_file import read_grades

    return read_grades(run)


def links(job: Job, root: Path) -> str:
    """Return the address below which the files of `root` stand at the commit of a job; empty if none is known."""
    below = within(job, root)
    return f"{job.files_url}/{quote(below)}" if below and job.files_url else job.files_url


def commit_page(job: Job, commit: str) -> str:
    """Return the page of a commit of the repository of a job; empty if none is known."""
    return f"{job.commits_url}/{commit}" if commit and job.commits_url else ""


def within(job: Job, root: Path) -> str:
    """Return the folder of the repository that `root` is; empty for the repository itself, or where it is unknown."""
    below = relative(root, job.workspace) if job.workspace else "."
    return "" if below == "." or below.startswith(("/", "..")) else below


def write_scorecard(place: Place, run: Path, record: Record, card: Scorecard, job: Job, *, newest: bool = True) -> str:
    """Write scorecard.md and scorecard.json of a run, and copies if it is the `newest`; return the former.

    Raises OSError.
    """
    texts = {
        "scorecard.md": scorecard_text.markdown(record, card, links(job, place.root)),
        "scorecard.json": json.dumps(scorecard_text.as_json(record, card), indent=2, ensure_ascii=False) + "\n",
    }
    for name, text in texts.items():
        write_text(run / name, text)
        if newest:
            place.artifacts.write(name, text)
    return texts["scorecard.md"]


def apply(
    place: Place,
    run: Path,
    record: Record | None = None,
    *,
    job: Job = NO_JOB,
    folds: bool | None = None,
    applied: int | None = None,
    write: bool = True,
    shared_at: str = "",
) -> dict[str, Row] | None:
    """Apply the run in the folder `run` to the state, exactly once; None if all of it was in there before.

    Where it `folds`, which the checkout says if the caller does not, it goes into the rows with all run files that
    wait; elsewhere it becomes a run file. The state names the trials that it holds in the same write, so that a run
    that was killed on the way, or goes on, is applied once and as a whole; a caller who knows more of that than names
    tell says how many are `applied`, and at which commit the state is that everyone has, `shared_at`. Without `write`
    nothing is changed. Returns the rows that change, by case id. Raises RecallError or OSError, and then has changed
    nothing.
    """
    with locked(place.lock):
        record = record or read_journal(run)
        folds = folds_here(place, job) if folds is None else folds
        state = read_state(place.state, place.name(place.state))
        waiting = unfolded(place, state)
        before = with_events(state, waiting)
        known = {*state.folded, *waiting}
        applied = trials_known(events_of(record.header, (), 0), known) if applied is None else applied or None
        waived = waiver_of(record)
        if waived is not None and name_of(waived) in known:
            waived = None
        if applied is not None and len(record.trials) <= applied and waived is None:
            return None
        # All trials of these cases: a series may have begun before the run was last applied.
        news = {trial.case_id for trial in record.trials[applied or 0 :] if not trial.arm}
        events = _events(record, news, first=applied is None)
        says_anything = events.says_anything
        if folds:  # Run files are sorted by day and run, whenever they are written.
            events = _events(record, news - _later_verdicts(run, record.header, known), first=applied is None)
        named = {name_of(events): events} if says_anything else {}
        if not events.verdicts and not fold_events(before.rows, named) and not events.unanswered and not events.behind:
            named = {}  # It only touches what it has touched before.
        named |= {} if waived is None else {name_of(waived): waived}
        waiting = of_this_branch(place, waiting) if folds else waiting
        if folds and write:
            fold(place, state, {**waiting, **named}, shared_names(place, job, shared_at))
        elif write:
            for one in named.values():
                write_run_file(place.run_files, one, before.rows)
        return fold_events(state.rows, {**waiting, **named}) if folds else fold_events(before.rows, named)


def _events(record: Record, case_ids: Collection[str], *, first: bool) -> Events:
    """Return what the trials of some cases of a run add to the state."""
    trials = [trial for trial in record.trials if trial.case_id in case_ids]
    return events_of(record.header, trials, len(record.trials), first=first)


def _later_verdicts(run: Path, header: Header, known: Collection[str]) -> set[str]:
    """Return the cases that a later run of the same day, which is in the state already, came to a verdict on.

    A row knows the day of its verdict, and no time: so the runs beside this one are asked.
    """
    found: set[str] = set()
    for folder in runs_in([run.parent]):
        if folder.name > run.name:
            other = read_journal(folder)
            if other.header.date == header.date and trials_known(events_of(other.header, (), 0), known) is not None:
                graded_there = graded(other.trials).values()
                found |= {
                    trial.case_id for trial in graded_there if trial.outcome.is_verdict and trial.counts_for_schedule
                }
    return found


def target(place: Place, *, folds: bool) -> str:
    """Return what a run writes into, as messages name it, in a checkout that `folds` or not."""
    return place.name(place.state if folds else place.run_files)


def lacking(place: Place, job: Job) -> list[tuple[Path, Record]]:
    """Return the runs of this checkout on the branch that is checked out which the state does not hold as a whole.

    Those that move no box are left out, and those of days that the state no longer names. Raises RecallError.
    """
    state = read_state(place.state, place.name(place.state))
    known = {*state.folded, *run_files(place.run_files)}
    branch = head_of(place.root, job)[1]
    found = []
    for folder in place.artifacts.runs():
        record = read_journal(folder)
        header = record.header
        events = events_of(header, record.trials, len(record.trials))
        own = header.writes and header.of_cases and not header.shard and header.branch == branch
        news = events.says_anything and (trials_known(events, known) or 0) < len(record.trials)
        if own and news and is_remembered(events.date, known):
            found.append((folder, record))
    return found


def is_applied(place: Place, record: Record) -> bool:
    """Whether trials of a run are in the state. Raises RecallError."""
    state = read_state(place.state, place.name(place.state))
    return trials_known(events_of(record.header, (), 0), {*state.folded, *run_files(place.run_files)}) is not None
