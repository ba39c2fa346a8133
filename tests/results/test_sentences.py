"""Sentences about a run: what its cases asked by that is neither recorded nor replayed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_recall.files.wording import percent, plural
from pytest_recall.replay.exchange import Call
from pytest_recall.replay.programs import NamedPrograms
from pytest_recall.results import sentences
from pytest_recall.results.scorecard import CaseResult, Scorecard, summarize
from pytest_recall.results.sentences import (
    ambiguous_line,
    answered_otherwise_line,
    by_credential_line,
    lost_calls_line,
    nothing_recorded_line,
    outside_line,
    past_lines,
    unrecorded_line,
)
from pytest_recall.trials.record import Header, NotCompared
from pytest_recall.trials.trial import Outcome
from tests.helpers.samples import ERROR, FAILED, PASSED, TODAY, failing, header, row, trial


def test_a_recording_says_what_a_replay_refuses() -> None:
    assert past_lines([], {}, NamedPrograms()) == []
    named = NamedPrograms.of(["git"])
    assert past_lines(["git", "python server.py", "node"], {"primp": 3, "grpc": 1}, named) == [
        "a replay does not start what cases have started, and they have no verdict there: python server.py, node; for"
        " those that ask no model and may start there, have in rubric.yaml: replay: {programs: [git, "
        '"python server.py"]}',
        "clients that cases asked by: primp (3), grpc (1); nothing of it is recorded, and a replay refuses them, except"
        " to hosts that rubric.yaml has ignored",
    ]
    assert past_lines(["git", "rg"], {}, NamedPrograms(every=True)) == []


def test_a_recording_of_nothing_says_what_the_cases_did_instead() -> None:
    assert nothing_recorded_line(["a"], {}, {}, (), {}) == f"--record has no call to replay: {unrecorded_line(['a'])}"
    line = nothing_recorded_line(["a"], {"i.posthog.com": 2}, {"llm.internal": 1, "db": 3}, ["node"], {"primp": 1})
    assert line.removeprefix(nothing_recorded_line(["a"], {}, {}, (), {})) == (
        "; seen were telemetry: i.posthog.com (2); seen were calls to ignored hosts: db (3), llm.internal (1);"
        " seen were clients that are not recorded: primp (1); seen were programs: node"
    )


def test_calls_that_are_of_no_case_are_listed() -> None:
    assert outside_line({"GET http://b/x": 1, "GET http://a/": 2}) == (
        "3 calls outside of any case, which a replay refuses, not recorded: GET http://a/ (2), GET http://b/x (1); let"
        " a fixture make what a case needs, and name a host that takes telemetry in rubric.yaml: `calls: {HOST:"
        " telemetry}`"
    )


def test_calls_of_no_case_that_were_answered_in_several_ways_are_listed() -> None:
    assert ambiguous_line({"GET http://b/x", "GET http://a/"}) == (
        "GET http://a/, GET http://b/x: called outside of any case and answered in several ways, so that a replay does"
        " not know which answer to give, and refuses it; let a fixture make the call"
    )


def test_a_fixture_with_other_answers_in_another_worker_is_named() -> None:
    assert answered_otherwise_line({"fixture `b`", "fixture `a`"}) == (
        "fixture `a`, fixture `b`: answered differently in several workers, and recorded with the answers of the first,"
        " so that a replay refuses the cases of the other workers; --record=missing records these again"
    )


def test_a_header_by_which_alone_calls_differ_is_named_with_what_to_do() -> None:
    assert by_credential_line("x-api-key", ["a.ndjson", "b.ndjson"]) == (
        "a.ndjson (and 1 more): calls that differ in nothing but the credential in `x-api-key` were answered otherwise,"
        " and nothing of a credential is recorded, so that a replay gives their answers in the order of the recording;"
        " give each user a case, or a header or a parameter that names the user, else add `volatile:"
        " [header.x-api-key]` to rubric.yaml"
    )


def test_cases_whose_agent_goes_on_without_an_answer_are_named_with_what_to_do() -> None:
    ends = {"b": ["http-503"], "a": ["ReadTimeout", "http-503"]}
    assert lost_calls_line(ends, is_recorded=False) == (
        "2 cases came to their verdicts though the provider did not answer (ReadTimeout, 503): a, b; what is judged is"
        " what the agent says without that answer: run these cases again if that is not meant"
    )
    line = lost_calls_line({"a": ["http-529"]}, is_recorded=True)
    assert line.startswith("1 case came to its verdict though")
    assert line.endswith(": record this case again with --record if that is not meant")


# What every rendering says in the same words


def card(tested: int, total: int) -> Scorecard:
    """Return the scorecard of a run in which so many cases passed."""
    return summarize([trial(f"case-{number}") for number in range(tested)], [], total, TODAY)


def result(box: int | None, outcome: Outcome = PASSED, streak: int = 1) -> CaseResult:
    """Return what became of a case that was in this box."""
    known = row(box, streak) if box else None
    return summarize([trial("a", outcome, row=known)], [], 1, TODAY).results[0]


@pytest.mark.parametrize(
    ("picks", "more", "line"),
    [
        ([], {}, "pr 2026-03-10, seed 7: 0 of 40 cases"),
        ([("a", "new")], {"total": 1}, "pr 2026-03-10, seed 7: 1 of 1 case (1 new)"),
        (
            [("a", "box 1"), ("b", "due"), ("c", "due"), ("d", "new")],
            {"not_due": 30, "next_due": "2026-03-12", "over_cap": 4, "unseen": 2},
            "pr 2026-03-10, seed 7: 4 of 40 cases (1 box 1, 2 due, 1 new);"
            " not run: 30 not due until 2026-03-12, 4 beyond the limit of one run, 2 new, not drawn",
        ),
        ([], {"without_base": 40}, "pr 2026-03-10, seed 7: 0 of 40 cases; not run: 40 without a base to compare with"),
        ([("a", "all"), ("b", "all")], {"mode": "all", "total": 2}, "all 2026-03-10, seed 7: 2 of 2 cases"),
        ([], {"mode": "nightly", "total": 12345}, "nightly 2026-03-10, seed 7: 0 of 12,345 cases"),
    ],
)
def test_the_slice_and_why_the_rest_is_not_run(picks: list[tuple[str, str]], more: dict[str, Any], line: str) -> None:
    assert sentences.slice_line(header(*picks, **more)) == line


@pytest.mark.parametrize(
    ("more", "title"),
    [
        ({}, "pull request, 2026-03-10, seed 7"),
        ({"pr": "41", "model": "m1"}, "pull request for #41, 2026-03-10, seed 7"),
        ({"mode": "nightly"}, "nightly, 2026-03-10, seed 7"),
        ({"mode": "all"}, "all cases, 2026-03-10, seed 7"),
        ({"mode": "explicit"}, "explicit choice, 2026-03-10, seed 7"),
        ({"mode": "all", "source_kind": "dataset", "seed": ""}, "questions of a dataset, 2026-03-10"),
        ({"mode": "all", "source_kind": "persona"}, "questions of a persona, 2026-03-10, seed 7"),
    ],
)
def test_title(more: dict[str, Any], title: str) -> None:
    assert sentences.title(header(**more), ()) == title


def test_a_title_names_the_models_that_replied_and_no_other() -> None:
    asked = header(model="m1")
    assert sentences.title(asked, ("m2",)) == "pull request, 2026-03-10, seed 7, model m2"
    assert sentences.title(asked, ("m2", "m3")) == "pull request, 2026-03-10, seed 7, models m2, m3"


def test_another_model_than_the_one_that_was_asked_for_is_a_warning() -> None:
    replies = trial("a", calls=(Call("agent", "live", "m2-2026-01-01"), Call("judge", "live", "m9")))
    card = summarize([replies], [], 1, TODAY)
    assert card.models == ("m2-2026-01-01",)
    told = "warning: the replies are of m2-2026-01-01, and `--model` or `model_primary` names openai:m1"
    assert sentences.other_model(header(model="openai:m1"), card) == told
    for same in (None, "m2", "openai:m2", "command:ask"):
        assert sentences.other_model(header(model=same), card) == ""
    assert sentences.other_model(header(model="m1"), summarize([trial("a")], [], 1, TODAY)) == ""


@pytest.mark.parametrize(
    ("tested", "line"),
    [
        (0, "No case came to a verdict: this run shows nothing."),
        (40, "40 cases, and every one came to a verdict."),
        (
            25,
            "With 25 of 40 cases tested, a change that breaks up to 11.3 % of all cases could go unseen (95 %).",
        ),
    ],
)
def test_the_honest_limit(tested: int, line: str) -> None:
    assert sentences.limit(header(), card(tested, 40)) == line


@pytest.mark.parametrize(
    ("more", "cases"),
    [
        ({"whole": True}, "all 4 cases"),
        ({}, "the 4 cases of this run"),
        ({"files": ("eval/cases.yaml",)}, "the 4 cases in eval/cases.yaml"),
        (
            {"files": ("a.yaml", "b.yaml"), "scenarios": ("fees", "hours"), "dimensions": ("tone",)},
            "the 4 cases of scenario fees, hours, of dimension tone, in a.yaml, b.yaml",
        ),
    ],
    ids=["set", "unknown", "file", "filters"],
)
def test_of_which_cases_a_share_is(more: dict[str, Any], cases: str) -> None:
    """A run of one file does not know what the others of the set have."""
    head = header(**{"whole": False, "total": 4, "verdicts": 4, "passing": 4, **more})
    assert sentences.pass_rate(head, card(0, 4)) == f"100 % of the last verdicts of {cases} pass"
    some = head._replace(verdicts=2, passing=2)
    assert sentences.pass_rate(some, card(0, 4)).endswith(f"2 of {cases.removeprefix('all ')} have")
    assert ("of all cases could" in sentences.limit(head, card(1, 4))) is head.whole


def test_the_limit_where_it_is_known_what_a_change_affects() -> None:
    reasons = ["affected", "judged again", "recorded answer", "due"]
    one = summarize([trial(f"c{n}", reason=reason) for n, reason in enumerate(reasons)], [], 40, TODAY)
    known = header(knows_change=True, unaffected=37)
    told = "The change leaves 37 of 40 cases as they were"
    assert sentences.limit(known, one) == f"{told}, and 3 that it affects came to a verdict."
    assert sentences.limit(known, card(0, 40)) == f"{told}."


def test_what_the_verdict_on_a_change_rests_on_is_in_the_headline() -> None:
    one = summarize([trial("a", reason="recorded answer")], [], 40, TODAY)
    assert "1 of 1 verdict rests on recordings that CI did not make" in sentences.headline(
        header(knows_change=True, own_recordings=1), one
    )
    unknown = header(("a", "due"), pr="7", base="c0ffee")
    told = "1 of 40 asked; what this change affects is not known"
    assert told in sentences.headline(unknown, one)
    for known in (unknown._replace(knows_change=True), unknown._replace(mode="nightly"), unknown._replace(base="")):
        assert told not in sentences.headline(known, one)
    short = unknown._replace(knows_change=True, unaffordable=("b",))
    assert sentences.headline(short, one).startswith(
        "1 of 2 affected cases was not evaluated (the budget does not reach it)"
    )


def test_the_limit_of_questions_says_nothing_of_a_schedule() -> None:
    told = "25 of 40 questions came to a verdict."
    assert sentences.limit(header(source_kind="dataset"), card(25, 40)) == told


@pytest.mark.parametrize(
    ("reason", "writes", "counts", "told"),
    [
        ("due", True, False, "1 of 1 verdict on replayed answers, which move no box."),
        (
            "due",
            True,
            True,
            "1 of 1 verdict on replayed answers, which moved boxes, since --recall-trust-replays is given.",
        ),
        ("explicit", False, True, "1 of 1 verdict on replayed answers."),
        ("dataset", False, True, "1 of 1 verdict on replayed answers."),
        ("profile", False, True, "1 of 1 verdict on replayed answers."),
    ],
)
def test_replays_move_boxes_only_of_cases_in_runs_that_move_some(
    reason: str, writes: bool, counts: bool, told: str
) -> None:
    one = trial("a", reason=reason, source="replayed", counts_for_schedule=counts)
    assert sentences.replays(header(writes=writes), summarize([one], [], 1, TODAY)) == told


def test_the_limit_of_one_case() -> None:
    assert sentences.limit(header(total=1), card(1, 1)) == "1 case, and every one came to a verdict."


@pytest.mark.parametrize(
    ("box", "outcome", "told"),
    [
        (None, PASSED, "new → box 1"),
        (None, FAILED, "new → box 1"),
        (None, ERROR, "no box"),
        (2, PASSED, "box 2 → 3"),
        (5, PASSED, "box 5"),
        (4, FAILED, "box 4 → 1"),
        (1, FAILED, "box 1"),
        (3, ERROR, "box 3"),
    ],
)
def test_the_way_between_boxes(box: int | None, outcome: Outcome, told: str) -> None:
    assert sentences.move(result(box, outcome)) == told


def test_what_a_fail_means() -> None:
    assert result(3, FAILED, 3).failure.value == "regression"
    (again,) = summarize([trial("a", FAILED, row=failing())], [], 1, TODAY).results
    assert again.failure.value == "known failure"
    assert result(None, FAILED).failure.value == "new failure"


def test_orphans() -> None:
    assert sentences.orphans(header()) == ""
    one = sentences.orphans(header(orphans=("a",)))
    assert one == "1 row of the state without a case in the collected files, skipped: a"
    many = sentences.orphans(header(orphans=tuple(f"c{number}" for number in range(12))))
    assert many.startswith("12 rows of the state")
    assert many.endswith("skipped: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 2 more")


def test_swap() -> None:
    assert sentences.swap(header(model="m2")) == ""
    assert sentences.swap(header(model="m2", swapped=1)) == (
        "1 case last tested with another model than m2: not moved; --reset-on-model-swap returns to box 1."
    )
    assert sentences.swap(header(model="m2", swapped=3, reset=True)) == (
        "3 cases last tested with another model than m2: returned to box 1."
    )


@pytest.mark.parametrize(("count", "told"), [(0, "0 cases"), (1, "1 case"), (2, "2 cases"), (1000, "1,000 cases")])
def test_plural(count: int, told: str) -> None:
    assert plural(count, "case") == told


@pytest.mark.parametrize(("share", "told"), [(0.1129, "11.3 %"), (0.95, "95.0 %"), (0.0004, "0.0 %"), (1.0, "100.0 %")])
def test_percent(share: float, told: str) -> None:
    assert percent(share) == told


@pytest.mark.parametrize("more", [{"varying": 1}, {"varying": 6}, {"varying": 6, "varying_of": 20}])
def test_the_first_line_says_how_many_cases_vary(more: dict[str, Any]) -> None:
    assert sentences.varying(header()) == ""
    assert sentences.varying(header(**more)) in sentences.first_line(header(**more), card(2, 2))
    assert {int(number) for number in re.findall(r"\d+", sentences.varying(header(**more)))} == set(more.values())


# The verdict, and what to do


def of_change(*reasons_of: tuple[str, Outcome], **more: Any) -> tuple[Header, Scorecard]:
    """Return a pull request whose change is known; every case passed before."""
    trials = [trial(f"c{n}", one, reason=reason, row=row(3)) for n, (reason, one) in enumerate(reasons_of)]
    picks = [(one.case_id, one.reason) for one in trials]
    known = header(*picks, **{"pr": "7", "knows_change": True, **more})
    return known, summarize(trials, picks, 40, TODAY, by_change=known.knows_change)


AFFECTED_PASS, AFFECTED_FAIL, AFFECTED_ERROR = (("affected", one) for one in (PASSED, FAILED, ERROR))


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (of_change(AFFECTED_PASS, AFFECTED_PASS), "No regression: 2 affected cases pass"),
        (of_change(AFFECTED_PASS), "No regression: 1 affected case passes"),
        (of_change(AFFECTED_PASS, AFFECTED_FAIL), "This change breaks 1 of 2 affected cases"),
        (of_change(AFFECTED_ERROR, AFFECTED_FAIL), "This change breaks 1 of 2 affected cases"),
        (of_change(AFFECTED_PASS, ("due", FAILED)), "No regression: 1 affected case passes"),
        (of_change(("due", PASSED)), "No regression: 1 case passes"),
        (of_change(), "No regression: this change affects none of 40 cases"),
        (of_change(("due", FAILED), knows_change=False), "1 of 1 case regressed"),
        (of_change(("due", ERROR), knows_change=False), "No verdict: no case passed or failed"),
        (
            of_change(("due", PASSED), ("due", ERROR), knows_change=False),
            "No verdict on 1 of 2 cases, and no regression: 1 case passes",
        ),
        (of_change(knows_change=False), "No case was chosen"),
    ],
)
def test_the_verdict(made: tuple[Header, Scorecard], verdict: str) -> None:
    assert sentences.verdict(*made) == verdict
    assert sentences.headline(*made).startswith(verdict)


def test_what_was_not_evaluated_is_the_verdict_unless_the_change_breaks_a_case() -> None:
    left = "1 of 2 affected cases was not evaluated"
    assert sentences.verdict(*of_change(AFFECTED_PASS, AFFECTED_ERROR)).startswith(left)
    broken, rest, *_ = sentences.first_line(*of_change(AFFECTED_FAIL, AFFECTED_ERROR)).split("; ")
    assert (broken, rest.startswith(left)) == ("This change breaks 1 of 2 affected cases", True)
    assert sentences.verdict(*of_change(not_compared=NotCompared("git", "no git"))).startswith("Not evaluated: no git")


@pytest.mark.parametrize(
    ("made", "something"),
    [
        (of_change(AFFECTED_PASS), False),
        (of_change(AFFECTED_PASS, ("due", FAILED)), True),
        (of_change(AFFECTED_FAIL), True),
        (of_change(AFFECTED_ERROR), True),
        (of_change(("due", ERROR), knows_change=False), True),
        (of_change(not_compared=NotCompared("git", "no git")), True),
        (of_change(), False),
    ],
)
def test_there_is_something_to_do_about_what_blocks_or_fails_outside_of_a_change(
    made: tuple[Header, Scorecard], something: bool
) -> None:
    assert bool(sentences.advice(*made)) is something


def test_what_a_fork_needs_is_done_by_a_maintainer() -> None:
    made, card = of_change(AFFECTED_ERROR)
    assert "a maintainer" in sentences.advice(made._replace(fork=True), card)
    assert "a maintainer" not in sentences.advice(made, card)
    assert sentences.not_run(header(over_cap=2, fork=True, knows_change=True)) == "2 due, for which a fork has no key"
    assert sentences.not_run(header(over_cap=2, knows_change=True)) == "2 beyond the limit of one run"
