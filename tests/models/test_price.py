"""List prices against sums by hand, and every way in which there is none."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest

from pytest_recall.models import prices as module
from pytest_recall.models.prices import available, call_of, list_price, price
from pytest_recall.models.settings import Prices
from pytest_recall.replay.exchange import Exchange, Request, Response, Tokens
from pytest_recall.replay.wire_formats import provider_of

genai_prices = pytest.importorskip("genai_prices", reason="the price list is an optional extra")

DAY = date(2026, 11, 20)
MILLION = 1_000_000


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Keep what is cached by one test from the next."""
    yield
    module._sellers.cache_clear()
    module._offers.cache_clear()


# By hand: tokens times dollars per million, from the list as published


@pytest.mark.parametrize(
    ("model", "provider", "tokens", "expected"),
    [
        # $0.15 in, $0.60 out, $0.075 cached
        ("gpt-4o-mini", "openai", Tokens(MILLION, 0, 0), 0.15),
        ("gpt-4o-mini", "openai", Tokens(0, MILLION, 0), 0.60),
        ("gpt-4o-mini", "openai", Tokens(0, 0, MILLION), 0.075),
        ("gpt-4o-mini", "openai", Tokens(1_000, 200, 4_000), (1_000 * 0.15 + 200 * 0.60 + 4_000 * 0.075) / MILLION),
        ("gpt-4o-mini-2024-07-18", "openai", Tokens(1_000, 200), (1_000 * 0.15 + 200 * 0.60) / MILLION),
        ("GPT-4o-mini", "openai", Tokens(MILLION, 0), 0.15),
        # $0.80 in, $4 out, $0.08 read, $1 written
        ("claude-3-5-haiku-20241022", "anthropic", Tokens(MILLION, 0, 0, 0), 0.80),
        ("claude-3-5-haiku-20241022", "anthropic", Tokens(0, MILLION, 0, 0), 4.0),
        ("claude-3-5-haiku-20241022", "anthropic", Tokens(0, 0, MILLION, 0), 0.08),
        ("claude-3-5-haiku-20241022", "anthropic", Tokens(0, 0, 0, MILLION), 1.0),
        # $3 in, $15 out, $0.30 read, $3.75 written
        (
            "claude-sonnet-4-5-20250929",
            "anthropic",
            Tokens(50, 503, 1_800, 248),
            (50 * 3 + 503 * 15 + 1_800 * 0.30 + 248 * 3.75) / MILLION,
        ),
        # The same beyond 200,000 tokens of input, cache included: $6, $22.50, $0.60, $7.50
        (
            "claude-sonnet-4-5",
            "anthropic",
            Tokens(1_000, 10, 199_000, 1),
            (1_000 * 6 + 10 * 22.50 + 199_000 * 0.60 + 1 * 7.50) / MILLION,
        ),
        (
            "claude-sonnet-4-5",
            "anthropic",
            Tokens(1_000, 10, 199_000, 0),
            (1_000 * 3 + 10 * 15 + 199_000 * 0.30) / MILLION,
        ),
        # The same in a region of Amazon's: $3.30, $16.50
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "aws",
            Tokens(1_000, 100),
            (1_000 * 3.30 + 100 * 16.50) / MILLION,
        ),
        # $0.30 in, $2.50 out, $0.03 cached
        ("gemini-2.5-flash", "google", Tokens(37, 64, 1_000), (37 * 0.30 + 64 * 2.50 + 1_000 * 0.03) / MILLION),
        # $0.02 in, and there is no output
        ("text-embedding-3-small", "openai", Tokens(8), 8 * 0.02 / MILLION),
        # What someone else made, at its maker's price
        ("gpt-4o-mini", "azure", Tokens(MILLION, MILLION), 0.75),
        ("gpt-4o", "openai", Tokens(0, 0, 0, 0), 0.0),
    ],
)
def test_by_hand(model: str, provider: str, tokens: Tokens, expected: float) -> None:
    assert price(model, provider, tokens, DAY) == pytest.approx(expected, rel=1e-12, abs=0)


def test_a_model_without_a_price_for_the_cache_has_cached_input_at_the_price_of_input() -> None:
    assert price("gpt-4o-2024-05-13", "openai", Tokens(MILLION, 0, MILLION), DAY) == pytest.approx(10.0)


def test_the_price_of_the_day() -> None:
    """The list has the day from which cached input has its own price."""
    tokens = Tokens(0, 0, MILLION)
    assert price("gpt-5.5-cyber", "openai", tokens, date(2026, 10, 18)) == pytest.approx(12.5)
    assert price("gpt-5.5-cyber", "openai", tokens, date(2026, 10, 19)) == pytest.approx(1.25)


def test_today_by_default() -> None:
    assert price("gpt-4o-mini", "openai", Tokens(MILLION, 0), None) == pytest.approx(0.15)


def hourly() -> tuple[str, datetime, datetime]:
    """Return a model whose price changes with the hour, and two moments of a day with different prices."""
    for seller in module._sellers():
        for model in seller.models:
            if seller.id == "deepseek" and module._hourly(model):
                moments = [datetime(2026, 11, 20, hour, 45, tzinfo=UTC) for hour in range(24)]
                prices = {model.get_prices(moment).input_mtok: moment for moment in moments}
                if len(prices) > 1:
                    first, second, *_ = prices.values()
                    return model.id, first, second
    pytest.skip("the price list has no such model any more")


def test_a_price_that_depends_on_the_hour_is_unknown_without_one() -> None:
    model, first, second = hourly()
    tokens = Tokens(1_000, 100)
    assert price(model, "deepseek", tokens, first.date()) is None
    one, other = price(model, "deepseek", tokens, first), price(model, "deepseek", tokens, second)
    assert one is not None
    assert other is not None
    assert one != other


# Unknown


SOME = Tokens(1_000, 100, 0, 0)


@pytest.mark.parametrize(
    ("model", "provider", "tokens"),
    [
        (None, "openai", SOME),
        ("", "openai", SOME),
        ("gpt-4o", "openai", None),
        ("gpt-4o", "openai", Tokens()),
        ("gpt-4o", "openai", Tokens(None, 100)),
        ("gpt-4o", "openai", Tokens(1_000, None)),
        ("gpt-4o", "openai", Tokens(2**53, -1)),
        # no one's model, also where a name begins like a known one
        ("gpt-4o-foo", "openai", SOME),
        ("gpt-99", "openai", SOME),
        ("claude-sonnet-99", "anthropic", SOME),
        ("qwen2.5-coder-1.5b-instruct", None, SOME),
        ("gpt-oss:20b", None, SOME),
        ("llama3.2", None, SOME),
        # someone else's model
        ("claude-sonnet-4-5", "openai", SOME),
        ("gpt-4o", "anthropic", SOME),
        ("my-deployment", "azure", SOME),
        # no one sells it under this name, though the library would take some of these for one it knows
        ("gpt-4o", "acme", SOME),
        ("gpt-4o", "my-openai-proxy", SOME),
        ("openai/gpt-4o", "litellm", SOME),
        ("gpt-4o", "", SOME),
        # listed, but not by the token
        ("gpt-4o", "github-copilot", SOME),
        ("whisper-large-v3", "groq", SOME),
        # an embedding does not answer
        ("text-embedding-3-small", "openai", SOME),
    ],
)
def test_unknown(model: str | None, provider: str | None, tokens: Tokens | None) -> None:
    assert price(model, provider, tokens, DAY) is None


@pytest.mark.parametrize(
    "model",
    [
        "deepseek-r1",  # open weights, also on the desk of the one who asks
        "gpt-oss-20b",
        "claude-sonnet-4-5-20250929",  # dearer in a region of Amazon's
        "my-claude-sonnet-4-5-copy",  # one seller takes whatever has the name in it
    ],
)
def test_without_a_provider_the_sellers_must_agree(model: str) -> None:
    assert price(model, None, SOME, DAY) is None


@pytest.mark.parametrize(
    ("model", "provider"),
    [("gpt-4o-mini", "openai"), ("gemini-2.5-flash", "google"), ("mistral-small-latest", "mistral")],
)
def test_without_a_provider_where_all_sellers_agree(model: str, provider: str) -> None:
    found = price(model, None, SOME, DAY)
    assert found is not None
    assert found == price(model, provider, SOME, DAY)


def test_providers_have_the_names_of_the_price_list() -> None:
    known = {seller.id for seller in module._sellers()}
    for seller in ("openai", "anthropic", "azure", "google", "aws", "openrouter", "mistral", "groq", "x-ai", "cohere"):
        assert seller in known
    from pytest_recall.replay.wire_formats import _HOSTS

    assert set(_HOSTS.values()) <= known
    for host, seller in _HOSTS.items():
        assert provider_of(f"https://{host}/v1") == seller


# The library


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    assert available()
    module._sellers.cache_clear()
    module._offers.cache_clear()
    for name in ("genai_prices", "genai_prices.data"):
        monkeypatch.setitem(sys.modules, name, None)
    assert not available()
    assert price("gpt-4o", "openai", SOME, DAY) is None
    assert price("gpt-4o", None, SOME, DAY) is None


def test_nothing_is_loaded_before_a_price_is_asked_for() -> None:
    program = "import sys, pytest_recall.models.prices; sys.exit('genai_prices' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_no_line_of_the_list_is_looked_up_by_tracemalloc() -> None:
    """Each look-up takes as long as the list is, and there is one for each object in it."""
    program = (
        "import tracemalloc; from pytest_recall.models import prices; assert prices.available();"
        " found = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, '*genai_prices/data.py')]);"
        " print({one.traceback[0].lineno for one in found.traces})"
    )
    done = subprocess.run([sys.executable, "-X", "tracemalloc=1", "-c", program], capture_output=True, text=True)
    assert done.stdout == "{0}\n", done.stderr


def test_no_network_and_no_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("prices come from the list as it was installed")

    monkeypatch.setattr(socket.socket, "connect", forbidden)
    monkeypatch.setattr(socket, "getaddrinfo", forbidden)
    monkeypatch.setattr(genai_prices.UpdatePrices, "start", forbidden)
    before = threading.enumerate()
    assert price("gpt-4o", "openai", SOME, DAY) == pytest.approx((1_000 * 2.5 + 100 * 10) / MILLION)
    assert price("unheard-of", None, SOME, DAY) is None
    assert threading.enumerate() == before


def test_an_update_of_the_agent_s_own_changes_nothing() -> None:
    """An agent may use the same library, and keep its prices fresh over the network."""
    from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot

    set_custom_snapshot(DataSnapshot(providers=[], from_auto_update=True))
    try:
        assert price("gpt-4o-mini", "openai", Tokens(MILLION, 0), DAY) == pytest.approx(0.15)
    finally:
        set_custom_snapshot(None)


@pytest.mark.parametrize(
    ("url", "model", "cost"),
    [
        ("http://127.0.0.1:8080/v1/chat/completions", "m", 0.0),
        ("http://localhost:11434/api/chat", "llama3.2", 0.0),
        ("http://[::1]:8080/v1/chat/completions", None, 0.0),
        ("http://127.0.0.1:4000/v1/chat/completions", "gpt-4o-mini", 0.15),
        ("http://127.0.0.1:4000/v1/chat/completions", "ours", 2.0),
        ("http://127.0.0.1:4000/v1/chat/completions", "deepseek-r1", None),  # Sellers ask for this or that.
        ("http://10.0.0.7:8080/v1/chat/completions", "m", None),
        ("http://localhost.example.com/v1/chat/completions", "m", None),
        ("", "m", None),
        (None, "m", None),
    ],
)
def test_a_model_without_a_price_costs_nothing_on_this_machine(
    url: str | None, model: str | None, cost: float | None
) -> None:
    own = {"ours": Prices(input=2, output=4)}
    assert price(model, None, Tokens(MILLION, 0), DAY, own, url) == (None if cost is None else pytest.approx(cost))


def test_a_sold_model_behind_a_proxy_of_this_machine_is_not_free() -> None:
    url = "http://127.0.0.1:4000/v1/chat/completions"
    assert price("gpt-4o-mini", None, None, DAY, url=url) is None
    assert price("ours", None, None, DAY, {"ours": Prices(input=2, output=4)}, url) is None
    assert price("m", None, None, DAY, url=url) == 0


PROXY = "http://127.0.0.1:4000/v1/chat/completions"
OURS = {"ours": Prices(input=2, output=4)}


@pytest.mark.parametrize(
    ("model", "asked", "cost"),
    [
        ("gpt-4o-mini-2099-01-01", "gpt-4o-mini", 0.15),
        ("ours-2026-01-01", "ours", 2.0),
        ("ours-20260101", "ours", 2.0),
        ("ours@20260101", "ours", 2.0),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini", 0.15),
        # Another model: what it costs is not known, and it is not one of this machine either.
        ("ours-pro", "ours", None),
        ("a-proxy", "gpt-4o-mini", None),
        ("m-2026-01-01", "m", 0.0),
    ],
)
def test_an_edition_has_the_price_of_the_model_that_was_asked(model: str, asked: str, cost: float | None) -> None:
    found = price(model, None, Tokens(MILLION, 0), DAY, OURS, PROXY, asked)
    assert found == (None if cost is None else pytest.approx(cost))
    request = Request("POST", PROXY, (("content-type", "application/json"),), f'{{"model": "{asked}"}}'.encode())
    body = f'{{"model": "{model}", "usage": {{"prompt_tokens": {MILLION}, "completion_tokens": 0}}}}'.encode()
    response = Response(200, "OK", (("content-type", "application/json"),), (body,))
    at = datetime(2026, 11, 20, 12, tzinfo=UTC).isoformat()
    exchange = Exchange(key="", seq=0, kind="judge", request=request, response=response, at=at)
    assert call_of(exchange, "judge", "live", OURS).cost == (None if cost is None else pytest.approx(cost))


def test_a_price_of_ones_own_goes_before_that_of_an_edition_on_the_list() -> None:
    own = {"gpt-4o-mini": Prices(input=7, output=7)}
    assert price("gpt-4o-mini-2024-07-18", "openai", Tokens(MILLION, 0), DAY, own, None, "gpt-4o-mini") == 7


def test_a_selector_that_names_no_model_has_no_list_price() -> None:
    own = {"m": Prices(input=7, output=7)}
    assert list_price("openai:m", "openai", Tokens(MILLION, MILLION), own) == 14
    assert list_price("openai:m", "openai", Tokens(MILLION), own) is None
    assert list_price("m by hand", "openai", Tokens(MILLION, MILLION), own) is None


def test_without_the_list_nobody_knows_what_is_sold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_sellers", tuple)
    assert price("m", None, SOME, DAY, url="http://127.0.0.1:8080/v1") is None


@pytest.mark.parametrize(
    ("batched", "source", "own", "cost"),
    [
        (True, "live", {"m": Prices(input=2, output=4)}, 4.0),
        (False, "live", {"m": Prices(input=2, output=4)}, 8.0),
        (True, "replayed", {"m": Prices(input=2, output=4)}, 8.0),
        (True, "live", {}, None),
    ],
    ids=["batched", "direct", "replayed", "unknown"],
)
def test_a_call_through_a_batch_costs_half(
    batched: bool, source: str, own: dict[str, Prices], cost: float | None
) -> None:
    counts = b'{"model": "m", "usage": {"prompt_tokens": 2000000, "completion_tokens": 1000000}}'
    response = Response(200, headers=(("content-type", "application/json"),), chunks=(counts,))
    exchange = Exchange(
        "", 0, "agent", Request("POST", "http://10.0.0.7/v1/chat/completions"), response,
        at="2026-01-01T00:00:00+00:00", batched=batched,
    )  # fmt: skip
    call = call_of(exchange, "agent", source, own)
    assert (call.cost, call.batched) == (cost, batched and source == "live")
