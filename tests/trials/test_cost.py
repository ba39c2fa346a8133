"""What was spent and saved, in a line and in the record-against-replay table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_recall.replay.budget import Balance, LedgerTotal
from pytest_recall.replay.exchange import Call, Tokens
from pytest_recall.trials import cost_text
from pytest_recall.trials.cost import Spend, by_scenario, spend_of
from pytest_recall.trials.cost_text import (
    COST_MEANING,
    ESTIMATED_MEANING,
    budget_line,
    cost_json,
    cost_lines,
    cost_section,
    let_through_lines,
    let_through_words,
)
from pytest_recall.trials.record import LetThrough

SOME = Tokens(100, 20)


def calls(
    count: int, cost: float | None, source: str = "live", kind: str = "agent", tokens: Tokens | None = SOME
) -> list[Call]:
    """Return so many equal calls."""
    return [Call(kind, source, "gpt-4o", "openai", tokens, cost)] * count


REPLAYED = calls(24, 0.00875, "replayed", tokens=Tokens(1_500, 20, 300, None)) + calls(3, 0.0041, kind="judge")
FEES = calls(2, 0.25, tokens=Tokens(10, 20, 0, 5)) + calls(1, None, tokens=None)


KNOWN: dict[str, object] = {"estimated": False, "models_without_price": []}

# Lines


def test_nothing_to_say() -> None:
    assert cost_lines({}) == []
    assert cost_lines({"loans": Spend()}) == []
    assert not cost_section({"loans": Spend()}).is_shown


def test_one_line_for_one_scenario() -> None:
    spends = by_scenario([("loans", REPLAYED), ("offline", [])])
    assert cost_lines(spends) == ["spent $0.0123, replayed 24 calls that would cost $0.21"]


def test_a_line_for_each_of_several_scenarios() -> None:
    spends = by_scenario([("loans", REPLAYED), ("fees", calls(1, 1.5)), ("offline", [])])
    assert cost_lines(spends) == [
        "spent $1.51, replayed 24 calls that would cost $0.21",
        "  fees: spent $1.50",
        "  loans: spent $0.0123, replayed 24 calls that would cost $0.21",
    ]


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (calls(2, 0.0), "spent $0.00"),
        (calls(1, 0.25, "replayed"), "spent nothing, replayed 1 call that would cost $0.25"),
        (FEES, "spent at least $0.50 (1 call without a price)"),
        (
            calls(1, 0.5) + calls(2, 0.25, "replayed") + calls(3, None, "replayed", tokens=None),
            "spent $0.50, replayed 5 calls that would cost at least $0.50 (3 calls without a price)",
        ),
        (calls(3, None, tokens=None), "made 3 calls, price unknown"),
        (
            calls(1, None, tokens=None) + calls(1200, None, "replayed", tokens=None),
            "made 1 call, price unknown, replayed 1,200 calls, price unknown",
        ),
    ],
)
def test_what_is_unknown_is_said(made: list[Call], told: str) -> None:
    assert cost_lines({"a": spend_of(made)}) == [told]


def test_a_price_that_is_not_known_is_asked_for_in_the_lines_of_a_rubric() -> None:
    made = [*calls(2, None), *calls(1, 0.5), Call("agent", "live", "own: 7b", None, SOME)]
    assert cost_lines({"a": spend_of(made)}) == [
        "spent at least $0.50 (3 calls without a price)",
        "no price is known of `gpt-4o`, `own: 7b`; add it to rubric.yaml, in US dollars per million tokens:",
        "  prices:",
        "    gpt-4o: {input: USD, output: USD}",
        '    "own: 7b": {input: USD, output: USD}',
    ]
    assert cost_section({"a": spend_of(made)}).snippet == cost_lines({"a": spend_of(made)})[1:]


def test_without_the_price_list_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_text, "available", lambda: False)
    last = cost_lines({"a": spend_of(calls(1, None))})[-1]
    assert last == "the list prices of vendors come with `pip install 'pytest-recall[replay]'`"


ESTIMATED = [one._replace(estimated=True) for one in calls(2, 0.25)]


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (ESTIMATED, "spent ~$0.50"),
        (ESTIMATED + calls(1, 0.5), "spent ~$1.00"),
        (
            ESTIMATED + calls(1, 0.5, "replayed") + calls(1, None, tokens=None),
            "spent at least ~$0.50 (1 call without a price), replayed 1 call that would cost $0.50",
        ),
    ],
)
def test_a_sum_with_an_estimate_has_a_tilde(made: list[Call], told: str) -> None:
    assert cost_lines({"a": spend_of(made)}) == [told, f"~: 2 calls {ESTIMATED_MEANING}"]
    assert cost_json({"a": spend_of(made)})["total"]["spent"]["estimated"] is True
    assert rows({"a": spend_of(made)})[0][-3].startswith(("~$", "at least ~$"))


def test_what_an_estimated_call_costs_nothing_is_no_estimate() -> None:
    assert cost_lines({"a": spend_of([calls(1, 0.0)[0]._replace(estimated=True)])}) == ["spent $0.00"]


@pytest.mark.parametrize(
    ("spent", "more", "told"),
    [
        (LedgerTotal(0.5), {}, "spent $0.50 of the budget of $1.00"),
        (LedgerTotal(0.5, estimated=True), {}, "spent ~$0.50 of the budget of $1.00"),
        (LedgerTotal(0.5, 2), {}, "spent $0.50 of the budget of $1.00, without 2 calls of unknown cost"),
        (LedgerTotal(1.0, refused=0.75), {}, "spent $1.00 of the budget of $1.00"),
        (
            LedgerTotal(0.5, refused=0.75),
            {},
            "spent $0.50 of the budget of $1.00, which has no room for another call, as one may cost $0.75",
        ),
        (LedgerTotal(0.5, refused=0.75), {"barred": "why not"}, "spent $0.50 of the budget of $1.00; why not"),
    ],
)
def test_what_is_left_of_a_budget(spent: LedgerTotal, more: dict[str, Any], told: str) -> None:
    assert budget_line(Balance(1.0, spent=spent, **more)) == told


def test_calls_outside_of_scenarios_and_hostile_names() -> None:
    spends = by_scenario([("", calls(1, 0.25)), ("a\n\x1b[31mb", calls(1, 0.25))])
    assert cost_lines(spends) == ["spent $0.50", "  (none): spent $0.25", "  a [31mb: spent $0.25"]


@pytest.mark.parametrize(
    "what", [LetThrough(calls={"db": 2}), LetThrough(places=("db:5432",)), LetThrough(programs=("git",))]
)
def test_what_is_let_through_is_in_no_sum(what: LetThrough) -> None:
    replayed = {"a": spend_of(calls(1, 0.25, "replayed")), "b": spend_of(calls(1, 0.0))}
    assert cost_lines(replayed, what) == [
        "spent $0.00 that is counted, replayed 1 call that would cost $0.25",
        "  a: spent nothing that is counted, replayed 1 call that would cost $0.25",
        "  b: spent $0.00 that is counted",
    ]
    balance = Balance(1.0, spent=LedgerTotal(0.0, 1))
    assert budget_line(balance, let_through=what) == (
        "spent $0.00 of the budget of $1.00, without 1 call of unknown cost and what the rubric lets through"
    )
    assert f"{let_through_words(what)}." in cost_section(replayed, what).notes


def test_what_is_let_through_in_words() -> None:
    assert let_through_words(LetThrough()) == ""
    assert let_through_words(LetThrough({"db": 2, "a": 1}, ("db:5432",), ("git", "rg"))) == (
        "let through by the rubric, and not counted: 3 calls (db, a), connections (db:5432), programs (git, rg)"
    )


def test_what_the_rubric_lets_through_is_said() -> None:
    assert let_through_lines(LetThrough(), "eval/rubric.yaml") == []
    assert let_through_lines(LetThrough({"db": 1}), "eval/rubric.yaml:3") == [
        "1 call went live to db, which `calls` of eval/rubric.yaml:3 lets through; it is neither recorded nor"
        " counted in the cost"
    ]
    assert let_through_lines(LetThrough({"db": 1, "llm": 2}, ("db:5432",), ("git", "rg")), "eval/rubric.yaml:3") == [
        "3 calls went live to llm (2), db (1), which `calls` of eval/rubric.yaml:3 lets through; they are"
        " neither recorded nor counted in the cost",
        "clients that are not recorded have connected to db:5432, which `calls` of eval/rubric.yaml:3 lets"
        " through; what they asked there is not counted in the cost",
        "2 programs ran, whose calls are not counted in the cost: git, rg",
    ]


# Tables


def rows(spends: dict[str, Spend]) -> Sequence[tuple[str, ...]]:
    """Return the rows of the table by scenario."""
    (table,) = cost_section(spends).tables
    return table.rows


def test_table() -> None:
    spends = by_scenario([("loans", REPLAYED), ("fees", FEES), ("offline", [])])
    assert rows(spends) == [
        ("fees", "3", "20", "40", "0", "10", "at least $0.50", "$0.00", "unknown"),
        ("loans", "27", "36,300", "540", "7,200", "–", "$0.2223", "$0.0123", "94.5 %"),
        ("total", "30", "36,320", "580", "7,200", "10", "at least $0.7223", "$0.0123", "unknown"),
    ]
    assert cost_section(spends).notes == [
        COST_MEANING,
        "1 call without a price (1 live, 0 replayed): unknown is not zero.",
        "1 call without a count of tokens.",
    ]


def test_table_of_a_recording() -> None:
    """What is on the cassettes now costs nothing the next time; judges are asked again."""
    made = calls(9, 0.25) + calls(1, 0.25, kind="judge") + calls(2, 0.25, kind="worker")
    loans, total = rows({"loans": spend_of(made)})
    assert loans == ("loans", "12", "1,200", "240", "–", "–", "$3.00", "$0.25", "91.7 %")
    assert total[1:] == loans[1:]


def test_table_of_unknown_models() -> None:
    assert rows({"loans": spend_of(calls(4, None, tokens=None))})[0][1:] == (
        "4",
        *["unknown"] * 5,
        "$0.00",
        "unknown",
    )
    judged = rows({"loans": spend_of(calls(4, None, kind="judge"))})
    assert judged[0][1:] == ("4", "400", "80", "–", "–", "unknown", "unknown", "unknown")


def test_what_costs_nothing_saves_no_share() -> None:
    assert rows({"loans": spend_of(calls(4, 0.0))})[0][-3:] == ("$0.00", "$0.00", "–")


def test_json() -> None:
    found = cost_json(
        by_scenario([("loans", calls(1, 0.5) + calls(2, None, "replayed", tokens=None)), ("offline", [])])
    )
    one = {
        "calls": 3,
        "replayed": 2,
        "tokens": {"input": 100, "output": 20, "cache_read": None, "cache_write": None},
        "without_tokens": 2,
        "spent": {"usd": 0.5, "calls": 1, "without_price": 0, **KNOWN},
        "saved": {"usd": None, "calls": 2, "without_price": 2, **KNOWN},
        "record": {"usd": 0.5, "calls": 3, "without_price": 2, **KNOWN},
        "replay": {"usd": 0.0, "calls": 0, "without_price": 0, **KNOWN},
    }
    assert found == {"version": 1, "total": one, "scenarios": {"loans": one}}
    assert json.loads(json.dumps(found)) == found
