"""What every test of a run stands on."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.run.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An eval directory without files."""
    (tmp_path / "eval").mkdir()
    return Place(tmp_path, tmp_path / "eval")
