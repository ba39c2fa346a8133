"""Cases with `memory`, and the fixture: who answers, what a reset may delete, what is recorded."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.helpers.project import BARE, WORKERS, Checkout, Project, case
from tests.memory.services import Service, serving

FACTS = {"facts": ["Alice keeps bees", {"id": "car", "text": "Bob's car is red"}]}
Workers = tuple[str, ...]


def asking(case_id: str = "car", **given: Any) -> dict[str, Any]:
    """Return a case that full-text search answers."""
    plain = {
        "memory": FACTS,
        "input": "What colour is Bob's car?",
        "expected": "red",
        "evidence": ["car"],
        "judges": ["contains", {"recall_at_k": {"k": 1, "threshold": 1}}],
    }
    return case(case_id, **{**plain, **given})


OTHER = asking("other", memory={"facts": ["the boat is blue"]}, input="boat?", expected="blue", evidence=["fact-1"])
PROJECT = BARE.with_cases(asking(), OTHER)

CLIENT = """
import asyncio, pathlib

LOG = pathlib.Path(__file__).with_name("calls.txt")


def note(text):
    with LOG.open("a") as log:
        log.write(text + "\\n")


class Kept:
    def __init__(self):
        self.kept = []

    def reset(self):
        note("reset")
        self.kept.clear()

    def store(self, content, metadata):
        note(f"store {content}")
        if content == "boom":
            raise ConnectionError("no database")
        self.kept.append({"text": content, "source": metadata["id"]})

    def recall(self, query, limit, context):
        note(f"recall {query}")
        words = set(query.lower().replace("?", "").split())
        return sorted(self.kept, key=lambda one: -len(words & set(one["text"].lower().split())))[:limit]

    def count(self):
        return len(self.kept)


class Private(Kept):
    private = True


class Full(Kept):
    def __init__(self):
        self.kept = [{"text": "production"}]


class Late(Private):
    loop = None

    async def recall(self, query, limit, context):
        here = asyncio.get_running_loop()
        assert Late.loop in (None, here)
        Late.loop = here
        return super().recall(query, limit, context)
"""


def with_client(project: Project) -> Project:
    return project.with_files({"client.py": CLIENT})


def noted(checkout: Checkout) -> list[str]:
    return (checkout.path / "calls.txt").read_text(encoding="utf-8").splitlines()


def errors(checkout: Checkout) -> dict[str, str]:
    return {trial.case_id: trial.error for trial in checkout.journal().trials}


# Who answers


@WORKERS
def test_the_memory_answers_and_no_agent_is_needed(pytester: pytest.Pytester, workers: Workers) -> None:
    checkout = PROJECT.at(pytester)
    result = checkout.run("eval", *workers)
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert checkout.outcomes() == {"car": "passed", "other": "passed"}
    trial = next(trial for trial in checkout.journal().trials if trial.case_id == "car")
    assert trial.answer is not None
    assert trial.answer.text == "Bob's car is red"
    assert [(one.text, one.source) for one in trial.answer.passages] == [("Bob's car is red", "car")]
    assert trial.answer.usage["memory_missing"] == 0
    lines = [line for line in result.outlines if line.startswith("memory sqlite-fts")]
    if workers:
        assert {line.partition(":")[0] for line in lines} == {"memory sqlite-fts (gw0)", "memory sqlite-fts (gw1)"}
    else:
        assert lines == [
            "memory sqlite-fts: stored 3 units; of 3 asked back, 3 came as they were, 0 changed, 0 not at all"
        ]


def test_the_rubric_names_it_and_the_option_comes_before(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.with_files({"eval/rubric.yaml": "owner: us\nmemory: last-1\n"}).at(pytester)
    result = checkout.run("eval")
    assert checkout.outcomes() == {"car": "passed", "other": "passed"}
    result.stdout.fnmatch_lines(["memory last-1: stored 3 units*"])
    (checkout.path / "eval/rubric.yaml").write_text("owner: us\nblocks: failure\nmemory: last-1\n", encoding="utf-8")
    result = checkout.run("eval", "--memory", "null", "--recall-mode=all")
    assert checkout.outcomes() == {"car": "failed", "other": "failed"}
    result.stdout.fnmatch_lines(["memory null: stored 3 units, of which it says it holds 0; of 3 asked back, 0 came*"])


def test_one_whose_package_or_program_is_not_there(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.at(pytester)
    result = checkout.run("eval", "--memory=command:nowhere", "--recall-memory-reset")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["  error: car: *: memory setup: there is no program `nowhere` on PATH*"])
    assert checkout.outcomes() == {"car": "error", "other": "error"}


def test_an_agent_of_the_project_that_asks_no_memory_stays_out(pytester: pytest.Pytester) -> None:
    plain = case("plain", input="hello", expected="hello")
    agent = "@pytest.fixture\ndef agent():\n    return lambda q: asked(q) or q\n"
    checkout = BARE.with_agent(agent).with_cases(asking(), plain, OTHER).at(pytester)
    assert checkout.run("eval").ret == pytest.ExitCode.OK
    assert checkout.asked() == ["hello"]


AGENT_WITH_MEMORY = """\
@pytest.fixture
def recaller(memory):
    return lambda question: memory.recall(question, 1)


@pytest.fixture
def agent(recaller):
    def answer(question):
        asked(question)
        found = recaller(question)
        return {"text": f"I think: {found[0].text}", "passages": found}

    return answer
"""


def test_an_agent_that_asks_for_the_memory_answers(pytester: pytest.Pytester) -> None:
    checkout = BARE.with_agent(AGENT_WITH_MEMORY).with_cases(asking()).at(pytester)
    result = checkout.run("eval")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    answer = checkout.journal().trials[0].answer
    assert answer is not None
    assert answer.text == "I think: Bob's car is red"
    assert checkout.asked() == ["What colour is Bob's car?"]


@pytest.mark.parametrize("many", [(), ("--recall-concurrency=4",)], ids=["one by one", "at once"])
def test_cases_do_not_get_into_each_others_memory(pytester: pytest.Pytester, many: tuple[str, ...]) -> None:
    cases = [
        asking(f"c{n}", memory={"facts": [f"fact {n}"]}, input="fact?", expected=f"fact {n}", evidence=["fact-1"],
               judges=["exact"])
        for n in range(4)
    ]  # fmt: skip
    checkout = BARE.with_cases(*cases).at(pytester)
    assert checkout.run("eval", "--recall-mode=all", *many).ret == pytest.ExitCode.OK
    assert set(checkout.outcomes().values()) == {"passed"}


def test_a_client_of_the_project(pytester: pytest.Pytester) -> None:
    checkout = with_client(PROJECT.with_cases(asking("a"), asking("b"))).at(pytester)
    result = checkout.run("eval", "--memory=python:client.py:Kept")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    question = "recall What colour is Bob's car?"
    stored = ["reset", "store Alice keeps bees", "store Bob's car is red"]
    read_back = ["recall Alice keeps bees", "recall Bob's car is red"]
    # The second case finds what the first has stored; and nothing is left for the next run.
    assert noted(checkout) == [*stored, question, *read_back, question, "reset"]


def test_a_long_answer_is_not_printed_in_full(pytester: pytest.Pytester) -> None:
    long = asking(memory={"facts": ["blue " * 2000]}, evidence=["fact-1"])
    result = BARE.with_cases(long).at(pytester).run("eval", "--memory=full")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert len(result.stdout.str()) < 10_000
    result.stdout.fnmatch_lines(["        answered: blue blue *… (10,000 characters)"])


def test_no_part_of_a_key_is_printed_where_a_long_answer_ends(pytester: pytest.Pytester) -> None:
    key = "ghp_" + "Rk7Wq2Zx9Lm4Tb8Vn1Yc6Pd3Rk7Wq2Zx9Lm4"
    long = asking(memory={"facts": [f"{'blue ' * 798}{key}{' blue' * 99}"]}, evidence=["fact-1"])
    result = BARE.with_cases(long).at(pytester).run("eval", "--memory=full")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "answered: blue" in result.stdout.str()
    assert "ghp_" not in result.stdout.str()


def test_async_clients_share_the_loop_of_the_session(pytester: pytest.Pytester) -> None:
    checkout = with_client(PROJECT).at(pytester)
    result = checkout.run("eval", "--memory=python:client.py:Late")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()


def test_what_breaks_is_the_third_outcome_and_names_its_stage(pytester: pytest.Pytester) -> None:
    broken = asking("broken", memory={"facts": ["boom"]})
    checkout = with_client(BARE.with_cases(broken, asking())).at(pytester)
    result = checkout.run("eval", "--memory=python:client:Private")  # A module is found from the root of the project.
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert checkout.outcomes() == {"broken": "error", "car": "passed"}
    assert errors(checkout)["broken"] == "memory store: ConnectionError: no database"
    result.stdout.fnmatch_lines(["*ConnectionError: no database"])


# Baselines beside it

MODEL = """
import sys
prompt = sys.stdin.read()
print("red" if "(2026-05-01) Bob: my car is red" in prompt else "blue" if "car" in prompt else "no idea")
"""
BESIDE = """\
@pytest.fixture
def agent_asking(memory):
    return lambda question: memory.recall(question, 1)[0].text


@pytest.fixture
def agent_closed():
    return lambda question: f"the answer to {question}"
"""


def test_baselines_are_told_what_the_memory_is_told(pytester: pytest.Pytester) -> None:
    turns = [{"speaker": "Bob", "text": "my car is red"}, {"speaker": "Ann", "text": "mine is old"}]
    sessions = {"sessions": [{"id": "s", "date": "2026-05-01", "turns": turns}]}
    given = asking(memory=sessions, evidence=["s"], judges=["contains"])
    project = BARE.with_agent(BESIDE).with_cases(given, asking("again", judges=["contains"]))
    checkout = project.with_files({"model.py": MODEL}).at(pytester)
    result = checkout.run(
        "eval", "--baselines=raw,no-memory,asking,closed", f"--model=command:'{sys.executable}' -IS model.py"
    )
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    answers = {
        (trial.case_id, trial.arm): trial.answer.text for trial in checkout.journal().trials if trial.answer is not None
    }
    assert answers == {
        ("car", ""): "Bob: my car is red\n\nAnn: mine is old",
        ("car", "raw"): "red",
        ("car", "no-memory"): "blue",
        ("car", "asking"): "Bob: my car is red",
        ("car", "closed"): "the answer to What colour is Bob's car?",
        ("again", ""): "Bob's car is red",
        ("again", "raw"): "blue",
        ("again", "no-memory"): "blue",
        ("again", "asking"): "Bob's car is red",
        ("again", "closed"): "the answer to What colour is Bob's car?",
    }


# What a reset would delete


def test_what_is_not_empty_is_left_alone(pytester: pytest.Pytester) -> None:
    checkout = with_client(PROJECT).at(pytester)
    result = checkout.run("eval", "--memory=python:client.py:Full")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["  error: car: *: python:client.py:Full holds 1 units that are not this run's*"])
    assert not (checkout.path / "calls.txt").exists()
    assert checkout.outcomes() == {"car": "error", "other": "error"}


def test_it_is_reset_where_the_option_allows_it(pytester: pytest.Pytester) -> None:
    checkout = with_client(PROJECT).at(pytester)
    result = checkout.run("eval", "--memory=python:client.py:Full", "--recall-memory-reset")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()


def test_a_file_is_empty_again_after_the_run(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.at(pytester)
    for _ in range(2):
        assert checkout.run("eval", "--memory=sqlite-fts:kept.db", "--recall-mode=all").ret == pytest.ExitCode.OK


def test_two_workers_do_not_share_one_store(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.at(pytester)
    result = checkout.run("eval", "-n", "1", "--memory=sqlite-fts:kept.db")  # One worker, of however many, is told.
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["  error: car: *sqlite-fts:kept.db would be one store for several processes*"])
    result = checkout.run("eval", "-n", "2", "--memory=sqlite-fts:kept-{worker}.db", "--recall-mode=all")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert {path.name for path in checkout.path.glob("*.db")} == {"kept-gw0.db", "kept-gw1.db"}


# The fixture

TESTS = """\
def test_one(memory):
    memory.store("Bob's car is red")
    assert memory.recall("car")[0].text == "Bob's car is red"
    assert memory.count() == 1


def test_two(memory):
    assert memory.recall("car") == []
    assert memory.count() == 0
"""


def test_each_test_has_an_empty_memory(pytester: pytest.Pytester) -> None:
    checkout = BARE.with_files({"test_it.py": TESTS}).at(pytester)
    result = checkout.run("test_it.py", day=None)
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert "recall" not in result.stdout.str().replace("pytest-recall", "").replace("recall-", "")
    assert not (checkout.path / "eval").exists()


def test_a_test_may_use_an_async_client_by_the_rubric(pytester: pytest.Pytester) -> None:
    rubric = {"eval/rubric.yaml": "owner: us\nmemory: python:client.py:Late\n"}
    result = with_client(BARE).with_files({"test_it.py": TESTS, **rubric}).at(pytester).run("test_it.py")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()


OVERRIDDEN = """\
from client import Private

@pytest.fixture
def memory():
    return Private()
"""


def test_a_fixture_of_the_project_takes_its_place(pytester: pytest.Pytester) -> None:
    project = with_client(PROJECT).with_files({"pytest.ini": "[pytest]\npythonpath = .\n"}).with_agent(OVERRIDDEN)
    checkout = project.at(pytester)
    assert checkout.run("eval").ret == pytest.ExitCode.OK
    assert noted(checkout)[0] == "reset"
    result = checkout.run("eval", "--memory=full", "--recall-mode=all")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["eval/cases.yaml:1: --memory has no effect, since a fixture `memory` of your own*"])


def test_a_fixture_that_is_no_memory(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.with_agent("@pytest.fixture\ndef memory():\n    return {}\n").at(pytester)
    checkout.run("eval")
    assert errors(checkout)["car"] == "memory setup: the fixture `memory`: dict has no method `reset`; add it"


# Recorded

PROGRAM = """
import json, pathlib, sys

store = pathlib.Path("store.json")
kept = json.loads(store.read_text()) if store.exists() else []
command, args = sys.argv[1], sys.argv[2:]
if command == "reset":
    store.write_text("[]")
elif command == "store":
    store.write_text(json.dumps([*kept, args[-1]]))
else:
    print(json.dumps([{"memory": {"content": text}} for text in kept]))
"""


def test_a_program_is_recorded_and_replayed_without_it(pytester: pytest.Pytester) -> None:
    judges: dict[str, Any] = {"judges": ["contains", "recall_at_k"]}
    checkout = PROJECT.with_cases(asking(**judges), {**OTHER, **judges}).with_files({"system.py": PROGRAM}).at(pytester)
    (checkout.path / "store.json").write_text('["production"]')
    command = f"--memory=command:'{sys.executable}' -IS system.py"
    result = checkout.run("eval", command, "--recall-memory-reset", "--record")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    (checkout.path / "system.py").unlink()
    (checkout.path / "store.json").unlink()
    for chosen in ((), ("-k", "other")):
        result = checkout.run("eval", command, "--replay", "--recall-mode=all", *chosen)
        assert result.ret == pytest.ExitCode.OK, result.stdout.str()
        assert {trial.source for trial in checkout.journal().trials} == {"replayed"}
    assert not (checkout.path / "store.json").exists()


def test_a_service_is_recorded_and_replayed_without_it(pytester: pytest.Pytester) -> None:
    pytest.importorskip("httpx")
    checkout = PROJECT.with_cases(asking("a"), asking("b"), OTHER).at(pytester)
    with serving(Service()) as service:
        service.health = {"finalize": True, "answer": True}
        service.kept.append({"content": "production", "metadata": {}})
        result = checkout.run("eval", f"--memory={service.url}", "--record")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["  error: a: *: memory reset: http:* holds 1 units that are not this run's*"])
        service.kept.clear()
        service.replies["/answer"] = (200, json.dumps({"text": "red or blue"}).encode())
        result = checkout.run("eval", f"--memory={service.url}", "--record", "--recall-mode=all")
        assert result.ret == pytest.ExitCode.OK, result.stdout.str()
        asked = len(service.asked)
        url = service.url
    for chosen in ((), ("-k", "other")):
        result = checkout.run("eval", f"--memory={url}", "--replay", "--recall-mode=all", *chosen)
        assert result.ret == pytest.ExitCode.OK, result.stdout.str()
        assert {trial.source for trial in checkout.journal().trials} == {"replayed"}
    assert len(service.asked) == asked


@pytest.fixture(scope="module")
def _grpc() -> None:
    """Import it before a pytester is made, which takes out what comes later: there would be two of its classes."""
    pytest.importorskip("grpc")
    pytest.importorskip("google.protobuf.message_factory")


@pytest.mark.usefixtures("_grpc")
def test_days_that_are_sent_together_are_replayed_as_they_were_recorded(pytester: pytest.Pytester) -> None:
    from tests.extensions.memories.grpc_bench import Bench, grpc_serving

    judges: dict[str, Any] = {"judges": ["contains"], "expected": "answer to"}
    checkout = PROJECT.with_cases(asking(**judges), {**OTHER, **judges}).at(pytester)
    with grpc_serving(Bench()) as bench:
        bench.health["batches"] = 10
        memory = f"--memory=grpc://{bench.address}"
        result = checkout.run("eval", memory, "--recall-memory-reset", "--record")
        assert result.ret == pytest.ExitCode.OK, result.stdout.str()
        assert [len(message.days) for message in bench.sent("IngestDays")] == [2]
        assert len(bench.sent("IngestDay")) == 1
    for chosen in ((), ("-k", "other")):
        result = checkout.run("eval", memory, "--replay", "--recall-mode=all", *chosen)
        assert result.ret == pytest.ExitCode.OK, result.stdout.str()
        assert {trial.source for trial in checkout.journal().trials} == {"replayed"}


TOOLS = """
import json, sys

kept = []
TAKES = {"reset": (), "store": ("content", "metadata"), "store_many": ("units",), "recall": ("query", "limit")}
for line in sys.stdin:
    asked = json.loads(line)
    method, given = asked["method"], asked.get("params", {})
    if method == "initialize":
        about = {"name": "memory", "version": "1"}
        result = {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        schemas = {name: {"type": "object", "properties": dict.fromkeys(of, {})} for name, of in TAKES.items()}
        result = {"tools": [{"name": name, "inputSchema": schema} for name, schema in schemas.items()]}
    else:
        name, arguments = given.get("name"), given.get("arguments") or {}
        open("tools.txt", "a").write(f"{name} ")
        kept += [one["content"] for one in arguments.get("units", [arguments] if name == "store" else [])]
        result = {"content": [{"type": "text", "text": text} for text in (kept if name == "recall" else ["done"])]}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def test_tools_are_told_one_text_at_a_time_since_a_replay_cannot_list_them(pytester: pytest.Pytester) -> None:
    pytest.importorskip("mcp")
    checkout = BARE.with_cases(asking(judges=["contains"])).with_files({"tools.py": TOOLS}).at(pytester)
    memory, called = f"--memory=mcp:'{sys.executable}' -IS tools.py", checkout.path / "tools.txt"
    assert checkout.run("eval", memory, "--recall-memory-reset", "--record").ret == pytest.ExitCode.OK
    assert "reset store store recall" in called.read_text()
    called.unlink()
    result = checkout.run("eval", memory, "--replay", "--recall-mode=all")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert not called.exists()


def test_the_journal_and_the_schema_know_the_fields(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.at(pytester)
    schema = json.loads(checkout.recall("check", "--schema", "cases").stdout.str())
    fields = schema["$defs"]["Case"]["properties"]
    assert {"memory", "limit", "context", "evidence"} <= set(fields)
    assert set(schema["$defs"]["MemoryPart"]["properties"]) == {"facts", "sessions"}


def test_mistakes_name_their_place(pytester: pytest.Pytester) -> None:
    rows: list[dict[str, Any]] = [
        {"memory": {"fact": ["a"]}},
        {"memory": {"facts": []}},
        {"memory": {}},
        {"memory": {"facts": ["a"]}, "limit": 0},
        {"limit": 3},
        {"memory": {"sessions": [{"id": "s", "turns": [{"text": "x"}]}]}},
    ]
    result = BARE.with_cases(*(case(f"c{n}", **row) for n, row in enumerate(rows))).at(pytester).recall("check")
    assert result.ret == 1
    result.stderr.fnmatch_lines(
        [
            "recall: eval/cases.yaml:*: memory.fact: unknown field; did you mean `facts`?",
            "recall: eval/cases.yaml:*: memory.facts: is empty; give at least one",
            "recall: eval/cases.yaml:*: memory: give either `facts` or `sessions`",
            "recall: eval/cases.yaml:29: limit: *",
            "recall: eval/cases.yaml:30: `limit` goes with `memory`; remove it",
            "recall: *: memory.sessions.0.turns.0.speaker: is*",
        ]
    )
