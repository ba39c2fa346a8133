"""The agent: the fixture `agent`, sync or async, and what it may answer."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.helpers.project import BARE, ECHOING, WORKERS, Checkout, case, cases_yaml
from tests.plugin.conftest import Once

Workers = tuple[str, ...]
ASYNC = """
import asyncio


@pytest.fixture(scope="session")
def agent():
    async def answer(question):
        await asyncio.sleep(0)
        asked(f"{question} on loop {id(asyncio.get_running_loop())}")
        return question

    return answer
"""


ANSWERING = """
import json
import types

from pytest_recall import Answer, Passage

GIVES = {{
{gives}
}}


@pytest.fixture
def agent():
    def answer(question):
        asked(json.dumps(question))
        return GIVES[question] if isinstance(question, str) else f"reply {{len(question)}}"

    return answer
"""
TEXTS = {
    "text": "'yes'",
    "mapping": "{'text': 'yes'}",
    "object": "types.SimpleNamespace(text='yes')",
    "answer": "Answer(text='yes')",
    "whole": "types.SimpleNamespace(text='yes', usage={'tokens': 3, 'model': 'm'},"
    " passages=['bare', Passage(text='whole', source='x.md', score=0.5)])",
}
"""What has text, each by the case that is answered so."""
OTHERS = {"NoneType": "None", "int": "42", "dict": "{'text': 7}"}
"""What has none, by its type."""
GIVEN = {"question": "When?", "user": {"id": 7, "since": "2026-01-01"}, "flags": [True, None]}
TALK = case("talk", turns=["Hello", {"user": "Fees?", "assistant": "One pound."}, "And late?"], expected="reply 5")
del TALK["input"]


class Answered(NamedTuple):
    """A run on a worker, whose agent answers each case in another way."""

    checkout: Checkout
    result: pytest.RunResult


@pytest.fixture(scope="module")
def answered(once: Once) -> Answered:
    """See the class."""
    gives = "\n".join(f"    {name!r}: {value}," for name, value in (TEXTS | OTHERS).items())
    cases = [case(name, expected="yes") for name in (*TEXTS, *OTHERS)]
    with once() as pytester:
        made = BARE.with_agent(ANSWERING.format(gives=gives))
        checkout = made.with_cases(*cases, case("given", input=GIVEN, expected="reply 3"), TALK).at(pytester)
        return Answered(checkout, checkout.run("eval", "--recall-mode=all", "-n1"))


@WORKERS
def test_without_one_nothing_is_run_and_a_sentence_says_how_to_write_it(
    pytester: pytest.Pytester, workers: Workers
) -> None:
    checkout = BARE.with_cases(case("a"), case("b")).at(pytester)
    result = checkout.run("eval", *workers)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    said = [
        line for line in result.outlines if "no `agent` fixture" in line and not line.startswith(("ERROR", "partial: "))
    ]
    assert said == [
        "eval/cases.yaml:1: no `agent` fixture; write one in eval/conftest.py that returns a function"
        " from the case input to an answer (`recall init` shows how), or name a model to ask plainly"
        " with --model SELECTOR"
    ]
    assert "Traceback" not in result.stdout.str()
    assert checkout.state() == {}


def test_the_cases_can_be_listed_without_one(pytester: pytest.Pytester) -> None:
    checkout = BARE.with_cases(case("a")).at(pytester)
    assert checkout.run("eval", "--collect-only").ret == 0


def test_an_async_agent_has_one_event_loop_for_all_cases(pytester: pytest.Pytester) -> None:
    """On a worker; without, the next test needs the same."""
    checkout = BARE.with_agent(ASYNC).with_cases(case("a"), case("b"), case("c")).at(pytester)
    checkout.run("eval", "-n1").assert_outcomes(passed=3)
    assert [line.split()[0] for line in checkout.asked()] == ["a", "b", "c"]
    assert len({line.split()[-1] for line in checkout.asked()}) == 1


def test_tasks_of_an_async_agent_outlive_a_case(pytester: pytest.Pytester) -> None:
    source = """
import asyncio


@pytest.fixture(scope="session")
def agent():
    queue = asyncio.Queue()
    tasks = []

    async def serve():
        while True:
            question, reply = await queue.get()
            reply.set_result(f"{question} {len(tasks)}")

    async def answer(question):
        if not tasks:
            tasks.append(asyncio.create_task(serve()))
        reply = asyncio.get_running_loop().create_future()
        await queue.put((question, reply))
        return await reply

    return answer
"""
    cases = (case("a", expected="a 1"), case("b", expected="b 1"))
    checkout = BARE.with_agent(source).with_cases(*cases).at(pytester)
    checkout.run("eval").assert_outcomes(passed=2)


def test_an_answer_is_text_or_has_text(answered: Answered) -> None:
    outcomes = answered.checkout.outcomes()
    assert {name: outcomes[name] for name in TEXTS} == dict.fromkeys(TEXTS, "passed")
    answered.result.assert_outcomes(passed=len(TEXTS) + 2, errors=len(OTHERS))


def test_passages_and_usage_are_kept_in_the_journal(answered: Answered) -> None:
    [trial] = [trial for trial in answered.checkout.journal().trials if trial.case_id == "whole"]
    assert trial.answer is not None
    assert [(p.text, p.source, p.score) for p in trial.answer.passages] == [
        ("bare", None, None),
        ("whole", "x.md", 0.5),
    ]
    assert trial.answer.usage == {"tokens": 3}
    assert trial.where == "eval/cases.yaml:25"


def test_anything_else_is_an_error_that_says_what_to_return(answered: Answered) -> None:
    said = {trial.case_id: trial.error.partition(";")[0] for trial in answered.checkout.journal().trials if trial.error}
    assert said == {name: f"agent: answered with {name}" for name in OTHERS}


def test_the_input_arrives_as_it_is_written(answered: Answered) -> None:
    assert answered.checkout.outcomes()["given"] == "passed"
    assert [line for line in answered.checkout.asked() if line.startswith("{")] == [
        '{"question": "When?", "user": {"id": 7, "since": "2026-01-01"}, "flags": [true, null]}'
    ]


def test_a_conversation_grows_turn_by_turn_and_the_last_answer_is_judged(answered: Answered) -> None:
    assert answered.checkout.outcomes()["talk"] == "passed"
    assert [line for line in answered.checkout.asked() if line.startswith("[")] == [
        '[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "reply 1"},'
        ' {"role": "user", "content": "Fees?"}, {"role": "assistant", "content": "One pound."},'
        ' {"role": "user", "content": "And late?"}]',
        '[{"role": "user", "content": "Hello"}]',
    ]


UNFIT = {
    "no-function": (
        "    return 3",
        "the fixture `agent` gave 3, which is not a function; return one that takes the input of a case",
    ),
    "no-argument": (
        "    return lambda: 'x'",
        "TypeError: agent.<locals>.<lambda>() takes 0 positional arguments but 1 was given",
    ),
    "no-module": (
        "    def answer(question):\n        import no.such\n    return answer",
        "needs the module `no`, which is not installed; install it",
    ),
}
"""What cannot be called, and what is said of it."""


def test_the_agent_of_the_nearest_conftest_is_asked_and_what_cannot_be_called_is_one_sentence(
    pytester: pytest.Pytester,
) -> None:
    agents = {"nearer": "    return lambda question: 'nearer'"} | {name: body for name, (body, _) in UNFIT.items()}
    files = {}
    for name, body in agents.items():
        files[f"eval/{name}/conftest.py"] = f"import pytest\n\n\n@pytest.fixture\ndef agent():\n{body}\n"
        files[f"eval/{name}/it.cases.yaml"] = cases_yaml(case(name, expected="nearer"))
    result = ECHOING.with_cases(case("a")).with_files(files).at(pytester).run("eval")
    result.assert_outcomes(passed=2, errors=3)
    told = [f"  error: {name}: eval/{name}/it.cases.yaml:1: agent: {said}" for name, (_, said) in sorted(UNFIT.items())]
    at = result.outlines.index(told[0])
    assert result.outlines[at : at + 3] == told
    assert result.outlines[at + 3].startswith("oldest verdict: ")
    assert result.outlines[at + 4].startswith("without a verdict when last asked (3): ")


class TestFixtures:
    """Fixtures of the user, of every scope, wrap the cases like tests."""

    SOURCE = """
import pathlib

LOG = pathlib.Path(__file__).with_name("scopes.log")


def fixture(scope):
    @pytest.fixture(scope=scope, autouse=True, name=f"{scope}_wide")
    def wrapped():
        with LOG.open("a") as log:
            log.write(f"{scope} up\\n")
        yield scope
        with LOG.open("a") as log:
            log.write(f"{scope} down\\n")

    return wrapped


for scope in ("session", "package", "module", "class", "function"):
    globals()[f"{scope}_wide"] = fixture(scope)


@pytest.fixture(scope="module")
def agent(session_wide, package_wide, module_wide):
    return lambda question: question
"""

    def test_every_scope_is_set_up_as_often_as_it_should_be(self, pytester: pytest.Pytester) -> None:
        checkout = (
            BARE.with_agent(self.SOURCE)
            .with_cases(case("a"), case("b"))
            .with_cases(case("c"), file="eval/more.cases.yaml")
            .at(pytester)
        )
        checkout.run("eval").assert_outcomes(passed=3)
        log = (checkout.path / "eval/scopes.log").read_text().splitlines()
        counts = {scope: log.count(f"{scope} up") for scope in ("session", "package", "module", "function")}
        assert counts == {"session": 1, "package": 1, "module": 2, "function": 3}
        assert log.count("class up") == 3
        assert [log.count(line) for line in log] == [log.count(line.replace(" up", " down")) for line in log]

    def test_they_may_depend_on_the_case_and_on_usual_fixtures_of_pytest(self, pytester: pytest.Pytester) -> None:
        source = """
import os


@pytest.fixture
def agent(recall_case, tmp_path, monkeypatch, request, capsys):
    monkeypatch.setenv("WHO", f"{request.node.name} is {recall_case.id} in {recall_case.scenario}")
    return lambda question: os.environ["WHO"]
"""
        cases = [case(name, expected=f"{name} is {name} in one") for name in "ab"]
        BARE.with_agent(source).with_cases(*cases).at(pytester).run("eval").assert_outcomes(passed=2)

    def test_one_with_params_is_refused_before_anything_is_asked(self, pytester: pytest.Pytester) -> None:
        source = "\n\n@pytest.fixture(params=['small', 'large'])\ndef agent(request):\n    return asked\n"
        checkout = BARE.with_agent(source).with_cases(case("a")).at(pytester)
        result = checkout.run("eval")
        assert result.ret == pytest.ExitCode.INTERRUPTED
        result.stdout.fnmatch_lines(["eval/cases.yaml:1: the fixture `agent` is parametrized,*"])
        assert checkout.asked() == []
