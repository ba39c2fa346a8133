"""How often a case is tried, and how many of the trials have to pass: k of n."""

from __future__ import annotations

import re

MAX_COUNT = 100

_WRITTEN = re.compile(r"([1-9][0-9]{0,2})of([1-9][0-9]{0,2})")


def k_of_n(text: str) -> tuple[int, int]:
    """Return the numbers of `2of3`. Raises ValueError."""
    match = _WRITTEN.fullmatch(text)
    needed, count = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= needed <= count <= MAX_COUNT:
        raise ValueError(f"write `2of3`: how many of how many, at most {MAX_COUNT}")
    return needed, count
