"""The words for what may have broken a case."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_recall.replay.differences import DifferenceKind, RequestDifference
from pytest_recall.results.cause_text import cause_line, cause_words
from pytest_recall.results.regressions import Cause, CauseLabel
from pytest_recall.trials.record import RequestChange

REQUEST = RequestChange(2, RequestDifference(DifferenceKind.CHANGED, "header x-variant"))
LINES: list[tuple[CauseLabel, dict[str, Any], str]] = [
    (CauseLabel.UPSTREAM, {"troubles": {"http-500": 2, "cut-off": 1}, "calls": 3}, "2 http-500, 1 cut-off of 3 calls"),
    (CauseLabel.CASE, {}, "it is written otherwise than at its last pass"),
    (
        CauseLabel.JUDGE,
        {"code": [["fair", "eval/conftest.py"]], "models": True, "threshold": True},
        "its judge `fair` has other code in eval/conftest.py; its models, its prompt or its criteria are others;"
        " `thresholds` in the rubric hold its score to another bar",
    ),
    (
        CauseLabel.JUDGE,
        {"touched": ["12"]},
        "its judge decides otherwise of the answer of its last pass, and #12 touched it",
    ),
    (CauseLabel.MODEL, {"before": ["a", "b"], "now": ["c"]}, "a, b answered at the last pass, now c"),
    (CauseLabel.MODEL, {"tested": "a", "now": ["c"]}, "last tested with a, now with c"),
    (
        CauseLabel.PROMPT,
        {"changed": ["system", "dialogue"], "same": ["tools", "settings"]},
        "other system prompt and messages around the input than at the last pass; tools and settings as before",
    ),
    (CauseLabel.REQUEST, {"request": REQUEST.to_json()}, "call 2: header x-variant: another value than recorded"),
    (
        CauseLabel.CASSETTE,
        {"recorded": "2026-01-02", "passed": "2026-03-01"},
        "the answer was recorded on 2026-01-02, and another one passed on 2026-03-01",
    ),
    (
        CauseLabel.COIN,
        {"passed": 1, "verdicts": 3, "lapses": 2},
        "1 of 3 trials in this run passed; it fell from a higher box 2 times before",
    ),
    (
        CauseLabel.RETRIED,
        {"troubles": {"http-429": 1}, "calls": 1},
        "1 http-429 of 1 call, each asked again and answered",
    ),
    (
        CauseLabel.CODE,
        {"replies": "recorded"},
        "of the same recorded replies it made another answer when they were recorded",
    ),
    (CauseLabel.CODE, {"same": ["case", "recording"]}, "case is as at the last pass, and so is the recording"),
    (
        CauseLabel.CODE,
        {"same": ["case", "model"], "touched": ["12"]},
        "#12 altered what it makes of replies, or asks after them; case and model are as at the last pass",
    ),
    (CauseLabel.AGENT, {"same": ["case"]}, "case is as at the last pass"),
    (
        CauseLabel.CHANGE,
        {"same": ["case"], "touched": ["12"]},
        "#12 altered what it makes of replies, or asks after them, or how it is judged; case is as at the last pass",
    ),
    (CauseLabel.PROVIDER, {"failed": 3}, "all 3 trials failed"),
    (CauseLabel.OUTSIDE, {"failed": 1}, "its trial failed"),
    (CauseLabel.UNKNOWN, {}, "nothing is known of its last pass to compare with"),
    (
        CauseLabel.UNKNOWN,
        {"same": ["case"], "answer": "recorded"},
        "case is as at the last pass, and the answer is the one that was recorded",
    ),
]


@pytest.mark.parametrize(("label", "facts", "finding"), LINES)
def test_each_has_words(label: CauseLabel, facts: dict[str, Any], finding: str) -> None:
    cause = Cause(label, json.loads(json.dumps(facts)))
    assert cause_line(cause).endswith(f": {finding}")


def test_all_labels_are_worded() -> None:
    assert {label for label, *_ in LINES} == set(CauseLabel)


def test_what_is_not_known_is_on_no_page() -> None:
    assert cause_words(None) is None
    assert cause_words(Cause(CauseLabel.UNKNOWN)) is None
    also = (Cause(CauseLabel.CASE),)
    assert cause_words(Cause(CauseLabel.OUTSIDE, {"failed": 1}, also)) == {
        "label": "the provider, the data or chance",
        "evidence": "its trial failed",
        "also": ["the case was edited: it is written otherwise than at its last pass"],
    }
