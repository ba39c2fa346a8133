"""Cases without a verdict do not stall the schedule: they are noted, rest, and leave the slice to the others."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tests.helpers.project import DAY, ECHOING, case, crashing, row
from tests.plugin.conftest import unnamed

FIVE = "owner: us\nmax_due_cases: 5\n"


def test_a_run_notes_them_and_prints_how_old_the_verdicts_are(pytester: pytest.Pytester) -> None:
    checkout = (
        ECHOING.with_cases(case("a"), case("b"), crashing("lost"))
        .with_state(a=row(2), b=row(4, tested="2026-03-03", due="2026-04-01"), lost=row(2, tested="2026-02-08"))
        .at(pytester)
    )
    result = checkout.run("eval", "-n1")
    result.stdout.fnmatch_lines(
        [
            "oldest verdict: 30 days old, of lost; 0 cases overdue",
            "without a verdict when last asked (1): lost (asked on 1 day)",
        ]
    )
    assert checkout.boxes() == {"a": 3, "b": 4, "lost": 2}
    text = unnamed(checkout.state_text())
    assert f"rows: 3\nunanswered:\n  lost:\n    {{last_asked: {DAY}, days: 1}}\ncases:\n" in text
    result = checkout.run("eval", day="2026-03-11")
    result.stdout.fnmatch_lines(["*lost (asked on 2 days, again from 2026-03-13 on)"])
    result = checkout.run("eval", day="2026-03-12")
    assert "lost" not in checkout.slice()
    assert "unanswered" in str(checkout.state_text())
    told = checkout.recall("status", "--date", "2026-03-12").outlines
    assert "without a verdict when last asked (1): lost (asked on 2 days, again from 2026-03-13 on)" in told


def test_ten_runs_leave_no_healthy_case_behind(pytester: pytest.Pytester) -> None:
    """20 cases, 5 a run, of which 6 always skip: did they not rest, they would be each run."""
    names = [f"c{n:02}" for n in range(20)]
    rows = {name: row(2, tested="2026-03-01", due="2026-03-02") for name in names}
    agent = """
@pytest.fixture
def agent():
    def answer(question):
        if question < "c06":
            pytest.skip("needs a key")
        return question

    return answer
"""
    project = ECHOING.with_cases(*map(case, names)).with_agent(agent).with_state(**rows)
    checkout = project.with_files({"eval/rubric.yaml": FIVE}).at(pytester)
    first = date.fromisoformat(DAY)
    for number in range(10):
        checkout.run("eval", day=(first + timedelta(number)).isoformat())
    state = checkout.state()
    healthy = [name for name in names if name >= "c06"]
    # Without a rest it would be the first day, or none.
    assert min(state[name].last_tested for name in healthy) >= first + timedelta(3)
    result = checkout.run("eval", day=(first + timedelta(10)).isoformat())
    result.stdout.fnmatch_lines(["oldest verdict: 19 days old, of c0*", "without a verdict when last asked (6): *"])


def test_an_error_in_a_replay_is_none_that_a_case_rests_for(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(crashing("a"), case("b")).at(pytester)
    checkout.path.joinpath("eval/cassettes").mkdir()
    before = checkout.state_text()
    checkout.run("eval", "--replay").assert_outcomes(passed=1, errors=1)
    assert checkout.journal().trials[0].source == "replayed"
    assert "unanswered" not in (checkout.state_text() or "")
    assert before is None
