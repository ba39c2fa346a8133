"""Why a run ended before all that it was to ask was asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from pytest_recall.files.coerce import typed
from pytest_recall.replay.budget import SpentBudget, spent_text


class RunStop(NamedTuple):
    """Why a run ended early, as its journal has it; `results.stop_text` makes words of it."""

    cause: str
    """`budget`, `outage` of a provider, `undecided` after several trials in a row without a verdict, `preflight` of a
    judging model, `uncollected` files, `pytest` where that or a plugin stops it, `interrupted`, `deselected`, or the
    `error` that ends a command."""
    detail: str = ""
    """What the provider, pytest, or the exception of the last trial, the preflight or the first file says; for a
    budget the model without a price."""
    in_a_row: int = 0
    """How many trials in a row had the outage, or came to no verdict."""
    kind: str = ""
    """What kind of outage it is, as `models.outage` names it; for a budget `spent`, `no-room` or `no-price`."""
    host: str = ""
    """The host, with its port if it has one, that the outage is of, where that is known."""
    usd: float | None = None
    """The budget, in US dollars."""
    files: tuple[str, ...] = ()
    """The files that could not be collected."""
    in_ingest: bool = False
    """Whether a memory was being told something, which it will be told from the beginning."""
    deselected: int = 0
    """How many of the cases that were not asked a plugin or an option of pytest has deselected."""
    excluded: tuple[str, ...] = ()
    """The ids of those that `--deselect` names, on which no verdict is missing; none in the check of a pull request."""

    @classmethod
    def of_budget(cls, spent: SpentBudget, *, in_ingest: bool = False) -> Self:
        """Return the stop of a run that may make no further call."""
        kind = "no-price" if spent.unpriced else "spent" if spent.is_spent else "no-room"
        return cls("budget", spent.unpriced, kind=kind, usd=spent.usd, in_ingest=in_ingest)

    def to_json(self) -> dict[str, Any]:
        """Return what is known of it as plain JSON types."""
        return {name: value for name, value in self._asdict().items() if value not in ("", 0, None, ())}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Read what `to_json` gave. Raises TypeError or ValueError."""
        return cls(**typed(cls, plain))


class SpentError(BaseException):
    """A call that must not begin, since the budget is spent.

    It is no `Exception`, so that it is not taken for what became of a question: that one was not asked. `stop` is what
    becomes of the run.
    """

    def __init__(self, spent: SpentBudget, *, in_ingest: bool = False) -> None:
        super().__init__(spent_text(spent))
        self.stop = RunStop.of_budget(spent, in_ingest=in_ingest)
