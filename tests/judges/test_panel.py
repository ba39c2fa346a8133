"""The panel: votes, appeals and audits become one verdict, or none."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.judges.judge_call import ATTEMPTS, Seat, Undecided
from pytest_recall.judges.panel import Panel, drawn
from pytest_recall.models.model import ModelError, Reply
from pytest_recall.trials.trial import Judgement, Verdict, Vote
from tests.helpers.samples import unhurried
from tests.helpers.scripted import Scripted, scores
from tests.judges.panels import NO, YES, asked

DOWN = ModelError("429; ask less often", temporary=True)


def models(*replies: str | Reply | ModelError) -> tuple[Scripted, ...]:
    """Return a model for each reply, named m1, m2 and so on."""
    return tuple(Scripted(reply, name=f"m{number}") for number, reply in enumerate(replies, 1))


def decided(*replies: str | Reply | ModelError, appellate: str | ModelError | None = None, **more: Any) -> Verdict:
    """Return the verdict of a panel whose judges reply so."""
    above = None if appellate is None else Scripted(appellate, name="above")
    return Panel(judges=models(*replies), appellate=above, **more).decide(asked(), "a", "rubric")


def judgement(verdict: Verdict) -> Judgement:
    """Return what a verdict rests on."""
    assert verdict.judgement is not None
    return verdict.judgement


@pytest.mark.parametrize(
    ("replies", "passed", "score", "reason"),
    [
        ([YES], True, 1.0, "It says so."),
        ([NO], False, 0.0, "requirement 0 of 1, 1 needed: It says so."),
        ([YES, YES, NO], True, 1.0, "2 of 3 votes pass, scores 0.00 to 1.00: It says so."),
        ([YES, NO], False, 0.5, "1 of 2 votes pass, scores 0.00 to 1.00: requirement 0 of 1, 1 needed: It says so."),
        ([YES, YES, DOWN], True, 1.0, "2 of 3 votes pass, 1 came to nothing, scores 1.00 to 1.00: It says so."),
    ],
)
def test_the_majority_decides_and_the_score_is_the_median(
    replies: list[str | ModelError], passed: bool, score: float, reason: str
) -> None:
    verdict = decided(*replies)
    assert (verdict.passed, verdict.score, verdict.reason) == (passed, score, reason)
    assert [vote.model for vote in judgement(verdict).votes] == [f"m{n}" for n in range(1, len(replies) + 1)]


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        ([DOWN], "^429; ask less often$"),
        ([YES, NO, DOWN], "^1 of 3 votes came to nothing, and they could decide: 429; ask less often$"),
        (
            ["prose", "prose"],
            "^2 of 2 votes came to nothing, and they could decide: m1: asked 3 times, and the reply is",
        ),
    ],
)
def test_there_is_no_verdict_where_a_missing_vote_could_decide(replies: list[Any], message: str) -> None:
    with pytest.raises(Undecided, match=message):
        decided(*replies)


class TestAppeal:
    """The verdict of the appellate judge stands, and both are kept."""

    @pytest.mark.parametrize(("above", "passed"), [(YES, True), (NO, False)])
    def test_about_each_fail(self, above: str, passed: bool) -> None:
        verdict = decided(NO, appellate=above)
        kept = judgement(verdict)
        assert (verdict.passed, verdict.model, verdict.version) == (passed, "above", asked().version)
        assert (kept.votes[0].passed, kept.cause, kept.overturned) == (False, "failed", passed)
        assert "(m1 failed it, and above " in verdict.reason

    def test_not_about_a_pass(self) -> None:
        assert judgement(decided(YES, appellate=NO)).appeal is None

    def test_one_that_comes_to_nothing_is_no_verdict(self) -> None:
        with pytest.raises(
            Undecided, match=r"m1 failed it \(.*\), and the appeal gave no verdict: 429; ask less often$"
        ):
            decided(NO, appellate=DOWN)

    def test_all_are_asked_at_temperature_0(self) -> None:
        above, judges = Scripted(YES, name="above"), models(NO, "prose", NO)
        Panel(judges=judges, appellate=above).decide(asked(), "a", "rubric")
        assert [len(model.asks) for model in judges] == [1, ATTEMPTS, 1]
        asks = [ask for model in (*judges, above) for ask in model.asks]
        assert {(ask.temperature, ask.seed) for ask in asks} == {(0.0, None)}


class TestAudit:
    """Some passes are looked at again, so that false ones are seen."""

    def test_what_the_appellate_judge_says_stands(self) -> None:
        verdict = decided(YES, appellate=NO, audit=1.0)
        assert (verdict.passed, judgement(verdict).cause, judgement(verdict).overturned) == (False, "audit", True)

    def test_one_that_comes_to_nothing_leaves_the_pass(self) -> None:
        verdict = decided(YES, appellate=DOWN, audit=1.0)
        assert (verdict.passed, verdict.model) == (True, "m1")
        appeal = judgement(verdict).appeal
        assert appeal is not None
        assert (appeal.passed, appeal.error) == (None, "429; ask less often")

    @given(st.text(), st.text(), st.floats(0, 1))
    @unhurried
    def test_a_larger_share_holds_the_smaller_one(self, key: str, seed: str, share: float) -> None:
        assert not drawn(key, seed, 0.0)
        assert drawn(key, seed, 1.0)
        assert drawn(key, seed, min(1.0, 2 * share)) or not drawn(key, seed, share)

    def test_the_sample_has_its_size_and_follows_the_seed(self) -> None:
        samples = [{n for n in range(10_000) if drawn(f"rubric/c-{n}", seed, 0.05)} for seed in ("1", "2")]
        assert all(400 < len(sample) < 600 for sample in samples)
        assert samples[0] != samples[1]


class Noisy:
    """An inquiry whose answer has a truth, and which each model gets wrong now and then."""

    version = "00000000"

    def __init__(self, truth: bool, chance: Callable[[str], bool]) -> None:
        self._truth = truth
        self._chance = chance

    def hear(self, seat: Seat) -> Vote:
        good = self._truth is not self._chance(seat.model.name)
        return Vote(passed=good, score=float(good))


def mistakes(*, right: float, judges: int = 1, above: float | None = None, audit: float = 0.0) -> tuple[int, int]:
    """Return false fails and false passes of 10,000 verdicts, of judges that are wrong about one of twenty.

    `right` is the share of answers that are right, `above` how often the appellate judge is wrong.
    """
    draw = random.Random(7)
    appellate = None if above is None else Scripted(scores(), name="above")
    panel = Panel(judges=tuple(Scripted(name=f"m{n}") for n in range(judges)), appellate=appellate, audit=audit)
    false = {True: 0, False: 0}
    for number in range(10_000):
        truth = draw.random() < right
        inquiry = Noisy(truth, lambda name: draw.random() < (above or 0 if name == "above" else 0.05))
        passed = panel.decide(inquiry, f"c-{number}", "rubric").passed
        false[bool(passed)] += passed is not truth
    return false[False], false[True]


@pytest.mark.parametrize(
    ("panel", "left"),
    [
        ({}, (431, 53)),
        ({"judges": 3}, (69, 10)),
        ({"above": 0.01}, (3, 63)),
        ({"above": 0.01, "audit": 0.2}, (22, 48)),
        ({"above": 0.05}, (17, 104)),
        ({"above": 0.05, "audit": 1.0}, (471, 55)),
    ],
)
def test_how_many_mistakes_are_left(panel: dict[str, Any], left: tuple[int, int]) -> None:
    """The page on judging with a model has these figures: an appeal is worth what its judge is worth."""
    assert mistakes(right=0.9, **panel) == left
