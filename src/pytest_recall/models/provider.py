"""Define what all models have in common: a name, retries, and one loop of attempts."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from pytest_recall.models.inputs import Inputs
from pytest_recall.models.model import Ask, ModelError, Reply, Selector
from pytest_recall.models.rate import Retry, wait
from pytest_recall.models.waiting import Break, Breaks
from pytest_recall.replay.secrets import secret_names, suspicious

# Vendors repeat the key that they refuse, most of it as stars.
# From the beginning of a word alone: what a program has printed may be one word of many megabytes.
_MASKED = re.compile(r"(?<!\S)\S*?\*{3,}\S*|\b(?:sk|pk)-[\w-]{6,}")


def _quiet(message: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How models are asked."""

    timeout: float = 120.0
    """The seconds of one attempt."""
    retry: Retry = field(default_factory=Retry)
    say: Callable[[str], None] = _quiet
    """Takes a sentence that someone should read once, such as that an endpoint refuses a setting and is asked without
    it."""

    @classmethod
    def within(cls, milliseconds: int | None, say: Callable[[str], None]) -> ModelSettings:
        """Return settings by which one attempt may take so long, or as long as usual without a number."""
        if milliseconds is None:
            return cls(say=say)
        seconds = milliseconds / 1000
        # One that took its time may be asked once more.
        return cls(timeout=seconds, retry=Retry(total=max(Retry().total, 2 * seconds)), say=say)


class UnfitError(Exception):
    """A setting that the endpoint refuses; from now on it is asked without, and now once more."""


class Provider(ABC):
    """A model behind a selector. A subclass says in `_once` how it is asked a single time.

    `_once` raises ModelError with a sentence that does not name the model; its name is put
    before it here.
    """

    seller: str | None = None
    """Who sells it, by the name of the price list; None if no vendor does, or it is unknown."""
    url: str | None = None
    """Where it is, if that is not where its vendor has it."""
    elsewhere = ""
    """Why it cannot be known what code of the user's it is, as with a memory; empty if it can, or it is none."""
    observable = False
    """Whether it is code of the user's in this process, which is seen as it works."""

    def __init__(self, selector: Selector, environ: Mapping[str, str], settings: ModelSettings, breaks: Breaks) -> None:
        self._selector = selector
        self._environ = environ
        self._settings = settings
        self._waiting = breaks.waiting
        self._break: Break = breaks.of(selector.kind, selector.url or "")

    @property
    def name(self) -> str:
        """Return the selector, as the person wrote it."""
        return self._selector.text

    def code(self) -> Iterable[Path]:
        """Return the files of the user's that say how it works; none of a model that a vendor sells."""
        return ()

    def inputs(self, models: Collection[tuple[str, int | None]] = ()) -> Inputs:
        """Return what it has read so far beside its code, as far as that was noted.

        `models` are the hosts and ports to which calls of models were heard: what is there is no part of it.
        """
        return Inputs()

    def ready(self) -> None:
        """Raise ModelError if something is missing here: a package, a key, a program. Nothing is asked."""
        try:
            self._check()
        except ModelError as error:
            raise self._named(error, 1) from error

    def ask(self, ask: Ask) -> Reply:
        """Return the reply; may be called from several threads. Raises ModelError."""
        retry, waiting = self._settings.retry, self._waiting
        calls = failures = 0
        spent = 0.0  # A break that others were asked for is not counted: it is not this call's fault.
        try:
            while True:
                self._break.wait()
                calls += 1
                start = waiting.clock()
                try:
                    reply = self._once(ask, min(self._settings.timeout, max(1.0, retry.total - spent)))
                except UnfitError:
                    continue  # It has learned, so that this cannot happen again for the same reason.
                except ModelError as error:
                    failures += 1
                    spent += waiting.clock() - start
                    seconds = self._next(error, failures, spent)
                    if seconds is None:
                        raise
                    waiting.sleep(seconds)
                    spent += seconds
                else:
                    return replace(reply, attempts=calls)
        except ModelError as error:
            raise self._named(error, calls) from error

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of connections and threads; it may be asked again, and makes new ones."""

    def __enter__(self) -> Self:
        """Return the model itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Let go of what it holds."""
        self.close()

    def _check(self) -> None:  # noqa: B027 - nor anything that may be missing
        """Raise ModelError if something is missing here."""

    @abstractmethod
    def _once(self, ask: Ask, timeout: float) -> Reply:
        """Ask a single time. Raises ModelError, or UnfitError to be called once more."""

    def _next(self, error: ModelError, failures: int, spent: float) -> float | None:
        """Return the seconds to the next attempt, None if there is none; all threads hear of a break."""
        if error.after is not None:
            self._break.begin(min(error.after, self._settings.retry.longest))
        if not error.temporary:
            return None
        return wait(self._settings.retry, failures, spent, error.after, self._waiting.roll())

    def _named(self, error: ModelError, calls: int) -> ModelError:
        tried = f"tried {calls} times: " if calls > 1 else ""
        return ModelError(f"{self.name}: {tried}{error}", temporary=error.temporary, after=error.after)

    def _safe(self, text: str) -> str:
        """Return `text` from elsewhere without keys: those of the environment, and what looks like another one."""
        found = secret_names(self._environ)
        for name, value in sorted(found.items(), key=lambda item: -len(item[1])):
            text = text.replace(value, f"[{name}]")
        text = _MASKED.sub("[key]", text)
        return "[not shown, since it holds something like a key]" if suspicious(text) else text
