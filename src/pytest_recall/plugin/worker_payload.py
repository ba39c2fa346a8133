"""What a worker of pytest-xdist sends to its controller: one type, which one end writes and the other reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class CollectionPayload:
    """What a worker has found out by collecting. All workers find the same, and the first one counts."""

    marked_tests: dict[str, tuple[str, str]]
    """Scenario and dimension of marked tests, by the ids of their cases."""
    nodes: dict[str, str]
    """The ids of the cases of marked tests, by node id."""
    cases: list[str]
    """What the slice is chosen from, where that had to wait for collection; else none."""
    settled: list[str] | None
    """The cases that shards of an explicit choice have in common; None where there are none of those."""

    @property
    def is_empty(self) -> bool:
        """Whether the controller knows all of it already."""
        return not (self.marked_tests or self.cases or self.settled is not None)

    def to_text(self) -> str:
        """Return it as JSON."""
        return json.dumps(vars(self))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return what `to_text` gave."""
        return cls._of(json.loads(text))

    @classmethod
    def _of(cls, plain: dict[str, Any]) -> Self:
        marked = {case_id: (scenario, dimension) for case_id, (scenario, dimension) in plain["marked_tests"].items()}
        return cls(**{**plain, "marked_tests": marked})


@dataclass(frozen=True, kw_only=True)
class WorkerPayload:
    """What only a worker knows at its end."""

    collection: CollectionPayload
    problems: list[str]
    """What makes the session fail."""
    notes: list[str]
    """What does not."""
    halted: str
    """Why nothing more is run; empty if it is."""
    unrecorded: dict[str, Any]
    """What was asked and not recorded, as `Unrecorded.to_json` gives it."""
    calls: list[dict[str, Any]]
    """The calls that belong to no trial, as `Call.to_json` gives them."""
    alone: dict[str, int]
    """How many cases did not run at the same time as others, by the fixture that belongs to the whole process."""
    looped: dict[str, int]
    """The same by the fixture that is async."""
    batched: dict[str, int]
    """How many calls went through a batch API, and how many directly."""
    deselected: dict[str, bool]
    """The chosen cases that pytest was told to leave out, and whether `--deselect` names them."""
    passed_over: list[str]
    """The cases of marked tests that were left out before they were cases."""
    judged: list[bool]
    """Whether a case asks a model to judge, if this process had any."""

    def to_text(self) -> str:
        """Return it as JSON."""
        # Not by `asdict`, which makes another thing of a Counter.
        return json.dumps({**vars(self), "collection": vars(self.collection)})

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return what `to_text` gave."""
        plain = json.loads(text)
        return cls(**{**plain, "collection": CollectionPayload._of(plain["collection"])})
