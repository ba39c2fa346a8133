"""Number judge: `numeric`."""

from __future__ import annotations

import math
import re
from typing import Literal

from pytest_recall.core.errors import ArgumentError, one_line
from pytest_recall.core.trial import Verdict

# Thousands are grouped by commas: 1,250.50. A minus counts where no word or number precedes it.
_NUMBER = re.compile(
    r"(?<![\w.])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|(?<![\w.])[-−]?\.\d+|\d+(?:\.\d+)?"
)
MAX_DIGITS = 300


def numeric(
    answer: str,
    expected: float | str,
    *,
    tolerance: float = 0.0,
    relative: float = 0.0,
    pick: Literal["any", "first", "last"] = "any",
) -> Verdict:
    """Pass if a number in the answer equals `expected`, `1,250` and `1250` being the same.

    tolerance: how far off it may be. relative: the same as a share of `expected`.
    pick: which number of the answer counts, `any`, the `first` or the `last`.
    """
    if isinstance(expected, bool):
        raise ArgumentError(f"`expected` must be a number, not {expected!r}")
    try:
        wanted = float(expected)
    except (TypeError, ValueError):
        raise ArgumentError(f"`expected` must be a number, not {expected!r}") from None
    if not math.isfinite(wanted):
        raise ArgumentError(f"`expected` must be a finite number, not {expected!r}")
    if pick not in ("any", "first", "last"):
        raise ArgumentError(f"pick: {pick!r} is unknown; known: any, first, last")
    found = numbers(answer)
    candidates = found if pick == "any" else found[:1] if pick == "first" else found[-1:]
    for name, value in (("tolerance", tolerance), ("relative", relative)):
        if value < 0:
            raise ArgumentError(f"{name}: {value!r} is below 0; give 0 or more")
    allowed = max(tolerance, relative * abs(wanted))
    if any(_within(abs(number - wanted), allowed) for number in candidates):
        return Verdict(passed=True, score=1.0)
    got = f"numbers {', '.join(f'{n:g}' for n in found[:8])}" if found else "no number"
    return Verdict(passed=False, score=0.0, reason=f"expected {wanted:g}, got {got} in “{one_line(answer, 120)}”")


def _within(distance: float, allowed: float) -> bool:
    # 1.1 - 1.0 is a little more than 0.1 in binary; nobody means that.
    return distance <= allowed or math.isclose(distance, allowed, rel_tol=1e-9)


def numbers(text: str) -> list[float]:
    """Return the numbers in `text`, in their order."""
    found = (match.group().replace(",", "").replace("−", "-") for match in _NUMBER.finditer(text))
    return [float(digits) for digits in found if len(digits) <= MAX_DIGITS]
