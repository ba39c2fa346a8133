"""Count the tokens of a call from its text where the vendor does not say them: UTF-8 bytes / 3, rounded up.

Tokenizers make one token of about four characters of English prose, of three of code, and of one of Chinese, which has
three bytes, so that the count is rather too high than too low. Of a request the whole body counts, with the syntax of
its JSON and its tools; of an answer its text, reasoning and tool calls. Reasoning that the vendor does not show is in
no text, and is not counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Literal
from urllib.parse import urlsplit

from pytest_recall.replay.encodings import plain_body
from pytest_recall.replay.exchange import Request, Tokens
from pytest_recall.replay.wire_formats import AnswerBody, documents

LETTERS_A_TOKEN = 3
"""Fewer than most texts have, so that what fits by this estimate fits."""
IMAGE_TOKENS = 50_000
"""What an image within a request counts at most: more than vendors bill for one, and less than its base64 text."""
_IMAGE = re.compile(rb"(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR)[A-Za-z0-9+/=_-]{%d,}" % (IMAGE_TOKENS * LETTERS_A_TOKEN))
"""PNG, JPEG, GIF and WebP in base64, by how they begin."""

_GENERATING = re.compile(
    r"(?:/api/chat|/api/generate|/completions|/messages|/responses|/v[12]/chat"
    r"|:(?:stream)?(?:generateContent|RawPredict|rawPredict)|:streamGenerateContent"
    r"|/model/[^/]+/(?:converse|converse-stream|invoke|invoke-with-response-stream))\Z"
)
_EMBEDDING = re.compile(r"(?:/api/embed|/api/embeddings|/embeddings|:embedContent|:batchEmbedContents)\Z")

# Where the wire formats say how long a reply may be.
_REPLY = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens", "num_predict")
_REPLY_WITHIN = ("generationConfig", "inferenceConfig", "options")

# The fields of documents of answers that hold what the model has written, at whatever depth.
_ANSWER = (
    *("candidates", "choices", "completion", "content", "content_block", "delta", "generation", "message", "output"),
    *("outputText", "outputs", "response", "results", "start", "text"),
)
_WRITTEN = frozenset(
    (
        *("arguments", "completion", "content", "delta", "generation", "name", "outputText", "partial_json"),
        *("reasoning", "reasoning_content", "refusal", "response", "text", "thinking"),
    )
)
_ARGUMENTS = frozenset(("args", "arguments", "input"))
_DEPTH = 20
_PENDING = frozenset(("queued", "in_progress"))


def tokens_of(size: int) -> int:
    """Return how many tokens a text of `size` UTF-8 bytes, or ASCII characters, counts."""
    return -(-size // LETTERS_A_TOKEN)


def request_tokens(request: Request) -> int:
    """Return how many tokens a request counts, by its body."""
    body = plain_body(request)
    spared = sum(len(match[0]) - IMAGE_TOKENS * LETTERS_A_TOKEN for match in _IMAGE.finditer(body))
    return tokens_of(len(body) - spared)


def answer_tokens(answer: Iterable[Mapping[str, Any]]) -> int:
    """Return how many tokens the `documents` of a model's answer count, streamed or whole, as far as it came."""
    return tokens_of(sum(map(_written_in, answer)))


def reply_limit(request: Request) -> int | None:
    """Return how many tokens a request allows for all replies to it; None if it does not say."""
    try:
        plain = json.loads(plain_body(request))
    except (ValueError, RecursionError):
        return None
    if not isinstance(plain, dict):
        return None
    inner: list[dict[str, Any]] = [plain, *(one for name in _REPLY_WITHIN if isinstance(one := plain.get(name), dict))]
    limits = [limit for one in inner for name in _REPLY if type(limit := one.get(name)) is int and limit > 0]
    replies = plain.get("n")
    return max(limits) * (replies if type(replies) is int and replies > 1 else 1) if limits else None


def writes(request: Request) -> Literal["text", "vectors"] | None:
    """Return what a model is asked to give, as far as the path says; None for all that is not billed by its text."""
    return _written_at(request.url) if request.method.upper() == "POST" else None


@lru_cache(maxsize=256)
def _written_at(url: str) -> Literal["text", "vectors"] | None:
    try:
        path = urlsplit(url).path.rstrip("/")
    except ValueError:
        return None
    if url.startswith("command:"):
        return None
    if _GENERATING.search(path):
        return "text"
    return "vectors" if _EMBEDDING.search(path) else None


def with_estimate(tokens: Tokens | None, request: Request, answer: AnswerBody) -> tuple[Tokens | None, bool]:
    """Return the tokens with counts from the text in place of those that the response lacks, and whether there are any.

    Nothing is added to a call that was refused, to one whose answer is still to come, and to one that asks no model.
    """
    kind = writes(request)
    stated = tokens or Tokens()
    lacks_output = stated.output is None and kind == "text"
    if kind is None or answer.response.status >= 400 or (stated.input is not None and not lacks_output):
        return tokens, False
    parts = documents(answer)
    first = next(parts, {})
    if first.get("object") == "response" and first.get("status") in _PENDING:
        return tokens, False
    counted = stated.input
    if counted is None:
        counted = max(0, request_tokens(request) - (stated.cache_read or 0) - (stated.cache_write or 0))
    output = stated.output
    if output is None:
        output = answer_tokens(chain((first,), parts)) if kind == "text" else 0
    return stated._replace(input=counted, output=output), True


def _written_in(document: Mapping[str, Any]) -> int:
    """Return the size of what a document adds to the answer. A document that repeats what came before adds nothing."""
    kind = document.get("type")
    if isinstance(kind, str) and kind.startswith("response.") and not kind.endswith(".delta"):
        return 0
    if document.get("event_type") == "stream-end":
        return 0
    return sum(_size(document[name], name, _DEPTH) for name in _ANSWER if name in document)


def _size(value: Any, name: str, levels: int) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass")) if name in _WRITTEN else 0
    if levels == 0:
        return 0
    if isinstance(value, list):
        return sum(_size(one, name, levels - 1) for one in value)
    if not isinstance(value, dict):
        return 0
    if name in _ARGUMENTS:
        return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")) if value else 0
    return sum(_size(one, key, levels - 1) for key, one in value.items())
