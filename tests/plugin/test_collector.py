"""The garbage collector: held off what stays while cases run, and left as it was found."""

from __future__ import annotations

import pytest

from tests.helpers.project import BARE, case

AGENT = """
import gc
import pytest


@pytest.fixture
def agent():
    return lambda question: "held" if gc.get_freeze_count() else "free"


def pytest_unconfigure():
    print("frozen at the end:", gc.get_freeze_count() > 0)
"""
EARLIER = "import gc\ngc.freeze()\n"
SET = BARE.with_cases(case("a", input="x", expected="held"))


@pytest.mark.parametrize(("before", "after"), [("", False), (EARLIER, True)], ids=["ours", "somebody-else's"])
def test_what_stays_is_not_walked_while_cases_run(pytester: pytest.Pytester, before: str, after: bool) -> None:
    checkout = SET.with_files({"eval/conftest.py": before + AGENT}).at(pytester)
    done = checkout.run_apart("-s")
    assert checkout.outcomes() == {"a": "passed"}
    assert f"frozen at the end: {after}" in done.outlines
