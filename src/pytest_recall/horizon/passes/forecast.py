"""Forecast: what a pass will take, about, before the first call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pytest_recall.core.call import Tokens
from pytest_recall.horizon.passes.work import Work
from pytest_recall.metrics.tokencount import estimated_tokens
from pytest_recall.render.sentences import plural
from pytest_recall.run.price import list_price


class Estimate(NamedTuple):
    """What a pass will take, about: calls and tokens; `usd` is None where the price is not known."""

    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None


def forecast(work: Work, prompts: Iterable[tuple[str, str]], max_tokens: int) -> Estimate:
    """Return what asking for these prompts takes, with replies of `max_tokens` at most. Nothing is asked."""
    calls = read = 0
    for prompt in prompts:
        calls += 1
        read += estimated_tokens(prompt)
    usd = list_price(work.model.name, getattr(work.model, "seller", None), Tokens(read, calls * max_tokens))
    return Estimate(calls, read, calls * max_tokens, usd if calls else 0.0)


def sentence(what: str, estimate: Estimate, kept: int = 0) -> str:
    """Return a forecast in words; `kept` are those that are there already."""
    there = f" ({kept:,} there already)" if kept else ""
    cost = "its price is not known" if estimate.usd is None else f"at most ${estimate.usd:,.2f} at list price"
    return (
        f"{what}{there}: {plural(estimate.calls, 'call')} or more, about {estimate.input_tokens:,} tokens in and at"
        f" most {estimate.output_tokens:,} out, {cost}"
    )
