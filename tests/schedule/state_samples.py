"""Samples for the store: how mistakes are caught, and rows of a case file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from yaml.nodes import ScalarNode

from pytest_recall.cases.case_file import CaseFile
from pytest_recall.files import strict_yaml
from pytest_recall.files.errors import RecallError
from pytest_recall.schedule.state_file import State
from pytest_recall.trials.trial import Row
from tests.helpers.samples import days, row

PLACE = re.compile(r"cases\.yaml:([1-9][0-9]*): \S")
"""How the sentence about a mistake begins."""


def problems(call: Callable[[], object]) -> tuple[str, ...]:
    """Return what `call` has to say, which must refuse, each mistake in one line."""
    with pytest.raises(RecallError) as caught:
        call()
    assert caught.value.messages
    assert not any("\n" in message for message in caught.value.messages)
    return caught.value.messages


def problem(call: Callable[[], object]) -> str:
    """Return the one thing that `call` has to say, which must refuse."""
    (message,) = problems(call)
    return message


def fields(**given: Any) -> dict[str, Any]:
    """Return the plain values of a small valid case; `...` leaves a field out."""
    plain = {"id": "a", "scenario": "s", "dimension": "d", "input": "x", "judges": ["exact"], **given}
    return {name: value for name, value in plain.items() if value is not ...}


def usual(case_id: str, *more: str, **lines: str) -> str:
    """Return a valid row of a case file in the usual layout; `lines` replace its own, empty ones are left out."""
    own = {"scenario": "s", "dimension": "d", "input": "x", "judges": "[exact]", **lines}
    body = [f"  {name}: {value}" for name, value in own.items() if value]
    return "\n".join([f"- id: {case_id}", *body, *(f"  {line}" for line in more)]) + "\n"


_RESOLVER: Any = yaml.SafeLoader("")


def agreed(text: str) -> bool:
    """Whether YAML 1.1 takes all for something else than text that YAML 1.2 does."""
    old = _RESOLVER.resolve(ScalarNode, text, (True, False))
    return old != "tag:yaml.org,2002:str" or type(strict_yaml.scalar(text)) is str


def read(folder: Path, text: str | bytes, suffix: str = ".yaml") -> CaseFile:
    """Write a case file and read it under the name `cases` and the suffix."""
    path = folder / f"cases{suffix}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return CaseFile(path, path.name)


STATE_NAME = "eval/recall.yaml"


def written(rows: Mapping[str, Row]) -> str:
    """Return the state file of `rows`."""
    return State({}, "").updated(rows)


def many(count: int) -> dict[str, Row]:
    """Return rows that are in several boxes."""
    first = date(2026, 1, 1)
    return {f"case-{n:04}": row(n % 5 + 1, n % 7, due=first + days(n % 40), last_pr=str(n)) for n in range(count)}
