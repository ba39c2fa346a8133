"""Streams that do not state their usage, by the real SDKs: counted from their text, marked, and held to a budget."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from pytest_recall.replay.exchange import Call
from tests.helpers.project import Checkout
from tests.helpers.talking import agents, asking, talking, trial
from tests.helpers.upstream import Upstream

pytest.importorskip("openai")
pytest.importorskip("anthropic")

RUBRIC = """\
owner: ana
prices:
  gpt-4o-mini: {input: 2.5, output: 10}
  claude-haiku-4-5: {input: 2.5, output: 10}
"""
NAMES = [f"c{number:02}" for number in range(12)]
LONG = "word " * 60
BROKEN_OFF = """\
with anthropic_client() as client:
    with client.messages.stream(messages=said(question), **CLAUDE) as stream:
        for text in stream.text_stream:
            return text"""


def streaming(pytester: pytest.Pytester, upstream: Upstream, body: str, rubric: str = RUBRIC) -> Checkout:
    """Return a checkout of twelve cases whose agent has this body."""
    upstream.says = LONG
    made = talking(upstream, agents(dict.fromkeys(NAMES, body))).with_cases(*map(asking, NAMES))
    return made.with_files({"eval/rubric.yaml": rubric}).at(pytester)


def calls(checkout: Checkout) -> Iterator[Call]:
    for one in checkout.journal().trials:
        yield from one.calls


@pytest.mark.parametrize("way", ["openai_stream(question)", "__import__('asyncio').run(openai_async_stream(question))"])
def test_a_budget_holds_for_streams_without_usage(pytester: pytest.Pytester, upstream: Upstream, way: str) -> None:
    """Each call has some thirty tokens of input and 100 of output by its text, and costs $0.0011."""
    checkout = streaming(pytester, upstream, f"return {way}")
    result = checkout.run_afresh("eval", "-v", "--recall-mode=all", "--budget=0.005")
    assert upstream.count == 4
    made = list(calls(checkout))
    assert {one.tokens and one.tokens.output for one in made} == {100}
    assert all(one.estimated for one in made)
    usd = sum(one.cost or 0 for one in made)
    assert 0.004 < usd <= 0.005
    result.stdout.fnmatch_lines(["spent ~$0.0043", "~: 4 calls without a count of tokens by the vendor, *"])
    assert checkout.scorecard()["stop"] == {"cause": "budget", "kind": "no-room", "usd": 0.005}
    assert result.ret == pytest.ExitCode.INTERRUPTED
    bill = checkout.scorecard()["cost"]["total"]["spent"]
    assert (bill["estimated"], bill["without_price"]) == (True, 0)
    folder = checkout.artifacts.find("latest")
    assert "spent ~$0.0043" in (folder / "scorecard.md").read_text(encoding="utf-8").replace("\\", "")
    lines = [json.loads(line) for line in (folder / "trials.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [one["estimated"] for line in lines for one in line.get("calls", ())] == [True] * 4


def test_several_processes_hold_it_together(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = streaming(pytester, upstream, "return openai_stream(question)")
    checkout.run_afresh("eval", "--recall-mode=all", "--budget=0.007", "-n", "2")
    assert 1 <= upstream.count <= 6
    assert sum(one.cost or 0 for one in calls(checkout)) <= 0.007


def test_a_stream_of_anthropic_that_is_left_early_costs_what_came_of_it(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = streaming(pytester, upstream, BROKEN_OFF)
    checkout.run_afresh("eval", "--recall-mode=all", "-k", "c00")
    (call,) = trial(checkout, "c00").calls
    assert call.estimated
    assert call.tokens is not None
    assert call.tokens.input == 10  # As its first event has it.
    assert 0 < (call.tokens.output or 0) <= 100


def test_a_stream_to_its_end_has_the_count_of_the_vendor(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = streaming(pytester, upstream, "return anthropic_stream(question)")
    result = checkout.run_afresh("eval", "--recall-mode=all", "-k", "c00")
    (call,) = trial(checkout, "c00").calls
    assert (call.tokens and call.tokens.output, call.estimated) == (5, False)
    assert "~" not in "".join(line for line in result.outlines if line.startswith("spent"))


def test_a_model_without_a_price_is_never_free_and_its_lines_are_said(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = streaming(pytester, upstream, "return openai_stream(question)", "owner: ana\n")
    # By this address a model on this machine is not known to be on it, so that its price is unknown.
    conftest = checkout.path / "eval/conftest.py"
    text = conftest.read_text().replace("127.0.0.1", "0.0.0.0").replace('"gpt-4o-mini"', '"own"')
    conftest.write_text(text)
    result = checkout.run_afresh("eval", "-v", "--recall-mode=all", "--budget=0.005")
    assert upstream.count == 1
    result.stdout.fnmatch_lines(["*`own`*", "    own: {input: USD, output: USD}"])
    (call,) = calls(checkout)
    assert (call.estimated, call.cost) == (True, None)
