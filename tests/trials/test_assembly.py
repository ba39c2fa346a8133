"""A trial is put together of the case, what came of it, the calls that it took, and what its run knows."""

from __future__ import annotations

from hypothesis import given

from pytest_recall.files.errors import CaseError
from pytest_recall.models.outage import Outage
from pytest_recall.trials.execution import CallSummary, Result, RunFacts, TrialCase, in_run, make_trial, with_result
from pytest_recall.trials.trial import Answer, Outcome, Trial, Verdict
from tests.helpers.samples import case, costly, row, trial, trials

ASKED = case()
ANSWER = Answer(text="One pound a day.")
PASSING, FAILING = Verdict(passed=True, judge="exact"), Verdict(passed=False, judge="contains", reason="no “two”")


def test_each_part_gives_its_own_fields_and_all_of_them_together_every_field() -> None:
    own = {"repeat", "rule", "arm", "unproven"}
    parts = [{"case_id", "scenario", "dimension", "fingerprint"}, own]
    parts += [set(part._fields) for part in (Result, CallSummary, RunFacts)]
    parts.append({"weighed", "tally"})  # Of all trials of a series, once they are decided.
    parts.append({"earlier"})  # Of a verdict that another run came to.
    assert sorted(name for part in parts for name in part) == sorted(Trial._fields)


def test_a_trial_says_which_case_it_is_of() -> None:
    made = make_trial(TrialCase.of(ASKED), Result(Outcome.PASSED, ANSWER), arm="raw", repeat=2, rule="fail 2of3")
    assert (made.case_id, made.scenario, made.dimension) == (ASKED.id, ASKED.scenario, ASKED.dimension)
    assert (made.fingerprint, made.arm, made.repeat, made.rule) == (ASKED.fingerprint, "raw", 2, "fail 2of3")


def test_all_judges_have_to_pass() -> None:
    assert Result.judged(ANSWER, [PASSING, PASSING]).outcome is Outcome.PASSED
    failed = Result.judged(ANSWER, [PASSING, FAILING], 1.5)
    assert (failed.outcome, failed.seconds, failed.note) == (Outcome.FAILED, 1.5, "contains: no “two”")


def test_an_error_is_no_verdict_and_keeps_the_answer() -> None:
    result = Result.no_verdict(CaseError("judge exact", "boom"), ANSWER)
    assert (result.outcome, result.stage, result.answer) == (Outcome.ERROR, "judge exact", ANSWER)
    assert "boom" in result.error


def test_what_an_outage_says_and_its_host_are_put_through_redaction() -> None:
    outage = Outage("failing", "topsecret.example", "503 of topsecret")
    cleaned = Result(Outcome.ERROR, ended_by="outage", outage=outage).clean(lambda text: text.replace("topsecret", "X"))
    assert cleaned.outage == Outage("failing", "X.example", "503 of X")


def test_the_controller_adds_what_only_it_knows() -> None:
    facts = RunFacts(
        reason="due", where="eval/cases.yaml:3", row=row(3), attempt=2, pr="7", model="m", counts_for_schedule=False
    )
    made = in_run(trial("a", seconds=2.0), facts)
    assert made == trial("a", seconds=2.0, **facts._asdict())


@costly
@given(trials)
def test_a_trial_taken_apart_is_the_same_when_it_is_put_together_again(one: Trial) -> None:
    calls = CallSummary(*(getattr(one, name) for name in CallSummary._fields))
    run = RunFacts(*(getattr(one, f) for f in RunFacts._fields))
    case_of = TrialCase(one.case_id, one.scenario, one.dimension, one.fingerprint)
    own = {name: getattr(one, name) for name in ("repeat", "rule", "arm", "unproven")}
    assert make_trial(case_of, Result.of(one), calls, run, **own) == one._replace(earlier=None)
    assert with_result(one, Result.of(one)) == one
