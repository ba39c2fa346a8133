"""The play of the schedule: the package decides, a seed always draws the same, and money is trials at their price."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_recall.schedule.boxes import review
from pytest_recall.schedule.sizing import CONFIRM, nightly_cases
from pytest_recall.trials.series import Rule, confirming
from pytest_recall.trials.trial import Outcome
from tests.helpers.scripts import loaded

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "schedule"
HISTORIES = os.environ.get("RECALL_EVAL_HISTORY")
TWO_OF_THREE = confirming("2of3")
SMALL = {"cases": 60, "pulls": 2, "days": 60, "warm_up": 10}


@pytest.fixture(scope="module")
def play() -> Iterator[ModuleType]:
    """The script as a module; those that it imports are beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield loaded(FOLDER / "play.py")


@pytest.fixture
def call(
    play: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Call the script; return its exit code and what it prints."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["play.py", *map(str, arguments)])
        try:
            code = play.main()
        except SystemExit as ended:
            code = ended.code
        return code, *capsys.readouterr()

    return call


def drawn(play: ModuleType, seed: int = 0, *, nightly: int = 10, rule: str = CONFIRM, **team: Any) -> Any:
    """Return the months of a small team, played to their end."""
    months = sys.modules["drift"].Months(
        play.Team(**{**SMALL, **team}), play.Sizes(nightly, 25, 5, 25), confirming(rule), seed
    )
    return months, months.play()


# Months in which cases break by themselves


def test_a_seed_always_draws_the_same(play: ModuleType) -> None:
    (first, figures), (again, same), (_, other) = (drawn(play, seed, drift=0.02) for seed in (3, 3, 4))
    assert figures == same
    assert first.rows == again.rows
    assert figures != other


def test_what_happens_does_not_hang_on_the_sizes_and_the_rule(play: ModuleType) -> None:
    months = [
        sys.modules["drift"].Months(play.Team(**SMALL), play.Sizes(nightly, 25, 5, 25), confirming(rule), 1)
        for nightly, rule in ((10, "2of3"), (60, CONFIRM))
    ]
    times = [[(time, order) for time, order, _ in one._agenda] for one in months]
    assert times[0] == times[1]


def test_money_is_the_trials_at_their_price(play: ModuleType) -> None:
    months, figures = drawn(play, drift=0.02, usd=0.25)
    assert figures.usd == pytest.approx(figures.trials * 0.25)
    assert figures.trials == pytest.approx(months.trials / 50)
    # Where nothing fails, each case that is chosen takes one trial.
    months, figures = drawn(play, drift=0.0, flakes=(0.0,))
    assert months.trials == sum(months.nights) + sum(months.pull_requests)
    assert figures.trials == pytest.approx(figures.night + 2 * figures.pull_request)
    assert figures.demotions == 0
    assert figures.delay_mean is None


def test_rows_move_by_the_review_of_the_package_alone(play: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    reviewed = {}

    def watched(row: Any, trial: Any, today: Any) -> Any:
        after = review(row, trial, today)
        if after is not None:
            reviewed[trial.case_id] = after
        return after

    monkeypatch.setattr(sys.modules["drift"], "review", watched)
    months, _ = drawn(play, drift=0.02)
    assert months.rows == reviewed
    assert {row.box for row in months.rows.values()} >= {2, 3, 4, 5}
    monkeypatch.setattr(sys.modules["drift"], "review", lambda row, trial, today: None)
    assert not drawn(play, drift=0.02)[0].rows


def test_a_fail_is_what_the_rule_of_the_package_takes_for_one(
    play: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert drawn(play, drift=0.05, rule="2of3")[0].delays

    def undecided(rule: Rule, outcomes: Sequence[Outcome]) -> Outcome | None:
        return Outcome.ERROR

    monkeypatch.setattr(Rule, "decided", undecided)
    months, figures = drawn(play, drift=0.05, rule="2of3")
    assert not months.delays
    assert not months.rows
    assert figures.delay_mean > 10, "what is never found has waited until the end"


def test_a_dead_case_is_noticed_within_two_sweeps_and_a_larger_night_notices_it_sooner(play: ModuleType) -> None:
    means = []
    for nightly in (nightly_cases(60), 20, 60):
        months, figures = drawn(play, nightly=nightly, pulls=0, drift=0.01, flakes=(0.0,), days=120)
        assert len(months.delays) > 20
        # The last of a sweep waits for all others, and for what is due once more before it.
        assert max(months.delays) <= 2 * 60 / nightly
        means.append(figures.delay_mean)
    assert means == sorted(means, reverse=True)
    assert means[-1] < 1


def test_a_night_asks_all_that_is_due_and_is_filled(play: ModuleType) -> None:
    _, filled = drawn(play, drift=0.0, flakes=(0.0,))
    assert filled.longest_night >= filled.night >= 10
    # After one run of all cases they stay due together, and no night is so long that it would cap them.
    _, wave = drawn(play, drift=0.0, flakes=(0.0,), at_once=True)
    assert wave.longest_night == 60


def test_pull_requests_ask_less_after_the_night_than_before_it(play: ModuleType) -> None:
    first, last = (drawn(play, night_last=night_last)[1] for night_last in (False, True))
    assert first.pull_request < last.pull_request


# Histories of changes


def change(commit: str, day: int, **more: Any) -> dict[str, Any]:
    """Return the line of a merged change."""
    return {"commit": commit, "date": f"2026-01-{day:02}", "source": True, **more}


SOUND, DEAD = [10, 0], [0, 10]
LINES = [
    change("a", 1, cases=[[0, "first", ["x"], SOUND], [1, "second", ["y"], SOUND], [2, "third", ["z"], None]]),
    change("b", 4, changed=[[0, ["x"], ["x2"], SOUND, DEAD], [2, ["z"], ["z2"], None, None]]),
    change("c", 7, changed=[[1, ["y"], ["y"], SOUND, DEAD]]),
    change("d", 10, changed=[[0, ["x2"], ["x3"], DEAD, SOUND]], added=[[3, "fourth", ["w"], SOUND]], removed=[2]),
]


def written(path: Path, lines: Sequence[dict[str, Any]] = LINES) -> Path:
    """Return the file of a history."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_change_asks_what_it_affects_once_and_a_fail_is_confirmed(play: ModuleType, tmp_path: Path) -> None:
    history = play.read_history(written(tmp_path / "h.jsonl"))
    assert (history.days, history.counted, len(history.changes)) == (10, True, 4)
    figures = play.play_changes(history, TWO_OF_THREE, usd=0.5)
    # Two cases of the first, one of which has no counts, and one of the last: the second case is not affected.
    assert figures.cases * 10 == 3
    assert figures.trials * 10 == 4
    assert figures.usd == pytest.approx(0.2)
    # Of the two that broke a case one shows it.
    assert (figures.bad, figures.caught, figures.false_alarms) == (2, 0.5, 0)
    assert play.play_changes(history, TWO_OF_THREE, usd=0.5) == figures


def test_a_fail_where_nothing_fell_is_a_false_alarm(play: ModuleType, tmp_path: Path) -> None:
    half = [5, 5]
    lines = [change("a", 1, cases=[[at, f"case {at}", ["x"], half] for at in range(40)])]
    lines += [
        change(f"b{day}", day, changed=[[at, ["x"], [f"x{day}"], half, half] for at in range(40)]) for day in (2, 3)
    ]
    figures = play.play_changes(play.read_history(written(tmp_path / "h.jsonl", lines)), TWO_OF_THREE, usd=1)
    assert figures.false_alarms > 0
    assert (figures.bad, figures.caught) == (0, None)


def test_without_counts_there_is_a_price_and_no_verdict(
    tmp_path: Path, call: Callable[..., tuple[int, str, str]]
) -> None:
    lines = [
        change("a", 1, cases=9, changed=[[4, "agent/fourth", ["x"], ["y"], True], [5, "fifth", ["x"], ["x"], True]])
    ]
    path = written(tmp_path / "h.jsonl", lines)
    code, out, _ = call("changes", "--history", path, "--usd", "2")
    assert code == 0
    assert "| all affected, once | 2.00 | 1.0 |" in out
    assert "no verdicts on record" in out
    assert call("confirm", "--history", path)[0] == 2


@pytest.mark.skipif(HISTORIES is None, reason="RECALL_EVAL_HISTORY names no folder with histories")
def test_real_changes_are_caught_by_what_they_affect(play: ModuleType) -> None:
    history = play.read_history(Path(HISTORIES or "") / "copilot-chat.jsonl.gz")
    draws = [play.play_changes(history, TWO_OF_THREE, 0.04, seed) for seed in range(4)]
    assert {(one.bad, round(one.cases * history.days)) for one in draws} == {(9, 2987)}
    assert sum(one.caught for one in draws) / 4 == pytest.approx(0.85, abs=0.15)
    assert all(one.usd < 1.2 for one in draws)
    rates = sorted(rate for rate, cases in play.FLAKES.items() for _ in range(cases))
    assert list(play.flakes(history, play.LEAST_RATE)) == pytest.approx(rates)


# The command line


def test_drift_prints_the_formula_and_which_targets_are_missed(call: Callable[..., tuple[int, str, str]]) -> None:
    team = ("--cases", 60, "--days", 40, "--warm-up", 10, "--seeds", 2)
    code, out, _ = call("drift", *team, "--nightly-cases", 5, 60, "--drift", "1/20")
    assert code == 0, "one of the sizes meets all of them"
    assert "nightly_cases = cases / 6, 10 at least: 10 for 60 cases" in out
    assert "\n60: meets all targets, with 0.10 false demotions a day of at most 0.25\n" in out
    assert "days in the mean are more than 3.5" in out
    code, out, _ = call("drift", *team, "--usd", 10, "--json")
    assert code == 1
    result = json.loads(out)
    assert list(result["sizes"]) == ["10"]
    assert "US dollars a day are more than 8" in result["missed"]["10"][0]


def test_drift_misses_its_targets_by_too_many_false_demotions(call: Callable[..., tuple[int, str, str]]) -> None:
    team = ("--cases", 60, "--days", 60, "--warm-up", 10, "--seeds", 1, "--nightly-cases", 60)
    code, out, _ = call("drift", *team, "--flaky", 0.4, "--confirm", "1of1")
    assert code == 1
    assert "false demotions a day are more than 0.25" in out


def test_without_options_the_rule_is_that_of_the_recommended_rubric(
    play: ModuleType, tmp_path: Path, call: Callable[..., tuple[int, str, str]]
) -> None:
    path = written(tmp_path / "h.jsonl")
    assert "| 2of3 |" in call("changes", "--history", path, "--seeds", 1)[1]
    team = ("--cases", 60, "--days", 20, "--warm-up", 10, "--seeds", 1)
    result = json.loads(call("confirm", "--history", path, *team, "--json")[1])
    assert list(result["rules"]) == [CONFIRM]
    # Cases that a change affects have the rule of changes, under each `evidence`.
    assert play._changes(play.read_history(path), confirming(CONFIRM), 1, 3) == play._changes(
        play.read_history(path), TWO_OF_THREE, 1, 3
    )


def test_confirm_compares_rules_on_due_and_on_affected_cases(
    tmp_path: Path, call: Callable[..., tuple[int, str, str]]
) -> None:
    path = written(tmp_path / "h.jsonl")
    team = ("--cases", 60, "--days", 20, "--warm-up", 10, "--seeds", 1, "--confirm", "2of3", CONFIRM)
    code, out, _ = call("confirm", "--history", path, *team, "--json")
    assert code == 0
    result = json.loads(out)
    assert list(result["rules"]) == ["2of3", CONFIRM]
    assert result["rules"]["2of3"]["caught"]["value"] == 0.5
    assert result["within_target"] == {"2of3": True, CONFIRM: True}


@pytest.mark.parametrize(
    ("line", "said"),
    [("{", "h.jsonl:1: is no change"), ('{"commit": "a"}', "'date'"), ('{"commit": "a", "date": "now"}', "now")],
)
def test_a_line_that_is_wrong_is_named(
    tmp_path: Path, call: Callable[..., tuple[int, str, str]], line: str, said: str
) -> None:
    (tmp_path / "h.jsonl").write_text(line, encoding="utf-8")
    code, out, err = call("changes", "--history", tmp_path / "h.jsonl")
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("drift", "--days", "9", "--warm-up", "9"), "none would be left"),
        (("drift", "--seeds", "0"), "--seeds: 0 is too few"),
        (("confirm", "--history", "h", "--days", "9", "--warm-up", "9"), "none would be left"),
        (("drift", "--confirm", "4of3"), "4of3"),
        (("drift", "--drift", "1/0"), "write 0.05 or 1/20"),
        (("changes", "--history", "nowhere.jsonl"), "nowhere.jsonl: cannot be read"),
    ],
)
def test_a_mistake_is_said(call: Callable[..., tuple[int, str, str]], arguments: Sequence[str], said: str) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert said in err
