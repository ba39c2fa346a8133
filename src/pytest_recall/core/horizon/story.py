"""Story: the arcs that run through a persona's days, and when its sessions are open."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pytest_recall.core.horizon.calendar import DEFAULT_EPOCH, Calendar, DateMap
from pytest_recall.core.horizon.persona import Day, Epoch, Persona, Text, Written

ArcType = Literal["project", "incident", "decision", "learning", "relationship", "correction"]


class Directive(Written):
    """What has to happen on a day."""

    day: Day
    event: Text


class Arc(Written):
    """A thread of the story. It unfolds in its primary session, and is touched on in those that it references.

    A correction holds a belief that is wrong up to the day on which it is corrected.
    """

    id: Text
    type: ArcType
    title: Text
    description: Text
    start_day: Day = Field(alias="startDay")
    end_day: Day = Field(alias="endDay")
    directives: tuple[Directive, ...] = ()
    primary_session: Text | None = Field(default=None, alias="primarySession")
    referenced_sessions: tuple[Text, ...] = Field(default=(), alias="referencedSessions")
    participants: tuple[Text, ...] = ()
    wrong_day: Day | None = Field(default=None, alias="wrongDay")
    corrected_day: Day | None = Field(default=None, alias="correctedDay")
    wrong_belief: str = Field(default="", alias="wrongBelief")
    corrected_belief: str = Field(default="", alias="correctedBelief")

    def is_active(self, day: int) -> bool:
        """Whether it runs on this day."""
        return self.start_day <= day <= self.end_day


class Lifecycle(Written):
    """When a session is open in this story; without a bound, from the first day or to the last."""

    id: Text
    first_day: Day | None = Field(default=None, alias="firstDay")
    last_day: Day | None = Field(default=None, alias="lastDay")


class Story(Written):
    """All arcs of a persona's days."""

    epoch: Epoch | None = None
    sessions: tuple[Lifecycle, ...] = ()
    arcs: tuple[Arc, ...] = ()

    @property
    def end(self) -> int:
        """The last day of the last arc, 0 without one; nothing is told after it."""
        return max((arc.end_day for arc in self.arcs), default=0)

    def active(self, day: int) -> list[Arc]:
        """Return the arcs that run on this day, in the order of the file."""
        return [arc for arc in self.arcs if arc.is_active(day)]

    def bounds(self, persona: Persona, session: str) -> tuple[int | None, int | None]:
        """Return the first and last day of a session, None for an open end."""
        own = next((one for one in self.sessions if one.id == session), None)
        declared = persona.session(session)
        first = [one.first_day for one in (own, declared) if one is not None and one.first_day is not None]
        last = [one.last_day for one in (own, declared) if one is not None and one.last_day is not None]
        return next(iter(first), None), next(iter(last), None)


def calendar_of(persona: Persona, story: Story, dates: DateMap = "calendar") -> Calendar:
    """Return the calendar: the story's first date, else the persona's."""
    return Calendar(story.epoch or persona.epoch or DEFAULT_EPOCH, dates)
