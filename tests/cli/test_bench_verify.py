"""`recall bench verify`: what a model says of references, kept in the published form, and applied with care."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.files import strict_yaml
from tests.helpers.command import Done
from tests.horizon import tenday
from tests.horizon.tenday import question
from tests.models.endpoint import Answer, Asked, Endpoint, chat, endpoint, failure

REFUSAL = question(
    9,
    question="What does Dov want for the yard?",
    answer="It was $1,250.",
    category="information-boundary",
    relevant_days=[2],
    forbidden_sessions=["lease"],
    expected_disclosure="refuse",
)
OPENING = question(
    2,
    question="When does the workshop open on Saturday?",
    answer="The workshop opens at 8:30 on Saturday.",
    relevant_days=[1],
)
QUESTIONS = (question(1), OPENING, question(3, answer="It was $38.", question="How much came back?"), REFUSAL)
Verify = Callable[..., Done]


@pytest.fixture(name="persona")
def _persona(tmp_path: Path) -> Path:
    folder = tenday.write(tmp_path / "persona")
    tenday.write_questions(folder, *QUESTIONS)
    return folder


@pytest.fixture(name="verify")
def _verify(persona: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verify:
    monkeypatch.chdir(persona.parent)
    monkeypatch.setenv("OPENAI_API_KEY", "key")

    def call(upstream: Endpoint | None, *more: str) -> Done:
        named = () if upstream is None else ("--model", f"openai:strong;{upstream.url}/v1")
        code = main(["bench", "verify", "persona", "--arcs", tenday.ARCS, *named, *more])
        return Done(code, *capsys.readouterr())

    return call


def verdict(**more: Any) -> Answer:
    plain = {"reasoning": "So it says.", "supported": True, "unsupported_claims": [], "answerable": True}
    return chat(json.dumps({**plain, "suggested_reference": None, "outdated_on_day": None, **more}))


def knowing(asked: Asked) -> Answer:
    """Say what is so."""
    text = str(asked.body["messages"][-1]["content"])
    if "8:30 on Saturday." in text:
        return verdict(outdated_on_day=5)
    if "$38" in text:
        return verdict(supported=False, unsupported_claims=["$38"], suggested_reference="It was $37.")
    return verdict()


def journal(persona: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (persona / "qa-10d/verification.jsonl").read_text().splitlines()]


def rows(persona: Path) -> dict[str, dict[str, Any]]:
    found = strict_yaml.load((persona / "qa-10d/questions.yaml").read_text(), "x")
    return {row["id"]: row for row in found}


def test_what_is_said_of_each_question_and_kept(verify: Verify, persona: Path) -> None:
    with endpoint(knowing) as upstream:
        done = verify(upstream)
        assert done.code == 1
        assert done.out.splitlines() == [
            "persona/qa-10d/questions.yaml:2: workshop-q002: out of date from day 5 on",
            "  suggested irrelevant_after: 4",
            "persona/qa-10d/questions.yaml:3: workshop-q003: not supported: $38",
            "  suggested answer: It was $37.",
            "3 questions: 1 hold, 2 do not",
            "  factual-recall                2 of 3 do not hold",
        ]
        shown = str(upstream.asked[1].body["messages"][-1]["content"])
        assert "RELEVANT DAY 1 (2026-03-02, Monday)" in shown
        assert "LATER DAY 5 (2026-03-06, Friday, principal)" in shown
        assert "LATER DAY 3" not in shown
    lines = journal(persona)
    assert [line["id"] for line in lines] == ["workshop-q001", "workshop-q002", "workshop-q003"]
    assert list(lines[2])[:10] == [
        *("id", "supported", "category", "difficulty", "question", "reference", "relevant_days"),
        *("unsupported_claims", "question_answerable_from_corpus", "suggested_reference"),
    ]
    assert lines[2]["unsupported_claims"] == ["$38"]


def test_it_goes_on_and_asks_again_about_what_was_changed(verify: Verify, persona: Path) -> None:
    with endpoint(knowing, failure(401, "no such key")) as upstream:
        done = verify(upstream)
        assert (done.code, len(upstream.asked)) == (2, 2)
        assert "workshop-q002, workshop-q003: no verdict: " in done.err
        assert "2 without a verdict" in done.out
    with endpoint(knowing) as upstream:
        assert verify(upstream).code == 1
        assert len(upstream.asked) == 2
        tenday.write_questions(persona, question(1, relevant_days=[2, 3]), *QUESTIONS[1:])
        assert verify(upstream, "--dry-run").out.startswith("1 question (2 there already): 1 call or more")
        verify(upstream)
        assert len(upstream.asked) == 3
        verify(upstream, "--fresh")
        assert len(upstream.asked) == 6


def test_what_is_suggested_is_written_with_the_old_text_kept(verify: Verify, persona: Path) -> None:
    with endpoint(knowing) as upstream:
        verify(upstream)
    before = rows(persona)
    done = verify(None, "--apply")
    assert done.code == 1
    assert "2 questions changed; what they were is in persona/qa-10d/verification.jsonl" in done.out
    after = rows(persona)
    assert after["workshop-q003"] == {**before["workshop-q003"], "answer": "It was $37."}
    assert after["workshop-q002"] == {**before["workshop-q002"], "irrelevant_after": 4}
    assert [after[id] for id in ("workshop-q001", "workshop-q009")] == [
        before[id] for id in ("workshop-q001", "workshop-q009")
    ]
    applied = [line["applied"] for line in journal(persona) if "applied" in line]
    assert applied == [
        {"irrelevant_after": {"old": None, "new": 4}},
        {"answer": {"old": "It was $38.", "new": "It was $37."}},
    ]


def test_what_is_applied_is_not_applied_again(verify: Verify, persona: Path) -> None:
    with endpoint(knowing) as upstream:
        verify(upstream, "--apply")
        lines = len(journal(persona))
        text = (persona / "qa-10d/questions.yaml").read_bytes()
        assert verify(upstream, "--apply").code == 0
        assert len(upstream.asked) == 4, "the changed reference is asked about, and nothing else"
    assert len(journal(persona)) == lines + 1
    assert (persona / "qa-10d/questions.yaml").read_bytes() == text


def test_a_boundary_question_is_neither_asked_about_nor_changed(verify: Verify, persona: Path) -> None:
    """Also where someone else's verdict is in the journal: that is how published references came to leak."""
    path = persona / "qa-10d/verification.jsonl"
    line = {"id": REFUSAL["id"], "supported": False, "suggested_reference": "Dov named $1,250."}
    more = {"question": REFUSAL["question"], "reference": REFUSAL["answer"], "relevant_days": [2]}
    path.write_text(json.dumps({**line, **more}) + "\n")
    before = (persona / "qa-10d/questions.yaml").read_bytes()
    done = verify(None, "--apply")
    assert "0 questions changed" in done.out
    assert (persona / "qa-10d/questions.yaml").read_bytes() == before


def test_a_suggestion_with_a_value_from_nowhere_is_not_applied(verify: Verify, persona: Path) -> None:
    wrong = verdict(supported=False, unsupported_claims=["all"], suggested_reference="It was $9,999.")
    with endpoint(wrong) as upstream:
        done = verify(upstream, "--sample", "1", "--apply")
    assert "not applied: the suggested reference has $9,999, which its days have not" in done.out
    assert all("9,999" not in row["answer"] for row in rows(persona).values())


@pytest.mark.parametrize(
    "more",
    [
        {"supported": "yes"},
        {"unsupported_claims": ["but"]},
        {"outdated_on_day": 1},
        {"outdated_on_day": True},
        {"suggested_reference": 3},
    ],
)
def test_a_verdict_that_contradicts_itself_is_none(verify: Verify, persona: Path, more: dict[str, Any]) -> None:
    with endpoint(verdict(**more)) as upstream:
        done = verify(upstream, "--sample", "1")
        assert (done.code, len(upstream.asked)) == (2, 2)
    assert not (persona / "qa-10d/verification.jsonl").exists()


def test_questions_at_once(verify: Verify, persona: Path) -> None:
    with endpoint(knowing) as upstream:
        assert verify(upstream, "--concurrency", "3", "--json").code == 1
    assert {line["id"] for line in journal(persona)} == {"workshop-q001", "workshop-q002", "workshop-q003"}


def test_the_published_journal_counts_for_what_has_not_changed_since() -> None:
    from pytest_recall.horizon.passes.verify import Verification

    found = Verification(tenday.published())
    chosen = found.chosen(None, 42)
    assert (len(chosen), len(found.left(chosen))) == (312, 39)
    assert sum(not found.known[one.id]["supported"] for one in chosen if one.id in found.known) == 1
