"""What pytest finds out about its own modules, found out once in a process and not in each run of it.

A run looks through all names of fifty plugins for hooks, and again for fixtures, and parses whole modules to
show a line of them. That was half of what a run within a test took. Only answers about the modules of pytest
and pytest-xdist are kept, which stay as they are, and which fixtures our plugin has. Nothing else about our
modules is kept, and nothing about conftest files and tests.

PYTEST_DONT_REWRITE: a process imports it before it imports pytest.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
import functools
import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from unittest import mock

STABLE = ("_pytest.", "xdist.")
DEFINING = (*STABLE, "pytest_recall.plugin.")
"""Where no fixture is added or taken away."""


def _stable(holder: object, names: tuple[str, ...] = STABLE) -> ModuleType | type | None:
    """Return what defines the names of a plugin, a module or a class, if it stays as it is."""
    definer = holder if isinstance(holder, ModuleType) else type(holder)
    return definer if f"{getattr(definer, '__module__', definer.__name__)}.".startswith(names) else None


@functools.cache
def _fixtures_of(definer: ModuleType | type) -> list[str]:
    """Return the names of its fixtures."""
    kind = getattr(importlib.import_module("_pytest.fixtures"), "FixtureFunctionDefinition", None)
    # pytest before 8.4 has no such class, and its fixtures are plain functions: whatever there is, is looked through.
    return [name for name in dir(definer) if kind is None or isinstance(getattr(definer, name, None), kind)]


def _looked_through(holder: object) -> list[str]:
    """Return in which names of a module or an object pytest has to look for fixtures; it looks in all of them."""
    definer = _stable(holder, DEFINING)
    return dir(holder) if definer is None else _fixtures_of(definer)


@functools.cache
def _hooks_of(module: ModuleType) -> list[str]:
    return [name for name in dir(module) if name.startswith("pytest_")]


def _asked(plugin: object) -> list[str]:
    """Return which names of a plugin can be hooks; of one of pytest's own only those that pytest takes for hooks."""
    return _hooks_of(plugin) if isinstance(plugin, ModuleType) and _stable(plugin) is plugin else dir(plugin)


def _fixtures(original: Callable[..., None]) -> Callable[..., None]:
    def parsefactories(self: Any, *args: Any, **given: Any) -> None:
        if "holder" in given:
            definer = _stable(given["holder"], DEFINING)
        else:
            # Before pytest 9.1 a plugin was the first of two; one argument is a module or a class of tests.
            definer = _stable(args[0], DEFINING) if len(args) == 2 else None
        if definer is None or _fixtures_of(definer):
            original(self, *args, **given)

    return parsefactories


def _of_modules(original: Callable[..., Any], at: int) -> Callable[..., Any]:
    """Keep what `original` returns for the module that is its argument number `at`, and the name that follows."""
    kept: dict[tuple[ModuleType, str], Any] = {}

    def remembering(*args: Any) -> Any:
        plugin, name = args[at:]
        if not name.startswith("pytest_") or not isinstance(plugin, ModuleType) or _stable(plugin) is None:
            return original(*args)
        if (plugin, name) not in kept:
            kept[plugin, name] = original(*args)
        return copy.copy(kept[plugin, name])  # pluggy adds to it what is not said.

    return remembering


def _entry_points(original: Callable[..., int]) -> Callable[..., int]:
    def load_setuptools_entrypoints(self: Any, group: str, name: str | None = None) -> int:
        # A module, for whose entry point all distributions would be looked through before it is imported.
        return 0 if name == "few_plugins" else original(self, group, name=name)

    return load_setuptools_entrypoints


_parsed = functools.lru_cache(maxsize=64)(ast.parse)


def _statements(original: Callable[..., Any]) -> Callable[..., Any]:
    def getstatementrange_ast(lineno: int, source: Any, assertion: bool = False, astnode: ast.AST | None = None) -> Any:
        return original(lineno, source, assertion, _parsed(str(source)) if astnode is None else astnode)

    return getstatementrange_ast


@dataclasses.dataclass
class _Modules:
    """The copy of `sys.modules` that snapshots share as long as nothing comes or goes: there are thousands."""

    copy: dict[str, ModuleType] = dataclasses.field(default_factory=dict)
    restored: bool = False
    """Whether each module was compared with the copy after the newest snapshot."""

    def unchanged(self) -> bool:
        """Return whether nothing came or went; a module that was put in the place of another is not seen."""
        if len(sys.modules) != len(self.copy):
            return False
        name = next(reversed(sys.modules))
        return name == next(reversed(self.copy)) and sys.modules[name] is self.copy[name]


_modules = _Modules()


def _taken(_: Callable[..., None]) -> Callable[..., None]:
    def taken(self: Any, preserve: Callable[[str], bool] | None = None) -> None:
        if not _modules.unchanged():
            _modules.copy = dict(sys.modules)
        _modules.restored = False
        for name, value in (("saved", _modules.copy), ("preserve", preserve)):
            setattr(self, f"_{type(self).__name__}__{name}", value)

    return taken


def _restored(_: Callable[..., None]) -> Callable[..., None]:
    """Put back only the modules that came, went or were replaced."""

    def restore(self: Any) -> None:
        saved, preserve = (vars(self)[f"_{type(self).__name__}__{name}"] for name in ("saved", "preserve"))
        if saved is _modules.copy and _modules.restored and _modules.unchanged():
            return
        with contextlib.suppress(RuntimeError):  # A thread imports something.
            # What came is at the end, unless something went and came back.
            for name in list(itertools.takewhile(lambda name: name not in saved, reversed(sys.modules))):
                if preserve is None or not preserve(name):
                    del sys.modules[name]
        if sys.modules != saved:
            _put_back(saved, preserve)
        _modules.restored = saved is _modules.copy

    return restore


def _put_back(saved: dict[str, ModuleType], preserve: Callable[[str], bool] | None) -> None:
    for name in sys.modules.keys() - saved.keys():
        if preserve is None or not preserve(name):
            del sys.modules[name]
    for name in [name for name, module in saved.items() if sys.modules.get(name) is not module]:
        if name not in sys.modules or preserve is None or not preserve(name):
            sys.modules[name] = saved[name]


@contextlib.contextmanager
def in_this_process() -> Iterator[None]:
    """Keep the answers of runs in this process, and of those that it forks, as long as this lasts."""
    fixtures, config, code, manager, pytester = map(
        importlib.import_module,
        ("_pytest.fixtures", "_pytest.config", "_pytest._code.code", "pluggy._manager", "_pytest.pytester"),
    )
    changes = (
        (fixtures.FixtureManager, "parsefactories", _fixtures),
        (config.PytestPluginManager, "parse_hookimpl_opts", functools.partial(_of_modules, at=1)),
        (manager.PluginManager, "load_setuptools_entrypoints", _entry_points),
        (manager, "_static_hook_attr", functools.partial(_of_modules, at=0)),
        (code, "getstatementrange_ast", _statements),
        (pytester.SysModulesSnapshot, "__init__", _taken),
        (pytester.SysModulesSnapshot, "restore", _restored),
    )
    with contextlib.ExitStack() as stack:
        for module, names in ((fixtures, _looked_through), (manager, _asked)):
            stack.enter_context(mock.patch.object(module, "dir", names, create=True))
        for owner, name, change in changes:
            if hasattr(owner, name):  # Some of them are not in each version.
                stack.enter_context(mock.patch.object(owner, name, change(getattr(owner, name))))
        yield


def ask_ahead() -> None:
    """Have the answers about all modules that there are now, for the processes that are forked from this one."""
    manager = importlib.import_module("_pytest.config").PytestPluginManager()
    for module in [module for name, module in sys.modules.items() if f"{name}.".startswith(STABLE)]:
        _fixtures_of(module)
        for name in dir(module):
            manager.parse_hookimpl_opts(module, name)
