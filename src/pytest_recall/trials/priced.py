"""Refuse models whose price is not known, before a command with a budget calls any."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_recall.cases.settings import Settings
from pytest_recall.files.errors import RecallError
from pytest_recall.models.model import Model, parse
from pytest_recall.models.prices import list_price, seller_of, url_of
from pytest_recall.replay.budget import price_entry
from pytest_recall.replay.exchange import Tokens

_NAMED = ("openai", "anthropic")
"""Kinds of selectors that say by which model's price their calls are."""


def check_prices(models: Mapping[str, Model], rubric: Settings, rubric_name: str, say: Callable[[str], None]) -> None:
    """Raise RecallError for models, by their roles, whose price is neither listed nor in the rubric.

    Where the first reply alone can tell the price, that is said.
    """
    problems = []
    for role, model in models.items():
        selector = parse(model.name)
        if list_price(model.name, seller_of(model), Tokens(1, 1), rubric.prices, url_of(model)) is not None:
            continue
        told = f"{role} `{model.name}`: its price is "
        if selector.kind not in _NAMED or not selector.target:
            say(f"{told}not known before its calls; if these do not show it, no budget can be kept")
        else:
            problems.append(
                f"{told}unknown, so that no budget can be kept; add {price_entry(selector.target)} to {rubric_name}, in"
                " US dollars per million tokens, or leave out --budget"
            )
    if problems:
        raise RecallError(*problems)
