"""Marked tests with subtests, and with a teardown that fails: what pytest calls failed is never a pass."""

from __future__ import annotations

import pytest

from tests.helpers.project import BARE, row
from tests.plugin.conftest import NEEDS_SUBTESTS

SOURCE = """
import unittest
import pytest


@pytest.mark.recall("subtests", scenario="s", dimension="d")
def test_subtests(subtests):
    for number in range(3):
        with subtests.test(number=number):
            {inside}


class TestParts(unittest.TestCase):
    @pytest.mark.recall("parts", scenario="s", dimension="d")
    def test_parts(self):
        for number in range(3):
            with self.subTest(number=number):
                {inside}
"""


@NEEDS_SUBTESTS
@pytest.mark.parametrize(
    ("inside", "outcome", "box", "workers"),
    [
        ("assert number != 1", "failed", 1, ("-n1",)),
        ("if number == 1: raise ValueError('no')", "error", 3, ()),
        ("if number == 1: pytest.skip('not today')", "passed", 4, ()),
        ("assert True", "passed", 4, ()),
    ],
    ids=["fails-n1", "crashes", "skips", "passes"],
)
def test_a_test_comes_to_no_better_than_its_subtests(
    pytester: pytest.Pytester, inside: str, outcome: str, box: int, workers: tuple[str, ...]
) -> None:
    files = {"test_marked.py": SOURCE.format(inside=inside), "eval/rubric.yaml": "owner: us\n"}
    checkout = BARE.with_files(files).with_state(subtests=row(3, 3), parts=row(3, 3)).at(pytester)
    result = checkout.run("test_marked.py", *workers)
    assert checkout.outcomes() == dict.fromkeys(("subtests", "parts"), outcome)
    assert checkout.boxes() == dict.fromkeys(("subtests", "parts"), box)
    assert (result.ret == 0) == (outcome == "passed")
    if outcome == "failed":
        result.stdout.fnmatch_lines(["2 of 2 cases regressed; *", "      1 subtest failed: assert 1 != 1"])


@NEEDS_SUBTESTS
def test_a_known_failure_of_a_subtest_turns_no_run_red(pytester: pytest.Pytester) -> None:
    files = {"test_marked.py": SOURCE.format(inside="assert number != 1"), "eval/rubric.yaml": "owner: us\n"}
    checkout = BARE.with_files(files).at(pytester)
    result = checkout.run("test_marked.py")
    assert result.ret == 0
    assert checkout.boxes() == {"subtests": 1, "parts": 1}


TWO = """
import pytest


@pytest.mark.recall("subtests", scenario="s", dimension="d")
def test_subtests(subtests):
    with subtests.test("a"):
        {first}
    with subtests.test("b"):
        raise RuntimeError("a bug of our own")
"""


@NEEDS_SUBTESTS
def test_a_subtest_that_crashes_after_a_known_failure_turns_a_run_red(pytester: pytest.Pytester) -> None:
    files = {"test_marked.py": TWO.format(first="assert 1 == 2"), "eval/rubric.yaml": "owner: us\n"}
    result = BARE.with_files(files).at(pytester).run("test_marked.py")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes()["failed"] == 1


@NEEDS_SUBTESTS
def test_an_outage_in_one_of_several_subtests_is_none_of_the_test(pytester: pytest.Pytester) -> None:
    files = {"test_marked.py": TWO.format(first="raise ConnectionError('refused')"), "eval/rubric.yaml": "owner: us\n"}
    checkout = BARE.with_files(files).at(pytester)
    checkout.run("test_marked.py")
    [told] = checkout.scorecard()["no_verdict"]
    assert (told["ended_by"], told["outage"]) == ("exception", None)
    assert "a bug of our own" in told["note"]


def test_a_teardown_that_fails_is_no_pass(pytester: pytest.Pytester) -> None:
    source = """
import pytest


@pytest.fixture
def mess():
    yield
    assert False, "left behind"


@pytest.mark.recall("messy", scenario="s", dimension="d")
def test_messy(mess):
    pass
"""
    files = {"test_marked.py": source, "eval/rubric.yaml": "owner: us\n"}
    checkout = BARE.with_files(files).with_state(messy=row(2, 2)).at(pytester)
    assert checkout.run("test_marked.py", "-n1").ret == pytest.ExitCode.TESTS_FAILED
    assert checkout.outcomes() == {"messy": "error"}
    assert checkout.boxes() == {"messy": 2}
