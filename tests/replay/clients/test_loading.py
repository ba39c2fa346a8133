"""Clients are patched when they are imported, in whichever order, and left without a trace."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.replay.http_clients import CLIENTS
from tests.replay.upstream import Deck, Upstream

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="each program is a fork of one process")
CLIENT_MODULES = ("http.client", "requests", "botocore.httpsession", "aiohttp", "urllib3", "httpx", "vcr")


def _replaceable() -> list[tuple[object, object]]:
    """Return the methods of clients with their code: a hook replaces the one or the other."""
    connection = pytest.importorskip("urllib3.connection")
    aiohttp = pytest.importorskip("aiohttp")
    classes = http.client.HTTPConnection, http.client.HTTPSConnection, connection.HTTPConnection
    methods = (
        *(owner.connect for owner in (*classes, connection.HTTPSConnection)),
        http.client.HTTPConnection.send,
        http.client.HTTPConnection.getresponse,
        aiohttp.BaseConnector.connect,
    )
    return [(method, method.__code__) for method in methods]


def test_undo_leaves_no_trace(deck: Deck, upstream: Upstream) -> None:
    for name in CLIENT_MODULES:
        pytest.importorskip(name)  # Some add finders of their own.
    before, finders = _replaceable(), list(sys.meta_path)
    with deck.recording():
        for post in CLIENTS:
            post(f"{upstream.url}/chat", b"{}")
        during = _replaceable()
    assert [one for one in before if one in during] == []
    assert (_replaceable(), list(sys.meta_path)) == (before, finders)


EACH = """\
import asyncio, contextlib, email.parser, gc, importlib, json, os, ssl, sys, traceback

NEEDED = (
    *("aiohappyeyeballs", "aiosignal", "attr", "backports.zstd", "brotli", "certifi", "charset_normalizer", "click"),
    *("csv", "dateutil.parser", "email.policy", "encodings.idna", "frozenlist", "gzip", "hmac", "http.cookies", "idna"),
    *("importlib.metadata", "importlib.readers", "jmespath", "mimetypes", "multidict", "netrc", "pygments.lexers"),
    *("queue", "rich.progress", "rich.syntax", "rich.table", "unittest.mock", "wrapt", "xml.etree.ElementTree"),
    *("xml.parsers.expat", "yaml", "yarl", "zstandard"),
)
for name in NEEDED:
    with contextlib.suppress(ModuleNotFoundError):  # What clients need, so that each fork imports the clients alone.
        importlib.import_module(name)

from pytest_recall.replay import watch
from pytest_recall.replay.player import Player

assert not {"http.client", "urllib.request", *CLIENTS} & {*sys.modules}
gc.freeze()  # What a fork collects would copy what it shares.
for line in sys.stdin:
    if not (child := os.fork()):
        program = json.loads(line)
        try:
            exec(program, {"sys": sys, "watch": watch, "Player": Player})
        except BaseException:
            traceback.print_exc()
            print(program, file=sys.stderr, flush=True)
        os._exit(0)
    if (status := os.waitpid(child, 0)[1]) != 0:
        print("ended with", status)
    print("over", flush=True)
"""
InNewProcesses = Callable[..., None]


@pytest.fixture(scope="module")
def in_new_processes() -> Iterator[InNewProcesses]:
    """Run each program in a process of its own: a fork of one that has imported us, and no client."""
    command = [sys.executable, "-c", EACH.replace("CLIENTS", repr(CLIENT_MODULES))]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=subprocess.STDOUT, text=True, bufsize=1) as process:
        given, told = process.stdin, process.stdout
        assert given is not None
        assert told is not None

        def run(*programs: str) -> None:
            for program in programs:
                given.write(f"{json.dumps(program)}\n")
                said = list(iter(told.readline, "over\n"))
                assert said == [], "".join(said)

        yield run
        given.close()
    assert process.returncode == 0


@forks
def test_what_is_imported_in_a_session_is_let_alone_after_it(in_new_processes: InNewProcesses) -> None:
    pytest.importorskip("aiohttp")
    in_new_processes(
        "session = watch.Watch(Player('record'))\n"
        "import http.client, aiohttp, asyncio\n"
        "session.close()\n"
        "assert http.client.HTTPConnection.send.__code__.co_varnames[0] == 'self'\n"
        "assert aiohttp.BaseConnector.connect.__code__.co_varnames[0] == 'self'\n"
        "assert not hasattr(asyncio.Runner.run, '__wrapped__')\n"
    )


@forks
def test_each_may_be_imported_first(in_new_processes: InNewProcesses) -> None:
    """None imports another one, nor vcrpy, while a first call is made."""
    for name in ("requests", "botocore", "aiohttp", "vcr"):
        pytest.importorskip(name)
    in_new_processes(
        *(
            "from pytest_recall.files.errors import MissError\n"
            "URL = 'http://127.0.0.1:9/'\n"
            "undo = watch.install(Player('replay'))\n"
            f"import {first}\n"
            "try:\n"
            f"    {call}\n"
            "except MissError as error:\n"
            "    assert 'called outside of any case' in str(error)\n"
            "else:\n"
            "    raise AssertionError('it was let through')\n"
            f"assert {first!r} == 'vcr' or 'vcr' not in sys.modules\n"
            "import http.client, requests, aiohttp, urllib3.connection\n"
            "for back in reversed(undo): back()\n"
            "assert http.client.HTTPConnection.send.__code__.co_varnames[0] == 'self'\n"
            "assert urllib3.connection.HTTPConnection.connect.__code__.co_varnames[0] == 'self'\n"
            "assert aiohttp.BaseConnector.connect.__code__.co_varnames[0] == 'self'\n"
            for first in CLIENT_MODULES
            for call in (
                "import requests; requests.get(URL)",
                "import urllib3; urllib3.PoolManager().request('GET', URL, retries=False)",
                "import urllib.request; urllib.request.urlopen(URL)",
            )
        )
    )
