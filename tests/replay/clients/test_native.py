"""Clients that do not use Python's sockets: refused in a replay before they send, and named in a recording.

Of these only grpcio is here; `scripts/check-clients.py` has the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay.clients import native
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import CassetteMode
from pytest_recall.replay.unrecorded import watch_unrecorded
from tests.replay.test_tape import tape_of

grpc: Any = pytest.importorskip("grpc")
pytest.importorskip("grpc.aio")
# grpc imports it with the first channel: a run of pytester that makes that one would take it out again.
pytest.importorskip("grpc._channel")


class Service:
    """A server of gRPC that answers with what it is asked."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        methods = {
            "Ask": grpc.unary_unary_rpc_method_handler(self._echo),
            "Many": grpc.unary_stream_rpc_method_handler(self._stream),
            "Sum": grpc.stream_unary_rpc_method_handler(lambda asked, context: self._echo(b"".join(asked), context)),
            "Talk": grpc.stream_stream_rpc_method_handler(
                lambda asked, context: self._stream(b"".join(asked), context)
            ),
        }
        self._server = grpc.server(ThreadPoolExecutor(2))
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("any.Service", methods),))
        self.place = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def _echo(self, asked: bytes, context: object) -> bytes:
        self.asked.append(asked)
        return asked

    def _stream(self, asked: bytes, context: object) -> Iterator[bytes]:
        yield self._echo(asked, context)

    def close(self) -> None:
        self._server.stop(None).wait()


@pytest.fixture
def service() -> Iterator[Service]:
    """A server on loopback."""
    serving = Service()
    yield serving
    serving.close()


Watched = Callable[..., Player]


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    """Make a player that watches clients, with a tape of a case."""
    undo: list[Callable[[], None]] = []

    def make(mode: CassetteMode, **settings: Any) -> Player:
        player = Player(mode, **settings)
        undo.extend(watch_unrecorded(player))
        tape = tape_of(tmp_path, mode=mode)
        tape.header = {"case": "a"}
        player.push(tape)
        return player

    yield make
    while undo:
        undo.pop()()


def unary(place: str) -> bytes:
    with grpc.insecure_channel(place) as channel:
        answer: bytes = channel.unary_unary("/any.Service/Ask")(b"hi")
        return answer


def with_call(place: str) -> bytes:
    with grpc.insecure_channel(place) as channel:
        answer: bytes = channel.unary_unary("/any.Service/Ask").with_call(b"hi")[0]
        return answer


def future(place: str) -> bytes:
    with grpc.insecure_channel(place) as channel:
        answer: bytes = channel.unary_unary("/any.Service/Ask").future(b"hi").result()
        return answer


def streamed(place: str) -> bytes:
    with grpc.insecure_channel(place) as channel:
        return b"".join(channel.unary_stream("/any.Service/Many")(b"hi"))


def streaming(place: str) -> bytes:
    with grpc.insecure_channel(place) as channel:
        answer: bytes = channel.stream_unary("/any.Service/Sum")(iter([b"h", b"i"]))
        return answer


def talking(place: str) -> bytes:
    with grpc.insecure_channel(place) as channel:
        return b"".join(channel.stream_stream("/any.Service/Talk")(iter([b"h", b"i"])))


def intercepted(place: str) -> bytes:
    class Through(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
        def intercept_unary_unary(self, continuation: Any, details: Any, request: bytes) -> Any:
            return continuation(details, request)

    with grpc.insecure_channel(place) as channel:
        answer: bytes = grpc.intercept_channel(channel, Through()).unary_unary("/any.Service/Ask")(b"hi")
        return answer


def asynchronous(place: str) -> bytes:
    async def call() -> bytes:
        async with grpc.aio.insecure_channel(place) as channel:
            answer: bytes = await channel.unary_unary("/any.Service/Ask")(b"hi")
            return answer

    return asyncio.run(call())


def asynchronously_streamed(place: str) -> bytes:
    async def call() -> bytes:
        async with grpc.aio.insecure_channel(place) as channel:
            return b"".join([part async for part in channel.unary_stream("/any.Service/Many")(b"hi")])

    return asyncio.run(call())


WAYS = (*(unary, with_call, future, streamed, streaming, talking, intercepted, asynchronous, asynchronously_streamed),)


@pytest.mark.parametrize("ask", WAYS)
def test_a_recording_counts_each_call(ask: Callable[[str], bytes], service: Service, watched: Watched) -> None:
    player = watched("record")
    assert ask(service.place) == b"hi"
    assert set(player.unseen) == {"grpc"}
    assert len(player.unseen) == 1


@pytest.mark.parametrize("ask", WAYS)
def test_a_replay_refuses_each_call_before_it_is_sent(
    ask: Callable[[str], bytes], service: Service, watched: Watched
) -> None:
    player = watched("replay")
    with pytest.raises(MissError, match=rf"case `a`: grpc did not ask grpc://{service.place}, which is neither"):
        ask(service.place)
    assert service.asked == []
    assert player.tape is not None
    assert len(player.tape.misses) == 1


@pytest.mark.parametrize("ask", [unary, asynchronous])
@pytest.mark.parametrize("target", ["{}", "dns:///{}", "ipv4:{}"])
def test_hosts_that_are_ignored_are_asked(
    ask: Callable[[str], bytes], target: str, service: Service, watched: Watched
) -> None:
    if target.startswith("dns"):
        target = target.replace("{}", "localhost:{}").format(service.place.rpartition(":")[2])
    player = watched("replay", ignored=[service.place, f"localhost:{service.place.rpartition(':')[2]}"])
    assert ask(target.format(service.place)) == b"hi"
    assert player.unseen == []


@pytest.mark.parametrize("mode", ["record", "replay"])
def test_telemetry_is_none_of_a_case(mode: CassetteMode, service: Service, watched: Watched) -> None:
    player = watched(mode, telemetry=[service.place])
    with pytest.raises(ConnectionRefusedError) if mode == "replay" else nullcontext():
        assert unary(service.place) == b"hi"
    assert player.tape is not None
    assert (player.unseen, player.tape.misses) == ([], [])
    assert player.telemetry_calls == {"127.0.0.1": 1}
    assert len(service.asked) == (mode == "record")


def test_all_is_put_back(service: Service) -> None:
    modules = [import_module(name) for name in native.CLIENTS["grpc"]]
    before = [members(module) for module in modules]
    undo = watch_unrecorded(Player("replay"))
    assert [members(module) for module in modules] != before
    while undo:
        undo.pop()()
    assert [members(module) for module in modules] == before
    assert unary(service.place) == b"hi"


def members(module: ModuleType) -> list[dict[str, Any]]:
    classes = [getattr(module, place.owner) for place in native.CLIENTS["grpc"][module.__name__]]
    return [dict(vars(cls)) for cls in classes]


def test_each_module_of_grpc_has_what_is_patched() -> None:
    """A release that renames one of them is noticed here."""
    for name, places in native.CLIENTS["grpc"].items():
        module = import_module(name)
        for place in places:
            assert "__call__" in vars(getattr(module, place.owner)), place
