"""What the runs of these tests have in common."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.certificates_once import certificates_once
from tests.helpers.figures_once import figures_once
from tests.helpers.parsers_once import parsers_once


@pytest.fixture(scope="package", autouse=True)
def _once() -> Iterator[None]:
    """Read certificates and make parsers once, and work out figures once that many runs have in common."""
    with certificates_once(), parsers_once(), figures_once():
        yield
