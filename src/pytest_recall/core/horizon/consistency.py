"""Consistency: whether a persona and its story fit together, before a day is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, get_args

from pydantic import BaseModel

from pytest_recall.core.errors import nearest
from pytest_recall.core.horizon.finding import Finding, Severity, Source
from pytest_recall.core.horizon.persona import PRINCIPAL, Persona
from pytest_recall.core.horizon.story import Arc, Story

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


def unknown_keys(value: Mapping[str, Any], model: type[BaseModel], source: Source) -> Iterator[Finding]:
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
            for below in _models(named[key].annotation):
                yield from _strangers(inner, below, (*path, key))


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models(part)]


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
            told = f"{arc.id}: has no primarySession, so that nobody writes about it; name one"
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


def _finding(source: Source, severity: Severity, rule: str, path: Keys, message: str) -> Finding:
    return Finding(severity, rule, message, source, path)
