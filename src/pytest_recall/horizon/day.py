"""Define one day: what its story requires, its text in parts, and the units a memory stores.

A session knows its own past, its own arcs, and of others that they go on. What is confidential elsewhere is
kept out here, and not by asking for discretion.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal, NamedTuple

from pytest_recall.cases.memory_part import Unit
from pytest_recall.horizon.persona import (
    HEADING,
    PRINCIPAL,
    Arc,
    Calendar,
    CastMember,
    Persona,
    SessionSpec,
    Story,
    day_file,
    sessions_in,
    spans_in,
)

Phase = Literal["early", "mid", "late", "concluding"]
Density = Literal["quiet", "normal", "busy", "dense"]
CorrectionState = Literal["wrong_belief", "correction_day", "post_correction"]
ECHO_EVERY = 14
"""Days between two touchpoints of a long arc in the sessions that it references."""


class Correction(NamedTuple):
    """Where a correction stands on a day. The corrected belief is known from its day on."""

    arc: Arc
    state: CorrectionState


class DaySession(NamedTuple):
    """A session on a day: the arcs that unfold in it, and those that are only touched on."""

    session: str
    primary: tuple[Arc, ...]
    echoes: tuple[Arc, ...]


class DayPlan(NamedTuple):
    """What is to be written about a day, session by session."""

    day: int
    sittings: tuple[DaySession, ...]
    density: Density


def phase(arc: Arc, day: int) -> Phase:
    """Return how far an arc is on a day on which it is active."""
    done = (day - arc.start_day + 1) / (arc.end_day - arc.start_day + 1)
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
        sittings.append(DaySession(session, primary, touched))
    return DayPlan(day, tuple(sittings), density(active, day, calendar.is_weekend(day)))


class PastEntry(NamedTuple):
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
    """An arc of another session that is touched on."""

    title: str
    phase: Phase
    confidential: bool
    """Whether it lends its title, and nothing else."""
    about: str = ""
    directives: tuple[str, ...] = ()
    correction: Correction | None = None


class Brief(NamedTuple):
    """What is to be written about a session on a day."""

    session: SessionSpec
    date: date
    weekday: str
    density: Density
    strands: tuple[Strand, ...]
    touches: tuple[Touch, ...]
    history: tuple[PastEntry, ...]
    """The last entries of this session, the newest last."""
    day: int


@dataclass
class SessionHistory:
    """The last entries of each session, at most `window` of them."""

    window: int
    _entries: dict[str, deque[PastEntry]] = field(default_factory=dict)

    def take(self, when: date, text: str) -> None:
        """Add what a day's text says in each session."""
        for session, entry in sessions_in(text).items():
            self._entries.setdefault(session, deque(maxlen=self.window)).append(PastEntry(when, entry))

    def of(self, session: str) -> tuple[PastEntry, ...]:
        """Return the last entries of a session, the newest last."""
        return tuple(self._entries.get(session, ()))


def briefs(persona: Persona, calendar: Calendar, plan: DayPlan, history: SessionHistory) -> list[Brief]:
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


UnitKind = Literal["day", "session", "topic"]
"""What is one unit: a day, what it says in one session, or one topic of that."""
_ID = re.compile(r"day-\d+/(?!\d+$)([^/]+)(?:/\d+)?")
_TOPIC = re.compile(r"^(?=### )", re.MULTILINE)


class DayPiece(NamedTuple):
    """A piece of a day."""

    session: str
    """Empty for what stands before the first session."""
    text: str


def pieces_of(text: str, kind: UnitKind) -> Iterator[DayPiece]:
    """Yield the pieces of a day's text, in their order; those of one session are together."""
    if kind == "day":
        yield DayPiece("", text.strip())
        return
    spans = spans_in(text)
    before = text[: spans[0].start if spans else len(text)].strip()
    for session, body in (("", before), *sessions_in(text).items()):
        for piece in [body] if kind == "session" else _TOPIC.split(body):
            if piece.strip():
                yield DayPiece(session, piece.strip())


def units_of(
    day: int,
    pieces: Iterable[DayPiece],
    *,
    numbered: bool,
    on: date,
    persona: str,
    arcs: Iterable[str],
    isolated: Container[str] = (),
) -> list[Unit]:
    """Return what a memory is told of a day. Ids are like `day-0007`, `day-0007/principal`, `day-0007/principal/2`.

    The last is that of a piece that is `numbered` in its session, since there may be several; without a session it is
    like `day-0007/2`.

    Metadata, all of it text, has beside the `id` the `day`, its `date`, the `persona`, the `session` where there
    is one, and the `arcs` that run on the day, separated by commas, where there are any. A session that is among the
    `isolated` ones has `isolated`, which is `true`.
    """
    name = day_file(day, "").rstrip(".")
    common = {"day": str(day), "date": on.isoformat(), "persona": persona}
    if running := ",".join(arcs):
        common["arcs"] = running
    found: list[Unit] = []
    counts: dict[str, int] = {}
    for session, piece in pieces:
        counts[session] = counts.get(session, 0) + 1
        id = "/".join([name, *([session] if session else []), *([str(counts[session])] if numbered else [])])
        about = {"id": id, **common, **({"session": session} if session else {})}
        if session in isolated:
            about["isolated"] = "true"
        found.append(Unit(id=id, content=piece, metadata=about))
    return found


def session_of(id: str) -> str:
    """Return the session of the unit with this id; empty for a whole day, and for what is no such id."""
    match = _ID.fullmatch(id)
    return match[1] if match else ""


FRONT = "---\ntype: daily\n---\n"
"""What each day's file begins with."""
_FENCED = re.compile(r"```[A-Za-z]*\n(.*)\n```", re.DOTALL)
_FRONT_BLOCK = re.compile(r"---\n.*?\n---\n", re.DOTALL)


def entry_of(reply: str, session: str) -> str:
    """Return the entry in a reply, empty if there is none: one without a heading is an excuse, or talk about the task.

    A fence or front matter around it goes, and so does the heading of its own session. A heading of the
    first two levels becomes one of the third, since a line like `# session: ID` would begin another session.
    """
    text = reply.replace("\r\n", "\n").replace("\r", "\n").strip()
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1].strip()
    if front := _FRONT_BLOCK.match(text):
        text = text[front.end() :].strip()
    first, _, rest = text.partition("\n")
    heading = HEADING.fullmatch(first)
    if heading is not None and heading[1] == session:
        text = rest.strip()
    lines, code = [], False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        above = line.startswith(("# ", "## ")) and not code
        lines.append(f"### {line.lstrip('#').lstrip()}" if above or HEADING.fullmatch(line) else line)
    return "\n".join(lines).strip() if any(line.startswith("### ") for line in lines) else ""


def day_text(entries: Mapping[str, str]) -> str:
    """Return the text of a day's file from what is said in each session; `sessions_in` finds the same again."""
    return FRONT + "".join(f"\n# session: {session}\n\n{entry}\n" for session, entry in entries.items())


class SessionPart(NamedTuple):
    """What is said in a session on a day."""

    day: int
    session: str
    heading: int
    """The line of its heading, counted from 1; its text follows."""
    text: str

    def line_of(self, offset: int) -> int:
        """Return the line of the file on which the character at `offset` of the text is."""
        return self.heading + 1 + self.text.count("\n", 0, offset)


def parts_of(day: int, raw: str) -> list[SessionPart]:
    """Return the parts of a day's file, in its order."""
    return [
        SessionPart(day, session, raw.count("\n", 0, start) + 1, raw[body + 1 : end])
        for session, start, body, end in spans_in(raw)
    ]
