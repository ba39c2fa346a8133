"""`--recall-concurrency`: cases of a file wait for their answers at once, and all else is as ever."""

from __future__ import annotations

import concurrent.futures
import logging
import re
import sys
import threading
from typing import Any
from xml.etree import ElementTree

import pytest

from pytest_recall.plugin import overlap
from tests.helpers.overlapping import ASYNC, IDS, SYNC, overlapping, result_of, told
from tests.helpers.project import ECHOING, case, cases_yaml, crashing, failing, row
from tests.plugin.conftest import unnamed

KINDS = pytest.mark.parametrize("agent", [SYNC, ASYNC], ids=["sync", "async"])
MEMORY = """
import collections

ASKED = collections.Counter()


@pytest.fixture
def agent():
    def answer(question):
        asked(question)
        ASKED[question] += 1
        return question if ASKED[question] > 1 or question != "b" else "not yet"

    return answer
"""


def patched() -> tuple[Any, ...]:
    """Return what is replaced while cases run at once."""
    starts = (threading.Thread.start, concurrent.futures.ThreadPoolExecutor.submit)
    return *starts, sys.stdout, sys.stderr, list(logging.getLogger().handlers)


@KINDS
def test_as_many_as_asked_for_run_at_once_and_no_more_and_what_pytest_had_is_back_afterwards(
    pytester: pytest.Pytester, agent: str
) -> None:
    before, threads = patched(), set(threading.enumerate())
    most = "\n\ndef pytest_sessionfinish():\n    told(GATE.most)\n"
    marked = "import pytest\n\n\n@pytest.mark.recall('marked')\ndef test_marked():\n    pass\n"
    checkout = overlapping(agent + most).with_files({"eval/test_marked.py": marked}).at(pytester)
    result = checkout.run("eval", "--recall-concurrency=4")
    result.assert_outcomes(passed=9)
    assert set(checkout.outcomes()) == {*IDS, "marked"}, "ordinary tests run beside them, alone"
    result.stdout.fnmatch_lines(["recall: up to 4 cases at once"])
    assert told(checkout) == ["4"]
    assert patched() == before
    left = set(threading.enumerate()) - threads
    assert not [thread.name for thread in left if re.match("recall", thread.name)]


def test_each_worker_lets_its_own_run_at_once(pytester: pytest.Pytester) -> None:
    other = cases_yaml(*(case(f"{name}2") for name in IDS[:4]))
    project = overlapping(ASYNC, *IDS[:4]).with_files({"eval/other.cases.yaml": other})
    result = project.at(pytester).run("eval", "--recall-concurrency=4", "-n2", "--dist=loadfile")
    result.assert_outcomes(passed=8)
    result.stdout.fnmatch_lines(["recall: up to 4 cases at once", "2 workers *"])


def test_the_ini_file_may_say_it_and_k_chooses_as_ever(pytester: pytest.Pytester) -> None:
    project = overlapping(SYNC, "one", "two", "six", gate=2)
    ini = project.files["pytest.ini"] + "recall_concurrency = 2\n"
    checkout = project.with_files({"pytest.ini": ini}).at(pytester)
    checkout.run("eval", "-k", "two or six").assert_outcomes(passed=2)
    assert set(checkout.outcomes()) == {"six", "two"}


def test_reports_state_and_scorecard_are_those_of_one_by_one(pytester: pytest.Pytester) -> None:
    cases = (case("a"), failing("b"), crashing("c"), case("d", judges=["broken"]), failing("e"), case("f"))
    source = """
@pytest.fixture
def judge_broken():
    def judge(answer, case):
        raise ValueError("no idea")

    return judge
"""
    conftest = ECHOING.files["eval/conftest.py"] + source
    project = ECHOING.with_cases(*cases).with_files({"eval/conftest.py": conftest})
    checkout = project.with_state(a=row(2), b=row(3, 3), c=row(2), e=row(1, 0)).at(pytester)
    before = checkout.state_text()
    one_by_one = checkout.run("eval", "-v")
    assert one_by_one.parseoutcomes() == {"passed": 2, "failed": 2, "errors": 2}
    expected = result_of(checkout)
    for workers in ((), ("-n2",)):
        checkout.forget()
        assert before is not None
        (checkout.path / "eval/recall.yaml").write_text(before)
        at_once = checkout.run("eval", "-v", "--recall-concurrency=8", *workers)
        assert at_once.parseoutcomes() == one_by_one.parseoutcomes()
        found = result_of(checkout)
        if workers:  # Their reports come as they come.
            expected[2].sort(key=str)
            found[2].sort(key=str)
        else:
            shown = [[line for line in run.outlines if "::" in line] for run in (one_by_one, at_once)]
            assert shown[0] == shown[1]
        assert (unnamed(found[0]), *found[1:]) == (unnamed(expected[0]), *expected[1:])


def test_two_files_have_their_turns_one_after_the_other(pytester: pytest.Pytester) -> None:
    source = """
@pytest.fixture(scope="module")
def module(request):
    told(f"up {request.node.name}")
    yield
    told(f"down {request.node.name}")


@pytest.fixture
def agent(module):
    def answer(question):
        GATE.sync()
        told(f"asked")
        return question

    return answer
"""
    other = cases_yaml(*(case(f"{name}2") for name in IDS[:4]))
    checkout = overlapping(source, *IDS[:4]).with_files({"eval/other.cases.yaml": other}).at(pytester)
    checkout.run("eval", "--recall-concurrency=4").assert_outcomes(passed=8)
    lines = [f"{way} {name}" for name in ("cases.yaml", "other.cases.yaml") for way in ("up", *["asked"] * 4, "down")]
    assert told(checkout) == [line.removesuffix(" cases.yaml").removesuffix(" other.cases.yaml")
                              if line.startswith("asked") else line for line in lines]  # fmt: skip


def test_lf_runs_what_failed_last(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a"), failing("b"), case("c"), failing("d")).at(pytester)
    checkout.run("eval", "--recall-concurrency=4").assert_outcomes(passed=2, failed=2)
    checkout.run("eval", "--recall-concurrency=4", "--lf").assert_outcomes(failed=2)
    assert checkout.asked() == ["a", "b", "b", "c", "d", "d"]


@pytest.mark.usefixtures("every_plugin")
def test_a_rerun_asks_anew(pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_rerunfailures")
    checkout = overlapping(MEMORY).at(pytester)
    result = checkout.run("eval", "--recall-concurrency=4", "--reruns=2", "-p", "no:xdist")
    assert result.parseoutcomes() == {"passed": 8, "rerun": 1}
    assert checkout.asked() == ["a", "b", "b", *IDS[2:]]
    assert [trial.outcome.value for trial in checkout.journal().trials if trial.case_id == "b"] == ["failed", "passed"]


def test_durations_are_the_cases_own(pytester: pytest.Pytester) -> None:
    source = """
STARTED = threading.Event()


@pytest.fixture
def agent():
    def answer(question):
        if question == "a":
            STARTED.wait(30)
            time.sleep(0.4)  # b is done by then, and its turn takes no time.
        else:
            time.sleep(0.2)
            STARTED.set()
        return question

    return answer
"""
    checkout = overlapping(source, "a", "b").at(pytester)
    checkout.run("eval", "--recall-concurrency=2", "--junitxml=report.xml").assert_outcomes(passed=2)
    taken = {
        one.get("name"): one.get("time") for one in ElementTree.parse(checkout.path / "report.xml").iter("testcase")
    }
    assert float(taken["b"] or 0) >= 0.2
    assert {trial.case_id: (trial.seconds or 0) >= 0.2 for trial in checkout.journal().trials} == {"a": True, "b": True}


def test_what_a_mark_or_a_hook_skips_at_its_turn_is_obeyed(pytester: pytest.Pytester) -> None:
    """What has a mark is not asked."""
    marks = {"b": "skip(reason='no')", "c": "skipif(True, reason='no')", "d": "xfail(run=False)"}
    source = """
@pytest.fixture
def agent(request):
    told(f"up {request.node.name}")
    yield lambda question: asked(question) or question
    told(f"down {request.node.name}")


def pytest_runtest_setup(item):
    if item.name == "f":
        pytest.skip("not today")


def pytest_collection_modifyitems(items):
    for item in items:
""" + "".join(
        f"        if item.name == {name!r}:\n            item.add_marker(pytest.mark.{mark})\n"
        for name, mark in marks.items()
    )
    checkout = overlapping(source).at(pytester)
    result = checkout.run("eval", "--recall-concurrency=8")
    assert result.parseoutcomes() == {"passed": 4, "skipped": 3, "xfailed": 1}
    assert marks.keys().isdisjoint(checkout.asked())
    left = [name for name in IDS if name not in marks]
    assert checkout.outcomes().items() >= {**dict.fromkeys(left, "passed"), "f": "skipped"}.items()
    assert told(checkout) == [f"{way} {name}" for way in ("up", "down") for name in left]


class TestRefusals:
    """What is not a number, and what cannot be."""

    @pytest.mark.parametrize(
        ("args", "reason"),
        [
            (("--pdb",), "since a debugger stops at one case"),
            (("--setup-show",), "since fixtures are shown as they are set up"),
            (("-n1", "--dist=worksteal"), "since --dist=worksteal moves cases that have begun; *"),
        ],
        ids=["pdb", "setup-show", "worksteal"],
    )
    def test_what_needs_them_one_by_one_is_said(
        self, pytester: pytest.Pytester, args: tuple[str, ...], reason: str
    ) -> None:
        most = "\n\ndef pytest_sessionfinish():\n    told(GATE.most)\n"
        checkout = overlapping(SYNC + most, gate=1).at(pytester)
        result = checkout.run("eval", "--recall-concurrency=4", *args)
        result.assert_outcomes(passed=8)
        result.stdout.fnmatch_lines([f"recall: cases run one by one, {reason}"])
        assert set(told(checkout)) <= {"0", "1"}

    def test_a_pytest_of_another_shape_runs_them_one_by_one(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(overlap, "is_known", lambda session: False)
        most = "\n\ndef pytest_sessionfinish():\n    told(GATE.most)\n"
        checkout = overlapping(SYNC + most, gate=1).at(pytester)
        result = checkout.run("eval", "--recall-concurrency=4")
        result.assert_outcomes(passed=8)
        result.stdout.fnmatch_lines(
            ["recall: cases run one by one, since * does not know the fixture internals of pytest *"]
        )
        assert told(checkout) == ["1"]

    def test_one_says_nothing(self, pytester: pytest.Pytester) -> None:
        result = ECHOING.with_cases(case("a")).at(pytester).run("eval", "--recall-concurrency=1")
        result.stdout.no_fnmatch_line("recall: *at once*")


READING = """
import os
import time


@pytest.fixture
def agent():
    def answer(question):
        until = time.monotonic() + 0.03
        while time.monotonic() < until:
            dict(os.environ.items())
        return question

    return answer
"""


def test_whoever_reads_the_environment_meets_no_variable_that_is_gone(pytester: pytest.Pytester) -> None:
    names = [f"c{number}" for number in range(16)]
    checkout = ECHOING.with_agent(READING).with_cases(*map(case, names)).at(pytester)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # So that one is often interrupted in the midst of it.
    try:
        result = checkout.run("eval", "--recall-mode=all", "--recall-concurrency=8")
    finally:
        sys.setswitchinterval(interval)
    result.assert_outcomes(passed=16)


LOOPING = """

import threading


async def ask(question):
    return question


class Agent:
    async def __call__(self, question):
        return question


@pytest.fixture
def agent():
    return {agent}


@pytest.fixture(autouse=True)
def looked():
    asked(any(thread.name == "recall-loop" for thread in threading.enumerate()))
"""


@pytest.mark.parametrize(
    ("agent", "begun"),
    [("ask", ["False", "True", "True"]), ("Agent()", ["False", "True", "True"]), ("str", ["False"] * 3)],
    ids=["function", "object", "sync"],
)
def test_the_loop_is_there_before_the_threads_if_an_agent_needs_it(
    pytester: pytest.Pytester, agent: str, begun: list[str]
) -> None:
    project = ECHOING.with_agent(LOOPING.format(agent=agent)).with_cases(*map(case, "abc"))
    checkout = project.at(pytester)
    checkout.run("eval", "--recall-concurrency=3").assert_outcomes(passed=3)
    log = (checkout.path / "eval" / "asked.txt").read_text(encoding="utf-8")
    assert log.split() == begun


def test_what_all_cases_need_is_imported_before_they_run_at_once(pytester: pytest.Pytester) -> None:
    """The list of prices imports httpx2, which an agent's SDK would find half imported."""
    pytest.importorskip("genai_prices")
    agent = """
import sys

for name in [name for name in sys.modules if name.startswith("genai_prices")]:
    del sys.modules[name]

@pytest.fixture
def agent():
    return lambda question: f"{'genai_prices' in sys.modules}"
"""
    checkout = ECHOING.with_agent(agent).with_cases(*(case(name, judges=[{"contains": "True"}]) for name in "abc"))
    checkout.at(pytester).run_apart("eval", "--recall-concurrency=3").assert_outcomes(passed=3)
