"""What pytest finds out about its own modules, found out once in a process and not in each run of it.

A run looks through all names of fifty plugins for hooks, and again for fixtures, and parses whole modules to
show a line of them. That was half of what a run within a test took. Only answers about the modules of pytest
and pytest-xdist are kept, which stay as they are; those about ours, conftest files and tests are not.

PYTEST_DONT_REWRITE: a process imports it before it imports pytest.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from unittest import mock

STABLE = ("_pytest.", "xdist.")


def _stable(holder: object) -> ModuleType | type | None:
    """Return what defines the names of a plugin, a module or a class, if it stays as it is."""
    definer = holder if isinstance(holder, ModuleType) else type(holder)
    return definer if f"{getattr(definer, '__module__', definer.__name__)}.".startswith(STABLE) else None


@functools.cache
def _has_fixtures(definer: ModuleType | type) -> bool:
    kind = getattr(importlib.import_module("_pytest.fixtures"), "FixtureFunctionDefinition", None)
    found = (getattr(definer, name, None) for name in dir(definer))
    # pytest before 8.4 has no such class, and its fixtures are plain functions: whatever there is, is looked through.
    return kind is None or any(isinstance(value, kind) for value in found)


def _fixtures(original: Callable[..., None]) -> Callable[..., None]:
    def parsefactories(self: Any, *args: Any, **given: Any) -> None:
        if "holder" in given:
            definer = _stable(given["holder"])
        else:
            # Before pytest 9.1 a plugin was the first of two; one argument is a module or a class of tests.
            definer = _stable(args[0]) if len(args) == 2 else None
        if definer is None or _has_fixtures(definer):
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


_parsed = functools.lru_cache(maxsize=64)(ast.parse)


def _statements(original: Callable[..., Any]) -> Callable[..., Any]:
    def getstatementrange_ast(lineno: int, source: Any, assertion: bool = False, astnode: ast.AST | None = None) -> Any:
        return original(lineno, source, assertion, _parsed(str(source)) if astnode is None else astnode)

    return getstatementrange_ast


@contextlib.contextmanager
def in_this_process() -> Iterator[None]:
    """Keep the answers of runs in this process, and of those that it forks, as long as this lasts."""
    fixtures, config, code, manager = map(
        importlib.import_module, ("_pytest.fixtures", "_pytest.config", "_pytest._code.code", "pluggy._manager")
    )
    changes = (
        (fixtures.FixtureManager, "parsefactories", _fixtures),
        (config.PytestPluginManager, "parse_hookimpl_opts", functools.partial(_of_modules, at=1)),
        (manager, "_static_hook_attr", functools.partial(_of_modules, at=0)),
        (code, "getstatementrange_ast", _statements),
    )
    with contextlib.ExitStack() as stack:
        for owner, name, change in changes:
            if hasattr(owner, name):  # Some of them are not in each version.
                stack.enter_context(mock.patch.object(owner, name, change(getattr(owner, name))))
        yield


def ask_ahead() -> None:
    """Have the answers about all modules that there are now, for the processes that are forked from this one."""
    manager = importlib.import_module("_pytest.config").PytestPluginManager()
    for module in [module for name, module in sys.modules.items() if f"{name}.".startswith(STABLE)]:
        _has_fixtures(module)
        for name in dir(module):
            manager.parse_hookimpl_opts(module, name)
