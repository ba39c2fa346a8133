"""A memory system as tools of an MCP server that is started here, over standard input and output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.files.errors import nearest, one_line
from pytest_recall.memory.client import Client, json_object, passages_of, patience
from pytest_recall.models import process
from pytest_recall.models.model import ModelError
from pytest_recall.models.waiting import Channel
from pytest_recall.replay.exchange import Request, Response
from pytest_recall.trials.trial import Passage

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp import Client as McpClient

TIMEOUT = 30.0
"""Seconds that the start of the server, and each call, may take."""


class _Server(NamedTuple):
    """A server that runs: the loop that it is asked on, its client, its tools' parameters, and its standard error."""

    portal: BlockingPortal
    client: McpClient
    tools: Mapping[str, frozenset[str]]
    errors: IO[str]


class McpServer(Client):
    """The tools `reset()`, `store(content, metadata)` and `recall(query, limit, context)`, by other names if given.

    `recall` may take `session`, `date` and `checkpoint` in place of a `context` with them. Of these arguments a tool is
    handed those that its schema names. The server is started at the first call
    that nothing recorded answers, in the user's folder, and ended with the session.
    """

    def __init__(
        self,
        name: str,
        target: str,
        root: Path,
        channel: Channel,
        options: Mapping[str, str],
        timeout: float | None,
        environ: Mapping[str, str],
    ) -> None:
        super().__init__(name)
        self._target = target
        self._root = root
        self._channel = channel
        self._tools = {tool: options.get(tool, tool) for tool in ("reset", "store", "recall")}
        self._timeout = timeout or TIMEOUT
        self._environ = {key: value for key, value in environ.items() if not key.startswith(("PYTEST_", "RECALL_"))}
        self._lock = Lock()
        self._stack = ExitStack()
        self._server: _Server | None = None
        try:
            self._argv = process.split(target)
        except ModelError as error:
            raise MemoryFault(f"{name}: {error}") from error

    def code(self) -> Iterable[Path]:
        """Return the files that the command line names."""
        return [path for part in self._argv if (path := self._root / part).is_file()]

    def ready(self) -> None:
        """Raise MemoryFault if the SDK or the program is not there."""
        _sdk()
        try:
            process.find(self._argv[0], self._root, self._environ)
        except ModelError as error:
            raise MemoryFault(str(error)) from error

    def reset(self) -> None:
        """Let it forget everything."""
        self._call("reset", {})

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Let it keep a text."""
        self._call("store", {"content": content, "metadata": dict(metadata)})

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return its passages."""
        about = context.to_json()
        # In a recording the request is as it was before a tool could take them one by one.
        arguments = {"query": query, "limit": limit, "context": about}
        return passages_of(_found(self._call("recall", arguments, about)))

    @property
    def takes_context(self) -> bool:  # type: ignore[override]
        """Whether the tool that recalls takes a session, as far as that is known: its server may not run."""
        server = self._server
        return server is None or not {"context", "session"}.isdisjoint(server.tools.get(self._tools["recall"], ()))

    def learn(self) -> None:
        """Start the server, which lists its tools."""
        try:
            self._started()
        except ModelError as error:
            raise MemoryFault(str(error)) from error

    def close(self) -> None:
        """End the server."""
        with self._lock:
            self._server = None
            self._stack.close()

    def _call(
        self, role: str, arguments: Mapping[str, Any], more: Mapping[str, Any] = MappingProxyType({})
    ) -> Mapping[str, Any]:
        """Return what a tool gave: `texts`, and `structured` if there is any. `more` is in no recorded request."""
        tool = self._tools[role]
        body = json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False).encode("utf-8", "replace")
        request = Request("CALL", f"mcp:///{quote(self._target)}", body=body)
        try:
            response = self._channel(request, lambda: self._asked(tool, {**arguments, **more}))
        except ModelError as error:
            raise MemoryFault(str(error)) from error
        given = json_object(response.body)
        if given.get("failed"):
            said = one_line(" ".join(given["texts"]), 160) or "without a message"
            raise MemoryFault(f"the tool `{tool}` failed: {said}; look into the server")
        return given

    def _asked(self, tool: str, arguments: Mapping[str, Any]) -> Response:
        from mcp import MCPError

        server = self._started()
        if tool not in server.tools:
            raise ModelError(f"the server has no tool `{tool}`{nearest(tool, server.tools)}")
        known = server.tools[tool]
        kept = {name: value for name, value in arguments.items() if name in known}

        timeout = patience(self._timeout)  # Before the other thread, which has a context of its own.

        async def call() -> Any:
            return await server.client.call_tool(tool, kept, read_timeout_seconds=timeout)

        try:
            result = server.portal.call(call)
        except MCPError as error:
            raise ModelError(f"the tool `{tool}`: {one_line(str(error))}; look into the server") from error
        except Exception as error:
            raise self._ended(server.errors, error) from error
        texts = [block.text for block in result.content if block.type == "text"]
        plain = {"failed": bool(result.is_error), "texts": texts, "structured": result.structured_content}
        return Response(200, "OK", (("content-type", "application/json"),), (json.dumps(plain).encode(),), (0.0,))

    def _started(self) -> _Server:
        with self._lock:
            if self._server is None:
                self._server = self._start()
            return self._server

    def _start(self) -> _Server:
        _sdk()
        from anyio.from_thread import start_blocking_portal
        from mcp import Client as McpClient
        from mcp import StdioServerParameters, stdio_client

        program = process.find(self._argv[0], self._root, self._environ)
        with ExitStack() as stack:
            errors = stack.enter_context(TemporaryFile("w+", encoding="utf-8", errors="replace"))
            parameters = StdioServerParameters(
                command=program, args=self._argv[1:], env=dict(self._environ), cwd=self._root
            )
            portal = stack.enter_context(start_blocking_portal())
            client = McpClient(stdio_client(parameters, errlog=errors), read_timeout_seconds=self._timeout)
            try:
                stack.enter_context(portal.wrap_async_context_manager(client))
                listed = portal.call(client.list_tools)
            except Exception as error:
                raise self._ended(errors, error) from error
            tools = {tool.name: frozenset(tool.input_schema.get("properties", {})) for tool in listed.tools}
            self._stack = stack.pop_all()
        return _Server(portal, client, tools, errors)

    def _ended(self, errors: IO[str], error: Exception) -> ModelError:
        """Return the error of a server that does not reply, with the last line that it wrote to standard error."""
        errors.seek(0)
        lines = errors.read().strip().splitlines()
        said = one_line(lines[-1], 160) if lines else one_line(str(_first(error)), 160) or type(error).__name__
        return ModelError(f"the server does not reply: {said}; run it by hand")


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _found(given: Mapping[str, Any]) -> Sequence[Any]:
    """Return the list that a tool gave: `passages` or `result` of an object, a list as JSON text, or its texts."""
    structured, texts = given.get("structured"), given["texts"]
    for name in ("passages", "result"):
        if isinstance(structured, dict) and isinstance(structured.get(name), list):
            listed: list[Any] = structured[name]
            return listed
    found: list[Any] = []
    for text in texts:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        inner = value.get("passages") if isinstance(value, dict) else value
        if isinstance(inner, list):
            found += inner
        else:
            found.append(value if isinstance(value, dict) and "text" in value else text)
    return found


def _sdk() -> None:
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise MemoryFault("needs the MCP SDK; run `pip install 'pytest-recall[memory-mcp]'`") from None
