"""vcrpy's stubs are put in place when they are needed, and taken away without a trace."""

from __future__ import annotations

import http.client
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.replay.player import Player
from pytest_recall.replay.watch import install_others
from tests.replay.http_clients import (
    CLIENTS,
)
from tests.replay.upstream import Deck, Upstream

pytest.importorskip("vcr")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="each program is a fork of one process")
CLIENT_MODULES = ("requests", "botocore.httpsession", "aiohttp", "urllib3", "httpx", "vcr")


def replaceable() -> dict[str, Any]:
    urllib3 = pytest.importorskip("urllib3")
    botocore = pytest.importorskip("botocore.awsrequest")
    aiohttp = pytest.importorskip("aiohttp")
    patch = pytest.importorskip("vcr.patch")
    pools = (urllib3.HTTPConnectionPool, urllib3.HTTPSConnectionPool)
    return {
        "http": http.client.HTTPConnection,
        "https": http.client.HTTPSConnection,
        "init": http.client.HTTPSConnection.__init__,
        "classes": [pool.ConnectionCls for pool in pools],
        "inherited": ["_get_conn" in vars(pool) for pool in pools],
        "get": [pool._get_conn for pool in pools],
        "new": [pool._new_conn for pool in pools],
        "aws": [botocore.AWSHTTPConnectionPool.ConnectionCls, botocore.AWSHTTPSConnectionPool.ConnectionCls],
        "dropped": urllib3.connectionpool.is_connection_dropped,
        "aiohttp": aiohttp.BaseConnector.connect.__code__,
        "real": importlib.import_module("vcr.stubs").VCRHTTPConnection._baseclass,
        "reset": patch.force_reset,
        "finders": list(sys.meta_path),
    }


def test_undo_leaves_no_trace(deck: Deck, upstream: Upstream) -> None:
    before = replaceable()
    with deck.recording():
        for post in CLIENTS:
            post(f"{upstream.url}/chat", b"{}")
        during = replaceable()
    assert [name for name in before if during[name] == before[name]] == []
    assert replaceable() == before


def test_a_class_that_was_imported_meanwhile_works_afterwards(deck: Deck, upstream: Upstream) -> None:
    with deck.recording():
        from http.client import HTTPConnection

        class Mine(HTTPConnection):
            pass

        assert isinstance(HTTPConnection("x"), http.client.HTTPConnection)
        assert issubclass(Mine, http.client.HTTPConnection)
    assert Mine.__mro__[1] is http.client.HTTPConnection, "it is no subclass of a stub"
    with closing(HTTPConnection(upstream.url.removeprefix("http://"))) as connection:
        assert type(connection) is http.client.HTTPConnection
        connection.request("POST", "/chat", b"{}")
        assert connection.getresponse().status == 200


def test_a_subclass_of_a_tls_connection_can_be_made(deck: Deck) -> None:
    class Mine(http.client.HTTPSConnection):
        pass

    with deck.recording():
        assert Mine("x").port == 443
        by = http.client.HTTPSConnection.__new__(Mine)
        http.client.HTTPSConnection.__init__(by, "x")
        assert by.port == 443


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
def test_each_may_be_imported_first(in_new_processes: InNewProcesses) -> None:
    """vcrpy imports all of them, and would meet one that is half imported."""
    for name in ("requests", "botocore", "aiohttp"):
        pytest.importorskip(name)
    in_new_processes(
        *(
            "undo = watch.install(Player('replay'))\n"
            f"import {first}\n"
            f"assert ('vcr.patch' in sys.modules) is ({first!r} == 'vcr')\n"
            "import requests, botocore.httpsession, aiohttp, urllib3\n"
            "for back in reversed(undo): back()\n"
            "assert urllib3.HTTPConnectionPool.urlopen.__code__.co_varnames[0] == 'self'\n"
            "assert aiohttp.BaseConnector.connect.__code__.co_varnames[0] == 'self'\n"
            for first in CLIENT_MODULES
        )
    )


@forks
def test_the_first_call_brings_all(in_new_processes: InNewProcesses) -> None:
    for name in ("urllib3", "aiohttp", "requests"):
        pytest.importorskip(name)
    in_new_processes(
        *(
            "from pytest_recall.files.errors import MissError\n"
            "URL = 'http://127.0.0.1:9/'\n"
            "undo = watch.install(Player('replay'))\n"
            "try:\n"
            f"    {call}\n"
            "except MissError as error:\n"
            "    assert 'called outside of any case' in str(error)\n"
            "else:\n"
            "    raise AssertionError('it was let through')\n"
            "import aiohttp, urllib3, vcr.patch, vcr.stubs\n"
            "assert urllib3.HTTPConnectionPool.ConnectionCls.__name__.endswith('Recall')\n"
            "assert aiohttp.BaseConnector.connect.__code__.co_varnames[0] == 'args'\n"
            "real = vcr.stubs.VCRHTTPConnection._baseclass._baseclass\n"
            "assert type(real) is type and vcr.patch._HTTPConnection is real\n"
            "assert vcr.patch._AiohttpClientSessionRequest is aiohttp.ClientSession._request\n"
            "for back in reversed(undo): back()\n"
            "assert urllib3.HTTPConnectionPool.ConnectionCls is urllib3.connection.HTTPConnection\n"
            "assert urllib3.HTTPConnectionPool.urlopen.__code__.co_varnames[0] == 'self'\n"
            for call in (
                "import requests; requests.get(URL)",
                "import urllib3; urllib3.PoolManager().request('GET', URL, retries=False)",
                "import urllib.request; urllib.request.urlopen(URL)",
            )
        )
    )


@forks
def test_without_vcrpy_nothing_happens(in_new_processes: InNewProcesses) -> None:
    in_new_processes(
        "sys.modules['vcr'] = None\n"
        "import http.client\n"
        "before = http.client.HTTPConnection\n"
        "watch.install(Player('replay'))\n"
        "assert http.client.HTTPConnection is before\n"
        "import urllib3\n"
        "assert urllib3.HTTPConnectionPool.ConnectionCls is urllib3.connection.HTTPConnection\n"
    )


def test_a_run_that_neither_records_nor_replays_is_left_alone() -> None:
    assert install_others(Player("off")) == []


@forks
def test_a_first_call_imports_no_client_that_is_recorded_without_vcrpy(
    tmp_path: Path, in_new_processes: InNewProcesses
) -> None:
    """A thread that looks for it in `sys.modules` would find it half imported."""
    for name in ("urllib3", "httpx"):
        pytest.importorskip(name)
    cassette = tmp_path / "old.yaml"
    cassette.write_text(
        "interactions:\n"
        "- request: {body: null, headers: {}, method: GET, uri: 'http://127.0.0.1:9/old'}\n"
        "  response: {body: {string: kept}, headers: {}, status: {code: 200, message: OK}}\n"
        "version: 1\n"
    )
    in_new_processes(
        "from pytest_recall.files.errors import MissError\n"
        "undo = watch.install(Player('replay'))\n"
        "import urllib.request\n"
        "try:\n"
        "    urllib.request.urlopen('http://127.0.0.1:9/')\n"
        "except MissError:\n"
        "    pass\n"
        "assert 'vcr.patch' in sys.modules\n"
        "assert not {'httpx', 'httpx2'} & {*sys.modules}\n"
        "import vcr, vcr.cassette\n"
        "changed = vcr.cassette.CassetteContextDecorator.__enter__.__code__\n"
        f"with vcr.use_cassette({str(cassette)!r}, record_mode='none'):\n"
        "    import httpx\n"
        "    assert httpx.get('http://127.0.0.1:9/old').text == 'kept'\n"
        "assert vcr.cassette.CassetteContextDecorator.__enter__.__code__ is not changed\n"
        "for back in reversed(undo): back()\n"
    )


@forks
def test_stubs_that_are_loaded_within_a_mock_leave_it_in_place(
    upstream: Upstream, tmp_path: Path, in_new_processes: InNewProcesses
) -> None:
    """vcrpy keeps what it finds when it is imported, which here are the mocks."""
    for name in ("aiohttp", "httpx", "requests"):
        pytest.importorskip(name)
    in_new_processes(
        "import pathlib\n"
        "import aiohttp, httpx\n"
        "from tests.replay.clients import test_mocks\n"
        "from tests.replay.upstream import Deck\n"
        f"url, folder = {upstream.url + '/chat'!r}, pathlib.Path({str(tmp_path)!r})\n"
        "deck = Deck(folder)\n"
        "with deck.recording():\n"
        "    with test_mocks.sessions(folder), test_mocks.transports(folder):\n"
        "        assert 'vcr' not in sys.modules\n"
        "        test_mocks.by_requests(url)\n"
        "        assert 'vcr' in sys.modules\n"
        "        assert test_mocks.by_aiohttp(test_mocks.FAKE) == 'mocked'\n"
        "        assert test_mocks.by_httpx(test_mocks.FAKE) == 'mocked'\n"
        "    assert test_mocks.seen(deck) == [url]\n"
        "    with test_mocks.cassette(folder):\n"
        "        test_mocks.by_aiohttp(url)\n"
        "        test_mocks.by_httpx(url)\n"
        "    assert test_mocks.seen(deck) == [url] * 3\n"
    )
