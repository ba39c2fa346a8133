"""Rubric: the knobs of a team's eval set, as people write them in `eval/rubric.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from pytest_recall.core.call import Kind, Way

Mode = Literal["pr", "nightly", "all"]
MODES: tuple[Mode, ...] = ("pr", "nightly", "all")

Name = Annotated[str, Field(min_length=1)]
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
    cassette_kinds: dict[Kind, Way] = Field(
        default={}, description="What each kind of call does: goes by the cassette, always live, or not at all."
    )
    volatile_fields: tuple[Name, ...] = Field(
        default=(), description="Fields of request bodies that may differ from the recorded ones, as dotted paths."
    )
    ignore_hosts: tuple[Name, ...] = Field(
        default=(), description="Hosts that are no upstream, such as a local database: never recorded nor refused."
    )
    secrets: tuple[Name, ...] = Field(
        default=(), description="Environment variables whose values must not be written into a cassette."
    )
    max_cassette_age: Count | None = Field(
        default=None, description="Days after which a cassette is too old to be replayed; without it, none is."
    )


DEFAULT_RUBRIC = Rubric(owner="nobody")
"""What holds where there is no `rubric.yaml`."""
