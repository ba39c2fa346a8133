"""Parse the selector of a memory system, one line of text, into its kind and options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from pytest_recall.files.duration import read_duration
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.models.model import place_and_name

FORMS: dict[str, str] = {
    "sqlite-fts": "full-text search by BM25 in SQLite, in memory; the default",
    "sqlite-fts:FILE": "the same in a file",
    "sessions": "the same in memory, and nothing of an isolated session is returned in another one",
    "embedding": "the nearest by the cosine of a small embedding model",
    "hybrid": "both, fused by reciprocal ranks",
    "last-N": "the newest N units, whatever is asked; such as last-20",
    "full": "all that was stored, whatever is asked",
    "null": "nothing: the floor",
    "command:PROGRAM ARGS": "a program with the commands reset, store and recall",
    "python:MODULE:NAME": "an object, a class or a factory of your own; also python:FILE.py:NAME",
    "http://HOST:PORT": "a service with POST /reset, /store and /recall",
    "mcp:PROGRAM ARGS": "an MCP server on standard input and output, with the tools reset, store and recall",
    "grpc://HOST:PORT": "a service of the protocol recall.bench.MemoryBenchService, which answers",
    "chromadb": "a collection of Chroma in memory, with our embeddings",
    "mem0": "Mem0 without a model, on a local Qdrant, with our embeddings",
    "mem0:MODEL": "Mem0 as it is used: that model finds the facts in what is told",
    "bm25s": "BM25 by the package bm25s",
    "tantivy": "full-text search by Tantivy",
}
"""Every form of a selector, and what it selects."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "sqlite-fts": ("tokenizer",),
    "hybrid": ("tokenizer",),
    "command": ("timeout",),
    "python": ("timeout",),
    "http": ("timeout", "bearer", "header"),
    "mcp": ("timeout", "reset", "store", "store_many", "recall"),
    "grpc": ("timeout",),
}
"""What may be set after a selector, as in `;timeout=60`, by kind."""
TOKENIZERS = ("unicode61", "porter", "trigram")
DISPLAYED = ("synthesisModel", "embeddingProvider", "embeddingModel")
"""Settings of a memory by the published names that results show as well, whether it takes them or not."""
AS_MANY = " (as many tokens as "
"""Stands in the name of a floor before the memory whose tokens it returns: it is no selector, and calls no model."""
WORKER = "{worker}"
"""Stands in a selector for the process: `main`, or the name of a worker of pytest-xdist."""

_PLAIN = ("embedding", "full", "null", "chromadb", "mem0", "bm25s", "tantivy", "hybrid", "sqlite-fts", "sessions")
_WITH_TARGET = ("command", "python", "mcp", "sqlite-fts", "mem0")
_ALSO_ALONE = ("sqlite-fts", "mem0")
_KINDS = (*_PLAIN, "last", "command", "python", "http", "mcp", "grpc")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_HEADER = re.compile(r"(?!(?i:authorization|host|content-|connection|transfer-))[A-Za-z][A-Za-z0-9-]*:[A-Za-z_]\w*")
_OPTION = re.compile(r";([A-Za-z_]\w*)=([^;]*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySelector:
    """A selector, taken apart."""

    text: str
    """What the person wrote."""
    kind: str
    target: str = ""
    """The command line, `MODULE:NAME`, the file, the URL or `HOST:PORT`; empty where nothing is to be said."""
    window: int = 0
    """The N of `last-N`."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Those after a semicolon."""

    @property
    def timeout(self) -> float | None:
        """The seconds that one call may take, None where it is not given."""
        given = self.options.get("timeout")
        return None if given is None else read_duration(given, "s")

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers that are sent, each with the environment variable that has its value."""
        found = dict(part.split(":") for part in self.options["header"].split(",")) if "header" in self.options else {}
        if "bearer" in self.options:
            found["authorization"] = self.options["bearer"]
        return found


ModelPlace = Literal["none", "here", "elsewhere"]
"""Where a memory calls models: not at all, in this process, or where it runs itself."""


def models_of(text: str) -> ModelPlace:
    """Return where the memory that `text` selects calls models, as far as its selector says so."""
    if AS_MANY in text:
        return "none"
    try:
        found = parse(text)
    except RecallError:
        return "elsewhere"
    if found.kind in ("command", "http", "mcp", "grpc"):
        return "elsewhere"
    return "here" if found.kind == "python" or (found.kind == "mem0" and found.target) else "none"


def parse(text: str) -> MemorySelector:
    """Return the selector that `text` is. Raises RecallError with one sentence."""
    text = text.strip()
    rest, options = _options(text)
    _check_alone(text, rest)
    kind, colon, target = rest.partition(":")
    target = target.strip()
    if kind.lower() in ("http", "https"):
        kind, target = "http", rest
        _check_url(text, rest)
    elif kind == "grpc":
        target = _host_and_port(text, target)
    elif kind.startswith("last-") or kind == "last":
        if not re.fullmatch(r"last-[1-9][0-9]{0,5}", rest):
            raise RecallError(f"{text!r}: how many? write `last-20`")
        _check_options(text, "last", options)
        return MemorySelector(text=text, kind="last", window=int(rest[5:]))
    elif kind not in _KINDS:
        raise _unknown(text, kind)
    elif colon and not target:
        raise RecallError(f"{text!r}: there is nothing after the colon; write {_form(kind)}")
    elif kind in _WITH_TARGET and kind not in _ALSO_ALONE and not target:
        raise RecallError(f"{text!r}: which one? write {_form(kind)}")
    elif target and kind not in _WITH_TARGET:
        raise RecallError(f"{text!r}: `{kind}` takes nothing after a colon; remove it")
    elif kind == "python" and not all(part.strip() for part in place_and_name(target)):
        raise RecallError(f"{text!r}: which name of the module? write {_form(kind)}")
    _check_options(text, kind, options)
    return MemorySelector(text=text, kind=kind, target=target, options=options)


_BEGINS = re.compile(rf",(?=\s*(?:{'|'.join(map(re.escape, _KINDS))}|https)\b)")


def selected(given: Iterable[str]) -> list[str]:
    """Return the selectors in texts, each of which may have several, separated by commas before a known kind.

    Raises RecallError for one that is named twice.
    """
    found = [part.strip() for text in given for part in _BEGINS.split(text)]
    if twice := next((one for one in found if found.count(one) > 1), None):
        raise RecallError(f"--memory: {twice!r} is named twice; name each memory once")
    return found


def _check_alone(text: str, rest: str) -> None:
    """Raise RecallError where commas separate several selectors, or one from what is none."""
    first = rest.partition(",")[0].partition(":")[0]
    if first in ("command", "mcp") or "@" in rest or (first in _WITH_TARGET and first != "python" and ":" in rest):
        return  # What stands after the colon may have commas, and a password is not repeated.
    named = rest.rpartition(":")[2] if first == "python" else rest
    others = [one.strip() for one in named.split(",")[1:]]
    if unknown := next((one for one in others if not _BEGINS.match(f",{one}")), None):
        raise _unknown(unknown, unknown)
    if others:
        raise RecallError(f"{text!r}: names several memories, and one is taken here; name one")


def _unknown(text: str, kind: str) -> RecallError:
    known = [*_PLAIN, "last-20", "command", "python", "http", "mcp", "grpc"]
    return RecallError(f"{text!r}: no memory is selected like this{nearest(kind.lower(), known)}")


def title(selector: str) -> str:
    """Return what a table calls the memory: its selector, which says where it is not what is known by that name."""
    return "mem0 (no model)" if selector == "mem0" else selector


def _options(text: str) -> tuple[str, dict[str, str]]:
    """Take the options off the end; a semicolon elsewhere belongs to a command line."""
    found: dict[str, str] = {}
    while match := _OPTION.search(text):
        if match[1] in found:
            raise RecallError(f"{text!r}: `{match[1]}` is set twice; remove one")
        found[match[1]] = match[2].strip()
        text = text[: match.start()].rstrip()
    return text, found


def _check_options(text: str, kind: str, options: Mapping[str, str]) -> None:
    known = OPTIONS.get(kind, ())
    for name, value in options.items():
        if name not in known:
            raise RecallError(f"{text!r}: unknown option `{name}`{nearest(name, known)}")
        if not value:
            raise RecallError(f"{text!r}: `{name}` has no value; give it one")
        if name == "timeout" and not 0 < (read_duration(value, "s") or 0) < 1_000_000:
            raise RecallError(f"{text!r}: {value!r} is not a number of seconds above 0, or a time like 90s or 500ms")
        if name == "bearer" and not _VARIABLE.fullmatch(value):
            raise RecallError(f"{text!r}: {value!r} is not the name of an environment variable; the token stands there")
        if name == "header" and not all(map(_HEADER.fullmatch, value.split(","))):
            raise RecallError(f"{text!r}: `header` names headers and variables; write it like ;header=X-API-Key:MY_KEY")
        if name == "tokenizer" and value not in TOKENIZERS:
            raise RecallError(f"{text!r}: {value!r} is not a tokenizer{nearest(value, TOKENIZERS)}")


def _check_url(text: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.port != 0 and not parts.query and not parts.fragment
        private = "@" in parts.netloc
    except ValueError:
        usable = private = False
    if private:
        raise RecallError("a URL with a user or a password in it is not a selector; put the service behind a proxy")
    if not usable or any(char.isspace() for char in url):
        raise RecallError(f"{text!r}: {url!r} is no URL of a service; write one like http://127.0.0.1:8080")


def _host_and_port(text: str, rest: str) -> str:
    found = re.fullmatch(r"//([^\s/:@\[\]]+|\[[0-9A-Fa-f:]+\])(?::([1-9][0-9]{0,4}))?", rest)
    if found is None:
        raise RecallError(f"{text!r}: is not an address; write one like grpc://127.0.0.1:50052")
    return f"{found[1]}:{found[2] or 50052}"


def _form(kind: str) -> str:
    return f"`{next((form for form in FORMS if form.startswith(f'{kind}:')), kind)}`"
