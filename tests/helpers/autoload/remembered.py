"""What pytest finds out about its own modules, found out once in a process and not in each run of it.

A run looks through all names of fifty plugins for hooks, and again for fixtures, and parses whole modules to
show a line of them. That was half of what a run within a test took. Only answers about the modules of pytest
and pytest-xdist are kept, which stay as they are, and about functions: which fixtures and hooks our plugin has, and
what arguments they take. Nothing else about our modules is kept, and nothing about conftest files and tests.

PYTEST_DONT_REWRITE: a process imports it before it imports pytest.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import functools
import importlib
import inspect
import itertools
import operator
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any
from unittest import mock

STABLE = ("_pytest.", "xdist.")
DEFINING = (*STABLE, "pytest_recall.plugin.")
"""Where no fixture and no method is added or taken away."""
CONFTEST = "conftest"


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


def _hooks(holder: object) -> list[str]:
    return [name for name in dir(holder) if name.startswith("pytest_")]


_hooks_of = functools.cache(_hooks)


def _asked(plugin: object) -> list[str]:
    """Return which names of a plugin can be hooks: of those, pytest takes no others than these."""
    if isinstance(plugin, ModuleType) and _stable(plugin, DEFINING) is plugin:
        return _hooks_of(plugin)
    return _hooks(plugin) or dir(plugin)  # One without any may be a plugin of something else.


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
        if not isinstance(plugin, ModuleType):
            return original(*args)
        if (plugin, name) not in kept:
            if not name.startswith("pytest_") or _stable(plugin) is None:
                return original(*args)
            kept[plugin, name] = original(*args)
        found = kept[plugin, name]
        return found.copy() if isinstance(found, dict) else found  # pluggy adds to it what is not said.

    return remembering


_method_of = functools.cache(lambda kind, name: inspect.getattr_static(kind, name, None))


def _of_objects(original: Callable[..., Any]) -> Callable[..., Any]:
    """Keep which function of its class a hook of an object is; it is bound to the object each time."""

    def static_hook_attr(plugin: object, name: str) -> Any:
        kind = _stable(plugin, DEFINING)
        if isinstance(kind, type) and name not in getattr(plugin, "__dict__", ()):
            found = _method_of(kind, name)
            if isinstance(found, FunctionType):
                return found, found.__get__(plugin, kind)
        return original(plugin, name)

    return static_hook_attr


class _Few(set[str]):
    """Names whose intersection looks for each of them, and not at thousands of modules."""

    def intersection(self, *others: Any) -> set[str]:
        return {name for name in self if all(name in other for other in others)}


def _arguments(original: Callable[..., Any]) -> Callable[..., Any]:
    kept = functools.cache(original)

    def getfuncargnames(function: Any, *args: Any, **given: Any) -> Any:
        defined = isinstance(function, FunctionType) and f"{function.__module__}.".startswith(DEFINING)
        return (kept if defined else original)(function, *args, **given)

    return getfuncargnames


def _module_of(original: Callable[..., Any]) -> Callable[..., Any]:
    newest = 50

    def getmodule(of: Any, _filename: str | None = None) -> Any:
        # For a file that it does not know, it asks each module for its own; of a run these are the newest.
        if isinstance(of, CodeType) and _filename and _filename not in inspect.modulesbyfile:
            for name in list(itertools.islice(reversed(sys.modules.copy()), newest)):
                if getattr(sys.modules.get(name), "__file__", None) == _filename:
                    inspect.modulesbyfile[_filename] = name
        return original(of, _filename)

    return getmodule


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
            # The conftest file of a run takes the name of ours, and its place is behind what was there.
            if (theirs := sys.modules.get(CONFTEST)) is not saved.get(CONFTEST, theirs):
                sys.modules.pop(CONFTEST, None)
            # What came is at the end, unless something went and came back.
            for name in list(itertools.takewhile(lambda name: name not in saved, reversed(sys.modules))):
                if preserve is None or not preserve(name):
                    del sys.modules[name]
        if CONFTEST in saved:
            sys.modules.setdefault(CONFTEST, saved[CONFTEST])
        if sys.modules != saved:
            _put_back(saved, preserve)
        _modules.restored = saved is _modules.copy

    return restore


def _put_back(saved: dict[str, ModuleType], preserve: Callable[[str], bool] | None) -> None:
    # There are thousands: no step of Python is for each of them.
    for name in list(itertools.filterfalse(saved.__contains__, sys.modules)):
        if preserve is None or not preserve(name):
            del sys.modules[name]
    others = map(operator.is_not, map(sys.modules.get, saved), saved.values())
    for name in list(itertools.compress(saved, others)):
        if name not in sys.modules or preserve is None or not preserve(name):
            sys.modules[name] = saved[name]


@contextlib.contextmanager
def in_this_process() -> Iterator[None]:
    """Keep the answers of runs in this process, and of those that it forks, as long as this lasts."""
    fixtures, config, code, manager, pytester, rewrite, pluggy = map(
        importlib.import_module,
        (
            *("_pytest.fixtures", "_pytest.config", "_pytest._code.code", "pluggy._manager", "_pytest.pytester"),
            *("_pytest.assertion.rewrite", "pluggy"),
        ),
    )
    changes = (
        (fixtures.FixtureManager, "parsefactories", _fixtures),
        (fixtures, "getfuncargnames", _arguments),
        (argparse, "_", functools.cache),  # It looks for translations in folders that there are not.
        (inspect, "getmodule", _module_of),
        (config.PytestPluginManager, "parse_hookimpl_opts", functools.partial(_of_modules, at=1)),
        (manager.PluginManager, "load_setuptools_entrypoints", _entry_points),
        (manager, "_static_hook_attr", functools.partial(_of_modules, at=0)),
        (manager, "_static_hook_attr", _of_objects),
        (importlib.import_module(manager.HookImpl.__module__), "varnames", _arguments),
        (code, "getstatementrange_ast", _statements),
        (pytester.SysModulesSnapshot, "__init__", _taken),
        (pytester.SysModulesSnapshot, "restore", _restored),
    )
    with contextlib.ExitStack() as stack:
        for module, names in ((fixtures, _looked_through), (manager, _asked)):
            stack.enter_context(mock.patch.object(module, "dir", names, create=True))
        stack.enter_context(mock.patch.object(rewrite, "set", _Few, create=True))
        # The header of a run has it, and it is looked up in the metadata whenever it is asked for.
        stack.enter_context(mock.patch.object(pluggy, "__version__", pluggy.__version__, create=True))
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
