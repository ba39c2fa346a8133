"""Data of a horizon page: each text once, as it was, or cut and said to be."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.horizon.page import Texts, questions
from pytest_recall.horizon.statistics import histories
from pytest_recall.results.report_page.frame import fitted, packed
from tests.helpers.horizon_runs import RIGHT, SMALL, Asked, run_of

LABELS = ["10d", "20d", "30d"]


def told(found: dict[str, Any], number: int) -> str:
    """Return a text as the page's script puts it together."""
    return "\n\n".join(found["paragraphs"][part] for part in found["entries"][number] if part >= 0)


@given(st.lists(st.text(alphabet="ab\n", max_size=12), max_size=12), st.none() | st.integers(1, 8))
def test_any_text_comes_back_or_its_beginning_does(given_: list[str], length: int | None) -> None:
    texts = Texts(length)
    numbers = [texts.number(one) for one in given_]
    found = texts.to_json()
    for text, number in zip(given_, numbers, strict=True):
        assert told(found, number) == text[:length]
        cut = found["entries"][number][-1] < 0
        assert cut == (len(text) > len(told(found, number)))
        if cut:
            assert found["entries"][number][-1] == -len(text)


def test_what_is_said_again_is_there_once() -> None:
    texts = Texts(None)
    assert texts.number("a\n\nb") == texts.number("a\n\nb") != texts.number("b\n\na")
    assert texts.to_json() == {"paragraphs": ["a", "b"], "entries": [[0, 1], [1, 0]]}


def test_a_question_has_all_that_is_known_of_it() -> None:
    found = questions(histories(run_of(SMALL, judgeModel="azure:small")), LABELS)
    (one,) = (one for one in found["questions"] if one["id"] == "q003")
    said = found["texts"]
    assert (one["category"], one["days"], told(said, one["reference"])) == (
        "negative-recall",
        [1],
        "The reference of q003.",
    )
    first, second, third = one["asked"]
    assert (first["points"], first["first"], first["at"]) == ([0, 0, 1], [1, 1, 0], 0)
    assert "points" not in second
    assert told(said, second["error"]) == "it broke"
    assert told(said, third["answer"]) == "Nothing was said."


def test_passages_of_any_shape_are_shown() -> None:
    from dataclasses import replace

    run = run_of({10: [Asked(id="a", score=RIGHT)]})
    (stop,) = run.stops
    retrieval = ({"path": "d1", "snippet": "x", "score": 0.5}, {"id": "n7", "text": "y"}, {"rank": 1}, {"score": "?"})
    stop = replace(stop, evaluations=(stop.evaluations[0].with_facts(retrieval=retrieval, usd=0.25),))
    found = questions(histories(replace(run, stops=(stop,))), LABELS)
    asked = found["questions"][0]["asked"][0]
    shown = [(told(found["texts"], number), source, score) for number, source, score in asked["passages"]]
    assert shown == [("x", "d1", 0.5), ("y", "n7", None), ("rank: 1", "", None), ("score: ?", "", None)]
    assert asked["usd"] == 0.25


def test_texts_are_cut_no_more_than_there_is_room_for() -> None:
    noise = "".join(chr(33 + (i * i * 7 + i // 3) % 90) for i in range(60_000))
    run = run_of({10: [Asked(id="a", score=RIGHT, answer=noise), Asked(id="b", score=RIGHT)]})
    every = histories(run)
    whole, length = fitted(lambda length: questions(every, LABELS, length), 10**7)
    assert length is None
    room = len(packed(whole)) - 1
    found, length = fitted(lambda length: questions(every, LABELS, length), room)
    assert length is not None
    assert len(packed(found)) <= room
    assert fitted(lambda length: questions(every, LABELS, length), 1)[1] == 400
