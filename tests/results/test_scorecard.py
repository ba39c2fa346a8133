"""The scorecard: counts, moves, regressions, and what the slice could not see."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.cases.gate import Blocks
from pytest_recall.replay.exchange import Call
from pytest_recall.results.evaluation_text import not_compared_text
from pytest_recall.results.scorecard import Scorecard, blocking, summarize, waivable
from pytest_recall.schedule.boxes import reset
from pytest_recall.trials.record import FailedItem, NotCompared, NotEvaluated, Record, Waiver
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.trial import Outcome, Row, Trial
from tests.helpers.samples import ERROR, FAILED, PASSED, SKIPPED, TODAY, days, failing, header, row, trial


def test_counts_by_outcome_and_group() -> None:
    trials = [
        trial("a", PASSED, reason="due", scenario="fees", dimension="facts"),
        trial("b", FAILED, reason="due", scenario="fees", dimension="tone"),
        trial("c", ERROR, reason="new", scenario="opening", dimension="facts"),
        trial("d", SKIPPED, reason="new"),
    ]
    card = summarize(trials, [(t.case_id, t.reason) for t in trials], 10, TODAY)
    assert card.counts == {"passed": 1, "failed": 1, "error": 1, "skipped": 1}
    assert card.by_reason == {"due": {"passed": 1, "failed": 1}, "new": {"error": 1, "skipped": 1}}
    assert card.by_scenario == {"fees": {"passed": 1, "failed": 1}, "opening": {"error": 1}}
    assert card.by_dimension == {"facts": {"passed": 1, "error": 1}, "tone": {"failed": 1}}
    assert card.not_run == ()


def test_chosen_but_not_run() -> None:
    picks = [("a", "box 1"), ("b", "due"), ("c", "due"), ("d", "new")]
    card = summarize([trial("a", reason="box 1"), trial("b", reason="due")], picks, 10, TODAY)
    assert card.not_run == (("c", "due"), ("d", "new"))
    assert card.counts == {"passed": 2, "not run": 2}
    assert card.by_reason == {"box 1": {"passed": 1}, "due": {"passed": 1, "not run": 1}, "new": {"not run": 1}}


def test_nothing_run() -> None:
    card = summarize([], [], 10, TODAY)
    assert (card.results, card.counts, card.by_reason, card.unseen) == ((), {}, {}, None)


def test_the_last_attempt_grades() -> None:
    known = row(2, 2)
    trials = [trial("a", FAILED, row=known), trial("b", row=known), trial("a", PASSED, row=known, attempt=2)]
    results = summarize(trials, [("a", "due"), ("b", "due")], 2, TODAY).results
    assert [(r.trial.case_id, r.trial.outcome, r.attempts, r.after) for r in results] == [
        ("a", PASSED, 2, 3),
        ("b", PASSED, 1, 3),
    ]


@pytest.mark.parametrize(
    ("box", "outcome", "after"),
    [
        (None, PASSED, 1),
        (None, FAILED, 1),
        (None, ERROR, None),
        (2, PASSED, 3),
        (5, PASSED, 5),
        (4, FAILED, 1),
        (4, ERROR, 4),
        (4, SKIPPED, 4),
    ],
)
def test_moves(box: int | None, outcome: Outcome, after: int | None) -> None:
    known = row(box, box) if box else None
    (result,) = summarize([trial("a", outcome, row=known)], [("a", "due")], 1, TODAY).results
    assert (result.before, result.after) == (box, after)


def test_an_early_pass_does_not_move() -> None:
    known = row(3, 3, due=TODAY + days(2))
    (result,) = summarize([trial("a", row=known)], [("a", "all")], 1, TODAY).results
    assert (result.before, result.after) == (3, 3)


@pytest.mark.parametrize(
    ("known", "outcome", "regression"),
    [
        (row(1, 1), FAILED, True),
        (row(5, 5), FAILED, True),
        (failing(), FAILED, False),
        (None, FAILED, False),
        (row(5, 5), PASSED, False),
        (row(5, 5), ERROR, False),
        (failing(), PASSED, False),
    ],
)
def test_a_regression_is_a_fail_after_a_pass(known: Row | None, outcome: Outcome, regression: bool) -> None:
    (result,) = summarize([trial("a", outcome, row=known)], [("a", "due")], 1, TODAY).results
    assert result.regression is regression


@pytest.mark.parametrize(
    ("known", "regression"), [(row(4, 4, last_model="m1"), True), (failing(last_model="m1"), False)]
)
def test_a_fail_under_a_new_model_is_a_regression_of_what_passed(known: Row, regression: bool) -> None:
    again = {"a": known, **reset({"a": known}, "m2", TODAY)}
    (result,) = summarize([trial("a", FAILED, row=again["a"], model="m2")], [("a", "box 1")], 1, TODAY).results
    assert result.regression is regression


def test_regressions_come_first() -> None:
    trials = [
        trial("c", FAILED, row=failing()),
        trial("d", FAILED, row=row(3, 3)),
        trial("b", FAILED, row=row(2, 2)),
        trial("a", FAILED),
        trial("e", PASSED),
        trial("f", ERROR),
    ]
    card = summarize(trials, [], 6, TODAY)
    assert [r.trial.case_id for r in card.with_outcome(FAILED)] == ["b", "d", "a", "c"]
    assert [r.trial.case_id for r in card.with_outcome(ERROR, SKIPPED)] == ["f"]


def test_only_verdicts_have_seen_anything() -> None:
    trials = [trial(f"case-{number}", PASSED if number % 2 else FAILED) for number in range(25)]
    thirds = [trial(f"crash-{number}", ERROR) for number in range(100)]
    card = summarize(trials + thirds, [], 1000, TODAY)
    assert card.unseen == pytest.approx(0.1129, abs=0.0001)
    assert summarize(thirds, [], 1000, TODAY).unseen is None
    assert summarize(trials, [], 25, TODAY).unseen == 0.0


# What turns a check red: failures by the rule, and whatever keeps a run from showing that there are none


RULES: tuple[Blocks, ...] = ("regression", "failure", "incomplete")
OUTAGE = [trial(f"c{number}", ERROR, error="agent: RuntimeError: 401 invalid api key") for number in range(8)]


def why(
    trials: list[Trial], blocks: Blocks = "regression", allowed: float = 0, left: int = 0, **more: Any
) -> list[str]:
    picks = [(one.case_id, "due") for one in trials] + [(f"left{number}", "due") for number in range(left)]
    record = Record(header(*picks), tuple(trials), 0)._replace(**more)
    return blocking(record, summarize(trials, picks, 40, TODAY), blocks, allowed)


@pytest.mark.parametrize("blocks", RULES)
def test_an_outage_is_never_green(blocks: Blocks) -> None:
    (said,) = why(OUTAGE, blocks)
    assert said == "8 of 8 cases without a verdict, 0 allowed: 8 error (agent: RuntimeError: 401 invalid api key)"
    assert why(OUTAGE, "never") == []


@pytest.mark.parametrize(("allowed", "red"), [(0, True), (9, True), (10, False), (0.8, True), (0.99, True), (1, True)])
def test_a_handful_may_be_allowed(allowed: float, red: bool) -> None:
    """Of ten chosen cases all: 8 errors and two that were not run."""
    assert bool(why(OUTAGE, allowed=allowed, left=2)) == red


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        ([trial("a", PASSED)], [[], [], []]),
        ([trial("a", FAILED, row=row(3))], [["regressed: a"], ["failed: a"], ["failed: a"]]),
        ([trial("a", FAILED)], [[], ["failed: a"], ["failed: a"]]),
        ([trial("a", FAILED, row=failing())], [[], ["failed: a"], ["failed: a"]]),
        (
            [trial("a", SKIPPED)],
            [["1 of 1 cases without a verdict, 0 allowed: 1 skipped (agent: TimeoutError: no answer)"]] * 3,
        ),
    ],
    ids=["passed", "regression", "new", "known", "skipped"],
)
def test_the_rules(trials: list[Trial], said: list[list[str]]) -> None:
    assert [why(trials, blocks) for blocks in RULES] == said


def test_incomplete_allows_none() -> None:
    skipped = [trial("a", SKIPPED)]
    assert [bool(why(skipped, blocks, allowed=1)) for blocks in RULES] == [False, False, True]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"also": (FailedItem("eval/test_x.py::test_x", "call"),)}, "beside the cases: eval/test_x.py::test_x failed"),
        (
            {"also": tuple(FailedItem(name, "call") for name in "abcdefg")},
            "beside the cases: a failed, b failed, c failed, d failed, e failed and 2 more",
        ),
        ({"exit_code": 3}, "pytest ended with 3"),
        ({"exit_code": 2, "stop": RunStop("interrupted")}, "pytest ended with 2: interrupted"),
    ],
)
def test_what_is_no_matter_of_an_answer(more: dict[str, Any], said: str) -> None:
    assert why([trial("a", PASSED)], **more) == [said]
    assert why([trial("a", PASSED)], "never", **more) == []


def test_a_shard_alone_shows_less_than_the_run() -> None:
    part, whole = header(("a", "due"), shard="1/12"), header(("a", "due"))
    for one, blocks in ((part, True), (whole, False)):
        record = Record(one, (trial("a", PASSED),), 0)
        assert bool(blocking(record, summarize(record.trials, one.picks, 12, TODAY), "regression")) is blocks


# What may be waived: verdicts that are missing, where nothing else turns the check red


def of_change(*trials: Trial, **more: Any) -> tuple[Record, Scorecard]:
    """Return the run of a pull request that affects the cases of these trials, and its scorecard."""
    facts = {"pr": "7", "knows_change": True, "unaffordable": ("left",), **more}
    record = Record(header(*((one.case_id, one.reason) for one in trials), **facts), trials, 0)
    return record, summarize(trials, record.header.picks, 40, TODAY, by_change=True)


BASE = NotCompared("no-commit", "main")
PASSES = trial("a", PASSED, reason="affected", row=row(3))
LOST = trial("b", ERROR, reason="affected", row=row(3))


@pytest.mark.parametrize(
    ("trials", "more", "cases"),
    [
        ([PASSES, LOST], {}, ("b", "left")),
        ([PASSES], {"unaffordable": ()}, ()),
        ([LOST, trial("c", FAILED, reason="affected", row=row(3))], {}, ()),
        ([LOST], {"not_compared": NotCompared("no-commit", "main")}, ()),
        ([LOST], {"pr": None}, ()),
    ],
    ids=["only they block", "nothing is missing", "another case regressed", "nothing was compared", "no pull request"],
)
def test_only_missing_verdicts_are_waivable(trials: list[Trial], more: dict[str, Any], cases: tuple[str, ...]) -> None:
    assert waivable(*of_change(*trials, **more), "regression") == cases


def test_a_waiver_covers_the_cases_that_it_names_and_no_other() -> None:
    record, card = of_change(PASSES, LOST)
    for cases, blocks in ((("b", "left"), False), (("b",), True)):
        waived = card._replace(waiver=Waiver("ann", "2026-03-10T12:00:00", cases))
        assert bool(blocking(record, waived, "regression")) is blocks
        assert [one.id for one in waived.not_evaluated(record.header)] == ["b", "left"]
    assert waivable(record, waived, "regression") == ("left",)


def test_many_are_named_in_part() -> None:
    trials = [trial(f"c{number}", FAILED, row=row(3)) for number in range(7)]
    assert why(trials) == ["regressed: c0, c1, c2, c3, c4 and 2 more"]


# Where it is known what a change affects, only that decides


def decided(
    *trials: Trial, picks: tuple[tuple[str, str], ...] = (), blocks: Blocks = "regression", **more: Any
) -> list[str]:
    """Return why a pull request blocks whose change is known."""
    chosen = tuple((one.case_id, one.reason) for one in trials) + picks
    known = header(*chosen, **{"knows_change": True, **more})
    card = summarize(trials, chosen, 40, TODAY, by_change=known.knows_change)
    return blocking(Record(known, trials, 0), card, blocks, known.allowed)


@pytest.mark.parametrize("blocks", RULES)
@pytest.mark.parametrize("reason", ["affected", "judged again", "recorded answer"])
def test_a_fail_of_what_the_change_affects_blocks(reason: str, blocks: Blocks) -> None:
    said = "regressed: a" if blocks == "regression" else "failed: a"
    assert decided(trial("a", FAILED, reason=reason, row=row()), blocks=blocks) == [said]


@pytest.mark.parametrize("blocks", RULES)
@pytest.mark.parametrize("reason", ["due", "box 1", "new"])
def test_a_fail_of_another_case_does_not_block(reason: str, blocks: Blocks) -> None:
    failed = trial("a", FAILED, reason=reason, row=row())
    assert decided(failed, blocks=blocks) == []
    (result,) = summarize([failed], [], 40, TODAY, by_change=True).results
    assert (result.failure, result.blocks, result.regression) == ("failure outside the change", False, True)


@pytest.mark.parametrize("blocks", RULES)
@pytest.mark.parametrize(
    ("case", "left"),
    [
        ({"trials": [trial("a", ERROR, reason="affected")]}, 1),
        ({"trials": [trial("a", SKIPPED, reason="judged again")]}, 1),
        ({"picks": (("a", "affected"), ("b", "due"))}, 1),
        ({"unaffordable": ("a", "b")}, 2),
    ],
    ids=["error", "skipped", "not run", "no money"],
)
def test_an_affected_case_without_a_verdict_blocks_however_many_are_allowed(
    case: dict[str, Any], left: int, blocks: Blocks
) -> None:
    trials = [trial("ok", reason="affected"), *case.get("trials", [])]
    more = {name: value for name, value in case.items() if name != "trials"}
    (said,) = decided(*trials, blocks=blocks, allowed=9, **more)
    assert said.startswith(f"{left} of {left + 1} affected cases w")
    assert decided(*trials, blocks="never", **more) == []


def test_another_case_without_a_verdict_is_no_matter_of_the_check() -> None:
    trials = [trial("ok", reason="affected"), trial("a", ERROR, reason="due"), trial("b", SKIPPED, reason="new")]
    assert decided(*trials, picks=(("c", "box 1"),)) == []


@pytest.mark.parametrize("blocks", RULES)
def test_a_base_that_cannot_be_found_blocks(blocks: Blocks) -> None:
    assert decided(trial("a", reason="affected"), blocks=blocks, not_compared=BASE) == [
        f"not evaluated: {not_compared_text(BASE)}"
    ]


@pytest.mark.parametrize(
    ("trouble", "cause", "detail"),
    [("http-503", "call", "http-503"), ("", "exception", "agent: raw text of the client")],
)
def test_why_a_case_was_not_evaluated_is_how_its_last_call_ended(trouble: str, cause: str, detail: str) -> None:
    asked = (Call("agent", "live", trouble=trouble),)
    one = trial("a", ERROR, reason="affected", error="agent: raw text of the client", calls=asked)._replace(
        ended_by="exception"
    )
    assert summarize([one], [], 1, TODAY).not_evaluated(header(pr="7")) == [NotEvaluated("a", cause, detail)]
