"""A memory system behind a small JSON protocol over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import random
from threading import Lock
from time import sleep
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.files import clock
from pytest_recall.files.wording import one_line
from pytest_recall.memory.client import MemoryAdapter, json_object, passages_of, patience, waited
from pytest_recall.models.rate import Retry, asked_for, wait
from pytest_recall.trials.trial import Passage

if TYPE_CHECKING:
    import httpx

TIMEOUT = 30.0
"""Seconds in which something has to arrive."""
RETRIED = 120.0
"""Seconds in which a busy service is asked again."""
_NO_SUCH = (404, 405, 501)
_BUSY = (429, 503)


class HttpService(MemoryAdapter):
    """A service that speaks JSON; docs/reference/memory-protocols.md says what is sent and what has to come back.

    What it can do beside `reset`, `store` and `recall` it says once, under `GET /health`. `headers` name variables of
    `environ`, whose values are sent with each request and stand nowhere else. A request that is answered with 429 or
    503 is sent again, after what `Retry-After` says. With a `namespace` each body has it, and so has the query of
    `GET /health`.
    """

    concurrent = True
    elsewhere = "it is a service"

    def __init__(
        self,
        name: str,
        url: str,
        timeout: float | None,
        headers: Mapping[str, str] = MappingProxyType({}),
        environ: Mapping[str, str] = MappingProxyType({}),
        namespace: str = "",
    ) -> None:
        super().__init__(name)
        self._namespace = namespace
        self._given = headers
        self._environ = environ
        self._url = url.rstrip("/")
        self._timeout = timeout or TIMEOUT
        self._lock = Lock()
        self._http: httpx.Client | None = None
        self._abilities: Mapping[str, Any] | None = None

    def code(self) -> Iterable[Path]:
        """Return no file: what the service is made of is elsewhere."""
        return ()

    def ready(self) -> None:
        """Raise MemoryFault if httpx is not installed, or a variable that a header names is not set."""
        self._client()
        self._headers()

    @property
    def namespaces(self) -> bool:  # type: ignore[override]
        """Whether it has said that it keeps stores apart by a name."""
        return self._abilities is not None and self._abilities.get("namespaces") is True

    @property
    def batch(self) -> int:  # type: ignore[override]
        """How many texts it has said that it takes at once, 1 if it has said nothing of that."""
        most = 1 if self._abilities is None else self._abilities.get("batches")
        return most if isinstance(most, int) and not isinstance(most, bool) and most > 1 else 1

    def learn(self) -> None:
        """Ask for its health, which says what it can do, and leave no connection: nothing else may be asked."""
        self._health()
        self.close()

    def in_namespace(self, name: str) -> HttpService:
        """Return a client that sends this namespace with each request."""
        return HttpService(self.name, self._url, self._timeout, self._given, self._environ, name)

    def reset(self) -> None:
        """Let it forget everything."""
        self._call("POST", "/reset", {})

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Let it keep a text."""
        self._call("POST", "/store", {"content": content, "metadata": dict(metadata)})

    def store_many(self, texts: Sequence[tuple[str, Mapping[str, str]]]) -> None:
        """Let it keep texts."""
        units = [{"content": content, "metadata": dict(metadata)} for content, metadata in texts]
        self._call("POST", "/store_many", {"units": units})

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return its passages."""
        replied = json_object(self._call("POST", "/recall", _asked(query, limit, context)))
        if "passages" not in replied:
            raise MemoryFault("POST /recall replied without `passages`; return an empty list if there is nothing")
        return passages_of(replied["passages"])

    def answer(self, query: str, limit: int, context: QueryContext) -> str | None:
        """Return its own answer, None if it does not say that it gives any."""
        if not self._able("answer"):
            return None
        text = json_object(self._call("POST", "/answer", _asked(query, limit, context))).get("text")
        if not isinstance(text, str):
            raise MemoryFault("POST /answer replied without `text`; return the answer under that name")
        return text

    def finalize(self) -> None:
        """Tell it that all is stored, if it says that it wants to know."""
        if self._able("finalize"):
            self._call("POST", "/finalize", {})

    def count(self) -> int | None:
        """Return the count in its health, None if there is none."""
        count = self._health().get("count")
        return count if isinstance(count, int) and not isinstance(count, bool) else None

    def healthcheck(self) -> None:
        """Raise MemoryFault if it is not reached, or says that it is not ready."""
        if self._health().get("ready") is False:
            raise MemoryFault("GET /health says that it is not ready; wait until it is")

    def is_ready(self) -> bool | None:
        """Return what its health says of that."""
        said = self._health().get("ready")
        return said if isinstance(said, bool) else None

    def close(self) -> None:
        """Close its connections."""
        with self._lock:
            if self._http is not None:
                self._http.close()
                self._http = None

    def _health(self) -> Mapping[str, Any]:
        query = f"?{urlencode({'namespace': self._namespace})}" if self._namespace else ""
        found = self._call("GET", f"/health{query}", None)
        self._abilities = json_object(found) if found else {}
        return self._abilities

    def _able(self, name: str) -> bool:
        abilities = self._health() if self._abilities is None else self._abilities
        return abilities.get(name) is True

    def _call(self, method: str, path: str, given: Mapping[str, Any] | None) -> bytes:
        """Return the body of the reply; empty if there is no such path, which only `/health` may do."""
        client = self._client()
        if given is not None and self._namespace:
            given = {**given, "namespace": self._namespace}
        body = None if given is None else json.dumps(given, ensure_ascii=False).encode("utf-8", "replace")
        headers = self._headers() | ({} if body is None else {"content-type": "application/json"})
        begin, failures = clock.monotonic(), 0
        retry = Retry(total=patience(RETRIED))
        while True:
            reply = self._once(client, method, path, body, headers)
            if reply.status_code not in _BUSY:
                break
            failures += 1
            asked = asked_for(reply.headers, clock.wall())
            seconds = wait(retry, failures, clock.monotonic() - begin, asked, random())
            if seconds is None:
                break
            sleep(seconds)
            waited(seconds)
        if given is None and reply.status_code in _NO_SUCH:
            return b""
        if not reply.is_success:
            said = one_line(self._hidden(reply.text), 120)
            shown = f" {said!r}" if said else ""
            tried = f", tried {failures} times" if failures > 1 else ""
            raise MemoryFault(
                f"{method} {path}: status {reply.status_code}{shown}{tried}; look into the log of the service"
            )
        return reply.content

    def _once(
        self, client: httpx.Client, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> httpx.Response:
        import httpx

        timeout = patience(self._timeout)
        try:
            return client.request(method, self._url + path, content=body, headers=headers, timeout=timeout)
        except httpx.TimeoutException as error:
            message = f"{method} {path}: no reply within {timeout:g} s; add `;timeout=` with more seconds"
            raise MemoryFault(message) from error
        except httpx.HTTPError as error:
            said = one_line(self._hidden(str(error)), 120) or type(error).__name__
            raise MemoryFault(f"{method} {path}: {said}; start the service, or correct the selector") from error

    def _headers(self) -> dict[str, str]:
        """Return the headers with the values of their variables. Raises MemoryFault for one that is not set."""
        found = {}
        for name, variable in self._given.items():
            value = self._environ.get(variable, "").strip()
            if not value:
                raise MemoryFault(f"header {name}: the environment variable {variable} is not set; set it")
            if not value.isascii() or not value.isprintable():
                raise MemoryFault(f"the environment variable {variable} has characters that no header may have")
            found[name] = f"Bearer {value}" if name == "authorization" else value
        return found

    def _hidden(self, text: str) -> str:
        """Return a text without the values of the headers, which a service may repeat."""
        for variable in self._given.values():
            if value := self._environ.get(variable, "").strip():
                text = text.replace(value, f"${variable}")
        return text

    def _client(self) -> httpx.Client:
        with self._lock:
            if self._http is None:
                try:
                    import httpx
                except ImportError:
                    raise MemoryFault("needs httpx; run `pip install 'pytest-recall[memory-http]'`") from None
                self._http = httpx.Client(timeout=self._timeout)
            return self._http


def _asked(query: str, limit: int, context: QueryContext) -> dict[str, Any]:
    return {"query": query, "limit": limit, "context": context.to_json()}
