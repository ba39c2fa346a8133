"""Memories over other packages: Chroma, Mem0, bm25s and Tantivy, and services by gRPC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_recall.ext import hookimpl

if TYPE_CHECKING:
    from pytest_recall.ext import MemoryKind


@hookimpl
def pytest_recall_memories() -> list[MemoryKind]:
    """Return a kind for each."""
    from pytest_recall.extensions.memories import chroma, full_text, grpc_service, mem0_memory

    return [grpc_service.KIND, chroma.KIND, mem0_memory.KIND, full_text.BM25S, full_text.TANTIVY]
