"""What the runs of these tests have in common."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.floors_once import floors_once
from tests.helpers.parsers_once import parsers_once


@pytest.fixture(scope="package", autouse=True)
def _once() -> Iterator[None]:
    """Make parsers once, and work out once what a floor finds: runs of one persona agree in it."""
    with parsers_once(), floors_once():
        yield
