"""Make the client of the memory system that a selector names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.memory.kind import MemoryContext
from pytest_recall.memory.selector import WORKER, MemoryKinds
from pytest_recall.models.provider import Provider
from pytest_recall.models.waiting import Channel, direct

DEFAULT = "sqlite-fts"
"""The memory where none is named."""


def resolve(
    selector: str,
    kinds: MemoryKinds,
    *,
    root: Path | None = None,
    channel: Channel | None = None,
    environ: Mapping[str, str] | None = None,
    worker: str = "main",
    config: Mapping[str, Any] = MappingProxyType({}),
) -> MemoryAdapter:
    """Return the memory that `selector` selects by these kinds. Nothing is started or asked, and no package imported.

    Relative paths are those from `root`, by default the current folder; programs and servers are called through
    `channel`; `{worker}` in the selector becomes `worker`. What `python` names is made with `config`. Raises
    RecallError for a selector that is none; what is missing here `MemoryAdapter.ready` says.
    """
    parsed = kinds.parse(selector.replace(WORKER, worker))
    kind = kinds.kind_of(parsed)
    place, calls = (root or Path.cwd()).absolute(), channel or direct
    variables = os.environ if environ is None else environ

    def model(selector: str) -> Provider:
        from pytest_recall.models.resolve import resolve as resolve_model

        return resolve_model(selector, environ=variables, root=place, channel=calls)

    context = MemoryContext(root=place, channel=calls, environ=variables, config=config, model=model)
    client = kinds.call(kind, lambda: kind.make(parsed, context))
    if not isinstance(client, MemoryAdapter):
        raise kinds.fault(kind, f"`make` returns {type(client).__name__}, and no MemoryAdapter")
    form = kind.form(parsed.target)
    client.calls_models, client.title = form.models, form.title
    return client
