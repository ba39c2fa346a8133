"""Shard: one of several jobs that run one slice together, and which of its cases are whose."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pytest_recall.core.errors import RecallError

MOST = 1000
_WRITTEN = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})")
_NAMED = (
    ("CI_NODE_INDEX", "CI_NODE_TOTAL", 1),
    ("CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0),
    ("BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0),
)
"""How CI systems say which job of how many this is, and from where they count."""


class Shard(NamedTuple):
    """The job `number`, counted from 1, of so many."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def name(self) -> str:
        """The words for it."""
        return f"shard {self.number} of {self.of}"

    def part(self, ids: Iterable[str]) -> set[str]:
        """Return this shard's part of `ids`.

        All parts together are all of `ids`, no id is in two, and none is larger than another by more
        than one. Dealt out by each id's own hash, so that neighbours in a file go different ways.
        """
        return set(sorted(set(ids), key=_place)[self.number - 1 :: self.of])


def parse(text: str) -> Shard:
    """Return the shard that a person wrote as `2/4`. Raises RecallError."""
    found = _WRITTEN.fullmatch(text.strip())
    shard = Shard(int(found[1]), int(found[2])) if found else Shard(0, 0)
    if not 1 <= shard.number <= shard.of <= MOST:
        raise RecallError(
            f"shard: {text!r} is no shard; write which of how many, as 2/4, or auto where CI says it (at most {MOST})"
        )
    return shard


def of_environment(env: Mapping[str, str]) -> Shard:
    """Return the shard that CI names: GitLab, CircleCI or Buildkite. Raises RecallError if none does.

    A job that is not parallel is the only one.
    """
    for index, total, first in _NAMED:
        if total not in env:
            continue
        number, count = env.get(index, str(first)), env[total]
        if not (number.isdigit() and count.isdigit()):
            raise RecallError(f"shard: {index} {number!r} and {total} {count!r} are no numbers; give K/N")
        return parse(f"{int(number) + 1 - first}/{count}")
    told = ", ".join(total for _, total, _ in _NAMED)
    raise RecallError(f"shard: auto goes by {told}, and none is set here; give --recall-shard K/N")


def fingerprint(picks: Iterable[tuple[str, str]]) -> str:
    """Return twelve hex digits over the cases of a slice and their reasons, in whatever order they come."""
    return hashlib.sha256(json.dumps(sorted(map(list, picks))).encode()).hexdigest()[:12]


def _place(case_id: str) -> tuple[bytes, str]:
    return hashlib.sha256(f"shard:{case_id}".encode("utf-8", "surrogatepass")).digest(), case_id
