"""Draw for a seed: the same key is the same choice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")


class Dice(NamedTuple):
    """What draws for a seed. Nothing is kept: the same key is the same choice."""

    seed: str

    def number(self, low: int, high: int, *key: object) -> int:
        """Return a whole number from `low` to `high`, both included."""
        text = "\0".join(map(str, (self.seed, *key)))
        return low + int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % (high - low + 1)

    def pick(self, options: Sequence[Item], *key: object) -> Item:
        """Return one of the options, of which there is at least one."""
        return options[self.number(0, len(options) - 1, *key)]

    def several(self, options: Sequence[Item], count: int, *key: object) -> list[Item]:
        """Return `count` different ones of the options, in an order of its own."""
        left = list(options)
        return [left.pop(self.number(0, len(left) - 1, *key, place)) for place in range(min(count, len(left)))]
