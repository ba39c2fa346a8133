"""Word what a replay of all recordings found of a change."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_recall.files.wording import listed, plural
from pytest_recall.replay.differences import difference_line
from pytest_recall.schedule.changes import Changes, ReplayFinding, ReplayState
from pytest_recall.trials.record import ReplaySummary, RequestChange

MOST = 5
"""Cases that are shown of those that fail on recorded answers."""
_COUNTED = {
    ReplayState.CHANGED: "ask something else",
    ReplayState.NOT_RECORDED: "not recorded",
    ReplayState.UNKNOWN: "did not end",
    ReplayState.UNJUDGED: "to be judged again",
    ReplayState.RECORDED: "decided by recorded answers",
    ReplayState.UNAFFECTED: "as recorded",
}
_LISTED = {
    ReplayState.UNAFFECTED: "not affected: requests, answer and verdict are as recorded",
    ReplayState.CHANGED: "would ask something else than is recorded",
    ReplayState.NOT_RECORDED: "have no recording to compare with",
    ReplayState.UNJUDGED: "their judges would ask something else than is recorded",
    ReplayState.RECORDED: "decided by the recorded answers to these requests",
    ReplayState.UNKNOWN: "did not end: not known",
}


_CAUSES = {
    "series": "its recorded trials come to no verdict together",
    "broken": "fails on its recorded answer, and passed at its last verdict",
    "fixture": "a fixture asks something else than is recorded",
}


def change_text(change: RequestChange) -> str:
    """Return what a case asks in place of what is recorded, in one line."""
    if change.cause in _CAUSES:
        return _CAUSES[change.cause]
    if change.first is None:
        what = "asks something else than is recorded"
    else:
        where = f"call {change.call}: " if change.call else ""
        more = f" and {change.more} more" if change.more else ""
        what = f"{where}{difference_line(change.first)}{more}"
    return f"judged otherwise: {what}" if change.of_judge else what


def reason_text(found: ReplayFinding) -> str:
    """Return what the replay of a case came to, in one line."""
    if found.state in (ReplayState.CHANGED, ReplayState.UNJUDGED):
        return change_text(found.change)
    if found.state is ReplayState.RECORDED:
        before = f", and {found.before} before the change" if found.before else ", and new"
        return f"{found.outcome} on the recorded answer{before}"
    if found.state is ReplayState.UNKNOWN:
        return found.why or "not replayed, since something left it out of the collection"
    return str(found.state)


def counts(summary: ReplaySummary) -> str:
    """Return the counts in one line."""
    parts = [f"{summary.states[state]} {words}" for state, words in _COUNTED.items() if summary.states.get(state)]
    parts += ["1 checked live"] if summary.live else []
    parts += [f"{summary.behind} behind on the target branch"] if summary.behind else []
    if left := summary.of - summary.cases:
        parts.append(f"{plural(left, 'case')} not replayed")
    affected = f"{summary.affected} of {plural(summary.cases, 'case')} affected"
    return f"{affected} ({', '.join(parts)})" if parts else affected


def details(summary: ReplaySummary) -> Iterator[str]:
    """Yield what differs, equal differences once."""
    if summary.varying:
        cases = plural(summary.twice, "case")
        yield f"  send something new each time, of {cases} replayed twice: {listed(summary.varying)}"
    for one in summary.changes:
        yield f"  {plural(one.cases, 'case')}, such as {one.case}: {change_text(one.change)}"
    if summary.more_changes:
        yield f"  and {summary.more_changes} other differences"
    if summary.lacking_headers:
        whose = "is compared without the headers that its recording lacks; --record it again"
        if summary.lacking_headers > 1:
            whose = "are compared without the headers that their recordings lack; --record them again"
        yield f"  {plural(summary.lacking_headers, 'case')} {whose}"


def lines(changes: Changes) -> Iterator[str]:
    """Yield what was found, for a terminal: the cases by state, what differs, and what fails on recorded answers."""
    for state, words in _LISTED.items():
        if ids := changes.ids(state):
            yield f"{words} ({len(ids)}): {listed(ids)}"
    yield from details(changes.summary)
    broken = [case_id for case_id in changes.broken if case_id not in changes.as_base]
    for case_id in broken[:MOST]:
        yield f"  FAILED {case_id}: {changes.findings[case_id].note or reason_text(changes.findings[case_id])}"
    if len(broken) > MOST:
        yield f"  and {len(broken) - MOST} more that fail on recorded answers"
