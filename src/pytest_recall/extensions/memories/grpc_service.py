"""A memory system behind the gRPC service `recall.bench.MemoryBenchService`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

from pytest_recall.ext import (
    TIMEOUT_OPTION,
    Channel,
    MemoryAdapter,
    MemoryContext,
    MemoryFault,
    MemoryForm,
    MemoryKind,
    MemorySelector,
    ModelError,
    QueryContext,
    RecallError,
    Request,
    Response,
    one_line,
    patience,
)

TIMEOUT = 120.0
"""Seconds that one call may take."""
SERVICE = "recall.bench.MemoryBenchService"
_BIGGEST = 64 * 2**20
_NO_SUCH = 501
_OPTIONAL = ("Healthcheck", "IngestDays")
_ROOM = 2**21
"""Bytes of texts from which days are sent: a server takes messages of 4 MB unless it is told otherwise."""


class GrpcService(MemoryAdapter):
    """The published service, over a channel without TLS; its .proto file lies beside this module.

    `reset` is Teardown and Setup. Texts of one session, or else of one date, are sent together as one IngestDay,
    and a text with neither is a day of its own; days are counted from 1. Texts that say their `day` are sent with
    the others of that day, under a heading for each session. The service returns no passages. A question is sent
    with its session, date and checkpoint once the service has said in its health that it takes them, which the
    published one does not.

    Nor does it say `batches`, with which up to so many days are sent in one call, apart from those that texts say,
    since a run notes what it has told of them; or `namespaces`, with which each request may have a `namespace`.
    """

    answers_only = True
    concurrent = True
    elsewhere = "it is a service"
    takes_context = False
    context_hint = "a service that takes it says `takes_context` in its health"

    def __init__(self, name: str, address: str, channel: Channel, timeout: float | None, namespace: str = "") -> None:
        super().__init__(name)
        self._namespace = namespace
        self._address = address
        self._through = channel
        self._timeout = timeout or TIMEOUT
        self._lock = Lock()
        self._channel: Any = None
        self._day = 0
        self._texts: list[str] = []
        self._of: tuple[str, str] | None = None
        self._about: dict[str, Any] = {}
        self._session = ""
        self._most = 1
        self._waiting: list[dict[str, Any]] = []
        self._room = _ROOM

    def code(self) -> Iterable[Path]:
        """Return no file: what the service is made of is elsewhere."""
        return ()

    def ready(self) -> None:
        """Raise MemoryFault if grpcio or protobuf is not installed."""
        _sdk()

    def reset(self) -> None:
        """Let it forget everything."""
        self._day, self._texts, self._of, self._about, self._waiting, self._room = 0, [], None, {}, [], _ROOM
        self._call("Teardown")
        self._call("Setup")

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a text for its day; the day before is sent as soon as another begins."""
        if metadata.get("day", "").isdecimal():
            self._store_of_day(content, metadata)
            return
        session, date = metadata.get("session", ""), metadata.get("date", "")
        if self._of is not None and (self._of != (session, date) or not (session or date)):
            self._send()
        self._of = (session, date)
        self._texts.append(content)

    def _store_of_day(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a text of a day that says its number, its session, persona and arcs."""
        number, session = metadata["day"], metadata.get("session", "")
        if self._of != ("", number):
            self._send()
            self._of, self._session = ("", number), ""
            self._about = {
                "day_number": int(number),
                "date": metadata.get("date", ""),
                "persona_id": metadata.get("persona", ""),
                "active_arcs": [arc for arc in metadata.get("arcs", "").split(",") if arc],
            }
        if session and session != self._session:
            content = f"# session: {session}\n\n{content}"
        self._session = session
        self._texts.append(content)

    def finalize(self) -> None:
        """Send the days that are left, and say that all is there."""
        self._send()
        self._send_waiting()
        self._call("FinalizeIngestion")

    def recall(self, query: str, limit: int, context: QueryContext) -> list[str]:
        """Return nothing: the service has no call for it."""
        return []

    def answer(self, query: str, limit: int, context: QueryContext) -> str:
        """Return its answer."""
        more = context.to_json() if self.takes_context else {}
        return str(self._call("Query", question=query, **more).answer)

    def healthcheck(self) -> None:
        """Raise MemoryFault if it is not reached, or says that it is not ready; it need not have this call."""
        health = self._call("Healthcheck")
        if health is not None and not health.ready:
            raise MemoryFault("Healthcheck says that it is not ready; wait until it is")
        self.takes_context = health is not None and health.takes_context
        self.namespaces = health is not None and health.namespaces
        self._most = 1 if health is None else max(1, health.batches)

    def is_ready(self) -> bool | None:
        """Return what its health says of that; it need not have this call."""
        health = self._call("Healthcheck")
        return None if health is None else bool(health.ready)

    def learn(self) -> None:
        """Ask for its health, which says what it takes that the published service does not."""
        self.healthcheck()

    def in_namespace(self, name: str) -> MemoryAdapter:
        """Return a client that sends this namespace with each request."""
        if not self.namespaces:
            return super().in_namespace(name)
        return GrpcService(self.name, self._address, self._through, self._timeout, name)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._channel is not None:
                self._channel.close()
                self._channel = None

    def _send(self) -> None:
        if not self._texts:
            return
        self._day += 1
        about = self._about or {"day_number": self._day, "date": self._of[1] if self._of else ""}
        between = "\n\n" if self._about else "\n"
        texts, of_day, self._texts, self._of, self._about = self._texts, bool(self._about), [], None, {}
        content, metadata = between.join(texts), _messages()("DayMetadata")(**about)
        day = {"day_number": about["day_number"], "content": content, "metadata": metadata}
        size = len(content.encode("utf-8", "replace"))
        if self._waiting and (of_day or size > self._room):
            self._send_waiting()
        self._waiting.append(day)
        self._room -= size
        if of_day or len(self._waiting) >= self._most:
            self._send_waiting()

    def _send_waiting(self) -> None:
        """Send the days that wait, in one call if the service has that method, and else one by one."""
        days, self._waiting, self._room = self._waiting, [], _ROOM
        if len(days) > 1:
            if self._call("IngestDays", days=[_messages()("IngestDayRequest")(**one) for one in days]) is not None:
                return
            self._most = 1
        for one in days:
            self._call("IngestDay", **one)

    def _call(self, method: str, **fields: Any) -> Any:
        _sdk()
        if self._namespace:
            fields["namespace"] = self._namespace
        message = _messages()(f"{method}Request")(**fields)
        body = message.SerializeToString(deterministic=True)
        request = Request("RPC", f"grpc://{self._address}/{SERVICE}/{method}", body=body)
        try:
            response = self._through(request, lambda: self._made(method, body))
        except ModelError as error:
            raise MemoryFault(str(error)) from error
        if response.status == _NO_SUCH:
            return None
        return _messages()(f"{method}Response").FromString(response.body)

    def _made(self, method: str, body: bytes) -> Response:
        import grpc

        timeout = patience(self._timeout)
        ask = self._connected().unary_unary(f"/{SERVICE}/{method}")
        try:
            reply: bytes = ask(body, timeout=timeout)
        except grpc.RpcError as error:
            if method in _OPTIONAL and error.code() is grpc.StatusCode.UNIMPLEMENTED:
                return Response(_NO_SUCH, "UNIMPLEMENTED")
            code, details = error.code(), one_line(error.details() or "", 160)
            if code is grpc.StatusCode.DEADLINE_EXCEEDED:
                message = f"{method}: no reply within {timeout:g} s; add `;timeout=` with more seconds"
            else:
                message = f"{method}: {code.name}{f': {details}' if details else ''}; look into the service"
            raise ModelError(message) from error
        return Response(200, "OK", (("content-type", "application/grpc"),), (reply,), (0.0,))

    def _connected(self) -> Any:
        import grpc

        with self._lock:
            if self._channel is None:
                sizes = [(f"grpc.max_{way}_message_length", _BIGGEST) for way in ("send", "receive")]
                self._channel = grpc.insecure_channel(self._address, options=sizes)
            return self._channel


@cache
def _messages() -> Callable[[str], Any]:
    """Return the classes of the service's messages, by name."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    described = files(__package__).joinpath("protocol/memory_bench.binpb").read_bytes()
    # A pool of its own: a program that is tested here may have loaded the same names.
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(described).file:
        pool.AddSerializedFile(file.SerializeToString())
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"recall.bench.{name}"))


def _sdk() -> None:
    try:
        import grpc  # noqa: F401
        from google.protobuf import message_factory  # noqa: F401
    except ImportError:
        raise MemoryFault("needs grpcio; run `pip install 'pytest-recall[memory-grpc]'`") from None


def _host_and_port(rest: str) -> str:
    found = re.fullmatch(r"grpc://([^\s/:@\[\]]+|\[[0-9A-Fa-f:]+\])(?::([1-9][0-9]{0,4}))?", rest)
    if found is None:
        raise RecallError("is not an address; write one like grpc://127.0.0.1:50052")
    return f"{found[1]}:{found[2] or 50052}"


def _client(selector: MemorySelector, context: MemoryContext) -> GrpcService:
    return GrpcService(selector.text, selector.target, context.channel, selector.timeout)


KIND = MemoryKind(
    name="grpc",
    forms=(
        MemoryForm(
            about="a service of the protocol recall.bench.MemoryBenchService, which answers",
            target="//HOST:PORT",
            example="//127.0.0.1:1",
            models="elsewhere",
        ),
    ),
    options=(TIMEOUT_OPTION,),
    commas=False,
    read=_host_and_port,
    make=_client,
)
