"""Read and write the cassettes of vcrpy, through vcrpy itself, within bounds.

PyYAML composes and constructs by recursion, in C without a limit: a document that is nested deeply
ends the process, and one whose aliases name each other fills the memory. The parser below both is
neither recursive nor does it follow aliases, so that its events are safe to look through.

vcrpy sorts the fields of a YAML cassette, so that `version` is its last line, and ends the
file with a line end: a file that was cut off lacks them. vcrpy itself never looks at `version`,
so that a file without it is taken, and it is told that its end may be missing. JSON that was cut
off is no JSON. What cannot be known is whether whole interactions were taken out or changed: vcrpy
keeps neither a count nor a checksum. A field that is there twice, as in two cassettes that
were joined, is refused, where a YAML parser would take the last one.

Some projects, pydantic-ai among them, register a serializer that writes a JSON body as a mapping
that people can read, `parsed_body`, in place of `body`; such a body becomes JSON again here.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from pytest_recall.files.disk import read_text, write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.strict_yaml import is_too_deep
from pytest_recall.files.wording import one_line
from pytest_recall.replay.exchange import Exchange, Response
from pytest_recall.replay.formats.vcr_shapes import headers_of, request_of, response_dict

MAX_DEPTH = 200
MAX_VALUES = 500_000
"""Values of a document, those that aliases repeat included: each takes about a kilobyte while it is built."""
MAX_CHARACTERS = 128 * 1024 * 1024
"""Length of all values together, each counted as often as aliases repeat it."""

_STARTS = (MappingStartEvent, SequenceStartEvent)
_ENDS = (MappingEndEvent, SequenceEndEvent)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _argument(loader: Any, node: Any, name: str) -> Any:
    """Return the first value that a Python object in a file was made with."""
    given = loader.construct_mapping(node, deep=True).get(name)
    return given[0] if given else None


# Beside plain YAML it loads the few Python objects that vcrpy has written, made of what they hold, and no others:
# before version 9 vcrpy's own loader makes any object, and so runs what a file names.
_CASSETTE_LOADER: Any = type("_CassetteLoader", (_LOADER,), {})
for _tag, _construct in {
    "str": lambda loader, node: loader.construct_scalar(node),
    "unicode": lambda loader, node: loader.construct_scalar(node),
    "tuple": lambda loader, node: tuple(loader.construct_sequence(node)),
    "object/new:_io.BytesIO": lambda loader, node: BytesIO(_bytes(_argument(loader, node, "state") or b"")),
    "object/apply:builtins.iter": lambda loader, node: iter(_argument(loader, node, "args") or []),
}.items():
    _CASSETTE_LOADER.add_constructor(f"tag:yaml.org,2002:python/{_tag}", _construct)


def _bytes(value: str | bytes) -> bytes:
    return value.encode("utf-8") if isinstance(value, str) else value


def check_bounds(text: str, name: str) -> None:
    """Look through the YAML `text` of the file `name`.

    Raises RecallError for what is nested too deeply or has too many values, yaml.YAMLError for what is no YAML.
    """
    values = characters = 0
    open_at: list[tuple[str | None, int, int]] = []
    anchors: dict[str, tuple[int, int]] = {}
    parser = _LOADER(text)
    while parser.check_event():
        event = parser.get_event()
        kind = type(event)
        if kind is ScalarEvent:
            values += 1
            characters += len(event.value)
            if event.anchor is not None:
                anchors[event.anchor] = (1, len(event.value))
        elif kind in _STARTS:
            open_at.append((event.anchor, values, characters))
            values += 1
            if len(open_at) > MAX_DEPTH:
                raise _refused(event, name, f"nested more than {MAX_DEPTH} deep; flatten it")
        elif kind in _ENDS:
            anchor, values_before, characters_before = open_at.pop()
            if anchor is not None:
                anchors[anchor] = (values - values_before, characters - characters_before)
        elif kind is AliasEvent:
            if event.anchor not in anchors:
                raise _refused(event, name, f"the alias `*{event.anchor}` has no whole value before it; write it out")
            more, longer = anchors[event.anchor]
            values += more
            characters += longer
        if values > MAX_VALUES or characters > MAX_CHARACTERS:
            counted = f"{MAX_VALUES:,} values" if values > MAX_VALUES else f"{MAX_CHARACTERS >> 20} MB"
            raise _refused(event, name, f"more than {counted}, with what its aliases repeat; split it")


def _refused(event: Any, name: str, problem: str) -> RecallError:
    return RecallError(f"{name}:{event.start_mark.line + 1}: {problem}")


MAX_BYTES = 64 * 1024 * 1024
_FIX = "restore it, or record it again"
_TOP = ("interactions", "metadata", "version")
_PARSED = "parsed_body"
_REQUEST = frozenset({"body", "headers", "method", "uri"})
# Until its version 6, vcrpy wrote responses for httpx otherwise than for all else.
_RESPONSES = (frozenset({"body", "headers", "status"}), frozenset({"content", "headers", "status_code"}))


def import_vcr(path: Path, name: str | None = None, tell: Callable[[str], None] = lambda note: None) -> list[Exchange]:
    """Return the calls of a cassette of vcrpy, YAML or JSON; `tell` is told what cannot be known of it.

    Raises RecallError if it is not whole.
    """
    name = name or str(path)
    serialize, _ = _vcrpy()
    text = read_text(path, name, at_most=MAX_BYTES)
    try:
        is_json = text.lstrip()[:1] == "{"
        if is_json:
            lines, data = _json(text, name)
        else:
            lines, data = _yaml(text, name)
        for seq, (line, interaction) in enumerate(zip(lines, data["interactions"], strict=True)):
            _unparse(interaction, name, line, seq)
        requests, responses, *_ = serialize.deserialize("", SimpleNamespace(deserialize=lambda text: data))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        if is_too_deep(error):
            raise RecallError(f"{name}:{line}: nested more than {MAX_DEPTH} deep; flatten it") from None
        raise RecallError(f"{name}:{line}: not YAML ({error.problem}); {_FIX}") from None
    except json.JSONDecodeError as error:
        raise RecallError(f"{name}:{error.lineno}: not JSON ({error.msg}); {_FIX}") from None
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise RecallError(f"{name}:1: not a cassette of vcrpy ({one_line(str(error), 100)}); {_FIX}") from None
    exchanges = []
    for seq, (line, request, response) in enumerate(zip(lines, requests, responses, strict=True)):
        try:
            exchanges.append(Exchange("", seq, "agent", request_of(request), _response(response)))
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise _broken(name, line, seq, f"cannot be read ({one_line(repr(error), 100)})") from None
    if not is_json and list(data)[-1:] != ["version"]:
        tell(f"{name}: does not end with `version`, as vcrpy ends a cassette; later calls may have been cut off")
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
                f"{name}: call {exchange.seq + 1} {how}, which vcrpy's format cannot represent; it cannot be exported"
            )
        headers: dict[str, str] = {}
        for field, value in request.headers:
            headers[field] = f"{headers[field]}, {value}" if field in headers else value
        requests.append(vcr_request(request.method, request.url, request.body, headers))
        responses.append(response_dict(response))
    kind = "json" if path.suffix == ".json" else "yaml"
    try:
        text = serialize.serialize({"requests": requests, "responses": responses}, serializers[kind])
    except TypeError:
        raise RecallError(f"{name}: a body is not text, which JSON cannot hold; export to a .yaml file") from None
    write_text(path, text)


def _vcrpy() -> tuple[ModuleType, dict[str, ModuleType]]:
    if importlib.util.find_spec("vcr") is None:
        raise RecallError("cassettes of vcrpy are read and written by vcrpy; install `pytest-recall[replay]`")
    serializers = {kind: importlib.import_module(f"vcr.serializers.{kind}serializer") for kind in ("yaml", "json")}
    return importlib.import_module("vcr.serialize"), serializers


def _broken(name: str, line: int, seq: int, problem: str) -> RecallError:
    return RecallError(f"{name}:{line}: interaction {seq + 1} {problem}; {_FIX}")


def _unparse(interaction: dict[str, Any], name: str, line: int, seq: int) -> None:
    """Put JSON in the place of a body that was written as what it holds."""
    for side, fields in interaction.items():
        if _PARSED not in fields:
            continue
        value = fields.pop(_PARSED)
        if value is None and "body" in fields:
            continue
        try:
            text = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError) as error:
            problem = f"has a `{_PARSED}` that is no JSON ({one_line(str(error), 80)})"
            raise _broken(name, line, seq, problem) from None
        fields["body"] = {"string": text} if side == "response" else text
        # What was compressed or counted is the body as it came.
        fields["headers"] = {
            header: value
            for header, value in dict(fields.get("headers") or {}).items()
            if str(header).lower() not in ("content-encoding", "content-length")
        }


def _response(given: Any) -> Response:
    if "status_code" in given:
        given = {**given, "status": {"code": given["status_code"], "message": ""}, "body": {"string": given["content"]}}
    body = given["body"].get("string") or b""
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    if not isinstance(body, bytes):
        raise TypeError(f"a body of the type {type(body).__name__}")
    code, reason = given["status"]["code"], given["status"]["message"] or ""
    if not isinstance(reason, str):
        raise TypeError("a reason that is not text")
    return Response(int(code), reason, headers_of(given["headers"]), (body,) if body else ())


# Whether it is whole: the lines at which interactions begin


def _yaml(text: str, name: str) -> tuple[list[int], dict[str, Any]]:
    """Check the form of a YAML cassette and return the line of each of its interactions, and all that it holds."""
    count = text.count("\n") + 1
    if not text.endswith("\n"):
        raise RecallError(f"{name}:{count}: cut off in its last line; {_FIX}")
    check_bounds(text, name)
    loader = _CASSETTE_LOADER(text)
    root = loader.get_single_node()
    if not isinstance(root, yaml.MappingNode):
        raise RecallError(f"{name}:1: not a cassette of vcrpy; {_FIX}")
    fields = _fields(root, name)
    interactions = fields.get("interactions")
    if not fields.keys() <= set(_TOP) or not isinstance(interactions, yaml.SequenceNode):
        raise RecallError(f"{name}:1: not a cassette of vcrpy; {_FIX}")
    lines = []
    for seq, node in enumerate(interactions.value):
        lines.append(node.start_mark.line + 1)
        parts = _fields(node, name)
        found = {part: _fields(inner, name).keys() for part, inner in parts.items()}
        _check(found, name, lines[-1], seq)
    return lines, loader.construct_document(root)


def _fields(node: Any, name: str) -> dict[str, Any]:
    if not isinstance(node, yaml.MappingNode):
        raise RecallError(f"{name}:{node.start_mark.line + 1}: must be a mapping; {_FIX}")
    fields: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.value in fields:
            raise RecallError(f"{name}:{key.start_mark.line + 1}: `{key.value}` is there twice; {_FIX}")
        fields[key.value] = value
    return fields


def _json(text: str, name: str) -> tuple[list[int], dict[str, Any]]:
    """Check the form of a JSON cassette and return a line for each of its interactions, and all that it holds.

    The line is the first, as JSON does not tell.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
            raise RecallError(f"{name}:1: `{twice}` is there twice; {_FIX}")
        return fields

    root: dict[str, Any] = json.loads(text, object_pairs_hook=unique)
    interactions = root.get("interactions")
    if not root.keys() <= set(_TOP) or not isinstance(interactions, list):
        raise RecallError(f"{name}:1: not a cassette of vcrpy; {_FIX}")
    for seq, parts in enumerate(interactions):
        if not isinstance(parts, dict) or not all(isinstance(part, dict) for part in parts.values()):
            raise _broken(name, 1, seq, "must be a mapping of mappings")
        _check({part: fields.keys() for part, fields in parts.items()}, name, 1, seq)
    return [1] * len(interactions), root


def _check(found: dict[str, Any], name: str, line: int, seq: int) -> None:
    found = {side: {"body" if field == _PARSED else field for field in fields} for side, fields in found.items()}
    if found.keys() != {"request", "response"}:
        raise _broken(name, line, seq, "must have a request and a response, and nothing else")
    if found["request"] != _REQUEST:
        raise _broken(name, line, seq, f"has not all of {', '.join(sorted(_REQUEST))} in its request, and nothing else")
    if not any(fields <= found["response"] for fields in _RESPONSES):
        raise _broken(name, line, seq, "has not all of body, headers, status in its response")
