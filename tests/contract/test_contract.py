"""What every command that asks questions promises of a run that is stopped, resumed, or made again.

All of these are facts: exit codes, what a journal has, and what the model behind the agent or the memory was asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.run_stop import RunStop
from tests.contract.subjects import FIRST, SECOND, SUBJECTS, USD, Finding, Site, Subject, codes, open_ids
from tests.helpers.screens import assert_screen
from tests.models.endpoint import Answer, failure

Whole = tuple[list[str], Finding]
"""What is asked by a run that nothing stops, and what it comes to."""
Screen = Callable[[], None]


@pytest.fixture(scope="module", params=SUBJECTS, ids=lambda one: str(one.name))
def subject(request: pytest.FixtureRequest) -> Subject:
    """Each of the commands."""
    found: Subject = request.param
    return found


@pytest.fixture
def site(subject: Subject, tmp_path: Path) -> Iterator[Site]:
    """Its project."""
    made = Site(subject, tmp_path / "site")
    yield made
    made.close()


@pytest.fixture(scope="module")
def whole(subject: Subject, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """See the type."""
    made = Site(subject, tmp_path_factory.mktemp("whole") / "site")
    assert made.run() == 0
    asked, finding = made.questions(), made.finding()
    made.close()
    assert [*finding.answers] == [id for id, _ in made.record.header.picks]
    assert {outcome for outcome, _ in finding.answers.values()} == {"passed", "failed"}
    return asked, finding


@pytest.fixture
def screen(site: Site, request: pytest.FixtureRequest) -> Screen:
    """Asserts what the commands of a test have said: the sentences about stops are in these screens, nowhere else."""
    name = request.node.name.removeprefix("test_").replace(" ", "-").replace("[", "-").removesuffix("]")
    path = Path(__file__).with_name("screens") / f"{name}.txt"
    return lambda: assert_screen(path, site.screen())


@pytest.mark.parametrize("count", [0, 5])
def test_a_killed_run_is_resumed_and_asks_what_is_open(site: Site, whole: Whole, screen: Screen, count: int) -> None:
    asked, finding = whole
    site.killed(count)
    assert site.questions() == asked[: count + 1]
    before = site.record
    assert (before.exit_code, before.stop, len(before.trials)) == (None, None, count)
    assert open_ids(before) == [*finding.answers][count:]
    assert site.run(*site.subject.resume) == 0
    assert site.questions() == asked[count:]
    assert site.record.trials[:count] == before.trials
    assert site.finding() == finding
    assert site.journals == 1
    screen()


def test_a_run_may_be_killed_time_and_again(site: Site, whole: Whole) -> None:
    asked, finding = whole
    site.killed(1)
    site.killed(2, *site.subject.resume)
    site.questions()
    assert site.run(*site.subject.resume) == 0
    assert site.questions() == asked[3:]
    assert site.finding() == finding


def test_an_answer_of_which_the_line_was_cut_off_is_asked_again(site: Site, whole: Whole) -> None:
    asked, finding = whole
    site.killed(2)
    site.questions()
    site.journal.write_bytes(site.journal.read_bytes()[:-20])
    assert open_ids(site.record) == [*finding.answers][1:]
    assert site.run(*site.subject.resume) == 0
    assert site.questions() == asked[1:]
    assert site.finding() == finding


def test_killed_among_several_questions_at_once_it_asks_no_verdict_again(site: Site, whole: Whole) -> None:
    asked, finding = whole
    site.killed(3, *site.subject.three_at_once, calls=3)
    before = site.record
    assert site.run(*site.subject.resume, *site.subject.three_at_once) == 0
    assert site.record.trials[: len(before.trials)] == before.trials
    assert open_ids(site.record) == []
    every = Counter(site.questions())
    assert every.keys() == {*asked}
    assert every.total() <= len(asked) + 3, "those that it waited for, and no other"
    assert site.finding().answers == finding.answers


def test_all_is_asked_again_where_that_is_what_is_asked_for(site: Site, whole: Whole, screen: Screen) -> None:
    asked, finding = whole
    site.killed(3)
    for journals in (2, 3):
        site.questions()
        assert site.run(*site.subject.fresh) == 0
        assert site.questions() == asked
        assert site.finding().answers == finding.answers
        assert site.journals == journals, "nothing is lost"
    screen()


def test_a_budget_ends_a_run_and_a_larger_one_pays_for_the_rest(site: Site, whole: Whole, screen: Screen) -> None:
    asked, finding = whole
    assert site.run(f"--budget={2.5 * USD}") == 2
    assert site.questions() == asked[:2]
    record = site.record
    assert (record.exit_code, record.stop) == (2, RunStop("budget", kind="no-room", usd=2.5 * USD))
    assert open_ids(record) == [*finding.answers][2:]
    assert site.run(*site.subject.resume, f"--budget={3.5 * USD}") == 2
    count = 3 if site.subject.one_budget else 5
    assert site.questions() == asked[2:count]
    assert site.record.stop == RunStop("budget", kind="no-room", usd=3.5 * USD)
    assert site.run(*site.subject.resume, "--budget=1") == 0
    assert site.questions() == asked[count:]
    assert site.finding() == finding
    screen()


@pytest.mark.parametrize("count", [3, None], ids=["killed", "finished"])
def test_answers_of_two_codes_are_in_no_result(site: Site, whole: Whole, screen: Screen, count: int | None) -> None:
    asked, _ = whole
    if count is None:
        site.run()
    else:
        site.killed(count)
    site.questions()
    site.write_code(SECOND)
    assert site.run(*site.subject.resume) == 0
    again = site.questions()
    assert open_ids(site.record) == []
    if site.subject.sees_code:
        assert (again, codes(site.record), site.journals) == (asked, {SECOND}, 2)
        assert codes(read_journal(site.folder / "o/earlier-1")) == {FIRST}
        assert site.recall("compare", "o/earlier-1", "o").code == 0
    elif count is None:
        assert (again, codes(site.record)) == ([], {FIRST})
    else:
        assert (again, codes(site.record)) == (asked[count:], {FIRST, SECOND})
    screen()


def test_ctrl_c_ends_a_run_that_can_be_resumed(site: Site, whole: Whole, screen: Screen) -> None:
    asked, finding = whole
    assert site.interrupted(4) == site.subject.interrupted
    screen()
    assert site.questions() == asked[:5]
    record = site.record
    assert (record.exit_code, record.stop) == (site.subject.interrupted, RunStop("interrupted"))
    assert len(record.trials) in (4, 5)
    assert open_ids(record) == [*finding.answers][len(record.trials) :]
    assert site.run(*site.subject.resume) == 0
    assert site.questions() == asked[len(record.trials) :]
    assert site.finding() == finding


def test_a_finished_run_is_not_changed_by_the_command_that_resumes(site: Site, whole: Whole, screen: Screen) -> None:
    _, finding = whole
    assert site.run() == 0
    site.questions()
    before = site.record
    assert site.run(*site.subject.resume) == 0
    assert site.questions() == []
    assert site.record.trials == before.trials
    assert site.finding() == finding
    assert site.journals == 1
    screen()


@pytest.mark.parametrize("answer", [failure(503), Answer(0)], ids=["refuses", "hangs up"])
def test_an_outage_is_no_verdict(site: Site, whole: Whole, screen: Screen, answer: Answer) -> None:
    asked, finding = whole
    assert site.run(answers=1, then=answer) == site.subject.unanswered
    assert site.questions() == asked[:6], "it stops asking after five in a row"
    record = site.record
    assert record.stop is not None
    assert (record.exit_code, record.stop.cause, record.stop.in_a_row) == (
        site.subject.unanswered,
        site.subject.outage,
        5,
    )
    assert [one.outcome.value for one in record.trials[1:]] == ["error"] * 5
    assert open_ids(record) == [*finding.answers][1:]
    verdicts = site.finding().card["counts"]
    assert (verdicts.get("passed", 0), verdicts.get("failed", 0)) == (1, 0)
    assert site.run(*site.subject.resume) == 0
    assert site.questions() == asked[1:]
    assert site.finding().answers == finding.answers
    screen()


def test_a_run_that_still_runs_is_resumed_by_no_other_command(site: Site, whole: Whole, screen: Screen) -> None:
    asked, _ = whole
    with site.waiting(2):
        before = site.record
        assert site.ended(site.begin(*site.subject.resume)).code == site.subject.refused
        assert site.questions() == asked[:3]
        assert site.record == before
    screen()
