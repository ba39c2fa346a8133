"""Read a length of time that people write with its unit, such as 500ms, 90s or 2m."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Unit = Literal["ms", "s"]
"""What a number without a unit is in."""
_MILLISECONDS: Mapping[str, int] = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_WRITTEN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h)?")


def read_duration(text: str, unit: Unit) -> float | None:
    """Return a length of time in `unit`, which a number alone is in as well; None for a text that is none."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return None
    return float(found[1]) * _MILLISECONDS[found[2] or unit] / _MILLISECONDS[unit]


def show_duration(milliseconds: int) -> str:
    """Return milliseconds as people write them, in seconds if they are whole ones."""
    return f"{milliseconds}ms" if milliseconds % 1_000 else f"{milliseconds // 1_000}s"
