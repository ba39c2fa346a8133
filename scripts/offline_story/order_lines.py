"""Draw the orders in offline days: who wants what, what happens to it later, and in which session."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from offline_story.dice import Dice
from offline_story.orders import COLOURS, FIRMS, LINES, ROOMS, RUMOURS, THINGS
from pytest_recall.horizon.day import people_known
from pytest_recall.horizon.persona import PRINCIPAL, Persona, SessionSpec

LONGEST = 14
"""Days after which nothing more is told of an order, at most."""


class PlannedLine(NamedTuple):
    """A line about an order: how many days after it was placed it is told, and whether with the principal instead."""

    after: int
    elsewhere: bool
    text: str


def order_lines(dice: Dice, persona: Persona, session: SessionSpec, day: int) -> list[str]:
    """Return what is told of orders in a session on a day, those that are new among it."""
    found = []
    others = [one for one in persona.sessions if one.id not in (session.id, PRINCIPAL) and not one.isolated]
    for home in [session, *(others if session.id == PRINCIPAL else [])]:
        people = _people(persona, home)
        shared = home.id != PRINCIPAL and not home.isolated
        for placed in range(max(1, day - LONGEST), day + 1):
            for line in _planned(dice, home.id, people, placed):
                told_in = PRINCIPAL if line.elsewhere and shared else home.id
                if placed + line.after == day and told_in == session.id:
                    found.append(line.text)
    return found


def _people(persona: Persona, session: SessionSpec) -> tuple[str, ...]:
    """Return who may want something in a session: people who take part, or with the principal all who are known."""
    known = {one.name: one.kind == "agent" for one in persona.cast}
    here = [one.name for one in people_known(persona, PRINCIPAL)] if session.id == PRINCIPAL else session.participants
    people = [name for name in here if not known.get(name, name.startswith("@")) and name != persona.name]
    return tuple(people)


@lru_cache(maxsize=4096)
def _planned(dice: Dice, session: str, people: tuple[str, ...], placed: int) -> tuple[PlannedLine, ...]:
    return tuple(_order(dice, people, (session, placed))) if people else ()


def _order(dice: Dice, people: tuple[str, ...], key: tuple[object, ...]) -> Iterator[PlannedLine]:
    def draw(low: int, high: int, *what: object) -> int:
        return dice.number(low, high, "order", *key, *what)

    fields: dict[str, object] = {
        "who": dice.pick(people, "order", *key, "who"),
        "things": dice.pick(tuple(THINGS), "order", *key, "things"),
        "room": dice.pick(tuple(ROOMS), "order", *key, "room"),
    }

    def line(step: str, lines: tuple[str, ...], after: int, elsewhere: bool, **more: object) -> PlannedLine:
        text = dice.pick(lines, "order", *key, step, after, "line").format(**fields, **more)
        return PlannedLine(after, elsewhere, text)

    number, changed = draw(12, 95, "number"), draw(12, 95, "changed")
    yield line("wish", LINES["wish"], 0, False, number=number)
    if changed != number and draw(1, 3, "change") == 1:
        yield line("change", LINES["change"], draw(1, 9, "change", "after"), False, before=number, number=changed)
    if draw(1, 4, "quote") > 1:
        yield line(
            "quote", LINES["quote"], draw(1, 4, "quote", "after"), True, number=draw(11, 480, "quote", "dollars")
        )
    if draw(1, 3, "choice") > 1:
        firm = dice.pick(FIRMS, "order", *key, "firm")
        colour, other = dice.several(COLOURS, 2, "order", *key, "colours")
        yield line(
            "choice", LINES["choice"], draw(1, 12, "choice", "after"), False, firm=firm, colour=colour, other=other
        )
    if draw(1, 3, "rumour") == 1:
        yield line("rumour", RUMOURS, draw(1, 10, "rumour", "after"), True, number=draw(12, 95, "rumour", "number"))
    if draw(1, 2, "delivery") == 1:
        after = draw(2, 8, "delivery", "after")
        for part in range(draw(2, 4, "deliveries")):
            yield line("delivery", LINES["delivery"], after, False, number=draw(4, 40, "delivery", part))
            after += draw(1, 2, "delivery", part, "gap")
