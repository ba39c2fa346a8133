"""Verification: whether a question's days support its reference, as a model says, and what is to be done about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from pytest_recall.core.horizon.facts import Evidence, missing
from pytest_recall.core.horizon.question import BenchQuestion
from pytest_recall.core.horizon.questioning import BOUNDARY
from pytest_recall.core.horizon.salvage import Unreadable, object_in


class Verdict(NamedTuple):
    """What a model says of a question.

    `suggested` is a reference that its days support, None without one; `outdated_on` the first day that makes the
    reference wrong, None if none of those that were shown does.
    """

    supported: bool
    unsupported: tuple[str, ...]
    answerable: bool
    suggested: str | None
    outdated_on: int | None
    reasoning: str


def read_verdict(reply: str, later: Collection[int]) -> Verdict:
    """Return the verdict in a reply; `later` are the days that can make a reference wrong. Raises Unreadable."""
    found = object_in(reply)
    supported, answerable = found.get("supported"), found.get("answerable")
    if not isinstance(supported, bool) or not isinstance(answerable, bool):
        raise Unreadable("does not say `supported` and `answerable` as true or false")
    claims, suggested = found.get("unsupported_claims") or [], found.get("suggested_reference")
    if not isinstance(claims, list) or not all(isinstance(claim, str) for claim in claims):
        raise Unreadable("has `unsupported_claims` that are no list of texts")
    if supported and claims:
        raise Unreadable("says that all is supported, and names a claim that is not")
    if suggested is not None and not isinstance(suggested, str):
        raise Unreadable("has a `suggested_reference` that is no text")
    outdated = found.get("outdated_on_day")
    if outdated is not None and (isinstance(outdated, bool) or outdated not in later):
        raise Unreadable(f"says that day {outdated!r} outdates it, which was not shown as a later one")
    suggested = suggested.strip() if suggested else None
    return Verdict(supported, tuple(claims), answerable, suggested or None, outdated, str(found.get("reasoning") or ""))


def line_of(question: BenchQuestion, verdict: Verdict, model: str) -> dict[str, Any]:
    """Return the line of a verdict, by the published names and some of ours: from `outdated_on_day` on."""
    return {
        "id": question.id,
        "supported": verdict.supported,
        "category": question.category,
        "difficulty": question.difficulty,
        "question": question.question,
        "reference": question.answer,
        "relevant_days": list(question.relevant_days),
        "unsupported_claims": list(verdict.unsupported),
        "question_answerable_from_corpus": verdict.answerable,
        "suggested_reference": verdict.suggested,
        "outdated_on_day": verdict.outdated_on,
        "reasoning": verdict.reasoning,
        "model": model,
    }


def holds_for(line: Mapping[str, Any], question: BenchQuestion) -> bool:
    """Whether a line is about this question as it is now."""
    return (
        line.get("id") == question.id
        and line.get("question") == question.question
        and line.get("reference") == question.answer
        and line.get("relevant_days") == list(question.relevant_days)
        and isinstance(line.get("supported"), bool)
    )


def is_verifiable(question: BenchQuestion) -> bool:
    """Whether a question's reference says what its days say; those about what may be told where do not."""
    return question.category != BOUNDARY and question.expected_disclosure is None


def is_outdated(question: BenchQuestion, line: Mapping[str, Any]) -> bool:
    """Whether a later day makes the reference wrong while the question may still be asked."""
    day = line.get("outdated_on_day")
    return isinstance(day, int) and (question.irrelevant_after is None or day <= question.irrelevant_after)


class Change(NamedTuple):
    """What a verdict changes in a question: fields with their new values; `refused` says why a field stays."""

    fields: dict[str, Any]
    refused: tuple[str, ...]


def change(question: BenchQuestion, line: Mapping[str, Any], there: Iterable[Evidence]) -> Change:
    """Return what a line changes in its question, of boundary ones nothing; `there` are the relevant days."""
    fields, refused = dict[str, Any](), list[str]()
    if not is_verifiable(question):
        return Change({}, ())
    suggested = line.get("suggested_reference")
    if not line["supported"] and isinstance(suggested, str) and suggested != question.answer:
        absent = missing(suggested, there)
        if absent:
            refused.append(f"the suggested reference has {', '.join(absent)}, which its days have not")
        else:
            fields["answer"] = suggested
    if is_outdated(question, line):
        outdated = line["outdated_on_day"]
        if outdated > max(question.relevant_days):
            fields["irrelevant_after"] = outdated - 1
        else:
            refused.append(f"day {outdated} is not after its last relevant day")
    return Change(fields, tuple(refused))
