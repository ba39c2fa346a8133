"""The words for why a check is not evaluated."""

from __future__ import annotations

import pytest

from pytest_recall.results.evaluation_text import not_compared_text, not_evaluated_text
from pytest_recall.trials.record import NotCompared, NotEvaluated
from tests.helpers.samples import ERROR, header, trial


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (NotCompared("no-repository"), "there is no git repository here"),
        (
            NotCompared("no-commit", "main"),
            "`main` is no commit in this clone; correct it or fetch it (with actions/checkout: `fetch-depth: 0`)",
        ),
        (
            NotCompared("no-common-commit", "main"),
            "`main` and HEAD have no commit in common in this clone; fetch more of the history"
            " (with actions/checkout: `fetch-depth: 0`)",
        ),
        (NotCompared("git", "git: not found"), "git: not found"),
        (
            NotCompared("chosen", "-k"),
            "the cases are chosen by -k, and not by what the change affects; leave that out, or split a run with"
            " --recall-shard",
        ),
    ],
)
def test_a_check_that_cannot_compare(found: NotCompared, text: str) -> None:
    assert not_compared_text(found) == text


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (NotEvaluated("a", "budget"), "the budget of $1.00 does not reach it"),
        (NotEvaluated("a", "not-run"), "not run"),
        (NotEvaluated("a", "call", "http-503"), "the provider did not answer: 503"),
        (NotEvaluated("a", "call", "ReadTimeout"), "the provider did not answer: ReadTimeout"),
        (NotEvaluated("a", "call", "http-401"), "the provider refuses the key: 401"),
        (NotEvaluated("a", "skip"), "skip"),
    ],
)
def test_a_case_without_a_verdict(found: NotEvaluated, text: str) -> None:
    assert not_evaluated_text(header(budget=1.0), found, None) == text


def test_a_case_that_was_cut_between_two_calls_says_so_itself() -> None:
    cut = trial("a", ERROR, error="the budget of $1.00 is spent", ended_by="budget")
    assert not_evaluated_text(header(budget=1.0), NotEvaluated("a", "budget"), cut) == "the budget of $1.00 is spent"
