"""Units: a day's text in the pieces in which a memory is told of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Literal, NamedTuple

from pytest_recall.core.horizon.layout import day_file, sessions_in, spans_in
from pytest_recall.core.memory import Unit

UnitKind = Literal["day", "session", "topic"]
"""What is one unit: a day, what it says in one session, or one topic of that."""
_ID = re.compile(r"day-\d+/([^/]+)(?:/\d+)?")
_TOPIC = re.compile(r"^(?=### )", re.MULTILINE)


class Piece(NamedTuple):
    """A piece of a day. `session` is empty for what stands before the first session."""

    session: str
    text: str


def pieces_of(text: str, kind: UnitKind) -> Iterator[Piece]:
    """Yield the pieces of a day's text, in their order; those of one session are together."""
    if kind == "day":
        yield Piece("", text.strip())
        return
    spans = spans_in(text)
    before = text[: spans[0].start if spans else len(text)].strip()
    for session, body in (("", before), *sessions_in(text).items()):
        for piece in [body] if kind == "session" else _TOPIC.split(body):
            if piece.strip():
                yield Piece(session, piece.strip())


def units_of(day: int, text: str, kind: UnitKind, *, on: date, persona: str, arcs: Iterable[str]) -> list[Unit]:
    """Return what a memory is told of a day. Ids are like `day-0007`, `day-0007/principal`, `day-0007/principal/2`.

    Metadata, all of it text, has beside the `id` the `day`, its `date`, the `persona`, the `session` where there
    is one, and the `arcs` that run on the day, separated by commas, where there are any.
    """
    name = day_file(day, "").rstrip(".")
    common = {"day": str(day), "date": on.isoformat(), "persona": persona}
    if running := ",".join(arcs):
        common["arcs"] = running
    found: list[Unit] = []
    counts: dict[str, int] = {}
    for session, piece in pieces_of(text, kind):
        counts[session] = counts.get(session, 0) + 1
        id = "/".join([name, *([session] if session else []), *([str(counts[session])] if kind == "topic" else [])])
        about = {"id": id, **common, **({"session": session} if session else {})}
        found.append(Unit(id=id, content=piece, metadata=about))
    return found


def session_of(id: str) -> str:
    """Return the session of the unit with this id; empty for a whole day, and for what is no such id."""
    match = _ID.fullmatch(id)
    return match[1] if match else ""
