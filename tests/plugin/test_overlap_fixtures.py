"""Fixtures of cases that run at once: each case has its own, and all are taken down, in order."""

from __future__ import annotations

import signal

import pytest

from tests.helpers.overlapping import IDS, due, overlapping, told
from tests.helpers.project import BARE, case, failing
from tests.helpers.running import Running, wait_until

SCOPES = """
@pytest.fixture(scope="session")
def session():
    told("up session")
    yield
    told("down session")


@pytest.fixture(scope="module")
def module(session):
    told("up module")
    yield
    told("down module")


@pytest.fixture
def inner(request, module):
    told(f"up inner {request.node.name}")
    yield request.node.name
    told(f"down inner {request.node.name}")


@pytest.fixture
def outer(request, inner):
    request.addfinalizer(lambda: told(f"down outer {inner}"))
    return inner


"""
WAITING = """
@pytest.fixture
def agent(outer):
    async def answer(question):
        if question not in ("a", "b"):
            try:
                await asyncio.Event().wait()
            finally:
                told(f"cancelled {question}")
        if question == "b":
            return "wrong"
        return question

    return answer
"""
SOLO = """
RUNNING = []


@pytest.fixture
def agent(recall_case, request):
    if recall_case.id == "c":
        {setup}

    def answer(question):
        RUNNING.append(question)
        if question == "c":
            assert RUNNING == ["c"], RUNNING
        time.sleep(0.05)
        RUNNING.remove(question)
        return question

    return answer
"""


def test_each_case_has_its_own_and_wider_ones_are_shared(pytester: pytest.Pytester) -> None:
    source = """
@pytest.fixture(scope="class")
def narrow():
    return []


@pytest.fixture
def agent(outer, narrow, tmp_path, request, recall_case):
    place = request.getfixturevalue("own_place")
    narrow.append(recall_case.id)

    def answer(question):
        (tmp_path / "it").write_text(question)
        GATE.sync()
        assert request.node.name == outer == recall_case.id == place.name == question
        assert narrow == [question]
        assert [path.read_text() for path in tmp_path.iterdir()] == [question]
        return question

    return answer


@pytest.fixture
def own_place(request, tmp_path):
    return tmp_path.with_name(request.node.name)
"""
    checkout = overlapping(SCOPES + source).at(pytester)
    checkout.run("eval", "--recall-concurrency=4").assert_outcomes(passed=8)
    lines = told(checkout)
    assert lines[:2] == ["up session", "up module"]
    assert lines[-2:] == ["down module", "down session"]
    downs = [line for line in lines if line.startswith("down")]
    assert downs[:-2] == [f"down {name} {case_id}" for case_id in IDS for name in ("outer", "inner")]
    assert sorted(line for line in lines if line.startswith("up inner")) == [f"up inner {case_id}" for case_id in IDS]


def test_values_of_context_variables_are_the_cases_own(pytester: pytest.Pytester) -> None:
    source = """
import contextvars

WHO = contextvars.ContextVar("who")
ALL = contextvars.ContextVar("all")


@pytest.fixture(scope="session", autouse=True)
def everybody():
    token = ALL.set("everybody")
    yield
    ALL.reset(token)


@pytest.fixture
def agent(recall_case):
    token = WHO.set(recall_case.id)

    async def answer(question):
        await GATE.wait()
        assert ALL.get() == "everybody"
        return WHO.get()

    yield answer
    WHO.reset(token)
"""
    overlapping(source).at(pytester).run("eval", "--recall-concurrency=4").assert_outcomes(passed=8)


# With workers --sw stops on the controller, which may be late for the next case.
@pytest.mark.parametrize("options", [("-x",), ("-x", "-n1", "--dist=loadfile"), ("--sw",)], ids=["x", "x-n1", "sw"])
def test_what_was_begun_in_vain_is_taken_down_and_not_reported(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    checkout = overlapping(SCOPES + WAITING, *"abcd").at(pytester)
    result = checkout.run("eval", "--recall-concurrency=4", *options)
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    assert checkout.outcomes() == {"a": "passed", "b": "failed"}
    moved = {} if "--sw" in options else {"a": 3, "b": 1}
    assert checkout.boxes() == {**dict.fromkeys("abcd", 2), **moved}
    lines = told(checkout)
    # Trials end before any fixture is taken down, and every fixture before the wider ones.
    begun = lines.index("up inner d")
    ended = lines[begun + 1 :]
    ended[2:4] = sorted(ended[2:4])  # Of two that wait, either may hear first that it is over.
    assert ended == [
        "down outer a",
        "down inner a",
        *("cancelled c", "cancelled d"),
        *("down outer d", "down inner d", "down outer c", "down inner c"),
        *("down outer b", "down inner b", "down module", "down session"),
    ]


def test_ctrl_c_takes_down_what_was_begun(pytester: pytest.Pytester) -> None:
    """On a thread, which does not end, and on the loop."""
    source = """
from pytest_recall.trials import concurrency

concurrency.PATIENCE = 0.05  # Threads that wait like this do not end.


@pytest.fixture
def agent(outer, recall_case):
    def answer(question):
        if question == "a":
            return question
        if question == "c":
            told("held")
        threading.Event().wait()

    async def wait(question):
        told("asked")
        await asyncio.Event().wait()

    return wait if recall_case.id == "d" else answer


def pytest_runtest_logreport(report):
    if report.when == "teardown":
        told("reported")
"""
    running = Running(overlapping(SCOPES + source, *"abcd"), pytester)
    checkout = running.checkout
    begun = running.start("--recall-concurrency=4")
    wait_until(lambda: begun.done() or {"asked", "held", "reported"} <= set(told(checkout)))
    result = running.end(begun, signal.SIGINT)
    assert result.ret == pytest.ExitCode.INTERRUPTED, result.stdout.str()
    assert "recall scorecard" in result.stdout.str()
    assert checkout.outcomes() == {"a": "passed"}
    assert checkout.boxes() == {"a": 3, "b": 2, "c": 2, "d": 2}
    lines = told(checkout)
    for case_id in "abcd":
        assert lines.count(f"down outer {case_id}") == lines.count(f"down inner {case_id}") == 1
    assert lines[-2:] == ["down module", "down session"]


class TestErrors:
    """A fixture that fails does so for its own case."""

    BREAKING = """
@pytest.fixture
def agent(outer, recall_case):
    yield lambda question: question
    if recall_case.id == "b":
        raise ValueError("no")
"""

    def test_in_setup_in_teardown_in_a_plugin_and_for_what_is_asked_too_late(self, pytester: pytest.Pytester) -> None:
        source = """
@pytest.fixture
def late():
    return 1


@pytest.fixture
def agent(outer, recall_case, request):
    if recall_case.id == "b":
        raise ValueError("no")
    if recall_case.id == "c":
        pytest.fail("no")
    if recall_case.id == "d":
        pytest.skip("no")

    yield lambda question: request.getfixturevalue("late") if question == "g" else question
    if recall_case.id == "e":
        raise ValueError("no")


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_setup(item):
    if item.name == "f":
        raise ValueError("no")
    return (yield)
"""
        checkout = overlapping(SCOPES + source).at(pytester)
        result = checkout.run("eval", "--recall-concurrency=4")
        result.assert_outcomes(passed=3, errors=5, skipped=1)  # The answer of e is there before its teardown fails.
        outcomes = {"a": "passed", **dict.fromkeys("bcefg", "error"), "d": "skipped", "h": "passed"}
        assert checkout.outcomes() == outcomes
        result.stdout.fnmatch_lines(
            [
                *(f"  error: {name}: eval/cases.yaml:*: setup: *" for name in "bc"),
                "  error: e: * teardown: ValueError: no",
                "  error: g: *agent: asked for the fixture `late` while it ran, which has to be set up before *",
            ]
        )
        for name in ("outer", "inner"):
            assert [line for line in told(checkout) if line.startswith(f"down {name}")] == [
                f"down {name} {case_id}" for case_id in IDS
            ]

    def test_in_setup_of_one_that_is_shared(self, pytester: pytest.Pytester) -> None:
        source = "@pytest.fixture(scope='module')\ndef agent():\n    told('up')\n    raise ValueError('no')\n"
        checkout = overlapping(source, *"abc").at(pytester)
        checkout.run("eval", "--recall-concurrency=4").assert_outcomes(errors=3)
        assert told(checkout) == ["up"]

    def test_an_exit_in_setup_ends_the_session_at_its_turn(self, pytester: pytest.Pytester) -> None:
        source = """
@pytest.fixture
def agent(outer, recall_case):
    if recall_case.id == "b":
        pytest.exit("spent", returncode=7)

    return lambda question: question
"""
        checkout = overlapping(SCOPES + source, *"abc").at(pytester)
        assert checkout.run("eval", "--recall-concurrency=4").ret == 7
        assert checkout.outcomes() == {"a": "passed"}
        assert [line for line in told(checkout) if line.startswith("up inner")] == ["up inner a", "up inner b"]
        assert told(checkout)[-4:] == ["down outer b", "down inner b", "down module", "down session"]

    def test_in_teardown_of_what_was_not_run(self, pytester: pytest.Pytester) -> None:
        project = due(overlapping(SCOPES + self.BREAKING), *"ab").with_cases(failing("a"), failing("b"))
        checkout = project.at(pytester)
        result = checkout.run("eval", "--recall-concurrency=4", "-x")
        result.assert_outcomes(failed=1)
        said = "eval/cases.yaml::b: was not run, and its teardown failed: ValueError('no')"
        result.stdout.fnmatch_lines([said])
        assert told(checkout).count("down inner b") == 1


class TestAlone:
    """What belongs to the whole process is for a case that has it to itself."""

    @pytest.mark.parametrize(
        ("names", "workers"),
        [({"c": "monkeypatch"}, ("-n1",)), ({"a": "capsys", "d": "caplog", "h": "recall_alone"}, ())],
        ids=["one-n1", "several"],
    )
    def test_a_case_with_such_a_fixture(
        self, pytester: pytest.Pytester, names: dict[str, str], workers: tuple[str, ...]
    ) -> None:
        judges = "".join(
            f"@pytest.fixture\ndef judge_{name}({fixture}):\n    return lambda answer, case: True\n\n\n"
            for name, fixture in names.items()
        )
        solo = SOLO.format(setup="pass").replace('question == "c"', f"question in {list(names)}")
        solo = solo.replace('RUNNING == ["c"]', "RUNNING == [question]")
        cases = (case(name, judges=[name if name in names else "exact"]) for name in IDS)
        made = overlapping(f"{judges}{solo}").with_cases(*cases)
        result = made.at(pytester).run("eval", "--recall-concurrency=4", *workers)
        result.assert_outcomes(passed=8)
        count = "1 case" if len(names) == 1 else f"{len(names)} cases"
        listed = ", ".join(f"`{name}`" for name in sorted(names.values()))
        said = f"{count} ran alone, since what {listed} gives or changes belongs to the whole process"
        result.stdout.fnmatch_lines([said])

    def test_one_that_asks_for_it_as_it_is_set_up(self, pytester: pytest.Pytester) -> None:
        source = SOLO.format(setup='request.getfixturevalue("monkeypatch").setenv("ONE", "1")')
        result = overlapping(source).at(pytester).run("eval", "--recall-concurrency=4")
        result.assert_outcomes(passed=8)
        result.stdout.fnmatch_lines(["1 case ran alone, since what `monkeypatch` *"])

    def test_cases_without_it_say_nothing(self, pytester: pytest.Pytester) -> None:
        result = due(BARE.with_agent("@pytest.fixture\ndef agent():\n    return lambda question: question\n"), "a")
        result.at(pytester).run("eval", "--recall-concurrency=4").stdout.no_fnmatch_line("*ran alone*")
