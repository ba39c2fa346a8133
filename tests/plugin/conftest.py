"""What the end-to-end tests need: an environment that says nothing of a build, and an upstream."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from tests.helpers import programs
from tests.helpers.batching import Service, serving
from tests.helpers.upstream import Upstream, running

NEEDS_PYTEST_ASYNCIO = pytest.mark.skipif(
    pytest.version_tuple < (8, 2),
    reason="pytest-asyncio 1.1, from which on async fixtures have their loop, needs pytest 8.2",
)

NEEDS_SUBTESTS = pytest.mark.skipif(pytest.version_tuple < (9, 0), reason="pytest has subtests from 9.0 on")


def _without_build(patch: pytest.MonkeyPatch) -> None:
    told = ("CI", "BUILD_NUMBER", "RECALL_DATE")
    for name in [name for name in os.environ if name in told or name.startswith(("GITHUB_", "PYTEST_XDIST_"))]:
        patch.delenv(name)


@pytest.fixture(autouse=True)
def _no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what tells of a pull request, and what makes pytest print long summaries."""
    _without_build(monkeypatch)


def unnamed(text: str | None) -> str:
    """Return the text of a state file without the names of the runs that it holds, which tell when they were."""
    return re.sub(r"^folded:\n(?:  - .*\n)*", "", text or "", flags=re.MULTILINE)


Once = Callable[[], contextlib.AbstractContextManager[pytest.Pytester]]
"""Gives a pytester to a fixture of a module: what is run in it can be read afterwards, and by several tests."""


@pytest.fixture(scope="module")
def once(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Once:
    """A pytester as the fixture of that name, for runs that are made once and looked at by several tests."""

    @contextlib.contextmanager
    def made() -> Iterator[pytest.Pytester]:
        with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
            _without_build(patch)
            # It asks for the function of a test, which a module does not have.
            asking = SimpleNamespace(
                function=SimpleNamespace(__name__="once"), config=request.config, addfinalizer=stack.callback
            )
            yield pytest.Pytester(asking, tmp_path_factory, patch, _ispytest=True)  # type: ignore[arg-type]

    return made


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


@pytest.fixture(scope="module")
def lasting() -> Iterator[Upstream]:
    """A scripted model for all tests of a file: what one of them records is replayed by several."""
    yield from running()


@pytest.fixture
def service() -> Iterator[Service]:
    """A service with batch APIs."""
    yield from serving()
