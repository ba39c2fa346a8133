"""inspect_ai: what a sample and its scorers say is in a case, or said to be left out."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.cases.imports import ImportedSet, ImportOptions
from pytest_recall.extensions.importers import inspect_ai
from tests.extensions.importers.sources import documented, left

OPEN = {"input": "Open on Sunday?", "target": "no"}
TALK = [
    {"role": "user", "content": "Open?"},
    {"role": "assistant", "content": "Which day?"},
    {"role": "user", "content": "Sunday"},
]


def sampled(sample: dict[str, Any]) -> ImportedSet:
    """Return what becomes of a sample."""
    return inspect_ai.convert(documented([sample], "desk.json"), ImportOptions(judges=("exact",)))


def logged(sample: dict[str, Any], scorer: str, **config: Any) -> ImportedSet:
    """Return what becomes of a log with a sample."""
    log = {"eval": {"task": "desk", "scorers": [{"name": scorer}], "config": config}, "samples": [sample]}
    return inspect_ai.convert(documented(log, "log.json"), ImportOptions())


@pytest.mark.parametrize(
    ("config", "trials"),
    [
        ({"epochs": 5, "epochs_reducer": ["at_least_4"]}, "4of5"),
        ({"epochs": 5, "epochs_reducer": ["at_least_6"]}, 5),
        ({"epochs": 5}, 5),
        ({"epochs": 1}, None),
    ],
)
def test_epochs_are_trials(config: dict[str, Any], trials: int | str | None) -> None:
    assert logged(OPEN, "includes", **config).cases[0].row.get("trials") == trials


@pytest.mark.parametrize(
    ("sample", "asks"),
    [
        ({"choices": "yes, no"}, {"question": "Open on Sunday?", "choices": ["yes", "no"]}),
        ({"choices": "yes no"}, {"question": "Open on Sunday?", "choices": ["yes", "no"]}),
        ({"input": "attachment://a", "attachments": {"a": "Open?"}}, "Open?"),
        ({"input": [{"role": "user", "content": "attachment://a"}], "attachments": {"a": "Open?"}}, "Open?"),
        ({"input": [{"role": "user", "content": "attachment://b"}], "attachments": {"a": "Open?"}}, "attachment://b"),
    ],
)
def test_what_the_agent_is_asked(sample: dict[str, Any], asks: Any) -> None:
    assert sampled({**OPEN, **sample}).cases[0].row["input"] == asks


def test_choices_of_a_conversation_are_left_out() -> None:
    found = sampled({**OPEN, "input": TALK, "choices": ["yes", "no"]})
    assert left(found) == ["`choices` of a conversation"]
    assert found.cases[0].row["turns"] == [{"user": "Open?", "assistant": "Which day?"}, "Sunday"]


@pytest.mark.parametrize(
    ("sample", "notes"),
    [
        ({"description": "A visit."}, "A visit."),
        ({"metadata": "{seen twice}"}, "metadata: {seen twice}"),
        ({"metadata": '{"area": "loans"}'}, 'metadata: {"area": "loans"}'),
        ({"metadata": '["é"]'}, 'metadata: ["é"]'),
        ({"metadata": " "}, None),
    ],
)
def test_what_a_sample_says_of_itself_is_noted(sample: dict[str, Any], notes: str | None) -> None:
    found = sampled({**OPEN, **sample})
    assert (found.cases[0].row.get("notes"), left(found)) == (notes, [])


def test_a_grading_scorer_is_a_rubric() -> None:
    found = logged(OPEN, "inspect_ai/model_graded_qa")
    assert (found.cases[0].row["judges"], left(found)) == ([{"rubric": "It agrees with the REFERENCE."}], [])


@pytest.mark.parametrize("target", ["", []])
@pytest.mark.parametrize("scorer", ["includes", "model_graded_qa"])
def test_a_scorer_without_a_target_is_left_out(target: Any, scorer: str) -> None:
    found = logged({**OPEN, "target": target}, scorer)
    assert left(found) == [f"the scorer `{scorer}`", "none of its assertions has an equal here"]
