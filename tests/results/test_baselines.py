"""Baselines beside the agent, as they are shown: what is unknown says so, and nothing in a text formats."""

from __future__ import annotations

import json
from typing import Any

from pytest_recall.files.sections import terminal_body
from pytest_recall.replay.exchange import Call, Tokens
from pytest_recall.results import baselines_text, scorecard_text
from pytest_recall.results.ending_text import no_verdict_json
from pytest_recall.trials.trial import Trial
from tests.helpers.samples import ERROR, FAILED, trial
from tests.results.runs import run

CALL = Call("agent", "live", "m", "openai", Tokens(1000, 200), 0.02)


def shown(*trials: Trial, **more: Any) -> list[str]:
    """Return the lines on baselines for a terminal, spaces collapsed."""
    _, card = run(list(trials), **more)
    assert card.arms is not None
    return [" ".join(line.split()) for line in terminal_body(baselines_text.baselines_section(card.arms))]


def test_without_one_nothing_is_shown() -> None:
    record, card = run([trial("a")], baselines=("raw",))
    assert card.arms is None
    assert "baselines" not in " ".join(scorecard_text.terminal(record, card))
    assert scorecard_text.as_json(record, card)["baselines"] is None
    assert "Baselines" not in scorecard_text.markdown(record, card)


def test_what_is_known_and_what_is_not() -> None:
    told = shown(
        trial("a", calls=(CALL,)),
        trial("a", arm="raw", calls=(CALL, CALL)),
        trial("a", FAILED, arm="half", calls=(CALL, CALL._replace(tokens=None, cost=None))),
        trial("a", FAILED, arm="dark", calls=(CALL._replace(tokens=None, cost=None),)),
        trial("a", FAILED, arm="own"),
        baselines=("own", "never", "raw", "half", "dark"),
    )
    assert told == [
        "baselines passed failed not run pass rate 95 % pairs change p calls tokens cost",
        "agent 1 0 0 100.0 % 20.7 to 100.0 – – – 1 1,200 $0.02",
        "own 0 1 0 0.0 % 0.0 to 79.3 1 -100.0 1 0 – –",
        "never 0 0 1 – – – – – 0 – –",
        "raw 1 0 0 100.0 % 20.7 to 100.0 1 +0.0 1 2 2,400 $0.04",
        "half 0 1 0 0.0 % 0.0 to 79.3 1 -100.0 1 2 at least 1,200 at least $0.02",
        "dark 0 1 0 0.0 % 0.0 to 79.3 1 -100.0 1 1 unknown unknown",
        baselines_text.MEANING,
    ]


def test_errors_are_listed_up_to_a_point() -> None:
    broken = [trial(f"c{number:02}", ERROR, arm="raw", error="agent: no\nanswer") for number in range(23)]
    told = shown(*broken)
    assert told[3] == "no verdict on a baseline (23), which fails no run"
    assert told[5] == "raw c00 error agent: no answer"
    assert told[-1] == "3 more without a verdict in scorecard.json"
    assert len(told) == 3 + 2 + baselines_text.MAX_UNDECIDED + 2


def test_nothing_from_outside_formats_the_page() -> None:
    record, card = run([trial("a"), trial("a", ERROR, arm="x|<b>", scenario="s*", error="@all | <i>")])
    page = scorecard_text.markdown(record, card)
    assert "<b>" not in page.replace("`x\\|<b>`", "")
    assert "<i>" not in page
    assert "| x\\|&lt;b&gt; |" in page


def test_json_says_null_for_what_nobody_knows() -> None:
    crash = trial("a", ERROR, arm="raw", calls=(CALL._replace(tokens=None, cost=None),))
    record, card = run([trial("a"), crash])
    found = json.loads(json.dumps(scorecard_text.as_json(record, card)))["baselines"]
    assert found["arms"]["raw"] == {
        "counts": {"error": 1},
        "by_scenario": {"": {"error": 1}},
        "pass_rate": None,
        "pass_rate_95": None,
        "change": None,
        "calls": 1,
        "tokens": {"input": None, "output": None, "cache_read": None, "cache_write": None},
        "calls_without_tokens": 1,
        "estimated": False,
        "usd": None,
        "calls_without_price": 1,
        "no_verdict": [no_verdict_json(crash)],
    }
