"""The fold over what a memory came to: failures and what no one can judge are in no mean."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.datasets.membench import Arguments, JudgedAnswer, QuestionLine, differences, fold, kept, plain
from pytest_recall.replay.call import Call, Tokens
from tests.helpers.samples import unhurried

ARGUMENTS = Arguments("locomo", "f.json", "00", "sqlite-fts", 10, "turn", None, "", (), False)
LINES = st.builds(
    QuestionLine,
    id=st.text(max_size=5),
    category=st.sampled_from("ab"),
    values=st.dictionaries(st.sampled_from(["contains_at_k", "evidence_all_at_k"]), st.sampled_from([0.0, 1.0])),
    error=st.sampled_from(["", "memory recall: down"]),
    unjudged=st.sampled_from(["", "nobody can"]),
    answer=st.none() | st.text(max_size=5),
    seconds=st.none() | st.floats(0, 10),
    ingest_seconds=st.none() | st.floats(0, 10),
    units=st.none() | st.integers(0, 10),
)


@unhurried
@given(LINES)
def test_a_line_comes_back_as_it_was_written(line: QuestionLine) -> None:
    assert QuestionLine.from_json(json.loads(json.dumps(line.to_json()))) == line


@unhurried
@given(
    st.builds(
        JudgedAnswer,
        id=st.text(min_size=1, max_size=5),
        key=st.text(min_size=1, max_size=5),
        judges=st.sampled_from(["", "j"]),
        version=st.sampled_from(["", "v"]),
        passed=st.sampled_from([True, False, None]),
        error=st.sampled_from(["", "asked once, and the reply is empty"]),
        calls=st.sampled_from([(), (Call("judge", "live", "m", None, Tokens(1, 2)),)]),
    )
)
def test_a_judgement_comes_back_as_it_was_written(one: JudgedAnswer) -> None:
    assert JudgedAnswer.from_json(json.loads(json.dumps(one.to_json()))) == one


def test_a_field_of_a_later_version_is_passed_over() -> None:
    assert QuestionLine.from_json({"id": "a", "category": "b", "later": 1, "values": {"later": 2}}).id == "a"
    found = fold([QuestionLine(id="a", category="b", values={"later": 2})], 1)
    assert found.everything.means == {}


def test_means_are_of_what_came_back() -> None:
    lines = [
        QuestionLine(id="1", category="a", values={"contains_at_k": True, "evidence_recall_at_k": 0.5}, seconds=0.1),
        QuestionLine(id="2", category="a", values={"contains_at_k": False}, seconds=0.3, ingest_seconds=2.0, units=7),
        QuestionLine(id="3", category="a", error="memory recall: down"),
        QuestionLine(id="4", category="b", unjudged="nobody can", seconds=0.2),
    ]
    found = fold(lines, 5)
    assert (found.everything.n, found.everything.failures, found.everything.unjudged) == (4, 1, 1)
    assert not found.complete
    mean = found.everything.means["contains_at_k"]
    assert (mean.value, mean.n) == (0.5, 2)
    assert found.everything.means["evidence_recall_at_k"].n == 1
    assert found.categories["b"].means == {}
    assert (found.ingests, found.units, found.ingest_seconds) == (1, 7, 2.0)
    assert found.latency["p50"] == 0.2


def test_nothing_is_no_zero() -> None:
    found = fold([], 3)
    assert (found.everything.means, found.latency["p50"]) == ({}, None)


def test_what_has_changed_is_named() -> None:
    assert differences(json.loads(json.dumps(plain(ARGUMENTS))), ARGUMENTS) == []
    assert differences(plain(ARGUMENTS), ARGUMENTS._replace(k=5, categories=("a",))) == [
        "`k` was 10 and is 5",
        "`categories` was [] and is ['a']",
    ]


def test_what_is_kept_and_what_is_asked_again() -> None:
    good, bad = QuestionLine(id="1", category="a"), QuestionLine(id="2", category="a", error="down")
    assert kept([good], 5, False) == kept([good], 5, True) == "1 of 5 questions are kept"
    assert kept([good, bad], 5, False) == "1 of 5 questions are kept, 1 that failed is asked again"
    assert kept([good, bad, bad], 5, False) == "1 of 5 questions are kept, 2 that failed are asked again"
    assert kept([good, bad], 5, True) == "2 of 5 questions are kept, 1 of them failed"
