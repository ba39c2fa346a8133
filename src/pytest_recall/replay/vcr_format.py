"""vcrpy's cassettes, read and written through vcrpy itself.

vcrpy sorts the fields of a YAML cassette, so that `version` is its last line, and ends the
file with a line end: a file that was cut off lacks them. JSON that was cut off is no JSON.
What cannot be known is whether somebody took out or changed whole interactions: vcrpy keeps
neither a count nor a checksum. A field that is there twice, as in two cassettes that were
joined, is refused, where a YAML parser would take the last one.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from pytest_recall.core.errors import RecallError, one_line
from pytest_recall.core.exchange import Exchange, Response
from pytest_recall.replay.vcr_shapes import headers_of, request_of, response_dict
from pytest_recall.store.files import MAX_BYTES, read_text, write_text

_FIX = "restore it, or record it again"
_TOP = ("interactions", "metadata", "version")
_REQUEST = frozenset({"body", "headers", "method", "uri"})
# Until its version 6, vcrpy wrote responses for httpx otherwise than for all else.
_RESPONSES = (frozenset({"body", "headers", "status"}), frozenset({"content", "headers", "status_code"}))


def import_vcr(path: Path, name: str | None = None) -> list[Exchange]:
    """Return the calls of a cassette of vcrpy, YAML or JSON. Raises RecallError if it is not whole."""
    name = name or str(path)
    serialize, serializers = _vcrpy()
    text = read_text(path, name)
    try:
        if text.lstrip()[:1] == "{":
            lines = _json_lines(text, name)
            requests, responses, *_ = serialize.deserialize(text, serializers["json"])
        else:
            lines = _yaml_lines(text, name, serializers["yaml"])
            requests, responses, *_ = serialize.deserialize(text, serializers["yaml"])
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RecallError(f"{name}:{line}: not YAML ({error.problem}); {_FIX}") from None
    except json.JSONDecodeError as error:
        raise RecallError(f"{name}:{error.lineno}: not JSON ({error.msg}); {_FIX}") from None
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise RecallError(f"{name}:1: not a cassette of vcrpy ({one_line(str(error), 100)}); {_FIX}") from None
    exchanges = []
    for seq, (line, request, response) in enumerate(zip(lines, requests, responses, strict=True)):
        try:
            _check_size(request._body)
            exchanges.append(Exchange("", seq, "agent", request_of(request), _response(response)))
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise _broken(name, line, seq, f"cannot be read ({one_line(repr(error), 100)})") from None
    return exchanges


def export_vcr(exchanges: Iterable[Exchange], path: Path, name: str | None = None) -> None:
    """Write calls as a cassette of vcrpy, JSON if `path` ends so, else YAML; streams become one piece.

    Raises RecallError for a call that vcrpy has no form for, OSError if it cannot be written,
    and then has changed nothing.
    """
    name = name or str(path)
    serialize, serializers = _vcrpy()
    vcr_request = importlib.import_module("vcr.request").Request
    requests, responses = [], []
    for exchange in exchanges:
        request, response = exchange.request, exchange.response
        if response is None or exchange.failure is not None or not response.complete:
            how = f"ended with {exchange.failure.kind}" if exchange.failure else "was closed before its end"
            raise RecallError(
                f"{name}: call {exchange.seq + 1} {how}, which a cassette of vcrpy cannot say; leave it out"
            )
        headers: dict[str, str] = {}
        for field, value in request.headers:
            headers[field] = f"{headers[field]}, {value}" if field in headers else value
        requests.append(vcr_request(request.method, request.url, request.body, headers))
        answer = response_dict(response, request.url, response.headers, response.body)
        del answer["url"]
        responses.append(answer)
    kind = "json" if path.suffix == ".json" else "yaml"
    try:
        text = serialize.serialize({"requests": requests, "responses": responses}, serializers[kind])
    except TypeError:
        raise RecallError(f"{name}: a body is no text, which JSON cannot hold; export to a .yaml file") from None
    write_text(path, text)


def _vcrpy() -> tuple[ModuleType, dict[str, ModuleType]]:
    if importlib.util.find_spec("vcr") is None:
        raise RecallError("cassettes of vcrpy are read and written by vcrpy; install `pytest-recall[replay]`")
    serializers = {kind: importlib.import_module(f"vcr.serializers.{kind}serializer") for kind in ("yaml", "json")}
    return importlib.import_module("vcr.serialize"), serializers


def _broken(name: str, line: int, seq: int, problem: str) -> RecallError:
    return RecallError(f"{name}:{line}: interaction {seq + 1} {problem}; {_FIX}")


def _check_size(body: Any) -> None:
    """Raise ValueError for a body that names its own parts over and over: written out it would fill the memory."""
    size = 0
    left = [body]
    while left:
        value = left.pop()
        size += len(value) if isinstance(value, str | bytes) else 1
        if size > MAX_BYTES:
            raise ValueError("a body that is too large")
        if isinstance(value, dict):
            left.extend(value.values())
        elif isinstance(value, list | tuple):
            left.extend(value)


def _response(given: Any) -> Response:
    if "status_code" in given:
        given = {**given, "status": {"code": given["status_code"], "message": ""}, "body": {"string": given["content"]}}
    body = given["body"].get("string") or b""
    if hasattr(body, "read"):
        body = body.read()
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    if not isinstance(body, bytes):
        raise TypeError(f"a body of the type {type(body).__name__}")
    code, reason = given["status"]["code"], given["status"]["message"] or ""
    if not isinstance(reason, str):
        raise TypeError("a reason that is no text")
    return Response(int(code), reason, headers_of(given["headers"]), (body,) if body else ())


# Whether it is whole: the lines at which interactions begin


def _yaml_lines(text: str, name: str, serializer: Any) -> list[int]:
    """Check the form of a YAML cassette and return the line of each of its interactions."""
    count = text.count("\n") + 1
    if not text.endswith("\n"):
        raise RecallError(f"{name}:{count}: cut off in its last line; {_FIX}")
    root = yaml.compose(text, Loader=serializer._CassetteLoader)
    if not isinstance(root, yaml.MappingNode):
        raise RecallError(f"{name}:1: not a cassette of vcrpy; {_FIX}")
    fields = _fields(root, name)
    if list(fields)[-1:] != ["version"]:
        raise RecallError(f"{name}:{count - 1}: does not end with `version`, as vcrpy ends a cassette; {_FIX}")
    interactions = fields.get("interactions")
    if not fields.keys() <= set(_TOP) or not isinstance(interactions, yaml.SequenceNode):
        raise RecallError(f"{name}:1: not a cassette of vcrpy; {_FIX}")
    lines = []
    for seq, node in enumerate(interactions.value):
        lines.append(node.start_mark.line + 1)
        parts = _fields(node, name)
        found = {part: _fields(inner, name).keys() for part, inner in parts.items()}
        _check(found, name, lines[-1], seq)
    return lines


def _fields(node: Any, name: str) -> dict[str, Any]:
    if not isinstance(node, yaml.MappingNode):
        raise RecallError(f"{name}:{node.start_mark.line + 1}: must be a mapping; {_FIX}")
    fields: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.value in fields:
            raise RecallError(f"{name}:{key.start_mark.line + 1}: `{key.value}` is there twice; {_FIX}")
        fields[key.value] = value
    return fields


def _json_lines(text: str, name: str) -> list[int]:
    """Check the form of a JSON cassette and return a line for each of its interactions, which JSON does not tell."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
            raise RecallError(f"{name}:1: `{twice}` is there twice; {_FIX}")
        return fields

    root = json.loads(text, object_pairs_hook=unique)
    interactions = root.get("interactions")
    if not root.keys() <= set(_TOP) or "version" not in root or not isinstance(interactions, list):
        raise RecallError(f"{name}:1: not a cassette of vcrpy; {_FIX}")
    for seq, parts in enumerate(interactions):
        if not isinstance(parts, dict) or not all(isinstance(part, dict) for part in parts.values()):
            raise _broken(name, 1, seq, "must be a mapping of mappings")
        _check({part: fields.keys() for part, fields in parts.items()}, name, 1, seq)
    return [1] * len(interactions)


def _check(found: dict[str, Any], name: str, line: int, seq: int) -> None:
    if found.keys() != {"request", "response"}:
        raise _broken(name, line, seq, "must have a request and a response, and nothing else")
    if found["request"] != _REQUEST:
        raise _broken(name, line, seq, f"has not all of {', '.join(sorted(_REQUEST))} in its request, and nothing else")
    if not any(fields <= found["response"] for fields in _RESPONSES):
        raise _broken(name, line, seq, "has not all of body, headers, status in its response")
