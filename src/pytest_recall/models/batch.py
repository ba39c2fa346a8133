"""Write calls for batch APIs, and read their results."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from pytest_recall.files.wording import listed, plural
from pytest_recall.replay.encodings import plain_body
from pytest_recall.replay.exchange import ANTHROPIC_STATUS, Headers, Request, Response

BatchApi = Literal["openai", "anthropic"]

HOSTS = frozenset({"api.openai.com", "us.api.openai.com", "eu.api.openai.com", "api.anthropic.com"})
"""Hosts that are known to have a batch API."""
SELLERS = frozenset({"openai", "anthropic"})
"""Who has a batch API, by the names of the price list."""
KEPT_DAYS = 29
"""Days for which Anthropic keeps results, from the making of a batch; OpenAI keeps them for 30."""

_PATHS: Mapping[str, BatchApi] = {
    "/v1/chat/completions": "openai",
    "/v1/responses": "openai",
    "/v1/embeddings": "openai",
    "/v1/messages": "anthropic",
}
_CREDENTIALS = (
    "authorization",
    "x-api-key",
    "openai-organization",
    "openai-project",
    "anthropic-version",
    "anthropic-beta",
    "anthropic-workspace-id",
)
_MB = 1_000_000


class Limit(NamedTuple):
    """How much one batch holds: requests, and bytes of what is sent to make it."""

    requests: int
    size: int

    def holds(self, requests: int, size: int) -> bool:
        """Whether so many requests of so many bytes go into one batch."""
        return requests <= self.requests and size <= self.size


LIMITS: Mapping[BatchApi, Limit] = {"openai": Limit(50_000, 200 * _MB), "anthropic": Limit(100_000, 256 * _MB)}
"""What the providers allow."""


class Door(NamedTuple):
    """Where a batch is made; calls with the same one may be in one batch.

    OpenAI takes calls of one path and one model in a batch.
    """

    api: BatchApi
    base_url: str
    """As the SDK of the API takes it."""
    path: str
    query: str = ""
    model: str = ""
    headers: Headers = ()
    """Those that say who asks, with names in lower case."""


class BatchItem(NamedTuple):
    """A call as a batch takes it: its JSON body, the bytes that it adds, and the requests that it counts for."""

    door: Door
    body: Mapping[str, Any]
    size: int
    weight: int


class BatchLine(NamedTuple):
    """What a batch says of one call: the response, or, with None, why there is none."""

    custom_id: str
    response: Response | None
    problem: str = ""


def item_of(request: Request, hosts: Collection[str]) -> BatchItem | str:
    """Return the call as a batch takes it, or why it has to be made directly, in words.

    `hosts` have a batch API beside those that are known, each as `host` or `host:port`.
    """
    parts = urlsplit(request.url)
    path = next((path for path in _PATHS if parts.path.endswith(path)), None)
    if path is None or request.method.upper() != "POST":
        return "to an endpoint without batches"
    host = (parts.hostname or "").lower()
    if not {host, f"{host}:{parts.port}"} & {*HOSTS, *hosts}:
        return f"to {host}, which is not `batch` under `calls` in the rubric"
    api = _PATHS[path]
    if parts.query not in ("", "beta=true") or (parts.query and api == "openai"):
        return "with a query in the URL"
    try:
        body = json.loads(plain_body(request))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        return "whose body is no JSON object"
    if body.get("stream"):
        return "that stream"
    base = parts._replace(path=parts.path.removesuffix(path) + ("/v1" if api == "openai" else ""), query="")
    told = {name.lower(): value for name, value in request.headers if name.lower() in _CREDENTIALS}
    door = Door(
        api=api,
        base_url=base.geturl(),
        path=path,
        query=parts.query,
        model=str(body.get("model", "")) if api == "openai" else "",
        headers=tuple(sorted(told.items())),
    )
    texts = body.get("input") if path.endswith("/embeddings") else None
    # A limit on embeddings counts the texts, of all requests together.
    weight = max(1, len(texts)) if isinstance(texts, list) else 1
    return BatchItem(door, body, len(line_of(door, "0" * 64, body)) + 1, weight)


def line_of(door: Door, custom_id: str, body: Mapping[str, Any]) -> bytes:
    """Return one call as a line of JSON: of OpenAI's input file, or an element of Anthropic's `requests`."""
    line: dict[str, Any] = {"custom_id": custom_id}
    line |= {"method": "POST", "url": door.path, "body": body} if door.api == "openai" else {"params": body}
    return json.dumps(line).encode("ascii")


def lines_in(api: BatchApi, results: bytes) -> Iterator[BatchLine]:
    """Yield what a file of results says of each call. What is no such line is passed over.

    Raises nothing: a call of which no line speaks is for the caller to miss.
    """
    for text in results.split(b"\n"):  # U+2028, which other splits take for an end, may stand within a line.
        try:
            plain = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(plain, dict) and isinstance(plain.get("custom_id"), str):
            yield (_openai if api == "openai" else _anthropic)(plain["custom_id"], plain)


def _openai(custom_id: str, plain: Mapping[str, Any]) -> BatchLine:
    response, error = plain.get("response"), plain.get("error")
    if isinstance(response, dict) and type(response.get("status_code")) is int:
        return BatchLine(
            custom_id, _response(response["status_code"], response.get("body"), response.get("request_id"))
        )
    told = error if isinstance(error, dict) else {}
    said = str(told.get("message") or told.get("code") or "there is neither a response nor an error")
    return BatchLine(custom_id, None, said)


def _anthropic(custom_id: str, plain: Mapping[str, Any]) -> BatchLine:
    result = plain.get("result")
    told = result if isinstance(result, dict) else {}
    kind, error = told.get("type"), told.get("error")
    if kind == "succeeded" and isinstance(told.get("message"), dict):
        return BatchLine(custom_id, _response(200, told["message"]))
    if kind == "errored" and isinstance(error, dict):
        inner = error.get("error")
        name = inner.get("type") if isinstance(inner, dict) else None
        return BatchLine(custom_id, _response(ANTHROPIC_STATUS.get(str(name), 500), error, error.get("request_id")))
    said = {"expired": "the request expired", "canceled": "the request was canceled"}
    return BatchLine(custom_id, None, said.get(str(kind), "there is neither a message nor an error"))


def _response(status: int, body: Any, request_id: Any = None) -> Response:
    headers: Headers = (("content-type", "application/json"),)
    if isinstance(request_id, str):
        headers += (("x-request-id", request_id), ("request-id", request_id))
    return Response(status, headers=headers, chunks=(json.dumps(body).encode("ascii"),))


_DIRECT = "direct: "


def batched(count: int) -> str:
    """Return the number of batches with their noun."""
    return f"{count:,} {'batch' if count == 1 else 'batches'}"


def tally_line(tally: Mapping[str, int]) -> str:
    """Return how many calls went through batches, and how many directly and why."""
    answered, found, made = (tally.get(name, 0) for name in ("batched", "found", "batches"))
    through = f"batches: {plural(answered, 'call')} at half price"
    if found:
        through += f", {found:,} of them asked by an earlier run"
    through += f", {batched(made)} made"
    reasons = {name.removeprefix(_DIRECT): count for name, count in tally.items() if name.startswith(_DIRECT)}
    if not reasons:
        return through
    shown = "; ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
    return f"{through}; {plural(sum(reasons.values()), 'call')} directly: {shown}"


def left(batches: Sequence[str]) -> str:
    """Return which batches, of at least one, go on without the run, or hold answers that it has not used."""
    one = len(batches) == 1
    return (
        f"{batched(len(batches))} {'goes on, or has' if one else 'go on, or have'} answers that no case has used"
        f" ({listed(batches)}); the next run with --recall-batch picks {'it' if one else 'them'} up"
    )
