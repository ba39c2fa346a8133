"""Read what the report of a run needs beside its journal: cassettes, earlier runs and last passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.replay.cassette_file import Cassette
from pytest_recall.replay.cassette_library import Library
from pytest_recall.replay.exchange import Exchange
from pytest_recall.replay.wire_formats import answered, asked
from pytest_recall.results.comparison import compare, named_apart
from pytest_recall.results.gates import gates_of
from pytest_recall.results.last_pass import RUNS
from pytest_recall.results.report import (
    CaseStep,
    RecordedCalls,
    RunReport,
    Upstream,
    WrittenCase,
    fold,
    steps_of,
    written,
)
from pytest_recall.results.scorecard import Scorecard
from pytest_recall.runs import finish
from pytest_recall.runs.plan import read_cases
from pytest_recall.schedule.boxes import quarantine_of
from pytest_recall.schedule.forecast import forecast
from pytest_recall.schedule.state import current
from pytest_recall.trials.journal import NAME, read_journal
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Outcome

DAYS = 30
"""Days ahead for which the page says what falls due."""
_BYTES = 64 * 2**20


@dataclass(frozen=True, kw_only=True)
class ReportSources:
    """Where a report is read from, beside the journal: case files, cassettes, and the day that it is today."""

    place: Place
    case_files: tuple[Path, ...]
    library: Library
    today: date


def report(run: Path, sources: ReportSources, base: Path | None = None) -> RunReport:
    """Return the report of the run in the folder `run`, compared with the one in `base` if that is given.

    What lies around the journal may be gone or broken: then the report says so, and is made of the rest.
    Raises RecallError if a journal cannot be read, or if two runs have nothing in common.
    """
    place = sources.place
    record = read_journal(run)
    against = None
    if base is not None:
        before = read_journal(base)
        runs = named_apart(before, record, (base.resolve().as_posix(), run.resolve().as_posix()))
        against = compare(*runs, calibrations=finish.calibrations(place, before, record))
    missing: list[str] = []
    cases = _cases(sources, missing)
    rubric = read_settings(place.rubric, place.name(place.rubric))
    card = finish.scorecard(record, place, run)
    standing = None
    try:
        rows = current(place).rows
    except RecallError as error:
        missing.append(f"The state could not be read: {error.messages[0]}")
    else:
        known = {case_id: (case.scenario, case.dimension) for case_id, case in cases.items()}
        card = finish.with_gates(card, place, gates_of(record, rubric, known, rows), rubric, record)
        standing = forecast(cases, rows, sources.today, DAYS) if cases else None
    prints = {result.trial.case_id: result.trial.fingerprint for result in card.results}
    wanted = [*prints, *(case_id for case_id, _ in card.not_run)]
    found: dict[str, WrittenCase] = {
        case_id: written(cases[case_id], prints.get(case_id, "")) for case_id in wanted if case_id in cases
    }
    return fold(
        record,
        card,
        written=found,
        steps=_steps(place, run, record, wanted),
        taped=_taped(sources, rubric, card),
        standing=standing,
        against=against,
        missing=missing,
    )


def _cases(sources: ReportSources, missing: list[str]) -> Mapping[str, Case]:
    try:
        files = [CaseFile(path, sources.place.name(path)) for path in sources.case_files]
        return {case.id: case for case in read_cases(files)}
    except RecallError as error:
        missing.append(f"What was asked is not shown, since the case files could not be read: {error.messages[0]}")
        return {}


def _steps(place: Place, run: Path, record: Record, cases: Iterable[str]) -> Mapping[str, list[CaseStep]]:
    """Return the way of each case, oldest step first; journals that cannot be read are passed over."""
    runs = place.artifacts.runs()
    names = [folder.name for folder in runs]
    earlier = runs[: names.index(run.name)] if run.name in names else []
    wanted = set(cases)
    found: dict[str, list[CaseStep]] = {}
    for folder in (*earlier[-RUNS:], None):
        try:
            if folder is not None and (folder / NAME).stat().st_size > _BYTES:
                continue
            one = record if folder is None else read_journal(folder)
        except (RecallError, OSError):
            continue
        for case_id, step in steps_of(one, wanted, quarantine_of(one.header)).items():
            found.setdefault(case_id, []).append(step)
    return found


def _taped(sources: ReportSources, rubric: Settings, card: Scorecard) -> Mapping[str, RecordedCalls]:
    """Return the recorded calls of all cases that did not pass, by id; nothing for those that have no cassette."""
    rules = rubric.rules()
    found: dict[str, RecordedCalls] = {}
    for result in card.results:
        trial = result.trial
        if trial.outcome is Outcome.PASSED:
            continue
        library = sources.library
        path = library.source(library.of_case(trial.case_id, trial.scenario, trial.repeat))
        if not path.exists():
            continue
        name = library.name(path)
        try:
            cassette = Cassette(path, name, rules)
            calls = tuple(_upstream(exchange) for exchange in cassette.exchanges())
            found[trial.case_id] = RecordedCalls(name, str(cassette.header.get("recorded_at", ""))[:10], calls)
        except RecallError as error:
            found[trial.case_id] = RecordedCalls(name, problem=error.messages[0])
    return found


def _upstream(exchange: Exchange) -> Upstream:
    response, failure = exchange.response, exchange.failure
    status = str(response.status) if response is not None else ""
    if failure is not None:
        status = f"{status} {failure.kind}".strip()
    return Upstream(
        kind=exchange.kind,
        address=exchange.request.line,
        status=status,
        seconds=exchange.seconds,
        asked=asked(exchange.request),
        answered=answered(response) if response is not None else "",
    )
