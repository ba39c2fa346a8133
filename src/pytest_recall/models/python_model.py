"""Load models that the user wrote in Python, by module and name."""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Lock, Thread
from types import ModuleType
from typing import Any
from zlib import crc32

from pytest_recall.files.errors import nearest
from pytest_recall.files.wording import one_line
from pytest_recall.models.fingerprint import code_of, selected_files
from pytest_recall.models.input_log import inputs_of, observed
from pytest_recall.models.inputs import Inputs
from pytest_recall.models.model import Ask, ModelError, Reply, Selector, place_and_name, prompt_of, unheeded
from pytest_recall.models.provider import ModelSettings, Provider
from pytest_recall.models.waiting import Breaks


def load(place: str, name: str, root: Path) -> Any:
    """Return what `name`, with dots, is in the module or file `place`; files are looked for from `root`.

    Raises ModelError where it is not there, and whatever the module raises as it is imported.
    """
    found: Any = _module(place, root)
    for part in name.split("."):
        if not hasattr(found, part):
            names = [known for known in dir(found) if not known.startswith("_")]
            raise ModelError(f"{place} has no name `{name}`{nearest(part, names)}")
        found = getattr(found, part)
    return found


def _module(place: str, root: Path) -> ModuleType:
    if place.endswith(".py") or "/" in place or "\\" in place:
        path = root / place
        # Two files of one name are two modules.
        spec = spec_from_file_location(f"recall_model_{path.stem}_{crc32(str(path).encode()):08x}", path)
        if spec is None or spec.loader is None or not path.is_file():
            raise ModelError(f"there is no Python file {place}; correct the selector")
        module = sys.modules[spec.name] = module_from_spec(spec)
        try:
            with _beside(path, place):
                spec.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[spec.name]  # The next one to load it begins again.
            if isinstance(error, ModuleNotFoundError):
                raise ModelError(
                    f"{place} imports `{error.name}`, which is not there; install it, or put it beside the file"
                ) from error
            raise
        return module
    if str(root) not in sys.path:
        # Last, so that nothing of the project hides what is installed.
        sys.path.append(str(root))
    try:
        return import_module(place)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{place}.".startswith(f"{error.name}."):
            raise ModelError(f"there is no module {error.name}; correct the selector, or install it") from error
        raise


@contextmanager
def _beside(path: Path, place: str) -> Iterator[None]:
    """Let a file import the modules in its folder. Raises ModelError where another one of that name is loaded.

    The folder comes last, so that nothing in it hides what is installed, and is gone from `sys.path` afterwards, so
    that it hides nothing of others either. What functions import when they are called is imported before that.
    """
    folder = path.parent.resolve()
    sys.path.append(str(folder))
    try:
        named = _named_beside(path)
        for name in named:
            loaded = getattr(sys.modules.get(name), "__file__", None)
            if loaded and folder not in Path(loaded).resolve().parents and (folder / f"{name}.py").is_file():
                raise ModelError(f"{place} imports `{name}`, of which {loaded} is loaded; rename one of them")
        yield
        left, seen = named, set[str]()
        while left:
            name = left.pop()
            if name not in seen:
                seen.add(name)
                with suppress(Exception):  # It raises again where it is needed.
                    import_module(name)
                if (file := folder / f"{name}.py").is_file():
                    left += _named_beside(file)
    finally:
        sys.path.remove(str(folder))


def _named_beside(path: Path) -> list[str]:
    """Return the modules and packages in the folder of a file that it imports somewhere."""
    text = path.read_text(encoding="utf-8", errors="replace")
    # The folder is not listed: what a memory lists is noted, and this would be.
    named = dict.fromkeys(re.findall(r"^[ \t]*(?:from|import)[ \t]+(\w+)", text, re.MULTILINE))
    folder = path.parent
    return [name for name in named if (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()]


_LOOK = 0.2


class OwnModel(Provider):
    """An object named by `python:MODULE:NAME`; it is imported at the first use.

    It is a Model, or a class of one, or a function from the prompt to text. A function whose
    first parameter is annotated as Ask gets the ask; it may return a Reply, and may be async.
    """

    observable = True

    def __init__(
        self, selector: Selector, environ: Mapping[str, str], settings: ModelSettings, breaks: Breaks, root: Path
    ) -> None:
        super().__init__(selector, environ, settings, breaks)
        self._root = root
        self._lock = Lock()
        self._found: Any = None
        self._loop: _Loop | None = None

    def code(self) -> Iterable[Path]:
        """Return the file that the selector names."""
        return selected_files(place_and_name(self._selector.target)[0], self._root)

    def inputs(self, models: Collection[tuple[str, int | None]] = ()) -> Inputs:
        """Return what it has read."""
        return inputs_of(self.name, lambda: code_of(self.code()), models)

    def close(self) -> None:
        """End the thread of async functions."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()

    def _check(self) -> None:
        self._object()

    def _object(self) -> Any:
        with self._lock:
            if self._found is None:
                with observed(self.name):
                    self._found = self._load()
            return self._found

    def _load(self) -> Any:
        place, name = place_and_name(self._selector.target)
        found: Any = self._run(load, place, name, self._root)
        if isinstance(found, type):
            found = self._run(found)
        if not callable(getattr(found, "ask", None)) and not callable(found):
            raise ModelError(f"`{name}` is {type(found).__name__}; it has to be a function, or have a method `ask`")
        return found

    def _once(self, ask: Ask, timeout: float) -> Reply:
        found = self._object()
        with observed(self.name):
            return self._reply(found, ask, timeout)

    def _reply(self, found: Any, ask: Ask, timeout: float) -> Reply:
        method = getattr(found, "ask", None)
        none: tuple[str, ...] = ()
        if callable(method):
            said, ignored = self._done(method, ask, timeout), none
        elif _takes_ask(found):
            said, ignored = self._done(found, ask, timeout), none
        else:
            said, ignored = self._done(found, prompt_of(ask), timeout), unheeded(ask)
        if isinstance(said, Reply):
            return said
        if isinstance(said, str):
            return Reply(text=said, ignored=ignored)
        raise ModelError(f"it returned {type(said).__name__}; return text or a Reply")

    def _done(self, function: Callable[[Any], Any], given: Any, timeout: float) -> Any:
        said = self._run(function, given)
        if not inspect.isawaitable(said):
            return said
        with self._lock:
            if self._loop is None:
                self._loop = _Loop()
            loop = self._loop
        return self._run(loop.run, said, timeout, self._waiting.check)

    def _run(self, function: Callable[..., Any], *given: Any) -> Any:
        """Call what the user wrote. Raises ModelError for what it raises."""
        try:
            return function(*given)
        except ModelError:
            raise
        except (Exception, SystemExit) as error:
            raise self._raised(error) from error

    def _raised(self, error: BaseException) -> ModelError:
        said = one_line(self._safe(str(error)))
        return ModelError(f"raised {type(error).__name__}{f': {said}' if said else ''}; correct it")


class _Loop:
    """One event loop for all calls of a model, in a thread of its own: what async clients hold on to stays usable."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._closing = False
        self._thread = Thread(target=self._serve, name="recall-model", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._closing:
            # A task that raises one of these stops its loop, and has noted it for who waits for the task.
            with suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()

    def run(self, awaitable: Awaitable[Any], timeout: float, check: Callable[[], object]) -> Any:
        """Return what the awaitable gives. Raises ModelError if it takes longer than `timeout` seconds."""

        async def awaited() -> Any:
            try:
                async with asyncio.timeout(timeout) as limit:
                    return await awaitable
            except TimeoutError:
                if not limit.expired():
                    raise  # It is the user's own.
                message = f"no reply within {timeout:g} s; allow more time"
                raise ModelError(message, temporary=True) from None

        future = asyncio.run_coroutine_threadsafe(awaited(), self._loop)
        try:
            while not future.done():
                wait_for([future], _LOOK)
                check()
            return future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        """End the thread."""
        self._closing = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.wait(left))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


def _takes_ask(function: Callable[..., Any]) -> bool:
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except (TypeError, ValueError):
        return False
    noted = None if first is None else first.annotation
    return noted is Ask or (isinstance(noted, str) and noted.strip("'\"").rpartition(".")[2] == "Ask")
