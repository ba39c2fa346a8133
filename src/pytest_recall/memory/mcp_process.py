"""Run an MCP server, which is started here and asked over standard input and output, for the clients that share it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from pytest_recall.cases.memory_part import MemoryFault
from pytest_recall.files.context_values import assigned
from pytest_recall.files.errors import nearest
from pytest_recall.files.own_programs import OWN
from pytest_recall.files.wording import one_line
from pytest_recall.models import process
from pytest_recall.models.fingerprint import program_files
from pytest_recall.models.model import ModelError

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp import Client as McpClient


class _Running(NamedTuple):
    """A server that runs: the loop that it is asked on, its client, its tools' parameters, and its standard error."""

    portal: BlockingPortal
    client: McpClient
    tools: Mapping[str, frozenset[str]]
    errors: IO[str]


class McpProcess:
    """A server as a process. It is started for the first `user`, and ended once all of these have let go of it."""

    def __init__(self, argv: Sequence[str], root: Path, environ: Mapping[str, str], timeout: float) -> None:
        self._argv = argv
        self._root = root
        self._environ = {key: value for key, value in environ.items() if not key.startswith(("PYTEST_", "RECALL_"))}
        self._timeout = timeout
        self._lock = Lock()
        self._stack = ExitStack()
        self._users: set[object] = set()
        self._running: _Running | None = None

    def files(self) -> Iterable[Path]:
        """Return the files that the command line names."""
        return program_files(self._argv, self._root, self._environ)

    def ready(self) -> None:
        """Raise MemoryFault if the SDK or the program is not there."""
        _sdk()
        try:
            process.find(self._argv[0], self._root, self._environ)
        except ModelError as error:
            raise MemoryFault(str(error)) from error

    @property
    def listed(self) -> Mapping[str, frozenset[str]] | None:
        """The parameters of its tools, None while it does not run."""
        running = self._running
        return None if running is None else running.tools

    def tools(self, user: object) -> Mapping[str, frozenset[str]]:
        """Return the parameters of its tools; it is started if it does not run. Raises ModelError."""
        return self._started(user).tools

    def call(self, user: object, tool: str, arguments: Mapping[str, Any], timeout: float) -> Any:
        """Return what a tool gives for those of the arguments that its schema names. Raises ModelError."""
        from mcp import MCPError

        running = self._started(user)
        if tool not in running.tools:
            raise ModelError(f"the server has no tool `{tool}`{nearest(tool, running.tools)}")
        kept = {name: value for name, value in arguments.items() if name in running.tools[tool]}

        async def call() -> Any:
            return await running.client.call_tool(tool, kept, read_timeout_seconds=timeout)

        try:
            return running.portal.call(call)
        except MCPError as error:
            raise ModelError(f"the tool `{tool}`: {one_line(str(error))}; look into the server") from error
        except Exception as error:
            raise self._ended(running.errors, error) from error

    def release(self, user: object) -> None:
        """End it, unless it has other users."""
        with self._lock:
            self._users.discard(user)
            if not self._users:
                self._running = None
                self._stack.close()

    def _started(self, user: object) -> _Running:
        with self._lock:
            if self._running is None:
                self._running = self._start()
            self._users.add(user)
            return self._running

    def _start(self) -> _Running:
        _sdk()
        from anyio.from_thread import start_blocking_portal
        from mcp import Client as McpClient
        from mcp import StdioServerParameters, stdio_client

        program = process.find(self._argv[0], self._root, self._environ)
        with ExitStack() as stack:
            errors = stack.enter_context(TemporaryFile("w+", encoding="utf-8", errors="replace"))
            parameters = StdioServerParameters(
                command=program, args=[*self._argv[1:]], env=dict(self._environ), cwd=self._root
            )
            portal = stack.enter_context(start_blocking_portal())
            client = McpClient(stdio_client(parameters, errlog=errors), read_timeout_seconds=self._timeout)
            try:
                with assigned(OWN, True):
                    stack.enter_context(portal.wrap_async_context_manager(client))
                listed = portal.call(client.list_tools)
            except Exception as error:
                raise self._ended(errors, error) from error
            tools = {tool.name: frozenset(tool.input_schema.get("properties", {})) for tool in listed.tools}
            self._stack = stack.pop_all()
        return _Running(portal, client, tools, errors)

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


def _sdk() -> None:
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise MemoryFault("needs the MCP SDK; run `pip install 'pytest-recall[memory-mcp]'`") from None
