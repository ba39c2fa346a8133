"""What the end-to-end tests need: an environment that says nothing of a build, and an upstream."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.helpers import programs
from tests.helpers.batching import Service, serving
from tests.helpers.upstream import Upstream, running


@pytest.fixture(autouse=True)
def _no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what tells of a pull request, and what makes pytest print long summaries."""
    told = ("CI", "BUILD_NUMBER", "RECALL_DATE")
    for name in [name for name in os.environ if name in told or name.startswith(("GITHUB_", "PYTEST_XDIST_"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def every_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs and their workers load whatever is installed, as pytest does by itself, and use the plugin."""
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    monkeypatch.setenv("PYTEST_PLUGINS", "recall")


@pytest.fixture
def switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs load the plugin without using it, beside all that is installed."""
    for name in ("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_PLUGINS"):
        monkeypatch.delenv(name)


@pytest.fixture
def quick_collections() -> Iterator[None]:
    """Let the pytest that commands ask, in a process of its own, start at once."""
    with programs.collecting():
        yield


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A scripted model."""
    yield from running()


@pytest.fixture
def service() -> Iterator[Service]:
    """A service with batch APIs."""
    yield from serving()
