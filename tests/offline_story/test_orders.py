"""Orders that days tell: each line is read back as what it was written from, and hearsay is not."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offline_story.day_sentences import ToldDay
from offline_story.orders import COLOURS, FIRMS, LINES, ROOMS, RUMOURS, THINGS, Order, OrderBook, Step, steps_of

from pytest_recall.horizon.facts import words

ORDER = Order("Ben Carver", "lanterns", "the attic")


def told(day: int, *lines: str) -> ToldDay:
    return ToldDay(day, date(2026, 1, day), {"team": "\n".join(["### Wanted and delivered", "", *lines])})


def line(step: Step, order: Order = ORDER, which: int = 0, **values: object) -> str:
    return LINES[step][which].format(**order._asdict(), **values)


@given(
    st.sampled_from([(step, which) for step, lines in LINES.items() for which in range(len(lines))]),
    st.sampled_from(["Ben Carver", "Anna-Lena O’Neil", "Dr. Ito", "the others"]),
    st.sampled_from(list(THINGS)),
    st.sampled_from(list(ROOMS)),
    st.lists(st.integers(2, 480), min_size=2, max_size=2),
    st.sampled_from(FIRMS),
    st.lists(st.sampled_from(COLOURS), min_size=2, max_size=2),
)
def test_what_is_told_is_read_back(
    form: tuple[Step, int], who: str, things: str, room: str, numbers: list[int], firm: str, colours: list[str]
) -> None:
    step, which = form
    given_ = {
        "number": str(numbers[0]),
        "before": str(numbers[1]),
        "firm": firm,
        "colour": colours[0],
        "other": colours[1],
    }
    order = Order(who, things, room)
    (found,) = steps_of(told(3, line(step, order, which, **given_)))
    assert (found.step, found.order, found.day, found.session) == (step, order, 3, "team")
    own = {name: value for name, value in given_.items() if name in found.values}
    assert {name: found.values[name] for name in own} == own
    assert all(f"{{{name}}}" in LINES[step][which] for name in own)


def test_hearsay_and_other_lines_are_no_orders() -> None:
    heard = [text.format(**ORDER._asdict(), number=14) for text in RUMOURS]
    assert steps_of(told(1, *heard, "The lanterns are lit.", f"{line('wish', number=3)} Or not?")) == []


@pytest.mark.parametrize("words_for", [THINGS, ROOMS])
def test_a_synonym_shares_no_word_with_what_it_stands_for(words_for: dict[str, str]) -> None:
    assert len({*words_for, *words_for.values()}) == 2 * len(words_for)
    for as_told, as_asked in words_for.items():
        assert not set(words(as_told)) & set(words(as_asked))


def test_an_order_is_one_if_it_is_placed_once_and_each_change_is_of_the_number_before() -> None:
    wish, change = line("wish", number=12), line("change", before=12, number=15)
    assert OrderBook.of([told(1, wish), told(2, change)]).is_one(ORDER)
    assert not OrderBook.of([told(1, wish), told(2, wish)]).is_one(ORDER)
    assert not OrderBook.of([told(1, change)]).is_one(ORDER)
    assert not OrderBook.of([told(1, wish), told(2, line("change", before=13, number=15))]).is_one(ORDER)
    assert not OrderBook().is_one(ORDER)


def test_the_next_change_is_the_first_one_after_a_day() -> None:
    changes = [line("change", before=12, number=15), line("change", before=15, number=9)]
    book = OrderBook.of([told(1, line("wish", number=12)), told(4, changes[0]), told(9, changes[1])])
    assert [book.changed_on(ORDER, day) for day in (1, 3, 4, 9)] == [4, 4, 9, None]
