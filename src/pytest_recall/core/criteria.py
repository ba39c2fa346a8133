"""Criteria: what a judging model is asked to score, as people write it in `eval/rubric.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

Appeals = Literal["on-failure", "on-disagreement", "never"]
"""When the appellate judge is asked: about each fail, where votes differ, or about audited passes only."""
Strictness = Literal["stop", "warn", "off"]
JudgeKind = Literal["rubric", "memory", "pairwise", "paper"]
Bound = Literal["estimate", "lower"]
"""Which figure of a calibration is compared: kappa itself, or the lower bound of its interval."""

_Text = Annotated[str, Field(min_length=1)]
_Level = Annotated[int, Field(ge=0, le=100)]

USUAL_SCALE = (1, 5)


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Criterion(_Written):
    """One question about an answer, with the scale on which it is scored in whole numbers."""

    question: _Text
    scale: tuple[_Level, _Level] | None = None
    anchors: dict[_Level, _Text] | None = Field(default=None, min_length=2)
    weight: Annotated[float, Field(strict=True, gt=0, le=1000)] = 1.0
    threshold: _Level | None = None
    owner: _Text | None = None

    @model_validator(mode="after")
    def _has_one_scale(self) -> Criterion:
        if self.scale is not None and self.anchors is not None:
            raise ValueError("give either `scale` or `anchors`, whose lowest and highest are the scale")
        low, high = self.range
        if low >= high:
            raise ValueError(f"scale: goes from {low} to {high}; write the lowest score first, and a higher one last")
        if self.threshold is not None and not low < self.threshold <= high:
            raise ValueError(
                f"threshold: {self.threshold} decides nothing on a scale from {low} to {high};"
                f" give one from {low + 1} to {high}"
            )
        return self

    @property
    def range(self) -> tuple[int, int]:
        """The lowest and the highest score."""
        if self.anchors is not None:
            return min(self.anchors), max(self.anchors)
        return self.scale or USUAL_SCALE


class KnownVerdict(_Written):
    """An answer whose verdict is known, to see before a run whether a judge finds it."""

    judge: JudgeKind
    input: _Text
    expected: JsonValue = None
    answer: _Text
    arguments: dict[str, JsonValue] = {}
    passes: Annotated[bool, Field(strict=True)]
