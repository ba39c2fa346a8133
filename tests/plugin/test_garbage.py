"""The garbage collector: held off what stays while cases run, and left as it was found."""

from __future__ import annotations

import sys

import pytest

from tests.helpers.project import BARE, case

AGENT = """
import atexit
import gc
import pytest


@pytest.fixture
def agent():
    return lambda question: "held" if gc.get_freeze_count() and gc.isenabled() else "free"


def pytest_unconfigure():
    print("frozen while pytest looks:", gc.get_freeze_count() > 0)


@atexit.register
def at_the_end():
    print("collecting at the end:", gc.isenabled())
"""
LEFT = """

class Left:
    def __init__(self):
        self.me = self

    def __del__(self):
        raise ValueError("left in a cycle since collection")


left = Left()


def pytest_runtest_teardown():
    globals().pop("left", None)
"""
EARLIER = "import gc\ngc.freeze()\n"
SET = BARE.with_cases(case("a", input="x", expected="held"))


@pytest.mark.parametrize(("before", "after"), [("", False), (EARLIER, True)], ids=["ours", "another's"])
def test_what_stays_is_not_walked_while_cases_run_and_is_free_afterwards(
    pytester: pytest.Pytester, before: str, after: bool
) -> None:
    run = "pytest.main(['-p', 'recall', 'eval', '-s', '-W', 'error'])"
    script = f"import gc, pytest; {run}; print('frozen:', gc.get_freeze_count() > 0)"
    checkout = SET.with_files({"eval/conftest.py": before + AGENT}).at(pytester)
    done = pytester.run(sys.executable, "-c", script)
    assert checkout.outcomes() == {"a": "passed"}
    assert f"frozen while pytest looks: {after}" in done.outlines
    assert f"frozen: {after}" in done.outlines
    assert "collecting at the end: True" in done.outlines


looks_for_garbage = pytest.mark.skipif(
    pytest.version_tuple < (8, 4), reason="pytest looks for what was not closed from 8.4 on"
)


@looks_for_garbage
def test_what_collection_left_in_a_cycle_is_still_found(pytester: pytest.Pytester) -> None:
    checkout = SET.with_files({"eval/conftest.py": AGENT + LEFT}).at(pytester)
    done = checkout.run_afresh("-W", "error", "--tb=short")
    assert done.ret != pytest.ExitCode.OK
    assert "left in a cycle since collection" in done.stdout.str() + done.stderr.str()


@looks_for_garbage
def test_what_a_test_leaves_in_a_cycle_is_found_by_itself(pytester: pytest.Pytester) -> None:
    conftest = AGENT + LEFT.replace('globals().pop("left", None)', "Left()").replace("left = Left()\n", "")
    done = SET.with_files({"eval/conftest.py": conftest}).at(pytester).run_afresh("--tb=short")
    assert "left in a cycle since collection" in done.stdout.str() + done.stderr.str()


def test_it_was_off_before_and_stays_off(pytester: pytest.Pytester) -> None:
    agent = AGENT.replace("gc.isenabled()", "not gc.isenabled()", 1)
    files = {"conftest.py": "import gc\ngc.disable()\n", "eval/conftest.py": agent}
    checkout = SET.with_files(files).at(pytester)
    done = checkout.run_afresh("-s")
    assert checkout.outcomes() == {"a": "passed"}
    assert "collecting at the end: False" in done.outlines


def test_it_is_on_again_after_a_plan_that_was_refused(pytester: pytest.Pytester) -> None:
    files = {"conftest.py": AGENT, "eval/rubric.yaml": "owner: x\nmode: nonsense\n"}
    done = SET.with_files(files).at(pytester).run_afresh("-s")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "collecting at the end: True" in done.outlines
