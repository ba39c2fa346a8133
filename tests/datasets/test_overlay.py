"""Corrections of an answer key: the shipped list of LoCoMo, and what is said of a list."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib.resources import files

import pytest

from pytest_recall.datasets.answer_files import read_overlay
from pytest_recall.datasets.overlay import KeyQuestion, Overlay, OverlayEntry, by_both, overlay_line
from pytest_recall.files.errors import RecallError

COUNTRIES = KeyQuestion(
    "conv-48", 87, "conv-48:q88", "Which countries has Deborah traveled to?", "Thailand, Brazil", "1"
)
QUESTIONS = {"conv-26": 199, "conv-30": 105, "conv-41": 193, "conv-42": 260, "conv-43": 242, "conv-44": 158,
             "conv-47": 190, "conv-48": 239, "conv-49": 196, "conv-50": 204}  # fmt: skip


def test_the_shipped_list_has_a_reason_with_turns_for_each_line() -> None:
    path = files("pytest_recall").joinpath("datasets", "corrections", "locomo.jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len({(one["sample_id"], one["index"]) for one in lines}) == len({one["sha256"] for one in lines}) == 128
    assert Counter(one["kind"] for one in lines) == {
        "incomplete": 32, "contradicted": 29, "ambiguous": 28, "wrong person": 25, "unsupported": 14,
    }  # fmt: skip
    for one in lines:
        assert 0 <= one["index"] < QUESTIONS[one["sample_id"]]
        assert re.fullmatch("[0-9a-f]{64}", one["sha256"])
        assert len(one["reason"]) > 40
        assert all(re.fullmatch(r"D\d+:\d+", turn) for turn in one["turns"])
        assert one["turns"]
        assert (one.get("drop") is True) != bool(one.get("answer"))
        assert one["kind"] != "ambiguous" or one["drop"]


def test_a_shipped_correction_is_of_the_published_reference() -> None:
    found = read_overlay("shipped", "locomo", [COUNTRIES])
    assert found.entries.keys() == {"conv-48:q88"}
    assert found.entries["conv-48:q88"].answer == "Indonesia and Brazil"
    assert found.others == 127


@pytest.mark.parametrize("other", [COUNTRIES._replace(reference="Indonesia, Brazil"), COUNTRIES._replace(number=86)])
def test_another_reference_or_place_is_not_corrected(other: KeyQuestion) -> None:
    with pytest.raises(RecallError, match="none of its 128 corrections is about a question here"):
        read_overlay("shipped", "locomo", [other])


def test_the_shipped_list_is_of_one_dataset() -> None:
    with pytest.raises(RecallError, match="corrects the key of LoCoMo, and this is longmemeval; name a file"):
        read_overlay("shipped", "longmemeval", [COUNTRIES])


def test_what_a_list_corrects_is_counted() -> None:
    key = [
        COUNTRIES._replace(id=str(n), category=name) for n, name in enumerate(("single-hop", "temporal", "temporal"))
    ]
    entries = {"0": OverlayEntry("Rome", "so"), "1": OverlayEntry(None, "so"), "2": OverlayEntry("Bern", "so")}
    assert overlay_line(Overlay(entries, 4), key) == (
        "corrected key: 2 other references, 1 question left out (2 temporal 2, 4 single-hop 1); 4 more are about"
        " questions that are not here"
    )
    assert overlay_line(Overlay({}), key) == "corrected key: 0 other references"


def test_a_mean_by_both_keys_shows_the_difference() -> None:
    assert [by_both(0.5, 0.25), by_both(0.5, 0.4998), by_both(0.5, None), by_both(None, 0.5)] == [
        "0.50 (+0.250)", "0.50", "0.50", "–",
    ]  # fmt: skip
