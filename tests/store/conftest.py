"""What the tests of cassettes share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of one cassette."""
    return tmp_path / "a.ndjson"
