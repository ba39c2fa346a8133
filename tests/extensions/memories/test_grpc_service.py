"""Memory systems behind gRPC: a real server on loopback, made from the .proto file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.cli import main
from pytest_recall.memory.client import MemoryAdapter
from tests.extensions.memories.grpc_bench import Bench, grpc_serving
from tests.helpers.persona import write_project
from tests.memory.asking import NOW, filled, made

pytest.importorskip("grpc")

SCRIPT = Path(__file__).parents[3] / "scripts" / "generate-protocol.py"


@pytest.fixture
def bench() -> Iterator[Bench]:
    with grpc_serving(Bench()) as bench:
        yield bench


@pytest.fixture
def client(bench: Bench) -> Iterator[MemoryAdapter]:
    client = made(f"grpc://{bench.address}")
    yield client
    client.close()


def test_sessions_are_sent_as_days(bench: Bench, client: MemoryAdapter) -> None:
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


def test_texts_that_say_their_day_are_sent_as_that_day(bench: Bench, client: MemoryAdapter) -> None:
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


def test_a_service_that_takes_the_context_of_a_question_gets_it(bench: Bench, client: MemoryAdapter) -> None:
    def asked() -> tuple[str, ...]:
        client.healthcheck()
        client.answer("why?", 5, QueryContext(session="hr", date="2026-05-07", checkpoint="30d"))
        (_, message) = bench.asked[-1]
        return message.session, message.date, message.checkpoint

    assert (client.takes_context, asked()) == (False, ("", "", ""))
    bench.health["takes_context"] = True
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
    assert main([*run, "--out", "a"]) == 0  # A service may be another by now, and is asked again.
    assert main([*run, "--resume", "a"]) == 0
    bench.health["takes_context"] = True
    assert main([*run, "--out", "b"]) == 0
    assert "4 questions asked" in capsys.readouterr().out
    assert [message.session for method, message in bench.asked if method == "Query"] == [""] * 6 + ["principal"] * 4


FACTS = {f"{number}": f"fact {number}" for number in range(1, 6)}


def days_sent(bench: Bench) -> list[list[str]]:
    """Return what the days hold that were sent, call by call."""
    return [
        [one.content for one in message.days] if method == "IngestDays" else [message.content]
        for method, message in bench.asked
        if method in ("IngestDay", "IngestDays")
    ]


def test_so_many_days_in_a_call_as_it_says(bench: Bench, client: MemoryAdapter) -> None:
    bench.health["batches"] = 2
    filled(client, FACTS)
    assert days_sent(bench) == [[fact] for fact in FACTS.values()], "it has said nothing yet"
    bench.asked.clear()
    client.learn()
    filled(client, FACTS)
    assert days_sent(bench) == [["fact 1", "fact 2"], ["fact 3", "fact 4"], ["fact 5"]]
    assert [one.day_number for message in bench.sent("IngestDays") for one in message.days] == [1, 2, 3, 4]
    assert [method for method, _ in bench.asked][-2:] == ["IngestDay", "FinalizeIngestion"]
    client.store("gone", {"id": "1"})
    client.reset()
    client.finalize()
    assert days_sent(bench)[3:] == []


def test_one_that_has_no_call_for_several_days_is_told_one_by_one(bench: Bench, client: MemoryAdapter) -> None:
    bench.health["batches"] = 3
    bench.missing = "IngestDays"
    client.learn()
    filled(client, FACTS)
    assert days_sent(bench) == [["fact 1", "fact 2", "fact 3"], *([fact] for fact in FACTS.values())]
    bench.missing, bench.fails = "", "IngestDays"
    client.learn()
    with pytest.raises(MemoryFault, match=r"^IngestDays: INTERNAL: out of memory; look into the service$"):
        filled(client, FACTS)


def test_a_call_has_room_for_so_much_text(bench: Bench, client: MemoryAdapter) -> None:
    bench.health["batches"] = 10
    client.learn()
    filled(client, {"a": "a" * 1_500_000, "b": "b" * 1_000_000, "c": "c" * 1_000_000, "d": "d" * 3_000_000, "e": "e"})
    sizes = [[len(content) for content in call] for call in days_sent(bench)]
    assert sizes == [[1_500_000], [1_000_000, 1_000_000], [3_000_000], [1]]


def test_a_day_that_texts_say_is_sent_once_it_is_over(bench: Bench, client: MemoryAdapter) -> None:
    bench.health["batches"] = 10
    client.learn()
    client.reset()
    client.store("a fact", {"id": "1"})
    client.store("another", {"id": "2"})
    client.store("One.", {"id": "3", "day": "7"})
    client.store("Two.", {"id": "4", "day": "8"})
    client.store("Three.", {"id": "5", "day": "9"})
    assert days_sent(bench) == [["a fact", "another"], ["One."], ["Two."]]
    client.finalize()
    assert days_sent(bench)[3:] == [["Three."]]


def test_a_namespace_is_sent_to_a_service_that_keeps_stores_apart(bench: Bench, client: MemoryAdapter) -> None:
    client.learn()
    with pytest.raises(MemoryFault, match="has no separate named stores"):
        client.in_namespace("a")
    filled(client, {"a": "first"})
    bench.health |= {"namespaces": True, "batches": 2}
    client.learn()
    bench.asked.clear()
    apart = client.in_namespace("a")
    apart.healthcheck()
    filled(apart, {"a": "first", "b": "second", "c": "third"}).answer("why?", 5, NOW)
    apart.close()
    assert [(method, message.namespace) for method, message in bench.asked] == [
        (method, "a")
        for method in (
            *("Healthcheck", "Teardown", "Setup", "IngestDays"),
            *("IngestDay", "FinalizeIngestion", "Query"),
        )
    ]


def test_the_published_service_is_sent_what_it_knows(bench: Bench, client: MemoryAdapter) -> None:
    client.healthcheck()
    filled(client, FACTS).answer("why?", 5, QueryContext(session="hr"))
    known = {"day_number", "content", "metadata", "question"}
    assert all({field.name for field, _ in message.ListFields()} <= known for _, message in bench.asked)


def test_the_healthcheck_is_optional(bench: Bench, client: MemoryAdapter) -> None:
    bench.missing = "Healthcheck"
    client.healthcheck()
    assert client.is_ready() is None
    bench.missing = "Query"
    with pytest.raises(MemoryFault, match="Query: UNIMPLEMENTED"):
        client.answer("x", 5, NOW)


def test_a_reset_forgets_what_was_not_sent(bench: Bench, client: MemoryAdapter) -> None:
    client.reset()
    client.store("gone", {"id": "1"})
    client.reset()
    client.store("kept", {"id": "1"})
    client.finalize()
    assert [m.content for method, m in bench.asked if method == "IngestDay"] == ["kept"]


def test_errors_are_one_sentence(bench: Bench, client: MemoryAdapter) -> None:
    bench.fails = "Query"
    with pytest.raises(MemoryFault, match=r"^Query: INTERNAL: out of memory; look into the service$"):
        client.answer("x", 5, NOW)
    assert client.is_ready() is True
    bench.health["ready"] = False
    assert client.is_ready() is False
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
