"""Define a gate: a pass rate that a part of the cases has to keep."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

if TYPE_CHECKING:
    pass

Blocks = Literal["never", "regression", "failure", "incomplete"]
"""What blocks a merge: nothing; a failure of a case that passed before; any failure; also a case that was not run."""
Status = Literal["held", "missed", "too few verdicts"]


def _day(text: str) -> str:
    date.fromisoformat(text)
    return text


def _text(value: Any) -> Any:
    return str(value) if type(value) is int else value


Day = Annotated[str, AfterValidator(_day), Field(json_schema_extra={"format": "date"})]
Number = Annotated[str, BeforeValidator(_text), Field(min_length=1), WithJsonSchema({"type": ["string", "integer"]})]


class Gate(BaseModel):
    """A rate that must not be fallen below, and who put it there."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    scenario: str | None = Field(default=None, min_length=1, description="Whose cases it is about; all without it.")
    dimension: str | None = Field(default=None, min_length=1, description="Narrows it to what is measured.")
    metric: Literal["pass_rate"] = Field(default="pass_rate", description="What is held: the share that passed last.")
    at_least: Annotated[float, Field(strict=True, ge=0, le=1)] = Field(description="The lowest rate, 0 to 1.")
    verdicts: Annotated[int, Field(strict=True, ge=1)] = Field(
        default=5, description="How many cases need a verdict; with fewer the gate neither holds nor is missed."
    )
    since: Day | None = Field(default=None, description="The day since which it has this value.")
    pr: Number | None = Field(default=None, description="The pull request that gave it this value.")
    owner: str | None = Field(default=None, min_length=1, description="Who answers for it.")
    informs: bool = Field(default=False, description="Whether it only informs, and blocks nothing.")

    @property
    def name(self) -> str:
        """What it is about, in words."""
        return " and ".join(part for part in (self.scenario, self.dimension) if part) or "all cases"

    @property
    def about(self) -> tuple[str | None, str | None, str]:
        """What it is about: there is one gate for each of these."""
        return self.scenario, self.dimension, self.metric

    def covers(self, scenario: str, dimension: str) -> bool:
        """Whether a case of this scenario and dimension counts for it."""
        return self.scenario in (None, scenario) and self.dimension in (None, dimension)
