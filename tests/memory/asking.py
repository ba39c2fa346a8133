"""Asking memories in tests: what is stored, and clients as a test wants them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_recall.cases.memory_part import QueryContext
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.memory.resolve import resolve
from pytest_recall.models.waiting import Channel
from pytest_recall.registry import registry
from pytest_recall.trials.trial import Passage

NOW = QueryContext()
FACTS = {
    "bees": "Alice keeps bees in the garden",
    "car": "Bob's car is red, and old",
    "pump": "The pump burned out in May",
}


def made(selector: str, root: Path | None = None, channel: Channel | None = None, **environ: str) -> MemoryAdapter:
    """Return the memory of a selector; programs find those of this process."""
    variables = {"PATH": os.environ["PATH"], **environ}
    return resolve(selector, registry().memories(), root=root, channel=channel, environ=variables)


def filled(client: MemoryAdapter, facts: Mapping[str, str] = FACTS) -> MemoryAdapter:
    """Return `client` with these facts in it, by their ids."""
    client.reset()
    for name, text in facts.items():
        client.store(text, {"id": name})
    client.finalize()
    return client


def texts(passages: list[Any]) -> list[str]:
    """Return the texts of what was recalled."""
    return [one.text if isinstance(one, Passage) else one for one in passages]


def sources(passages: list[Any]) -> list[str | None]:
    """Return where the passages are from."""
    return [one.source for one in passages]
