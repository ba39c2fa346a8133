"""The agent of the measured suites: it repeats its input."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def agent() -> Callable[[str], str]:
    return str
