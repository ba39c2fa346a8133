"""`recall memory run` of a memory with models of its own: what these cost is counted, shown and within the budget."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.files.wording import dollars as money
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.run_stop import RunStop
from tests.cli.test_membench import trials
from tests.cli.test_membench_at_once import untimed
from tests.datasets.files import write_few
from tests.helpers import programs
from tests.helpers.priced import priced_folder
from tests.memory.services import Service, serving
from tests.models.endpoint import Answer, Asked, Endpoint, chat

# A run of pytest in this process forgets what it was the first to import, and some of it would be there twice.
importlib.import_module("pytest_recall.datasets.judged")

RUN = ("memory", "run", "few.json")
OWN = """
import asyncio
import json
import os
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Thread

import httpx
from openai import AsyncOpenAI, OpenAI

POOL = ThreadPoolExecutor(1)
URL = os.environ["MODELS"]


class Memory:
    private = True

    def __init__(self):
        self.client = OpenAI(base_url=URL + "/v1", api_key="none", max_retries=0)
        self.kept = []

    def ask(self, model, text):
        said = [{"role": "user", "content": text}]
        return self.client.chat.completions.create(model=model, messages=said)

    def reset(self):
        self.kept = []

    def store(self, content, metadata):
        self.ask("extract", content)
        self.kept.append((content, metadata["id"]))

    def recall(self, query, limit, context):
        self.ask("rank", query)
        return [{"text": text, "source": id} for text, id in self.kept[:limit]]


class InPool(Memory):
    def ask(self, model, text):
        return POOL.submit(super().ask, model, text).result()


class InThread(Memory):
    def ask(self, model, text):
        def asked(ask=super().ask):
            with suppress(Exception):
                ask(model, text)

        thread = Thread(target=asked)
        thread.start()
        thread.join()


class Deaf(Memory):
    def ask(self, model, text):
        try:
            super().ask(model, text)
        except BaseException:
            pass


class Plain(Memory):
    def ask(self, model, text):
        body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()
        with urllib.request.urlopen(URL + "/v1/chat/completions", body) as reply:
            reply.read()


class Async(Memory):
    async def store(self, content, metadata):
        said = [{"role": "user", "content": content}]
        async with AsyncOpenAI(base_url=URL + "/v1", api_key="none") as client:
            await client.chat.completions.create(model="extract", messages=said)
        self.kept.append((content, metadata["id"]))


class Database(Memory):
    def ask(self, model, text):
        httpx.post(URL + "/collections/a/points", json={"text": text})


class Embedding(Memory):
    def ask(self, model, text):
        self.client.embeddings.create(model="embed", input=text)


class Own(Memory):
    def answer(self, query, limit, context):
        return self.ask("answer", query).choices[0].message.content


class Silent(Memory):
    def store(self, content, metadata):
        self.kept.append((content, metadata["id"]))
"""
Ran = Callable[..., str]
PRICES = {"extract": 1000, "rank": 2000, "answer": 4000, "reader": 8000, "judge": 16_000}


def counted(asked: Asked) -> Answer:
    """Answer with a word, as the model that was asked, and with a token for each word of the prompt."""
    body = asked.body
    if asked.path.endswith("/points"):
        return Answer(200, {})
    if asked.path.endswith("/embeddings"):
        row = {"object": "embedding", "index": 0, "embedding": [0.5]}
        usage = {"prompt_tokens": 3, "total_tokens": 3}
        return Answer(200, {"object": "list", "model": "text-embedding-3-small", "data": [row], "usage": usage})
    said = body["messages"][-1]["content"]
    label = {"reasoning": "As it seems.", "label": "correct"}
    answer = chat(json.dumps(label) if body["model"] == "judge" else "Heron")
    usage = {"prompt_tokens": len(said.split()), "completion_tokens": 2}
    return answer._replace(body={**answer.body, "model": body["model"], "usage": usage})


@pytest.fixture(name="served")
def _served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    endpoint = Endpoint(counted)
    monkeypatch.setenv("MODELS", endpoint.url)
    yield endpoint
    endpoint.close()


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    priced_folder(tmp_path, monkeypatch, PRICES, OWN)
    write_few(tmp_path)


def memory(name: str = "Memory") -> tuple[str, str]:
    return "--memory", f"python:own.py:{name}"


@pytest.fixture(name="ran")
def _ran(capsys: pytest.CaptureFixture[str]) -> Ran:
    def run(*more: str, code: int = 0) -> str:
        assert main([*RUN, *more]) == code
        captured = capsys.readouterr()
        return captured.out if "--json" in more else captured.out + captured.err

    return run


def words(served: Endpoint, model: str) -> int:
    asked = [one.body for one in served.asked if (one.body or {}).get("model") == model]
    return sum(len(body["messages"][-1]["content"].split()) for body in asked)


def cost(capsys: pytest.CaptureFixture[str], folder: str = "o") -> dict[str, Any]:
    assert main(["cassettes", "cost", folder, "--json"]) == 0
    plain: dict[str, Any] = json.loads(capsys.readouterr().out)
    return plain


def test_what_the_models_of_a_memory_take_is_in_table_json_journal_and_cost(
    served: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    # In processes in which nothing has imported the SDK before the memory does.
    command = [sys.executable, "-m", "pytest_recall", *RUN, *memory(), "--out", "o"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    asked_back = 8
    assert len(served.asked) == 18 + 7 + asked_back
    read = words(served, "extract")
    dollars = read / 1000
    assert f"models of the memory, ingest: 18 calls, {read:,} tokens read, 36 written, {money(dollars)}; for" in out
    assert "models of the memory, a question on average: 1 call, " in out
    head = next(line for line in out.splitlines() if line.startswith("category"))
    assert head.endswith("memory read  memory written  memory cost")
    plain = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
    assert len(served.asked) == 18 + 7 + asked_back
    models = plain["models"]
    assert models["called"] == "here"
    assert models["ingest"] == {"calls": 18, "input_tokens": read, "output_tokens": 36, "usd": pytest.approx(dollars)}
    assert models["conversation"]["calls"] == 9
    record = read_journal(Path("o"))
    calls = [call for trial in record.trials for call in trial.calls]
    assert [(call.kind, call.model, call.source) for call in calls] == [("agent", "rank", "live")] * 7
    assert models["question"]["usd"] == pytest.approx(sum(call.cost or 0 for call in calls) / 7)
    assert [call.model for call in record.calls].count("extract") == 18
    assert [call.model for call in record.calls].count("rank") == asked_back
    found = cost(capsys)
    assert sorted(found["scenarios"]) == ["(no question)", "conv-1", "conv-2"]
    assert found["total"]["calls"] == 18 + 7 + 8
    assert found["total"]["spent"]["usd"] == pytest.approx((read + 2 * words(served, "rank")) / 1000)
    assert found["total"]["replay"] == found["total"]["record"]


def test_calls_are_of_their_conversation_and_question_also_where_several_are_at_once(
    served: Endpoint, ran: Ran
) -> None:
    def spent(trials: dict[str, Any]) -> dict[str, Any]:
        return {
            id: (one["answer"]["usage"]["memory_recall_usd"], one["calls"][0]["cost"]) for id, one in trials.items()
        }

    by_session = ("--unit", "session")
    ran(*memory(), *by_session, "--out", "alone")
    told = untimed(Path("alone"))
    for name in ("InPool", "InThread", "Async", "Plain"):
        ran(*memory(name), *by_session, "--out", name, "--concurrency", "4")
        together = untimed(Path(name))
        stored = {one["answer"]["usage"].get("memory_store_input_tokens") for one in together.values()}
        assert len(stored - {None}) == 2
        assert all(one["answer"]["usage"]["memory_recall_calls"] == 1 for one in together.values())
        assert spent(together) == spent(told)
        found = {one["answer"]["usage"].get("memory_store_usd") for one in together.values()}
        assert found == {one["answer"]["usage"].get("memory_store_usd") for one in told.values()}


@pytest.mark.parametrize(("name", "at_once"), [("Memory", "1"), ("InPool", "3"), ("InThread", "1"), ("Deaf", "3")])
def test_no_call_of_the_memory_begins_once_the_budget_is_spent(
    served: Endpoint, ran: Ran, capsys: pytest.CaptureFixture[str], name: str, at_once: str
) -> None:
    command = (*memory(name), "--out", "o", "--concurrency", at_once, "--budget")
    ran(*command, "0.1", code=2)
    assert read_journal(Path("o")).stop == RunStop("budget", kind="no-room", usd=0.1, in_ingest=True)
    spent = words(served, "extract") / 1000
    assert 0 < spent <= 0.1
    assert trials(Path("o")) == []
    assert cost(capsys)["total"]["spent"]["usd"] == pytest.approx(spent)
    if name in ("InPool", "InThread"):  # The rest does not depend on how it asks.
        return
    ran(*command, "9")
    assert len(trials(Path("o"))) == 7
    assert (words(served, "extract") + 2 * words(served, "rank")) / 1000 == pytest.approx(
        cost(capsys)["total"]["spent"]["usd"]
    )


def test_a_question_that_the_budget_ends_is_asked_again(
    served: Endpoint, ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    ran(*memory("Silent"), "--out", "o", "--budget", "0.1", code=2)
    assert read_journal(Path("o")).stop == RunStop("budget", kind="no-room", usd=0.1)
    kept = len(trials(Path("o")))
    assert 0 < kept < 7
    ran(*memory("Silent"), "--out", "o", "--budget", "9")
    assert len(trials(Path("o"))) == 7
    assert cost(capsys)["total"]["spent"]["usd"] == pytest.approx(2 * words(served, "rank") / 1000)
    plain = json.loads(ran(*memory("Silent"), "--out", "o", "--json"))
    assert plain["models"]["ingest"] == {"calls": 0, "input_tokens": 0, "output_tokens": 0, "usd": 0}


def test_what_a_killed_ingest_has_cost_is_in_the_cost_and_in_no_ingest(
    served: Endpoint, ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    served.script = [*[counted] * 5, served.hang]
    with programs.begin(Path(), *RUN, *memory(), "--out", "o") as process:
        limit = time.monotonic() + 60
        while len(served.asked) < 6 and time.monotonic() < limit:
            time.sleep(0.01)
        programs.kill(process)
    hung = served.asked.pop()
    assert hung.body["model"] == "extract"
    served.script = [counted]
    before = words(served, "extract")
    plain = json.loads(ran(*memory(), "--out", "o", "--json"))
    assert plain["models"]["ingest"]["calls"] == 18
    found = cost(capsys)["total"]["spent"]
    assert before > 0
    assert found["usd"] == pytest.approx((words(served, "extract") + 2 * words(served, "rank")) / 1000)
    assert found["calls"] == len(served.asked)


def test_a_memory_whose_models_are_not_heard_has_an_unknown_cost(
    served: Endpoint, ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ran(*memory("Database"))
    assert "models of the memory: cost unknown, since no call was seen in this process" in out
    with serving(Service()) as service:
        out = ran("--memory", service.url)
        assert "models of the memory: cost unknown, since it calls them where it runs, in another process" in out
        assert json.loads(ran("--memory", service.url, "--json"))["models"] == {
            "called": "elsewhere",
            "ingest": None,
            "conversation": None,
            "question": None,
        }
        both = ran("--sample", "2", "--memory", f"python:own.py:Silent,sqlite-fts,{service.url}")
    lines = [" ".join(line.split()) for line in both.splitlines()]
    assert any("ingest memory read memory written memory cost ingest read ingest written" in line for line in lines)
    assert any(line.startswith("sqlite-fts 2 0") and line.endswith("– – – – – – –") for line in lines)
    assert any(line.startswith(f"{service.url} 2 0") and line.endswith(f"{'unknown ' * 6}–") for line in lines)
    assert any(
        line.startswith(f"what the models of a memory itself cost is unknown of {service.url}") for line in lines
    )
    assert main([*RUN, "--memory", "sqlite-fts", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["models"]["ingest"]["usd"] == 0


def test_embeddings_are_counted_and_a_model_without_a_price_has_none(
    served: Endpoint, ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ran(*memory("Embedding"), "--sample", "1")
    assert "models of the memory, ingest: 6 calls, 18 tokens read, 0 written, $0.00000036" in out
    (Path("eval") / "rubric.yaml").write_text(
        json.dumps({"owner": "us", "prices": {"extract": {"input": 1, "output": 1}}})
    )
    out = ran(*memory("Silent"), "--out", "p", "--sample", "1")
    assert "models of the memory, a question on average: 1 call, " in out


def test_reader_and_judges_are_recorded_beside_calls_of_the_memory_which_are_live(
    served: Endpoint, ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    models = ("--reader", f"{served.url}/v1#reader", "--judge", f"{served.url}/v1#judge", "--unit", "session")
    out = ran(*memory(), *models, "--out", "o", "--record", "shelf", "--concurrency", "3")
    assert "recall: the memory made 13 calls to models of its own, which are neither recorded nor replayed" in out
    made = len(served.asked)
    spent = cost(capsys)["total"]
    usd = sum(price * words(served, name) for name, price in PRICES.items()) / 1e6
    assert (spent["calls"], spent["spent"]["usd"]) == (made, pytest.approx(usd))
    ran(*memory(), *models, "--out", "again", "--replay", "shelf", "--concurrency", "3")
    assert {one.body["model"] for one in served.asked[made:]} == {"extract", "rank"}
    assert untimed_usage("o") == untimed_usage("again")


def untimed_usage(folder: str) -> dict[str, Any]:
    return {
        id: one["answer"]["usage"]
        for id, one in untimed(Path(folder)).items()
        if "memory_store_calls" not in one["answer"]["usage"]
    }
