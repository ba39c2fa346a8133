"""Label: an answer with the verdict that a person gave it, as one line of a labels file has it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from pytest_recall.core.case import ID_PATTERN, Case, JudgeCall
from pytest_recall.core.criteria import JudgeKind
from pytest_recall.core.trial import Answer, Passage

_WORDS = {"pass": True, "fail": False}


def _verdict(given: Any) -> Any:
    if isinstance(given, str) and given in _WORDS:
        return _WORDS[given]
    if isinstance(given, bool):
        return given
    raise ValueError(f'{given!r} is no verdict; write "pass" or "fail"')


class Label(BaseModel):
    """An answer that somebody has judged. `passages` are what the agent had looked up, in rank order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=ID_PATTERN, max_length=200, description="Unique in the file.")]
    question: Annotated[str, Field(min_length=1, description="What the agent was asked.")]
    answer: Annotated[str, Field(description="What it answered.")]
    label: Annotated[bool, BeforeValidator(_verdict), Field(description='The person\'s verdict: "pass" or "fail".')]
    expected: JsonValue = Field(default=None, description="The reference, as a case has it.")
    passages: tuple[str, ...] = Field(default=(), description="What the agent had looked up, in rank order.")
    score: Annotated[float, Field(strict=True, ge=0, le=1)] | None = Field(
        default=None, description="The person's score, 0 to 1; the report has the mean distance of the judge's to it."
    )
    judge: JudgeKind | None = Field(default=None, description="Which judge it is for; without one, for each.")
    criteria: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="The criteria that the judge `rubric` scores; without them, all."
    )
    arguments: dict[str, JsonValue] = Field(default={}, description="Arguments of the judge, as a case gives them.")
    labelled_by: str | None = Field(default=None, description="Who gave the verdict.")
    note: str | None = Field(default=None, description="For the reader; nothing else looks at it.")

    @model_validator(mode="after")
    def _says_criteria_once(self) -> Label:
        if self.criteria is not None and "criteria" in self.arguments:
            raise ValueError("give `criteria` once, by itself or among the `arguments`")
        return self

    def given(self) -> Answer:
        """Return the answer as an agent would have given it."""
        return Answer(text=self.answer, passages=tuple(Passage(text=text) for text in self.passages))

    def case(self, kind: JudgeKind) -> Case:
        """Return the case that was asked, with a judge of this kind."""
        criteria: dict[str, JsonValue] = {} if self.criteria is None else {"criteria": list(self.criteria)}
        return Case(
            id=self.id,
            scenario="calibration",
            dimension="calibration",
            input=self.question,
            expected=self.expected,
            judges=(JudgeCall(name=kind, arguments={**criteria, **self.arguments}),),
        )
