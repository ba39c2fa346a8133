"""Compute what a call costs at list price, by the price list of `genai-prices`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache, lru_cache
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from ipaddress import ip_address
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_recall.files import clock
from pytest_recall.files.errors import RecallError
from pytest_recall.models.model import Model, Reply, parse
from pytest_recall.replay.budget import Pricing
from pytest_recall.replay.exchange import BATCHED, Call, Exchange, Request, Tokens
from pytest_recall.replay.token_estimate import with_estimate
from pytest_recall.replay.wire_formats import AnswerBody, asked_model, provider_of, usage_in

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

    from pytest_recall.models.settings import Prices

_NOON = (time(12, tzinfo=UTC),)
_DATE = re.compile(r"[-@](\d{4}-\d{2}(-\d{2})?|\d{8}|\d{6}|\d{4})")
"""What the name of one edition of a model has after that of the model."""
_HOURS = tuple(time(hour, 45, tzinfo=UTC) for hour in range(24))


def available() -> bool:
    """Return whether the price list is installed; it is an optional extra."""
    return bool(_sellers())


def price(
    model: str | None,
    provider: str | None,
    tokens: Tokens | None,
    on: date | None,
    own: Mapping[str, Prices] = MappingProxyType({}),
    url: str | None = None,
    asked: str = "",
) -> float | None:
    """Return what `tokens` cost in US dollars on the day `on`, today by default; None if that is not known.

    The prices of `own` models, by name, go before the list. A model that neither has costs nothing at a `url` on
    this machine, where it runs; one that is on the list may be behind a proxy there, and keeps its price.
    Where a reply names an edition by its date, such as `gpt-5.4-mini-2026-01-01`, and there is no price for that, it
    has the price of the model that was `asked`.
    Cache writes are at the price of the shortest lifetime. Without a provider there is a price
    if everybody who sells the model under this name asks the same. A price that depends on
    the hour is known if `on` is a datetime.
    """
    names = [model]
    if model is not None and is_edition(model, asked):
        # A price that the user gave for either name goes before the list.
        names = sorted([model, asked], key=lambda name: name not in own)
    found = next((cost for name in names if (cost := _price(name, provider, tokens, on, own)) is not None), None)
    here = found is None and is_loopback(url) and all(_runs_here(name, own) for name in {model, asked or model})
    return 0.0 if here else found


def is_edition(model: str, asked: str) -> bool:
    """Return whether a reply's `model` is the one that was `asked`, of some date."""
    return bool(asked) and model.startswith(asked) and _DATE.fullmatch(model, len(asked)) is not None


def _runs_here(model: str | None, own: Mapping[str, Prices]) -> bool:
    """Return whether no vendor is known to sell the model; without the price list that is not known."""
    return available() and model not in own and (model is None or not _offers(model.strip().lower(), None))


@lru_cache(maxsize=256)
def is_loopback(url: str | None) -> bool:
    """Return whether a URL leads to this machine."""
    host = (urlsplit(url).hostname or "") if url else ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _price(
    model: str | None, provider: str | None, tokens: Tokens | None, on: date | None, own: Mapping[str, Prices]
) -> float | None:
    if model is None or tokens is None:
        return None
    if model in own:
        return _own(own[model], tokens)
    found = {_cost(one, seller, tokens, on) for seller, one in _offers(model.strip().lower(), provider)}
    return found.pop() if len(found) == 1 else None


def list_price(
    selector: str,
    seller: str | None,
    tokens: Tokens,
    own: Mapping[str, Prices] = MappingProxyType({}),
    url: str | None = None,
) -> float | None:
    """Return what tokens of the model that `selector` names cost at list price; None if that is not known.

    The prices of `own` models, by name, go before the list. The model of an object that the user wrote is not known.
    It is at the `url` of the selector, or else at the one given.
    """
    try:
        found = parse(selector)
    except RecallError:
        return None
    return price(found.target or None, seller, tokens, None, own, found.url or url)


def _own(prices: Prices, tokens: Tokens) -> float | None:
    if tokens.input is None or tokens.output is None:
        return None
    read = prices.input if prices.cache_read is None else prices.cache_read
    write = prices.input if prices.cache_write is None else prices.cache_write
    of = (
        (tokens.input, prices.input),
        (tokens.output, prices.output),
        (tokens.cache_read or 0, read),
        (tokens.cache_write or 0, write),
    )
    return sum(count * each for count, each in of) / 1e6


def call_of_reply(model: Model, reply: Reply, source: str, prices: Mapping[str, Prices]) -> Call:
    """Return the call that a judging `model` gave `reply` to, with its price; `prices` are those of the rubric."""
    cost = price_of_reply(model, reply, prices)
    return Call("judge", source, reply.model, seller_of(model), reply.tokens, cost)


def price_of_reply(model: Model, reply: Reply, own: Mapping[str, Prices] = MappingProxyType({})) -> float | None:
    """Return what a `reply` of `model` cost; the prices of `own` models, by name, go before the list."""
    try:
        selector = parse(model.name)
    except RecallError:
        return price(reply.model, seller_of(model), reply.tokens, None, own)
    url = selector.url or url_of(model)
    return price(reply.model, seller_of(model), reply.tokens, None, own, url, selector.target)


def seller_of(model: Model) -> str | None:
    """Return who sells a model, as far as it says so; an object from a user's module does not."""
    return getattr(model, "seller", None)


def url_of(model: Model) -> str | None:
    """Return where a model is, as far as it says so; None where that is the usual place."""
    return getattr(model, "url", None)


def call_of(exchange: Exchange, kind: str, source: str, prices: Mapping[str, Prices]) -> Call:
    """Return the call that `exchange` was, with its price; `prices` are those of the rubric.

    Tokens that the response does not state are counted from the texts.
    """
    response = exchange.response
    model, tokens, estimated = None, None, False
    if response:
        body = AnswerBody.of(response)
        model, tokens = usage_in(exchange.request, body)
        tokens, estimated = with_estimate(tokens, exchange.request, body)
    provider = provider_of(exchange.request.url)
    on = datetime.fromisoformat(exchange.at) if source == "live" else None
    asked, url = asked_model(exchange.request) or "", exchange.request.url
    cost = 0.0 if exchange.is_refused else price(model, provider, tokens, on, prices, url, asked)
    batched = exchange.batched and source == "live"
    return Call(
        kind=kind,
        source=source,
        model=model,
        provider=provider,
        tokens=tokens,
        cost=cost * BATCHED if batched and cost is not None else cost,
        seconds=round(exchange.seconds, 3),
        batched=batched,
        estimated=estimated,
    )


def at_model(
    calls: Sequence[Call], model: str | None, before: str | None, own: Mapping[str, Prices]
) -> tuple[list[Call], str]:
    """Return recorded calls of a case at the price of the `model` that an agent will ask, and which one that replaces.

    The tokens stay those of the recording. The second is empty if the calls are as they were: without a `model`, if the
    agent has asked it already, and if no price of it is known and the case was asked `before` under this name, which
    need not be the one that replies have. Judges, and calls without output, ask what they asked.
    """
    asked = {call.model for call in calls if _generates(call)} - {None}
    if not model or not asked or any(_is_same(model, name) for name in asked if name):
        return list(calls), ""
    known = _of_agent(before, asked)
    replaced = sorted(known if known else (name for name in asked if name))
    news: list[Call] = []
    for call in calls:
        if not _generates(call) or call.model not in replaced:
            news.append(call)
            continue
        sellers = dict.fromkeys((call.provider, None))
        costs = (price(model, seller, call.tokens, None, own) for seller in sellers)
        cost = next((cost for cost in costs if cost is not None), None)
        if cost is None and before == model:
            return list(calls), ""
        news.append(call._replace(model=model, cost=cost, batched=False))
    return news, ", ".join(replaced)


def _generates(call: Call) -> bool:
    return call.kind != "judge" and call.tokens is not None and bool(call.tokens.output)


def _of_agent(before: str | None, asked: Iterable[str | None]) -> list[str]:
    """Return which of the models was the agent's main one, as its last verdict names that."""
    return [name for name in asked if name and before and _is_same(before, name)]


def _is_same(model: str, other: str) -> bool:
    """Return whether two names are of one model, with or without its vendor and the date of its edition."""
    one, two = (_VENDOR.sub("", name.strip().lower()) for name in (model, other))
    return one == two or is_edition(one, two) or is_edition(two, one)


_VENDOR = re.compile(r"\A(?:.*/|(?:openai|anthropic|azure|google|bedrock):)")


def pricing(prices: Mapping[str, Prices]) -> Pricing:
    """Return what the budget of a run has to know of prices; `prices` are those of the rubric."""

    def price_of(request: Request, tokens: Tokens) -> float | None:
        asked, url = asked_model(request), request.url
        return price(asked, provider_of(url), tokens, clock.now(), prices, url)

    return Pricing(lambda exchange: call_of(exchange, exchange.kind, "live", prices), price_of)


@cache
def _sellers() -> tuple[Provider, ...]:
    """Return the price list as it was installed: nothing is fetched, and what others fetched is not used."""
    try:
        spec = find_spec("genai_prices.data")
    except ImportError:
        return ()
    if spec is None or not isinstance(spec.loader, InspectLoader):
        return ()
    return tuple(_executed(spec, spec.loader).providers)


def _executed(spec: ModuleSpec, loader: InspectLoader) -> Any:
    """Return a module, executed without its table of lines.

    tracemalloc looks up the line of each object that is made, by going through that table: for a list of 30,000 lines
    that is one expression it takes more than a minute.
    """
    if spec.name in sys.modules:
        return sys.modules[spec.name]
    code = loader.get_code(spec.name)
    if code is None:
        return import_module(spec.name)
    module = module_from_spec(spec)
    exec(code.replace(co_linetable=b""), vars(module))
    return module


@lru_cache(maxsize=1024)
def _offers(model: str, provider: str | None) -> tuple[tuple[Provider, ModelInfo], ...]:
    """Return who sells the model, and as what."""
    every = _sellers()
    if provider is not None:
        return tuple(
            (seller, one)
            for seller in every
            if seller.id == provider and (one := seller.find_model(model, all_providers=list(every)))
        )
    offers = []
    certain = False
    for seller in every:
        makes = seller.model_match is not None and seller.model_match.is_match(model)
        one = seller.find_model(model)
        certain |= makes and one is not None
        named = [other for other in seller.models if other.id.lower().rpartition("/")[2] == model]
        certain |= bool(named)
        offers += [(seller, offer) for offer in (one, *named) if offer and _sold(offer)]
    # Some sellers take any name that has a model's in it; that alone is no reason to believe them.
    return tuple(offers) if certain else ()


def _sold(model: ModelInfo) -> bool:
    """Return whether it is sold by the token, rather than as part of a subscription."""
    prices = [one.prices for one in model.prices] if isinstance(model.prices, list) else [model.prices]
    return any(one.input_mtok is not None for one in prices)


def _cost(model: ModelInfo, seller: Provider, tokens: Tokens, on: date | None) -> float | None:
    """Return what one seller asks."""
    if isinstance(on, datetime):
        moments = [on]
    else:
        day = on or clock.now().date()
        moments = [datetime.combine(day, at) for at in (_HOURS if _hourly(model) else _NOON)]
    prices = {_at(model, seller, tokens, moment) for moment in moments}
    asked = prices.pop() if len(prices) == 1 else None
    return None if asked is None else float(asked)


def _hourly(model: ModelInfo) -> bool:
    """Return whether its price may change within a day."""
    from genai_prices.types import TimeOfDateConstraint

    return isinstance(model.prices, list) and any(
        isinstance(one.constraint, TimeOfDateConstraint) for one in model.prices
    )


def _at(model: ModelInfo, seller: Provider, tokens: Tokens, moment: datetime) -> Decimal | None:
    from genai_prices import Usage

    prices = model.get_prices(moment)
    read, write = tokens.cache_read or 0, tokens.cache_write or 0
    if tokens.input is None or not _covers(prices, tokens):
        return None
    try:
        # The library counts input with the cache, and takes the parts out of it again.
        usage = Usage(
            input_tokens=tokens.input + read + write,
            output_tokens=tokens.output or 0,
            cache_read_tokens=read,
            cache_write_tokens=write,
        )
        return model.calc_price(usage, seller, genai_request_timestamp=moment).total_price
    except (ArithmeticError, LookupError, ValueError):
        return None


def _covers(prices: ModelPrice, tokens: Tokens) -> bool:
    """Return whether there is a price for input and for output, if there may have been some.

    The library takes what has no price for free. Embeddings have neither output nor a price for it.
    """
    if prices.input_mtok is None:
        return False
    return not tokens.output if prices.output_mtok is None else tokens.output is not None
