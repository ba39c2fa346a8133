"""Submit batches to OpenAI and Anthropic, and fetch their results, through the SDKs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from pytest_recall.files import clock
from pytest_recall.files.wording import one_line
from pytest_recall.models.batch import Door
from pytest_recall.models.model import ModelError
from pytest_recall.models.rate import SPENT, asked_for, is_temporary
from pytest_recall.models.sdk import NO_KEY

TIMEOUT = 120.0
"""Seconds without a sign of the server, after which a request to a batch API is given up."""
_HEADERS = {
    "authorization": "Authorization",
    "x-api-key": "X-Api-Key",
    "openai-organization": "OpenAI-Organization",
    "openai-project": "OpenAI-Project",
}


class BatchError(ModelError):
    """A batch API that refuses, or is not reached.

    `gone` says that the batch is not known there; `unsure` that it is unknown whether it was made.
    """

    gone = False
    unsure = False


class Look(NamedTuple):
    """What has become of a batch: whether it has `ended`, and if it failed as a whole, why."""

    ended: bool
    failed: str = ""


class Batches(Protocol):
    """The batch API behind one door. All methods raise BatchError."""

    def prepare(self, lines: Sequence[bytes]) -> Any:
        """Return what a batch of these lines is made from; it may be made from it more than once."""
        ...

    def create(self, prepared: Any) -> str:
        """Make a batch, and return its id."""
        ...

    def look(self, batch: str) -> Look:
        """Return what has become of a batch."""
        ...

    def results(self, batch: str) -> bytes:
        """Return the lines of what has ended."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


def open_door(door: Door) -> Batches:
    """Return the batch API behind `door`. Raises BatchError if its SDK is not installed, or too old."""
    try:
        module = import_module(door.api)
    except ImportError as error:
        raise BatchError(f"the package {door.api} is not installed; run: pip install 'pytest-recall[llm]'") from error
    if not hasattr(module, "Omit"):
        raise BatchError(f"this release of {door.api} is too old for batches; run: pip install --upgrade {door.api}")
    return (_OpenAI if door.api == "openai" else _Anthropic)(door, module)


class _Sdk:
    def __init__(self, door: Door, module: Any) -> None:
        self._door = door
        self._module = module
        told = dict(door.headers)
        # No one else's credentials are sent, such as those in the environment.
        headers = {shown: told.pop(name, None) or module.Omit() for name, shown in _HEADERS.items()}
        if door.api == "openai" or isinstance(headers["X-Api-Key"], module.Omit):
            headers["Authorization"] = dict(door.headers).get("authorization", f"Bearer {NO_KEY}")
        cls = module.OpenAI if door.api == "openai" else module.Anthropic
        self._client = cls(
            api_key=NO_KEY,
            base_url=door.base_url,
            max_retries=0,
            timeout=TIMEOUT,
            default_headers={**headers, **told},
        )

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def _sentences(self, *, creates: bool = False) -> Iterator[None]:
        module = self._module
        try:
            yield
        except module.APIStatusError as error:
            raise self._status(error) from error
        except module.APIConnectionError as error:
            cause = f" ({one_line(self._safe(str(error.__cause__)), 100)})" if error.__cause__ else ""
            made = BatchError(f"{self._door.base_url} cannot be reached{cause}", temporary=True)
            # A connection that never came about has made nothing.
            made.unsure = creates and type(error.__cause__).__name__ not in ("ConnectError", "ConnectTimeout")
            raise made from error

    def _status(self, error: Any) -> BatchError:
        body = error.body if isinstance(error.body, dict) else {}
        inner = body.get("error", body)
        told = inner if isinstance(inner, dict) else {}
        said = one_line(self._safe(str(told.get("message") or "")), 160)
        code = str(told.get("code") or told.get("type"))
        made = BatchError(
            f"{self._door.base_url} answered {error.status_code}{f': {said}' if said else ''}",
            temporary=is_temporary(error.status_code, code) and code not in SPENT,
            after=asked_for(error.response.headers, clock.wall()),
        )
        made.gone = error.status_code == 404
        return made

    def _safe(self, text: str) -> str:
        """Return `text` from elsewhere without the credentials."""
        for name, value in self._door.headers:
            if name in ("authorization", "x-api-key") and (secret := value.rpartition(" ")[2]) != NO_KEY:
                text = text.replace(secret, "[key]") if secret else text
        return text


class _OpenAI(_Sdk):
    """https://platform.openai.com/docs/api-reference/batch."""

    def prepare(self, lines: Sequence[bytes]) -> Any:
        with self._sentences():
            content = b"".join(line + b"\n" for line in lines)
            return self._client.files.create(file=("recall.jsonl", content), purpose="batch").id

    def create(self, prepared: Any) -> str:
        with self._sentences(creates=True):
            made = self._client.batches.create(
                input_file_id=prepared, endpoint=self._door.path, completion_window="24h"
            )
            return str(made.id)

    def look(self, batch: str) -> Look:
        with self._sentences():
            found = self._client.batches.retrieve(batch)
        told = (found.errors.data if found.errors else None) or ()
        if found.status == "failed":
            said = [f"line {one.line}: {one.message}" if one.line else str(one.message or one.code) for one in told]
            return Look(True, one_line(self._safe("; ".join(said[:3]))) or "for no reason that it names")
        return Look(found.status in ("completed", "expired", "cancelled"))

    def results(self, batch: str) -> bytes:
        with self._sentences():
            found = self._client.batches.retrieve(batch)
            files = [name for name in (found.output_file_id, found.error_file_id) if name]
            return b"\n".join(self._client.files.content(name).content for name in files)


class _Anthropic(_Sdk):
    """https://docs.claude.com/en/api/creating-message-batches."""

    def __init__(self, door: Door, module: Any) -> None:
        super().__init__(door, module)
        self._query = {"beta": "true"} if door.query else None

    def prepare(self, lines: Sequence[bytes]) -> Any:
        return list(map(json.loads, lines))

    def create(self, prepared: Any) -> str:
        with self._sentences(creates=True):
            return str(self._client.messages.batches.create(requests=prepared, extra_query=self._query).id)

    def look(self, batch: str) -> Look:
        with self._sentences():
            found = self._client.messages.batches.retrieve(batch, extra_query=self._query)
        if found.archived_at is not None:
            error = BatchError(f"the results of {batch} are not kept any more")
            error.gone = True
            raise error
        return Look(found.processing_status == "ended")

    def results(self, batch: str) -> bytes:
        with self._sentences():
            # The lines as they came: what the SDK makes of them is not what a direct call would have had.
            raw = self._client.messages.batches.with_raw_response.results(batch)
            return bytes(raw.http_response.read())
