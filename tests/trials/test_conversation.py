"""Conversations: what is asked as messages, and what of them fits a window."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.models.model import Message
from pytest_recall.replay.token_estimate import LETTERS_A_TOKEN
from pytest_recall.trials import baseline_agents as talk
from tests.helpers.samples import unhurried

TALK = (
    Message("user", "My code is 4711."),
    Message("assistant", "Noted."),
    Message("user", "And the weather?"),
    Message("assistant", "Fine."),
    Message("user", "What is my code?"),
)

texts = st.text(max_size=30)
replies = st.lists(st.builds(Message, st.just("assistant"), texts), max_size=2)
a_turn = st.builds(lambda text, some: [Message("user", text), *some], texts, replies)
talks = st.builds(
    lambda turns, last: (*(message for turn in turns for message in turn), Message("user", last)),
    st.lists(a_turn, max_size=8),
    texts,
)


# What is asked


def test_text_is_one_message_of_the_user() -> None:
    assert talk.conversation("hello") == talk.PlainConversation((Message("user", "hello"),))


def test_messages_are_taken_as_they_are_but_for_those_of_the_system() -> None:
    given = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "{hello}"},
        {"role": "assistant", "content": "hi"},
        Message("user", "why?"),
    ]
    assert talk.conversation(given) == talk.PlainConversation(
        (Message("user", "{hello}"), Message("assistant", "hi"), Message("user", "why?")), "be brief"
    )


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"question": "x"}, "the input is a mapping; write an agent"),
        ([], "with one of the user; give one"),
        (None, "with one of the user; give one"),
        ([{"role": "assistant", "content": "x"}], "with one of the user; give one"),
        ([{"role": "usr", "content": "x"}], "a message has the role 'usr'; did you mean `user`?"),
        ([{"role": "user"}], 'a message is {"role": "user", "content": text}'),
        (["hello"], 'a message is {"role": "user", "content": text}'),
        ([{"role": "user", "content": [{"type": "text"}]}], 'a message is {"role": "user", "content": text}'),
    ],
)
def test_what_is_neither_is_refused(question: Any, said: str) -> None:
    with pytest.raises(RecallError) as caught:
        talk.conversation(question)
    assert said in str(caught.value)


# What fits


@pytest.mark.parametrize(("letters", "tokens"), [(0, 0), (1, 1), (3, 1), (4, 2), (300, 100)])
def test_tokens_are_a_third_of_the_characters(letters: int, tokens: int) -> None:
    assert talk.tokens([Message("user", "x" * letters)]) == tokens


@pytest.mark.parametrize(("window", "turns"), [(1, 1), (6, 1), (12, 1), (13, 2), (19, 2), (20, 3), (80_000, 3)])
def test_the_newest_turns_stay_and_always_the_last(window: int, turns: int) -> None:
    # 16, 21 and 22 characters, from the newest to the oldest.
    found = talk.split(TALK, window)
    assert len(talk.turns(found.tail)) == turns
    assert (*(m for turn in found.earlier for m in turn), *found.tail) == TALK


def test_the_line_before_the_rest_says_how_many_turns_are_missing() -> None:
    assert talk.windowed(TALK, 13) == (
        Message("user", "[1 earlier turn of this conversation is not shown.]\n\nAnd the weather?"),
        *TALK[3:],
    )
    assert talk.windowed(TALK, 1) == (
        Message("user", "[2 earlier turns of this conversation are not shown.]\n\nWhat is my code?"),
    )
    assert talk.windowed(TALK, 1000) == TALK


def test_the_last_turn_is_what_the_user_said_last() -> None:
    assert talk.last_turn(TALK) == TALK[-1:]
    assert talk.last_turn(TALK[:-1]) == TALK[2:3]


@unhurried
@given(messages=talks, window=st.integers(1, 60))
def test_a_split_loses_nothing_and_keeps_as_much_as_fits(messages: tuple[Message, ...], window: int) -> None:
    earlier, tail = talk.split(messages, window)
    assert (*(message for turn in earlier for message in turn), *tail) == messages
    assert tail[0].role == "user"
    kept = talk.turns(tail)
    assert len(kept) == 1 or talk.tokens(tail) <= window
    if earlier:
        assert talk.tokens([*earlier[-1], *tail]) > window


# What is summed up


@unhurried
@given(messages=talks, window=st.integers(1, 60))
def test_the_parts_are_all_of_the_text_and_fit(messages: tuple[Message, ...], window: int) -> None:
    found = list(talk.parts(talk.turns(messages), window))
    assert "".join(found) == "".join(f"{m.role}: {m.content}\n" for m in messages)
    assert all(0 < len(part) <= window * LETTERS_A_TOKEN for part in found)


def test_a_message_is_only_cut_where_it_is_longer_than_a_part() -> None:
    assert list(talk.parts(talk.turns(TALK), 10)) == [
        "user: My code is 4711.\n",
        "assistant: Noted.\n",
        "user: And the weather?\n",
        "assistant: Fine.\n",
        "user: What is my code?\n",
    ]


def test_a_summary_is_asked_for_with_the_one_so_far() -> None:
    first = talk.to_summarise("", "user: {x} \\1 %s\n")
    assert (first.max_tokens, first.temperature) == (4096, 0.0)
    assert "(There is none yet.)" in first.messages[0].content
    assert "<conversation>\nuser: {x} \\1 %s\n</conversation>" in first.messages[0].content
    second = talk.to_summarise("{0} \\g<0>", "user: y\n")
    assert "<summary>\n{0} \\g<0>\n</summary>" in second.messages[0].content


def test_the_summary_is_one_turn_before_the_rest() -> None:
    earlier, tail = talk.split(TALK, 13)
    assert talk.compacted(earlier, "The code is 4711.", tail) == (
        Message("user", "[1 earlier turn of this conversation is summed up here.]"),
        Message("assistant", "The code is 4711."),
        *TALK[2:],
    )
