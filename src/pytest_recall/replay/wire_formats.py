"""Read the model, the tokens and the texts of a call from the bodies of the usual wire formats."""

from __future__ import annotations

import json
import re
import struct
from base64 import b64decode
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeGuard
from urllib.parse import unquote, urlsplit

from pytest_recall.replay.encodings import decoded, json_of, read_json
from pytest_recall.replay.exchange import CANCELLED, CUT, REFUSED, Exchange, Request, Response, Tokens

LIMIT = 32 * 2**20
"""Bytes of a body, also of an unpacked one, beyond which no one looks for its usage."""
EVENTS = 2**20
"""Lines of a stream, or its events, after which no one looks any further; a word of an answer takes more bytes."""

# The names are those of the price list.
_HOSTS = {
    "aiplatform.googleapis.com": "google",
    "api.anthropic.com": "anthropic",
    "api.cerebras.ai": "cerebras",
    "api.cohere.ai": "cohere",
    "api.cohere.com": "cohere",
    "api.deepseek.com": "deepseek",
    "api.fireworks.ai": "fireworks",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral",
    "api.moonshot.ai": "moonshotai",
    "api.moonshot.cn": "moonshotai",
    "api.novita.ai": "novita",
    "api.openai.com": "openai",
    "api.perplexity.ai": "perplexity",
    "api.together.xyz": "together",
    "api.voyageai.com": "voyageai",
    "api.x.ai": "x-ai",
    "eu.api.openai.com": "openai",
    "generativelanguage.googleapis.com": "google",
    "openrouter.ai": "openrouter",
    "us.api.openai.com": "openai",
}
_HOST_PATTERN = re.compile(
    r"(?P<azure>[\w-]+\.(?:openai|cognitiveservices|services\.ai)\.azure\.com)"
    r"|(?P<google>[\w-]+-aiplatform\.googleapis\.com)"
    r"|(?P<aws>bedrock-runtime(?:-fips)?\.[\w-]+\.amazonaws\.com(?:\.cn)?)"
)
PROVIDERS = frozenset(_HOSTS.values()) | frozenset(_HOST_PATTERN.groupindex)
"""Those that `provider_of` tells apart."""
# Gemini and Bedrock name the model in the path only.
_IN_PATH = re.compile(r"/(?:models/(?P<gemini>[^/:]+):|model/(?P<bedrock>[^/]+)/(?:converse|invoke))")
_MODEL_PATHS = (
    "/api/chat",
    "/api/embed",
    "/api/embeddings",
    "/api/generate",
    "/chat/completions",
    "/completions",
    "/embeddings",
    "/messages",
    "/rerank",
    "/responses",
    "/v1/chat",
    "/v2/chat",
)
_LINE = re.compile(rb"([^\r\n]*)(?:\r\n|\n|\r|\Z)")
_TELLING = (b"usage", b"eval_count", b'"bytes"')
_LONGEST_NAME = 200
_MOST = 2**53  # No count of tokens is beyond what a float holds exactly.

Plain = Mapping[str, Any]


class AnswerBody(NamedTuple):
    """The body of a response out of its content encoding."""

    response: Response
    plain: bytes
    whole: Any
    """The JSON value that it is; None for a stream."""

    @classmethod
    def of(cls, response: Response) -> AnswerBody:
        """Return the body of a response; empty if it is not to be had."""
        plain = plain_response(response) or b""
        return cls(response, plain, read_json(plain) if plain.lstrip()[:1] in (b"{", b"[") else None)

    def texts(self) -> Iterator[bytes]:
        """Yield the JSON texts of a stream, one for each event."""
        yield from islice(_texts(self.response, self.plain), EVENTS)


def usage_of(request: Request, response: Response) -> tuple[str | None, Tokens | None]:
    """Return the model, as the response names it or else the request, and the tokens by kind.

    What the response does not say is None. Never raises, whatever the bytes are.
    """
    return usage_in(request, AnswerBody.of(response))


def usage_in(request: Request, body: AnswerBody) -> tuple[str | None, Tokens | None]:
    """Return what `usage_of` does, by a body that is read already."""
    if _is_command(request) and (body.response.header("content-type") or "").startswith("text/"):
        return None, None  # All that it printed is the reply.
    model: str | None = None
    tokens: Tokens | None = None
    # Most events of a stream are a word of the answer; once the model is known these are passed over.
    events = (read_json(text) for text in body.texts() if not model or any(word in text for word in _TELLING))
    for event in events if body.whole is None else (body.whole,):
        for plain in _objects(event):
            model = model or _model(plain)
            tokens = _tokens(plain, tokens)
    return model or asked_model(request), None if tokens == Tokens() else tokens


def documents(body: AnswerBody) -> Iterator[Plain]:
    """Yield the JSON objects of a body: the one that it is, or those of its events as far as they came."""
    for event in map(read_json, body.texts()) if body.whole is None else (body.whole,):
        yield from _objects(event)


@lru_cache(maxsize=256)
def provider_of(url: str) -> str | None:
    """Return who sells what is at `url`, by its host; None for this machine and for hosts unknown."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return None
    match = _HOST_PATTERN.fullmatch(host)
    return match.lastgroup if match else _HOSTS.get(host)


def asks_model(request: Request) -> bool:
    """Return whether a request is put to a model, by its host, or by its path where a gateway may be on any host."""
    if request.method.upper() != "POST":
        return False
    return provider_of(request.url) is not None or is_path_of_model(request.url)


@lru_cache(maxsize=256)
def is_path_of_model(url: str) -> bool:
    """Return whether a model is asked at a URL by its path, on whichever host."""
    try:
        path = urlsplit(url).path.rstrip("/")
    except ValueError:
        return False
    return path.endswith(_MODEL_PATHS) or _IN_PATH.search(path) is not None


def _is_command(request: Request) -> bool:
    """Return whether a program was run, rather than a server asked."""
    return request.url.startswith("command:")


# From bytes to JSON documents


def plain_response(response: Response) -> bytes | None:
    """Return the body out of its content encoding; None if that is not to be had."""
    if sum(map(len, response.chunks)) > LIMIT:
        return None
    plain = decoded(response.headers, response.chunks, LIMIT)
    return None if plain is None else b"".join(plain)


def _texts(response: Response, body: bytes) -> Iterator[bytes]:
    """Return the JSON texts of a stream, one for each event."""
    kind = (response.header("content-type") or "").lower()
    return _frames(body) if kind.startswith("application/vnd.amazon.eventstream") else _lines(body)


def _lines(body: bytes) -> Iterator[bytes]:
    """Yield the data of server-sent events, and the lines of NDJSON."""
    data: list[bytes] = []
    for match in islice(_LINE.finditer(body.removeprefix(b"\xef\xbb\xbf")), EVENTS):
        line = match[1]
        if line.startswith(b"data:"):
            data.append(line[5:])
        elif not line and data:
            yield b"\n".join(data)
            data = []
        elif line.startswith(b"{"):
            yield line
    if data:  # cut off, or the last event's blank line was left out
        yield b"\n".join(data)


def _frames(body: bytes) -> Iterator[bytes]:
    """Yield the payloads of an AWS event stream: lengths, checksum, headers, payload, checksum."""
    start = 0
    while start + 16 <= len(body):
        length, headers = struct.unpack_from(">II", body, start)
        if length < headers + 16 or start + length > len(body):
            return
        yield body[start + 12 + headers : start + length - 4]
        start += length


def _objects(plain: Any) -> Iterator[Plain]:
    """Yield the objects of a document: it, the items of a list, or what Bedrock has wrapped up in it."""
    for item in plain if isinstance(plain, list) else (plain,):
        if isinstance(item, dict):
            wrapped = item.get("bytes")
            inner = read_json(_unwrapped(wrapped)) if isinstance(wrapped, str) else item
            if isinstance(inner, dict):
                yield inner


def _unwrapped(text: str) -> bytes:
    try:
        return b64decode(text)
    except ValueError:
        return b""


# From JSON documents to counts


def _model(plain: Plain) -> str | None:
    """Return the model that a document names."""
    if _is_name(found := plain.get("model")) or _is_name(found := plain.get("modelVersion")):
        return found
    inner = _object(plain, "message") or _object(plain, "response")
    if _is_name(found := inner.get("model")):
        return found
    # `claude -p` counts by model; of several none is the one that replied.
    names = list(_object(plain, "modelUsage"))
    return names[0] if len(names) == 1 and 0 < len(names[0]) <= _LONGEST_NAME else None


def _is_name(found: Any) -> TypeGuard[str]:
    return isinstance(found, str) and 0 < len(found) <= _LONGEST_NAME


def asked_model(request: Request) -> str | None:
    """Return the model that a request asks for."""
    if _is_command(request):
        return None  # What a program is asked is a prompt, whatever it looks like.
    if (named := _model_in_path(request.url)) is not None:
        return named or None
    plain = read_json(request.body) if request.body[:1] == b"{" and len(request.body) <= LIMIT else None
    return _model(plain) if isinstance(plain, dict) else None


@lru_cache(maxsize=256)
def _model_in_path(url: str) -> str | None:
    """Return the model that the path of a URL names; None where it is of no API that does so."""
    try:
        match = _IN_PATH.search(urlsplit(url).path)
    except ValueError:
        return None
    # Of a resource name of AWS only the end is the model's.
    return None if match is None else unquote(match[match.lastgroup or 0]).rpartition("/")[2][:_LONGEST_NAME]


def _tokens(plain: Plain, before: Tokens | None) -> Tokens | None:
    """Return the tokens after a document of a stream, given those `before` it; by what the document looks like."""
    usage = _object(plain, "usage")
    match plain.get("type"):
        case "message":
            return _anthropic(usage, Tokens()) if usage else before
        case "message_start":
            # What it counts as output is only where the count starts.
            started = _object(_object(plain, "message"), "usage")
            return _anthropic(started, Tokens())._replace(output=None) if started else before
        case "message_delta":
            return _anthropic(usage, before or Tokens()) if usage else before
        case str(kind) if kind.startswith("response."):
            return _responses(_object(plain, "response"), before)
        case "result":  # `claude -p --output-format json`
            return _anthropic(usage, Tokens()) if usage else before
        case "turn.completed":  # `codex exec --json`
            return _codex(usage) if usage else before
    if plain.get("object") == "response":
        return _responses(plain, before)
    if metadata := _object(plain, "usageMetadata"):
        return _gemini(plain, metadata)
    usage = usage or _object(_object(plain, "x_groq"), "usage") or _object(_object(plain, "delta"), "usage")
    if billed := _object(usage, "billed_units") or _object(_object(plain, "meta"), "billed_units"):
        return Tokens(input=_count(billed, "input_tokens"), output=_count(billed, "output_tokens"))
    if "prompt_tokens" in usage:
        return _chat(plain, usage)
    if "inputTokens" in usage:
        return _bedrock(usage)
    if "prompt_eval_count" in plain or "eval_count" in plain:
        return Tokens(input=_count(plain, "prompt_eval_count"), output=_count(plain, "eval_count"))
    return before


def _anthropic(usage: Plain, before: Tokens) -> Tokens:
    """Input is without the cache here; in a stream later counts replace earlier ones."""
    found = Tokens(
        input=_count(usage, "input_tokens"),
        output=_count(usage, "output_tokens"),
        cache_read=_count(usage, "cache_read_input_tokens"),
        cache_write=_count(usage, "cache_creation_input_tokens"),
    )
    return Tokens(*(old if new is None else new for new, old in zip(found, before, strict=True)))


def _codex(usage: Plain) -> Tokens:
    return _with_cache(usage, _count(usage, "cached_input_tokens"), _count(usage, "cache_write_input_tokens"))


def _responses(plain: Plain, before: Tokens | None) -> Tokens | None:
    usage = _object(plain, "usage")
    if not usage:
        return before
    details = _object(usage, "input_tokens_details")
    return _with_cache(usage, _count(details, "cached_tokens"), _count(details, "cache_write_tokens"))


def _with_cache(usage: Plain, read: int | None, write: int | None) -> Tokens:
    """Input is with the cache here."""
    return Tokens(
        input=_less(_count(usage, "input_tokens"), read, write),
        output=_count(usage, "output_tokens"),
        cache_read=read,
        cache_write=write,
    )


def _chat(plain: Plain, usage: Plain) -> Tokens:
    """Chat completions, and the embeddings of the same family, which have no output."""
    details = _object(usage, "prompt_tokens_details")
    read = _count(details, "cached_tokens")
    for name in ("prompt_cache_hit_tokens", "cached_tokens"):  # DeepSeek, Moonshot
        read = _count(usage, name) if read is None else read
    write = _count(details, "cache_write_tokens")
    prompt, output = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    reasoning = _count(_object(usage, "completion_tokens_details"), "reasoning_tokens") or 0
    if output is not None and _less(_count(usage, "total_tokens"), prompt, output) == reasoning:
        output += reasoning  # xAI counts it beside the completion, all others within
    return Tokens(
        input=_less(prompt, read, write),
        output=output if _ended(plain, "choices", "finish_reason") else None,
        cache_read=read,
        cache_write=write,
    )


def _gemini(plain: Plain, usage: Plain) -> Tokens:
    """Thoughts are billed as output, and what tools put into the prompt as input."""
    read = _count(usage, "cachedContentTokenCount")
    prompt = _less(_count(usage, "promptTokenCount"), read)
    tools = _count(usage, "toolUsePromptTokenCount") or 0
    written = [_count(usage, name) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
    known = [count for count in written if count is not None]
    return Tokens(
        input=None if prompt is None else prompt + tools,
        output=sum(known) if known and _ended(plain, "candidates", "finishReason") else None,
        cache_read=read,
    )


def _bedrock(usage: Plain) -> Tokens:
    return Tokens(
        input=_count(usage, "inputTokens"),
        output=_count(usage, "outputTokens"),
        cache_read=_count(usage, "cacheReadInputTokens"),
        cache_write=_count(usage, "cacheWriteInputTokens"),
    )


def _ended(plain: Plain, name: str, reason: str) -> bool:
    """Return whether the document comes after the answer's end, so that its count of output is the last one."""
    parts = plain.get(name)
    if not isinstance(parts, list) or not parts:
        return True
    return any(isinstance(part, dict) and part.get(reason) for part in parts)


def _object(plain: Plain, name: str) -> Plain:
    found = plain.get(name)
    return found if isinstance(found, dict) else {}


def _count(plain: Plain, name: str) -> int | None:
    found = plain.get(name)
    return found if type(found) is int and 0 <= found < _MOST else None


def _less(total: int | None, *parts: int | None) -> int | None:
    """Return what is left of `total`; None if it is less than its parts, so that one of them is wrong."""
    rest = None if total is None else total - sum(part or 0 for part in parts)
    return None if rest is None or rest < 0 else rest


_ASKED = ("messages", "contents", "input", "prompt", "inputText", "message")
# In the order in which they are looked for: the first that holds text is taken.
_TEXT = (
    "text",
    "content",
    "parts",
    "delta",
    "message",
    "tool_calls",
    "choices",
    "candidates",
    "output",
    "outputText",
    "response",
    "completion",
    "error",
)
_LEVELS = 20


def asked(request: Request) -> str:
    """Return the last message of a request; '' if it holds none that is known."""
    body = json_of(request.body)
    if not isinstance(body, dict):
        return ""
    for name in _ASKED:
        found = body.get(name)
        if found:
            return _text(found[-1] if isinstance(found, list) else found)
    return ""


def answered(response: Response) -> str:
    """Return the text of an answer, also of a streamed one; '' if it holds none that is known."""
    body = b"".join(decoded(response.headers, response.chunks) or ())
    whole = json_of(body.strip())
    if isinstance(whole, dict):
        return _text(whole)
    return "".join(_text(event) for event in _events(body) if not _repeats(event))


def _events(body: bytes) -> Iterator[Any]:
    for line in body.splitlines():
        text = line.removeprefix(b"data:").strip()
        if text.startswith(b"{"):
            yield json_of(text)


def _repeats(event: Any) -> bool:
    """Tell whether an event says once more what came in pieces before it."""
    kind = event.get("type") if isinstance(event, dict) else None
    return isinstance(kind, str) and kind.startswith("response.") and kind != "response.output_text.delta"


def _text(value: Any, levels: int = _LEVELS) -> str:
    if isinstance(value, str):
        return value
    if levels == 0:
        return ""
    if isinstance(value, list):
        return "\n".join(filter(None, (_text(item, levels - 1) for item in value)))
    if not isinstance(value, dict):
        return ""
    function = value.get("function")
    tool = function if isinstance(function, dict) else value
    arguments = tool.get("arguments", tool.get("input"))
    if isinstance(tool.get("name"), str) and arguments is not None:
        return f"{tool['name']}({arguments if isinstance(arguments, str) else json.dumps(arguments)})"
    return next(filter(None, (_text(value.get(name), levels - 1) for name in _TEXT)), "")


# The last field that OpenAI, Anthropic, Gemini and Bedrock fill. Within an answer the quotes would be escaped.
# The quote comes first, as a pattern that begins with a letter is looked for many times faster.
_ENDED = re.compile(
    rb'"(?=[fsi])(?<!\\")(?:(?:finish_reason|stop_reason|finishReason|stopReason)"\s*:\s*'
    rb'"(?:(length|max_tokens|MAX_TOKENS)'
    rb'|(content_filter|content_filtered|refusal|guardrail_intervened|SAFETY|PROHIBITED_CONTENT|BLOCKLIST))"'
    rb'|incomplete_details"\s*:\s*\{\s*"reason"\s*:\s*"(?:(max_output_tokens)|content_filter)")'
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


def troubles(
    exchanges: Sequence[Exchange], equals: Callable[[Sequence[Exchange]], Sequence[Hashable]]
) -> list[tuple[str, bool]]:
    """Return for each call how it ended badly, and whether an equal one was asked after it and ended well.

    `equals` returns a value for each of them that equal ones have in common.
    """
    ends = [trouble(exchange) for exchange in exchanges]
    names = equals(exchanges) if any(ends) else ends
    last_well = {name: place for place, (name, end) in enumerate(zip(names, ends, strict=True)) if not end}
    return [
        (end, bool(end) and last_well.get(name, -1) > place)
        for place, (name, end) in enumerate(zip(names, ends, strict=True))
    ]
