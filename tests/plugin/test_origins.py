"""Who fails a marked test: it is a verdict if the test does, and none if pytest or a plugin does."""

from __future__ import annotations

import pytest

from tests.helpers.project import BARE, Checkout
from tests.plugin.conftest import NEEDS_SUBTESTS

HEAD = """\
import signal
import unittest
from functools import wraps

import pytest


def marked(function):
    return pytest.mark.recall(function.__name__.removeprefix("test_"))(function)

"""
ASYNC = """
def undone(function):
    @wraps(function)
    def begun():
        return function()

    return begun


@marked
async def test_coroutine():
    assert False


@marked
async def test_generator():
    yield
    assert False


@marked
@undone
async def test_undone():
    assert False


@marked
def test_plain():
    pytest.fail("no")
"""
OF_PLUGINS = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    result = yield
    if item.name == "test_left_open":
        pytest.fail("left open")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    result = yield
    if pyfuncitem.name == "test_leaking":
        pytest.fail("leaked")
    return result
"""
FAILED_BY_THEM = """
@marked
def test_left_open():
    pass


@marked
def test_leaking():
    pass


@marked
def test_own():
    pytest.fail("no")
"""
# As pytest-timeout: the hook sets an alarm, which fails whatever is being run.
TIMER = """
from types import SimpleNamespace


class Specifications:
    @staticmethod
    @pytest.hookspec(firstresult=True)
    def pytest_timeout_set_timer(item, settings):
        pass


def pytest_addhooks(pluginmanager):
    pluginmanager.add_hookspecs(Specifications)


@pytest.hookimpl(trylast=True)
def pytest_timeout_set_timer(item, settings):
    def alarm(number, frame):
        pytest.fail("no")

    signal.signal(signal.SIGALRM, alarm)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    item.config.hook.pytest_timeout_set_timer(item=item, settings=SimpleNamespace(method="signal"))
    try:
        return (yield)
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
"""
TIMED = """
def late():
    signal.raise_signal(signal.SIGALRM)


@marked
def test_late():
    late()


@marked
def test_in_a_group():
    try:
        late()
    except BaseException as error:
        raise BaseExceptionGroup("all", [error, AssertionError("wrong")])


@marked
def test_in_a_subtest(subtests):
    with subtests.test():
        late()


class TestUnit(unittest.TestCase):
    @marked
    def test_of_unittest(self):
        late()


@marked
def test_own():
    pytest.fail("no")
"""
FAILED_BY_ITSELF = """
@marked
def test_subtest(subtests):
    with subtests.test():
        pytest.fail("no")


class TestUnit(unittest.TestCase):
    @marked
    def test_unit(self):
        pytest.fail("no")


class TestAsync(unittest.IsolatedAsyncioTestCase):
    @marked
    async def test_isolated(self):
        pytest.fail("no")


class TestPlain:
    @marked
    def test_method(self):
        pytest.fail("no")

    @marked
    @pytest.mark.asyncio
    async def test_awaited(self):
        pytest.fail("no")
"""


def ran(pytester: pytest.Pytester, tests: str, conftest: str = "", *options: str) -> Checkout:
    """Return the checkout after a run over new marked tests, in a process of its own."""
    checkout = BARE.with_files({"test_marked.py": HEAD + tests, "conftest.py": HEAD + conftest}).at(pytester)
    result = checkout.run_apart("--recall-mode=all", *options)
    errors = [name for name, outcome in checkout.outcomes().items() if outcome == "error"]
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if errors else pytest.ExitCode.OK)
    # Only a verdict makes a row of a case.
    assert sorted(checkout.boxes()) == sorted(checkout.outcomes().keys() - errors)
    return checkout


def test_an_async_test_that_no_plugin_runs_comes_to_no_verdict(pytester: pytest.Pytester) -> None:
    checkout = ran(pytester, ASYNC)
    assert checkout.outcomes() == {
        **dict.fromkeys(("coroutine", "generator", "undone"), "error"),
        "plain": "failed",
    }


def test_what_a_hook_of_a_plugin_fails_comes_to_no_verdict(pytester: pytest.Pytester) -> None:
    checkout = ran(pytester, FAILED_BY_THEM, OF_PLUGINS)
    assert checkout.outcomes() == {"left_open": "error", "leaking": "error", "own": "failed"}


@NEEDS_SUBTESTS
def test_what_an_alarm_of_pytest_timeout_fails_comes_to_no_verdict(pytester: pytest.Pytester) -> None:
    checkout = ran(pytester, TIMED, TIMER)
    assert checkout.outcomes() == {
        **dict.fromkeys(("late", "in_a_group", "in_a_subtest", "of_unittest"), "error"),
        "own": "failed",
    }


@NEEDS_SUBTESTS
def test_what_a_test_fails_itself_is_a_verdict_however_it_is_called(pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_asyncio")
    loop = ("-o", "asyncio_default_fixture_loop_scope=function")
    checkout = ran(pytester, FAILED_BY_ITSELF, "", "-p", "pytest_asyncio.plugin", *loop)
    assert checkout.outcomes() == dict.fromkeys(("subtest", "unit", "isolated", "method", "awaited"), "failed")
