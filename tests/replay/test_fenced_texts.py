"""A prompt to a judge: taken apart by the names of its texts and criteria, without the mark."""

from __future__ import annotations

import json

import pytest

from pytest_recall.judges.fence import FencedPart, fenced
from pytest_recall.replay.differences import difference_line
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.fenced_texts import AROUND, CRITERIA, criterion_line, parts_of
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.nearest_request import nearest_request

URL = "https://api.example.com/v1/chat/completions"


def material(answer: str, *, question: str = "When?", note: str = "") -> str:
    return fenced([FencedPart("QUESTION", question), FencedPart("ANSWER", answer, note)])


def system(*criteria: tuple[str, str]) -> str:
    return f"You grade.\n\n{CRITERIA}" + "\n".join(criterion_line(name, 0, 1, text) for name, text in criteria)


def asking(system: str, user: str) -> Request:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return Request("POST", URL, body=json.dumps({"model": "m", "messages": messages}).encode())


def differing(asked: Request, recorded: Request) -> list[str]:
    return list(map(difference_line, nearest_request(asked, [recorded], Rules())[1]))


def test_it_is_taken_apart_by_name() -> None:
    parts = parts_of(material("At ten.\nEND of it", note="cut"))
    assert (parts["QUESTION"], parts["ANSWER"]) == ("When?", "At ten.\nEND of it")
    assert parts[AROUND] == "The mark is ….\n\nBEGIN … QUESTION\n\nBEGIN … ANSWER (cut)"
    assert parts_of(system(("tone", "Is it kind?\nAlways?"), ("form", "Is it short?"))) == {
        AROUND: "You grade.\n",
        "criterion tone": "from 0 to 1: Is it kind?\nAlways?",
        "criterion form": "from 0 to 1: Is it short?",
    }


@pytest.mark.parametrize(
    "text", ["", "When?", "The mark is 0123.", f"The mark is {24 * 'a'}.", "- tone, from 0 to 1: x"]
)
def test_any_other_text_has_no_parts(text: str) -> None:
    assert parts_of(text) == {}


class TestAMiss:
    """What a replay says of a judge's request that is not recorded."""

    GRADE = system(("tone", "Is it kind?"), ("form", "Is it short?"))

    def test_the_answer_that_differs_is_named_and_its_mark_is_not(self) -> None:
        lines = differing(asking(self.GRADE, material("At ten.")), asking(self.GRADE, material("At nine.")))
        assert lines == ["messages[1].content, ANSWER: “At nine.” → “At ten.”"]

    def test_so_is_the_criterion(self) -> None:
        asked = system(("tone", "Is it warm?"), ("form", "Is it short?"))
        lines = differing(asking(asked, material("x")), asking(self.GRADE, material("x")))
        assert lines == ["messages[0].content, criterion tone: “from 0 to 1: Is it kind?” → “from 0 to 1: Is it warm?”"]

    def test_one_that_was_added_and_one_that_was_taken_out(self) -> None:
        asked = system(("tone", "Is it kind?"), ("facts", "Is it true?"))
        lines = differing(asking(asked, material("x")), asking(self.GRADE, material("x")))
        assert lines == [
            "messages[0].content, criterion facts: not recorded → “from 0 to 1: Is it true?”",
            "messages[0].content, criterion form: “from 0 to 1: Is it short?” → not asked",
        ]

    def test_a_long_answer_is_shown_where_it_differs(self) -> None:
        before, after = (f"{200 * 'so '}{word}" for word in ("nine", "ten"))
        (line,) = differing(asking(self.GRADE, material(after)), asking(self.GRADE, material(before)))
        assert "nine” → “…" in line
        assert line.endswith("ten”")

    def test_what_stands_around_them_counts_as_well(self) -> None:
        (line,) = differing(asking(self.GRADE, material("x", note="cut")), asking(self.GRADE, material("x")))
        assert line.startswith("messages[1].content, around: ")
