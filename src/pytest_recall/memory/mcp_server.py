"""A memory system as tools of an MCP server that is started here, over standard input and output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.files.wording import one_line
from pytest_recall.memory.client import MemoryAdapter, json_object, passages_of, patience
from pytest_recall.memory.mcp_process import McpProcess
from pytest_recall.models import process
from pytest_recall.models.model import ModelError
from pytest_recall.models.waiting import Channel, direct
from pytest_recall.replay.exchange import Request, Response
from pytest_recall.trials.trial import Passage

TIMEOUT = 30.0
"""Seconds that the start of the server, and each call, may take."""
BATCH = 100
"""As many texts a tool for several is given at once."""
_ROLES, _MANY, _NAMESPACE = ("reset", "store", "recall"), "store_many", "namespace"


class McpServer(MemoryAdapter):
    """The tools `reset()`, `store(content, metadata)` and `recall(query, limit, context)`, by other names if given.

    `recall` may take `session`, `date` and `checkpoint` in place of a `context` with them, there may be a tool
    `store_many(units)`, and each may take a `namespace`. Of these arguments a tool is handed those that its schema
    names. The server is started at the first call that nothing recorded answers, in the user's folder, and ended with
    the session.
    """

    elsewhere = "it is a program"
    context_hint = "a tool that takes it has a parameter `session` or `context`"

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
        self._channel = channel
        self._tools = {tool: options.get(tool, tool) for tool in (*_ROLES, _MANY)}
        self._timeout = timeout or TIMEOUT
        self._namespace = ""
        self._known: Mapping[str, frozenset[str]] = {}
        try:
            self._process = McpProcess(process.split(target), root, environ, self._timeout)
        except ModelError as error:
            raise MemoryFault(f"{name}: {error}") from error

    def code(self) -> Iterable[Path]:
        """Return the files that the command line names."""
        return self._process.files()

    def ready(self) -> None:
        """Raise MemoryFault if the SDK or the program is not there."""
        self._process.ready()

    @property
    def namespaces(self) -> bool:  # type: ignore[override]
        """Whether its three tools take a `namespace`, as far as it was asked for its tools."""
        return all(_NAMESPACE in self._parameters(role) for role in _ROLES)

    def in_namespace(self, name: str) -> MemoryAdapter:
        """Return a client that hands this namespace to each tool, of the same process."""
        if not self.namespaces:
            return super().in_namespace(name)
        found = copy(self)
        found._namespace = name
        return found

    @property
    def batch(self) -> int:  # type: ignore[override]
        """How many texts it takes at once: several if it has a tool for them, as far as it was asked for its tools."""
        takes = self._parameters(_MANY)
        return BATCH if "units" in takes and (not self._namespace or _NAMESPACE in takes) else 1

    def healthcheck(self) -> None:
        """Start the server unless its calls may be recorded. Raises MemoryFault if it does not start.

        A replay starts none, and could not know that it takes several texts: in cases they are told one by one.
        """
        if self._channel is direct:
            self.learn()

    def reset(self) -> None:
        """Let it forget everything."""
        self._call("reset", {})

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Let it keep a text."""
        self._call("store", {"content": content, "metadata": dict(metadata)})

    def store_many(self, texts: Sequence[tuple[str, Mapping[str, str]]]) -> None:
        """Let it keep texts."""
        units = [{"content": content, "metadata": dict(metadata)} for content, metadata in texts]
        self._call(_MANY, {"units": units})

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return its passages."""
        about = context.to_json()
        # In a recording the request is as it was before a tool could take them one by one.
        arguments = {"query": query, "limit": limit, "context": about}
        return passages_of(_found(self._call("recall", arguments, about)))

    @property
    def takes_context(self) -> bool:  # type: ignore[override]
        """Whether the tool that recalls takes a session, as far as that is known: its server may not run."""
        listed = self._process.listed
        return listed is None or not {"context", "session"}.isdisjoint(listed.get(self._tools["recall"], ()))

    def learn(self) -> None:
        """Start the server, which lists its tools."""
        try:
            self._known = self._process.tools(self)
        except ModelError as error:
            raise MemoryFault(str(error)) from error

    def close(self) -> None:
        """End the server, unless it has other stores that are asked."""
        self._process.release(self)

    def _parameters(self, role: str) -> frozenset[str]:
        return self._known.get(self._tools[role], frozenset())

    def _call(
        self, role: str, arguments: Mapping[str, Any], more: Mapping[str, Any] = MappingProxyType({})
    ) -> Mapping[str, Any]:
        """Return what a tool gave: `texts`, and `structured` if there is any. `more` is in no recorded request."""
        tool = self._tools[role]
        if self._namespace:
            arguments = {**arguments, _NAMESPACE: self._namespace}
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
        # The time that is left is known here alone: the other thread has a context of its own.
        result = self._process.call(self, tool, arguments, patience(self._timeout))
        texts = [block.text for block in result.content if block.type == "text"]
        plain = {"failed": bool(result.is_error), "texts": texts, "structured": result.structured_content}
        return Response(200, "OK", (("content-type", "application/json"),), (json.dumps(plain).encode(),), (0.0,))


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
