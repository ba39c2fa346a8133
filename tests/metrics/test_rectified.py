"""A pass rate with a judge's errors taken out: its value, its interval, and how often that covers the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import hypot, log, sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.agreement import Confusion
from pytest_recall.metrics.intervals import wilson
from pytest_recall.metrics.rectified import FEWEST_LABELS, RectifiedRate, differs, rectified, shortage
from tests.helpers.samples import unhurried

Answers = list[tuple[bool, bool]]
"""Labelled answers: what the judge says, and what a person says."""


def counted(answers: Answers) -> Confusion:
    """Return who said what."""
    return Confusion(
        right_passes=answers.count((True, True)),
        false_passes=answers.count((True, False)),
        right_fails=answers.count((False, False)),
        false_fails=answers.count((False, True)),
    )


def by_the_paper(passed: int, n: int, answers: Answers) -> tuple[float, float]:
    """Return the estimate and the half width of the normal interval, written out over the verdicts one by one."""
    verdicts = [1.0] * passed + [0.0] * (n - passed)
    corrections = [float(person) - float(judge) for judge, person in answers]
    means = [sum(values) / len(values) for values in (verdicts, corrections)]
    spreads = [
        sum((value - mean) ** 2 for value in values) / len(values) / len(values)
        for values, mean in zip((verdicts, corrections), means, strict=True)
    ]
    return sum(means), 1.959963984540054 * sqrt(sum(spreads))


def found(passed: int, n: int, labels: Confusion, confidence: float = 0.95) -> RectifiedRate:
    """Return the rate where there is one."""
    rate = rectified(passed, n, labels, confidence)
    assert rate is not None
    return rate


LABELS: Answers = [(True, True)] * 55 + [(True, False)] * 12 + [(False, False)] * 45 + [(False, True)] * 8


@pytest.mark.parametrize(("passed", "n"), [(83, 100), (400, 500), (1, 2), (30, 40)])
def test_the_value_is_that_of_the_paper(passed: int, n: int) -> None:
    value, _ = by_the_paper(passed, n, LABELS)
    assert found(passed, n, counted(LABELS)).value == pytest.approx(value, abs=1e-12)


def test_a_value_that_is_worked_out_by_hand() -> None:
    """83 of 100 pass; of 120 labels the judge passed 12 wrongly and failed 8 wrongly: 0.83 - 4 / 120."""
    assert found(83, 100, counted(LABELS)).value == pytest.approx(0.796667, abs=1e-6)


def end_of(estimate: float, spread: Callable[[float], float], towards: float) -> float:
    """Return the last truth on the way to a bound that lies within 1.96 of its own spreads of the estimate."""
    inside, outside = estimate, towards
    for _ in range(40):
        middle = (inside + outside) / 2
        within = abs(estimate - middle) <= 1.959963984540054 * spread(middle)
        inside, outside = (middle, outside) if within else (inside, middle)
    return inside


def likeliest(correction: float, false_passes: int, false_fails: int, n: int) -> float:
    """Return the share of false fails that is likeliest if people's pass rate is so much above the judge's."""
    low, high = max(0.0, correction), (1 + correction) / 2

    def likelihood(share: float) -> float:
        shares = (share - correction, share, 1 - 2 * share + correction)
        counts = (false_passes, false_fails, n - false_passes - false_fails)
        return sum(count * log(max(one, 1e-300)) for one, count in zip(shares, counts, strict=True) if count)

    for _ in range(80):  # It has one top.
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if likelihood(left) < likelihood(right) else (low, right)
    return (low + high) / 2


@pytest.mark.parametrize(
    ("passed", "n", "false_passes", "false_fails", "labels"),
    [(83, 100, 12, 8, 120), (38, 40, 5, 0, 60), (3, 25, 0, 9, 45), (170, 200, 1, 2, 30)],
)
def test_the_interval_is_that_of_the_scores_worked_out_by_search(
    passed: int, n: int, false_passes: int, false_fails: int, labels: int
) -> None:
    rate, correction = passed / n, (false_fails - false_passes) / labels

    def of_rate(truth: float) -> float:
        return sqrt(truth * (1 - truth) / n)

    def of_correction(truth: float) -> float:
        share = likeliest(truth, false_passes, false_fails, labels)
        return sqrt(max(2 * share - truth - truth * truth, 0.0) / labels)

    below, above = (
        hypot(
            rate - end_of(rate, of_rate, bound),
            correction - end_of(correction, of_correction, 2 * bound - 1),
        )
        for bound in (0.0, 1.0)
    )
    others = labels - false_passes - false_fails
    told = found(passed, n, Confusion(others // 2, false_passes, others - others // 2, false_fails))
    value = rate + correction
    assert told.interval == pytest.approx((max(value - below, 0.0), min(value + above, 1.0)), abs=1e-6)


def test_with_many_answers_and_labels_the_interval_is_that_of_the_paper() -> None:
    many = LABELS * 60
    value, half = by_the_paper(4_200, 6_000, many)
    low, high = found(4_200, 6_000, counted(many)).interval
    assert (low, high) == pytest.approx((value - half, value + half), abs=2e-4)
    assert high - low == pytest.approx(2 * half, rel=0.01)


def test_a_judge_without_a_mistake_among_few_labels_is_not_taken_for_perfect() -> None:
    rate = found(40, 40, Confusion(right_passes=20, right_fails=20))
    plain = wilson(40, 40)
    assert plain is not None
    assert rate.value == 1.0
    # One mistake in twenty would hardly be seen in 40 labels.
    assert rate.interval[0] < plain[0] - 0.02


def test_a_rate_stays_within_its_bounds() -> None:
    never = Confusion(right_passes=30, false_passes=0, right_fails=20, false_fails=50)
    always = Confusion(right_passes=30, false_passes=50, right_fails=20, false_fails=0)
    assert found(9, 10, never).value == found(9, 10, never).interval[1] == 1.0
    assert found(1, 10, always).value == found(1, 10, always).interval[0] == 0.0


cells = st.integers(0, 60)
confusions = st.builds(Confusion, cells, cells, cells, cells).filter(lambda one: not shortage(one))
rates = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(rates, st.integers(15, 100), st.integers(15, 100))
@unhurried
def test_a_perfect_judge_leaves_the_rate_where_it_is(rate: tuple[int, int], passes: int, fails: int) -> None:
    passed, n = rate
    corrected = found(passed, n, Confusion(right_passes=passes, right_fails=fails))
    plain = wilson(passed, n)
    assert plain is not None
    assert corrected.value == pytest.approx(passed / n, abs=1e-12)
    assert corrected.interval[0] <= plain[0]
    assert corrected.interval[1] >= plain[1]


@given(rates, confusions)
@unhurried
def test_the_interval_holds_the_value_and_is_no_narrower_than_of_the_answers_alone(
    rate: tuple[int, int], labels: Confusion
) -> None:
    passed, n = rate
    corrected = found(passed, n, labels)
    (low, high), plain = corrected.interval, wilson(passed, n)
    assert plain is not None
    assert 0 <= low <= corrected.value <= high <= 1
    if low > 0 and high < 1:
        assert high - low >= plain[1] - plain[0] - 1e-12


@given(rates, confusions)
@unhurried
def test_passes_and_fails_are_mirrored(rate: tuple[int, int], labels: Confusion) -> None:
    passed, n = rate
    other = Confusion(labels.right_fails, labels.false_fails, labels.right_passes, labels.false_passes)
    corrected, mirrored = found(passed, n, labels), found(n - passed, n, other)
    assert mirrored.value == pytest.approx(1 - corrected.value, abs=1e-9)
    assert mirrored.interval == pytest.approx((1 - corrected.interval[1], 1 - corrected.interval[0]), abs=1e-9)


@given(st.randoms(use_true_random=False), rates)
@unhurried
def test_the_order_of_labels_is_nothing(random: Random, rate: tuple[int, int]) -> None:
    mixed = random.sample(LABELS, len(LABELS))
    assert rectified(*rate, counted(mixed)) == rectified(*rate, counted(LABELS))


@given(rates, confusions, st.floats(0.6, 0.98), st.floats(0.001, 0.015))
@unhurried
def test_more_confidence_is_wider(rate: tuple[int, int], labels: Confusion, confidence: float, more: float) -> None:
    narrow, wide = (found(*rate, labels, level).interval for level in (confidence, confidence + more))
    assert wide[0] <= narrow[0] + 1e-9
    assert wide[1] >= narrow[1] - 1e-9


# Coverage


@lru_cache(maxsize=4096)
def interval_of(passed: int, n: int, labels: Confusion) -> tuple[float, float]:
    """Return the interval; few counts come up again and again."""
    return found(passed, n, labels).interval


def drawn(random: Random, truth: float, wrong: tuple[float, float], n: int) -> Iterator[tuple[bool, bool]]:
    """Yield what a judge and a person say of `n` answers; the judge passes a bad one, or fails a good one, as often."""
    for _ in range(n):
        right = random.random() < truth
        yield (random.random() >= wrong[1] if right else random.random() < wrong[0]), right


WORLDS = 400


@pytest.mark.parametrize(
    ("truth", "false_passes", "false_fails", "n", "labels"),
    [
        (0.8, 0.2, 0.1, 60, 60),
        (0.5, 0.1, 0.1, 200, 50),
        (0.9, 0.02, 0.02, 300, 60),
        (0.3, 0.3, 0.3, 40, 120),
        (0.9, 0.9, 0.01, 300, 60),
    ],
)
def test_it_covers_the_truth(truth: float, false_passes: float, false_fails: float, n: int, labels: int) -> None:
    random = Random(f"{truth} {false_passes} {false_fails} {n} {labels}")
    worlds = covered = plain = 0
    while worlds < WORLDS:
        told = counted(list(drawn(random, truth, (false_passes, false_fails), labels)))
        passed = sum(judge for judge, _ in drawn(random, truth, (false_passes, false_fails), n))
        if shortage(told):
            continue
        worlds += 1
        low, high = interval_of(passed, n, told)
        covered += low <= truth <= high
        judged = wilson(passed, n)
        assert judged is not None
        plain += judged[0] <= truth <= judged[1]
    assert covered / WORLDS >= 0.93
    if false_passes == 0.9:
        # What is corrected is worth it: the judge's own rate has the truth beside its interval.
        assert plain / WORLDS < 0.1


@pytest.mark.parametrize(("groups", "size"), [(30, 4), (12, 10), (40, 3)])
def test_it_covers_the_truth_where_answers_of_a_group_are_alike(groups: int, size: int) -> None:
    """A question is answered rightly at every checkpoint, or at none; the judge errs on each answer by itself."""
    random = Random(f"{groups} {size}")
    worlds = covered = alone = 0
    while worlds < WORLDS:
        told = counted(list(drawn(random, 0.7, (0.1, 0.1), 60)))
        if shortage(told):
            continue
        worlds += 1
        said = [
            (group, judge)
            for group in range(groups)
            for share in [float(random.random() < 0.7)]
            for judge, _ in drawn(random, share, (0.1, 0.1), size)
        ]
        passed = sum(judge for _, judge in said)
        robust = rectified(passed, len(said), told, groups=said)
        assert robust is not None
        covered += robust.interval[0] <= 0.7 <= robust.interval[1]
        low, high = interval_of(passed, len(said), told)
        alone += low <= 0.7 <= high
        assert robust.interval[0] <= low <= high <= robust.interval[1]
    assert covered / WORLDS >= 0.93
    assert alone / WORLDS < 0.93


def test_groups_of_one_answer_change_nothing_much() -> None:
    """Student's t makes it wider, by little where there are many."""
    said = [(n, n < 70) for n in range(100)]
    robust = rectified(70, 100, counted(LABELS), groups=said)
    assert robust is not None
    assert robust.interval == pytest.approx(found(70, 100, counted(LABELS)).interval, abs=0.005)


def test_the_normal_interval_would_not_cover_it() -> None:
    """A judge with few mistakes shows none or one of them in 30 labels, and is taken for nearly perfect."""
    random = Random("few mistakes")
    worlds = covered = normal = 0
    while worlds < WORLDS:
        labels = list(drawn(random, 0.9, (0.02, 0.02), 30))
        passed = sum(judge for judge, _ in drawn(random, 0.9, (0.02, 0.02), 500))
        if shortage(counted(labels)):
            continue
        worlds += 1
        low, high = interval_of(passed, 500, counted(labels))
        covered += low <= 0.9 <= high
        value, half = by_the_paper(passed, 500, labels)
        normal += abs(value - 0.9) <= half
    assert covered / WORLDS >= 0.93
    assert normal / WORLDS < 0.93


# What is too little


def test_few_labels_correct_nothing() -> None:
    assert shortage(Confusion(right_passes=6, right_fails=6)) == "12 labels, 30 are the least"
    assert shortage(Confusion(right_passes=1)) == "1 label, 30 are the least"
    assert shortage(Confusion(right_passes=FEWEST_LABELS)) == "30 labels, and none of them is a fail"
    assert shortage(Confusion(right_fails=40, false_passes=1)) == "41 labels, and none of them is a pass"
    assert shortage(Confusion(right_passes=15, right_fails=15)) == ""
    # What the judge has missed are labels of that kind all the same.
    assert shortage(Confusion(right_passes=29, false_passes=1)) == ""
    with pytest.raises(ValueError, match="12 labels, 30 are the least"):
        rectified(5, 10, Confusion(right_passes=6, right_fails=6))


def test_counts_that_cannot_be_are_refused() -> None:
    for passed, n in ((-1, 10), (11, 10)):
        with pytest.raises(ValueError, match="needs 0 <= passed <= n"):
            rectified(passed, n, counted(LABELS))


def test_without_answers_there_is_no_rate() -> None:
    assert rectified(0, 0, counted(LABELS)) is None


def test_labels_of_another_mix_are_noticed() -> None:
    half = Confusion(right_passes=60, right_fails=60)
    assert differs(95, 100, half)
    assert not differs(55, 100, half)
    assert not differs(60, 100, half)
    assert not differs(60, 100, Confusion(right_passes=40, false_passes=20, right_fails=60))
    assert not differs(3, 3, half)
    assert not differs(0, 0, half)
    assert not differs(5, 10, Confusion())


def test_errors_of_a_judge_cancel_where_they_are_as_many() -> None:
    assert Confusion(10, 3, 10, 3).error == 0.0
    assert Confusion(10, 4, 10, 1).error == 3 / 25
    assert Confusion().error == 0.0
    assert Confusion(10, 4, 10, 1).n == 25
