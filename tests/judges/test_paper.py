"""The paper judge: which rule goes with which question, and that only a label is a judgement."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.datasets.longmemeval import CATEGORIES
from pytest_recall.files.errors import RecallError
from pytest_recall.judges import paper
from pytest_recall.trials.trial import ANSWERED, Answer, Passage
from tests.helpers.samples import case
from tests.helpers.scripted import sections
from tests.judges.panels import heard

ANSWER = Answer(text="One pound.")
CORRECT = '{"reasoning": "It says so.", "label": "correct"}'
WRONG = CORRECT.replace('"correct"', '"wrong"')


def asked(**given: Any) -> paper.PaperInquiry:
    """Return what is asked about the answer, by LoCoMo's rule unless something else is given."""
    return paper.inquiry(ANSWER, case(expected="one pound"), **({"dataset": "locomo"} | given))


def test_longmemeval_has_a_rule_for_each_of_its_types() -> None:
    assert {*CATEGORIES, paper.UNANSWERABLE} == set(paper.RULES["longmemeval"])


@pytest.mark.parametrize(
    ("category", "words"),
    [
        ("single-session-user", "a part only"),
        ("temporal-reasoning", "off by one"),
        ("knowledge-update", "the newest state"),
        ("single-session-preference", "need not cover every point"),
    ],
)
def test_the_rule_goes_by_the_type_of_the_question(category: str, words: str) -> None:
    inquiry = asked(dataset="longmemeval", category=category)
    assert words in inquiry.system
    assert "recognises this" not in inquiry.system


def test_what_was_never_said_has_a_rule_of_its_own() -> None:
    inquiry = asked(dataset="longmemeval", category="multi-session", unanswerable=True)
    assert "recognises this" in inquiry.system
    _, model = heard(inquiry, CORRECT)
    assert sections(model.asks[0].messages[0].content)["REFERENCE"] == "one pound"
    bare = paper.inquiry(ANSWER, case(expected=None), dataset="longmemeval", unanswerable=True)
    _, model = heard(bare, CORRECT)
    assert list(sections(model.asks[0].messages[0].content)) == ["QUESTION", "ANSWER"]


def test_a_case_says_its_category_by_its_dimension() -> None:
    by_case = paper.inquiry(ANSWER, case(expected="x", dimension="knowledge-update"), dataset="longmemeval")
    assert by_case == paper.inquiry(ANSWER, case(expected="x"), dataset="longmemeval", category="knowledge-update")


def test_each_rule_has_a_version() -> None:
    rules = [asked(dataset=name) for name in ("locomo", "dmr")]
    rules += [asked(dataset="longmemeval", category=name) for name in ("multi-session", "knowledge-update")]
    assert len({one.version for one in rules}) == 4
    assert asked(expected="two").version == asked().version


@pytest.mark.parametrize(("reply", "passed"), [(CORRECT, True), (WRONG, False)])
def test_a_label_is_a_vote(reply: str, passed: bool) -> None:
    vote, _ = heard(asked(), reply)
    assert (vote.passed, vote.score) == (passed, float(passed))
    assert vote.reason == f"{'correct' if passed else 'wrong'}: It says so."


@pytest.mark.parametrize(
    "reply",
    [
        "yes",
        "CORRECT",
        '{"label": "correct"}',
        '{"reasoning": "r", "label": "CORRECT"}',
        '{"reasoning": "r", "label": 1}',
    ],
)
def test_anything_else_is_no_judgement(reply: str) -> None:
    with pytest.raises(RecallError, match="scripted: asked 3 times, and the reply"):
        heard(asked(), reply)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"dataset": None}, "dataset: None has no rule; known: dmr, locomo, longmemeval"),
        ({"dataset": "lokomo"}, "dataset: 'lokomo' has no rule; did you mean `locomo`?"),
        ({"unanswerable": True}, "locomo has no rule for unanswerable questions; judge these by `benchmark`"),
        ({"dataset": "longmemeval", "category": "temporal"}, "category: 'temporal' is not a category of longmemeval"),
        (
            {"dataset": "longmemeval", "category": "unanswerable"},
            "category: 'unanswerable' is not a category of",
        ),
    ],
)
def test_wrong_arguments(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("?", r"\?")):
        asked(**given)


def test_it_needs_a_reference_and_an_answer() -> None:
    with pytest.raises(ValueError, match="needs `expected`"):
        paper.inquiry(ANSWER, case(expected=None), dataset="dmr")
    passages = Answer(text="One pound.", passages=(Passage(text="One pound."),), usage={ANSWERED: 0})
    with pytest.raises(ValueError, match="the memory returned passages alone"):
        paper.inquiry(passages, case(expected="one pound"), dataset="dmr")
