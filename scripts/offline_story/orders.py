"""Define orders, the facts of offline stories: the lines that state them, and their parser.

An order is so many things that are wanted for a room. What is told of it is one line for each step. A question
may use other words for the things and the room, so that a search by words alone does not find the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Literal, NamedTuple

from offline_story.day_sentences import ToldDay

THINGS: Mapping[str, str] = {
    "torches": "flashlights",
    "ladders": "sets of steps",
    "couches": "sofas",
    "brochures": "leaflets",
    "parasols": "sunshades",
    "binders": "ring files",
    "kettles": "water boilers",
    "rugs": "carpets",
    "bins": "waste baskets",
    "raincoats": "waterproof jackets",
    "cellphones": "mobile handsets",
    "photographs": "pictures",
    "jugs": "pitchers",
    "pillows": "cushions",
    "handcarts": "trolleys",
    "stools": "seats without a back",
    "spectacles": "pairs of glasses",
    "taps": "faucets",
    "bicycles": "two-wheelers",
    "curtains": "window drapes",
    "screens": "monitors",
    "placards": "posters",
    "flasks": "thermos bottles",
    "duvets": "quilts",
    "cupboards": "cabinets",
    "mugs": "coffee cups",
    "jars": "glass pots",
    "crates": "wooden boxes",
    "doormats": "foot scrapers",
    "buckets": "pails",
    "lanterns": "oil lamps",
    "mattresses": "bed pads",
    "satchels": "shoulder bags",
    "scissors": "shears",
    "whistles": "signal pipes",
    "napkins": "serviettes",
    "wardrobes": "clothes closets",
    "wallets": "purses",
    "ropes": "hawsers",
    "shutters": "window blinds",
}
"""Things by the word that is told, with the one that a question may have."""
ROOMS: Mapping[str, str] = {
    "the cellar": "the basement",
    "the attic": "the loft",
    "the canteen": "the staff dining room",
    "the lobby": "the entrance hall",
    "the car park": "the parking lot",
    "the lavatories": "the toilets",
    "the infirmary": "the sick bay",
    "the archive": "the old records room",
    "the workshop": "the repair room",
    "the garden": "the grounds",
    "the shop": "the store",
    "the nursery": "the children's room",
    "the gatehouse": "the porter's lodge",
    "the corridor": "the hallway",
    "the kitchen": "the galley",
    "the veranda": "the porch",
}
"""Rooms in the same way."""
FIRMS = (
    *("Harrowby", "Fenwick", "Osterly", "Quillon", "Marlowe", "Tansy"),
    *("Brackwell", "Dunrobin", "Ivesco", "Pelham", "Rookwood", "Sterling"),
    *("Ashcombe", "Cardew", "Elverton", "Gisborne", "Hathersage", "Linacre"),
)
COLOURS = (
    *("green", "blue", "grey", "white", "black", "red"),
    *("yellow", "brown", "orange", "purple", "cream", "silver"),
    *("pink", "beige", "copper", "turquoise", "maroon", "lilac"),
)
Step = Literal["wish", "change", "quote", "choice", "delivery"]
LINES: Mapping[Step, tuple[str, ...]] = {
    "wish": (
        "{who} wants {number} {things} for {room}.",
        "{number} {things} are needed in {room}, {who} says.",
        "I put {number} {things} for {room} on the list, since {who} asked for them.",
    ),
    "change": (
        "{who} no longer wants {before} {things} for {room}, but {number}.",
        "The {before} {things} for {room} became {number}, after {who} had counted again.",
    ),
    "quote": (
        "{who} has a quote for the {things} in {room}: {number} dollars apiece.",
        "The {things} for {room} cost {number} dollars each, by the letter to {who}.",
    ),
    "choice": (
        "{who} went with {firm} for the {things} in {room}, and took {colour} instead of {other}.",
        "For the {things} in {room} {who} picked {firm}, in {colour} and not in {other}.",
    ),
    "delivery": (
        "{number} of the {things} for {room} came, and {who} signed for them.",
        "{who} unpacked {number} {things} for {room}.",
    ),
}
"""How each step is told, in one of these lines."""
RUMOURS = (
    "{who} heard somebody speak of {number} {things} for {room}; that was a guess.",
    "{who} was told that others have {number} {things} in {room}, which is no order.",
    "{who} asked what had become of the {things} for {room}, and I had nothing new.",
)
"""What is told of an order and changes nothing in it."""
_FIELDS = {
    "who": r"(?P<who>[^\W\d_][\w .'’-]*?)",
    "number": r"(?P<number>\d{1,3})",
    "before": r"(?P<before>\d{1,3})",
    "things": f"(?P<things>{'|'.join(THINGS)})",
    "room": f"(?P<room>{'|'.join(ROOMS)})",
    "firm": f"(?P<firm>{'|'.join(FIRMS)})",
    "colour": f"(?P<colour>{'|'.join(COLOURS)})",
    "other": f"(?P<other>{'|'.join(COLOURS)})",
}


def _pattern(line: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", line)
    return re.compile("".join(_FIELDS[part] if place % 2 else re.escape(part) for place, part in enumerate(parts)))


_PATTERNS = [(step, _pattern(line)) for step, lines in LINES.items() for line in lines]
_SOME = re.compile("|".join(THINGS))


class Order(NamedTuple):
    """Who wants what for which room, in the words that are told."""

    who: str
    things: str
    room: str


class OrderStep(NamedTuple):
    """What was told of an order on a day in a session. `values` are by the names in `LINES`."""

    step: Step
    order: Order
    day: int
    date: date
    session: str
    values: Mapping[str, str]

    @property
    def number(self) -> int:
        """How many, or how many dollars."""
        return int(self.values["number"])


def steps_of(told: ToldDay) -> list[OrderStep]:
    """Return the steps that a day tells, in their order."""
    found = []
    for session, body in told.sessions.items():
        for line in body.split("\n"):
            if not _SOME.search(line):
                continue
            for step, pattern in _PATTERNS:
                if match := pattern.fullmatch(line):
                    values = match.groupdict()
                    order = Order(values["who"], values["things"], values["room"])
                    found.append(OrderStep(step, order, told.day, told.date, session, values))
                    break
    return found


@dataclass(frozen=True)
class OrderBook:
    """What all days tell of orders, by order and in their order."""

    steps: Mapping[Order, Sequence[OrderStep]] = field(default_factory=dict)

    @classmethod
    def of(cls, days: Iterable[ToldDay]) -> OrderBook:
        """Return the book of these days, the first one first."""
        found: dict[Order, list[OrderStep]] = {}
        for told in days:
            for one in steps_of(told):
                found.setdefault(one.order, []).append(one)
        return cls(found)

    def of_step(self, order: Order, *steps: Step) -> list[OrderStep]:
        """Return the steps of these kinds, in their order."""
        return [one for one in self.steps.get(order, ()) if one.step in steps]

    def is_one(self, order: Order) -> bool:
        """Whether an order was placed once, and each change is one of the number before: a question has one answer."""
        numbers = self.of_step(order, "wish", "change")
        told = [one.step for one in numbers] == ["wish", *["change"] * (len(numbers) - 1)]
        return told and all(int(one.values["before"]) == last.number for last, one in pairwise(numbers))

    def changed_on(self, order: Order, after: int) -> int | None:
        """Return the first day after `after` on which the number that is wanted changes; None without one."""
        return next((one.day for one in self.of_step(order, "change") if one.day > after), None)
