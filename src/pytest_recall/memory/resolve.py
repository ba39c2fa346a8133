"""Find the memory system that a selector names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_recall.memory.client import Client
from pytest_recall.memory.selector import WORKER, MemorySelector, parse
from pytest_recall.models.model import place_and_name
from pytest_recall.models.waiting import Channel, direct

DEFAULT = "sqlite-fts"
"""The memory where none is named."""


def resolve(
    selector: str,
    *,
    root: Path | None = None,
    channel: Channel | None = None,
    environ: Mapping[str, str] | None = None,
    worker: str = "main",
    config: Mapping[str, Any] = MappingProxyType({}),
) -> Client:
    """Return the memory that `selector` selects. Nothing is started or asked, and no package is imported.

    Relative paths are those from `root`, by default the current folder; programs and servers are called through
    `channel`; `{worker}` in the selector becomes `worker`. What `python` names is made with `config`. Raises
    RecallError for a selector that is none; what is missing here `Client.ready` says.
    """
    parsed = parse(selector.replace(WORKER, worker))
    return _client(
        parsed,
        (root or Path.cwd()).absolute(),
        channel or direct,
        os.environ if environ is None else environ,
        config,
    )


def _client(
    parsed: MemorySelector, root: Path, channel: Channel, environ: Mapping[str, str], config: Mapping[str, Any]
) -> Client:
    name, kind, target, timeout = parsed.text, parsed.kind, parsed.target, parsed.timeout
    if kind == "python":
        from pytest_recall.memory.python_memory import Imported

        return Imported(name, *place_and_name(parsed.target), root, timeout, config)
    if kind == "command":
        from pytest_recall.memory.command import Command

        return Command(name, target, root, channel, timeout, environ)
    if kind == "http":
        from pytest_recall.memory.http_service import HttpService

        return HttpService(name, target, timeout, parsed.headers, environ)
    if kind == "mcp":
        from pytest_recall.memory.mcp_server import McpServer

        return McpServer(name, target, root, channel, parsed.options, timeout, environ)
    if kind == "grpc":
        from pytest_recall.memory.grpc_service import GrpcService

        return GrpcService(name, target, channel, timeout)
    if kind == "mem0":
        from pytest_recall.memory.mem0_memory import Mem0
        from pytest_recall.models.resolve import resolve as model

        return Mem0(name, model(target, environ=environ, root=root, channel=channel) if target else None)
    return _baseline(parsed, root) or _adapter(parsed)


def _baseline(parsed: MemorySelector, root: Path) -> Client | None:
    from pytest_recall.memory.window import Null, Window

    name, kind = parsed.text, parsed.kind
    if kind == "null":
        return Null(name)
    if kind in ("full", "last"):
        return Window(name, parsed.window or None)
    if kind not in ("sqlite-fts", "sessions", "embedding", "hybrid"):
        return None
    from pytest_recall.memory.sqlite_fts import DEFAULT_TOKENIZER, SqliteFts

    tokenizer = parsed.options.get("tokenizer", DEFAULT_TOKENIZER)
    if kind == "sessions":
        return SqliteFts(name, apart=True)
    if kind == "sqlite-fts":
        return SqliteFts(name, root / parsed.target if parsed.target else None, tokenizer)
    from pytest_recall.memory.dense import Embedding, Hybrid

    return Embedding(name) if kind == "embedding" else Hybrid(name, SqliteFts(name, None, tokenizer), Embedding(name))


def _adapter(parsed: MemorySelector) -> Client:
    name, kind = parsed.text, parsed.kind
    if kind == "chromadb":
        from pytest_recall.memory.chroma import Chroma

        return Chroma(name)
    if kind == "bm25s":
        from pytest_recall.memory.full_text import Bm25s

        return Bm25s(name)
    if kind == "tantivy":
        from pytest_recall.memory.full_text import Tantivy

        return Tantivy(name)
    raise NotImplementedError(f"`{kind}` selects no client")
