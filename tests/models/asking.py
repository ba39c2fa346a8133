"""What the tests of models share: a clock that only sleeping moves, and asks."""

from __future__ import annotations

from typing import Any

from pytest_recall.models.model import Ask, Message
from pytest_recall.models.provider import ModelSettings, Provider
from pytest_recall.models.rate import Retry
from pytest_recall.models.resolve import resolve
from pytest_recall.models.waiting import Breaks, Waiter

SCHEMA = {
    "type": "object",
    "properties": {"passed": {"type": "boolean"}},
    "required": ["passed"],
    "additionalProperties": False,
}


class Clock:
    """A clock that stands still unless someone sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def waiting(self, roll: float = 0.5) -> Waiter:
        """Return a way to wait by this clock."""
        return Waiter(clock=self, wall=self, sleep=self.sleep, roll=lambda: roll)


def model(
    selector: str,
    *,
    environ: dict[str, str] | None = None,
    clock: Clock | None = None,
    said: list[str] | None = None,
    attempts: int = 4,
    timeout: float = 20.0,
    **more: Any,
) -> Provider:
    """Return a model that waits by `clock`, has `environ` alone and adds what it says to `said`."""
    settings = ModelSettings(timeout=timeout, retry=Retry(attempts=attempts), say=([] if said is None else said).append)
    breaks = Breaks((clock or Clock()).waiting())
    return resolve(selector, settings=settings, breaks=breaks, environ=environ or {}, **more)


def asks(text: str = "Is it so?", **given: Any) -> Ask:
    """Return an ask of one message."""
    return Ask(messages=(Message("user", text),), **given)
