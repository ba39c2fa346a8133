"""Lines of retrievals: what is read, what is refused, and that nothing is lost on the way."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_recall.metrics import commands
from pytest_recall.metrics.commands import RetrievalLine, read_retrievals
from pytest_recall.metrics.retrieval import Retrieval
from tests.helpers.samples import unhurried

GOOD = b'{"id": "a"}\n'


def read(data: bytes) -> list[RetrievalLine]:
    """Return what is read of some bytes."""
    return list(read_retrievals(io.BytesIO(data), "x"))


def refused(**fields: Any) -> list[str]:
    """Return what is said of a line with these fields."""
    (found,) = read(json.dumps({"id": "a", **fields}).encode())
    assert found.retrieval is None
    return list(found.problems)


def accepted(**fields: Any) -> Retrieval:
    """Return the retrieval with these fields."""
    (found,) = read(json.dumps({"id": "a", **fields}).encode())
    assert found.problems == ()
    assert found.retrieval is not None
    return found.retrieval


def test_lines_and_their_numbers() -> None:
    found = read(b'\xef\xbb\xbf{"id": 1}\r\n\n  \n{"id": "b"}')
    assert [(one.line, one.retrieval and one.retrieval.id) for one in found] == [(1, "1"), (4, "b")]
    assert read(b"") == read(b"\n \n") == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "not JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1)); write one"),
        (b"[1]", "is not an object; write one per line, in braces"),
        (b"null", "is not an object; write one per line, in braces"),
        (b'{"id": "b", "seconds": NaN}', "not JSON (NaN is not a JSON value); write one object per line"),
        (b'{"id": "b", "seconds": 1e999}', "not JSON (1e999 is not a JSON value); write one object per line"),
        (b'{"id": "b", "id": "c"}', "not JSON (`id` is written twice); write one object per line"),
        (b'{"id": "\xff"}', "byte 8 of the line is not UTF-8; write it as UTF-8"),
        (b'{"id": "\\ud800"}', r"\ud800 is half of a character; write its other half, too, or neither"),
        (b'{"id": "b", "retrieved": ["\\uDFFF"]}', r"\udfff is half of a character; write its other half, too"),
        (b'{"id": "b", "ground_truth": ' + b"9" * 5000 + b"}", "not JSON (Exceeds the limit (4300 digits)"),
        (b"[" * 100_000, "not JSON ("),
        (b'{"id": "a"}', "id: `a` was there before; choose another"),
    ],
)
def test_a_broken_line_is_named_and_the_others_are_read(line: bytes, said: str) -> None:
    first, broken, last = read(GOOD + line + b'\n{"id": "z"}\n')
    assert (first.retrieval, last.retrieval) == (Retrieval(id="a"), Retrieval(id="z"))
    (sentence,) = broken.problems
    assert sentence.startswith(f"x:2: {said}")


def test_a_pair_of_escapes_is_a_character() -> None:
    assert accepted(id="😀").id == "😀"  # json.dumps writes it as two escapes
    assert accepted(answer="\\ud800").answer == "\\ud800"


def test_a_line_without_end_takes_no_more_memory_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "MAX_LINE", 1 << 20)
    long = b'{"id": "' + b"x" * (3 << 20) + b'"}'
    assert [one.problems for one in read(GOOD + long + b'\n{"id": "z"}\n')] == [
        (),
        ("x:2: is longer than 1 MB; split it",),
        (),
    ]
    assert [one.problems for one in read(long)] == [("x:1: is longer than 1 MB; split it",)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"id": None}, "id: must be text"),
        ({"id": ""}, "id: is empty; write some text"),
        ({"id": True}, "id: True is not text; write it in quotes"),
        ({"anwser": "x"}, "anwser: unknown field; did you mean `answer`?"),
        ({"k": 0}, "k: input should be greater than or equal to 1; got 0"),
        ({"k": "5"}, "k: must be a whole number, not '5'"),
        ({"k": 5.0}, "k: must be a whole number, not 5.0"),
        ({"k": True}, "k: must be a whole number, not True"),
        ({"retrieved": "text"}, "retrieved: must be a list in brackets, not 'text'"),
        ({"retrieved": ["a", 1]}, "retrieved.1: 1 is not text; write it in quotes"),
        ({"retrieved": [None]}, "retrieved.0: must be text"),
        ({"ground_truth": True}, "ground_truth: true is not an answer; give text, a number, or a list of them"),
        ({"ground_truth": ["a", None]}, "ground_truth: null is not an answer; give text, a number, or a list of them"),
        ({"ground_truth": {"a": 1}}, 'ground_truth: {"a": 1} is not an answer; give text, a number, or a list of them'),
        ({"ground_truth": ""}, "ground_truth: is empty, and nothing can contain it; write some text, or leave it out"),
        ({"ground_truth": []}, "ground_truth: is empty; give at least one"),
        ({"ground_truth": "x" * 100_001}, "ground_truth: has more than 100,000 characters, which is not an answer"),
        ({"seconds": -1}, "seconds: input should be greater than or equal to 0; got -1"),
        ({"seconds": "1"}, "seconds: must be a number, not '1'"),
        ({"abstained": 1}, "abstained: input should be a valid boolean; got 1"),
        ({"tokens_read": 1.5}, "tokens_read: must be a whole number, not 1.5"),
        ({"error": ""}, "error: is empty; write some text"),
        ({"evidence": ["a", 1.5]}, "evidence.1: 1.5 is not text; write it in quotes"),
    ],
)
def test_a_wrong_value_is_named(fields: dict[str, Any], said: str) -> None:
    (sentence,) = refused(**fields)
    assert sentence.startswith(f"x:1: {said}")


@pytest.mark.parametrize(
    ("field", "most", "more"),
    [("k", 1_000_000, 1_000_001), ("ground_truth", "x" * 100_000, "x" * 100_001), ("tokens_read", 10**15, 10**15 + 1)],
    ids=["k", "ground_truth", "tokens_read"],
)
def test_limits_are_allowed_themselves(field: str, most: object, more: object) -> None:
    accepted(**{field: most})
    assert refused(**{field: more})


def test_counts_may_be_zero() -> None:
    assert accepted(tokens_read=0).tokens_read == 0


def test_every_problem_of_a_line_is_named() -> None:
    assert refused(k=0, abstained="no") == [
        "x:1: k: input should be greater than or equal to 1; got 0",
        "x:1: abstained: input should be a valid boolean; got 'no'",
    ]


@pytest.mark.parametrize(
    ("given_truth", "found"),
    [("x", ("x",)), (7, ("7",)), (3.5, ("3.5",)), (["x", 7], ("x", "7")), (" ", (" ",)), (None, None)],
)
def test_a_truth_is_text_a_number_or_several(given_truth: Any, found: Any) -> None:
    assert accepted(ground_truth=given_truth).ground_truth == found


def test_ids_may_be_numbers() -> None:
    found = accepted(id=1, category=2, retrieved_ids=[3, "D1"], evidence=[3])
    assert (found.id, found.category, found.retrieved_ids, found.evidence) == ("1", "2", ("3", "D1"), ("3",))


@pytest.mark.parametrize(
    ("category", "number"),
    [(1, 1), ("5", 5), ("multi-hop", 1), ("single-hop", 4), ("adversarial", 5), (6, None), ("other", None)],
)
def test_categories_of_locomo(category: Any, number: int | None) -> None:
    assert accepted(category=category).locomo_category == number


def test_tokens_are_estimated_where_nobody_counted() -> None:
    assert accepted(retrieved=["abcd", "e"]).read == 2
    assert accepted(retrieved=["abcd", "e"], tokens_read=7).read == 7
    assert accepted(stored=["abcd" * 10]).kept == 10
    assert (accepted().read, accepted().kept) == (None, None)


@given(st.binary(max_size=200))
@example(b'{"id": "a", "k": 1' + b"0" * 400 + b"}")
@unhurried
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for one in read(data):
        assert (one.retrieval is None) == bool(one.problems)
        assert all(sentence.startswith(f"x:{one.line}: ") for sentence in one.problems)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(list(Retrieval.model_fields)), anything, max_size=6))
@unhurried
def test_any_value_of_any_field_is_read_or_refused(fields: dict[str, Any]) -> None:
    (found,) = read(json.dumps(fields).encode()) or (None,)
    assert found is not None
    assert (found.retrieval is None) == bool(found.problems)
