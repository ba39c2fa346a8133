"""Counted models: what a question's calls cost."""

from __future__ import annotations

from pytest_recall.models.model import Ask, Message, Reply
from pytest_recall.replay.exchange import Tokens
from pytest_recall.trials.model_calls import Counted, counting
from tests.helpers.scripted import Scripted

ASK = Ask(messages=(Message("user", "Why?"),))


def test_each_call_in_a_block_is_counted_and_none_outside_of_it() -> None:
    model = Counted(Scripted("Since.", name="mine"))
    model.ask(ASK)
    with counting() as sheet:
        model.ask(ASK)
    assert (model.name, [(call.kind, call.cost) for call in sheet.calls]) == ("mine", [("judge", None)])
    model.close()


def test_a_call_with_a_known_price_has_a_cost() -> None:
    model = Counted(Scripted(Reply(text="x", model="gpt-4o-mini", tokens=Tokens(1_000_000, 0))))
    with counting() as sheet:
        model.ask(ASK)
    assert [call.cost for call in sheet.calls] == [0.15]
