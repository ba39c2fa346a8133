"""A judge compared with people: what is counted, what is not, and what no counting may change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.judges.calibration import Agreement, JudgeKey, Opinion, Share, agreement
from tests.helpers.samples import unhurried

KEY = JudgeKey("rubric", "m", "v1")
OPINIONS = st.lists(
    st.builds(
        Opinion,
        id=st.text("abc", min_size=1),
        label=st.booleans(),
        passed=st.none() | st.booleans(),
        score=st.none() | st.floats(0, 1),
        given=st.none() | st.floats(0, 1),
    ),
    max_size=30,
)


def said(*pairs: tuple[bool, bool | None]) -> Agreement:
    """Return the agreement of pairs (label, passed)."""
    return agreement(KEY, [Opinion(str(place), *pair) for place, pair in enumerate(pairs)])


def test_mistakes_are_counted_among_the_labels_that_allow_them() -> None:
    found = said((True, True), (True, False), (False, True), (False, True), (False, False))
    assert (found.n, found.percent) == (5, 0.4)
    assert (found.false_passes, found.false_fails) == (Share(2, 3), Share(1, 2))
    assert [one.id for one in found.wrong] == ["1", "2", "3"]


def test_a_judgement_that_came_to_nothing_is_no_score() -> None:
    found = said((True, True), (False, False), (True, None), (False, None))
    assert (found.n, found.percent) == (2, 1.0)
    assert [one.id for one in found.unjudged] == ["2", "3"]
    assert found.wrong == ()


def test_without_any_judgement_everything_is_undefined() -> None:
    found = said((True, None))
    assert (found.n, found.percent, found.kappa, found.false_passes.interval) == (0, None, None, None)


def test_kappa_is_undefined_where_both_always_say_the_same() -> None:
    assert said((True, True), (True, True)).kappa is None


def test_the_distance_of_scores_is_over_those_that_have_both() -> None:
    opinions = [
        Opinion("a", True, True, score=1.0, given=0.75),
        Opinion("b", True, True, score=0.5),
        Opinion("c", True, None, given=0.1),
    ]
    assert agreement(KEY, opinions).distance == 0.25
    assert agreement(KEY, opinions[1:]).distance is None


@given(OPINIONS)
@unhurried
def test_every_opinion_is_counted_once(opinions: list[Opinion]) -> None:
    found = agreement(KEY, opinions)
    assert found.n + len(found.unjudged) == len(opinions)
    assert found.false_passes.times + found.false_fails.times == len(found.wrong)
    assert found.false_passes.of + found.false_fails.of == found.n
    if found.n:
        assert found.percent is not None
        assert abs(found.percent - (1 - len(found.wrong) / found.n)) < 1e-9


@given(OPINIONS)
@unhurried
def test_the_order_does_not_matter(opinions: list[Opinion]) -> None:
    turned = list(reversed(opinions))
    one, other = agreement(KEY, opinions), agreement(KEY, turned)
    assert (one.kappa is None) == (other.kappa is None)
    if one.kappa and other.kappa:
        assert abs(one.kappa.value - other.kappa.value) < 1e-9
    assert (one.false_passes, one.false_fails) == (other.false_passes, other.false_fails)


@given(OPINIONS)
@unhurried
def test_what_came_to_nothing_changes_no_figure(opinions: list[Opinion]) -> None:
    heard = [one for one in opinions if one.passed is not None]
    assert agreement(KEY, opinions)._replace(unjudged=()) == agreement(KEY, heard)
