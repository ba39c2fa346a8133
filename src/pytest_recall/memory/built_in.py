"""The kinds of memories that are built in: baselines, and the protocols by which any system is reached."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.memory.kind import (
    TIMEOUT_OPTION,
    MemoryContext,
    MemoryForm,
    MemoryKind,
    MemoryOption,
    MemorySelector,
)
from pytest_recall.memory.selector import MemoryKinds
from pytest_recall.models.model import place_and_name

TOKENIZERS = ("unicode61", "porter", "trigram")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_HEADER = re.compile(r"(?!(?i:authorization|host|content-|connection|transfer-))[A-Za-z][A-Za-z0-9-]*:[A-Za-z_]\w*")


def headers_of(options: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers that are sent to a service, each with the environment variable that has its value."""
    found = dict(part.split(":") for part in options["header"].split(",")) if "header" in options else {}
    if "bearer" in options:
        found["authorization"] = options["bearer"]
    return found


def _sqlite_fts(selector: MemorySelector, context: MemoryContext) -> MemoryAdapter:
    from pytest_recall.memory.sqlite_fts import SqliteFts

    file = context.root / selector.target if selector.target else None
    return SqliteFts(selector.text, file, _tokenizer(selector))


def _sessions(selector: MemorySelector, context: MemoryContext) -> MemoryAdapter:
    from pytest_recall.memory.sqlite_fts import SqliteFts

    return SqliteFts(selector.text, apart=True)


def _embedding(selector: MemorySelector, context: MemoryContext) -> MemoryAdapter:
    from pytest_recall.memory.dense import Embedding

    return Embedding(selector.text)


def _hybrid(selector: MemorySelector, context: MemoryContext) -> MemoryAdapter:
    from pytest_recall.memory.dense import Embedding, Hybrid
    from pytest_recall.memory.sqlite_fts import SqliteFts

    name = selector.text
    return Hybrid(name, SqliteFts(name, None, _tokenizer(selector)), Embedding(name))


def _tokenizer(selector: MemorySelector) -> str:
    from pytest_recall.memory.sqlite_fts import DEFAULT_TOKENIZER

    return selector.options.get("tokenizer", DEFAULT_TOKENIZER)


def _last(selector: MemorySelector, context: MemoryContext) -> MemoryAdapter:
    from pytest_recall.memory.window import Window

    return Window(selector.text, int(selector.target))


def _full(selector: MemorySelector, context: MemoryContext) -> MemoryAdapter:
    from pytest_recall.memory.window import Window

    return Window(selector.text, None)


def _null(selector: MemorySelector, context: MemoryContext) -> MemoryAdapter:
    from pytest_recall.memory.window import Null

    return Null(selector.text)


def _command(selector: MemorySelector, context: MemoryContext) -> MemoryAdapter:
    from pytest_recall.memory.command import Command

    return Command(selector.text, selector.target, context.root, context.channel, selector.timeout, context.environ)


def _python(selector: MemorySelector, context: MemoryContext) -> MemoryAdapter:
    from pytest_recall.memory.python_memory import Imported

    place, name = place_and_name(selector.target)
    return Imported(selector.text, place, name, context.root, selector.timeout, context.config)


def _http(selector: MemorySelector, context: MemoryContext) -> MemoryAdapter:
    from pytest_recall.memory.http_service import HttpService

    headers = headers_of(selector.options)
    return HttpService(selector.text, selector.target, selector.timeout, headers, context.environ)


def _mcp(selector: MemorySelector, context: MemoryContext) -> MemoryAdapter:
    from pytest_recall.memory.mcp_server import McpServer

    name, program, options = selector.text, selector.target, selector.options
    return McpServer(name, program, context.root, context.channel, options, selector.timeout, context.environ)


def _window(rest: str) -> str:
    if not re.fullmatch(r"last-[1-9][0-9]{0,5}", rest):
        raise RecallError("how many? write `last-20`")
    return rest.removeprefix("last-")


def _name_of_module(rest: str) -> str:
    target = rest.partition(":")[2].strip()
    if not all(part.strip() for part in place_and_name(target)):
        raise RecallError("which name of the module? write `python:MODULE:NAME`")
    return target


def _url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.port != 0 and not parts.query and not parts.fragment
        private = "@" in parts.netloc
    except ValueError:
        usable = private = False
    if private:
        raise RecallError("a URL with a user or a password in it is not a selector; put the service behind a proxy")
    if not usable or any(char.isspace() for char in url):
        raise RecallError(f"{url!r} is no URL of a service; write one like http://127.0.0.1:8080")
    return url


def _tokenizer_fault(value: str) -> str:
    return "" if value in TOKENIZERS else f"{value!r} is not a tokenizer{nearest(value, TOKENIZERS)}"


def _bearer_fault(value: str) -> str:
    if _VARIABLE.fullmatch(value):
        return ""
    return f"{value!r} is not the name of an environment variable; the token stands there"


def _header_fault(value: str) -> str:
    if all(map(_HEADER.fullmatch, value.split(","))):
        return ""
    return "`header` names headers and variables; write it like ;header=X-API-Key:MY_KEY"


_TOKENIZER = MemoryOption(name="tokenizer", check=_tokenizer_fault)

BUILT_IN = MemoryKinds(
    (
        MemoryKind(
            name="sqlite-fts",
            forms=(
                MemoryForm(about="full-text search by BM25 in SQLite, in memory; the default"),
                MemoryForm(about="the same in a file", target="FILE"),
            ),
            options=(_TOKENIZER,),
            make=_sqlite_fts,
        ),
        MemoryKind(
            name="sessions",
            forms=(
                MemoryForm(
                    about="the same in memory, and nothing of an isolated session is returned in another one",
                ),
            ),
            make=_sessions,
        ),
        MemoryKind(
            name="embedding",
            forms=(MemoryForm(about="the nearest by the cosine of a small embedding model"),),
            make=_embedding,
        ),
        MemoryKind(
            name="hybrid",
            forms=(MemoryForm(about="both, fused by reciprocal ranks"),),
            options=(_TOKENIZER,),
            make=_hybrid,
        ),
        MemoryKind(
            name="last",
            forms=(
                MemoryForm(about="the newest N units, whatever is asked; such as last-20", target="N", example="20"),
            ),
            separator="-",
            commas=False,
            read=_window,
            make=_last,
        ),
        MemoryKind(
            name="full",
            forms=(MemoryForm(about="all that was stored, whatever is asked"),),
            make=_full,
        ),
        MemoryKind(name="null", forms=(MemoryForm(about="nothing: the floor"),), make=_null),
        MemoryKind(
            name="command",
            forms=(
                MemoryForm(
                    about="a program with the commands reset, store and recall",
                    target="PROGRAM ARGS",
                    models="elsewhere",
                ),
            ),
            options=(TIMEOUT_OPTION,),
            make=_command,
        ),
        MemoryKind(
            name="python",
            forms=(
                MemoryForm(
                    about="an object, a class or a factory of your own; also python:FILE.py:NAME",
                    target="MODULE:NAME",
                    models="here",
                ),
            ),
            options=(TIMEOUT_OPTION,),
            commas=False,
            read=_name_of_module,
            make=_python,
        ),
        MemoryKind(
            name="http",
            forms=(
                MemoryForm(
                    about="a service with POST /reset, /store and /recall",
                    target="//HOST:PORT",
                    example="//127.0.0.1:1",
                    models="elsewhere",
                ),
            ),
            aliases=("https", "HTTP", "HTTPS"),
            options=(
                TIMEOUT_OPTION,
                MemoryOption(name="bearer", check=_bearer_fault),
                MemoryOption(name="header", check=_header_fault),
            ),
            commas=False,
            read=_url,
            make=_http,
        ),
        MemoryKind(
            name="mcp",
            forms=(
                MemoryForm(
                    about="an MCP server on standard input and output, with the tools reset, store and recall",
                    target="PROGRAM ARGS",
                    example=shlex.quote(sys.executable),
                    models="elsewhere",
                ),
            ),
            options=(
                TIMEOUT_OPTION,
                *(MemoryOption(name=name) for name in ("reset", "store", "store_many", "recall")),
            ),
            make=_mcp,
        ),
    )
)
"""Those of the core alone; `Registry.memories` has those of extensions as well."""
