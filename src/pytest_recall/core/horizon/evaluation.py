"""Evaluation: one question asked at one checkpoint, and the points for its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from pytest_recall.core.horizon.question import BenchQuestion

Failure = Literal["memory", "timeout", "answer", "judge"]
"""Why there are no points: the memory broke, it took too long, the model that answers from what it found could not
be asked, or no judge came to a verdict."""
FAILURES: tuple[Failure, ...] = get_args(Failure)
AnsweredBy = Literal["memory", "model", "passages"]
ANSWERED_BY: tuple[AnsweredBy, ...] = get_args(AnsweredBy)
MOST = 6
"""Points that an answer can get."""
RANGES: Mapping[str, int] = {"correctness": 3, "completeness": 2, "hallucination": 1}


class Points(NamedTuple):
    """Points for an answer: correctness 0 to 3, completeness 0 to 2, hallucination 1 if nothing is made up, else 0."""

    correctness: int
    completeness: int
    hallucination: int
    reasoning: str = ""

    @property
    def composite(self) -> int:
        """The sum, 0 to 6."""
        return self.correctness + self.completeness + self.hallucination

    @property
    def fails(self) -> bool:
        """Whether a stronger judge is asked: less than 4 points, wrong, or made up."""
        return self.composite < 4 or self.hallucination == 0 or self.correctness == 0

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types, by the published names."""
        plain = self._asdict()
        return plain if self.reasoning else {name: plain[name] for name in RANGES}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Points:
        """Return the points in a published line. Raises KeyError, TypeError or ValueError."""
        found = {name: plain[name] for name in RANGES}
        for name, most in RANGES.items():
            if isinstance(found[name], bool) or not isinstance(found[name], int):
                raise TypeError(f"{name}: {found[name]!r} is no whole number")
            if not 0 <= found[name] <= most:
                raise ValueError(f"{name}: {found[name]} is not from 0 to {most}")
        return cls(**found, reasoning=str(plain.get("reasoning") or ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What one question came to at one checkpoint.

    `points` are None where `failure` says why there are none, `error` in words. `primary` are those of the
    first judge where another was asked, which `appealed` says. `checkpoint` is the label, `day` the last day
    that was told; None in published lines, which do not say. `seconds` is the memory's own time. `retrieval`
    are what it found, `tool_calls` what it called, as it reported them. `context` says whether the judge saw
    excerpts of the memory; `usd` is what it cost, None if that is not known. `answered_by` says whose words the
    answer is: the memory's own, a model's from what it found, or what it found; empty in published lines.
    """

    timestamp: str
    persona: str
    question: BenchQuestion
    answer: str
    points: Points | None = None
    primary: Points | None = None
    appealed: bool = False
    failure: Failure | None = None
    error: str = ""
    checkpoint: str | None = None
    day: int | None = None
    seconds: float | None = None
    retrieval: tuple[Mapping[str, Any], ...] = ()
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    context: bool = False
    usd: float | None = None
    answered_by: AnsweredBy | Literal[""] = ""
