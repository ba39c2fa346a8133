"""Criteria: their scales, thresholds and weights, and how mistakes in them are said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_fields import Criterion
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.files.errors import RecallError

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
    path.write_text(f"owner: us\ncriteria:\n  tone:\n{criterion}", encoding="utf-8")
    return read_settings(path, NAME)


def test_a_criterion_as_people_write_it(tmp_path: Path) -> None:
    text = """\
    question: Is it friendly, and to the point?
    anchors: {1: rude, 3: neutral, 5: friendly and short}
    weight: 2
    threshold: 3
    owner: support
"""
    assert read(tmp_path, text).criteria == {
        "tone": Criterion(
            question="Is it friendly, and to the point?",
            anchors={1: "rude", 3: "neutral", 5: "friendly and short"},
            weight=2,
            threshold=3,
            owner="support",
        )
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("    weight: 1\n", "4: criteria.tone.question: is missing; add it"),
        ("    question: Kind?\n    wieght: 2\n", "5: criteria.tone.wieght: unknown field; did you mean `weight`?"),
        ("    question: Kind?\n    weight: 0\n", "5: criteria.tone.weight: input should be greater than 0; got 0"),
        (
            "    question: Kind?\n    scale: [5, 1]\n",
            "4: criteria.tone: scale: goes from 5 to 1; write the lowest score first, and a higher one last",
        ),
        (
            "    question: Kind?\n    scale: [1, 3]\n    anchors: {1: a, 2: b}\n",
            "4: criteria.tone: give either `scale` or `anchors`, whose lowest and highest are the scale",
        ),
        (
            "    question: Kind?\n    threshold: 6\n",
            "4: criteria.tone: threshold: 6 decides nothing on a scale from 1 to 5; give one from 2 to 5",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(RecallError) as caught:
        read(tmp_path, text)
    assert caught.value.messages == (f"{NAME}:{sentence}",)


def test_it_travels_to_workers_as_json() -> None:
    rubric = Settings.model_validate(
        {"owner": "us", "criteria": {"tone": {"question": "Kind?", "anchors": {"1": "no", "2": "yes"}}}, "judge": "m"}
    )
    sent = rubric.model_dump_json(exclude_unset=True)
    again = Settings.model_validate_json(sent)
    assert again == rubric
    assert again.model_fields_set == {"owner", "criteria", "judge"}
    assert again.judge == ("m",)
