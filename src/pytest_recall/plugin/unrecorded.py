"""Say at the end of a session what its processes have asked and not recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_recall.plugin.stash import CASSETTES
from pytest_recall.replay.exchange import error_replies
from pytest_recall.results.sentences import (
    ambiguous_line,
    answered_otherwise_line,
    by_credential_line,
    lost_calls_line,
    nothing_recorded_line,
    outside_line,
    past_lines,
    telemetry_line,
    to_match_line,
    unrecorded_line,
)

if TYPE_CHECKING:
    from pytest_recall.plugin.cassettes import CassetteManager
    from pytest_recall.plugin.session import Run


def take(run: Run) -> None:
    """Add what this process has asked past its recordings to the run, with notes on what cannot be matched."""
    manager: CassetteManager | None = run.config.stash.get(CASSETTES, None)
    if manager is not None:
        manager.finish_shared()
        run.log.note(*_notes(manager))
        run.unrecorded.add(manager)


def _notes(manager: CassetteManager) -> Iterator[str]:
    """Yield what a recording or a replay could not tell apart."""
    yield from (to_match_line(header, names) for header, names in sorted(manager.to_match.items()))
    yield from (by_credential_line(header, names) for header, names in sorted(manager.by_credential.items()))
    if manager.answered_otherwise:
        yield answered_otherwise_line(manager.answered_otherwise)
    if manager.ambiguous:
        yield ambiguous_line(manager.ambiguous)
    if manager.player.outside_calls:
        yield outside_line(manager.player.outside_calls)


def report(run: Run) -> None:
    """Say, once that of all processes is known, which cases and calls a recording holds nothing of.

    A replay would ask their clients again, unseen. An agent may also go on without the answer to a call that failed.
    """
    manager: CassetteManager | None = run.config.stash.get(CASSETTES, None)
    if manager is None:
        return
    mode = "off" if run.recording is None else run.recording.mode
    records = mode in ("record", "missing")
    is_own = records and run.recording is not None and not run.recording.of_change
    verdicts = {trial.case_id: trial for trial in run.trials if not trial.arm and trial.outcome.is_verdict}
    # A call that the agent left open at its verdict belongs to no trial, and is recorded.
    quiet = [trial for trial in verdicts.values() if not trial.calls] if is_own else []
    if silent := sorted(one.case_id for one in quiet if not manager.has_recording(one.case_id, one.scenario)):
        some = len(silent) < len(verdicts) or any(trial.calls for trial in run.trials)
        if some or manager.library.has_fixtures():
            run.log.note(unrecorded_line(silent))
        else:
            seen = run.unrecorded
            line = nothing_recorded_line(silent, seen.telemetry, seen.ignored, seen.programs, seen.clients)
            run.log.trouble([line])
    ends = {
        case_id: error_replies(call for call in trial.calls if call.source == "live")
        for case_id, trial in verdicts.items()
    }
    if lost := {case_id: replies for case_id, replies in ends.items() if replies}:
        run.log.note(lost_calls_line(lost, is_recorded=is_own))
    if records:
        run.log.note(*past_lines(run.unrecorded.programs, run.unrecorded.clients, manager.player.programs))
    if run.unrecorded.telemetry:
        run.log.note(telemetry_line(run.unrecorded.telemetry, mode))
