"""How published answers are scored: labels of people, and whether the order of systems holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.datasets.answer_files import AnswerFile
from pytest_recall.datasets.answer_scores import SystemScores, confusion_of, corrected, disputes, mean_of, order
from pytest_recall.metrics.intervals import mean_of as plain_mean


def system(name: str, **scores: list[float | None]) -> SystemScores:
    """Return a system with these scores by judge, of questions q0, q1 and so on."""
    by = {judge: {f"q{n}": one for n, one in enumerate(given)} for judge, given in scores.items()}
    return SystemScores(AnswerFile(name, "a format", {}, 0), {}, by)


def test_an_order_that_two_judges_see_otherwise_is_told() -> None:
    one, other = system("a", lenient=[1, 1, 1], strict=[0, 0, 1]), system("b", lenient=[1, 0, 1], strict=[1, 0, 1])
    orders = order([one, other])
    assert [name for name, _ in orders["lenient"]] == ["a", "b"]
    assert [name for name, _ in orders["strict"]] == ["b", "a"]
    assert disputes(orders) == ["a is above b by lenient, and below it by strict"]


def test_systems_are_compared_over_what_all_were_judged_on() -> None:
    one, other = system("a", lenient=[1, None, 0]), system("b", lenient=[1, 0, 0])
    assert order([one, other]) == {"lenient": [("a", 0.5), ("b", 0.5)]}
    assert disputes(order([one, other])) == []


@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=4, max_size=4)))
def test_judges_that_agree_dispute_nothing(given: dict[str, list[float]]) -> None:
    systems = [system(name, lenient=list(scores), strict=list(scores)) for name, scores in given.items()]
    assert not systems or disputes(order(systems)) == []


def test_a_generous_judge_is_corrected_by_its_errors_on_labelled_answers() -> None:
    # Of 40 labelled answers it passes 30, ten of which people fail; of 100 others it passes 80.
    said: list[float | None] = [*[1.0] * 30, *[0.0] * 10, *[1.0] * 80, *[0.0] * 20]
    people = {f"q{n}": n < 20 for n in range(40)}
    one = system("a", lenient=said)
    assert tuple(confusion_of(one, "lenient", people)) == (20, 10, 10, 0)
    apart = {f"q{n}": str(n) for n in range(140)}
    found = corrected(one, "lenient", people, apart)
    assert not isinstance(found, str)
    value, low, high = found
    assert round(value, 6) == 0.8 - 10 / 40
    assert low < value < high
    # Where the answers to ten questions are of one conversation, and alike, there is less to learn from them.
    together = corrected(one, "lenient", people, {id: str(int(id[1:]) // 10) for id in apart})
    assert not isinstance(together, str)
    assert together[0] == value
    assert together[1] < low < high < together[2]


def test_few_labels_correct_nothing() -> None:
    assert (
        corrected(system("a", lenient=[1, 0]), "lenient", {"q0": True}, {"q0": "a", "q1": "b"})
        == "1 label, 30 are the least"
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)), min_size=2, max_size=20))
def test_an_interval_is_never_narrower_than_that_of_independent_answers(values: list[tuple[int, float]]) -> None:
    one = SystemScores(
        AnswerFile("a", "a format", {}, 0), {}, {"token F1": {f"q{n}": score for n, (_, score) in enumerate(values)}}
    )
    found = mean_of(one, "token F1", one.scores["token F1"], {f"q{n}": str(c) for n, (c, _) in enumerate(values)})
    alone = plain_mean([score for _, score in values], within=(0, 1))
    if alone.low is not None and alone.high is not None:
        assert found.low is not None
        assert found.high is not None
        assert found.low <= alone.low
        assert alone.high <= found.high
