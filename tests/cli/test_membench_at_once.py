"""`recall memory run --concurrency`: conversations and their questions at once, against real services on loopback."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import pytest

from pytest_recall.cli import main
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.run_stop import RunStop
from tests.cli.test_membench import RUN, found, trials
from tests.datasets import files
from tests.helpers import programs
from tests.memory.services import Service, serving


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Busy(Service):
    """A service that keeps stores apart, and counts how many calls it has at once, in all and about a conversation."""

    def __init__(self, **health: Any) -> None:
        super().__init__()
        self.health = {"ready": True, "namespaces": True, **health}
        self.now: list[tuple[str, str]] = []
        self.most = self.most_of_one = 0
        self.broken: set[str] = set()
        """What the service does at once though a conversation is not all told, or not by itself."""
        self.holds: Callable[[], bool] = lambda: False
        """Says whether a call is held back; no call is, unless a test says otherwise."""
        self._lock = Lock()

    def reply(self, method: str, path: str, given: Any) -> tuple[int, bytes]:
        path_alone, _, query = path.partition("?")
        call = (query.removeprefix("namespace=") or str((given or {}).get("namespace")), path_alone)
        with self._lock:
            self.now.append(call)
            self.most = max(self.most, len(self.now))
            here = [path for name, path in self.now if name == call[0]]
            self.most_of_one = max(self.most_of_one, here.count("/recall"))
            if len(here) > 1 and set(here) != {"/recall"}:
                self.broken |= set(here)
        time.sleep(0.005)
        while self.holds():
            time.sleep(0.005)
        try:
            return super().reply(method, path, given)
        finally:
            with self._lock:
                self.now.remove(call)


def written(journal: Path) -> int:
    """Return how many trials a journal has while it is written: its last line may be there in part."""
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True) if journal.exists() else []
    return sum(json.loads(line)["kind"] == "trial" for line in lines if line.endswith("\n"))


def timeless(plain: dict[str, Any]) -> dict[str, Any]:
    ingest = {name: value for name, value in plain["ingest"].items() if name != "seconds"}
    left = ("recall_seconds", "ingest", "memory")
    return {"ingest": ingest, **{name: value for name, value in plain.items() if name not in left}}


def untimed(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what a journal has of each question apart from times."""
    plain = {one["case_id"]: one for one in trials(folder)}
    for one in plain.values():
        one.pop("seconds", None)
        one["answer"]["usage"] = {
            name: value for name, value in one["answer"]["usage"].items() if not name.endswith("_seconds")
        }
    return plain


class OneByOne(NamedTuple):
    """What a run comes to whose service was asked one question after the other: as JSON, and its folder."""

    plain: dict[str, Any]
    folder: Path


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory: pytest.TempPathFactory) -> OneByOne:
    out, service = io.StringIO(), Busy()
    with (
        contextlib.chdir(tmp_path_factory.mktemp("one")),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(io.StringIO()),
        serving(service),
    ):
        assert main([*RUN, "--memory", service.url, "--memory-reset", "--out", "one", "--json"]) == 0
        assert service.most == 1
        return OneByOne(json.loads(out.getvalue()), Path("one").absolute())


def test_conversations_and_questions_at_once_come_to_the_same_as_one_by_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, one_by_one: OneByOne
) -> None:
    one = one_by_one.plain
    alone = found(capsys)
    assert timeless(found(capsys, "--concurrency", "3", "--out", "private")) == timeless(alone)
    service = Busy()
    with serving(service):
        memory = ("--memory", service.url)
        # A namespace is empty, whatever else the service keeps.
        service.kept.append({"content": "of others", "metadata": {}})
        several = found(capsys, *memory, "--concurrency", "6", "--out", "several")
    assert 2 < service.most <= 6
    assert 1 < service.most_of_one <= 6
    assert not service.broken, "a conversation is told by itself, and emptied when its questions are over"
    assert timeless(several) == timeless(one)
    assert untimed(tmp_path / "several") == untimed(one_by_one.folder)
    named = [name for name in service.stores if name]
    assert len(named) == 2
    assert not any(service.stores.values()), "each is emptied in the end"
    assert [one["content"] for one in service.kept] == ["of others"]
    assert len({name.rpartition("-")[0] for name in named}) == 1
    told = [given for path, given in service.asked if path == "POST /store" and "namespace" in given]
    for name, conversation in zip(sorted(named), ("conv-1", "conv-2"), strict=True):
        there = [one["metadata"] for one in told if one["namespace"] == name]
        assert {one["conversation"] for one in there} == {conversation}
        ids = [[int(part) for part in one["id"].removeprefix("D").split(":")] for one in there]
        assert ids == sorted(ids), "in their order"
    written = []
    for folder in (str(one_by_one.folder), "several"):
        assert main(["memory", "misses", folder, "--k", "1", "--json"]) == 0
        written.append(capsys.readouterr().out)
    assert written[0] == written[1]


def test_what_takes_several_texts_at_once_is_told_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, one_by_one: OneByOne
) -> None:
    with serving(Busy(batches=10)) as service:
        found(capsys, "--memory", service.url, "--concurrency", "4", "--out", "batches")
    assert untimed(tmp_path / "batches") == untimed(one_by_one.folder)
    sizes: dict[str, list[int]] = {}
    for path, given in service.asked:
        if path in ("POST /store_many", "POST /store"):
            sizes.setdefault(given["namespace"], []).append(len(given.get("units", [given])))
    assert sorted(sizes.values()) == [[10, 10, 4], [10, 10, 5]]


def test_one_store_is_told_one_conversation_after_the_other(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, one_by_one: OneByOne
) -> None:
    service = Busy(namespaces=False)
    with serving(service):
        several = found(capsys, "--memory", service.url, "--concurrency", "6", "--out", "several")
    assert timeless(several) == timeless(one_by_one.plain)
    assert untimed(tmp_path / "several") == untimed(one_by_one.folder)
    assert service.most == service.most_of_one
    assert 1 < service.most <= 6
    assert not service.broken
    resets = [place for place, (path, _) in enumerate(service.asked) if path == "POST /reset"]
    assert len(resets) == 3, "before each of two conversations, and in the end"


MINE = """
from threading import get_ident

class Mine:
    private = True
    concurrent = False

    def __init__(self):
        self.kept, self.thread = [], get_ident()

    def here(self):
        assert self.thread == get_ident(), "used from the thread that has made it"

    def reset(self):
        self.here()
        self.kept.clear()

    def store_many(self, texts):
        self.here()
        assert len(texts) > 1
        self.kept += [{"text": content, "source": about["id"]} for content, about in texts]

    def store(self, content, metadata):
        raise AssertionError("all are told at once")

    def recall(self, query, limit, context):
        self.here()
        return self.kept[:limit]

    def close(self):
        self.here()

class Shared(Mine):
    private = False
    count = lambda self: len(self.kept)
    here = lambda self: None
"""
READER = """
import time
from pathlib import Path
from threading import Lock
from pytest_recall.models.model import Reply

class Reader:
    now = most = 0
    lock = Lock()

    def ask(self, ask):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            Path("most.txt").write_text(str(self.most))
        time.sleep(0.03)
        with self.lock:
            self.now -= 1
        return Reply(text=ask.messages[-1].content.partition("]")[2][:9])

reader = Reader()
"""


@pytest.mark.parametrize("name", ["Mine", "Shared"])
def test_a_memory_with_one_thread_is_asked_by_it_and_its_answers_are_read_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "reader.py").write_text(READER)
    files.write_few(tmp_path)
    command = ("memory", "run", "few.json", "--memory", f"python:mine.py:{name}", "--json")

    def answered(*more: str) -> dict[str, Any]:
        assert main([*command, "--reader", "python:reader.py:reader", *more]) == 0
        plain: dict[str, Any] = json.loads(capsys.readouterr().out)
        return plain

    several = answered("--concurrency", "5", "--out", "several")
    assert several["all"]["failures"] == several["all"]["reading"]["unread"] == 0
    assert 2 < int((tmp_path / "most.txt").read_text()) <= 5
    assert several["all"] == answered("--out", "one")["all"]


APART = """
class Stores:
    def __init__(self, name=""):
        self.name = name
    def namespace(self, name):
        return Stores(name)
    def reset(self): self.kept = []
    def count(self): return len(getattr(self, "kept", ()))
    def store(self, content, metadata): self.kept.append({"text": content, "source": metadata["id"]})
    def recall(self, query, limit, context):
        assert self.name and len({one["source"].split(":")[0] for one in self.kept}) < 30
        return self.kept[:limit]
    def close(self):
        with open("closed.txt", "a") as file:
            file.write(f"{len(self.name)} ")
"""


def test_an_object_may_keep_conversations_apart(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "apart.py").write_text(APART)
    memory = ("--memory", "python:apart.py:Stores")
    plain = found(capsys, *memory, "--concurrency", "2", "--out", "o")
    assert plain["all"]["failures"] == 0
    *stores, last = map(int, (tmp_path / "closed.txt").read_text().split())
    assert (len(stores), all(stores), last) == (2, True, 0), "the object that has the stores is closed after them"


def test_five_failures_in_a_row_stop_it_and_what_had_begun_is_written_down(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with serving(Busy()) as service:
        service.replies["/recall"] = (500, b"down")
        assert main([*RUN, "--memory", service.url, "--concurrency", "4", "--out", "o"]) == 1
        capsys.readouterr()
        stop = read_journal(tmp_path / "o").stop
        assert stop is not None
        assert (stop.cause, stop.in_a_row) == ("undecided", 5)
        done = trials(tmp_path / "o")
        assert 5 <= len(done) < 22
        queries = [given["query"] for path, given in service.asked if path == "POST /recall"]
        questions = {one["question"] for row in files.plain("locomo") for one in row["qa"]}
        assert len(done) == sum(query in questions for query in queries), "each that had begun, and no other"
        # A unit is asked back of each conversation, unless the run stops while that is told.
        assert 1 <= sum(query not in questions for query in queries) <= 2
        assert not any(service.stores.values())
        service.replies.clear()
        assert found(capsys, "--memory", service.url, "--concurrency", "4", "--out", "o")["all"]["failures"] == 0


@pytest.mark.parametrize("more", [(), ("--accumulate", "--memory-reset")], ids=["apart", "accumulate"])
def test_killed_among_several_questions_it_asks_the_rest(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, one_by_one: OneByOne, more: tuple[str, ...]
) -> None:
    service = Busy(batches=10)
    with serving(service):
        command = [*RUN, "--memory", service.url, "--concurrency", "6", "--out", "o", *more]
        with programs.begin(tmp_path, *command) as process:
            # Six may be on their way then, and no further one begins.
            service.holds = lambda: written(tmp_path / "o/trials.jsonl") >= 14
            limit = time.monotonic() + 60
            while time.monotonic() < limit and process.poll() is None:
                if service.holds():
                    programs.kill(process)
                    break
                time.sleep(0.002)
        service.holds = lambda: False
        kept = [one["case_id"] for one in trials(tmp_path / "o")]
        assert 14 <= len(kept) < 22
        assert service.kept or any(service.stores.values())
        service.asked.clear()
        assert main([*command, "--json"]) == 0
        assert len(service.stores) == (0 if more else 2), "what the killed run has left is used again, and emptied"
        assert not service.kept
        assert not any(service.stores.values())
        told = [unit for path, given in service.asked if path == "POST /store_many" for unit in given["units"]]
        names = {one["metadata"]["conversation"] for one in told}
        assert names == {"conv-1", "conv-2"} if more else names, "a store that grew is told all of it again"
        captured = capsys.readouterr()
        asked = [one["case_id"] for one in trials(tmp_path / "o")]
        assert asked[: len(kept)] == kept
        assert len(set(asked)) == len(asked) == 22
        whole = found(capsys, "--memory", service.url, "--out", "whole", *more) if more else one_by_one.plain
    assert json.loads(captured.out)["all"] == whole["all"]


SLOW = """
import time


class Memory:
    private = True

    def reset(self):
        pass

    def store(self, content, metadata):
        with open("told.txt", "a") as file:
            file.write("+")
        time.sleep(0.2)

    def recall(self, query, limit, context):
        return []
"""


def test_ctrl_c_ends_conversations_that_are_told(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    told = tmp_path / "told.txt"
    command = ("memory", "run", "--dataset", "locomo", "sample", "--memory", "python:slow.py:Memory", "--out", "o")
    with programs.begin(tmp_path, *command, "--concurrency", "2") as process:
        limit = time.monotonic() + 60
        while (not told.exists() or len(told.read_text()) < 4) and time.monotonic() < limit:
            assert process.poll() is None
            time.sleep(0.01)
        before = len(told.read_text())
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    record = read_journal(Path("o"))
    assert (record.exit_code, record.stop) == (130, RunStop("interrupted"))
    # Each of both ends the text that it is at; all 49 take five seconds.
    assert len(told.read_text()) <= before + 8


def test_a_store_that_no_question_is_left_about_is_emptied_too(tmp_path: Path) -> None:
    service = Busy(batches=10)
    with serving(service):
        command = [*RUN, "--memory", service.url, "--concurrency", "2", "--out", "o"]
        assert main(command) == 0
        assert not list((tmp_path / "o").glob(".memory-filled*"))
        # As if it had been killed after the last question about the first conversation.
        path = tmp_path / "o" / "trials.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        last = max(n for n, line in enumerate(lines) if '"case_id": "conv-2:' in line or '"case_id":"conv-2:' in line)
        path.write_text("".join(line for line in lines[:last] if '"kind":"end"' not in line.replace(" ", "")))
        name = next(one for one in service.stores if one.endswith("-1"))
        service.stores[name] = [{"content": "left"}]
        (tmp_path / "o" / ".memory-filled-1").write_text(f"of {service.url}\ntelling x\n")
        assert main(command) == 0
        assert not any(service.stores.values())
        assert not list((tmp_path / "o").glob(".memory-filled*"))
    assert len({one["case_id"] for one in trials(tmp_path / "o")}) == 22
