"""Coverage: whether the days that are written are those of the plan, with the sessions that it has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from pytest_recall.core.horizon.day import DayPlan
from pytest_recall.core.horizon.entry import FRONT
from pytest_recall.core.horizon.finding import Finding
from pytest_recall.core.horizon.layout import HEADING, day_file
from pytest_recall.core.horizon.parts import Part
from pytest_recall.core.horizon.persona import PRINCIPAL, Persona
from pytest_recall.core.horizon.story import Story


def days_findings(planned: Sequence[int], written: Collection[int]) -> Iterator[Finding]:
    """Yield which days are missing, and which are there without anything to tell."""
    last = max(written, default=0)
    for first, end in _runs(day for day in planned if day not in written and day < last):
        many = f"days {first} to {end} are" if end > first else f"day {first} is"
        yield Finding("error", "missing-day", f"{many} not there; `recall bench generate` writes what is missing")
    for first, end in _runs(day for day in planned if day > last):
        many = f"days {first} to {end} are" if end > first else f"day {first} is"
        yield Finding("warning", "unfinished", f"{many} not written yet; `recall bench generate` goes on")
    known = set(planned)
    for day in sorted(written):
        if day not in known:
            told = f"{day_file(day)} is of a day on which no arc runs; remove it, or give the day an arc"
            yield Finding("warning", "extra-day", told, day=day)


def day_findings(persona: Persona, story: Story, plan: DayPlan, raw: str, parts: Sequence[Part]) -> Iterator[Finding]:
    """Yield where the sessions of a day's file are not those of its plan."""
    day = plan.day
    if not raw.startswith(FRONT):
        yield Finding("warning", "front", "does not begin with `type: daily` between two lines `---`; add it", day=day)
    first = HEADING.search(raw)
    before = (raw if first is None else raw[: first.start()]).removeprefix(FRONT).strip()
    if before:
        yield Finding("warning", "preamble", "has text in front of the first `# session:`; move it below one", day=day)
    wanted = [one.session for one in plan.sittings]
    told = [part.session for part in parts]
    for session in wanted:
        if session not in told:
            message = f"the session {session!r} has arcs on this day, and no entry; write the day again"
            yield Finding("error", "missing-session", message, day=day)
    seen = set[str]()
    for part in parts:
        line = part.heading
        session = part.session
        if session in seen:
            message = f"the session {session!r} is there twice; put the two together"
            yield Finding("error", "duplicate", message, day=day, line=line)
        seen.add(session)
        if not part.text.strip():
            message = f"the entry of {session!r} is empty; write it, or remove its heading"
            yield Finding("error", "empty", message, day=day, line=line)
        if session != PRINCIPAL and persona.session(session) is None:
            message = f"{session!r} is not a session of the persona; declare it there, or remove the entry"
            yield Finding("error", "undeclared", message, day=day, line=line)
            continue
        opens, closes = story.bounds(persona, session)
        if day < (opens or 1) or (closes is not None and day > closes):
            message = (
                f"the session {session!r} is open from day {opens or 1} to {closes or 'the end'}; remove the entry"
            )
            yield Finding("error", "closed", message, day=day, line=line)
        elif session not in wanted:
            message = f"the session {session!r} has no arc on this day; remove the entry, or give it one"
            yield Finding("warning", "unplanned", message, day=day, line=line)


def _runs(days: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of days that follow one another."""
    first = last = 0
    for day in days:
        if first and day == last + 1:
            last = day
            continue
        if first:
            yield first, last
        first = last = day
    if first:
        yield first, last
