"""Containment among several texts: values of a reference implementation, and what holds for all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.answers import best_candidate, contains, contains_at_k, token_f1
from tests.helpers.samples import unhurried

texts = st.lists(st.text("gGoO a", max_size=8), max_size=6)


@pytest.mark.parametrize(
    ("reference", "k", "found"),
    [
        ("Go", -1, False),
        ("Go", 0, False),
        ("Go", 1, True),
        ("Python", 2, False),
        ("Python", 3, True),
        ("Python", 100, True),
        ("google", 1, False),
        ("google", 2, True),
        ("", 1, False),
        ("", 3, False),
    ],
)
def test_contains_at_k(reference: str, k: int, found: bool) -> None:
    assert contains_at_k(["x Go", "Google", "Python"], reference, k) is found


def test_nothing_contains_anything() -> None:
    assert not contains_at_k([], "Go", 5)


JOB = ["Senior Engineer Software", "As of June 2024, Diana's job title is Senior Software Engineer at Acme Corp."]


@pytest.mark.parametrize(
    ("retrieved", "reference", "best"),
    [
        ([], "Go", ""),
        (["a b", "c d"], "Go", "a b"),
        (["Go x", "Go y"], "Go", "Go x"),
        (["Go x y", "Go y"], "Go", "Go y"),
        (["Google", "go far away"], "Go", "go far away"),
        (["", "b"], "z", ""),
        (JOB, "Senior Software Engineer", JOB[0]),
    ],
)
def test_best_candidate(retrieved: list[str], reference: str, best: str) -> None:
    assert best_candidate(retrieved, reference) == (best, token_f1(best, reference))


def test_the_best_candidate_may_lack_what_another_text_contains() -> None:
    assert not contains(best_candidate(JOB, "Senior Software Engineer").text, "Senior Software Engineer")
    assert contains_at_k(JOB, "Senior Software Engineer", 5)


@given(texts, st.text("go a", max_size=3))
@unhurried
def test_a_hit_stays_one_with_more_texts(retrieved: list[str], reference: str) -> None:
    hits = [contains_at_k(retrieved, reference, k) for k in range(len(retrieved) + 2)]
    assert hits == sorted(hits)
    assert hits[-1] == any(contains(text, reference) for text in retrieved)


@given(texts, st.text("go a", max_size=3))
@unhurried
def test_no_text_is_better_than_the_best_and_none_before_it_as_good(retrieved: list[str], reference: str) -> None:
    best = best_candidate(retrieved, reference)
    scores = [token_f1(text, reference) for text in retrieved]
    assert best.token_f1 == max(scores, default=0.0)
    assert not retrieved or best.text == retrieved[scores.index(best.token_f1)]
    # What the oracle contains is a hit, as long as k takes in all of them.
    assert contains_at_k(retrieved, reference, len(retrieved)) >= contains(best.text, reference)
