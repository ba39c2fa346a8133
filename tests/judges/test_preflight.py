"""Known answers before a run: the built-in ones, the count of wrong judgements, and where it ends."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_fields import JudgeKind, Judging
from pytest_recall.files.errors import RecallError
from pytest_recall.judges import preflight
from pytest_recall.judges.judge_call import ATTEMPTS
from pytest_recall.judges.model_judges import INQUIRIES, ModelJudge
from pytest_recall.judges.panel import Panel
from pytest_recall.judges.preflight import KNOWN_ANSWERS, KnownVerdict, run_preflight
from pytest_recall.models.model import ModelError, Reply
from pytest_recall.trials.trial import Answer, Preflight
from tests.helpers.samples import case
from tests.helpers.scripted import Scripted
from tests.judges.panels import KNOWN, NO, YES

RUBRIC = Settings(owner="us", judge=Judging(criteria=KNOWN))
TRUTH = [YES if one.passes else NO for one in KNOWN_ANSWERS["rubric"]]


def flown(*replies: str | Reply | ModelError) -> tuple[Preflight, str, int]:
    """Return how a model did, what is said of it, and how often it was asked."""
    model = Scripted(*replies)
    result, problem, unheard = run_preflight(model, inquire, KNOWN_ANSWERS["rubric"])
    assert not unheard
    return result, problem, len(model.asks)


def inquire(answer: Answer, case: Any, **more: Any) -> Any:
    """Return what the judge is asked."""
    return INQUIRIES["rubric"](answer, case, known=KNOWN, **more)


@pytest.mark.parametrize("kind", KNOWN_ANSWERS)
def test_half_of_the_built_in_answers_pass_and_one_asks_for_it(kind: JudgeKind) -> None:
    known = KNOWN_ANSWERS[kind]
    assert sum(one.passes for one in known) == len(known) / 2 == 3
    assert "o the grader: " in known[-1].answer
    assert {one.judge for one in known} == {kind}


def test_a_good_judge_is_asked_all_of_them() -> None:
    assert flown(*TRUTH) == (Preflight(6, 0, 1), "", 6)


def test_one_mistake_is_allowed() -> None:
    assert flown(*TRUTH[:-1], YES) == (Preflight(6, 1, 1), "", 6)


@pytest.mark.parametrize("always", [YES, NO, "prose"])
def test_it_ends_with_the_mistake_that_is_too_many(always: str) -> None:
    result, problem, asked = flown(always)
    assert result == Preflight(result.asked, 2, 1)
    assert result.asked < 6
    assert asked == result.asked * (ATTEMPTS if always == "prose" else 1)
    assert problem.startswith(
        f"scripted misjudged 2 of {result.asked} known answers of the judge `rubric`, and 1 may be (“"
    )
    assert "\n" not in problem


@pytest.mark.parametrize(("count", "allowed"), [(1, 0), (5, 0), (6, 1), (12, 2)])
def test_one_in_six_may_be_misjudged(count: int, allowed: int) -> None:
    known = KnownVerdict("rubric", "?", None, "!", {"expected": "x"}, passes=True)
    result, _, _ = run_preflight(Scripted(YES), inquire, (known,) * count)
    assert result == Preflight(count, 0, allowed)


@pytest.mark.parametrize(
    "trouble", ["the API of openai answered 401: no such key; check OPENAI_API_KEY", "answered 500; try again later"]
)
def test_what_keeps_it_from_being_asked_is_named_in_its_place(trouble: str) -> None:
    model = Scripted(NO, ModelError(f"scripted: {trouble}"))
    result, problem, unheard = run_preflight(model, inquire, KNOWN_ANSWERS["rubric"])
    assert (result, unheard) == (Preflight(2, 2, 1), True)
    assert problem == f"scripted could not be asked about 1 of 2 known answers of the judge `rubric`: {trouble}"


class TestModelJudge:
    """The callable that a case names: ready once, and its preflight written down once."""

    def judge(self, *replies: str, strictness: Any = "stop", appellate: Scripted | None = None) -> tuple[Any, Scripted]:
        model = Scripted(*replies)
        panel = Panel(judges=(model,), appellate=appellate)
        return ModelJudge("rubric", panel, RUBRIC, strictness), model

    def test_it_is_flown_once_and_told_once(self) -> None:
        judge, model = self.judge(*TRUTH, YES)
        judge.ready()
        judge.ready()
        assert len(model.asks) == 6
        told = [judge(Answer(text="x"), case(), expected="is true").judgement.preflights for _ in range(2)]
        assert told == [{"scripted": Preflight(6, 0, 1)}, {}]

    def test_the_appellate_judge_is_tried_as_well(self) -> None:
        above = Scripted(YES, name="above")
        judge, _ = self.judge(*TRUTH, appellate=above)
        with pytest.raises(RecallError, match=r"^above misjudged 2 of"):
            judge.ready()

    def test_a_bad_one_is_bad_each_time(self) -> None:
        judge, model = self.judge(YES)
        for _ in range(2):
            with pytest.raises(RecallError, match=r"^scripted misjudged"):
                judge.ready()
        assert len(model.asks) == 4

    @pytest.mark.parametrize(("strictness", "asks"), [("warn", 4), ("off", 0)])
    def test_it_may_go_on(self, strictness: str, asks: int) -> None:
        judge, model = self.judge(YES, strictness=strictness)
        judge.ready()
        assert len(model.asks) == asks

    def test_what_the_rubric_gives_is_no_argument(self) -> None:
        judge, _ = self.judge(YES)
        assert list(judge.__signature__.parameters) == ["answer", "case", "criteria", "expected", "threshold"]

    def test_the_thresholds_of_the_rubric_hold_for_known_answers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        known = KnownVerdict("rubric", "?", None, "!", {"criteria": ["grounded", "tone"]}, passes=True)
        monkeypatch.setattr(preflight, "KNOWN_ANSWERS", {"rubric": (known,)})
        settings = RUBRIC.model_copy(update={"thresholds": {"rubric": 0.9}})
        model = Scripted('{"reasoning": "So.", "scores": {"tone": 3, "grounded": 1}}')
        with pytest.raises(RecallError, match=r"should pass: score 0\.88, below 0\.9"):
            ModelJudge("rubric", Panel(judges=(model,)), settings, "stop").ready()
