"""Judges that ask a model, end to end: their verdicts, and what a run shows of who gave them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.trials.trial import Judgement, Verdict
from tests.helpers import kept
from tests.helpers.project import Checkout, case
from tests.helpers.scripted import AUDITED_CASE, JUDGED, asks, judged, model, times_asked

OTHER = {"pairwise": {"against": "nothing of use"}}


def verdict_on(checkout: Checkout, case_id: str) -> tuple[Verdict, Judgement]:
    """Return the one verdict on a case in the newest run, with its judgement."""
    (verdict,) = next(trial.verdicts for trial in checkout.journal().trials if trial.case_id == case_id)
    assert verdict.judgement is not None
    return verdict, verdict.judgement


def test_each_of_them_tells_good_answers_from_bad_ones(pytester: pytest.Pytester) -> None:
    judges: dict[str, Any] = {
        "text": {"rubric": "is right"},
        "criteria": {"rubric": {"criteria": ["tone"]}},
        "all": "rubric",
        "memory": "memory",
        "grounded": {"memory": {"excerpts": ["Monday: it is right."]}},
        "boundary": {"memory": {"disclosure": "refuse", "forbidden": "wrong"}},
        "pairwise": OTHER,
    }
    cases = [
        asks(f"{name}-{says}", f"{name} {says}", judge) for name, judge in judges.items() for says in ("right", "no")
    ]
    cases = [one for one in cases if one["id"] != "pairwise-no"]  # a tie, which passes
    checkout = judged(*cases, criteria={"tone": {"question": "Is it kind?"}}).at(pytester)
    checkout.run("eval", "--recall-mode", "all")
    assert checkout.outcomes() == {one["id"]: "passed" if one["id"].endswith("right") else "failed" for one in cases}


def test_a_verdict_says_who_gave_it_by_which_prompt_and_why(pytester: pytest.Pytester) -> None:
    """The version is of the prompt, and not of the case."""
    cases = [asks("a", "wrong"), asks("b", "right too", {"rubric": "is polite"}), asks("c", "right here", "rubric")]
    checkout = judged(*cases, criteria={"tone": {"question": "Is it kind?"}}).at(pytester)
    checkout.run("eval")
    assert checkout.outcomes()["a"] == "failed"
    assert checkout.boxes()["a"] == 1, "it counts, where no kappa is asked for"
    verdict, judgement = verdict_on(checkout, "a")
    assert (verdict.judge, verdict.model, verdict.score) == ("rubric", model("oracle"), 0.0)
    assert len(verdict.version) == 8
    assert int(verdict.version, 16) >= 0
    (vote,) = judgement.votes
    assert (vote.model, vote.replied, vote.scores) == (model("oracle"), "oracle-2026", {"requirement": 0})
    assert verdict.reason == "requirement 0 of 1, 1 needed: oracle says so."
    first, second, third = (verdict_on(checkout, name)[0].version for name in "abc")
    assert first == second != third


def test_the_command_line_comes_before_the_rubric(pytester: pytest.Pytester) -> None:
    checkout = judged(asks("a", "wrong"), preflight="off").at(pytester)
    checkout.run("eval", "--judge", model("generous")).assert_outcomes(passed=1)
    assert times_asked(checkout) == []
    more = ("--judge", model("third"), "--appellate-judge", model("second"), "--recall-mode", "all")
    checkout.run("eval", *more, "-n1").assert_outcomes(failed=1)
    assert times_asked(checkout) == ["third", "second"]


def test_a_judge_that_no_case_asks_is_told_at_the_end(pytester: pytest.Pytester) -> None:
    checkout = judged(asks("a", "right"), case("b"), case("c")).at(pytester)
    both = ("--judge", model("third"), "--appellate-judge", model("second"))
    others = ("eval/cases.yaml::b", "eval/cases.yaml::c")
    result = checkout.run(*others, *both)
    assert result.ret == 0
    (told,) = [line for line in result.outlines if "had no effect" in line]
    assert told.startswith("--judge and --appellate-judge ")
    # One worker has no case that asks a model, and the other has one.
    result = checkout.run("eval", "--recall-mode", "all", *both, "-n", "2")
    assert not [line for line in result.outlines if "had no effect" in line]


def test_what_had_no_effect_is_what_was_given(pytester: pytest.Pytester) -> None:
    checkout = judged(asks("a", "right"), case("b")).at(pytester)
    other = "eval/cases.yaml::b"
    assert not [line for line in checkout.run(other).outlines if "had no effect" in line]
    result = checkout.run(other, "--judge", model("third"))
    (told,) = [line for line in result.outlines if "had no effect" in line]
    assert told.startswith("--judge ")
    assert "--appellate-judge" not in told


def test_a_judge_that_a_test_asks_for_as_it_runs_has_an_effect(pytester: pytest.Pytester) -> None:
    source = (
        "import pytest\n\n\n@pytest.mark.recall('late')\ndef test_late(request):\n"
        "    request.getfixturevalue('judge_rubric')\n"
    )
    result = JUDGED.with_files({"eval/test_late.py": source}).at(pytester).run("eval", "--judge", model("third"))
    result.assert_outcomes(passed=1)
    assert not [line for line in result.outlines if "had no effect" in line]


def test_several_judges_are_a_panel_whose_majority_decides(pytester: pytest.Pytester) -> None:
    checkout = judged(asks("a", "wrong"), judge=["oracle", "second", "generous"], preflight="off").at(pytester)
    result = checkout.run("eval", "-v")
    result.assert_outcomes(failed=1)
    verdict, judgement = verdict_on(checkout, "a")
    assert [vote.passed for vote in judgement.votes] == [False, False, True]
    assert verdict.model == f"{model('oracle')} + {model('second')} + {model('generous')}"
    assert verdict.reason.startswith("1 of 3 votes pass, scores 0.00 to 1.00: requirement 0 of 1")
    result.stdout.fnmatch_lines(["votes differed on 1 verdict"])


def test_a_pass_that_is_audited_may_turn_out_false(pytester: pytest.Pytester) -> None:
    checkout = judged(asks(AUDITED_CASE, "wrong"), judge="generous", appellate="oracle", preflight="off").at(pytester)
    result = checkout.run("eval", "-v")
    result.assert_outcomes(failed=1)
    verdict, judgement = verdict_on(checkout, AUDITED_CASE)
    assert (verdict.model, judgement.cause, judgement.overturned) == (model("oracle"), "audit", True)
    result.stdout.fnmatch_lines(["audited passes: 1 asked, 1 overturned*"])
    assert checkout.scorecard()["judged_by_models"]["audited_passes"] == {"asked": 1, "overturned": 1, "unheard": 0}


def test_an_appeal_takes_back_what_a_judge_gets_wrong(pytester: pytest.Pytester) -> None:
    """A judge that flips one of twenty verdicts; the appellate one knows the truth."""
    flipped = (7, 16, 35, 53, 60, 66, 72, 86, 87, 88)  # One of its two verdicts on these; none on the others below 100.
    cases = [asks(f"c-{n}-{says}", f"{n} {says}") for n in flipped for says in ("right", "no")]
    truth = {one["id"]: "passed" if one["id"].endswith("right") else "failed" for one in cases}

    def mistaken(**rubric: Any) -> tuple[int, int]:
        checkout = judged(*cases, judge="flipping", **rubric).at(pytester)
        checkout.run("eval", "--recall-mode", "all")
        wrong = [verdict for name, verdict in checkout.outcomes().items() if verdict != truth[name]]
        return wrong.count("failed"), wrong.count("passed")

    assert mistaken() == (3, 7)
    assert mistaken(appellate="oracle") == (0, 7)


class TestCalibration:
    """How much of a run rests on judges that no one has compared with people."""

    CASES = (asks("a", "right"), asks("b", "right too", "memory"))

    def calibrated(self, pytester: pytest.Pytester, text: str) -> tuple[Checkout, pytest.RunResult]:
        project = judged(*self.CASES).with_files({"eval/calibration.yaml": text})
        checkout = project.at(pytester)
        return checkout, checkout.run("eval")

    def test_without_one_all_of_it_does(self, pytester: pytest.Pytester) -> None:
        checkout, result = kept.ran(pytester, judged(*self.CASES), "eval", "-v")
        result.stdout.fnmatch_lines(
            ["judged by models: 2 verdicts, 2 of them (100.0 %) by judges that are not calibrated"]
        )
        assert checkout.scorecard()["judged_by_models"]["uncalibrated_share"] == 1.0

    def test_a_row_counts_for_its_judge_model_and_version(self, pytester: pytest.Pytester) -> None:
        checkout, _ = kept.ran(pytester, judged(*self.CASES), "eval")
        version = verdict_on(checkout, "a")[0].version
        rows = [
            f"{{judge: rubric, model: '{model('oracle')}', version: '{v}', kappa: 0.81, n: 120, by: us}}"
            for v in (version, "0")
        ]
        (checkout.path / "eval/calibration.yaml").write_text("judges:\n" + "".join(f"  - {row}\n" for row in rows))
        result = checkout.run("eval", "--recall-mode", "all", "-v")
        result.stdout.fnmatch_lines(
            [
                "judged by models: 2 verdicts, 1 of them (50.0 %) by judges that are not calibrated",
                "judge   model *",
                f"memory  {model('oracle')}  * not calibrated *1",
                f"rubric  {model('oracle')}  {version}  kappa 0.81 over 120 answers *1",
            ]
        )
        checkout.recall("score", "-v").stdout.fnmatch_lines(["*1 of them (50.0 %) by judges that are not calibrated*"])

    def test_one_that_is_broken_is_said_at_the_end(self, pytester: pytest.Pytester) -> None:
        checkout = (
            judged(*self.CASES).with_files({"eval/calibration.yaml": "judges:\n  - {judge: rubric}\n"}).at(pytester)
        )
        result = checkout.run("eval")
        result.stdout.fnmatch_lines(["eval/calibration.yaml:2: judges.0.kappa: is missing; add it"])
        assert result.ret == 1
        assert len(checkout.state()) == 2
        assert "eval/calibration.yaml:2" in str(checkout.recall("check").stderr)


class TestWithoutAModel:
    """What is wrong with the choice of models is said before an agent is asked."""

    def test_none_is_named(self, pytester: pytest.Pytester) -> None:
        checkout = JUDGED.with_cases(asks("a", "right")).at(pytester)
        result = checkout.run("eval")
        result.stdout.fnmatch_lines(
            [
                "eval/cases.yaml:1: judges: rubric: asks a model, and none is named; give --judge SELECTOR, or write"
                " `judge: {model: SELECTOR}` in eval/rubric.yaml"
            ]
        )
        assert result.ret == 2
        assert checkout.asked() == []

    def test_other_judges_need_none(self, pytester: pytest.Pytester) -> None:
        JUDGED.with_cases(case("a")).at(pytester).run("eval").assert_outcomes(passed=1)

    @pytest.mark.parametrize(
        ("rubric", "sentence"),
        [
            ({"judge": ["none"]}, "python:judge.py:none: judge.py has no name `none`*"),
            ({"judge": ["oracle", "oracle"]}, "*is named twice; name each model once"),
            ({"appellate": "oracle"}, "the appellate judge * is a primary one as well; name another model"),
        ],
    )
    def test_what_would_have_no_effect_is_refused(
        self, pytester: pytest.Pytester, rubric: dict[str, Any], sentence: str
    ) -> None:
        checkout = judged(asks("a", "right"), **rubric).at(pytester)
        result = checkout.run("eval")
        result.stdout.fnmatch_lines([f"*eval/cases.yaml:1: judges: rubric: {sentence}"])
        assert checkout.asked() == []
        assert result.ret != 0

    def test_a_test_that_wants_the_fixture_ends_in_one_sentence(self, pytester: pytest.Pytester) -> None:
        checkout = JUDGED.with_files({"test_own.py": "def test_own(judge_memory):\n    pass\n"}).at(pytester)
        result = checkout.run("test_own.py")
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["judge_memory: asks a model, and none is named; give --judge SELECTOR*"])


def test_a_wrong_argument_is_no_verdict(pytester: pytest.Pytester) -> None:
    wrong: list[tuple[Any, str]] = [
        ({"rubric": {"criteria": ["tome"]}}, "the criterion `tome` is not in rubric.yaml; did you mean `tone`?"),
        ({"rubric": 5}, "what the answer must do is text or a list of texts, not 5"),
        ({"memory": {"disclosure": "refused"}}, "disclosure: 'refused' is unknown; did you mean `refuse`?"),
        ({"memory": {"forbidden": "x"}}, "`forbidden` goes with `disclosure`; give refuse, partial or answer"),
        ("pairwise", "needs the other answer; write {pairwise: {against: 'text'}}"),
        ({"pairwise": {"agianst": "x"}}, "unknown argument `agianst`; did you mean `against`?"),
    ]
    rubric = {"criteria": {"tone": {"question": "Is it kind?"}}, "preflight": "off"}
    checkout = judged(*(asks(f"c{n}", "right", judge) for n, (judge, _) in enumerate(wrong)), **rubric).at(pytester)
    result = checkout.run("eval", "--recall-mode=all")
    assert checkout.boxes() == {}
    result.stdout.fnmatch_lines(
        [
            f"eval/cases.yaml:{6 * n + 1}: judges: *: {sentence.replace('[', '[[]')}"
            for n, (_, sentence) in enumerate(wrong)
        ]
    )
