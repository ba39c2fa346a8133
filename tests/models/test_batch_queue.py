"""The calls that wait: which may, and how their wait ends, without a session around them."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.models import batch_queue
from pytest_recall.models.batch import Limit
from pytest_recall.models.batch_file import BatchLog
from pytest_recall.models.batch_queue import BatchPace, BatchSender
from pytest_recall.replay.call_recorder import CallRecorder, CallStep, PendingBatchCall
from pytest_recall.replay.equality import key_of
from pytest_recall.replay.exchange import Exchange, Request
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.player import Player
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.tape import Tape
from tests.helpers.batching import Service, serving
from tests.models.endpoint import Answer, Asked, Endpoint, endpoint, failure

pytest.importorskip("openai")
pytest.importorskip("anthropic")

CASE = object()


@pytest.fixture
def service() -> Iterator[Service]:
    """A service with batch APIs."""
    yield from serving()


@pytest.fixture
def sender(tmp_path: Path) -> Iterator[BatchSender]:
    """A sender that goes about it quickly."""
    made = sender_in(tmp_path)
    yield made
    made.close()


def sender_in(folder: Path, run: str = "run", **pace: Any) -> BatchSender:
    given = BatchPace(**{"quiet": 0.3, "poll": 0.05, **pace})
    return BatchSender(["127.0.0.1"], BatchLog(folder, run), partial(key_of, rules=Rules()), pace=given)


def asked(service: Service | Endpoint, prompt: str, **more: Any) -> Request:
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}], **more}
    return Request("POST", f"{service.url}/v1/chat/completions", (), json.dumps(body).encode())


def hold(
    sender: BatchSender, request: Request, case: object = CASE, tape: Tape | None = None
) -> PendingBatchCall | None:
    """Ask in a thread, as cases do."""
    tape = tape or Tape("", "off", Rules(), Redactor({}), "")
    found: list[PendingBatchCall | None] = []

    def refuse(message: str, noted: bool) -> BaseException:
        return RuntimeError(f"{noted}: {message}")

    def ask() -> None:
        found.append(sender.hold(request, case, tape, CallRecorder(tape, request, "agent", record=False), refuse))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return found[0]


def held(sender: BatchSender, request: Request, case: object = CASE, tape: Tape | None = None) -> PendingBatchCall:
    made = hold(sender, request, case, tape)
    assert made is not None
    return made


def text(exchange: Exchange) -> str:
    assert exchange.response is not None
    return str(json.loads(exchange.response.body)["choices"][0]["message"]["content"])


def test_identical_calls_get_an_answer_each(service: Service, sender: BatchSender) -> None:
    calls = [held(sender, asked(service, name)) for name in ("a", "b", "a")]
    *others, last = calls
    assert [text(call.wait()) for call in others] == ["re: a", "re: b"]
    # As a loop that is none of asyncio's runs it.
    with pytest.raises(StopIteration) as done:
        last.waited().send(None)
    assert text(done.value.value) == "re: a"
    assert service.sizes == [3]
    assert sender.tally == {"batched": 3, "batches": 1, "found": 0}


def test_a_call_outside_of_any_case_is_counted_and_goes_directly(service: Service, sender: BatchSender) -> None:
    player = Player("record")
    player.batches = sender
    assert player.ask(asked(service, "a")) == CallStep()
    assert sender.tally["direct: outside of any case"] == 1


def test_a_batch_that_is_full_goes_at_once(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_queue, "LIMITS", {"openai": Limit(2, 10_000)})
    with closing(sender_in(tmp_path, quiet=300)) as made:
        calls = [held(made, asked(service, name)) for name in "abcd"]
        assert [text(call.wait()) for call in calls] == [f"re: {name}" for name in "abcd"]
    assert service.sizes == [2, 2]


def test_a_call_that_is_larger_than_a_batch_goes_directly_and_what_fits_no_more_is_in_the_next(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_queue, "LIMITS", {"openai": Limit(10, 2000)})
    with closing(sender_in(tmp_path)) as made:
        assert hold(made, asked(service, 3000 * "x")) is None
        calls = [held(made, asked(service, 700 * name)) for name in "abc"]
        assert [text(call.wait()) for call in calls] == [f"re: {700 * name}" for name in "abc"]
        assert made.tally["direct: larger than a batch"] == 1
    assert service.sizes == [2, 1]


def test_a_case_that_is_called_off_leaves_the_others_alone(service: Service, sender: BatchSender) -> None:
    other = object()
    gone, stays = held(sender, asked(service, "a")), held(sender, asked(service, "b"), other)
    sender.call_off(CASE)
    with pytest.raises(RuntimeError, match=r"False: POST .*: not waited for, since"):
        gone.wait()
    assert text(stays.wait()) == "re: b"
    assert service.prompts == {"b": 1}


def test_what_was_called_off_after_it_was_bought_is_found_again(service: Service, sender: BatchSender) -> None:
    first = held(sender, asked(service, "a"))
    assert text(first.wait()) == "re: a"
    sender.call_off(CASE)
    assert text(held(sender, asked(service, "a")).wait()) == "re: a"
    assert service.prompts == {"a": 1}


def test_who_waits_at_the_end_waits_no_longer(service: Service, tmp_path: Path) -> None:
    service.hold = 1
    made = sender_in(tmp_path)
    call = held(made, asked(service, "a"))
    while made.tally["batches"] == 0:
        assert not call.future.done()
    made.close()
    with pytest.raises(RuntimeError, match=r"False: .*not waited for"):
        call.wait()
    with pytest.raises(RuntimeError, match=r"False: .*not waited for"):
        held(made, asked(service, "b")).wait()
    assert "recall-batches" not in {thread.name for thread in threading.enumerate()}
    assert service.prompts == {"a": 1}


def test_nothing_waits_outside_of_a_case_in_the_main_thread_or_in_a_fork(
    service: Service, sender: BatchSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = asked(service, "a")
    assert hold(sender, request, None) is None
    tape = Tape("", "off", Rules(), Redactor({}), "")
    recorder = CallRecorder(tape, request, "agent", record=False)
    assert sender.hold(request, CASE, tape, recorder, lambda message, noted: RuntimeError()) is None
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert hold(sender, request) is None
    assert sender.waiting() == (0, 0)


def test_a_folder_that_cannot_be_written_is_told_and_costs_no_answer(service: Service, tmp_path: Path) -> None:
    made = sender_in(tmp_path / "artifacts")
    tape = Tape("", "off", Rules(), Redactor({}), "")
    call = held(made, asked(service, "a"), tape=tape)
    (tmp_path / "artifacts").write_text("in its place")
    assert text(call.wait()) == "re: a"
    made.settle(tape, again=False)
    made.close()
    assert len(made.problems) == 2
    assert "batch_1 is not written down" in made.problems[0]
    assert "batches.jsonl: not written (" in made.problems[1]


FILE = Answer(200, {"id": "file-1", "object": "file", "bytes": 1, "created_at": 1, "filename": "f", "purpose": "batch",
                    "status": "processed"})  # fmt: skip


def test_what_is_no_batch_api_ends_the_wait(tmp_path: Path) -> None:
    page = Answer(200, b"<html>hi</html>", {"content-type": "text/html"})
    with endpoint(page) as server, closing(sender_in(tmp_path, quiet=0.01)) as made:
        call = held(made, asked(server, "a"))
        with pytest.raises(RuntimeError, match=r"the batch failed \(.*AttributeError.*\); run without --recall-batch"):
            call.wait()


def test_nothing_is_bought_for_a_case_that_is_called_off_while_its_batch_is_prepared(tmp_path: Path) -> None:
    with closing(sender_in(tmp_path, quiet=0.01)) as made:

        def call_off(uploaded: Asked) -> Answer:
            made.call_off(CASE)
            return FILE

        with endpoint(call_off) as server:
            call = held(made, asked(server, "a"))
            with pytest.raises(RuntimeError, match="not waited for"):
                call.wait()
            made.close()
    assert [one.path for one in server.asked] == ["/v1/files"]


def test_a_look_that_fails_for_a_moment_is_taken_again(tmp_path: Path) -> None:
    batch = {"id": "batch_1", "object": "batch", "completion_window": "24h", "created_at": 1, "endpoint": "/v1/x",
             "input_file_id": "file-1", "status": "in_progress"}  # fmt: skip
    errors = {"object": "list", "data": [{"code": "invalid", "message": "no such model"}]}
    failed = Answer(200, {**batch, "status": "failed", "errors": errors})
    script = (FILE, Answer(200, batch), failure(503), failed)
    with endpoint(*script) as server, closing(sender_in(tmp_path, quiet=0.01, poll=0.01)) as made:
        call = held(made, asked(server, "a"))
        with pytest.raises(RuntimeError, match="the batch batch_1 failed: no such model; correct that"):
            call.wait()
    assert [one.path for one in server.asked] == ["/v1/files", "/v1/batches", *["/v1/batches/batch_1"] * 2]
