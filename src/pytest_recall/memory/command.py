"""A memory system that is a program, by the published subprocess protocol."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_recall.cases.memory_part import MAX_LIMIT, MemoryFault, QueryContext
from pytest_recall.files.wording import one_line
from pytest_recall.memory.client import MemoryAdapter, patience
from pytest_recall.models import process
from pytest_recall.models.fingerprint import program_files
from pytest_recall.models.model import ModelError
from pytest_recall.models.waiting import Channel
from pytest_recall.replay.exchange import Request, Response

TIMEOUT = 30.0
"""Seconds that one call may take."""
_OK, _FAILED = 200, 500


class Command(MemoryAdapter):
    """A program that is run once for each call, in the user's folder:

        PROGRAM ARGS reset --yes
        PROGRAM ARGS store --scope permanent --type fact -- TEXT
        PROGRAM ARGS recall --format json --limit N --budget B -- QUESTION

    B is 500 tokens for each passage, for 2000 of them at most. `recall` prints a JSON list of objects
    `{"memory": {"content": TEXT}}`; the others print what they like. Exit code 0 means that it is done.
    The protocol has no place for metadata: ids, dates and speakers do not reach the program.
    """

    concurrent = True
    takes_context = False
    elsewhere = "it is a program"

    def __init__(
        self, name: str, target: str, root: Path, channel: Channel, timeout: float | None, environ: Mapping[str, str]
    ) -> None:
        super().__init__(name)
        self._target = target
        self._root = root
        self._channel = channel
        self._timeout = timeout or TIMEOUT
        # The variables of pytest and of this package name the case.
        self._environ = {key: value for key, value in environ.items() if not key.startswith(("PYTEST_", "RECALL_"))}
        try:
            self._argv = process.split(target)
        except ModelError as error:
            raise MemoryFault(f"{name}: {error}") from error

    def code(self) -> Iterable[Path]:
        """Return the files that the command line names."""
        return program_files(self._argv, self._root, self._environ)

    def ready(self) -> None:
        """Raise MemoryFault if the program is not there."""
        try:
            self._program()
        except ModelError as error:
            raise MemoryFault(str(error)) from error

    def reset(self) -> None:
        """Forget everything: the program deletes the whole store that it is configured for."""
        self._run("reset", "--yes")

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a text. An exit code of 0 does not say whether the program has kept it as it was."""
        if not content:
            raise MemoryFault("there is no text to store; give some")
        self._run("store", "--scope", "permanent", "--type", "fact", "--", content)

    def recall(self, query: str, limit: int, context: QueryContext) -> list[str]:
        """Return the contents in the order printed; one without content is an empty text."""
        if not query:
            raise MemoryFault("the question is empty; write one")
        if not 0 < limit <= MAX_LIMIT:
            raise MemoryFault(f"the limit is {limit}; it has to be from 1 to {MAX_LIMIT}")
        budget = str(min(limit, 2000) * 500)
        printed = self._run("recall", "--format", "json", "--limit", str(limit), "--budget", budget, "--", query)
        return _contents(printed)[:limit]

    def _program(self) -> str:
        return process.find(self._argv[0], self._root, self._environ)

    def _run(self, *arguments: str) -> bytes:
        """Return what the program printed."""
        body = json.dumps(arguments, ensure_ascii=False).encode("utf-8", "replace")
        request = Request("RUN", f"command:///{quote(self._target)}", body=body)
        try:
            response = self._channel(request, lambda: self._call(arguments))
        except ModelError as error:
            raise MemoryFault(str(error)) from error
        if response.status != _OK:
            raise MemoryFault(f"{response.reason}; run it by hand: `{self._argv[0]} … {arguments[0]}`")
        return response.body

    def _call(self, arguments: Sequence[str]) -> Response:
        argv = (self._program(), *self._argv[1:], *arguments)
        timeout = patience(self._timeout)
        done = process.run(argv, b"", folder=self._root, env=self._environ, timeout=timeout, check=lambda: None)
        if done.exceeded == "time":
            raise ModelError(f"it did not finish within {timeout:g} s; raise the limit with `;timeout=SECONDS`")
        if done.exceeded:
            raise ModelError(f"it printed more than {process.LIMIT // 2**20} MB; check the program")
        headers = (("content-type", "application/json"),)
        if not done.code:
            return Response(_OK, "OK", headers, (done.stdout,), (done.seconds,))
        ended = f"exit code {done.code}" if done.code > 0 else f"ended by signal {-done.code}"
        lines = (done.stderr.strip() or done.stdout.strip()).decode("utf-8", "replace").splitlines()
        reason = f"{ended}: {one_line(lines[-1])}" if lines else ended
        return Response(_FAILED, reason, headers, (done.stdout,), (done.seconds,))


def _contents(printed: bytes) -> list[str]:
    """Return the content of each item of the JSON list. Raises MemoryFault for anything else."""
    text = printed.decode("utf-8", "replace").strip()
    if not text:
        raise MemoryFault("recall printed nothing; it has to print a JSON list, `[]` if there is nothing")
    if not text.startswith("["):
        wrapped = ", which is one object" if text.startswith("{") else ""
        raise MemoryFault(f"recall printed {one_line(text, 80)!r}{wrapped}; it has to print a JSON list")
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MemoryFault(f"recall printed a list that is no JSON: {one_line(str(error), 120)}; correct it") from error
    contents = [_content(item) for item in items]
    if contents and not any(contents):
        raise MemoryFault("recall printed items, and each without a `memory.content`; check the version of the program")
    return contents


def _content(item: Any) -> str:
    memory = _field(item, "memory")
    content = _field(memory, "content")
    if content is not None and not isinstance(content, str):
        raise MemoryFault(f"recall printed a content that is {type(content).__name__}; it has to be text")
    return content or ""


def _field(value: Any, name: str) -> Any:
    """Return the field `name` of a JSON object, whatever its case; None of null."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise MemoryFault(f"recall printed {type(value).__name__} where an object has to be; check the program")
    return next((inner for key, inner in reversed(value.items()) if key.lower() == name), None)
