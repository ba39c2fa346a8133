"""Define a profile: one run of the long-horizon benchmark, as people write it in YAML."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.persona import DateMap, Text
from pytest_recall.horizon.question import DEFAULT, Range, Sampler, parse_ranges

Feed = Literal["days", "conversations", "tool-calls"]
"""What a memory is told: the days, or what the second and the third pass have made of them."""
SEED = 42
TIMEOUT_MS = 30_000


def _ranges(written: Any) -> Any:
    try:
        return parse_ranges(written)
    except RecallError as error:
        raise ValueError(str(error).removeprefix("ranges: ")) from None


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)


class PersonaPart(_Part):
    """Which persona, and which of its stories. Paths are those from the profile's file."""

    id: Text
    dir: Text | None = Field(default=None, description="The persona's folder; by default, the profile's own.")
    arcs: Text = Field(default="arcs-1000d.yaml", description="The story; its suffix names the other folders.")
    memories_dir: Text | None = Field(default=None, alias="memoriesDir")
    qa_dir: Text | None = Field(default=None, alias="qaDir")
    tools_dir: Text | None = Field(default=None, alias="toolsDir")
    conversations_dir: Text | None = Field(default=None, alias="conversationsDir")
    dates: DateMap | None = Field(
        default=None, description="How days become dates; where it is not given, the texts of the days say it."
    )


class EnvPart(_Part):
    """A file with variables, which those that are set already come before."""

    file: Text


class ModelsPart(_Part):
    """Models by their selectors, each for one kind of work, and the milliseconds for an attempt at a call."""

    generation: Text | None = None
    judge: Text | None = None
    appellate_judge: Text | None = Field(default=None, alias="appellateJudge")
    creation: Text | None = None
    conversation: Text | None = None
    answer: Text | None = Field(default=None, description="Answers from what the memory found; without it, it must.")
    timeout: Annotated[int, Field(strict=True, ge=1, le=86_400_000)] | None = None


class HarnessPart(_Part):
    """The memory system, by its selector, and what it is to be given."""

    adapter: Text
    factory: Text | None = None
    config: dict[str, Any] = {}


class RunPart(_Part):
    """How the questions are asked. Times are in milliseconds."""

    ranges: Annotated[tuple[Range, ...], BeforeValidator(_ranges)] = DEFAULT
    seed: Annotated[int, Field(strict=True)] = SEED
    timeout: Annotated[int, Field(strict=True, ge=1)] = TIMEOUT_MS
    parallelism: Annotated[int, Field(strict=True, ge=1, le=64)] = 1
    sample: Annotated[int, Field(strict=True, ge=0)] | None = None
    sampler: Sampler = "stratified"
    judge_memory_window: Annotated[int, Field(strict=True, ge=0, le=30)] = Field(default=0, alias="judgeMemoryWindow")
    groups_enabled: Annotated[bool, Field(strict=True)] = Field(default=False, alias="groupsEnabled")
    feed: Feed = "days"
    unit: Literal["day", "session", "topic"] = "session"
    k: Annotated[int, Field(strict=True, ge=1, le=1000)] = 10


class GeneratePart(_Part):
    """How days are written."""

    days: Annotated[int, Field(strict=True, ge=1)] | None = None
    start: Annotated[int, Field(strict=True, ge=1)] | None = None
    end: Annotated[int, Field(strict=True, ge=1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, validation_alias=AliasChoices("maxTokens", "max_tokens")
    )
    history_window: Annotated[int, Field(strict=True, ge=0)] | None = Field(
        default=None, validation_alias=AliasChoices("historyWindow", "history_window")
    )


class Profile(_Part):
    """A run: a persona, models, a memory system, and how it is asked. Unknown keys are refused."""

    persona: PersonaPart
    env: EnvPart | None = None
    models: ModelsPart = ModelsPart()
    harness: HarnessPart | None = None
    run: RunPart = RunPart()
    generate: GeneratePart = GeneratePart()
