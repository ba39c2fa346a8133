"""A gRPC service of a memory system for tests: a real server on loopback, made from the .proto file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from pytest_recall.extensions.memories.grpc_service import SERVICE, _messages

METHODS = ("Setup", "IngestDay", "IngestDays", "FinalizeIngestion", "Query", "Teardown", "Healthcheck")


class Bench:
    """A server that keeps what it is sent, and may fail. `health` is what it says beside its name."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.health: dict[str, Any] = {"ready": True}
        self.fails = ""
        self.slow = ""
        self.missing = ""
        self.address = ""

    def sent(self, method: str) -> list[Any]:
        """Return the requests of a method."""
        return [message for name, message in self.asked if name == method]

    def reply(self, method: str, message: Any, context: Any) -> Any:
        import grpc

        self.asked.append((method, message))
        if method == self.slow:
            time.sleep(2)
        if method == self.missing:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "")
        if method == self.fails:
            context.abort(grpc.StatusCode.INTERNAL, "out of memory")
        fields: dict[str, dict[str, Any]] = {
            "Query": {"answer": f"answer to {getattr(message, 'question', '')}"},
            "Healthcheck": {"name": "bench", **self.health},
        }
        return _messages()(f"{method}Response")(**fields.get(method, {}))


@contextmanager
def grpc_serving(bench: Bench) -> Iterator[Bench]:
    """Serve on loopback until the block ends."""
    import grpc

    def handler(method: str) -> Any:
        return grpc.unary_unary_rpc_method_handler(
            lambda message, context: bench.reply(method, message, context),
            request_deserializer=_messages()(f"{method}Request").FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )

    server = grpc.server(ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, {m: handler(m) for m in METHODS})])
    bench.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield bench
    finally:
        server.stop(None).wait()
