"""Modes, dates and seeds: which slice runs, and that it is the same one every time."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from tests.helpers import kept
from tests.helpers.project import DAY, ECHOING, IN, Checkout, case, row

ROWS = {
    "retest": row(1, 0, due=IN[1]),
    "due_old": row(2, due="2026-01-01"),
    "due_new": row(4, due="2026-03-10"),
    "later": row(3, due=IN[3]),
}
SET = ECHOING.with_cases(*(case(name.replace("_", "-")) for name in ROWS), case("fresh")).with_state(**ROWS)
MANY_NEW = ECHOING.with_cases(*(case(f"c{number:02}") for number in range(40)))


def chosen(checkout: Checkout, *args: str, day: str | None = "2026-03-10") -> list[str]:
    """Return the ids that a run with `args` chooses, from its own record."""
    assert checkout.run("eval", *args, day=day).ret == 0
    return sorted(checkout.slice())


def by_default(pytester: pytest.Pytester) -> Checkout:
    """Return where `SET` was run without any option."""
    return kept.ran(pytester, SET, "eval")[0]


def test_by_default_a_run_is_that_of_a_pull_request(pytester: pytest.Pytester) -> None:
    checkout = by_default(pytester)
    expected = {"retest": "box 1", "due-old": "due", "due-new": "due", "fresh": "new"}
    assert checkout.outcomes() == dict.fromkeys(expected, "passed")
    assert checkout.slice() == expected
    assert checkout.asked() == sorted(expected)
    assert checkout.today()["mode"] == "pr"


def test_all_are_chosen_by_a_mode_of_that_name(pytester: pytest.Pytester) -> None:
    expected = dict.fromkeys(["retest", "due-old", "due-new", "later", "fresh"], "all")
    checkout = SET.at(pytester)
    checkout.run("eval", "--recall-mode", "all").assert_outcomes(passed=len(expected))
    assert checkout.slice() == expected
    assert checkout.asked() == sorted(expected)
    assert checkout.today()["mode"] == "all"


def test_the_rubric_sets_cap_sample_and_model(pytester: pytest.Pytester) -> None:
    rubric = "owner: us\nmodel_primary: m-1\nnightly_cases: 3\nnew_traffic_sample: 0\n"
    checkout = SET.with_files({"eval/rubric.yaml": rubric}).at(pytester)
    checkout.run("eval", "--recall-mode=nightly").assert_outcomes(passed=3)
    assert checkout.slice() == {"due-old": "due", "due-new": "due", "fresh": "new"}
    assert checkout.journal().header.model == "m-1"
    assert checkout.scorecard()["owner"] == "us"


def test_a_pull_request_runs_the_longest_overdue_up_to_the_cap(pytester: pytest.Pytester) -> None:
    rubric = "owner: us\nmax_due_cases: 1\n"
    checkout = SET.with_files({"eval/rubric.yaml": rubric}).at(pytester)
    result = checkout.run("eval")
    assert checkout.slice() == {"retest": "box 1", "due-old": "due", "fresh": "new"}
    result.stdout.fnmatch_lines(
        [
            "recall: pr 2026-03-10, seed 2026-03-10: 3 of 5 cases (1 box 1, 1 due, 1 new);"
            " not run: 1 not due until 2026-03-13, 1 beyond the limit of one run"
        ]
    )


def test_today_yaml_says_what_was_chosen_from_what_and_why(pytester: pytest.Pytester) -> None:
    digest = SET.at(pytester).state_digest()
    today = by_default(pytester).today()
    assert today.pop("cases") == [
        {"id": "retest", "reason": "box 1", "box": 1, "next_due": "2026-03-11"},
        {"id": "due-old", "reason": "due", "box": 2, "next_due": "2026-01-01"},
        {"id": "due-new", "reason": "due", "box": 4, "next_due": "2026-03-10"},
        {"id": "fresh", "reason": "new"},
    ]
    assert today == {
        "mode": "pr",
        "date": "2026-03-10",
        "seed": "2026-03-10",
        "state": f"sha256:{digest}",
        "chosen": 4,
        "of": 5,
    }


def test_recall_select_writes_the_slice_that_the_run_then_has(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    assert checkout.recall("schedule", "select", "--mode", "pr", "--date", DAY, "--seed", DAY).ret == 0
    selected = (checkout.artifacts.folder / "today.yaml").read_text()
    checkout.forget()
    assert (by_default(pytester).artifacts.folder / "today.yaml").read_text() == selected


def test_the_seed_draws_whatever_the_order_of_the_file_and_with_workers(pytester: pytest.Pytester) -> None:
    checkout = MANY_NEW.at(pytester)
    result = checkout.run("eval", "--recall-seed", "7")
    result.stdout.fnmatch_lines(["recall: pr 2026-03-10, seed 7: 5 of 40 cases (5 new); not run: 35 new, not drawn"])
    drawn = sorted(checkout.slice())
    shuffled = ECHOING.with_cases(*(case(f"c{number:02}") for number in reversed(range(40)))).at(pytester)
    shuffled.forget()
    assert chosen(shuffled, "-n1", "--recall-seed", "7") == drawn
    shuffled.forget()
    assert chosen(shuffled, "--recall-seed", "2") != drawn


class TestGitHub:
    """The environment of GitHub's workflows is the default."""

    def test_the_pull_request_is_seed_and_is_noted_and_the_day_is_today_in_utc(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GITHUB_REF", "refs/pull/17/merge")
        monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request")
        checkout = SET.at(pytester)
        before = datetime.now(UTC).date()
        chosen(checkout, day=None)
        # Midnight may lie in between.
        assert before <= date.fromisoformat(checkout.today()["date"]) <= datetime.now(UTC).date()
        assert (checkout.today()["seed"], checkout.today()["mode"]) == ("17", "pr")
        assert checkout.state()["fresh"].last_pr == "17"

    def test_a_scheduled_workflow_is_nightly(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GITHUB_REF", "refs/heads/main")
        monkeypatch.setenv("GITHUB_EVENT_NAME", "schedule")
        checkout = SET.at(pytester)
        chosen(checkout)
        assert checkout.today()["mode"] == "nightly"
        assert checkout.slice() == {"due-old": "due", "due-new": "due", "fresh": "new"}
        assert checkout.asked() == sorted(checkout.slice())
        assert checkout.state()["fresh"].last_pr is None

    def test_the_command_line_is_stronger(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GITHUB_REF", "refs/pull/17/merge")
        monkeypatch.setenv("GITHUB_EVENT_NAME", "schedule")
        checkout = SET.at(pytester)
        chosen(checkout, "--recall-mode=pr", "--recall-pr=18", "--recall-seed=s", "--model=m-2")
        assert (checkout.today()["seed"], checkout.today()["mode"]) == ("s", "pr")
        assert checkout.state()["fresh"].last_pr == "18"
        assert checkout.journal().header.model == "m-2"


def test_a_second_run_takes_what_the_first_one_left(pytester: pytest.Pytester) -> None:
    """What was promoted is not due any more; what it is compared with is another matter."""
    assert chosen(by_default(pytester)) == ["fresh"]
