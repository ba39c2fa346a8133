"""What the end-to-end tests need: an environment that says nothing about a pull request."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def _no_github(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "PYTEST_XDIST_"))]:
        monkeypatch.delenv(name)
