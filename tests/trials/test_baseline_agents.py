"""Arms: what a model asked plainly is sent, and what counts as its answer."""

from __future__ import annotations

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.models.model import Ask, Message, Reply
from pytest_recall.replay.exchange import Tokens
from pytest_recall.trials.baseline_agents import PlainModel, arm


class Scripted:
    """A model that gives these replies in turn, the last one again and again, and keeps what it was asked."""

    name = "scripted"

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.asks: list[Ask] = []

    def ask(self, ask: Ask) -> Reply:
        self.asks.append(ask)
        return self.replies[min(len(self.asks), len(self.replies)) - 1]


TALK = [{"role": role, "content": f"{role} {number}"} for number in range(3) for role in ("user", "assistant")][:-2]
TALK.append({"role": "user", "content": "and now something longer?"})
YES = Reply(text="yes", tokens=Tokens(7, 3))


def test_an_answer_has_the_usage_that_is_known() -> None:
    model = Scripted(YES)
    answer = PlainModel(model)("hello")
    assert (answer.text, answer.usage) == ("yes", {"input_tokens": 7, "output_tokens": 3})
    assert model.asks == [Ask(messages=(Message("user", "hello"),), max_tokens=4096)]
    assert PlainModel(Scripted(Reply(text="yes")))("hello").usage == {}


def test_an_ask_goes_to_the_model_as_it_is() -> None:
    model, ask = Scripted(YES), Ask(messages=(Message("user", "x"),), seed=3)
    assert PlainModel(model).ask(ask) is YES
    assert (model.asks, PlainModel(model).name) == ([ask], "scripted")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(text=" ", stop="refused"), "scripted: refused, without any text"),
        (Reply(text="", stop="length"), "scripted: reached its token limit, without any text"),
    ],
)
def test_a_reply_that_was_cut_off_before_it_began_is_no_answer(reply: Reply, said: str) -> None:
    with pytest.raises(RecallError, match=said):
        PlainModel(Scripted(reply))("hello")


@pytest.mark.parametrize(
    "reply", [Reply(text=""), Reply(text="I must not.", stop="refused"), Reply(text="one, tw", stop="length")]
)
def test_whatever_a_model_says_is_its_answer(reply: Reply) -> None:
    assert PlainModel(Scripted(reply))("hello").text == reply.text


def test_text_alone_is_the_same_question_for_all() -> None:
    for name in ("raw", "tail-window", "compaction", "no-memory"):
        model = Scripted(YES)
        assert arm(name, PlainModel(model), 1)("hello").text == "yes"
        assert [ask.messages for ask in model.asks] == [(Message("user", "hello"),)]


def test_a_summary_is_carried_from_part_to_part() -> None:
    model = Scripted(Reply(text="first {}", tokens=Tokens(1, 1)), Reply(text="second", tokens=Tokens(2, None)), YES)
    answer = arm("compaction", PlainModel(model), 12)(TALK)
    first, second, last = model.asks
    assert "user 0" in first.messages[0].content
    assert "<summary>\nfirst {}\n</summary>" in second.messages[0].content
    assert last.messages == (
        Message("user", "[2 earlier turns of this conversation are summed up here.]"),
        Message("assistant", "second"),
        Message("user", "and now something longer?"),
    )
    assert answer.usage == {"input_tokens": 10}  # What was written is unknown of one reply.


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(text="\n"), "replied with nothing, and gave no summary"),
        (Reply(text="I must not.", stop="refused"), "refused, and gave no summary"),
        (Reply(text="", stop="length"), "reached its token limit, and gave no summary"),
    ],
)
def test_without_a_summary_there_is_no_answer(reply: Reply, said: str) -> None:
    model = Scripted(reply)
    with pytest.raises(RecallError, match=said):
        arm("compaction", PlainModel(model), 1)(TALK)
    assert len(model.asks) == 1


def test_what_the_system_says_goes_with_every_part_of_a_conversation() -> None:
    for name in ("raw", "tail-window", "no-memory"):
        model = Scripted(YES)
        arm(name, PlainModel(model), 1)([{"role": "system", "content": "be brief"}, *TALK])
        assert model.asks[-1].system == "be brief"
