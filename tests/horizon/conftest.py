"""What the runs of these tests have in common."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.parsers_once import parsers_once


@pytest.fixture(scope="package", autouse=True)
def _once() -> Iterator[None]:
    """Make the parser of a command once."""
    with parsers_once():
        yield
