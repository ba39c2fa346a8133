"""Annotations: one line each, whatever an answer says."""

from __future__ import annotations

import re

import pytest

from pytest_recall.cases.gate import Gate
from pytest_recall.results.scorecard_text import MOST, commands
from pytest_recall.results.standing import Standing
from pytest_recall.trials.trial import Verdict
from tests.helpers.samples import ERROR, FAILED, TODAY, row
from tests.results.runs import A_RUN, graded, run

WHERE = "eval/cases.yaml:12"


def test_regressions_are_errors_new_failures_warnings_and_known_ones_no_news() -> None:
    _, card = run([*A_RUN, graded("fresh", FAILED, "new")])
    assert list(commands(card)) == [
        "::error file=eval/cases.yaml,line=12,title=regression%3A worse::contains: no “one pound”%0Alikely cause:"
        " not known: nothing is known of its last pass to compare with",
        "::warning title=new failure%3A fresh::contains: no “one pound”",
        "::warning title=no verdict%3A crash::agent: TimeoutError: no answer",
    ]


@pytest.mark.parametrize(
    "said", ["a\n::error::b", "100% ::set-output name=x::y\r\nz", "%0A::stop-commands::t", "a,b:c"]
)
def test_an_answer_gives_no_command(said: str) -> None:
    one = graded(
        "a,b", FAILED, "due", row(3), where="eval/a,b: 100%.yaml:3", verdicts=(Verdict(passed=False, reason=said),)
    )
    (line,) = commands(run([one])[1])
    place = "file=eval/a%2Cb%3A 100%25.yaml,line=3,title=regression%3A a%2Cb"
    assert line.startswith(f"::error {place}::")
    assert not re.search(r"[\r\n]", line)
    assert "%0A::" not in line.replace("%0Alikely", "")


@pytest.mark.parametrize(
    ("touched", "told"),
    [
        ((), "no change is known to have touched it since its last pass on main: provider, data or chance"),
        (("12",), "suspect: #12 (the change since its last pass on main that touched it)"),
        (("12", "9f86d081884c"), "suspects: #12, 9f86d081884c (changes since its last pass on main that touched it)"),
        (
            tuple("12345678"),
            "suspects: #1, #2, #3, #4, #5, #6, #7, #8"
            " (the newest 8 changes since its last pass on main that touched it)",
        ),
    ],
)
def test_a_regression_names_its_suspects(touched: tuple[str, ...], told: str) -> None:
    _, card = run([graded("a", FAILED, "due", row(3), where=WHERE), graded("b", FAILED, "due", row(3), where=WHERE)])
    first, second = commands(card._replace(suspects={"a": touched}))
    assert first.endswith(f"%0A{told}")
    assert "%0Asuspect" not in second
    assert "no change" not in second


def test_paths_are_those_of_the_repository() -> None:
    _, card = run([graded("a", FAILED, "due", row(3), where=WHERE)])
    assert "file=agents/bot/eval/cases.yaml,line=12," in next(commands(card, "agents/bot"))


def test_what_blocks_nobody_is_no_annotation() -> None:
    apart = graded("a", FAILED, "due", row(3, quarantined=TODAY))
    assert list(commands(run([apart, graded("b", FAILED, "due", row(3), unproven="kappa")])[1])) == []


def test_a_missed_gate_is_an_error_of_no_file() -> None:
    _, card = run([])
    gates = [Standing(Gate(at_least=0.9, informs=informs), 10, 10, 5, 0) for informs in (False, True)]
    (line,) = commands(card._replace(gates=tuple(gates)))
    assert line.startswith("::error title=a gate is missed::gate `all cases` missed: 50.0 %25 of 10 last verdicts")


def test_there_are_no_more_than_github_shows() -> None:
    fails = [graded(f"a{n}", FAILED, "due", row(3)) for n in range(MOST + 5)]
    new = [graded(f"b{n}", FAILED, "new") for n in range(MOST)]
    lines = list(commands(run([*fails, *new, graded("c", ERROR, "due")])[1]))
    assert sorted(line.split()[0] for line in lines) == ["::error"] * MOST + ["::warning"] * MOST
