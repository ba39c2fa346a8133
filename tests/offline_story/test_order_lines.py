"""Orders of offline days: told where they belong, by people who are there, the same ones for the same seed."""

from __future__ import annotations

import pytest
from offline_story.day_sentences import ToldDay
from offline_story.dice import Dice
from offline_story.order_lines import LONGEST, order_lines
from offline_story.orders import OrderBook

from pytest_recall.horizon.persona import Persona
from tests.helpers.stories import EPOCH, PERSONA

WHO = Persona.model_validate(PERSONA)
DAYS = range(1, 61)


def lines(seed: str, session: str) -> dict[int, list[str]]:
    spec = WHO.session(session)
    assert spec is not None
    return {day: order_lines(Dice(seed), WHO, spec, day) for day in DAYS}


def book(session: str) -> OrderBook:
    return OrderBook.of(ToldDay(day, EPOCH, {session: "\n".join(told)}) for day, told in lines("0", session).items())


@pytest.mark.parametrize("session", ["principal", "team", "deal"])
def test_the_seed_decides_and_each_day_has_something_new(session: str) -> None:
    assert lines("0", session) == lines("0", session) != lines("1", session)
    assert all(lines("0", session).values())
    assert {one.day for steps in book(session).steps.values() for one in steps if one.step == "wish"} == {*DAYS}


def test_people_want_something_where_they_take_part() -> None:
    assert {order.who for order in book("team").steps} == {"Ada Brook", "Ben Carver"}
    assert {order.who for order in book("deal").steps} == {"Ada Brook", "Cleo Dane"}
    assert "Cleo Dane" not in "".join(text for told in lines("0", "principal").values() for text in told)


def test_quotes_come_up_with_the_principal_but_for_those_of_an_isolated_session() -> None:
    told, apart, central = book("team").steps, book("deal").steps, book("principal").steps
    quoted = {order for order, steps in central.items() if any(one.step == "quote" for one in steps)}
    assert not any(one.step == "quote" for steps in told.values() for one in steps)
    assert any(one.step == "quote" for steps in apart.values() for one in steps)
    assert quoted & told.keys()
    assert not quoted & apart.keys()


def test_nothing_is_told_of_an_order_for_longer_than_it_is_looked_for() -> None:
    for steps in book("deal").steps.values():
        if sum(one.step == "wish" for one in steps) == 1 and steps[0].step == "wish":
            assert steps[-1].day - steps[0].day <= LONGEST
    spec = WHO.session("deal")
    assert spec is not None
    assert order_lines(Dice("0"), WHO, spec.model_copy(update={"participants": ()}), 30) == []
