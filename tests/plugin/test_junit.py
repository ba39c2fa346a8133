"""`--junitxml`: a failed case is a failure, one without a verdict an error."""

from __future__ import annotations

from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from tests.helpers.project import ECHOING, Checkout, Project, case, crashing, failing, row

MESSY = """

@pytest.fixture(autouse=True)
def service(recall_case):
    if "down" in recall_case.tags:
        raise ConnectionError("no service")
    yield
    if "messy" in recall_case.tags:
        raise OSError("cannot clean up")
"""
MARKED = """\
import pytest


@pytest.mark.recall("wrong")
def test_wrong():
    assert 1 == 2


@pytest.mark.recall("broken")
def test_broken():
    raise TimeoutError("no answer")


def test_other():
    raise TimeoutError("no answer")
"""


class Written(NamedTuple):
    """What the file says: the counts of the suite, and of each test its tags with their messages."""

    counts: dict[str, int]
    tags: dict[str, list[tuple[str, str]]]


def written(checkout: Checkout) -> Written:
    suite = ElementTree.parse(checkout.path / "report.xml").getroot()[0]
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    tags: dict[str, list[tuple[str, str]]] = {}
    for entry in suite.iter("testcase"):
        found = [(node.tag, str(node.get("message"))) for node in entry if node.tag != "properties"]
        tags.setdefault(str(entry.get("name")), []).extend(found)
    return Written(counts, tags)


def messy(*cases: dict[str, object]) -> Project:
    conftest = ECHOING.files["eval/conftest.py"] + MESSY
    return ECHOING.with_files({"eval/conftest.py": conftest}).with_cases(*cases)


def test_a_case_without_a_verdict_is_an_error(pytester: pytest.Pytester) -> None:
    """One whose teardown fails as well is one error more, and a series is one."""
    cases = [case("a"), failing("b"), crashing("c"), crashing("d"), case("e", tags=["down"])]
    cases += [crashing("f", tags=["messy"]), crashing("g", trials="2of2"), failing("h", trials="2of2")]
    checkout = messy(*cases).at(pytester)
    result = checkout.run("eval", "--junitxml=report.xml", "--recall-mode=all", "-n", "1")
    assert {name: result.parseoutcomes()[name] for name in ("passed", "failed", "errors")} == {
        "passed": 1,
        "failed": 2,
        "errors": 6,
    }
    found = written(checkout)
    # Before pytest 9 a test with two errors is counted once.
    twice = pytest.version_tuple >= (9,)
    assert found.counts == {"tests": 8 + twice, "failures": 2, "errors": 6, "skipped": 0}
    tags = {name: [tag for tag, _ in told] for name, told in found.tags.items()}
    once = {name: ["failure" if name in "bh" else "error"] for name in "bcdegh"}
    assert tags == {"a": [], **once, "f": ["error", "error"]}
    assert found.tags["b"][0][1].startswith("eval/cases.yaml:7: exact: expected “something else”, got “b”\n")
    assert found.tags["c"] == [("error", "RuntimeError: boom")]
    assert found.tags["e"][0][1] == 'failed on setup with "ConnectionError: no service"'


def test_so_it_is_with_other_options(pytester: pytest.Pytester) -> None:
    checkout = messy(failing("b"), crashing("c"), case("a")).at(pytester)
    options = ("--recall-concurrency=4", "-o", "junit_family=xunit1", "--junitprefix=x")
    checkout.run("eval", "--junitxml=report.xml", *options)
    assert written(checkout).counts == {"tests": 3, "failures": 1, "errors": 1, "skipped": 0}


def test_marked_tests_are_told_apart_and_others_left_alone(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a")).with_files({"test_marked.py": MARKED}).at(pytester)
    checkout.run("eval", "test_marked.py", "--junitxml=report.xml")
    tags = {name: [tag for tag, _ in found] for name, found in written(checkout).tags.items()}
    assert tags == {"a": [], "test_wrong": ["failure"], "test_broken": ["error"], "test_other": ["failure"]}


def test_without_the_plugin_of_pytest_nothing_is_written(pytester: pytest.Pytester) -> None:
    checkout = messy(crashing("c")).at(pytester)
    checkout.run("eval", "-p", "no:junitxml").assert_outcomes(errors=1)


def test_a_case_says_what_it_is_and_what_a_regression_is_put_down_to(pytester: pytest.Pytester) -> None:
    project = ECHOING.with_cases(case("fine"), failing("broke", scenario="fees"), failing("again"))
    known = row(3, passed_under="case=aaaaaa")
    checkout = project.with_state(broke=known, again=known._replace(failure_note="no")).at(pytester)
    checkout.run("eval", "--junitxml=out.xml", "-n1")
    cases = ElementTree.parse(checkout.path / "out.xml").iter("testcase")
    told = {one.get("name"): {p.get("name"): p.get("value") for p in one.iter("property")} for one in cases}
    assert told["fine"] == {
        "recall.case": "fine",
        "recall.scenario": "one",
        "recall.dimension": "facts",
        "recall.outcome": "passed",
        "recall.source": "live",
    }
    assert told["broke"]["recall.scenario"] == "fees"
    assert told["broke"]["recall.box"] == "3"
    assert told["broke"]["recall.cause"] == "the case was edited: it is written otherwise than at its last pass"
    assert "recall.cause" not in told["again"]
