"""Decide which questions of a dataset are asked, how they are judged, and what is measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, field_validator

from pytest_recall.cases.case import JudgeCall, Text, WrittenJudge
from pytest_recall.cases.memory_part import MAX_LIMIT
from pytest_recall.datasets.categories import category_name
from pytest_recall.datasets.dataset import Question
from pytest_recall.datasets.telling import Granularity, Telling
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.judges.paper import judges_unanswerable
from pytest_recall.metrics.abstention import abstains
from pytest_recall.metrics.retrieval import MAX_ANSWER, Retrieval
from pytest_recall.schedule.selection import shuffle_key
from pytest_recall.trials.record import QuestionRecord
from pytest_recall.trials.trial import ANSWERED, Answer

SAMPLE = "sample"
"""Stands for a path: the small file that is shipped."""
LIMIT = 10
PAPER: Literal["paper"] = "paper"
"""The judge that asks a model by the rule of the dataset's paper."""
JUDGE = "benchmark"
"""The judge that goes by what came back: an answer, or passages alone."""


class BenchFile(BaseModel):
    """A file that runs a dataset as eval cases, as people write it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: Text = Field(
        default="auto", description="What the file is, such as `locomo`; `auto` goes by its first row."
    )
    path: Text = Field(description="The dataset, relative to this file; `sample` is the small one that is shipped.")
    memory: Text | None = Field(
        default=None, description="The memory system by its selector; without it, that of other cases with a memory."
    )
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_LIMIT)] = Field(
        default=LIMIT, description="How many passages the memory is asked for: the k of the metrics."
    )
    unit: Granularity = Field(
        default="turn",
        description="What the memory is told at a time: a `turn`, a `pair` (with the reply), a `session`.",
    )
    captions: StrictBool = Field(default=True, description="Whether the captions of images are told.")
    dates: StrictBool = Field(default=True, description="Whether the dates of sessions are told.")
    sample: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, description="Ask so many questions, drawn from each category by its share; all without it."
    )
    seed: int | str = Field(default=0, description="What decides the draw; the same one draws the same questions.")
    questions: Annotated[tuple[Text, ...], Field(min_length=1)] | None = Field(
        default=None, description="Ask these questions only, by id."
    )
    categories: Annotated[tuple[Text, ...], Field(min_length=1)] | None = Field(
        default=None, description="Ask the questions of these categories only, such as `multi-hop` or `1 multi-hop`."
    )
    judges: Annotated[tuple[WrittenJudge, ...], Field(min_length=1)] | None = Field(
        default=None, description="Who decides on questions that have an answer, in place of `benchmark`."
    )

    @field_validator("categories")
    @classmethod
    def _names(cls, written: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return written and tuple(map(category_name, written))

    @property
    def telling(self) -> Telling:
        """How a conversation becomes what the memory is told."""
        return Telling(self.unit, self.captions, self.dates)


Asked = tuple[str, str]
"""A question by its id, and its category."""


def chosen(known: Sequence[Asked], asked: BenchFile, where: str) -> set[str]:
    """Return the ids of the questions that are asked. Raises RecallError for a name that none has."""
    ids, categories = {id for id, _ in known}, {category for _, category in known}
    problems = [
        f"{where}: {field}: {name!r} is not in the dataset{nearest(name, there)}"
        for field, names, there in (
            ("questions", asked.questions or (), ids),
            ("categories", asked.categories or (), categories),
        )
        for name in names
        if name not in there
    ]
    if problems:
        raise RecallError(*problems)
    left = [
        (id, category)
        for id, category in known
        if (asked.questions is None or id in asked.questions)
        and (asked.categories is None or category in asked.categories)
    ]
    if not left:
        raise RecallError(f"{where}: no question is of these `categories` and among these `questions`; ask for others")
    return {id for id, _ in left} if asked.sample is None else draw(left, asked.sample, str(asked.seed))


def draw(known: Iterable[Asked], count: int, seed: str) -> set[str]:
    """Return `count` of the questions, or all if there are fewer, from each category by its share.

    What is left over by rounding down goes to the categories that lost most by it (Hamilton's
    method). Within a category the questions with the least hash of seed and id are drawn, so that
    the order of the file does not matter.
    """
    by_category: dict[str, list[str]] = defaultdict(list)
    for id, category in known:
        by_category[category].append(id)
    total = sum(map(len, by_category.values()))
    count = min(count, total)
    places = {category: count * len(ids) // total for category, ids in by_category.items()}
    lost = sorted(by_category, key=lambda one: (-(count * len(by_category[one]) % total), one))
    for category in lost[: count - sum(places.values())]:
        places[category] += 1
    return {
        id
        for category, ids in by_category.items()
        for id in sorted(ids, key=lambda one: shuffle_key(seed, one))[: places[category]]
    }


_ABSTAINING_ID = "_abs"


def clusters(asked: Iterable[tuple[Question, str]], dataset: str) -> dict[str, str]:
    """Return the cluster of each question by its id, of questions with the conversation that each is about.

    Questions about one conversation resemble each other. In LongMemEval each has its own, but some rest on the same
    sessions, and what asks for something that was never said is made of another question: 466 clusters of 500.
    """
    parents: dict[str, str] = {}

    def top(name: str) -> str:
        while parents.setdefault(name, name) != name:
            name = parents[name]
        return name

    found: dict[str, str] = {}
    for question, conversation in asked:
        shared = [f"row {conversation}"]
        if dataset == "longmemeval":
            shared.append(f"of {question.id.removesuffix(_ABSTAINING_ID)}")
            shared += [f"session {id}" for id in question.evidence_sessions]
        for name in shared[1:]:
            parents[top(name)] = top(shared[0])
        found[question.id] = shared[0]
    return {id: top(name).removeprefix("row ") for id, name in found.items()}


def judges_of(question: Question, dataset: str, evidence: Sequence[str], named: Sequence[JudgeCall]) -> list[JudgeCall]:
    """Return who judges the question: those that are `named`, as far as it has what they need.

    An unanswerable question is judged by whether the answer abstains, and by nothing else: by the rule of
    the dataset's paper where that has one and its judge is named, and otherwise by `benchmark`.
    """
    arguments: dict[str, JsonValue] = {"dataset": dataset}
    if question.unanswerable:
        arguments["unanswerable"] = True
        asked = {call.name for call in named} & ({JUDGE, PAPER} if judges_unanswerable(dataset) else {JUDGE})
        return [JudgeCall(name=name, arguments=arguments) for name in sorted(asked or {JUDGE})]
    told = {JUDGE: arguments, PAPER: {**arguments, "category": question.category}}
    calls = [
        JudgeCall(name=call.name, arguments={**told.get(call.name, {}), **call.arguments})
        for call in named
        if call.name != "recall_at_k" or evidence or call.arguments.get("evidence")
    ]
    return calls or [JudgeCall(name=JUDGE, arguments=arguments)]


def evidence_of(question: Question, unit: str) -> tuple[str, ...]:
    """Return the ids that have to come back: turns or pairs where these are stored and named, else sessions."""
    return (question.evidence if unit != "session" else ()) or question.evidence_sessions


def retrieval_of(asked: QuestionRecord, answer: Answer, ids: Sequence[str] | None, dataset: str) -> Retrieval | None:
    """Return what came back as a row of `recall memory metrics`; None where that cannot be judged.

    `ids` say by rank what came back, as the evidence would name it, None where that is not known. An unanswerable
    question is about the answer alone: what would be retrieved for it is neither right nor wrong. A memory that
    answers by itself may return no passages; one for which a `model` answers has found none.
    """
    answered = answer.usage.get(ANSWERED, 1) != 0
    if asked.unanswerable and not answered:
        return None
    plain: dict[str, object] = {
        "id": asked.id,
        "category": asked.category,
        "seconds": float(answer.usage.get("memory_recall_seconds", 0)),
        "unanswerable": asked.unanswerable,
    }
    if answered:
        text = answer.text[:MAX_ANSWER]
        plain |= {"answer": text, "abstained": abstains(text, dataset)}
    if not asked.unanswerable:
        if asked.reference:
            plain["ground_truth"] = asked.reference
        if answer.passages or not answered or answer.by == "model":
            plain["retrieved"] = tuple(one.text for one in answer.passages)
            if ids is not None and asked.evidence:
                plain |= {"retrieved_ids": tuple(ids), "evidence": asked.evidence}
    return Retrieval.model_validate(plain)
