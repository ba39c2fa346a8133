"""Apply a run's journal to the state, exactly once, and write its scorecard with links to its case files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from pytest_recall.cases.settings import StateLayout
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.files.disk import locked, write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place, relative
from pytest_recall.results import scorecard_text
from pytest_recall.results.regressions import BY_PEOPLE
from pytest_recall.results.scorecard import Scorecard, summarize
from pytest_recall.schedule.boxes import fold, quarantine_of, reset
from pytest_recall.schedule.events import events_of
from pytest_recall.schedule.selection import unanswered_after, with_changes
from pytest_recall.schedule.state import check_layout, current, event_files, read_events, stem, write_events
from pytest_recall.schedule.state_file import digest, write_state
from pytest_recall.schedule.suspects import touches_of, with_touches
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.record import Header, Record
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Outcome, Row, judged_by_models

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings
    from pytest_recall.judges.audit import Grading
    from pytest_recall.judges.calibration import Calibration, JudgeKey
    from pytest_recall.results.standing import Standing

APPLIED = "applied.json"
INTENT = "intent.json"


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
        by_change=header.by_change,
    )
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

        card = card._replace(texts=case_texts(place, failed))
    regressed = [result.trial for result in card.results if result.regression]
    if not regressed:
        return card
    from pytest_recall.results.last_pass import last_passes, suspected

    changed = {result.trial.case_id for result in card.results if result.cause and result.cause.label in BY_PEOPLE}
    card = card.with_suspects(suspected(place, record, regressed, changed), record.trials)
    return card._replace(passes=last_passes(place, header, regressed))


def with_gates(card: Scorecard, place: Place, gates: tuple[Standing, ...], rubric: Settings) -> Scorecard:
    """Return the scorecard with how the rubric's gates stand, and which of them this change has loosened."""
    if not gates and "GITHUB_BASE_REF" not in os.environ:
        return card
    from pytest_recall.results.gates import loosened_gates

    return card._replace(gates=gates, loosened=loosened_gates(place, rubric.gates, os.environ))


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


def links(env: Mapping[str, str], root: Path) -> str:
    """Return the address below which the files of `root` stand at the commit of this build; empty if none is known."""
    repository, commit = env.get("GITHUB_REPOSITORY"), env.get("GITHUB_SHA")
    if not repository or not commit:
        return ""
    server = env.get("GITHUB_SERVER_URL", "https://github.com").rstrip("/")
    base = f"{server}/{quote(repository)}/blob/{quote(commit)}"
    below = within(env, root)
    return f"{base}/{quote(below)}" if below else base


def within(env: Mapping[str, str], root: Path) -> str:
    """Return the folder of the repository that `root` is; empty for the repository itself, or where it is unknown."""
    workspace = env.get("GITHUB_WORKSPACE")
    below = relative(root, Path(workspace)) if workspace else "."
    return "" if below == "." or below.startswith(("/", "..")) else below


def write_scorecard(place: Place, run: Path, record: Record, card: Scorecard, *, newest: bool = True) -> str:
    """Write scorecard.md and scorecard.json of a run, and copies if it is the `newest`; return the former.

    Raises OSError.
    """
    texts = {
        "scorecard.md": scorecard_text.markdown(record, card, links(os.environ, place.root)),
        "scorecard.json": json.dumps(scorecard_text.as_json(record, card), indent=2, ensure_ascii=False) + "\n",
    }
    for name, text in texts.items():
        write_text(run / name, text)
        if newest:
            place.artifacts.write(name, text)
    return texts["scorecard.md"]


def apply(place: Place, run: Path, record: Record | None = None) -> dict[str, Row] | None:
    """Apply the run in the folder `run` to the state; None if all of it was in there before.

    Returns the rows that changed, by case id. The state is read again under the lock, so
    that two runs on one checkout keep each other's rows. A crash at any point leaves the
    run either applied or not, and known as such: the intent is on disk before the state.
    The mark counts the applied trials, so that a run which is applied while it goes on
    loses none of the later ones. Raises RecallError or OSError, and then has changed nothing.
    """
    with locked(place.lock):
        recover(place)
        record = record or read_journal(run)
        layout = read_settings(place.rubric, place.name(place.rubric)).state
        applied = _applied(run)
        if layout == "events" and (written := _written(place, record)) > (applied or 0):
            applied = written  # It died before it could mark the run.
            _mark(run, applied)
        if applied is not None and len(record.trials) <= applied:
            return None
        header = record.header
        today = date.fromisoformat(header.date)
        state = current(place)
        check_layout(place, layout)
        rows = {**state.rows}
        if header.reset and applied is None:
            rows.update(reset(rows, header.model, today))
        # All trials of these cases: a series may have begun before the run was last applied.
        news = {trial.case_id for trial in record.trials[applied or 0 :] if not trial.arm}
        if layout == "rows":  # Event files are sorted by day and run, whenever they are written.
            news -= _later_verdicts(run, header)
        trials = [trial for trial in record.trials if trial.case_id in news]
        rows.update(fold(rows, trials, today, quarantine_of(header)))
        grading = graded(trials)
        touches = touches_of(header, grading, first=applied is None)
        rows.update(with_touches(rows, touches))
        changed = {case_id: row for case_id, row in rows.items() if state.rows.get(case_id) != row}
        waiting = with_changes(state.unanswered, unanswered_after(state.unanswered, grading, today))
        if layout == "events":
            events = events_of(header, trials, len(record.trials), first=applied is None)
            if events.says_anything:
                write_events(place.events, events)
        elif (text := state.updated(changed, unanswered=waiting)) != state.text:
            intent = {"run": str(run.resolve()), "trials": len(record.trials), "after": digest(text)}
            write_text(place.artifacts.folder / INTENT, json.dumps(intent) + "\n", durable=True)
            write_state(place.state, text)
        _mark(run, len(record.trials))
        (place.artifacts.folder / INTENT).unlink(missing_ok=True)
    return changed


def _later_verdicts(run: Path, header: Header) -> set[str]:
    """Return the cases that a later run of the same day, which is in the state already, came to a verdict on.

    A row knows the day of its verdict, and no time: so the runs beside this one are asked.
    """
    found: set[str] = set()
    for folder in run.parent.iterdir():
        if folder.name > run.name and (folder / APPLIED).exists():
            other = read_journal(folder)
            if other.header.date == header.date:
                graded_there = graded(other.trials).values()
                found |= {
                    trial.case_id for trial in graded_there if trial.outcome.is_verdict and trial.counts_for_schedule
                }
    return found


def target(place: Place, layout: StateLayout) -> str:
    """Return what a run writes into, as messages name it."""
    return place.name(place.events if layout == "events" else place.state)


def _written(place: Place, record: Record) -> int:
    """Return how many trials of the run are in event files."""
    begun = f"{stem(events_of(record.header, (), 0))}-"
    paths = (path for name, path in event_files(place.events).items() if name.startswith(begun))
    found = (read_events(path, place.name(path)) for path in paths)
    return max((events.trials for events in found if events.run == record.header.run), default=0)


def is_applied(run: Path) -> bool:
    """Whether trials of the run in the folder `run` are in the state. Raises RecallError."""
    return _applied(run) is not None


def recover(place: Place) -> None:
    """Finish what a writer that died between the state and the mark left open; the caller holds the lock."""
    path = place.artifacts.folder / INTENT
    if not path.exists():
        return
    try:
        intent = json.loads(path.read_text(encoding="utf-8"))
        run, trials, after = Path(intent["run"]), int(intent["trials"]), str(intent["after"])
    except (ValueError, KeyError, TypeError):
        path.unlink(missing_ok=True)
        return
    written = place.state.exists() and digest(place.state.read_text(encoding="utf-8")) == after
    if written and run.is_dir():
        _mark(run, trials)
    path.unlink(missing_ok=True)


def _applied(run: Path) -> int | None:
    """Return how many of the run's trials are in the state; None if it was never applied."""
    try:
        return int(json.loads((run / APPLIED).read_text(encoding="utf-8"))["trials"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise RecallError(f"{run / APPLIED}: not readable; delete it if the run is not in the state yet") from None


def _mark(run: Path, trials: int) -> None:
    write_text(run / APPLIED, json.dumps({"trials": trials}) + "\n", durable=True)
