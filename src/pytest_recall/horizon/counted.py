"""Counted: a model whose calls are known by whoever asked, with what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_recall.core.call import Kind
from pytest_recall.core.errors import MissError, RecallError
from pytest_recall.core.model import Ask, Model, Reply
from pytest_recall.replay.lane import LANE, Lane
from pytest_recall.run.price import price_of_reply

if TYPE_CHECKING:
    from pytest_recall.core.rubric_fields import Prices
    from pytest_recall.replay.tape import Tape

Costs = list[float | None]


class SpentError(BaseException):
    """A call that must not begin, since the money is spent.

    It is no `Exception`, so that nobody takes it for what became of a question: that one was not asked.
    """


@dataclass(kw_only=True)
class Sheet:
    """The calls about one question: the cost of each, None if it is not known, and where they are recorded.

    `closed` says why no call may begin, if that is so; `whole` is for whoever knows that the question is done.
    """

    costs: Costs = field(default_factory=list)
    prices: Mapping[str, Prices] = field(default_factory=dict)
    tape: Tape | None = None
    lane: Lane | None = None
    closed: Callable[[], str] = str
    whole: bool = False

    @property
    def total(self) -> float | None:
        """The sum in US dollars; None if one of them is not known."""
        known = [cost for cost in self.costs if cost is not None]
        return sum(known) if len(known) == len(self.costs) else None

    def ask(self, model: Model, kind: Kind, ask: Ask) -> Reply:
        """Return the reply. Raises ModelError, RecallError for a call that is not recorded, and SpentError."""
        made = [] if self.tape is None else self.tape.made
        before = len(made)
        with self._asking(kind):
            reply = model.ask(ask)
        # What calls no upstream, such as an object of somebody's own, is asked also where others are replayed.
        if len(made) > before and all(one.source == "replayed" for one in made[before:]):
            self.costs.append(0.0)
        else:
            self.costs.append(price_of_reply(model, reply, self.prices))
        return reply

    @contextmanager
    def _asking(self, kind: Kind) -> Iterator[None]:
        if self.lane is None:
            yield
            return
        if why := self.closed():
            raise SpentError(why)
        token = LANE.set(self.lane)
        try:
            with self.lane.player.asking(kind):
                yield
        except MissError as error:
            if why := self.closed():
                raise SpentError(why) from None
            raise RecallError(str(error)) from None
        finally:
            LANE.reset(token)


_SHEET: ContextVar[Sheet | None] = ContextVar("recall_horizon_sheet", default=None)


@contextmanager
def counting(sheet: Sheet | None = None) -> Iterator[Sheet]:
    """Hand out a sheet, a new one by default, on which each call of a counted model in this block is put."""
    sheet = sheet or Sheet()
    token = _SHEET.set(sheet)
    try:
        yield sheet
    finally:
        _SHEET.reset(token)


class Counted:
    """A model that counts its calls, which are of `kind`."""

    def __init__(self, model: Model, kind: Kind = "judge") -> None:
        self._model = model
        self._kind: Kind = kind

    @property
    def name(self) -> str:
        """The selector."""
        return self._model.name

    @property
    def seller(self) -> str | None:
        """Who sells it, None if nobody does, or nobody knows."""
        return getattr(self._model, "seller", None)

    def ask(self, ask: Ask) -> Reply:
        """Return the reply. Raises ModelError, and what a sheet raises."""
        sheet = _SHEET.get()
        return self._model.ask(ask) if sheet is None else sheet.ask(self._model, self._kind, ask)

    def close(self) -> None:
        """Let go of connections and threads."""
        if callable(close := getattr(self._model, "close", None)):
            close()
