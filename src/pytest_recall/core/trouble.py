"""Trouble: how an upstream call ended badly, read from its exchange."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_recall.core.exchange import CANCELLED, Exchange
from pytest_recall.core.usage import plain_response

CUT, REFUSED = "cut-off", "refused"
"""An answer that ended at the limit of tokens, and one that the provider or the model withheld."""

# The last field that OpenAI, Anthropic, Gemini and Bedrock fill. Within an answer the quotes would be escaped.
_ENDED = re.compile(
    rb'(?<!\\)"(?:finish_reason|stop_reason|finishReason|stopReason)"\s*:\s*'
    rb'"(?:(length|max_tokens|MAX_TOKENS)'
    rb'|(content_filter|content_filtered|refusal|guardrail_intervened|SAFETY|PROHIBITED_CONTENT|BLOCKLIST))"'
    rb'|(?<!\\)"incomplete_details"\s*:\s*\{\s*"reason"\s*:\s*"(?:(max_output_tokens)|content_filter)"'
)


def trouble(exchange: Exchange) -> str:
    """Return how the call ended badly, such as `http-500`, `ReadTimeout`, `cut-off` or `refused`; empty if well.

    A call that the agent itself gave up is none.
    """
    if exchange.failure is not None:
        return "" if exchange.failure.kind == CANCELLED else exchange.failure.kind
    response = exchange.response
    if response is None:
        return ""
    if response.status >= 400:
        return f"http-{response.status}"
    match = _ENDED.search(plain_response(response) or b"")
    if match is None:
        return ""
    return CUT if match[1] or match[3] else REFUSED


def troubles(exchanges: Sequence[Exchange]) -> list[tuple[str, bool]]:
    """Return for each call how it ended badly, and whether the same was asked again and ended well."""
    ends = [trouble(exchange) for exchange in exchanges]
    last_well: dict[tuple[str, str, bytes], int] = {}
    for place, (exchange, end) in enumerate(zip(exchanges, ends, strict=True)):
        if not end:
            last_well[_asked(exchange)] = place
    return [
        (end, bool(end) and last_well.get(_asked(exchange), -1) > place)
        for place, (exchange, end) in enumerate(zip(exchanges, ends, strict=True))
    ]


def _asked(exchange: Exchange) -> tuple[str, str, bytes]:
    request = exchange.request
    return request.method, request.url, request.body
