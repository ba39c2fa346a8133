"""A code host for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.github import GitHub


@pytest.fixture
def host() -> Iterator[GitHub]:
    """A GitHub with one empty repository."""
    served = GitHub()
    yield served
    served.close()
