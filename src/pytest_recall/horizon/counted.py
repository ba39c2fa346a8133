"""Counted: a model whose calls are known by whoever asked, with what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pytest_recall.core.model import Ask, Model, Reply
from pytest_recall.run.price import price

Costs = list[float | None]
_COSTS: ContextVar[Costs | None] = ContextVar("recall_horizon_costs", default=None)


@contextmanager
def counting() -> Iterator[Costs]:
    """Hand out a list to which each call of a counted model in this block adds its cost, None if it is not known."""
    costs: Costs = []
    token = _COSTS.set(costs)
    try:
        yield costs
    finally:
        _COSTS.reset(token)


class Counted:
    """A model that counts its calls."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The selector."""
        return self._model.name

    def ask(self, ask: Ask) -> Reply:
        """Return the reply. Raises ModelError."""
        reply = self._model.ask(ask)
        costs = _COSTS.get()
        if costs is not None:
            costs.append(price(reply.model, getattr(self._model, "seller", None), reply.tokens, None))
        return reply

    def close(self) -> None:
        """Let go of connections and threads."""
        if callable(close := getattr(self._model, "close", None)):
            close()


def total(costs: Costs) -> float | None:
    """Return the sum in US dollars; None if one of them is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
