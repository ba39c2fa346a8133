"""Profiles as pytest items: one for each question of each checkpoint, on no schedule."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.helpers.grader import Grader
from tests.helpers.persona import write_project
from tests.helpers.project import BARE, Checkout

FILE = "eval/clerk.profile.yaml"
MINE = "python:mine.py:{}".format


def made(pytester: pytest.Pytester, memory: str = "sqlite-fts", **parts: Any) -> Checkout:
    checkout = BARE.at(pytester)
    (pytester.path / "eval").mkdir(exist_ok=True)
    write_project(pytester.path / "eval", memory, **parts)
    return checkout


def asked(pytester: pytest.Pytester, word: str) -> list[str]:
    lines = (pytester.path / "eval/asked.txt").read_text().splitlines()
    return [line for line in lines if line.split()[0] == word]


def test_each_question_of_each_checkpoint_is_an_item(pytester: pytest.Pytester) -> None:
    checkout = made(pytester)
    result = checkout.run(FILE)
    result.assert_outcomes(passed=30, xfailed=10)
    trials = {trial.case_id: trial for trial in checkout.journal().trials}
    trial = trials["3d/q001"]
    assert (trial.reason, trial.scenario, trial.dimension, trial.where) == (
        "profile",
        "clerk",
        "factual-recall",
        f"{FILE}:1",
    )
    assert trial.verdicts[0].score == 1
    assert trial.measures == {"correctness": 3.0, "completeness": 2.0, "hallucination": 1.0}
    assert trial.checkpoint == ("3d", 3)
    leak = trials["12d/q016"]
    assert (leak.dimension, leak.outcome.value) == ("information-boundary", "failed")
    assert "gives away" in leak.note
    assert checkout.boxes() == {}
    question = checkout.journal().asked["3d/q001"]
    assert (bool(question.question), bool(question.reference)) == (True, True)


def test_passages_pass_by_the_days_that_they_are_from(pytester: pytest.Pytester) -> None:
    checkout = made(pytester, "last-1")
    checkout.run(FILE, "-k", "3d/q001 or 3d/q003")
    trials = {trial.case_id: trial for trial in checkout.journal().trials}
    assert {id: trial.verdicts[0].reason for id, trial in trials.items()} == {
        "3d/q001": "0 of 1 relevant day found, not 1",
        "3d/q003": "1 of 1 relevant day found",
    }
    assert checkout.outcomes() == {"3d/q001": "failed", "3d/q003": "passed"}
    assert {trial.answer.by for trial in trials.values() if trial.answer} == {"passages"}


def test_they_come_in_the_order_of_a_run_and_each_day_is_told_once(pytester: pytest.Pytester) -> None:
    checkout = made(pytester, MINE("Memory"))
    checkout.run(FILE, "--collect-only", "-q").stdout.re_match_lines([r".*::3d/", r".*::6d/", r".*::9d/", r".*::12d/"])
    checkout.run(FILE, "-k", "q001")
    told = asked(pytester, "store")
    assert len(told) == len(set(told)) == 16
    contexts = asked(pytester, "principal")
    assert contexts[0].startswith("principal 2024-03-03 3d ")
    assert contexts[-1].startswith("principal 2024-03-12 12d ")
    first = next(trial for trial in checkout.journal().trials if trial.case_id == "12d/q001")
    assert first.answer is not None
    assert first.answer.text.endswith("(heard at 1)"), "it heard of each stop on the way"


def test_one_is_asked_alone(pytester: pytest.Pytester) -> None:
    checkout = made(pytester)
    checkout.run(f"{FILE}::9d/q005").assert_outcomes(passed=1)
    assert set(checkout.outcomes()) == {"9d/q005"}
    checkout.run(FILE, "--dimensions", "temporal-reasoning", "-k", "6d")
    assert len(checkout.outcomes()) == 3


def test_a_run_over_the_folder_passes_it_by(pytester: pytest.Pytester) -> None:
    assert made(pytester).run("eval").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_published_profile_is_run_with_another_memory(pytester: pytest.Pytester) -> None:
    checkout = made(pytester, "../harness/dist/index.js")
    result = checkout.run(FILE, "-k", "3d")
    assert "is a JavaScript module, which is not loaded here" in result.stdout.str() + result.stderr.str()
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    checkout.run(FILE, "-k", "3d", "--memory", "sqlite-fts")
    assert len(checkout.outcomes()) == 4


def test_a_memory_is_made_with_the_configuration_of_its_profile(pytester: pytest.Pytester) -> None:
    harness = {"adapter": "python:echo.py", "factory": "make", "config": {"said": "It is amberwalnut."}}
    checkout = made(pytester, harness=harness)
    (pytester.path / "eval/echo.py").write_text(
        "class Echo:\n"
        "    private = True\n"
        "    def reset(self): ...\n"
        "    def store(self, content, metadata): ...\n"
        "    def recall(self, query, limit, context): return []\n"
        "    def answer(self, query, limit, context): return self.said\n"
        "def make(said):\n"
        "    echo = Echo()\n"
        "    echo.said = said\n"
        "    return echo\n"
    )
    checkout.run(FILE, "-k", "3d/q001")
    (trial,) = checkout.journal().trials
    assert trial.answer is not None
    assert trial.answer.text == "It is amberwalnut."


def test_what_may_be_told_where_is_not_asked_of_a_memory_that_does_not_know_where_it_is_asked(
    pytester: pytest.Pytester,
) -> None:
    checkout = made(pytester, f"command:{shlex.quote(sys.executable)} -IS -c print([])")
    checkout.run(FILE, "-k", "3d", "--recall-memory-reset")
    outcomes = checkout.outcomes()
    assert outcomes.pop("3d/q004") == "skipped"
    assert set(outcomes.values()) == {"failed"}
    (told,) = [trial.error for trial in checkout.journal().trials if trial.case_id == "3d/q004"]
    assert told.endswith("-c print([]) is not told in which session a question is asked")


def test_a_model_answers_and_models_judge(pytester: pytest.Pytester) -> None:
    models = {"judge": MINE("judge"), "appellateJudge": MINE("appellate"), "answer": MINE("reader")}
    checkout = made(pytester, models=models, run={"judgeMemoryWindow": 1})
    checkout.run(FILE, "-k", "3d").assert_outcomes(passed=4)
    assert len(asked(pytester, "judge")) == len(asked(pytester, "reader")) == 4
    (trial, *_) = checkout.journal().trials
    assert trial.verdicts[0].judgement is not None
    assert trial.verdicts[0].model == MINE("judge")


def test_what_breaks_is_an_error_and_no_verdict(pytester: pytest.Pytester) -> None:
    checkout = made(pytester, MINE("Down"))
    (pytester.path / "eval/down").symlink_to("amberwalnut")
    checkout.run(FILE, "-k", "3d")
    assert checkout.outcomes()["3d/q001"] == "error"
    assert checkout.outcomes()["3d/q002"] == "passed"


def test_a_judge_that_misjudges_what_is_known_ends_the_run(pytester: pytest.Pytester) -> None:
    result = made(pytester, models={"judge": MINE("broken")}).run(FILE)
    assert "could not be asked about 2 of 2 known answers" in result.stdout.str() + result.stderr.str()
    assert result.ret != 0


@pytest.fixture
def grader() -> Iterator[Grader]:
    served = Grader()
    yield served
    served.close()


def test_calls_are_recorded_and_replayed(
    pytester: pytest.Pytester, grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    checkout = made(pytester, models={"judge": grader.selector})
    (pytester.path / "eval/rubric.yaml").write_text("owner: ada\njudge: {preflight: 'off'}\n")
    two = "3d/q001 or 3d/q002"
    checkout.run(FILE, "-k", two, "--record").assert_outcomes(passed=2)
    recorded = len(grader.bodies)
    assert recorded == 2
    checkout.run(FILE, "-k", two, "--replay").assert_outcomes(passed=2)
    assert len(grader.bodies) == recorded


def test_a_judge_gets_the_time_that_the_profile_says(
    pytester: pytest.Pytester, grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    grader.waits = 0.5
    checkout = made(pytester, models={"judge": grader.selector, "timeout": 200})
    (pytester.path / "eval/rubric.yaml").write_text("owner: ada\njudge: {preflight: 'off'}\n")
    assert "did not answer within 0.2 s" in checkout.run(FILE, "-k", "3d", "--maxfail", "1").stdout.str()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"run": {"ranges": "30x"}}, "clerk.profile.yaml:"),
        ({"models": {"judge": "opanai"}}, "'opanai': no model is selected like this"),
    ],
)
def test_mistakes_are_one_sentence(pytester: pytest.Pytester, parts: dict[str, Any], said: str) -> None:
    result = made(pytester, **parts).run(FILE)
    assert said in result.stdout.str() + result.stderr.str()
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
