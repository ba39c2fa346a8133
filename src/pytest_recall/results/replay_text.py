"""Word what a replay of all recordings found of a change."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_recall.files.wording import listed, plural
from pytest_recall.schedule.changes import Changes, ReplayState
from pytest_recall.trials.record import ReplaySummary

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


def counts(found: ReplaySummary) -> str:
    """Return the counts in one line."""
    parts = [f"{found.states[state]} {words}" for state, words in _COUNTED.items() if found.states.get(state)]
    parts += ["1 checked live"] if found.live else []
    parts += [f"{found.behind} behind on the target branch"] if found.behind else []
    if left := found.of - found.cases:
        parts.append(f"{plural(left, 'case')} not replayed")
    affected = f"{found.affected} of {plural(found.cases, 'case')} affected"
    return f"{affected} ({', '.join(parts)})" if parts else affected


def details(found: ReplaySummary) -> Iterator[str]:
    """Yield what differs, equal differences once."""
    if found.varying:
        cases = plural(found.twice, "case")
        yield f"  send something new each time, of {cases} replayed twice: {listed(found.varying)}"
    for one in found.differences:
        yield f"  {plural(one.cases, 'case')}, such as {one.first}: {one.text}"
    if found.more_differences:
        yield f"  and {found.more_differences} other differences"
    if found.lacking_headers:
        whose = "is compared without the headers that its recording lacks; --record it again"
        if found.lacking_headers > 1:
            whose = "are compared without the headers that their recordings lack; --record them again"
        yield f"  {plural(found.lacking_headers, 'case')} {whose}"


def lines(changes: Changes) -> Iterator[str]:
    """Yield what was found, for a terminal: the cases by state, what differs, and what fails on recorded answers."""
    for state, words in _LISTED.items():
        if ids := changes.ids(state):
            yield f"{words} ({len(ids)}): {listed(ids)}"
    yield from details(changes.summary)
    broken = [case_id for case_id in changes.broken if case_id not in changes.as_base]
    for case_id in broken[:MOST]:
        yield f"  FAILED {case_id}: {changes.findings[case_id].note or changes.findings[case_id].reason}"
    if len(broken) > MOST:
        yield f"  and {len(broken) - MOST} more that fail on recorded answers"
