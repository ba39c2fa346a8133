"""Share what the models behind both SDKs have in common: the client, its errors, and unsupported settings."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import Any, ClassVar

from pytest_recall.files.wording import one_line
from pytest_recall.models.model import Ask, ModelError, Reply, Selector, StopReason, unheeded
from pytest_recall.models.provider import ModelSettings, Provider, UnfitError
from pytest_recall.models.rate import SPENT, asked_for, is_temporary
from pytest_recall.models.waiting import Breaks
from pytest_recall.replay.exchange import Request, Response
from pytest_recall.replay.wire_formats import provider_of, usage_of

NO_KEY = "none"
"""What is sent as a key where none is needed: the SDKs make no request without one."""

_FILTERS = frozenset({"content_filter", "content_policy_violation"})
_TOO_LONG = "context_length_exceeded"  # It counts the schema, and refuses none.
_MISFIT = re.compile(
    r"unsupported|not support|supports? only|only supports?|supported only|unknown|unrecogni[sz]ed|unexpected"
    r"|not permitted|not allowed|extra inputs|deprecated|not available"
)
_MENTIONED = {
    "temperature": re.compile("temperature"),
    "max_tokens": re.compile("max_tokens|max_completion_tokens"),
    "seed": re.compile("seed"),
    "schema": re.compile(r"response_?format|json_?schema|output_?config|output_?format|schema|structured|grammar"),
}


class SdkModel(Provider):
    """A model that an SDK asks over HTTP. The SDK is imported, and its client made, at the first use.

    The SDK makes one attempt; whether there is another is decided in one place for all models.
    """

    package: ClassVar[str]
    base_error: ClassVar[str]
    """The name of the exception that all others of the SDK are."""
    takes: ClassVar[tuple[str, ...]]
    """Which of the settings this API has."""
    keys: ClassVar[tuple[str, ...]]
    """The environment variables that hold a key; the first is the one to set."""

    def __init__(self, selector: Selector, environ: Mapping[str, str], settings: ModelSettings, breaks: Breaks) -> None:
        super().__init__(selector, environ, settings, breaks)
        self._made: Any = None
        self._lock = Lock()
        self._refused: set[str] = set()
        base = self.url = self._base_url()
        self.seller = provider_of(base) if base else selector.kind

    def close(self) -> None:
        """Close the connections; the next ask opens new ones."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            made.close()

    def _check(self) -> None:
        self._client()

    def _client(self) -> Any:
        """Return the client, which all threads share."""
        with self._lock:
            if self._made is None:
                try:
                    module = import_module(self.package)
                except ImportError as error:
                    raise ModelError(
                        f"the package {self.package} is not installed; run: pip install 'pytest-recall[llm]'"
                    ) from error
                self._made = self._make(module)
            return self._made

    def _key(self) -> str | None:
        """Return the key; None if the environment has none."""
        found = (self._environ.get(name, "").strip() for name in self.keys)
        return next((key for key in found if key), None)

    def _base_url(self) -> str | None:
        """Return the endpoint that is named, here or in the environment; None is the vendor's own."""
        return self._selector.url

    @abstractmethod
    def _make(self, module: Any) -> Any:
        """Return a client. Raises ModelError if there is no key for it."""

    @abstractmethod
    def _send(self, client: Any, ask: Ask, takes: Collection[str], timeout: float) -> Any:
        """Return the raw response to the ask with those of its settings that the endpoint `takes`."""

    @abstractmethod
    def _read(self, plain: Any) -> tuple[str, StopReason]:
        """Return the text of a response and how it ended. Raises LookupError or TypeError for anything else."""

    def _spelling(self) -> str:
        """Return the name under which a setting of several names is sent now."""
        return ""

    def _refuse(self, name: str, spelling: str) -> bool:
        """Ask without the setting `name`, sent in this `spelling`, from now on; return whether that is possible."""
        self._refused.add(name)
        return True

    def _once(self, ask: Ask, timeout: float) -> Reply:
        client = self._client()
        takes = [name for name in self.takes if name not in self._refused and getattr(ask, name) is not None]
        spelling = self._spelling()
        with self._sentences(timeout):
            try:
                raw = self._send(client, ask, takes, timeout)
            except import_module(self.package).APIStatusError as error:
                told = _told(error.body)
                if told.get("code") in _FILTERS:
                    return Reply(text="", stop="refused", ignored=unheeded(ask, takes))
                if error.status_code in (400, 422) and told.get("code") != _TOO_LONG:
                    self._learn(told, takes, spelling)
                raise
        body = bytes(raw.http_response.content)
        try:
            text, stop = self._read(json.loads(body))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            shown = one_line(self._safe(body.decode("utf-8", "replace")), 80)
            raise ModelError(
                f"{self._where()} answered with something that is not a reply, {shown!r}; check the URL"
            ) from error
        headers = (("content-type", "application/json"),)
        model, tokens = usage_of(Request("POST", self._where()), Response(200, headers=headers, chunks=(body,)))
        return Reply(text=text, stop=stop, model=model, tokens=tokens, ignored=unheeded(ask, takes))

    def _learn(self, told: Mapping[str, str], takes: Collection[str], spelling: str) -> None:
        """Raise UnfitError if the endpoint refuses one of the settings that it was sent, and goes on without."""
        text = " ".join((told.get("param", ""), told.get("message", ""))).lower()
        for name in takes:
            if _MENTIONED[name].search(text) and (name == "schema" or _MISFIT.search(text)):
                with self._lock:
                    known = name in self._refused
                    possible = self._refuse(name, spelling)
                    news = not known and name in self._refused
                if news:
                    instead = "it is asked for JSON in words" if name == "schema" else "it is asked without"
                    self._settings.say(f"{self.name}: {self._where()} takes no `{name}`; {instead}")
                if possible:
                    raise UnfitError(name)

    # What goes wrong, in sentences

    @contextmanager
    def _sentences(self, timeout: float) -> Iterator[None]:
        """Raise ModelError for every exception of the SDK."""
        module = import_module(self.package)
        try:
            yield
        except module.APIStatusError as error:
            raise self._status(error) from error
        except module.APITimeoutError as error:
            message = f"{self._where()} did not answer within {timeout:g} s; try again later, or allow more time"
            raise ModelError(message, temporary=True) from error
        except module.APIConnectionError as error:
            cause = f" ({one_line(self._safe(str(error.__cause__)), 100)})" if error.__cause__ else ""
            message = f"{self._where()} cannot be reached{cause}; check the URL, and that a server runs there"
            raise ModelError(message, temporary=True) from error
        except UnicodeError as error:
            raise ModelError(f"a character cannot be sent; look at the prompt and at {self.keys[0]}") from error
        except (module.APIError, vars(module)[self.base_error]) as error:
            raise ModelError(f"{self._where()}: {one_line(self._safe(str(error)))}; check the settings") from error

    def _status(self, error: Any) -> ModelError:
        told = _told(error.body)
        status, code = error.status_code, told.get("code") or told.get("type")
        said = one_line(self._safe(told.get("message", "")), 160)
        if code in SPENT:
            advice = "add money to the account"
        elif status in (401, 403):
            advice = f"check {self.keys[0]}"
        elif status == 404:
            advice = "check the id of the model and the URL"
        elif status in (408, 409, 429) or status >= 500:
            advice = "try again later, or ask less at a time"
        else:
            advice = "change what is asked"
        message = f"{self._where()} answered {status}{f': {said}' if said else ''}; {advice}"
        after = asked_for(error.response.headers, self._waiting.wall())
        return ModelError(message, temporary=is_temporary(status, code), after=after)

    def _where(self) -> str:
        """Return the endpoint, as a person may read it."""
        return self._base_url() or f"the API of {self._selector.kind}"


def _told(body: Any) -> dict[str, str]:
    """Return `message`, `code`, `type` and `param` of an error, from the shapes that there are."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(inner, dict):
        return {"message": inner} if isinstance(inner, str) else {}
    return {name: str(value) for name, value in inner.items() if isinstance(value, str | int)}
