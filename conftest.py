"""The tests of the project: pytester, no network, and runs that load little."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import forked_workers
from tests.helpers.autoload import nursery, remembered

pytest_plugins = "pytester"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
FEW_PLUGINS = Path(__file__).parent / "tests/helpers/autoload/few_plugins.py"

# What is imported and collected stays: to walk over it again and again is a fifth of what collection costs.
gc.set_threshold(200_000)


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    """Refuse every connection that leaves this machine."""

    def refusing(original: Any) -> Any:
        def connect(self: socket.socket, address: Any) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOOPBACK:
                raise RuntimeError(f"a test wants to connect to {address[0]}; tests use no network")
            return original(self, address)

        return connect

    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, refusing(getattr(socket.socket, name)))
        yield


@pytest.fixture(scope="session", autouse=True)
def _bytecode() -> Iterator[None]:
    """Let the processes that tests start keep what they compile: each would compile all of us again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def _interrupts() -> Iterator[None]:
    """Let SIGINT end the processes that tests start; a job in the background ignores it, and they would as well."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def _few_plugins() -> Iterator[None]:
    """Let the runs that tests start, and their workers, load no other plugins than `few_plugins` does, and use ours."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.setenv("PYTEST_PLUGINS", f"{FEW_PLUGINS.stem},recall")
        patch.setenv("PYTHONPATH", str(FEW_PLUGINS.parent), prepend=os.pathsep)
        patch.syspath_prepend(FEW_PLUGINS.parent)
        importlib.import_module(FEW_PLUGINS.stem)
        with remembered.in_this_process():
            yield


@pytest.fixture(scope="session", autouse=True)
def _few_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let HTTP clients trust one authority, not all: they read them whenever they are made, and no test needs any."""
    end = "-----END CERTIFICATE-----\n"
    path = tmp_path_factory.mktemp("certificates") / "one.pem"
    with pytest.MonkeyPatch.context() as patch:
        # It comes with the clients; where there are none, there is nothing to be spared.
        with contextlib.suppress(ModuleNotFoundError):
            every = Path(importlib.import_module("certifi").where()).read_text(encoding="utf-8")
            path.write_text(every.partition(end)[0] + end, encoding="utf-8")
            patch.setenv("SSL_CERT_FILE", str(path))
        yield


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> Iterator[None]:
    """Take what there is out of what is walked: each run in this process has all of it walked a dozen times."""
    gc.collect()
    gc.freeze()
    with pytest.MonkeyPatch.context() as patch:
        # It walks as well, and all that its callers ask is whether there are many.
        patch.setattr(gc, "get_freeze_count", lambda: sys.maxsize)
        yield


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run whole folders of tests on two workers a core, since many tests wait for others, and anything else on none."""
    folders = [Path(argument) for argument in config.args]
    own = Path(__file__).parent / "tests"
    whole = all(folder.is_dir() and folder.resolve().is_relative_to(own) for folder in folders)
    return 2 * len(os.sched_getaffinity(0)) if whole and hasattr(os, "sched_getaffinity") else 4 * whole


def pytest_configure(config: pytest.Config) -> None:
    """Open one nursery for all workers of this run before they are there, and have those of whole folders forked."""
    if workers := config.getoption("numprocesses", None):
        nursery.open_one()
        if workers > 1 and all(Path(argument).is_dir() for argument in config.args):
            forked_workers.open_one(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Let each worker import the tests from another place on, so that each file is rewritten by one of them only.

    In the same order they would all rewrite all files, at the same time, and that is most of what collection takes.
    Workers that are forked have imported all of them already.
    """
    given = getattr(session.config, "workerinput", None)
    if given is None:
        return
    files = forked_workers.files_of(session.config.args)
    begin = int(given["workerid"].removeprefix("gw")) * len(files) // given["workercount"]
    forked_workers.import_tests(files[begin:] + files[:begin])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of the whole project first: they are the longest, and at the end a single worker would run them."""
    own = Path(__file__).parent / "tests"
    items.sort(key=lambda item: item.path.parent != own)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Take all that there is out of what is walked: pytest has looked, and the process gives it back as a whole."""
    gc.freeze()
