"""Forecast: what a pass will take, about, before the first call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pytest_recall.core.call import Tokens
from pytest_recall.core.model import Model
from pytest_recall.metrics.tokencount import estimated_tokens
from pytest_recall.render.cost import dollars
from pytest_recall.render.sentences import plural
from pytest_recall.run.price import list_price


class Estimate(NamedTuple):
    """What a pass will take, about: calls and tokens; `usd` is None where the price is not known."""

    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None


def forecast(model: Model, sizes: Iterable[tuple[int, int]]) -> Estimate:
    """Return what calls of these sizes take, each its tokens in and at most out. Nothing is asked."""
    calls = read = most = 0
    for given, replied in sizes:
        calls += 1
        read += given
        most += replied
    usd = list_price(model.name, getattr(model, "seller", None), Tokens(read, most)) if calls else 0.0
    return Estimate(calls, read, most, usd)


def sizes_of(prompts: Iterable[tuple[str, str]], max_tokens: int) -> Iterator[tuple[int, int]]:
    """Yield the sizes of calls with these prompts, whose replies are as long as they may be."""
    return ((estimated_tokens(prompt), max_tokens) for prompt in prompts)


def sentence(what: str, estimate: Estimate, kept: int = 0) -> str:
    """Return a forecast in words; `kept` are those that are there already."""
    there = f" ({kept:,} there already)" if kept else ""
    if not estimate.calls:
        return f"{what}{there}: no call"
    cost = "its price is not known" if estimate.usd is None else f"at most {dollars(estimate.usd)} at list price"
    return (
        f"{what}{there}: {plural(estimate.calls, 'call')} or more, about {estimate.input_tokens:,} tokens in and at"
        f" most {estimate.output_tokens:,} out, {cost}"
    )
