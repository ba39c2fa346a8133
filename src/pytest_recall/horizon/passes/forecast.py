"""Forecast: what a pass will take, about, before the first call."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_recall.core.call import Tokens
from pytest_recall.core.errors import RecallError
from pytest_recall.core.selector import parse
from pytest_recall.horizon.passes.work import Estimate, Work, tokens_in
from pytest_recall.render.sentences import plural
from pytest_recall.run.price import price


def forecast(work: Work, prompts: Iterable[tuple[str, str]], max_tokens: int) -> Estimate:
    """Return what asking for these prompts takes, with replies of `max_tokens` at most. Nothing is asked."""
    calls = read = 0
    for prompt in prompts:
        calls += 1
        read += tokens_in(prompt)
    try:
        model = parse(work.model.name).target or None
    except RecallError:
        model = None
    usd = price(model, getattr(work.model, "seller", None), Tokens(read, calls * max_tokens), None)
    return Estimate(calls, read, calls * max_tokens, usd if calls else 0.0)


def sentence(what: str, estimate: Estimate, kept: int = 0) -> str:
    """Return a forecast in words; `kept` are those that are there already."""
    there = f" ({kept:,} there already)" if kept else ""
    cost = "its price is not known" if estimate.usd is None else f"at most ${estimate.usd:,.2f} at list price"
    return (
        f"{what}{there}: {plural(estimate.calls, 'call')} or more, about {estimate.input_tokens:,} tokens in and at"
        f" most {estimate.output_tokens:,} out, {cost}"
    )
