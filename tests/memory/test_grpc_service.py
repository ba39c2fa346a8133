"""Memory systems behind gRPC: a real server on loopback, made from the .proto file."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.cli import main
from pytest_recall.memory.client import Client
from pytest_recall.memory.grpc_service import SERVICE, _messages
from tests.helpers.persona import write_project
from tests.memory.asking import NOW, made

grpc = pytest.importorskip("grpc")

SCRIPT = Path(__file__).parents[2] / "scripts" / "generate-protocol.py"


class Bench:
    """A server that keeps what it is sent, and may fail."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.ready = True
        self.takes_context = False
        self.fails = ""
        self.slow = ""
        self.missing = ""
        self.address = ""

    def reply(self, method: str, message: Any, context: Any) -> Any:
        self.asked.append((method, message))
        if method == self.slow:
            time.sleep(2)
        if method == self.missing:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "")
        if method == self.fails:
            context.abort(grpc.StatusCode.INTERNAL, "out of memory")
        fields: dict[str, dict[str, Any]] = {
            "Query": {"answer": f"answer to {getattr(message, 'question', '')}"},
            "Healthcheck": {"name": "bench", "ready": self.ready, "takes_context": self.takes_context},
        }
        return _messages()(f"{method}Response")(**fields.get(method, {}))


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()

    def handler(method: str) -> Any:
        return grpc.unary_unary_rpc_method_handler(
            lambda message, context: bench.reply(method, message, context),
            request_deserializer=_messages()(f"{method}Request").FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )

    methods = ("Setup", "IngestDay", "FinalizeIngestion", "Query", "Teardown", "Healthcheck")
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, {m: handler(m) for m in methods})])
    bench.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield bench
    server.stop(None).wait()


@pytest.fixture
def client(bench: Bench) -> Iterator[Client]:
    client = made(f"grpc://{bench.address}")
    yield client
    client.close()


def test_sessions_are_sent_as_days(bench: Bench, client: Client) -> None:
    client.healthcheck()
    client.reset()
    client.store("A: one", {"id": "1", "session": "s1", "date": "2026-05-01"})
    client.store("B: two", {"id": "2", "session": "s1", "date": "2026-05-01"})
    client.store("A: three", {"id": "3", "session": "s2", "date": "2026-05-02"})
    client.store("a fact", {"id": "4"})
    client.store("another", {"id": "5"})
    client.finalize()
    assert client.answer("why?", 5, NOW) == "answer to why?"
    assert client.recall("why?", 5, NOW) == []
    days = [message for method, message in bench.asked if method == "IngestDay"]
    assert [(day.day_number, day.content, day.metadata.date) for day in days] == [
        (1, "A: one\nB: two", "2026-05-01"),
        (2, "A: three", "2026-05-02"),
        (3, "a fact", ""),
        (4, "another", ""),
    ]
    assert [method for method, _ in bench.asked if method != "IngestDay"] == [
        "Healthcheck",
        "Teardown",
        "Setup",
        "FinalizeIngestion",
        "Query",
    ]


def test_texts_that_say_their_day_are_sent_as_that_day(bench: Bench, client: Client) -> None:
    client.reset()
    day = {"day": "7", "date": "2026-05-07", "persona": "clerk", "arcs": "a,b"}
    client.store("One.", {"id": "1", "session": "principal", **day})
    client.store("Two.", {"id": "2", "session": "principal", **day})
    client.store("Three.", {"id": "3", "session": "hr", **day})
    client.store("Four.", {"id": "4", "day": "9", "date": "2026-05-09"})
    client.store("a fact", {"id": "5"})
    client.finalize()
    days = [message for method, message in bench.asked if method == "IngestDay"]
    assert [(one.day_number, one.content) for one in days] == [
        (7, "# session: principal\n\nOne.\n\nTwo.\n\n# session: hr\n\nThree."),
        (9, "Four."),
        (3, "a fact"),
    ]
    about = days[0].metadata
    assert (about.day_number, about.date, about.persona_id, list(about.active_arcs)) == (
        7,
        "2026-05-07",
        "clerk",
        ["a", "b"],
    )


def test_a_service_that_takes_the_context_of_a_question_gets_it(bench: Bench, client: Client) -> None:
    def asked() -> tuple[str, ...]:
        client.healthcheck()
        client.answer("why?", 5, QueryContext(session="hr", date="2026-05-07", checkpoint="30d"))
        (_, message) = bench.asked[-1]
        return message.session, message.date, message.checkpoint

    assert (client.takes_context, asked()) == (False, ("", "", ""))
    bench.takes_context = True
    assert asked() == ("hr", "2026-05-07", "30d")
    assert client.takes_context


def test_what_may_be_told_where_is_asked_of_a_service_that_knows_where_it_is_asked(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path, f"grpc://{bench.address}")
    run = ["bench", "run", "--profile", "clerk.profile.yaml", "--memory-reset", "--ranges", "3d", "--no-heatmap-png"]
    assert main([*run, "--out", "a"]) == 0
    captured = capsys.readouterr()
    assert "3 questions asked" in captured.out
    assert (
        f"recall: grpc://{bench.address} is not told in which session a question is asked, so that 4 questions about"
        " what may be told where are not asked; a service that takes it says `takes_context` in its health\n"
    ) in captured.err
    assert main([*run, "--out", "a"]) == 0
    bench.takes_context = True
    assert main([*run, "--out", "b"]) == 0
    assert "4 questions asked" in capsys.readouterr().out
    assert [message.session for method, message in bench.asked if method == "Query"] == [""] * 3 + ["principal"] * 4


def test_the_healthcheck_is_optional(bench: Bench, client: Client) -> None:
    bench.missing = "Healthcheck"
    client.healthcheck()
    bench.missing = "Query"
    with pytest.raises(MemoryFault, match="Query: UNIMPLEMENTED"):
        client.answer("x", 5, NOW)


def test_a_reset_forgets_what_was_not_sent(bench: Bench, client: Client) -> None:
    client.reset()
    client.store("gone", {"id": "1"})
    client.reset()
    client.store("kept", {"id": "1"})
    client.finalize()
    assert [m.content for method, m in bench.asked if method == "IngestDay"] == ["kept"]


def test_errors_are_one_sentence(bench: Bench, client: Client) -> None:
    bench.fails = "Query"
    with pytest.raises(MemoryFault, match=r"^Query: INTERNAL: out of memory; look into the service$"):
        client.answer("x", 5, NOW)
    bench.ready = False
    with pytest.raises(MemoryFault, match="says that it is not ready"):
        client.healthcheck()


def test_one_that_takes_too_long(bench: Bench) -> None:
    bench.slow = "Query"
    client = made(f"grpc://{bench.address};timeout=0.3")
    with pytest.raises(MemoryFault, match=r"Query: no reply within 0.3 s; add `;timeout=`"):
        client.answer("x", 5, NOW)
    client.close()


def test_one_that_is_not_there() -> None:
    client = made("grpc://127.0.0.1:1")
    with pytest.raises(MemoryFault, match="Teardown: UNAVAILABLE"):
        client.reset()
    client.close()


def test_the_compiled_description_is_what_the_proto_file_says() -> None:
    if find_spec("grpc_tools") is None:
        pytest.skip("needs grpcio-tools, which is not installed")
    done = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
