"""The draw of the lottery: as large as it may be, by streams, and the same wherever it is made."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.schedule.selection import night, pull_request, ticket
from pytest_recall.trials.trial import Row

TODAY = date(2026, 3, 2)


def _row(box: int, age: int, due: int = 0) -> Row:
    return Row(box, 0, TODAY - timedelta(days=age), TODAY + timedelta(days=due))


CASES = st.dictionaries(
    st.integers(0, 200).map("case-{:03}".format),
    st.none() | st.builds(_row, st.integers(1, 5), st.integers(0, 40), st.integers(-9, 9)),
    max_size=60,
)


def _rows(cases: dict[str, Row | None]) -> dict[str, Row]:
    return {case_id: row for case_id, row in cases.items() if row is not None}


@given(CASES, st.sets(st.integers(0, 200).map("case-{:03}".format)), st.integers(0, 40), st.text(max_size=4))
def test_a_slice_is_as_large_as_it_may_be_and_the_same_in_any_order(
    cases: dict[str, Row | None], near: set[str], size: int, seed: str
) -> None:
    picks = pull_request(cases, _rows(cases), near, size, TODAY, seed)

    assert len({pick.case_id for pick in picks}) == len(picks) == min(size, len(cases))
    assert picks == pull_request(reversed(list(cases)), _rows(cases), near, size, TODAY, seed)


@given(CASES, CASES, st.sets(st.integers(0, 200).map("case-{:03}".format)), st.integers(0, 40), st.booleans())
def test_choosing_from_a_choice_and_more_is_choosing_from_all(
    some: dict[str, Row | None], more: dict[str, Row | None], near: set[str], size: int, is_night: bool
) -> None:
    rows = _rows({**some, **more})

    def choose(cases: set[str]) -> list[str]:
        if is_night:
            return [pick.case_id for pick in night(cases, rows, size, TODAY, "7", 30)]
        return [pick.case_id for pick in pull_request(cases, rows, near, size, TODAY, "7")]

    assert choose({*choose(set(some)), *more}) == choose({*some, *more})


def test_no_stream_crowds_another_out() -> None:
    rows = {
        **{f"box-{n:02}": _row(1, 1) for n in range(40)},
        **{f"due-{n:02}": _row(3, 20) for n in range(40)},
        **{f"calm-{n:02}": _row(5, 9, due=9) for n in range(40)},
    }
    cases = [*rows, *(f"new-{n:02}" for n in range(40))]

    picks = pull_request(cases, rows, {f"calm-{n:02}" for n in range(10)}, 25, TODAY, "7")

    assert Counter(pick.reason for pick in picks) == {"box 1": 6, "near": 10, "due": 4, "new": 5}

    # A change that touches much leaves a fifth to the others.
    picks = pull_request(cases, rows, set(rows), 25, TODAY, "7")
    assert Counter(pick.reason for pick in picks) == {"near": 22, "new": 3}


def test_what_is_left_is_filled_in_turn() -> None:
    rows = {f"calm-{n:02}": _row(5, 9, due=9) for n in range(40)}

    picks = pull_request(rows, rows, (), 25, TODAY, "7")

    assert [pick.reason for pick in picks] == ["in turn"] * 25


def test_chances_go_by_the_square_of_the_age() -> None:
    won = Counter(
        "old" if ticket(str(seed), "old", 6) < ticket(str(seed), "young", 2) else "young" for seed in range(4000)
    )

    assert 0.88 < won["old"] / 4000 < 0.92  # 36 of 40


def test_one_case_more_moves_one_pick_at_most() -> None:
    rows = {f"calm-{n:03}": _row(5, 1 + n % 30, due=9) for n in range(200)}
    before = {pick.case_id for pick in pull_request(rows, rows, (), 25, TODAY, "7")}
    more = {**rows, "added": _row(5, 12, due=9)}

    after = {pick.case_id for pick in pull_request(more, more, (), 25, TODAY, "7")}

    assert len(before - after) <= 1


def test_a_night_takes_what_is_too_old_first_and_never_more_than_its_size() -> None:
    rows = {
        "stalest": _row(5, 39, due=1),
        "stale": _row(5, 31, due=1),
        "failed": _row(1, 1)._replace(failure_note="no"),
        "young": _row(1, 1),
        "due": _row(3, 8),
        "overdue": _row(3, 12),
        "calm": _row(4, 3, due=9),
        "calmer": _row(4, 2, due=9),
    }

    picks = night([*rows, "new"], rows, 8, TODAY, "7", longest=30)

    assert [tuple(pick) for pick in picks] == [
        ("stalest", "stale"), ("stale", "stale"), ("failed", "box 1"), ("new", "new"), ("young", "box 1"),
        ("overdue", "due"), ("due", "due"), ("calm", "in turn"),
    ]  # fmt: skip
