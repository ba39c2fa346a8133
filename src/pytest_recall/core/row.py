"""Row: what the schedule remembers of one case between runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

BOXES = range(1, 6)


class Row(NamedTuple):
    """What the schedule remembers of one case.

    `extra` is the YAML text of keys that this version does not know; it is kept as it is.
    """

    box: int
    pass_streak: int
    last_tested: date
    next_due: date
    last_pr: str | None = None
    last_model: str | None = None
    failure_note: str | None = None
    failure_pr: str | None = None
    extra: str = ""

    @property
    def failing(self) -> bool:
        """Whether the last verdict was a fail; a reset of the boxes does not make it one."""
        return self.failure_note is not None

    def is_due(self, today: date) -> bool:
        """Whether the calendar asks for the case on `today`."""
        return self.next_due <= today

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; dates as ISO 8601 text, unset fields left out."""
        return {
            k: v.isoformat() if isinstance(v, date) else v for k, v in self._asdict().items() if v not in (None, "")
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Row:
        """Return the row that `to_json` gave; raises KeyError, TypeError or ValueError."""
        if not isinstance(plain, Mapping):
            raise TypeError(f"{plain!r} is no row")
        known = {key: plain[key] for key in cls._fields if key in plain}
        for key in ("box", "pass_streak"):
            if type(known[key]) is not int or known[key] < 0:
                raise TypeError(f"{key}: {known[key]!r} is no count")
        if known["box"] not in BOXES:
            raise ValueError(f"box: there is no box {known['box']}")
        for key in set(known) - {"box", "pass_streak"}:
            if not isinstance(known[key], str):
                raise TypeError(f"{key}: {known[key]!r} is no text")
        known["last_tested"] = date.fromisoformat(known["last_tested"])
        known["next_due"] = date.fromisoformat(known["next_due"])
        return cls(**known)
