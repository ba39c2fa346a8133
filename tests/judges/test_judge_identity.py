"""By which judging models a verdict was given, where several might have the last word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_recall.judges.calibrate import contestants
from pytest_recall.judges.calibration import JudgeKey
from pytest_recall.judges.judge_identity import (
    JudgingRules,
    OtherJudges,
    identity,
    other_judges,
    rules_of,
)
from pytest_recall.judges.panel import Panel
from pytest_recall.trials.record import settings_of
from pytest_recall.trials.trial import Judgement, Trial, Verdict, Vote
from tests.helpers.samples import trial
from tests.helpers.scripted import Scripted

NO_APPEALS = JudgingRules()
APPEALS = JudgingRules(appellate="high")


class Inquiry:
    """A question to which the models have the answer: the first of these names fails it."""

    version = "12345678"

    def hear(self, seat: Any) -> Vote:
        """Return the vote."""
        passed = "fails" not in seat.model.name
        return Vote(passed=passed, score=float(passed))


def decided(panel: Panel) -> Verdict:
    """Return the verdict of a panel, as the judge `rubric` signs it."""
    return replace(panel.decide(Inquiry(), "a", "rubric"), judge="rubric")


def panel(*names: str, **more: Any) -> Panel:
    """Return a panel of models by these names."""
    return Panel(judges=tuple(Scripted(name=name) for name in names), **more)


@pytest.mark.parametrize("names", [("fine",), ("fails",), ("fine", "well", "good"), ("fails", "fails-too", "good")])
def test_passes_and_fails_of_a_panel_with_appeals_are_of_one_judge(names: tuple[str, ...]) -> None:
    """As a calibration calls it, under the version of those who judge first."""
    judges = panel(*names, appellate=Scripted(name="high"), audit=0.0)
    alone = panel(*names)
    whole = next(one for one in contestants(judges) if one.role == "whole")
    found = identity(decided(judges), APPEALS)
    assert found == JudgeKey("rubric", whole.name, decided(alone).version)
    assert found.version == "12345678"


def test_without_appeals_it_is_whom_the_verdict_names() -> None:
    verdict = decided(panel("fine", "fails"))
    assert identity(verdict, NO_APPEALS) == JudgeKey("rubric", "fine + fails", verdict.version)
    exact = Verdict(passed=True, judge="exact")
    assert identity(exact, APPEALS) == JudgeKey("exact", "", "")


def test_a_pass_that_was_audited_in_vain_is_of_the_same_judge() -> None:
    judgement = Judgement((Vote(model="m", passed=True),), appeal=Vote(model="high", error="429"), cause="audit")
    verdict = Verdict(passed=True, judge="rubric", model="m", version="v", judgement=judgement)
    assert identity(verdict, APPEALS) == JudgeKey("rubric", "m, appeals to high", "v")


def settings(**rubric: Any) -> dict[str, Any]:
    """Return the settings of a run's header."""
    given = {name.removeprefix("cli_"): value for name, value in rubric.items() if name.startswith("cli_")}
    return settings_of(rubric={k: v for k, v in rubric.items() if not k.startswith("cli_")}, **given)


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        ({}, JudgingRules()),
        ({"thresholds": {"rubric": 0.7}, "judge": {"model": ["m"]}}, JudgingRules({"rubric": 0.7})),
        ({"judge": {"appellate": "high"}}, JudgingRules(appellate="high")),
        ({"judge": {"appellate": "high"}, "cli_appellate_judge": "higher"}, JudgingRules(appellate="higher")),
        ({"judge": "m"}, JudgingRules()),
    ],
)
def test_the_rules_are_those_of_the_header(given: dict[str, Any], rules: JudgingRules) -> None:
    assert rules_of(settings(**given), []) == rules


def test_a_header_without_settings_leaves_it_to_the_appeals() -> None:
    judgement = Judgement((Vote(model="m", passed=False),), appeal=Vote(model="high", passed=False), cause="failed")
    verdict = Verdict(passed=False, judge="rubric", model="high", version="v", judgement=judgement)
    found = rules_of({}, [trial(), trial(verdicts=(verdict,))])
    assert (found.appellate, found.thresholds) == ("high", {})


@pytest.mark.parametrize("rubric", [None, 3, {"thresholds": 3}, {"thresholds": {"rubric": "x"}}, {"later": {}}])
def test_settings_of_another_kind_are_passed_over(rubric: Any) -> None:
    assert rules_of({"rubric": rubric}, []) == JudgingRules()


# Two runs


def said(
    model: str = "m", version: str = "v", judge: str = "rubric", replied: str | None = None, under: str = ""
) -> Trial:
    """Return a trial with the verdict of a model, which replied under this name."""
    judgement = Judgement((Vote(model=model, passed=True, replied=replied),))
    verdict = Verdict(passed=True, judge=judge, model=model, version=version, judgement=judgement)
    return trial(verdicts=(verdict, Verdict(passed=True, judge="f1", score=0.8)), under=under)


def apart(base: Trial, head: Trial, *rules: JudgingRules) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the names of the judges of both runs where they differ."""
    first, second = rules or (NO_APPEALS, NO_APPEALS)
    found = other_judges([(base, head)], first, second)
    return None if found is None else (found.base, found.head)


NAME = "rubric, m, version v"


@pytest.mark.parametrize(
    ("base", "head", "told"),
    [
        (said(), said(), None),
        (said(), said("n"), (NAME, "rubric, n, version v")),
        (said(), said("m + n"), (NAME, "rubric, m + n, version v")),
        (said(), said(version="w"), (NAME, "rubric, m, version w")),
        (said(replied="m-1"), said(replied="m-1"), None),
        (said(replied="m-1"), said(), None),
        (
            said(replied="m-1"),
            said(replied="m-2"),
            (f"{NAME}, which replied as m-1", f"{NAME}, which replied as m-2"),
        ),
        # Another list of judges is another case, which its fingerprint tells.
        (said(), said(judge="memory"), None),
        (said(), trial(), None),
    ],
)
def test_judges_that_differ_are_named(base: Trial, head: Trial, told: tuple[str, str] | None) -> None:
    assert apart(base, head) == (None if told is None else ((told[0],), (told[1],)))
    assert apart(head, base) == (None if told is None else ((told[1],), (told[0],)))


def at(**thresholds: float) -> JudgingRules:
    """Return rules with these thresholds."""
    return JudgingRules(thresholds)


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (at(rubric=0.7), at(rubric=0.7), None),
        (at(rubric=0.7), at(rubric=0.8), (f"{NAME}, threshold 0.7", f"{NAME}, threshold 0.8")),
        (at(), at(rubric=0.8), (NAME, f"{NAME}, threshold 0.8")),
        # A judge that asks no model is another one at another threshold as well.
        (at(f1=0.5), at(f1=0.6), ("f1, threshold 0.5", "f1, threshold 0.6")),
        (at(memory=0.5), at(memory=0.6), None),
    ],
)
def test_other_thresholds_are_other_judges(
    first: JudgingRules, second: JudgingRules, told: tuple[str, str] | None
) -> None:
    expected = None if told is None else ((told[0],), (told[1],))
    assert apart(said(), said(), first, second) == expected
    held = [said(under=f"threshold={digest}") for digest in ("aaaaaa", "bbbbbb")]
    assert apart(held[0], held[1], first, second) == expected


def test_a_case_that_names_its_threshold_is_held_to_that_whatever_the_rubric_says() -> None:
    own = said(under="judge=aaaaaa")
    assert apart(own, own, at(rubric=0.7), at(rubric=0.8)) is None


def test_an_appellate_judge_makes_it_another_one() -> None:
    assert apart(said(), said(), NO_APPEALS, APPEALS) == ((NAME,), ("rubric, m, appeals to high, version v",))
    other = APPEALS._replace(appellate="higher")
    assert apart(said(), said(), APPEALS, other) == (
        ("rubric, m, appeals to high, version v",),
        ("rubric, m, appeals to higher, version v",),
    )


def test_the_last_word_on_a_fail_is_no_other_judge() -> None:
    appeal = Vote(model="high", passed=False)
    judgement = Judgement((Vote(model="m", passed=False),), appeal=appeal, cause="failed")
    verdict = Verdict(passed=False, judge="rubric", model="high", version="v", judgement=judgement)
    assert apart(said(), trial(verdicts=(verdict,)), APPEALS, APPEALS) is None


def test_cases_are_counted_and_each_judge_is_named_once() -> None:
    pairs = [(said(), said("n")), (said(), said("n")), (said(), said())]
    found = other_judges(pairs, NO_APPEALS, NO_APPEALS)
    assert found == OtherJudges((NAME,), ("rubric, n, version v",), 2)
