"""Ids and fingerprints of marked tests, where what they are made of cannot be read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pytest_recall.plugin import marks


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError


def test_a_value_that_cannot_be_written_is_told_by_its_place() -> None:
    callspec = SimpleNamespace(id="5-broken0", params={"number": 5, "broken": Broken()})
    assert marks._parameters(callspec) == ("[5-broken0]", ("broken",))


def test_a_test_whose_source_cannot_be_read_has_no_fingerprint() -> None:
    made: dict[str, Any] = {}
    exec("def test_made(): pass", made)
    for item in (SimpleNamespace(function=made["test_made"]), SimpleNamespace()):
        assert marks.fingerprint(item) == ""  # type: ignore[arg-type]
