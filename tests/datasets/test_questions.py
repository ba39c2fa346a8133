"""Which questions of a dataset are asked, who judges them, and what of a retrieval can be measured."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.case import JudgeCall
from pytest_recall.cases.memory_part import Unit
from pytest_recall.datasets.dataset import Question
from pytest_recall.datasets.questions import BenchFile, chosen, clusters, draw, evidence_of, judges_of, retrieval_of
from pytest_recall.files.errors import RecallError
from pytest_recall.metrics.retrieval import Retrieval, measure
from pytest_recall.trials.evidence import ranked
from pytest_recall.trials.record import QuestionRecord
from pytest_recall.trials.trial import ANSWERED, Answer, Passage

QUESTION = Question(id="q", text="?", answer="a boat", category="single-hop", evidence=("a",), evidence_sessions=("s",))
NEVER_SAID = replace(QUESTION, answer=None, category="adversarial", unanswerable=True)
UNITS = (
    Unit(id="a", content="Ana: I sold the boat.", metadata={"id": "a", "session": "s"}),
    Unit(id="b", content="Ben: Good.", metadata={"id": "b", "session": "s"}),
    Unit(id="c", content="Ana: It rains.", metadata={"id": "c", "session": "t"}),
)
KNOWN = st.dictionaries(st.integers(0, 500).map(str), st.sampled_from("abcd"), min_size=1, max_size=60).map(
    lambda d: list(d.items())
)


def asked(**given: object) -> BenchFile:
    return BenchFile.model_validate({"path": "sample", **given})


def came_back(*passages: Passage, answered: bool = False, text: str = "") -> Answer:
    return Answer(text=text, passages=passages, usage={ANSWERED: int(answered), "memory_recall_seconds": 0.5})


# Which


@given(KNOWN, st.integers(1, 70), st.text(max_size=5))
def test_a_draw_has_each_category_by_its_share(known: list[tuple[str, str]], count: int, seed: str) -> None:
    drawn = draw(known, count, seed)
    sizes = Counter(category for _, category in known)
    found = Counter(category for id, category in known if id in drawn)
    assert len(drawn) == min(count, len(known))
    for category, size in sizes.items():
        share = min(count, len(known)) * size / len(known)
        assert share - 1 < found[category] < share + 1


@given(KNOWN, st.integers(1, 70), st.text(max_size=5), st.randoms())
def test_the_order_of_the_file_does_not_matter(
    known: list[tuple[str, str]], count: int, seed: str, shuffler: object
) -> None:
    shuffled = list(known)
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    assert draw(shuffled, count, seed) == draw(known, count, seed)


def test_another_seed_draws_other_questions() -> None:
    known = [(str(n), "a") for n in range(100)]
    assert draw(known, 10, "0") != draw(known, 10, "1")


def test_filters_come_before_the_draw() -> None:
    known = [("1", "a"), ("2", "a"), ("3", "b")]
    assert chosen(known, asked(categories=["a"]), "f") == {"1", "2"}
    assert chosen(known, asked(questions=["3"], sample=5), "f") == {"3"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"categories": ["temprl"]}, "f: categories: 'temprl' is not in the dataset; did you mean `temporal`?"),
        ({"questions": ["nine"]}, "f: questions: 'nine' is not in the dataset; known: 1"),
        (
            {"questions": ["1"], "categories": ["adversarial"]},
            "f: no question is of these `categories` and among these `questions`; ask for others",
        ),
    ],
)
def test_names_that_no_question_has_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(RecallError) as caught:
        chosen([("1", "temporal")] + ([("2", "adversarial")] if len(given) == 2 else []), asked(**given), "f")
    assert caught.value.messages == (message,)


# Who judges


def test_without_names_the_benchmark_judges() -> None:
    (call,) = judges_of(QUESTION, "locomo", ("a",), ())
    assert (call.name, call.arguments) == ("benchmark", {"dataset": "locomo"})


def test_a_named_judge_takes_its_place_and_it_may_stay_beside() -> None:
    named = (JudgeCall(name="benchmark", arguments={"threshold": 0.5}), JudgeCall(name="memory"))
    assert [(call.name, call.arguments) for call in judges_of(QUESTION, "dmr", ("a",), named)] == [
        ("benchmark", {"dataset": "dmr", "threshold": 0.5}),
        ("memory", {}),
    ]


def test_nobody_but_the_benchmark_judges_what_was_never_said() -> None:
    (call,) = judges_of(NEVER_SAID, "locomo", ("a",), (JudgeCall(name="contains"),))
    assert (call.name, call.arguments["unanswerable"]) == ("benchmark", True)


def test_the_paper_judge_is_told_what_the_question_is() -> None:
    (call,) = judges_of(QUESTION, "longmemeval", (), (JudgeCall(name="paper"),))
    assert call.arguments == {"dataset": "longmemeval", "category": QUESTION.category}


@pytest.mark.parametrize(
    ("dataset", "named", "asked"),
    [
        ("longmemeval", ["paper"], ["paper"]),
        ("longmemeval", ["benchmark", "paper", "contains"], ["benchmark", "paper"]),
        ("longmemeval", ["contains"], ["benchmark"]),
        ("locomo", ["paper"], ["benchmark"]),
    ],
)
def test_only_a_paper_with_such_a_rule_judges_what_was_never_said(
    dataset: str, named: list[str], asked: list[str]
) -> None:
    found = judges_of(NEVER_SAID, dataset, (), [JudgeCall(name=name) for name in named])
    assert [call.name for call in found] == asked
    assert all(call.arguments == {"dataset": dataset, "unanswerable": True} for call in found)


def test_evidence_is_not_asked_for_where_there_is_none() -> None:
    named = (JudgeCall(name="recall_at_k"), JudgeCall(name="contains"))
    assert [call.name for call in judges_of(QUESTION, "dmr", (), named)] == ["contains"]
    assert [call.name for call in judges_of(QUESTION, "dmr", (), named[:1])] == ["benchmark"]
    assert [call.name for call in judges_of(QUESTION, "dmr", ("a",), named)] == ["recall_at_k", "contains"]


def test_evidence_is_of_what_is_stored() -> None:
    assert evidence_of(QUESTION, "turn") == ("a",)
    assert evidence_of(QUESTION, "session") == ("s",)
    assert evidence_of(replace(QUESTION, evidence=()), "turn") == ("s",)


# What is measured


def retrieved(question: Question, answer: Answer, dataset: str) -> Retrieval | None:
    """Return what came back for the question, whose evidence is `a`."""
    asked = QuestionRecord(
        question.id,
        question.text,
        question.category,
        question.answer,
        ("a",),
        unanswerable=question.unanswerable,
    )
    return retrieval_of(asked, answer, ranked(answer.passages, UNITS, ("a",)), dataset)


def test_passages_are_known_by_their_source_or_by_holding_the_evidence() -> None:
    given = [Passage(text="It rains", source="c"), Passage(text="Notes. Ana: I sold the boat. End"), Passage(text="x")]
    assert ranked(given, UNITS, ("a",)) == ["c", "a", "?3"]


def test_a_turn_stands_for_its_session() -> None:
    given = [Passage(text="It rains", source="c"), Passage(text="Good", source="b"), Passage(text="?", source="s")]
    assert ranked(given, UNITS, ("s",)) == ["t", "s", "s"]


def test_passages_that_name_nothing_are_not_measured_by_evidence() -> None:
    assert ranked([Passage(text="boat sale"), Passage(text="weather", source="own-7")], UNITS, ("a",)) is None
    found = retrieved(QUESTION, came_back(Passage(text="boat sale")), "locomo")
    assert found is not None
    assert "evidence_recall_at_k" not in measure(found, 10)
    assert measure(found, 10)["contains_at_k"] is False


def test_nothing_that_came_back_is_a_zero() -> None:
    found = retrieved(QUESTION, came_back(), "locomo")
    assert found is not None
    values = measure(found, 10)
    assert values["evidence_recall_at_k"] == 0
    assert values["contains_at_k"] is False


def test_without_an_answer_nobody_can_judge_what_was_never_said() -> None:
    assert retrieved(NEVER_SAID, came_back(Passage(text="x", source="a")), "locomo") is None


@pytest.mark.parametrize(("text", "abstained"), [("That is not mentioned.", True), ("A boat.", False)])
def test_an_answer_to_what_was_never_said_is_judged_by_abstention_alone(text: str, abstained: bool) -> None:
    given = came_back(Passage(text="x", source="a"), answered=True, text=text)
    found = retrieved(NEVER_SAID, given, "locomo")
    assert found is not None
    values = measure(found, 10, ("abstention_recall", "locomo_f1", "evidence_recall_at_k", "answer_contains"))
    assert values == {"abstention_recall": abstained, "locomo_f1": float(abstained)}


def test_an_answer_is_measured_beside_the_passages() -> None:
    given = came_back(Passage(text="x", source="a"), answered=True, text="It was a boat")
    found = retrieved(QUESTION, given, "longmemeval")
    assert found is not None
    values = measure(found, 10)
    assert values["answer_contains"] is True
    assert values["evidence_all_at_k"] == 1
    assert "abstention_recall" not in values


# Which questions resemble each other


def question(id: str, *sessions: str) -> Question:
    return Question(id=id, text="?", answer="x", category="multi-session", evidence_sessions=sessions)


def test_questions_about_one_conversation_are_of_one_cluster() -> None:
    asked = [(question(id), row) for id, row in (("a", "1"), ("b", "1"), ("c", "2"))]
    assert clusters(asked, "locomo") == {"a": "1", "b": "1", "c": "2"}


def test_in_longmemeval_what_rests_on_one_session_or_question_is_of_one() -> None:
    asked = [
        (question("a", "s1", "s2"), "1"),
        (question("a_abs", "s9"), "2"),
        (question("b", "s2", "s3"), "3"),
        (question("c", "s4"), "4"),
        (question("d", "s9"), "5"),
    ]
    found = clusters(asked, "longmemeval")
    assert len({found[id] for id in ("a", "a_abs", "b", "d")}) == 1
    assert found["c"] != found["a"]
    assert len(set(clusters(asked, "dmr").values())) == 5
