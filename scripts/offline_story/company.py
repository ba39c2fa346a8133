"""Invent a persona and its story without a model: the office of a small ferry company."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

from offline_story.dice import Dice

_FIRST = (
    *("Ingrid", "Mateo", "Saoirse", "Tomasz", "Amina", "Callum", "Yara", "Henrik", "Noor", "Beatriz"),
    *("Owen", "Leila", "Janek", "Marta", "Duncan", "Freya", "Idris", "Paloma", "Rasmus", "Sunniva"),
)
_LAST = (
    *("Solheim", "Okafor", "Brandt", "Kerr", "Lindqvist", "Moreno", "Nakai", "Petrova", "Quist", "Rowan"),
    *("Sandvik", "Tully", "Ueda", "Varga", "Whelan", "Yilmaz", "Abara", "Castell", "Dunmore", "Eide"),
)
_SHIPS = ("Petrel", "Guillemot", "Kittiwake", "Fulmar", "Razorbill", "Shearwater")
_YARDS = ("Nordvik Yard", "Calder Slipway", "Tarn Shipworks")
_FUELS = ("Brightwater Fuels", "Solvang Bunkering", "Eastfirth Energy")
_BOOKINGS = ("Quaybook", "Slipstream", "Farepoint")


class Company(NamedTuple):
    """Who and what the seed chose: people by what they do, two ships, and other firms."""

    director: str
    captain: str
    engineer: str
    front: str
    planner: str
    harbour: str
    grants: str
    broker: str
    lawyer: str
    chair: str
    ship: str
    other_ship: str
    yard: str
    fuel: str
    booking: str


def company(dice: Dice) -> Company:
    """Return what the seed chose. No two people share a name."""
    first, last = dice.several(_FIRST, 10, "first"), dice.several(_LAST, 10, "last")
    people = [f"{one} {other}" for one, other in zip(first, last, strict=True)]
    ships = dice.several(_SHIPS, 2, "ships")
    yard, fuel = dice.pick(_YARDS, "yard"), dice.pick(_FUELS, "fuel")
    return Company._make([*people, *ships, yard, fuel, dice.pick(_BOOKINGS, "booking")])


def offline_persona(dice: Dice) -> dict[str, Any]:
    """Return the persona as plain values, by the names of its file."""
    we = company(dice)
    return {
        "id": "ferry-office" if dice.seed == "0" else f"ferry-office-{_slug(dice.seed)}",
        "name": "Wren",
        "role": "AI operations assistant to the managing director of a ferry company",
        "domain": "Coastal passenger ferries: timetables, ships and their upkeep, bookings, harbours, public grants",
        "company": "Marram Ferries",
        "team_size": 11,
        "profile": (
            f"Wren keeps the office of Marram Ferries together for {we.director}: the inbox, the calendar, the\n"
            "open points of every meeting, and the figures that people ask for twice. Wren sits in on the calls of\n"
            "the fleet and of the front office, keeps the notes of talks with harbours and authorities, and drafts\n"
            f"what {we.director} sends. Wren decides nothing alone and signs nothing. What was said in a confidential\n"
            "conversation stays there."
        ),
        "communication_style": (
            "First person, past tense, one topic under each heading. Figures with their units, dates as calendar\n"
            "dates, names in full. What changed is said together with what it was before. Each topic that is open\n"
            "ends with what is outstanding."
        ),
        "principal": {
            "name": we.director,
            "role": "Managing director of Marram Ferries",
            "profile": f"{we.director} has run the company for nine years, reads on paper, and decides before noon.",
        },
        "cast": [
            {"name": we.captain, "role": "Fleet captain", "kind": "human"},
            {"name": we.engineer, "role": "Chief engineer", "kind": "human"},
            {"name": we.front, "role": "Head of the front office", "kind": "human"},
            {"name": we.planner, "role": "Timetable planner", "kind": "human"},
            {"name": we.harbour, "role": "Harbour master at Skerry Point", "kind": "human"},
            {"name": we.grants, "role": "Transport officer of the county", "kind": "human"},
            {"name": we.broker, "role": "Broker", "kind": "human"},
            {"name": we.lawyer, "role": "Outside lawyer", "kind": "human"},
            {"name": we.chair, "role": "Chair of the board", "kind": "human"},
            {"name": "@tide-bot", "role": "Agent that watches tides, wind and swell", "kind": "agent"},
        ],
        "projects": [
            {"id": "timetable", "name": "New timetable", "description": "More sailings with the same two ships"},
            {"id": "refit", "name": f"Refit of the {we.ship}", "description": f"At {we.yard}, between two seasons"},
            {"id": "grant", "name": "County grant", "description": "Shore power for the quay at Skerry Point"},
        ],
        "sessions": [
            {"id": "principal", "kind": "1to1", "participants": [we.director]},
            {"id": "fleet", "kind": "group", "participants": [we.director, we.captain, we.engineer, "@tide-bot"]},
            {"id": "front-office", "kind": "group", "participants": [we.director, we.front, we.planner]},
            {"id": "partners", "kind": "group", "participants": [we.director, we.harbour, we.grants], "shared": True},
            {
                "id": "heron",
                "kind": "group",
                "participants": [we.director, we.broker, we.lawyer],
                "isolated": True,
                "sensitive_topics": ["the offer for the northern routes", "the seller of the northern routes"],
            },
            {
                "id": "board-chair",
                "kind": "group",
                "participants": [we.director, we.chair],
                "isolated": True,
                "sensitive_topics": ["the director's retirement", "candidates for the director's seat"],
            },
        ],
        "sharedKnowledge": [
            f"Marram Ferries sails two ships, the {we.ship} and the {we.other_ship}, out of Skerry Point",
            "The season has two timetables, and the second one begins after the refit",
            "No sailing leaves in more than 9 m/s of wind from the west without the fleet captain's word",
            "The front office answers the phone from 6:30 to 19:00",
        ],
    }


def _slug(seed: str) -> str:
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in seed)[:40]


Step = tuple[float, str]
"""What happens, and when: from 0, the first day, to 1, the last."""


SEASON = 150
"""Days, about, after which a long story starts again, with other figures."""


class _Days:
    """Places of a season, counted from 0, as days of the story; `name` tells later seasons apart."""

    def __init__(self, first: int, last: int, epoch: date, season: int = 0) -> None:
        self.first, self.last, self.epoch, self.season = first, last, epoch, season

    @property
    def name(self) -> str:
        return f"{self.date(0):%Y-%m}" if self.season else ""

    def at(self, place: float) -> int:
        return self.first - 1 + min(self.last - self.first + 1, max(1, round(place * (self.last - self.first + 1))))

    def date(self, place: float) -> date:
        return self.epoch + timedelta(days=self.at(place) - 1)


def offline_story(dice: Dice, days: int, epoch: date) -> dict[str, Any]:
    """Return the story as plain values, by the names of its file."""
    we = company(dice)
    whole = _Days(1, days, epoch)
    habits = _arc(
        whole,
        ("working-habits", "relationship", "principal", 0, 1),
        ("How the director likes to work", f"What {we.director} wants, and how: papers, calls, and quiet hours."),
        steps=[(0, f"{we.director} asked for one page a day, on paper, and for calls in blocks of 25 minutes")],
        who=[we.director],
    )
    seasons = list(_seasons(days, epoch))
    arcs = [habits]
    for number, when in enumerate(seasons):
        drawn = Dice(f"{dice.seed}/{number}")
        arcs += [*_with_the_director(drawn, when, we), *_elsewhere(drawn, when, we)]
    open_from, open_to = seasons[0].at(0.4), seasons[-1].at(0.8)
    return {"sessions": [{"id": "board-chair", "firstDay": open_from, "lastDay": open_to}], "arcs": arcs}


def _seasons(days: int, epoch: date) -> Iterator[_Days]:
    count = max(1, round(days / SEASON))
    for number in range(count):
        yield _Days(days * number // count + 1, days * (number + 1) // count, epoch, number)


def _clock(season: int) -> str:
    """Return a time of a morning, another one for each season: what is true in one is a mistake in the next."""
    minutes = 300 + (160 + 85 * season) % 300
    return f"{minutes // 60}:{minutes % 60:02}"


def _with_the_director(dice: Dice, when: _Days, we: Company) -> list[dict[str, Any]]:
    refit, raised, late = _money(dice, "refit", 160, 190), _money(dice, "raised", 195, 220), _money(dice, "late", 2, 5)
    price, risen = dice.number(128, 139, "fuel"), dice.number(146, 159, "risen")
    grant, granted = _money(dice, "grant", 240, 280), _money(dice, "granted", 180, 225)
    sailings, more = dice.number(18, 22, "sailings"), dice.number(24, 29, "more")
    fee, cut = dice.number(310, 340, "fee"), dice.number(270, 295, "cut")
    return [
        _arc(
            when,
            ("new-timetable", "project", "principal", 0.1, 0.62),
            ("New timetable", f"{we.planner} plans more sailings with the same two ships, from drafts to the printer."),
            refs=["fleet", "front-office"],
            steps=[
                (0.12, f"{we.planner} put a first draft with {sailings} sailings a day on the table"),
                (0.3, f"The draft grew to {more} sailings a day, two of them with bicycles on deck"),
                (0.55, f"{we.director} signed the timetable with {more - 1} sailings a day, from {when.date(0.62)} on"),
            ],
            who=[we.planner],
        ),
        _arc(
            when,
            ("refit-budget", "project", "principal", 0.1, 0.75),
            (
                f"Refit of the {we.ship}",
                f"{we.yard} quotes, the quote moves, and {we.engineer} keeps the list of works.",
            ),
            refs=["fleet"],
            steps=[
                (0.12, f"{we.yard} quoted {refit} for the refit of the {we.ship}"),
                (0.4, f"{we.yard} raised the quote for the refit of the {we.ship} from {refit} to {raised}"),
                (0.7, f"The {we.ship} left the yard; the bill was {raised}, less {late} for the delay"),
            ],
            who=[we.engineer],
        ),
        _arc(
            when,
            ("harbour-fee", "decision", "principal", 0.2, 0.38),
            ("Which fee to offer the harbour", f"{we.director} weighs what a landing at Skerry Point may cost."),
            refs=["partners"],
            steps=[
                (0.22, f"The harbour asked for ${fee} a landing"),
                (0.36, f"{we.director} decided to offer ${cut} a landing for three years, and not ${fee}"),
            ],
            who=[we.director, we.harbour],
        ),
        _arc(
            when,
            ("fuel-price", "correction", "principal", 0.1, 0.5),
            ("Terms of the fuel contract", f"The contract with {we.fuel} was read too quickly, and has a second page."),
            wrong=(0.1, f"{we.fuel} delivers at ${price / 100:.2f} a litre until {when.date(1)}"),
            right=(
                0.32,
                f"{we.fuel} delivers at ${price / 100:.2f} a litre only until {when.date(0.4)}, "
                f"and at ${risen / 100:.2f} from then on",
            ),
            who=[we.engineer],
        ),
        _arc(
            when,
            ("briefing-time", "correction", "principal", 0.28, 0.68),
            (
                "Time of the morning briefing",
                f"When {we.director} reads the briefing turned out to be a misunderstanding.",
            ),
            wrong=(0.28, f"{we.director} reads the morning briefing at {_clock(when.season)}"),
            right=(
                0.46,
                f"{we.director} reads the morning briefing at {_clock(when.season + 1)}, before any call",
            ),
            who=[we.director],
        ),
        _arc(
            when,
            ("booking-system", "decision", "principal", 0.5, 0.66),
            ("Which booking system to take", f"{we.front} compares three systems; {we.director} decides by the fees."),
            refs=["front-office"],
            steps=[
                (0.52, f"{we.front} ruled out two of three booking systems, and kept {we.booking}"),
                (0.64, f"{we.director} decided for {we.booking}, at 1.{dice.number(2, 9, 'share')} % of each ticket"),
            ],
            who=[we.front],
        ),
        _arc(
            when,
            ("wind-windows", "learning", "principal", 0.1, 0.58),
            (
                "When the wind lets a ship out",
                "What the forecasts are worth, sailing by sailing, against what happened.",
            ),
            steps=[(0.35, "Of the forecasts for the west wind, those made after 16:00 turned out to be the good ones")],
            who=["@tide-bot"],
        ),
        _arc(
            when,
            ("county-grant", "project", "principal", 0.45, 0.94),
            ("County grant for shore power", f"An application to the county, with {we.grants} on the other side."),
            refs=["partners"],
            steps=[
                (0.5, f"The application asked the county for {grant}"),
                (0.78, f"{we.grants} named {granted} as what the county can give, and not {grant}"),
                (0.92, f"The county granted {granted}, to be spent within eighteen months"),
            ],
            who=[we.grants],
        ),
        _arc(
            when,
            ("safety-audit", "incident", "principal", 0.7, 0.82),
            ("Unannounced safety audit", f"Inspectors come on board the {we.other_ship}, and leave a list."),
            refs=["fleet"],
            steps=[
                (
                    0.7,
                    f"Inspectors found {dice.number(5, 9, 'found')} faults on the {we.other_ship}, none of them grave",
                ),
                (0.8, "The last fault of the audit was closed, and the inspectors confirmed it in writing"),
            ],
            who=[we.captain],
        ),
    ]


def _elsewhere(dice: Dice, when: _Days, we: Company) -> list[dict[str, Any]]:
    lost = dice.number(6, 9, "lost")
    seats, measured = (dice.number(180, 188, "seats") + 13 * season for season in (when.season, when.season + 1))
    offer, better = _money(dice, "offer", 610, 690), _money(dice, "better", 710, 780)
    return [
        _arc(
            when,
            ("engine-failure", "incident", "fleet", 0.26, 0.36),
            (
                f"Engine failure on the {we.other_ship}",
                "A cooling pump breaks, and sailings are lost until it is replaced.",
            ),
            refs=["principal"],
            steps=[
                (
                    0.26,
                    f"The cooling pump of the {we.other_ship} broke; {lost} sailings were cancelled",
                ),
                (0.34, f"{we.engineer} put in a new pump for {_money(dice, 'pump', 7, 9)}"),
            ],
            who=[we.engineer, we.captain],
        ),
        _arc(
            when,
            ("capacity", "correction", "fleet", 0.44, 1),
            (
                f"Passengers on the {we.ship}",
                "How many may be on board, as the papers have it and as the inspectors do.",
            ),
            refs=["principal"],
            wrong=(0.44, f"The {we.ship} may carry {seats} passengers"),
            right=(0.6, f"The {we.ship} may carry {measured} passengers since its decks were measured again"),
            who=[we.captain],
        ),
        _arc(
            when,
            ("complaints", "learning", "front-office", 0.3, 1),
            (
                "What passengers complain about",
                f"{we.front} sorts the letters, and learns which of them have one cause.",
            ),
            refs=["principal"],
            steps=[(0.5, "Two of three complaints turned out to be about the queue, and not about delays")],
            who=[we.front],
        ),
        _arc(
            when,
            ("harbour-master", "relationship", "partners", 0.15, 1),
            ("Working with the harbour master", f"{we.harbour} answers letters slowly, and calls at once."),
            steps=[(0.6, f"{we.harbour} agreed to hold the inner berth free from 6:00 to 8:00")],
            who=[we.harbour],
        ),
        _arc(
            when,
            ("project-heron", "project", "heron", 0.15, 1),
            ("Project Heron", f"The northern routes are for sale; {we.broker} carries offers, {we.lawyer} reads them."),
            refs=["principal"],
            steps=[
                (0.2, f"{we.broker} took an offer of {offer} for the northern routes to the seller"),
                (0.5, f"The seller declined {offer}, and named {better}"),
                (0.84, f"{we.lawyer} put the contract at {better} before the director, unsigned"),
            ],
            who=[we.broker, we.lawyer],
        ),
        _arc(
            when,
            ("next-director", "decision", "board-chair", 0.4, 0.8),
            ("Handover at the top", f"{we.chair} and the director talk about who comes next, and when."),
            steps=[
                (0.42, f"{we.chair} was told that the director means to leave on {when.date(1)}"),
                (0.76, f"{we.chair} kept two of {dice.number(4, 6, 'names')} names on the list"),
            ],
            who=[we.chair],
        ),
    ]


def _arc(
    when: _Days,
    kind: tuple[str, str, str, float, float],
    words: tuple[str, str],
    *,
    refs: Sequence[str] = (),
    steps: Sequence[Step] = (),
    wrong: Step | None = None,
    right: Step | None = None,
    who: Sequence[str] = (),
) -> dict[str, Any]:
    id, type, session, start, end = kind
    first, last = when.at(start), when.at(end)
    if when.name:
        id, words = f"{id}-{when.name}", (f"{words[0]} ({when.name})", words[1])
    found: dict[str, Any] = {"id": id, "type": type, "title": words[0], "description": words[1]}
    found |= {"startDay": first, "endDay": last, "primarySession": session}
    found |= {"referencedSessions": list(refs), "participants": list(who)}
    found["directives"] = [{"day": min(last, max(first, when.at(place))), "event": event} for place, event in steps]
    if wrong is not None and right is not None:
        found |= {"wrongDay": first, "wrongBelief": wrong[1]}
        found |= {"correctedDay": max(first + 1, when.at(right[0])), "correctedBelief": right[1]}
    return found


def _money(dice: Dice, key: str, low: int, high: int) -> str:
    return f"${dice.number(low, high, key)},{dice.number(0, 19, key, 'rest') * 50:03}"
