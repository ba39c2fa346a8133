"""Floors and the ceiling of a question of a dataset."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.memory_part import Unit
from pytest_recall.datasets.floors import floors_of
from pytest_recall.datasets.floors_text import floors_section
from pytest_recall.datasets.membench import BESIDE, fold
from pytest_recall.trials.trial import Outcome, Trial, TrialStep

UNITS = [
    Unit(id=f"D{1 + n // 3}:{1 + n % 3}", content="x" * 40, metadata={"session": f"S{1 + n // 3}"}) for n in range(9)
]
"""Nine turns of ten tokens each, in three sessions."""


def test_each_hands_out_as_many_tokens_as_the_memory_did() -> None:
    found = floors_of(UNITS, ["D3:3", "D1:1"], 30, "q")
    assert found["last"] == {
        "evidence_recall_at_k": 0.5,
        "evidence_all_at_k": 0,
        "reciprocal_rank": 1,
        "ndcg_at_k": pytest.approx(0.6131, abs=1e-4),
        "tokens_read": 30,
    }
    assert (found["oracle"]["evidence_recall_at_k"], found["oracle"]["tokens_read"]) == (1, 20)
    assert 0.1 < found["random"]["evidence_recall_at_k"] < 0.6
    assert "full" not in found
    assert floors_of(UNITS, ["D3:3"], 90, "q")["full"]["reciprocal_rank"] == pytest.approx(1 / 9, abs=1e-5)


def test_evidence_that_is_a_session_is_found_by_any_turn_of_it() -> None:
    found = floors_of(UNITS, ["S1", "S3"], 20, "q")
    assert found["oracle"]["evidence_recall_at_k"] == 1  # A turn of each session.
    assert found["last"]["evidence_recall_at_k"] == 0.5


@given(st.sets(st.sampled_from([one.id for one in UNITS]), min_size=1), st.integers(0, 120), st.text(max_size=4))
def test_the_oracle_finds_at_least_what_any_floor_finds(evidence: set[str], budget: int, seed: str) -> None:
    found = floors_of(UNITS, sorted(evidence), budget, seed)
    for metric, best in found["oracle"].items():
        if metric != "tokens_read":
            assert all(one[metric] <= best + 1e-6 for one in found.values())
    assert all(one["tokens_read"] <= budget for one in found.values())


def trial(id: int, recall: float, random: float | None, category: str = "a") -> Trial:
    """Return the trial of a question, with what random texts have found if that is known."""
    step = None if random is None else TrialStep(BESIDE, {"random": {"evidence_recall_at_k": random}})
    return Trial(
        case_id=f"{category}{id}",
        outcome=Outcome.PASSED,
        scenario=f"conversation-{id}",
        dimension=category,
        measures={"evidence_recall_at_k": recall, "evidence_all_at_k": float(recall == 1)},
        steps=() if step is None else (step,),
    )


def test_a_category_in_which_a_floor_finds_as_much_does_not_discriminate() -> None:
    good = [trial(n, 0.8 + n / 100, 0.2) for n in range(10)]
    poor = [trial(n, 0.3 + n / 100, 0.4, "b") for n in range(10)]
    found = fold([*good, *poor], 20)
    assert {name: group.discriminates for name, group in found.categories.items()} == {"a": True, "b": False}
    assert found.everything.floors["random"]["evidence_recall_at_k"] == pytest.approx(0.3)


def test_all_alike_is_no_certainty() -> None:
    few, many = (fold([trial(n, 1, 0.6) for n in range(count)], count) for count in (3, 30))
    assert (few.everything.discriminates, many.everything.discriminates) == (False, True)


def test_a_floor_that_is_known_of_some_questions_is_not_known() -> None:
    found = fold([trial(1, 0.9, 0.1), trial(2, 0.8, None)], 2)
    assert (found.everything.discriminates, dict(found.everything.floors)) == (None, {})


@pytest.mark.parametrize(
    ("tokens", "shown"), [(90, ["random", "last", "full", "oracle"]), (80, ["random", "last", "oracle"])]
)
def test_all_of_it_is_beside_a_memory_where_it_fits(tokens: int, shown: list[str]) -> None:
    asked = trial(1, 0.5, None)
    found = fold([asked._replace(steps=(TrialStep(BESIDE, floors_of(UNITS, ["D3:3"], tokens, "q")),))], 1)
    section = floors_section(found)
    assert [row[0] for row in section.tables[0].rows[1:]] == shown
    assert any(line.startswith("full: all that the memory was told") for line in section.notes) == ("full" in shown)
