"""Define the persona of a long-horizon benchmark and the arcs of its story, and read their files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

PRINCIPAL = "principal"
"""The id of the session with the one person that the agent works for."""
Text = Annotated[str, Field(min_length=1)]
Day = Annotated[int, Field(strict=True, ge=1, le=100_000)]
FIRST, LAST = date(1900, 1, 1), date(2999, 12, 31)
"""Between these a story begins, so that each of its days, and each date around them, is one that can be told."""
Epoch = Annotated[date, Field(ge=FIRST, le=LAST)]


class WrittenModel(BaseModel):
    """A part of a persona's files. Keys that it does not know are passed over: published files have some."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True, defer_build=True)


class Principal(WrittenModel):
    """The person that the agent works for."""

    name: Text
    role: Text
    profile: str = ""


class CastMember(WrittenModel):
    """Someone in the story; a name that begins with `@` is an agent's."""

    name: Text
    role: str = ""
    kind: Literal["human", "agent"] | None = None


class Project(WrittenModel):
    """A piece of work that arcs are about."""

    id: Text
    name: Text
    description: str = ""


class SessionSpec(WrittenModel):
    """A conversation that goes on over days."""

    id: Text
    kind: Literal["1to1", "group"] = "1to1"
    participants: tuple[Text, ...] = ()
    isolated: bool = False
    """Whether it must not leak into others."""
    shared: bool = False
    first_day: Day | None = Field(default=None, alias="firstDay")
    """The first day on which it is there; that of the story counts before that of the persona."""
    last_day: Day | None = Field(default=None, alias="lastDay")
    """The last day on which it is there; that of the story counts before that of the persona."""
    sensitive_topics: tuple[Text, ...] = ()


class Persona(WrittenModel):
    """The agent: who it is, whom it serves, and in which sessions it takes part."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
    name: Text
    role: Text
    domain: Text
    profile: Text
    communication_style: Text
    epoch: Epoch | None = None
    company: str = ""
    institution: str = ""
    team_size: int | None = None
    principal: Principal | None = None
    cast: tuple[CastMember, ...] = ()
    projects: tuple[Project, ...] = ()
    sessions: tuple[SessionSpec, ...] = ()
    shared_knowledge: tuple[Text, ...] = Field(default=(), alias="sharedKnowledge")

    @property
    def affiliation(self) -> str:
        """The company or institution; empty without one."""
        return self.company or self.institution

    def session(self, id: str) -> SessionSpec | None:
        """Return the session with this id; None if the persona declares none."""
        return next((one for one in self.sessions if one.id == id), None)


DateMap = Literal["calendar", "legacy-dst"]
"""How days become dates; `legacy-dst` is how the published corpora were dated."""
DEFAULT_EPOCH = date(2024, 1, 1)
"""The first day where none is given."""


class Calendar(NamedTuple):
    """The dates of a story."""

    epoch: date = DEFAULT_EPOCH
    """The date of day 1."""
    dates: DateMap = "calendar"

    def date_of(self, day: int) -> date:
        """Return the date of a day, counted from 1.

        By `legacy-dst` it is one day early while daylight saving time holds, if it does not on the
        first day: the published corpora were dated by adding local days, on US Pacific time, to
        midnight UTC, and printing what that is in UTC.
        """
        found = self.epoch + timedelta(days=day - 1)
        if self.dates == "calendar":
            return found
        # Midnight UTC is the afternoon of the day before on the Pacific coast.
        began, local = self.epoch - timedelta(days=1), found - timedelta(days=1)
        return local if _saves_daylight(local) and not _saves_daylight(began) else found

    def weekday_of(self, day: int) -> str:
        """Return the name of the weekday of a day."""
        return WEEKDAYS[self.date_of(day).weekday()]

    def is_weekend(self, day: int) -> bool:
        """Whether a day is a Saturday or a Sunday."""
        return self.date_of(day).weekday() >= 5

    @property
    def other(self) -> Calendar:
        """The same days, by the other way to count."""
        return self._replace(dates="legacy-dst" if self.dates == "calendar" else "calendar")


class DatedDays(NamedTuple):
    """Of how many days the text names a date, `decided`, and which of them name that of the other way to count."""

    against: tuple[int, ...]
    decided: int

    @property
    def is_other(self) -> bool:
        """Whether the days are dated by the other way to count: most of those that say it, and five at least."""
        return len(self.against) >= 5 and len(self.against) > self.decided / 2


def dated(calendar: Calendar, texts: Iterable[tuple[int, str]]) -> DatedDays:
    """Return which days are dated by the other way to count; it can be seen where the two differ.

    A day counts if the date, `YYYY-MM-DD`, and the weekday that its text names more often are of one of them.
    """
    other = calendar.other
    against, decided = [], 0
    for day, text in texts:
        if calendar.date_of(day) == other.date_of(day):
            continue
        dates = _more(text, calendar.date_of(day).isoformat(), other.date_of(day).isoformat())
        weekdays = _more(text, calendar.weekday_of(day), other.weekday_of(day))
        decided += dates == weekdays != 0
        if dates == weekdays < 0:
            against.append(day)
    return DatedDays(tuple(against), decided)


def _more(text: str, mine: str, its: str) -> int:
    """Return 1 if a text names `mine` more often than `its`, -1 if less, 0 if both as often."""
    return (text.count(mine) > text.count(its)) - (text.count(mine) < text.count(its))


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _saves_daylight(day: date) -> bool:
    """Whether the afternoon of a day is on daylight saving time in the United States, by the rule since 2007."""
    begin = _sunday(date(day.year, 3, 1)) + timedelta(days=7)
    return begin <= day < _sunday(date(day.year, 11, 1))


def _sunday(day: date) -> date:
    """Return the first Sunday from `day` on."""
    return day + timedelta(days=6 - day.weekday())


ArcType = Literal["project", "incident", "decision", "learning", "relationship", "correction"]


class Directive(WrittenModel):
    """What has to happen on a day."""

    day: Day
    event: Text


class Arc(WrittenModel):
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


class Lifecycle(WrittenModel):
    """When a session is open in this story; without a bound, from the first day or to the last."""

    id: Text
    first_day: Day | None = Field(default=None, alias="firstDay")
    last_day: Day | None = Field(default=None, alias="lastDay")


class Story(WrittenModel):
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


DEFAULT_ARCS = "arcs-1000d.yaml"
KEPT = ".recall-bench"
"""The folder below a persona's in which passes keep what they need to go on."""


def suffix_of(arcs: str) -> str:
    """Return what the story's folders end with: `-180d` for `arcs-180d.yaml`, nothing for any other name."""
    match = re.fullmatch(r"arcs(-.+)\.ya?ml", arcs)
    return match[1] if match else ""


def days_in(arcs: str) -> int | None:
    """Return how many days a story has by its file's name, 60 for `arcs-60d.yaml`; None for another name."""
    match = re.fullmatch(r"-([1-9][0-9]{0,5})d", suffix_of(arcs))
    return int(match[1]) if match else None


def folder(base: str, arcs: str) -> str:
    """Return the folder of `memories`, `conversations`, `tools` or `qa` that goes with an arcs file."""
    return base + suffix_of(arcs)


def day_file(day: int, ending: str = "md", stem: str = "day") -> str:
    """Return the name of a day's file, such as `day-0007.md`."""
    return f"{stem}-{day:04}.{ending}"


def day_of(name: str, ending: str = "md", stem: str = "day") -> int | None:
    """Return the day of a file's name; None for another name."""
    match = re.fullmatch(rf"{stem}-(\d{{4,6}})\.{ending}", name)
    return int(match[1]) if match and int(match[1]) else None


HEADING = re.compile(r"^# session: *(\S+) *$", re.MULTILINE)
"""The line that begins a session's part of a day."""


class Span(NamedTuple):
    """A session's part of a text."""

    session: str
    start: int
    """Where its heading begins."""
    body: int
    """Where what is said begins."""
    end: int
    """Where it ends."""


def spans_in(text: str) -> list[Span]:
    """Return where each heading `# session: ID` of a day's text is, and what belongs to it."""
    found = list(HEADING.finditer(text))
    ends = [one.start() for one in found[1:]] + [len(text)] * bool(found)
    return [Span(one[1], one.start(), one.end(), end) for one, end in zip(found, ends, strict=True)]


def sessions_in(text: str) -> dict[str, str]:
    """Return what a day's text says in each session, by the headings `# session: ID`, without blank lines around."""
    found: dict[str, str] = {}
    for session, _, start, end in spans_in(text):
        body = text[start:end].strip()
        found[session] = f"{found[session]}\n\n{body}" if session in found else body
    return found
