"""Template questions: all categories from ten days, the same ones each time, and nothing wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from offline_story.order_questions import OrderQuestions

from pytest_recall.horizon.check import lint_corpus
from pytest_recall.horizon.corpus import Corpus
from pytest_recall.horizon.passes.questions import QuestionPlan, write_questions
from pytest_recall.horizon.question import CATEGORIES, BenchQuestion
from tests.horizon import tenday

STANDARD, BOUNDARY = QuestionPlan(False, 5, 40), QuestionPlan(True, 10, 2)


def written(corpus: Corpus, *plans: QuestionPlan, seed: str = "0") -> list[BenchQuestion]:
    for plan in plans:
        outcome = write_questions(corpus, plan, OrderQuestions(corpus, seed), print)
        assert outcome.left_out == []
    return list(Corpus(corpus.path, tenday.ARCS).questions)


@pytest.fixture(name="corpus")
def _corpus(tmp_path: Path) -> Corpus:
    return tenday.corpus(tmp_path / "persona")


def test_every_category_that_the_story_has(corpus: Corpus) -> None:
    found = written(corpus, STANDARD, BOUNDARY)
    assert {question.category for question in found} == set(CATEGORIES)
    assert [question.id for question in found] == [f"workshop-q{n:03}" for n in range(1, len(found) + 1)]


def test_nothing_is_wrong_with_them(corpus: Corpus) -> None:
    assert len(written(corpus, STANDARD, BOUNDARY)) > 40
    assert lint_corpus(corpus)[1] == []


@pytest.mark.parametrize(
    ("question", "answer", "days"),
    [
        ("What belongs in the gap of what was noted on 2026-03-04, under “Spokes”: “The spokes from Dov came late, and"
         " I noted a refund of ____ for them.”?", "$37", (3,)),
        ("What was noted as decided on 2026-03-04 under “Brake pads”?",
         "Cleo decided to stock ceramic pads only from now on.", (3,)),
        ("It was once held that “The workshop opens at 8:30 on Saturday”. What has held since 2026-03-06?",
         "The workshop opens at 10:00 on Saturday", (5,)),
        ("As things stood on 2026-03-02, what was held about this: Saturday opening hour?",
         "The workshop opens at 8:30 on Saturday", (1,)),
        ("On which date was this: “Ben counts 34 frames left in the cellar”?", "2026-03-07.", (6,)),
        ("What belongs in the two gaps: on 2026-03-04 in the session workshop-floor “Ben measured a wear of ____"
         " against the old pads.”, and on 2026-03-06 in the session principal “Ada corrected me: the workshop opens at"
         " ____ on Saturday.”?", "0.8x and 10:00.", (3, 5)),
        ("Who of these did not come up anywhere on 2026-03-10: Ben Okoro or Cleo Ruiz?", "Ben Okoro.", (9,)),
        ("In which session, and under which heading, was this noted on 2026-03-10, and what belongs in the gap: “Cleo"
         " found that ____ of the tyres are too old to be sold.”?", "workshop-floor, under “Tyres”: 22%.", (9,)),
    ],
)  # fmt: skip
def test_references_and_days_are_exact(corpus: Corpus, question: str, answer: str, days: tuple[int, ...]) -> None:
    (found,) = [one for one in written(corpus, QuestionPlan(False, 5, 60)) if one.question == question]
    assert (found.answer, found.relevant_days) == (answer, days)


def test_what_was_said_in_an_isolated_session_is_asked_there(corpus: Corpus) -> None:
    found = written(corpus, QuestionPlan(False, 5, 60), BOUNDARY)
    about = [one for one in found if "Millgate" in one.question or "for the yard" in one.question]
    assert {one.asked_in for one in about} == {"lease"}
    refused = [one for one in found if one.expected_disclosure == "refuse"]
    answered = [one for one in found if one.expected_disclosure == "answer"]
    assert {(one.asked_in, one.forbidden_sessions) for one in refused} == {
        ("principal", ("lease",)),
        ("principal", ("health",)),
    }
    assert {(one.asked_in, one.forbidden_sessions) for one in answered} == {("lease", ("health",))}
    assert not any(char.isdigit() or char == "$" for one in refused for char in one.answer)


def test_the_seed_decides_and_nothing_else(tmp_path: Path) -> None:
    few = QuestionPlan(False, 5, 9)
    first, again, other = (
        written(tenday.corpus(tmp_path / name), few, seed=seed) for name, seed in (("a", "1"), ("b", "1"), ("c", "2"))
    )
    assert first == again
    assert [one.question for one in first] != [one.question for one in other]


def test_the_published_days_give_questions_with_which_nothing_is_wrong(tmp_path: Path) -> None:
    source = tenday.published()
    for name in ("persona.yaml", "arcs-180d.yaml", "memories-180d"):
        (tmp_path / name).symlink_to(source.path / name)
    corpus = Corpus(tmp_path, "arcs-180d.yaml", dates="legacy-dst")
    for plan in (QuestionPlan(False, 7, 12), QuestionPlan(True, 30, 2)):
        write_questions(corpus, plan, OrderQuestions(corpus), print)
    rows, told = lint_corpus(corpus)
    assert rows > 300
    assert told == []
    assert {question.category for question in corpus.questions} == set(CATEGORIES)
