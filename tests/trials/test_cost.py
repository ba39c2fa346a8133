"""What was spent and saved, in a line and in the record-against-replay table."""

from __future__ import annotations

import json

import pytest

from pytest_recall.replay.exchange import Call, Tokens
from pytest_recall.trials.cost import Spend, by_scenario, spend_of
from pytest_recall.trials.cost_text import COST_MEANING, cost_json, cost_lines, markdown, table

SOME = Tokens(100, 20)


def calls(
    count: int, cost: float | None, source: str = "live", kind: str = "agent", tokens: Tokens | None = SOME
) -> list[Call]:
    """Return so many equal calls."""
    return [Call(kind, source, "gpt-4o", "openai", tokens, cost)] * count


REPLAYED = calls(24, 0.00875, "replayed", tokens=Tokens(1_500, 20, 300, None)) + calls(3, 0.0041, kind="judge")
FEES = calls(2, 0.25, tokens=Tokens(10, 20, 0, 5)) + calls(1, None, tokens=None)


# Lines


def test_nothing_to_say() -> None:
    assert cost_lines({}) == []
    assert cost_lines({"loans": Spend()}) == []
    assert table({"loans": Spend()}) == []
    assert markdown({"loans": Spend()}) == []


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
            calls(1, 0.5) + calls(2, 0.25, "replayed") + calls(3, None, "replayed"),
            "spent $0.50, replayed 5 calls that would cost at least $0.50 (3 calls without a price)",
        ),
        (calls(3, None), "made 3 calls, price unknown"),
        (
            calls(1, None) + calls(1200, None, "replayed"),
            "made 1 call, price unknown, replayed 1,200 calls, price unknown",
        ),
    ],
)
def test_what_is_unknown_is_said(made: list[Call], told: str) -> None:
    assert cost_lines({"a": spend_of(made)}) == [told]


def test_calls_outside_of_scenarios_and_hostile_names() -> None:
    spends = by_scenario([("", calls(1, 0.25)), ("a\n\x1b[31mb", calls(1, 0.25))])
    assert cost_lines(spends) == ["spent $0.50", "  (none): spent $0.25", "  a [31mb: spent $0.25"]


# Tables


def test_table() -> None:
    spends = by_scenario([("loans", REPLAYED), ("fees", FEES), ("offline", [])])
    assert table(spends) == [
        "scenario  calls   input  output  cache read  cache write            record   replay    saved",
        "fees          3      20      40           0           10    at least $0.50    $0.00  unknown",
        "loans        27  36,300     540       7,200            –           $0.2223  $0.0123   94.5 %",
        "total        30  36,320     580       7,200           10  at least $0.7223  $0.0123  unknown",
        "",
        COST_MEANING,
        "1 call without a price (1 live, 0 replayed): unknown is not zero.",
        "1 call without a count of tokens.",
    ]


def test_table_of_a_recording() -> None:
    """What is on the cassettes now costs nothing the next time; judges are asked again."""
    made = calls(9, 0.25) + calls(1, 0.25, kind="judge") + calls(2, 0.25, kind="worker")
    told = table({"loans": spend_of(made)})
    assert told[1].split() == ["loans", "12", "1,200", "240", "–", "–", "$3.00", "$0.25", "91.7", "%"]
    assert told[2].replace("total", "loans") == told[1]
    assert told[3:] == ["", COST_MEANING]


def test_table_of_unknown_models() -> None:
    told = table({"loans": spend_of(calls(4, None, tokens=None))})
    assert told[1].split() == ["loans", "4", *["unknown"] * 5, "$0.00", "unknown"]
    judged = table({"loans": spend_of(calls(4, None, kind="judge"))})
    assert judged[1].split() == ["loans", "4", "400", "80", "–", "–", "unknown", "unknown", "unknown"]


def test_what_costs_nothing_saves_no_share() -> None:
    assert table({"loans": spend_of(calls(4, 0.0))})[1].split()[-3:] == ["$0.00", "$0.00", "–"]


def test_markdown() -> None:
    spends = by_scenario([("loans", REPLAYED), ("<b>|@all & `x`", FEES)])
    assert markdown(spends) == [
        "| scenario | calls | input | output | cache read | cache write | record | replay | saved |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| &lt;b&gt;\\|@\u200ball &amp; \\`x\\` | 3 | 20 | 40 | 0 | 10 | at least $0.50 | $0.00 | unknown |",
        "| loans | 27 | 36,300 | 540 | 7,200 | – | $0.2223 | $0.0123 | 94.5 % |",
        "| total | 30 | 36,320 | 580 | 7,200 | 10 | at least $0.7223 | $0.0123 | unknown |",
        "",
        f"- {COST_MEANING}",
        "- 1 call without a price (1 live, 0 replayed): unknown is not zero.",
        "- 1 call without a count of tokens.",
    ]


def test_json() -> None:
    found = cost_json(
        by_scenario([("loans", calls(1, 0.5) + calls(2, None, "replayed", tokens=None)), ("offline", [])])
    )
    one = {
        "calls": 3,
        "replayed": 2,
        "tokens": {"input": 100, "output": 20, "cache_read": None, "cache_write": None},
        "without_tokens": 2,
        "spent": {"usd": 0.5, "calls": 1, "without_price": 0},
        "saved": {"usd": None, "calls": 2, "without_price": 2},
        "record": {"usd": 0.5, "calls": 3, "without_price": 2},
        "replay": {"usd": 0.0, "calls": 0, "without_price": 0},
    }
    assert found == {"version": 1, "total": one, "scenarios": {"loans": one}}
    assert json.loads(json.dumps(found)) == found
