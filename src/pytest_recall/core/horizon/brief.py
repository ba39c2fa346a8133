"""Brief: what is to be written about one session of a day, and what may be known there.

A session knows its own past, its own arcs, and of others that they go on. What is confidential elsewhere is
kept out here, and not by asking for discretion.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from pytest_recall.core.horizon.calendar import Calendar
from pytest_recall.core.horizon.day import Correction, DayPlan, Density, Phase, correction, phase
from pytest_recall.core.horizon.layout import sessions_in
from pytest_recall.core.horizon.persona import PRINCIPAL, CastMember, Persona, SessionSpec
from pytest_recall.core.horizon.story import Arc


class Past(NamedTuple):
    """An earlier entry of a session, and its date."""

    date: date
    text: str


class Strand(NamedTuple):
    """An arc that unfolds in the session: how far it is, what has to happen today, and what is believed."""

    arc: Arc
    phase: Phase
    directives: tuple[str, ...]
    correction: Correction | None

    @property
    def description(self) -> str:
        """What it is about; empty while a belief is wrong, since the description may tell the right one."""
        return "" if self.correction is not None and self.correction.state == "wrong_belief" else self.arc.description


class Touch(NamedTuple):
    """An arc of another session that is touched on. One that is `confidential` lends its title, and nothing else."""

    title: str
    phase: Phase
    confidential: bool
    about: str = ""
    directives: tuple[str, ...] = ()
    correction: Correction | None = None


class Brief(NamedTuple):
    """What is to be written about a session on a day. `history` are its own last entries, the newest last."""

    session: SessionSpec
    date: date
    weekday: str
    density: Density
    strands: tuple[Strand, ...]
    touches: tuple[Touch, ...]
    history: tuple[Past, ...]
    day: int


@dataclass
class History:
    """The last entries of each session, at most `window` of them."""

    window: int
    _entries: dict[str, deque[Past]] = field(default_factory=dict)

    def take(self, when: date, text: str) -> None:
        """Add what a day's text says in each session."""
        for session, entry in sessions_in(text).items():
            self._entries.setdefault(session, deque(maxlen=self.window)).append(Past(when, entry))

    def of(self, session: str) -> tuple[Past, ...]:
        """Return the last entries of a session, the newest last."""
        return tuple(self._entries.get(session, ()))


def briefs(persona: Persona, calendar: Calendar, plan: DayPlan, history: History) -> list[Brief]:
    """Return what is to be written about a day, session by session."""
    day = plan.day
    return [
        Brief(
            session=_spec(persona, sitting.session),
            date=calendar.date_of(day),
            weekday=calendar.weekday_of(day),
            density=plan.density,
            strands=tuple(
                Strand(arc, phase(arc, day), _directives(arc, day), correction(arc, day)) for arc in sitting.primary
            ),
            touches=tuple(_touch(persona, arc, day) for arc in sitting.echoes),
            history=history.of(sitting.session),
            day=day,
        )
        for sitting in plan.sittings
    ]


def people_known(persona: Persona, session: str) -> list[CastMember]:
    """Return the cast without those who are only in confidential sessions other than this one."""
    hidden, seen = set[str](), set[str]()
    for one in persona.sessions:
        (hidden if one.isolated and one.id != session else seen).update(one.participants)
    return [one for one in persona.cast if one.name not in hidden - seen]


def sessions_known(persona: Persona, session: str) -> list[SessionSpec]:
    """Return the other sessions that may be named here: those that are not confidential."""
    return [one for one in persona.sessions if one.id != session and not one.isolated]


def _spec(persona: Persona, session: str) -> SessionSpec:
    found = persona.session(session)
    if found is not None:
        return found
    if session == PRINCIPAL and persona.principal is not None:
        return SessionSpec(id=session, participants=(persona.principal.name,))
    return SessionSpec(id=session, kind="1to1" if session == PRINCIPAL else "group")


def _touch(persona: Persona, arc: Arc, day: int) -> Touch:
    home: Mapping[str, bool] = {one.id: one.isolated for one in persona.sessions}
    if home.get(arc.primary_session or "", False):
        return Touch(arc.title, phase(arc, day), True)
    stand = correction(arc, day)
    about = "" if stand is not None and stand.state == "wrong_belief" else _first_sentence(arc.description)
    return Touch(arc.title, phase(arc, day), False, about, _directives(arc, day), stand)


def _directives(arc: Arc, day: int) -> tuple[str, ...]:
    return tuple(one.event for one in arc.directives if one.day == day)


def _first_sentence(text: str) -> str:
    line = " ".join(text.split())
    end = line.find(". ")
    return line if end < 0 else line[: end + 1]
