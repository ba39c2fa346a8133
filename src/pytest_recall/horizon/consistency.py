"""Check whether a persona, its story and its days fit together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from pydantic import BaseModel

from pytest_recall.files.errors import nearest
from pytest_recall.files.validation import models_in
from pytest_recall.horizon.day import FRONT, DayPlan, SessionPart
from pytest_recall.horizon.leaks import Finding, LeakSource, Severity
from pytest_recall.horizon.persona import HEADING, PRINCIPAL, Arc, Persona, Story, day_file

Keys = tuple[str | int, ...]
_CORRECTION = {
    "wrongDay": "wrong_day",
    "correctedDay": "corrected_day",
    "wrongBelief": "wrong_belief",
    "correctedBelief": "corrected_belief",
}


def story_findings(persona: Persona, story: Story) -> list[Finding]:
    """Return what is wrong in a persona and in its story, in the order of the files."""
    return [*_of_persona(persona), *_of_lifecycles(persona, story), *_of_arcs(persona, story)]


def unknown_keys(value: Mapping[str, Any], model: type[BaseModel], source: LeakSource) -> Iterator[Finding]:
    """Yield the keys in the plain values of a file that its model passes over."""
    for path, known in _strangers(value, model, ()):
        message = f"{path[-1]}: is not a field, and nothing reads it{nearest(str(path[-1]), known)}"
        yield Finding("warning", "unknown-key", message, source, path)


def _strangers(value: Any, model: type[BaseModel], path: Keys) -> Iterator[tuple[Keys, list[str]]]:
    if isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _strangers(inner, model, (*path, place))
    elif isinstance(value, Mapping):
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        named = {**{name: model.model_fields[name] for name in model.model_fields}, **fields}
        for key, inner in value.items():
            if key not in named:
                yield (*path, key), list(fields)
                continue
            for below in models_in(named[key].annotation):
                yield from _strangers(inner, below, (*path, key))


def _of_persona(persona: Persona) -> Iterator[Finding]:
    found = partial(_finding, "persona")
    yield from _twice(found, "sessions", [one.id for one in persona.sessions], "id")
    yield from _twice(found, "cast", [one.name for one in persona.cast], "name")
    names = _names(persona)
    for place, one in enumerate(persona.sessions):
        where: Keys = ("sessions", place)
        if len(one.id.split()) != 1:
            yield found("error", "session-id", (*where, "id"), f"{one.id!r} has a space in it; write it with `-`")
        if one.first_day is not None and one.last_day is not None and one.last_day < one.first_day:
            told = f"lastDay: {one.last_day} is before firstDay {one.first_day}; swap them"
            yield found("error", "range", (*where, "lastDay"), told)
        for who, name in enumerate(one.participants):
            if name not in names:
                told = f"participants: {name!r} is not in the cast{nearest(name, names)}"
                yield found("warning", "participant", (*where, "participants", who), told)


def _of_lifecycles(persona: Persona, story: Story) -> Iterator[Finding]:
    found = partial(_finding, "arcs")
    yield from _twice(found, "sessions", [one.id for one in story.sessions], "id")
    declared = _declared(persona)
    for place, one in enumerate(story.sessions):
        where: Keys = ("sessions", place)
        if one.id not in declared:
            told = f"{one.id!r} is not a session of the persona{nearest(one.id, declared)}"
            yield found("error", "undeclared", (*where, "id"), told)
        if one.first_day is not None and one.last_day is not None and one.last_day < one.first_day:
            told = f"lastDay: {one.last_day} is before firstDay {one.first_day}; swap them"
            yield found("error", "range", (*where, "lastDay"), told)


def _of_arcs(persona: Persona, story: Story) -> Iterator[Finding]:
    found = partial(_finding, "arcs")
    if not story.arcs:
        yield found("error", "empty", ("arcs",), "arcs: there are none, so that nothing happens; write some")
    yield from _twice(found, "arcs", [one.id for one in story.arcs], "id")
    declared, names = _declared(persona), _names(persona)
    for place, arc in enumerate(story.arcs):
        where: Keys = ("arcs", place)
        if arc.end_day < arc.start_day:
            told = f"{arc.id}: endDay {arc.end_day} is before startDay {arc.start_day}; swap them"
            yield found("error", "range", (*where, "endDay"), told)
            continue
        for number, directive in enumerate(arc.directives):
            if not arc.is_active(directive.day):
                told = f"{arc.id}: a directive is on day {directive.day}, {_outside(arc)}"
                yield found("error", "directive", (*where, "directives", number, "day"), told)
        yield from _of_correction(found, arc, where)
        if arc.primary_session is None:
            told = f"{arc.id}: has no primarySession, so that no one writes about it; name one"
            yield found("warning", "unwritten", where, told)
        for key, sessions in (
            ("primarySession", [arc.primary_session]),
            ("referencedSessions", arc.referenced_sessions),
        ):
            for session in sessions:
                if session is not None and session not in declared:
                    told = f"{arc.id}: {key} {session!r} is not a session of the persona{nearest(session, declared)}"
                    yield found("error", "undeclared", (*where, key), told)
        for who, name in enumerate(arc.participants):
            if name not in names:
                told = f"{arc.id}: {name!r} is not in the cast{nearest(name, names)}"
                yield found("warning", "participant", (*where, "participants", who), told)
        if arc.primary_session in arc.referenced_sessions:
            told = f"{arc.id}: referencedSessions has its own session {arc.primary_session!r}; take it out"
            yield found("warning", "reference", (*where, "referencedSessions"), told)
        if arc.primary_session is not None:
            first, last = story.bounds(persona, arc.primary_session)
            if arc.start_day < (first or 1) or (last is not None and arc.end_day > last):
                told = f"{arc.id}: goes on while the session {arc.primary_session!r} is closed, and is not told then"
                yield found("warning", "closed", (*where, "primarySession"), told)


def _of_correction(found: Callable[..., Finding], arc: Arc, where: Keys) -> Iterator[Finding]:
    given = {key: getattr(arc, name) for key, name in _CORRECTION.items()}
    if arc.type != "correction":
        if any(given.values()):
            told = f"{arc.id}: says what is corrected, but is of type {arc.type!r}; make it `correction`"
            yield found("warning", "correction", (*where, "type"), told)
        return
    if lacking := [key for key, value in given.items() if not value]:
        told = f"{arc.id}: is a correction without {' and '.join(lacking)}; add {'it' if len(lacking) == 1 else 'them'}"
        yield found("error", "correction", where, told)
        return
    assert arc.wrong_day is not None
    assert arc.corrected_day is not None
    if arc.wrong_day >= arc.corrected_day:
        told = f"{arc.id}: wrongDay {arc.wrong_day} is not before correctedDay {arc.corrected_day}; move one of them"
        yield found("error", "correction", (*where, "correctedDay"), told)
    for key in ("wrongDay", "correctedDay"):
        if not arc.is_active(given[key]):
            yield found("error", "correction", (*where, key), f"{arc.id}: {key} is {given[key]}, {_outside(arc)}")


def _outside(arc: Arc) -> str:
    return f"outside of {arc.start_day} to {arc.end_day}; move it, or the arc"


def _names(persona: Persona) -> set[str]:
    principal = {persona.principal.name} if persona.principal is not None else set[str]()
    return {persona.name, *principal, *(one.name for one in persona.cast)}


def _declared(persona: Persona) -> list[str]:
    return [PRINCIPAL, *(one.id for one in persona.sessions)]


def _twice(found: Callable[..., Finding], key: str, ids: Iterable[str], field: str) -> Iterator[Finding]:
    seen = set[str]()
    for place, id in enumerate(ids):
        if id in seen:
            yield found("error", "duplicate", (key, place, field), f"{id!r} is there twice; choose another {field}")
        seen.add(id)


def _finding(source: LeakSource, severity: Severity, rule: str, path: Keys, message: str) -> Finding:
    return Finding(severity, rule, message, source, path)


LONG = 300
"""Days from which a story is a long one."""
SHORTEST = 30
"""Days below which no story has room for what is demanded."""
SHARE = (0.5, 0.8)
"""The share of arcs that unfold with the principal; 65 % are aimed at."""


class Demands(NamedTuple):
    """The least that a story has: arcs, of each type, with directives, echoing elsewhere; days of quiet in a row."""

    arcs: int
    types: Mapping[str, int]
    directed: int
    echoing: int
    quiet: int


_TYPES = ("project", "incident", "decision", "learning", "relationship", "correction")


def demands_of(days: int) -> Demands:
    """Return what a story of so many days must have."""
    if days >= LONG:
        return Demands(18, dict(zip(_TYPES, (5, 2, 3, 2, 2, 4), strict=True)), 5, 5, 10)
    return Demands(8, dict(zip(_TYPES, (2, 1, 1, 1, 1, 2), strict=True)), 5, 3, max(2, min(10, days // 20)))


def persona_problems(persona: Persona) -> list[str]:
    """Return what a new persona lacks, one sentence for each."""
    found = [one.message for one in story_findings(persona, Story()) if one.source == "persona"]
    if persona.principal is None:
        found.append("principal: is missing; say for whom the agent works")
    declared = persona.session(PRINCIPAL)
    if declared is None or declared.kind != "1to1":
        found.append(f"sessions: there is none with the id {PRINCIPAL!r} and the kind '1to1'; add it as the first")
    elif persona.principal is not None and persona.principal.name not in declared.participants:
        found.append(f"sessions: {persona.principal.name!r} is not a participant of {PRINCIPAL!r}; add the name")
    if len(persona.sessions) < 3:
        found.append("sessions: are fewer than 3; add some")
    isolated = [one for one in persona.sessions if one.isolated and one.id != PRINCIPAL]
    if not isolated:
        found.append("sessions: none has `isolated: true`, beside the principal's; make one so")
    found += [
        f"sessions: {one.id!r} is isolated without sensitive_topics; add some"
        for one in isolated
        if not one.sensitive_topics
    ]
    for name, there, least in (
        ("cast", len(persona.cast), 4),
        ("projects", len(persona.projects), 2),
        ("sharedKnowledge", len(persona.shared_knowledge), 2),
    ):
        if there < least:
            found.append(f"{name}: has {there}, and at least {least} are wanted; add some")
    return found


def story_problems(persona: Persona, story: Story, days: int) -> list[str]:
    """Return what is wrong in a new story, or lacks in it, one sentence for each."""
    found = [one.message for one in story_findings(persona, story) if one.source == "arcs"]
    return [*found, *_limits(story, days), *_lacks(persona, story, days)]


def _limits(story: Story, days: int) -> Iterator[str]:
    for arc in story.arcs:
        if arc.end_day > days:
            yield f"{arc.id}: endDay {arc.end_day} is after the last day, {days}; end it by then"
        if arc.type == "correction" and arc.wrong_belief.strip() == arc.corrected_belief.strip() != "":
            yield f"{arc.id}: wrongBelief and correctedBelief are the same; change one of them"


def _lacks(persona: Persona, story: Story, days: int) -> Iterator[str]:
    least, arcs = demands_of(days), story.arcs
    if len(arcs) < least.arcs:
        yield f"arcs: are {len(arcs)}, and at least {least.arcs} are wanted; add some"
    types = Counter(str(arc.type) for arc in arcs)
    for kind, count in least.types.items():
        if types[kind] < count:
            yield f"arcs: {types[kind]} are of type {kind!r}, and at least {count} are wanted; add some"
    share = sum(arc.primary_session == PRINCIPAL for arc in arcs) / max(1, len(arcs))
    if not SHARE[0] <= share <= SHARE[1]:
        yield f"arcs: {share:.0%} have the primarySession {PRINCIPAL!r}, and about 65 % are wanted; move some"
    for one in persona.sessions:
        if one.isolated and not any(arc.primary_session == one.id for arc in arcs):
            yield f"arcs: none has the primarySession {one.id!r}, which is isolated; give it one"
    for what, there, count in (
        ("directives", sum(bool(arc.directives) for arc in arcs), least.directed),
        ("referencedSessions", sum(bool(arc.referenced_sessions) for arc in arcs), least.echoing),
    ):
        if there < count:
            yield f"arcs: {there} have {what}, and at least {count} are wanted; add some"
    longest = run = 0
    for day in range(1, days + 1):
        run = run + 1 if len(story.active(day)) <= 1 else 0
        longest = max(longest, run)
    if longest < least.quiet:
        yield f"arcs: more than one runs on all but {longest} days in a row; leave {least.quiet} such days in a row"


def days_findings(planned: Sequence[int], written: Collection[int]) -> Iterator[Finding]:
    """Yield which days are missing, and which are there without anything to tell."""
    last = max(written, default=0)
    for first, end in _runs(day for day in planned if day not in written and day < last):
        many = f"days {first} to {end} are" if end > first else f"day {first} is"
        yield Finding("error", "missing-day", f"{many} not there; `recall bench generate` writes what is missing")
    for first, end in _runs(day for day in planned if day > last):
        many = f"days {first} to {end} are" if end > first else f"day {first} is"
        yield Finding("warning", "unfinished", f"{many} not written yet; `recall bench generate` writes the rest")
    known = set(planned)
    for day in sorted(written):
        if day not in known:
            told = f"{day_file(day)} is of a day on which no arc runs; remove it, or give the day an arc"
            yield Finding("warning", "extra-day", told, day=day)


def day_findings(
    persona: Persona, story: Story, plan: DayPlan, raw: str, parts: Sequence[SessionPart]
) -> Iterator[Finding]:
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
