"""Load a memory system that the user wrote in Python, or wrapped."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any

from pytest_recall.cases.memory_part import MemoryClient, MemoryFault, QueryContext
from pytest_recall.files.errors import nearest
from pytest_recall.files.wording import one_line
from pytest_recall.memory.client import MemoryAdapter, patience
from pytest_recall.memory.selector import DISPLAYED
from pytest_recall.models.fingerprint import code_of, files_of, selected_files
from pytest_recall.models.input_log import inputs_of, observed
from pytest_recall.models.inputs import Inputs
from pytest_recall.models.model import ModelError
from pytest_recall.models.python_model import load

TIMEOUT = 120.0
"""Seconds that one call of an async client may take."""
BATCH = 100
"""Texts that an object is handed at once, if it takes several."""
_METHODS = ("reset", "store", "recall")
_ALSO_LIMITED = ("store_many", "answer", "finalize")


class Own(MemoryAdapter):
    """An object with the methods of `MemoryClient`, sync or async.

    What it raises is not caught here: the reader of the trial wants the traceback.
    """

    observable = True

    def __init__(self, name: str, found: Any, timeout: float | None = None) -> None:
        super().__init__(name)
        self._found = found
        self._timeout = timeout or TIMEOUT

    def code(self) -> Iterable[Path]:
        """Return the files of the object's classes."""
        return files_of(self._object())

    def inputs(self, models: Collection[tuple[str, int | None]] = ()) -> Inputs:
        """Return what the object has read."""
        return inputs_of(self.name, lambda: code_of(self.code()), models)

    def observed(self) -> AbstractContextManager[None]:
        """Note what the object reads within."""
        return observed(self.name)

    @property
    def private(self) -> bool:  # type: ignore[override]
        """Whether the object says that it lives in this process, and was empty when it was made."""
        return getattr(self._object(), "private", False) is True

    @property
    def namespaces(self) -> bool:  # type: ignore[override]
        """Whether the object has a method `namespace`, which returns one for a store of that name."""
        return callable(getattr(self._object(), "namespace", None))

    def in_namespace(self, name: str) -> MemoryAdapter:
        """Return what the object gives for the store of this name."""
        if not self.namespaces:
            return super().in_namespace(name)
        return Own(self.name, self._object().namespace(name), self._timeout)  # type: ignore[attr-defined]

    def ready(self) -> None:
        """Import it."""
        self._object()

    def reset(self) -> Any:
        """Forget everything."""
        return self._limited(self._object().reset())

    def store(self, content: str, metadata: Mapping[str, str]) -> Any:
        """Keep a text."""
        return self._limited(self._object().store(content, metadata))

    @property
    def batch(self) -> int:  # type: ignore[override]
        """How many texts it takes at once: several if the object has a method `store_many`."""
        return BATCH if callable(getattr(self._object(), "store_many", None)) else 1

    def store_many(self, texts: Sequence[tuple[str, Mapping[str, str]]]) -> Any:
        """Keep texts, if the object has such a method."""
        return self._optional("store_many", texts)

    def recall(self, query: str, limit: int, context: QueryContext) -> Any:
        """Return what it recalls."""
        return self._limited(self._object().recall(query, limit, context))

    def answer(self, query: str, limit: int, context: QueryContext) -> Any:
        """Return its own answer, None if it has no such method."""
        return self._optional("answer", query, limit, context)

    def finalize(self) -> Any:
        """Tell it that all is stored."""
        return self._optional("finalize")

    def count(self) -> Any:
        """Return how many units it holds, None if it has no such method."""
        return self._optional("count")

    def is_ready(self) -> Any:
        """Return what it says of that, None if it has no such method."""
        return self._optional("is_ready")

    def healthcheck(self) -> Any:
        """Let it say whether it can be used."""
        return self._optional("healthcheck")

    @property
    def concurrent(self) -> bool:  # type: ignore[override]
        """Whether the object says that several threads may ask it at once."""
        return getattr(self._object(), "concurrent", False) is True

    def close(self) -> Any:
        """Let it close, if it was ever used."""
        return self._optional("close") if self._is_there else None

    @property
    def _is_there(self) -> bool:
        return True

    def _object(self) -> MemoryClient:
        return checked(self._found)

    def _optional(self, name: str, *given: Any) -> Any:
        method = getattr(self._object(), name, None)
        return self._limited(method(*given)) if callable(method) else None

    def _limited(self, given: Any) -> Any:
        return _within(given, patience(self._timeout)) if inspect.isawaitable(given) else given


class Imported(Own):
    """An object named by `python:MODULE:NAME`, a class or a factory of one; it is imported at the first use.

    A class or a factory is called with `config` by keyword. What that has of the names in `DISPLAYED` is left out where
    they are no parameter: profiles have them for display as well.
    """

    def __init__(
        self,
        name: str,
        place: str,
        attribute: str,
        root: Path,
        timeout: float | None,
        config: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(name, None, timeout)
        self._place, self._attribute, self._root = place, attribute, root
        self._config = config
        self._limits = timeout is not None
        self._lock = Lock()

    def code(self) -> Iterable[Path]:
        """Return the files of the object's classes, and the one that the selector names."""
        made_of = list(super().code())  # First, since it imports the module.
        return [*made_of, *selected_files(self._place, self._root)]

    @property
    def _is_there(self) -> bool:
        return self._found is not None

    def _object(self) -> MemoryClient:
        with self._lock:
            if self._found is None:
                with self.observed():
                    self._found = self._made()
        return checked(self._found)

    def _made(self) -> MemoryClient:
        try:
            found = load(self._place, self._attribute, self._root)
            if isinstance(found, type) or not all(hasattr(found, name) for name in _METHODS):
                found = made(found, self._config)
            elif self._config:
                raise MemoryFault(f"{self._attribute} is an object, and takes no settings; name its class")
        except MemoryFault:
            raise
        except ModelError as error:
            raise MemoryFault(str(error)) from error
        except (Exception, SystemExit) as error:
            said = one_line(f"{type(error).__name__}: {error}", 200)
            raise MemoryFault(f"{self._place} raised {said}; correct it") from error
        known = checked(found)
        if self._limits and (plain := next(_plain_methods(known), "")):
            raise MemoryFault(f"`{plain}` is not `async def`, and `;timeout=` cannot end it; remove `;timeout=`")
        return known


def _plain_methods(found: MemoryClient) -> Iterator[str]:
    """Yield the methods of an object that a time limit cannot end."""
    for name in (*_METHODS, *_ALSO_LIMITED):
        method = getattr(found, name, None)
        if callable(method) and not inspect.iscoroutinefunction(method):
            yield name


def made(found: Any, config: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Return what a class or a factory makes with these settings. Raises MemoryFault for one that it does not take."""
    if not callable(found):
        return found
    given = found(**_taken(found, config)) if config else found()
    if inspect.isawaitable(given):
        if inspect.iscoroutine(given):
            given.close()
        raise MemoryFault("the factory is async; let it return the client, and connect at the first call")
    return given


def _taken(found: Callable[..., Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a class or a factory takes."""
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return dict(config)
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return dict(config)
    known = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    if unknown := next((name for name in config if name not in known and name not in DISPLAYED), None):
        of = getattr(found, "__name__", type(found).__name__)
        raise MemoryFault(f"{of} takes no setting `{unknown}`{nearest(unknown, known)}")
    return {name: value for name, value in config.items() if name in known}


def checked(found: Any) -> MemoryClient:
    """Return `found`, which has the methods of a memory. Raises MemoryFault if it has not."""
    missing = [name for name in _METHODS if not callable(getattr(found, name, None))]
    if missing:
        known = [name for name in dir(found) if not name.startswith("_") and callable(getattr(found, name, None))]
        close = nearest(missing[0], known).partition("; known")[0]
        raise MemoryFault(f"{type(found).__name__} has no method `{missing[0]}`{close or '; add it'}")
    client: MemoryClient = found
    return client


async def _within(awaitable: Awaitable[Any], seconds: float) -> Any:
    try:
        async with asyncio.timeout(seconds) as limit:
            return await awaitable
    except TimeoutError:
        if not limit.expired():
            raise  # It is the user's own.
        raise MemoryFault(f"no reply within {seconds:g} s; add `;timeout=` with more seconds") from None
