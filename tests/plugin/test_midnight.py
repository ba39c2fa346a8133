"""Midnight: a run has one date, the controller's at its start, wherever and whenever its cases end."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.helpers.project import BARE, ECHOING, WORKERS, case, row

LATER = "2091-01-01"
# The clock of this package, and of nothing else, jumps ahead: in a worker from the start, as
# if midnight lay between two processes; elsewhere with the first case.
CLOCK = f"""
import os
from datetime import datetime
import pytest
from pytest_recall.files import clock


def jump(patch):
    patch.setattr(clock, "now", lambda: datetime.fromisoformat("{LATER}T00:00:01+00:00"))


def pytest_configure(config):
    if "PYTEST_XDIST_WORKER" in os.environ:
        patch = pytest.MonkeyPatch()
        config.add_cleanup(patch.undo)
        jump(patch)


@pytest.fixture(scope="session", autouse=True)
def midnight():
    with pytest.MonkeyPatch.context() as patch:
        jump(patch)
        yield
"""
MARKED = '\nimport pytest\n\n@pytest.mark.recall("marked")\ndef test_marked():\n    pass\n'
SET = (
    ECHOING.with_cases(case("a"), case("b"), case("later"))
    .with_state(later=row(5, due="2090-12-31"), marked=row(5, due="2090-12-31"))
    .with_files({"conftest.py": CLOCK, "eval/test_marked.py": MARKED})
)


@WORKERS
def test_a_run_over_midnight_has_the_date_of_its_start(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    checkout = SET.at(pytester)
    before = datetime.now(UTC).date()
    checkout.run("eval", *workers, day=None)
    after = datetime.now(UTC).date()
    assert set(checkout.outcomes()) == {"a", "b"}
    days = {row.last_tested for name, row in checkout.state().items() if name in checkout.outcomes()}
    assert len(days) == 1
    assert before <= days.pop() <= after
    assert LATER not in checkout.today()["date"]


def test_a_suite_of_marked_tests_alone_draws_with_the_date_of_the_controller(pytester: pytest.Pytester) -> None:
    source = "import pytest\n" + "".join(
        f'\n@pytest.mark.recall("m{n}")\ndef test_m{n}():\n    pass\n' for n in range(20)
    )
    checkout = BARE.with_files({"conftest.py": CLOCK, "test_marked.py": source}).at(pytester)
    checkout.run("-n1", day=None)
    drawn, day = set(checkout.outcomes()), checkout.journal().header.date
    checkout.forget()
    checkout.run(day=day)
    assert len(drawn) == 5
    assert drawn == set(checkout.outcomes())
