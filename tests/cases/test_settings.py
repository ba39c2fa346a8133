"""The knobs, their defaults and their limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings
from pytest_recall.cases.settings_fields import Criterion, RateLimit
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.files.errors import RecallError
from pytest_recall.files.validation import explain
from pytest_recall.models.rate import Rate, Target


def test_defaults_are_those_of_the_published_design() -> None:
    rubric = Settings(owner="search team")
    assert rubric.model_dump() == {
        "owner": "search team",
        "model_primary": None,
        "max_due_cases": 25,
        "box_1_cases": 25,
        "new_traffic_sample": 5,
        "nightly_cases": None,
        "recording": "on",
        "publish_answers": False,
        "budget": None,
        "thresholds": {},
        "prices": {},
        "rate_limits": {},
        "confirm": None,
        "no_verdict_allowed": 0,
        "quarantine_lapses": 4,
        "judge": {
            "model": (),
            "appellate": None,
            "criteria": {},
            "min_kappa": None,
            "preflight": "stop",
        },
        "memory": None,
        "volatile": (),
        "calls": {},
        "replay": {"programs": ()},
        "secrets": (),
        "match_headers": (),
        "keep_headers": (),
        "baselines": (),
        "blocks": "regression",
        "gates": (),
    }


def test_without_a_file_nobody_owns_it() -> None:
    assert Settings(owner="unknown") == DEFAULT_SETTINGS


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"owner": ""}, "owner"),
        ({"max_due_cases": -1}, "max_due_cases"),
        ({"max_due_cases": "25"}, "max_due_cases"),
        ({"max_due_cases": 2.5}, "max_due_cases"),
        ({"new_traffic_sample": True}, "new_traffic_sample"),
        ({"nightly_cases": 0}, "nightly_cases"),
        ({"recording": "maybe"}, "recording"),
        ({"policy": "lottery"}, "policy"),
        ({"thresholds": {"token_f1": 60}}, "thresholds"),
        ({"thresholds": {"token_f1": "0.6"}}, "thresholds"),
        ({"max_due": 3}, "max_due"),
    ],
)
def test_what_is_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"owner": "x", **given})
    assert [problem["loc"][0] for problem in caught.value.errors()] == [field]


def test_a_rubric_need_not_name_its_owner() -> None:
    assert Settings.model_validate({}) == DEFAULT_SETTINGS


def test_none_is_a_count() -> None:
    rubric = Settings(owner="x", max_due_cases=0, box_1_cases=0, new_traffic_sample=0)
    assert (rubric.max_due_cases, rubric.box_1_cases, rubric.new_traffic_sample) == (0, 0, 0)


def test_workers_share_the_rates_equally() -> None:
    limit = RateLimit(requests_per_minute=500, tokens_per_minute=100_000)
    rubric = Settings(owner="x", rate_limits={"openai": limit, "127.0.0.1:80": RateLimit(tokens_per_minute=9)})
    assert rubric.rates(3) == {
        Target("openai"): Rate(requests=166, tokens=33_333),
        Target("127.0.0.1", 80): Rate(tokens=3),
    }
    with pytest.raises(RecallError, match=r"^rate_limits.127.0.0.1:80: less than one in a minute is left for each"):
        rubric.rates(10)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (0, "budget: input should be greater than 0; got 0"),
        (-1.0, "budget: input should be greater than 0; got -1.0"),
        (1_000_001, "budget: input should be less than or equal to 1000000; got 1000001"),
        (float("inf"), "budget: input should be a finite number; got inf"),
        ("1", "budget: must be a number, not '1'"),
        (True, "budget: must be a number, not True"),
    ],
)
def test_a_wrong_budget_gets_one_sentence(written: Any, said: str) -> None:
    assert Settings(owner="o", budget=2).budget == 2.0
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"owner": "o", "budget": written})
    assert explain(caught.value, Settings, "rubric.yaml", lambda _: 3) == [f"rubric.yaml:3: {said}"]


# Criteria: their scales, thresholds and weights, and how mistakes in them are said


NAME = "eval/rubric.yaml"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (1, 5)),
        ({"scale": [0, 10]}, (0, 10)),
        ({"anchors": {"3": "so so", "1": "bad", "5": "good"}}, (1, 5)),
        ({"anchors": {0: "no", 1: "yes"}}, (0, 1)),
    ],
)
def test_the_scale(given: dict[str, Any], expected: tuple[int, int]) -> None:
    assert Criterion.model_validate({"question": "Is it kind?", **given}).range == expected


def read(folder: Path, criterion: str) -> Settings:
    """Read a rubric with one criterion, which is on the lines from 4 on."""
    path = folder / "rubric.yaml"
    path.write_text(f"owner: us\njudge:\n criteria:\n  tone:\n{criterion}", encoding="utf-8")
    return read_settings(path, NAME)


def test_a_criterion_as_people_write_it(tmp_path: Path) -> None:
    text = """\
    question: Is it friendly, and to the point?
    anchors: {1: rude, 3: neutral, 5: friendly and short}
    weight: 2
    threshold: 3
"""
    assert read(tmp_path, text).judge.criteria == {
        "tone": Criterion(
            question="Is it friendly, and to the point?",
            anchors={1: "rude", 3: "neutral", 5: "friendly and short"},
            weight=2,
            threshold=3,
        )
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("    weight: 1\n", "5: judge.criteria.tone.question: is missing; add it"),
        (
            "    question: Kind?\n    wieght: 2\n",
            "6: judge.criteria.tone.wieght: unknown field; did you mean `weight`?",
        ),
        (
            "    question: Kind?\n    weight: 0\n",
            "6: judge.criteria.tone.weight: input should be greater than 0; got 0",
        ),
        (
            "    question: Kind?\n    scale: [5, 1]\n",
            "5: judge.criteria.tone: scale: goes from 5 to 1; write the lowest score first, and a higher one last",
        ),
        (
            "    question: Kind?\n    scale: [1, 3]\n    anchors: {1: a, 2: b}\n",
            "5: judge.criteria.tone: give either `scale` or `anchors`, whose lowest and highest are the scale",
        ),
        (
            "    question: Kind?\n    threshold: 6\n",
            "5: judge.criteria.tone: threshold: 6 decides nothing on a scale from 1 to 5; give one from 2 to 5",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(RecallError) as caught:
        read(tmp_path, text)
    assert caught.value.messages == (f"{NAME}:{sentence}",)


def test_it_travels_to_workers_as_json() -> None:
    rubric = Settings.model_validate(
        {
            "owner": "us",
            "judge": {"criteria": {"tone": {"question": "Kind?", "anchors": {"1": "no", "2": "yes"}}}, "model": "m"},
        }
    )
    sent = rubric.model_dump_json(exclude_unset=True)
    again = Settings.model_validate_json(sent)
    assert again == rubric
    assert again.model_fields_set == {"owner", "judge"}
    assert again.judge.model == ("m",)


def test_a_field_of_a_table_that_stands_beside_it_is_sent_there(tmp_path: Path) -> None:
    path = tmp_path / "rubric.yaml"
    path.write_text("owner: us\npreflight: warn\nprograms: git\n", encoding="utf-8")
    with pytest.raises(RecallError) as caught:
        read_settings(path, NAME)
    assert caught.value.messages == (
        f"{NAME}:2: preflight: unknown field; write it below `judge`",
        f"{NAME}:3: programs: unknown field; write it below `replay`",
    )
