"""What the schedule remembers of one case between runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

from pytest_recall.files.coerce import typed


class Row(NamedTuple):
    """What the schedule remembers of one case.

    `lapses` counts the fails that threw the case back from a higher box, less those that passes have made up for;
    `quarantined` is the day since which its fails block no merge, `until` the last day on which they do not, and
    `owner` who is to look at it.
    `extra` is the YAML text of keys that this version does not know; it is kept as it is.
    `passed_under` is what the last pass was given under, as `trials.conditions` writes it.
    """

    box: int
    pass_streak: int
    last_tested: date
    next_due: date
    last_pr: str | None = None
    last_model: str | None = None
    failure_note: str | None = None
    failure_pr: str | None = None
    lapses: int = 0
    quarantined: date | None = None
    until: date | None = None
    owner: str | None = None
    extra: str = ""
    passed_under: str | None = None

    @property
    def failing(self) -> bool:
        """Whether the last verdict was a fail; a reset of the boxes does not make it one."""
        return self.failure_note is not None

    def is_due(self, today: date) -> bool:
        """Whether the calendar asks for the case on `today`."""
        return self.next_due <= today

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; dates as ISO 8601 text, unset fields left out."""
        plain = {
            k: v.isoformat() if isinstance(v, date) else v for k, v in self._asdict().items() if v not in (None, "")
        }
        if not self.lapses:
            del plain["lapses"]
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Row:
        """Return the row that `to_json` gave; raises KeyError, TypeError or ValueError."""
        if not isinstance(plain, Mapping):
            raise TypeError(f"{plain!r} is not a row")
        tested, due = (date.fromisoformat(plain[key]) for key in ("last_tested", "next_due"))
        since, until = (
            None if plain.get(key) is None else date.fromisoformat(plain[key]) for key in ("quarantined", "until")
        )
        row = cls(**typed(cls, plain), last_tested=tested, next_due=due, quarantined=since, until=until)
        if row.box not in BOXES:
            raise ValueError(f"box: there is no box {row.box}")
        if row.pass_streak < 0:
            raise ValueError(f"pass_streak: {row.pass_streak} is not a count")
        if row.lapses < 0:
            raise ValueError(f"lapses: {row.lapses} is not a count")
        return row


BOXES = range(1, 6)
