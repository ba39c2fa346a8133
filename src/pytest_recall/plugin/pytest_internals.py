"""Reach what pytest has and does not promise: every private name of pytest that the plugin uses is in this module.

Each function says what it reaches for, and what is done where a release of pytest has it no longer. The job `next`
of `.github/workflows/ci.yml` runs the tests that depend on it against the newest pre-release of pytest.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest

Definitions = Mapping[str, Sequence[Any]]
"""The definitions of each fixture by its name, the one that counts last."""
REPLACED = ("tmpfile", "_old")
"""What a capture of pytest puts in the place of a stream while a phase runs, and what it puts back after it."""
_WITH_TRACEBACK = pytest.version_tuple >= (8, 3)
"""Whether pytest keeps what a setup raised in a pair with its traceback, and not alone."""


def setting(config: pytest.Config, name: str) -> Any:
    """Return an ini setting. Raises pytest.UsageError for one of another type, as pytest itself does from 9.2 on."""
    try:
        return config.getini(name)
    except (TypeError, ValueError, pytest.UsageError) as error:
        # pytest names the setting where a TOML file has another type, and not where a text is no truth value.
        said = str(error)
        raise pytest.UsageError(said if name in said else f"{name}: {said}; correct it in {config.inipath}") from None


def number_setting(config: pytest.Config, name: str) -> str:
    """Return the text of an ini setting that is a number, whether a TOML file has it as a text or as a number.

    pytest takes a setting as text or as a number, and as both from 9.2 on only. Of any other type the text is returned,
    too, which is not a number. Raises pytest.UsageError where a release keeps what it has read in another way.
    """
    try:
        return str(setting(config, name) or "")
    except pytest.UsageError:
        read = getattr(config, "_inicfg", None) or getattr(config, "inicfg", {})
        if not hasattr(read.get(name), "value"):
            raise
        return str(read[name].value)


def parser_of(config: pytest.Config) -> pytest.Parser:
    """Return the parser of the options, which hooks are given while they can still be added."""
    return config._parser


def is_known(session: pytest.Session) -> bool:
    """Whether this pytest has what setting up an item before its turn takes; without it nothing is set up early."""
    state, manager = getattr(session, "_setupstate", None), getattr(session, "_fixturemanager", None)
    has = (
        isinstance(getattr(state, "stack", None), dict)
        and all(callable(getattr(state, name, None)) for name in ("setup", "teardown_exact"))
        and callable(getattr(manager, "getfixturedefs", None))
        and callable(getattr(pytest.Function, "_initrequest", None))
    )
    known = (definitions(session, "agent") or ()) if has else ()
    return has and all(
        isinstance(getattr(one, "_finalizers", None), list) and hasattr(one, "cached_result") for one in known
    )


def definitions(node: pytest.Item | pytest.Collector, name: str) -> Sequence[Any] | None:
    """Return what pytest knows of the fixture `name` where `node` lies. Before 8.1 it is asked by the id of that."""
    known: Any = node.session._fixturemanager.getfixturedefs
    return known(name, node.nodeid if "nodeid" in inspect.signature(known).parameters else node)  # type: ignore[no-any-return]


def defined_names(config: pytest.Config) -> set[str]:
    """Return the names in all plugins and conftest files, those of fixtures among them: pytest has no list of these."""
    return {name for plugin in config.pluginmanager.get_plugins() for name in getattr(plugin, "__dict__", ())}


def fresh_copy(definition: Any) -> Any:
    """Return the definition of a fixture without a value, which shares nothing with the one that it is a copy of."""
    own = copy.copy(definition)
    own._finalizers, own.cached_result = [], None
    return own


def closure_of(item: pytest.Function) -> Any:
    """Return what pytest has found out about the fixtures of an item; items with the same fixtures may share it."""
    return item._fixtureinfo


def fixtures_of(item: pytest.Function) -> Definitions:
    """Return the definitions of the fixtures that an item needs."""
    found: Definitions = item._fixtureinfo.name2fixturedefs
    return found


def set_closure(item: pytest.Function, closure: Any, own: Definitions | None = None) -> None:
    """Give an item what `closure_of` gave, with definitions of its `own` if there are some, and a new request."""
    item._fixtureinfo = closure if own is None else dataclasses.replace(closure, name2fixturedefs=own)
    item._initrequest()


def renew_request(item: pytest.Function) -> None:
    """Let an item be set up again, with fixtures of its own. pytest-rerunfailures does the same."""
    item._initrequest()


def value_of(item: pytest.Function, name: str) -> Any:
    """Return the value of a fixture of an item, which is set up for that if it is not yet."""
    __tracebackhide__ = True
    return item._request.getfixturevalue(name)


def active_fixtures(item: pytest.Function) -> dict[str, Any]:
    """Return the definitions of the fixtures that are set up for an item, those that others asked for by name as well.

    Without the latter where a release of pytest does not keep them with the request.
    """
    found = {name: known[-1] for name, known in fixtures_of(item).items() if known}
    return {**found, **getattr(item._request, "_fixture_defs", {})}


def is_async(definition: Any) -> bool:
    """Whether a fixture is a coroutine function or an async generator, which a plugin has to run."""
    function = definition.func
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def set_function(definition: Any, function: Callable[..., Any]) -> None:
    """Let a fixture be another function while it is set up, as plugins for async fixtures do."""
    definition.func = function


def anyio_runner(config: pytest.Config, backend: Any) -> AbstractContextManager[Any] | None:
    """Return the test runner of anyio on which its fixtures of a backend are; None where a release has none.

    `anyio.abc.TestRunner` is documented, and what hands it out is not.
    """
    # By its entry point, or by `-p`.
    plugin = config.pluginmanager.get_plugin("anyio") or config.pluginmanager.get_plugin("anyio.pytest_plugin")
    names = ("extract_backend_and_options", "get_runner")
    options, runner = (getattr(plugin, name, None) for name in names)
    if not callable(options) or not callable(runner):
        return None
    found: AbstractContextManager[Any] = runner(*options(backend))
    return found


def setup_state(session: pytest.Session) -> Any:
    """Return the stack of what is set up: a dictionary of each node to its finalizers and what its setup raised."""
    return session._setupstate


def error_of(raised: Any) -> BaseException | None:
    """Return the exception of what the stack holds as raised by a setup; None if it raised nothing."""
    error: BaseException | None = raised[0] if raised is not None and _WITH_TRACEBACK else raised
    return error


def captures(manager: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name of each stream that pytest captures, and what holds it, which has the attributes `REPLACED`.

    None with `-s`, where everything is printed as it comes, and where a release captures in another way.
    """
    capturing = getattr(manager, "_global_capturing", None)
    for name, capture in (("stdout", getattr(capturing, "out", None)), ("stderr", getattr(capturing, "err", None))):
        holder = getattr(capture, "syscapture", capture)
        if all(hasattr(holder, attribute) for attribute in REPLACED):
            yield name, holder


def steady_environment(config: pytest.Config) -> list[Callable[[], None]]:
    """Let the name of the current test stay in the environment between two phases; return what undoes that.

    pytest takes it out after each, and what reads all variables in another thread just then, as HTTP clients do to
    find proxies, would meet one that is gone.
    """
    runner = config.pluginmanager.getplugin("runner")
    original = getattr(runner, "_update_current_test_var", None)
    if original is None:
        return []

    def update(item: pytest.Item, when: str | None) -> None:
        if when:
            original(item, when)

    def undo() -> None:
        setattr(runner, original.__name__, original)
        os.environ.pop("PYTEST_CURRENT_TEST", None)

    setattr(runner, original.__name__, update)
    return [undo]


def was_debugged(report: pytest.TestReport) -> bool:
    """Whether `--pdb` has shown the failure of a report already."""
    return hasattr(report, "_pdbshown")


def is_terminal_reporter(reporter: object, config: pytest.Config) -> bool:
    """Whether a reporter is pytest's, or made of it. Its plugin has the class; pytest itself has it from 8.4 on."""
    return isinstance(reporter, getattr(config.pluginmanager.get_plugin("terminal"), "TerminalReporter", ()))


def terminal_writer(reporter: pytest.TerminalReporter) -> Any:
    """Return what writes to the terminal, with its width and colours."""
    return reporter._tw


OutcomeError: type[BaseException] = pytest.fail.Exception.__base__  # type: ignore[assignment]
"""What pytest catches beside `Exception`: a shared fixture that ended with one has ended with it for all its tests."""


def fail_fixture(definition: pytest.FixtureDef[Any], error: BaseException) -> None:
    """Have a fixture that is set up raise `error` for every test that asks for it, as one does that fails."""
    if definition.cached_result is not None:
        raised: Any = (error, error.__traceback__) if _WITH_TRACEBACK else error
        definition.cached_result = (None, definition.cached_result[1], raised)


def run_phase(item: Any, when: Any, **more: Any) -> tuple[pytest.CallInfo[None], Any]:
    """Run one phase of the item as pytest does; return the call and its report."""
    hooks: dict[str, Callable[..., Any]] = {
        "setup": item.ihook.pytest_runtest_setup,
        "call": item.ihook.pytest_runtest_call,
        "teardown": item.ihook.pytest_runtest_teardown,
    }
    ends: tuple[type[BaseException], ...] = (pytest.exit.Exception,)
    if not item.config.option.usepdb:
        ends = (*ends, KeyboardInterrupt)
    call = pytest.CallInfo.from_call(lambda: hooks[when](item=item, **more), when=when, reraise=ends)
    return call, item.ihook.pytest_runtest_makereport(item=item, call=call)
