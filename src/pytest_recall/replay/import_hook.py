"""Call a function as soon as a module is imported, by a finder on `sys.meta_path`."""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from types import ModuleType

Undo = Callable[[], None]


def once_imported(names: Collection[str], do: Callable[[ModuleType], None]) -> Undo:
    """Call `do` with each module of `names` that is loaded, and with each other one right after it is imported."""
    finder = _Finder(names, do)
    sys.meta_path.insert(0, finder)
    for name in names:
        if sys.modules.get(name) is not None:
            do(importlib.import_module(name))  # waits for a thread that is importing it
    return functools.partial(sys.meta_path.remove, finder)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, names: Collection[str], do: Callable[[ModuleType], None]) -> None:
        self._names = names
        self._do = do
        self._looking = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._names or getattr(self._looking, "now", False):
            return None
        self._looking.now = True
        try:
            spec = _found(fullname, path, target)
        finally:
            self._looking.now = False
        if spec is None or spec.loader is None:
            return None
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            loader.exec_module = execute  # type: ignore[method-assign]
            execute(module)
            self._do(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _found(
    fullname: str, path: Sequence[str] | None, target: ModuleType | None
) -> importlib.machinery.ModuleSpec | None:
    """Return what the other finders find.

    `importlib.util.find_spec` would wait for the package, which another thread may be importing, and which waits for
    this module in turn.
    """
    for finder in list(sys.meta_path):
        spec = finder.find_spec(fullname, path, target) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec
    return None
