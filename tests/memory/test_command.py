"""Memory systems that are programs: real ones, well and badly behaved."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cases.memory_part import MemoryFault
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.models import process
from pytest_recall.models.waiting import Channel
from pytest_recall.replay.exchange import Request, Response
from tests.memory.asking import FACTS, NOW, filled, made

LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")

# Writes down its arguments, and does as FAKE says where a test sets it.
PROGRAM = r"""
import json, os, pathlib, subprocess, sys, time

here = pathlib.Path(__file__).parent
args = sys.argv[1:]
with (here / "log.jsonl").open("a") as log:
    log.write(json.dumps(args) + "\n")
base = args[args.index("--config") + 1] if args[:1] == ["--config"] else "store"
args = args[2:] if args[:1] == ["--config"] else args
store = here / f"{base}.json"
kept = json.loads(store.read_text()) if store.exists() else []
fake = os.environ.get("FAKE", "")
if fake == "fails":
    print("the disk is full", file=sys.stderr)
    sys.exit(3)
if fake == "killed":
    os.kill(os.getpid(), 9)
if fake == "sleeps":
    time.sleep(600)
if fake == "grandchild":
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (here / "child.pid").write_text(str(child.pid))
if fake == "sleeping grandchild":
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (here / "child.pid").write_text(str(child.pid))
    time.sleep(600)
if args[0] == "reset":
    store.write_text("[]")
elif args[0] == "store":
    store.write_text(json.dumps([*kept, args[-1]]))
    print("stored, whatever is said here")
else:
    said = os.environ.get("SAYS")
    limit = int(args[args.index("--limit") + 1])
    print(json.dumps([{"memory": {"content": text}, "score": 1} for text in kept][:limit]) if said is None else said)
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "system.py").write_text(PROGRAM, encoding="utf-8")
    return f"command:{shlex.quote(sys.executable)} system.py"


def client(program: str, folder: Path, channel: Channel | None = None, **environ: str) -> MemoryAdapter:
    return made(program, folder, channel, **environ)


def calls(folder: Path) -> list[list[str]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_arguments_are_those_of_the_protocol(program: str, tmp_path: Path) -> None:
    system = filled(client(f"{program} --config p", tmp_path), {"a": "--yes", "b": "two\nlines “é”"})
    assert system.recall("-what?", 3, NOW) == ["--yes", "two\nlines “é”"]
    system.recall("many", 5000, NOW)
    assert calls(tmp_path) == [
        ["--config", "p", "reset", "--yes"],
        ["--config", "p", "store", "--scope", "permanent", "--type", "fact", "--", "--yes"],
        ["--config", "p", "store", "--scope", "permanent", "--type", "fact", "--", "two\nlines “é”"],
        ["--config", "p", "recall", "--format", "json", "--limit", "3", "--budget", "1500", "--", "-what?"],
        ["--config", "p", "recall", "--format", "json", "--limit", "5000", "--budget", "1000000", "--", "many"],
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.store("", {}), "there is no text to store"),
        (lambda c: c.recall("", 5, NOW), "the question is empty"),
        (lambda c: c.recall("x", 0, NOW), "the limit is 0; it has to be from 1 to 10000"),
        (lambda c: c.recall("x", 10_001, NOW), "the limit is 10001"),
    ],
)
def test_arguments_are_checked_before_a_program_starts(program: str, tmp_path: Path, call: Any, message: str) -> None:
    with pytest.raises(MemoryFault, match=message):
        call(client(program, tmp_path))
    assert not (tmp_path / "log.jsonl").exists()


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("[]", []),
        ('  [{"memory": {"content": "a"}}] \n', ["a"]),
        ('[{"Memory": {"CONTENT": "a", "id": 1}, "score": 0.5}]', ["a"]),
        ('[null, {"memory": null}, {"memory": {"content": null}}, {"memory": {"content": "a"}}]', ["", "", "", "a"]),
        (json.dumps([{"memory": {"content": str(n)}} for n in range(9)]), ["0", "1", "2", "3", "4"]),
    ],
)
def test_what_recall_may_print(program: str, tmp_path: Path, printed: str, found: list[str]) -> None:
    assert client(program, tmp_path, SAYS=printed).recall("x", 5, NOW) == found


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ("", "recall printed nothing; it has to print a JSON list"),
        (" \n\t", "recall printed nothing"),
        ('{"memories": []}', "which is one object; it has to print a JSON list"),
        ("null", "recall printed 'null'; it has to print a JSON list"),
        ("found two", "recall printed 'found two'"),
        ("[] []", "a list that is no JSON: Extra data"),
        ("[1,", "a list that is no JSON"),
        ("[" * 100_000, "a list that is no JSON"),
        ("[1]", "printed int where an object has to be"),
        ('[{"memory": {"content": 1}}]', "a content that is int; it has to be text"),
        ('[{"content": "a"}, null]', "each without a `memory.content`"),
    ],
)
def test_what_recall_must_not_print(program: str, tmp_path: Path, printed: str, message: str) -> None:
    with pytest.raises(MemoryFault, match=message):
        client(program, tmp_path, SAYS=printed).recall("x", 5, NOW)


@pytest.mark.parametrize(
    ("fake", "message"),
    [
        ("fails", "exit code 3: the disk is full; run it by hand"),
        ("killed", "ended by signal 9; run it by hand"),
    ],
)
def test_a_program_that_fails_is_one_sentence(program: str, tmp_path: Path, fake: str, message: str) -> None:
    with pytest.raises(MemoryFault, match=message):
        client(program, tmp_path, FAKE=fake).store("a", {})


def test_a_text_that_is_no_argument_is_one_sentence(program: str, tmp_path: Path) -> None:
    with pytest.raises(MemoryFault, match="cannot be started: embedded null byte"):
        client(program, tmp_path).store("a\0b", {})


@pytest.mark.parametrize("target", ["nowhere", "./nowhere.sh --config x"])
def test_a_program_that_is_not_there(tmp_path: Path, target: str) -> None:
    system = client(f"command:{target}", tmp_path)
    with pytest.raises(MemoryFault, match="there is no program"):
        system.ready()
    with pytest.raises(MemoryFault, match="there is no program"):
        system.reset()


def test_a_command_line_that_ends_within_quotes(tmp_path: Path) -> None:
    with pytest.raises(MemoryFault, match="ends within quotes"):
        client("command:system 'x", tmp_path)


def ends(pid: int) -> bool:
    """Whether a process ends that was killed, which takes a moment; it is killed here if it does not."""
    for _ in range(1000):
        try:
            # Who is no one's child any more may wait for someone to ask how it ended.
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split(")")[-1].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    return False


@LINUX
def test_a_program_that_takes_too_long_is_ended_with_all_that_it_started(program: str, tmp_path: Path) -> None:
    system = client(f"{program};timeout=3", tmp_path, FAKE="sleeping grandchild")  # A slow machine has to start two.
    with pytest.raises(MemoryFault, match=r"not finish within 3 s; raise the limit with `;timeout="):
        system.recall("x", 5, NOW)
    assert ends(int((tmp_path / "child.pid").read_text(encoding="utf-8")))


@LINUX
def test_a_grandchild_that_holds_the_output_holds_nobody_up(program: str, tmp_path: Path) -> None:
    system = client(program, tmp_path, FAKE="grandchild")
    system.store("a", {})
    assert system.recall("x", 5, NOW) == ["a"]
    assert ends(int((tmp_path / "child.pid").read_text(encoding="utf-8")))


def test_what_is_recorded_starts_no_program(tmp_path: Path) -> None:
    asked: list[Request] = []

    def recorded(request: Request, call: object) -> Response:
        asked.append(request)
        return Response(200, "OK", (), (b'[{"memory": {"content": "kept"}}]',), (0.0,))

    system = client("command:nowhere --config x", tmp_path, recorded)
    system.reset()
    assert system.recall("x", 5, NOW) == ["kept"]
    assert [(one.method, one.url) for one in asked] == [("RUN", "command:///nowhere%20--config%20x")] * 2
    assert json.loads(asked[0].body) == ["reset", "--yes"]


def test_the_variables_of_pytest_are_kept_from_it(tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text(
        "import json, os; print(json.dumps([{'memory': {'content': k}} for k in os.environ]))", encoding="utf-8"
    )
    system = client(f"command:{shlex.quote(sys.executable)} show.py", tmp_path, PYTEST_X="1", RECALL_X="1", OTHER="1")
    names = system.recall("x", 100, NOW)
    assert "OTHER" in names
    assert not {"PYTEST_X", "RECALL_X"} & set(names)


def test_facts_come_back(program: str, tmp_path: Path) -> None:
    system = filled(client(program, tmp_path))
    assert system.recall("x", 5, NOW) == list(FACTS.values())
    assert system.count() is None
    assert not system.private


@pytest.mark.skipif(os.name != "posix", reason="the program is one of Unix")
def test_a_program_that_prints_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LIMIT", 2**20)
    with pytest.raises(MemoryFault, match="it printed more than 1 MB; check the program"):
        made("command:yes --", tmp_path).reset()
