"""Rubric: the knobs of a team's eval set, as people write them in `eval/rubric.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Mode = Literal["pr", "nightly", "all"]
MODES: tuple[Mode, ...] = ("pr", "nightly", "all")

Score = Annotated[float, Field(strict=True, ge=0, le=1)]
Count = Annotated[int, Field(strict=True, ge=0)]


class Rubric(BaseModel):
    """What a run may spend and what it holds answers to."""

    # `model_primary` is the published name, and no method of pydantic.
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    owner: str = Field(min_length=1, description="Who answers for this rubric: a person or a team.")
    model_primary: str | None = Field(
        default=None, description="The model that the agent under test runs on; a change of it is reported."
    )
    mode: Mode = Field(default="pr", description="The mode of a run that does not name one.")
    max_due_cases: Count = Field(default=25, description="Due cases in a pull-request run, beside all of box 1.")
    new_traffic_sample: Count = Field(default=5, description="Never-seen cases in a run, picked by seed.")
    nightly_max_cases: Count | None = Field(
        default=None, description="Overdue cases in a nightly run; without it, every one."
    )
    thresholds: dict[str, Score] = Field(
        default={}, description="The lowest passing score by judge, where a case does not say."
    )


DEFAULT_RUBRIC = Rubric(owner="nobody")
"""What holds where there is no `rubric.yaml`."""
