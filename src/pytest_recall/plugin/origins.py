"""Note which fails of a marked test are raised by pytest or by a plugin, and not by the test itself.

pytest fails an async test that no plugin runs, pytest-timeout one that takes too long, both by `pytest.fail`, as a
test may do itself. What a test raises leaves its function, or is caught within it; what a timer raises is known by the
timer.
"""

from __future__ import annotations

import functools
import unittest
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from inspect import iscoroutinefunction
from typing import Any

import pytest

from pytest_recall.files.errors import single_errors
from pytest_recall.plugin.case_item import CaseItem
from pytest_recall.plugin.stash import state_of


def noted(item: pytest.Item) -> AbstractContextManager[None]:
    """Note the fails that are not of the test, while it is called in this block."""
    state_of(item).imposed = imposed = list[BaseException]()
    if not isinstance(item, pytest.Function) or not _calls_its_function(item):
        return nullcontext()
    return _imposed(item, imposed)


@contextmanager
def _imposed(item: pytest.Function, imposed: list[BaseException]) -> Iterator[None]:
    own: list[BaseException] = []
    try:
        with _noting(item, own):
            yield
    except BaseException as error:
        fails = (one for one in single_errors(error) if isinstance(one, pytest.fail.Exception))
        imposed += [fail for fail in fails if not any(fail is one for one in own)]
        raise
    finally:
        own.clear()  # Their frames would be kept by them.


def _calls_its_function(item: pytest.Function) -> bool:
    """Whether pytest calls the `obj` of the item: unittest takes the method of its class, and a case asks an agent."""
    is_of_unittest = item.cls is not None and issubclass(item.cls, unittest.TestCase)
    return not is_of_unittest and not isinstance(item, CaseItem)


@contextmanager
def _noting(item: pytest.Function, own: list[BaseException]) -> Iterator[None]:
    """Have the function of a test note what it raises."""
    function = item.obj

    @functools.wraps(function)
    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return await function(*args, **kwargs)
        except BaseException as error:
            own.extend(single_errors(error))
            raise

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            own.extend(single_errors(error))
            raise

    item.obj = coroutine if iscoroutinefunction(function) else plain
    try:
        yield
    finally:
        item.obj = function
