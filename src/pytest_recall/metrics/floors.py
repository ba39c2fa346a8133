"""Build what a retrieval is compared with at its number of tokens: floors (random or newest units) and a ceiling."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

NOTHING, RANDOM, LAST, FULL, ORACLE = "nothing", "random", "last", "full", "oracle"
FLOORS = (NOTHING, RANDOM, LAST)
"""What a memory has to be better than. `FULL` is there only where all units are within the budget."""
READ_FROM = (NOTHING, RANDOM, LAST, ORACLE)
"""What a reader answers from beside a memory, each in a folder of its own in that of the run."""
UNTELLING = "does not discriminate"
"""What is said of questions of which a floor finds about as much as the system."""
DRAWS = 20
"""How often units are drawn at random; what counts is the mean over the draws."""


def floor_folder(name: str) -> str:
    """Return what the folder of a reader's answers from a floor is called."""
    return f"floor-{name}"


class SizedUnit(NamedTuple):
    """A text that was told: its id, and its size in tokens."""

    id: str
    tokens: int


def handed_out(
    told: Sequence[SizedUnit], gold: Iterable[str], budget: float, seed: str
) -> dict[str, list[tuple[str, ...]]]:
    """Return the ids that each floor and the ceiling return, by its name, a list of ids for each draw.

    `told` are the units in the order of telling, `gold` the ids of the evidence, the best first, `budget` the tokens
    that the system returned for the question, and `seed` decides the draws. `last` returns the newest first,
    `full` in the order of telling, `oracle` the evidence in its order. Each begins units until the budget is used up:
    the last one is cut to what is left.
    """
    sized = {unit.id: unit for unit in told}
    found: dict[str, list[tuple[str, ...]]] = {
        NOTHING: [()],
        RANDOM: [_within(_drawn(told, f"{seed}/{draw}"), budget) for draw in range(DRAWS)],
        LAST: [_within(reversed(told), budget)],
        ORACLE: [_within((sized[id] for id in gold), budget)],
    }
    if sum(unit.tokens for unit in told) <= budget + len(told):  # Each size is rounded up.
        found[FULL] = [tuple(unit.id for unit in told)]
    return found


def discriminates(low: float | None, count: int, floors: Iterable[float]) -> bool | None:
    """Return whether each floor finds less than the `low` end of a recall's interval; None if that is not known.

    The recall is of so many independent questions: one alone has no interval, and discriminates nothing.
    """
    found = list(floors)
    return None if low is None or not found else count > 1 and max(found) < low


def _within(units: Iterable[SizedUnit], budget: float) -> tuple[str, ...]:
    found = []
    for unit in units:
        if budget <= 0:
            break
        found.append(unit.id)
        budget -= unit.tokens
    return tuple(found)


def _drawn(units: Sequence[SizedUnit], seed: str) -> Iterator[SizedUnit]:
    """Yield the units in an order that the seed decides, worked out as far as it is asked for (Fisher and Yates)."""
    moved: dict[int, int] = {}
    for place in range(len(units)):
        number = int.from_bytes(hashlib.sha256(f"{seed}/{place}".encode()).digest()[:8])
        other = place + number % (len(units) - place)
        yield units[moved.get(other, other)]
        moved[other] = moved.pop(place, place)
