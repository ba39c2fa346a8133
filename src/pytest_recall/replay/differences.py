"""A difference between a request and the recorded one that is nearest to it, as a fact and in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from pytest_recall.files.coerce import typed


class DifferenceKind(StrEnum):
    """How a request, or a value in it, is not as recorded."""

    CHANGED = "changed"
    """The value is another one."""
    ADDED = "added"
    """The recorded request has no such value."""
    REMOVED = "removed"
    """The request has no such value."""
    REORDERED = "reordered"
    """A list has the same items in another order."""
    NOT_RECORDED = "not-recorded"
    """Nothing like the request is recorded."""
    REPEATED = "repeated"
    """The request is made more often than it was recorded."""
    NOT_SENT = "not-sent"
    """A recorded request is not made."""


class RequestDifference(NamedTuple):
    """One difference of a request."""

    kind: DifferenceKind
    path: str = ""
    """Where in the request, as in `messages[0].content` or `header x-tenant`; of a whole request its method and URL."""
    recorded: str | None = None
    """A piece of the recorded value around the difference; None where there is none, or none that may be shown."""
    sent: str | None = None
    """The same of the request."""

    def clean(self, text: Callable[[str], str]) -> RequestDifference:
        """Return it with its texts put through `text`."""
        recorded, sent = (None if one is None else text(one) for one in (self.recorded, self.sent))
        return RequestDifference(self.kind, text(self.path), recorded, sent)

    def below(self, path: str) -> RequestDifference:
        """Return the same of a text that stands at `path`."""
        return self._replace(path=f"{path}, {self.path}")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; what there is not is left out."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> RequestDifference:
        """Return the difference that `to_json` gave. Raises KeyError, TypeError or ValueError for anything else."""
        return cls(**typed(cls, plain), kind=DifferenceKind(plain["kind"]))


def difference_line(one: RequestDifference) -> str:
    """Return a difference in words, on one line."""
    match one.kind:
        case DifferenceKind.NOT_RECORDED:
            return f"{one.path} is not recorded"
        case DifferenceKind.REPEATED:
            return f"{one.path} is asked more often than recorded"
        case DifferenceKind.NOT_SENT:
            return "recorded, and not asked for"
        case DifferenceKind.REORDERED:
            what = "the same items in another order; sort them, if they come from a set"
        case DifferenceKind.ADDED:
            what = f"not recorded → {'asked' if one.sent is None else _quoted(one.sent)}"
        case DifferenceKind.REMOVED:
            what = f"{'recorded' if one.recorded is None else _quoted(one.recorded)} → not asked"
        case DifferenceKind.CHANGED if one.recorded is None:
            what = "another value than recorded"
        case DifferenceKind.CHANGED:
            what = f"{_quoted(one.recorded)} → {'another value' if one.sent is None else _quoted(one.sent)}"
    return f"{one.path}: {what}"


def _quoted(text: str | None) -> str:
    return f"“{text}”"
