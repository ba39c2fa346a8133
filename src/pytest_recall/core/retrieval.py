"""Retrieval: what a memory system returned for one question, and what it should have; a line for `recall metrics`."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from pytest_recall.metrics.locomo import CATEGORIES
from pytest_recall.metrics.tokencount import estimated_tokens

MAX_ANSWER = 100_000
MAX_K = 1_000_000
_NUMBERS = {name: number for number, name in CATEGORIES.items()} | {str(number): number for number in CATEGORIES}


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _golds(value: Any) -> Any:
    golds = value if isinstance(value, list) else [value]
    for gold in golds:
        if isinstance(gold, bool) or not isinstance(gold, str | int | float):
            raise ValueError(f"{json.dumps(gold)[:60]} is no answer; give text, a number, or a list of them")
        if gold == "":
            raise ValueError("is empty, and nothing can contain it; write some text, or leave it out")
        if len(str(gold)) > MAX_ANSWER:
            raise ValueError(f"has more than {MAX_ANSWER:,} characters, which is no answer; give a short one")
    return [str(gold) for gold in golds]


Name = Annotated[StrictStr, Field(min_length=1, max_length=1000), BeforeValidator(_as_text)]
Text = Annotated[StrictStr, Field(max_length=MAX_ANSWER)]
Count = Annotated[StrictInt, Field(ge=0, le=10**15)]


class Retrieval(BaseModel):
    """What came back for one question. A field that is absent is not measured; null is a failure to give it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[Name, Field(description="Unique in the input; text, or a whole number, which is text then.")]
    question: StrictStr | None = Field(default=None, description="For the reader; nothing looks at it.")
    category: Name | None = Field(
        default=None,
        description="The summary has the means of each category. `locomo_f1` takes 1 to 5, or LoCoMo's names.",
    )
    k: Annotated[StrictInt, Field(ge=1, le=MAX_K)] | None = Field(
        default=None, description="How many ranks count; the same in all lines. Without it, `--k`."
    )
    ground_truth: Annotated[tuple[str, ...], Field(min_length=1, max_length=100), BeforeValidator(_golds)] | None = (
        Field(
            default=None,
            description="The right answer: text, a number, or a list of such, of which the best fit counts.",
        )
    )
    retrieved: tuple[StrictStr, ...] | None = Field(
        default=None, description="The texts that came back, the first rank first; an empty list is an answer too."
    )
    retrieved_ids: tuple[Name, ...] | None = Field(default=None, description="The ids of what came back, by rank.")
    evidence: tuple[Name, ...] | None = Field(
        default=None, description="The ids that hold the evidence; with none of them, rankings are not measured."
    )
    answer: Text | None = Field(default=None, description="What the system answered from what came back.")
    abstained: StrictBool | None = Field(default=None, description="Whether it said that it does not know.")
    unanswerable: StrictBool | None = Field(default=None, description="Whether it should have said so.")
    seconds: Annotated[StrictFloat, Field(ge=0, le=1e9)] | None = Field(
        default=None, description="How long the system took."
    )
    stored: tuple[StrictStr, ...] | None = Field(default=None, description="What was stored; its tokens are estimated.")
    tokens_stored: Count | None = Field(default=None, description="How many tokens were stored, where that is known.")
    tokens_read: Count | None = Field(
        default=None, description="How many tokens came back; without it an estimate over `retrieved`."
    )
    error: Annotated[StrictStr, Field(min_length=1)] | None = Field(
        default=None, description="Why nothing came back: a failure, whatever else the line says."
    )

    @property
    def locomo_category(self) -> int | None:
        """The category as LoCoMo numbers it; None for another one."""
        return _NUMBERS.get(self.category or "")

    @property
    def read(self) -> int | None:
        """The tokens that came back, counted or estimated; None where nothing says."""
        return _tokens(self.tokens_read, self.retrieved)

    @property
    def kept(self) -> int | None:
        """The tokens that were stored, counted or estimated; None where nothing says."""
        return _tokens(self.tokens_stored, self.stored)


def _tokens(counted: int | None, texts: tuple[str, ...] | None) -> int | None:
    if counted is not None or texts is None:
        return counted
    return estimated_tokens(texts)
