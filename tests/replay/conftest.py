"""An upstream and a cassette for each test of a client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.replay.upstream import Deck, Upstream
from tests.replay.wire import Wire


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A server that is there until it is closed."""
    server = Upstream()
    yield server
    server.close()


@pytest.fixture
def deck(tmp_path: Path) -> Deck:
    """A cassette to record into and replay from."""
    return Deck(tmp_path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of one cassette."""
    return tmp_path / "a.ndjson"


@pytest.fixture
def wire() -> Iterator[Wire]:
    """A server that answers byte for byte."""
    server = Wire()
    yield server
    server.close()
