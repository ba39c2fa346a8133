"""Day: what a persona's story asks of one day: its sessions, phases, corrections and density."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from pytest_recall.core.horizon.calendar import Calendar
from pytest_recall.core.horizon.persona import PRINCIPAL, Persona
from pytest_recall.core.horizon.story import Arc, Story

Phase = Literal["early", "mid", "late", "concluding"]
Density = Literal["quiet", "normal", "busy", "dense"]
CorrectionState = Literal["wrong_belief", "correction_day", "post_correction"]
ECHO_EVERY = 14
"""Days between two touchpoints of a long arc in the sessions that it references."""


class Correction(NamedTuple):
    """Where a correction stands on a day. The corrected belief is known from its day on."""

    arc: Arc
    state: CorrectionState

    @property
    def belief(self) -> str:
        """What the agent holds to be true."""
        return self.arc.wrong_belief if self.state == "wrong_belief" else self.arc.corrected_belief


class Sitting(NamedTuple):
    """A session on a day: the arcs that unfold in it, and those that are only touched on."""

    session: str
    primary: tuple[Arc, ...]
    echoes: tuple[Arc, ...]


class DayPlan(NamedTuple):
    """What is to be written about a day, session by session."""

    day: int
    sittings: tuple[Sitting, ...]
    density: Density


def phase(arc: Arc, day: int) -> Phase:
    """Return how far an arc is on a day."""
    length = arc.end_day - arc.start_day + 1
    if length <= 0:
        return "mid"
    done = (day - arc.start_day + 1) / length
    return "early" if done < 0.15 else "mid" if done <= 0.75 else "late" if done <= 0.90 else "concluding"


def echoes(arc: Arc, day: int) -> bool:
    """Whether an active arc is touched on in the sessions that it references.

    It is on its first and last day, when a belief forms or is corrected, on the day of a
    directive, and every two weeks from its fifteenth day on.
    """
    if not arc.referenced_sessions:
        return False
    if day in (arc.start_day, arc.end_day, arc.wrong_day, arc.corrected_day):
        return True
    if any(directive.day == day for directive in arc.directives):
        return True
    since = day - arc.start_day
    return since >= ECHO_EVERY and since % ECHO_EVERY == 0


def active_sessions(story: Story, persona: Persona, day: int) -> list[str]:
    """Return the sessions in which something happens: the principal's first, then as the persona declares them."""
    found: dict[str, None] = {}
    for arc in story.active(day):
        if arc.primary_session:
            found[arc.primary_session] = None
        if echoes(arc, day):
            found.update(dict.fromkeys(arc.referenced_sessions))
    declared = [PRINCIPAL, *(one.id for one in persona.sessions if one.id != PRINCIPAL)]
    return [id for id in declared if id in found] + [id for id in found if id not in declared]


def correction(arc: Arc, day: int) -> Correction | None:
    """Return where a correction stands; None for other arcs, and for one that does not say what is wrong."""
    if arc.type != "correction" or not arc.wrong_belief or arc.corrected_day is None:
        return None
    if day < arc.corrected_day:
        return Correction(arc, "wrong_belief")
    return Correction(arc, "correction_day" if day == arc.corrected_day else "post_correction")


def density(arcs: Iterable[Arc], day: int, weekend: bool) -> Density:
    """Return how much happens on a day with these active arcs."""
    active = list(arcs)
    incident = any(arc.type == "incident" for arc in active)
    directives = sum(directive.day == day for arc in active for directive in arc.directives)
    if weekend and not incident:
        return "quiet"
    if any(found.state == "correction_day" for arc in active if (found := correction(arc, day))):
        return "dense"
    if directives >= 2 and len(active) >= 3:
        return "dense"
    turning = any(day == arc.start_day or phase(arc, day) == "concluding" for arc in active)
    if incident or directives or turning or len(active) >= 3:
        return "busy"
    return "normal" if active else "quiet"


def plan_day(story: Story, persona: Persona, calendar: Calendar, day: int) -> DayPlan:
    """Return what is to be written about a day; without sittings, nothing is.

    Sessions that are not open on this day are left out.
    """
    active = story.active(day)
    sittings = []
    for session in active_sessions(story, persona, day):
        first, last = story.bounds(persona, session)
        if (first is not None and day < first) or (last is not None and day > last):
            continue
        primary = tuple(arc for arc in active if arc.primary_session == session)
        touched = tuple(
            arc
            for arc in active
            if arc.primary_session != session and session in arc.referenced_sessions and echoes(arc, day)
        )
        sittings.append(Sitting(session, primary, touched))
    return DayPlan(day, tuple(sittings), density(active, day, calendar.is_weekend(day)))
