"""Sampling: the published order of questions, to the bit: seeded shuffle and stratified sample.

The generator is mulberry32, and starts again from the seed at every shuffle, as in Recall
Bench. Equal sizes are therefore shuffled alike; what is drawn at two checkpoints is related.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeVar

Item = TypeVar("Item")
Sampler = Literal["stratified", "plain"]
"""How older questions are drawn: by their category's share, or, as in early published runs, from all of them."""
_MASK = 0xFFFFFFFF


def mulberry32(seed: int) -> Iterator[float]:
    """Yield numbers from 0 to below 1, the same for the same seed: Tommy Ettinger's 32-bit generator."""
    state = seed & _MASK
    while True:
        state = (state + 0x6D2B79F5) & _MASK
        mixed = ((state ^ (state >> 15)) * (1 | state)) & _MASK
        mixed = ((mixed + ((mixed ^ (mixed >> 7)) * (61 | mixed))) & _MASK) ^ mixed
        yield ((mixed ^ (mixed >> 14)) & _MASK) / 2**32


def shuffled(items: Sequence[Item], seed: int) -> list[Item]:
    """Return the items in an order that the seed decides (Fisher and Yates); 0 leaves them as they are."""
    found = list(items)
    if seed == 0:
        return found
    draws = mulberry32(seed)
    for last in range(len(found) - 1, 0, -1):
        other = int(next(draws) * (last + 1))
        found[last], found[other] = found[other], found[last]
    return found


def stratified(items: Sequence[Item], count: int, seed: int, stratum: Callable[[Item], str]) -> list[Item]:
    """Return `count` of the items, or all if there are no more, from each stratum by its share.

    What rounding down leaves goes to the largest remainders, of equal ones to the larger stratum,
    then to the one that comes first. The drawn come stratum by stratum.
    """
    if len(items) <= count:
        return list(items)
    strata: dict[str, list[Item]] = {}
    for item in items:
        strata.setdefault(stratum(item), []).append(item)
    shares = {name: len(members) / len(items) * count for name, members in strata.items()}
    places = {name: int(share) for name, share in shares.items()}
    order = {name: place for place, name in enumerate(strata)}
    left = count - sum(places.values())
    for name in sorted(strata, key=lambda one: (-(shares[one] - places[one]), -len(strata[one]), order[one])):
        if left and places[name] < len(strata[name]):
            places[name] += 1
            left -= 1
    while left:
        name = max(strata, key=lambda one: (len(strata[one]) - places[one], -order[one]))
        places[name] += 1
        left -= 1
    return [item for name, members in strata.items() for item in shuffled(members, seed)[: places[name]]]


def plain(items: Sequence[Item], count: int, seed: int) -> list[Item]:
    """Return `count` of the items, or all if there are no more, from all of them alike."""
    return list(items) if len(items) <= count else shuffled(items, seed)[:count]
