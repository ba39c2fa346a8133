"""Async fixtures of other plugins: what they give is awaited on the event loop on which it was made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.plugin.loops import FixtureLoops
from pytest_recall.replay.open_tapes import KIND
from tests.helpers.project import BARE, RECORDING, Checkout, Project, case, cases_yaml
from tests.helpers.upstream import Upstream
from tests.plugin.conftest import NEEDS_PYTEST_ASYNCIO

ASYNCIO = ("-p", "pytest_asyncio.plugin")
ANYIO = ("-p", "anyio.pytest_plugin")
PASSED = {"a": "passed", "b": "passed"}

TOOLS = """
import asyncio
import pytest_asyncio


class Loop:
    # Like the connections of a client, which are of use on the loop that they were made on, while it is open.

    def __init__(self):
        self.made = asyncio.get_running_loop()

    async def answer(self, question):
        await asyncio.sleep(0)
        here = asyncio.get_running_loop()
        return question if here is self.made else f"made on {self.made}, asked on {here}"

    async def judge(self, answer, case):
        return await self.answer("") == "", "asked on the loop that it was made on"

"""
AGENT = """
@FIXTURE
async def agent():
    yield Loop().answer
    await asyncio.sleep(0)
"""
BOTH = (case("a"), case("b"))


def settings(scope: str, mode: str) -> dict[str, str]:
    """Return the file with these settings of pytest-asyncio."""
    ini = BARE.files["pytest.ini"] + f"asyncio_mode = {mode}\nasyncio_default_fixture_loop_scope = {scope}\n"
    return {"pytest.ini": ini}


def project(source: str, scope: str = "function", mode: str = "strict") -> Project:
    """Return a project with these fixtures beside pytest-asyncio."""
    return BARE.with_files(settings(scope, mode)).with_agent(TOOLS + source).with_cases(*BOTH)


def folders(**sources: tuple[str, ...]) -> Project:
    """Return a project with a folder for each of these, with its own fixtures and two cases.

    Each is the source of the fixtures, and the names of judges by which the cases are judged as well.
    """
    files = {"eval/rubric.yaml": "owner: us\nblocks: failure\n", **settings("function", "strict")}
    for name, (source, *more) in sources.items():
        files[f"eval/{name}/conftest.py"] = RECORDING + TOOLS + source
        cases = [case(f"{name}-{one}", judges=["exact", *more]) for one in "ab"]
        files[f"eval/{name}/it.cases.yaml"] = cases_yaml(*cases)
    return Project(files)


def all_pass(project: Project, pytester: pytest.Pytester, *args: str) -> None:
    """Run the cases of all folders, each of which passes."""
    checkout = project.at(pytester)
    result = checkout.run("eval", "--recall-mode=all", *ASYNCIO, *args)
    names = [name.split("/")[1] for name in project.files if name.endswith("it.cases.yaml")]
    assert checkout.outcomes() == {f"{name}-{one}": "passed" for name in names for one in "ab"}, result.stdout.str()


def passes(checkout: Checkout, *args: str) -> pytest.RunResult:
    """Run the cases, all of which pass."""
    result = checkout.run("eval", "--recall-mode=all", *args)
    assert checkout.outcomes() == PASSED, result.stdout.str()
    return result


STRICT, AUTO = ("strict", "pytest_asyncio.fixture(scope=SCOPE)"), ("auto", "pytest.fixture(scope=SCOPE)")


@NEEDS_PYTEST_ASYNCIO
@pytest.mark.parametrize(
    ("mode", "decorator", "scope", "workers"),
    [
        (*AUTO, "module", ()),
        (*STRICT, "session", ("-n1",)),
    ],
)
def test_an_agent_is_asked_on_the_loop_of_its_fixture(
    pytester: pytest.Pytester, mode: str, decorator: str, scope: str, workers: tuple[str, ...]
) -> None:
    source = AGENT.replace("FIXTURE", decorator.replace("SCOPE", repr(scope)))
    passes(project(source, scope=scope, mode=mode).at(pytester), *ASYNCIO, *workers)


CLIENT = """
@pytest_asyncio.fixture
async def client():
    return Loop()

"""


USING = {
    "name": "@pytest.fixture\ndef agent(client):\n    return client.answer\n",
    "getfixturevalue": "@pytest.fixture\ndef agent(request):\n    return request.getfixturevalue('client').answer\n",
    "fixture": "@pytest.fixture\ndef middle(client):\n    return client\n\n"
    "@pytest.fixture\ndef agent(middle):\n    return middle.answer\n",
    "function": "@pytest.fixture\ndef agent(client):\n    return lambda question: client.answer(question)\n",
}
"""Plain agents, by how they come to what they use."""


@NEEDS_PYTEST_ASYNCIO
def test_a_plain_agent_is_asked_on_the_loop_of_what_it_uses(pytester: pytest.Pytester) -> None:
    made = folders(**{name: (CLIENT + agent,) for name, agent in USING.items()})
    all_pass(made, pytester, "--recall-concurrency=4")


JUDGE = """
@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def judge_loop():
    return Loop().judge
"""


PLAIN = """
@pytest.fixture
def judge_same(client):
    return lambda answer, case: client.judge(answer, case)
"""
OUTLIVING = """
class Steady:
    def __init__(self):
        self.loops = set()

    async def answer(self, question):
        self.loops.add(asyncio.get_running_loop())
        return question if len(self.loops) == 1 else "the loop has changed"

    async def judge(self, answer, case):
        return await self.answer("") == "", "asked on one loop"


@pytest.fixture(scope="session")
def agent():
    return Steady().answer


@pytest.fixture(scope="session")
def judge_steady():
    return Steady().judge


@pytest_asyncio.fixture(autouse=True)
async def client():
    return Loop()
"""


@NEEDS_PYTEST_ASYNCIO
def test_each_is_asked_on_its_own_loop_and_what_outlives_a_fixture_on_ours(pytester: pytest.Pytester) -> None:
    """The loop may live longer than the fixture; a judge has that of its fixture, or shares that of the agent."""
    longer = AGENT.replace("FIXTURE", "pytest_asyncio.fixture(loop_scope='session')")
    agent = AGENT.replace("FIXTURE", "pytest_asyncio.fixture")
    made = folders(
        longer=(longer,),
        judge=(agent + JUDGE, "loop"),
        shared=(CLIENT + USING["name"] + PLAIN, "same"),
        outliving=(OUTLIVING, "steady"),
        beside=(f"{OUTLIVING}\n\n{USING['name']}", "steady"),
    )
    all_pass(made, pytester)


@NEEDS_PYTEST_ASYNCIO
def test_each_trial_of_a_case_has_its_loop(pytester: pytest.Pytester) -> None:
    source = AGENT.replace("FIXTURE", "pytest_asyncio.fixture")
    checkout = project(source).with_cases(case("a", trials=3)).at(pytester)
    checkout.run("eval", *ASYNCIO).assert_outcomes(passed=1)
    assert [trial.outcome.value for trial in checkout.journal().trials] == ["passed"] * 3


@NEEDS_PYTEST_ASYNCIO
def test_cases_on_a_loop_of_a_plugin_run_one_by_one(pytester: pytest.Pytester) -> None:
    source = AGENT.replace("FIXTURE", "pytest_asyncio.fixture")
    result = passes(project(source).at(pytester), *ASYNCIO, "--recall-concurrency=4")
    told = "2 cases ran alone, since the event loop of an async fixture (`agent`) runs one case at a time"
    assert told in result.outlines


MARKED = """
import asyncio
import pytest

pytestmark = pytest.mark.asyncio

@pytest.mark.recall("marked", scenario="one", dimension="facts")
async def test_marked(agent):
    assert await agent("hello") == "hello"

class TestClass:
    @pytest.mark.recall("method", scenario="one", dimension="facts")
    async def test_method(self, agent, own):
        assert await agent("hello") == "hello"
        assert own is self
"""


@NEEDS_PYTEST_ASYNCIO
def test_marked_tests_have_the_loop_of_their_plugin(pytester: pytest.Pytester) -> None:
    own = "    @pytest.fixture\n    async def own(self):\n        return self\n"
    marked = MARKED.replace("class TestClass:\n", f"class TestClass:\n{own}\n")
    source = AGENT.replace("FIXTURE", "pytest.fixture")
    checkout = project(source, mode="auto").with_files({"eval/test_marked.py": marked}).at(pytester)
    checkout.run("eval", *ASYNCIO).assert_outcomes(passed=4)
    assert checkout.outcomes() == {"a": "passed", "b": "passed", "marked": "passed", "method": "passed"}


RECORDED = """
import httpx

@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def agent():
    async with httpx.AsyncClient() as client:
        made = asyncio.get_running_loop()

        async def answer(question):
            assert asyncio.get_running_loop() is made
            body = {"model": "m", "messages": [{"role": "user", "content": f"echo {question}"}]}
            said = (await client.post("URL/v1/chat/completions", json=body)).json()
            return said["choices"][0]["message"]["content"]

        yield answer
"""


@NEEDS_PYTEST_ASYNCIO
def test_a_recording_is_replayed_there(pytester: pytest.Pytester, upstream: Upstream) -> None:
    judged = [{**one, "judges": ["contains"]} for one in BOTH]
    checkout = project(RECORDED.replace("URL", upstream.url)).with_cases(*judged).at(pytester)
    passes(checkout, *ASYNCIO, "--record")
    asked = upstream.count
    passes(checkout, *ASYNCIO, "--replay")
    assert (asked, upstream.count) == (2, 2)


SHOWN = """
import sys

@pytest.fixture(scope="module")
def anyio_backend():
    return BACKEND


@pytest.fixture
async def agent(anyio_backend):
    if anyio_backend == "asyncio":
        import asyncio

        here = asyncio.get_running_loop
    else:
        import trio

        here = trio.lowlevel.current_trio_token
    made = here()

    async def answer(question):
        return question if here() is made else "another loop"

    yield answer
"""
WITHOUT = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    import anyio.pytest_plugin as plugin

    kept = plugin.get_runner
    del plugin.get_runner
    try:
        return (yield)
    finally:
        plugin.get_runner = kept
"""
NO_TRIO = "trio is not installed; with it, an import of hypothesis is a warning"


def test_fixtures_of_anyio_share_their_loop(pytester: pytest.Pytester) -> None:
    passes(BARE.with_agent(SHOWN.replace("BACKEND", "'asyncio'")).with_cases(*BOTH).at(pytester), *ANYIO)


def test_trio_runs_the_calls_of_its_fixtures(pytester: pytest.Pytester) -> None:
    pytest.importorskip("trio", reason=NO_TRIO)
    passes(BARE.with_agent(SHOWN.replace("BACKEND", "'trio'")).with_cases(*BOTH).at(pytester), *ANYIO)


def test_a_release_of_anyio_without_its_runner_is_one_sentence(pytester: pytest.Pytester) -> None:
    pytest.importorskip("trio", reason=NO_TRIO)
    source = SHOWN.replace("BACKEND", "'trio'") + WITHOUT
    checkout = BARE.with_agent(source).with_cases(case("a")).at(pytester)
    checkout.run("eval", *ANYIO)
    (trial,) = checkout.journal().trials
    assert trial.error == (
        "agent: its async fixtures are not on a loop of asyncio, and this release of anyio has no runner that"
        " pytest-recall knows; let the fixture `anyio_backend` return 'asyncio'"
    )


class TestRunner:
    """Calls of fixtures of anyio that are on no loop of asyncio: its own runner awaits them."""

    class Definition:
        """The definition of a fixture."""

        scope, argnames = "function", ()

        def __init__(self, function: Any) -> None:
            self.func = function

    def item(self, pytester: pytest.Pytester, definition: Any) -> Any:
        """Return an item of which the fixture `agent` is set up, for the backend asyncio, as trio need not be here."""
        config = pytester.parseconfig(*ANYIO)
        request = SimpleNamespace(getfixturevalue={"anyio_backend": "asyncio"}.__getitem__)
        info = SimpleNamespace(name2fixturedefs={"agent": [definition]})
        return SimpleNamespace(config=config, _request=request, _fixtureinfo=info)

    @pytest.fixture
    def wait(self, pytester: pytest.Pytester) -> Callable[[Any], Any]:
        """Set up a fixture where no loop of asyncio runs, and return what awaits its calls."""

        async def made() -> str:
            return "made"

        loops, definition = FixtureLoops(), self.Definition(made)
        with loops.noted(definition), pytest.raises(StopIteration, match="made"):
            definition.func().send(None)
        assert definition.func is made
        found = loops.wait_for(self.item(pytester, definition), "agent")
        assert found is not None
        return found

    def test_it_runs_them_in_the_context_of_their_case(self, wait: Callable[[Any], Any]) -> None:
        async def ask() -> tuple[str | None, str]:
            return KIND.get(), type(asyncio.get_running_loop()).__module__.partition(".")[0]

        token = KIND.set("judge")
        try:
            assert wait(ask()) == ("judge", "asyncio")
        finally:
            KIND.reset(token)

    def test_a_release_without_it_is_one_sentence(
        self, wait: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr("anyio.pytest_plugin.get_runner")
        with pytest.raises(RecallError, match="this release of anyio has no runner that pytest-recall knows; let the"):
            wait(None)


def test_a_judge_on_a_loop_of_its_own_is_made_ready_as_before() -> None:
    async def judge(answer: str) -> bool:
        return answer == "right"

    judge.ready = lambda: "ready"  # type: ignore[attr-defined]
    awaited = FixtureLoops().awaited(judge, asyncio.run)  # type: ignore[arg-type]
    assert (awaited("right"), awaited("wrong"), awaited.ready()) == (True, False, "ready")
    assert FixtureLoops().awaited("no function", asyncio.run) == "no function"  # type: ignore[arg-type]
