"""One case, asked: every kind of agent, conversation and answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from pytest_recall.cases.case import Case
from pytest_recall.files.errors import RecallError
from pytest_recall.trials.execution import Result, as_answer, ask, number_of, passage_of, run_case, well_formed
from pytest_recall.trials.trial import Answer, Passage, Verdict
from tests.helpers.samples import FAILED, PASSED, case
from tests.trials.asking import SAID, broken, says, tried, wait

# The trial


def test_a_pass() -> None:
    one = case(judges=["exact", {"contains": "pound"}])
    assert tried(one) == Result(
        outcome=PASSED,
        verdicts=(
            Verdict(passed=True, score=1.0, judge="exact"),
            Verdict(passed=True, score=1.0, judge="contains"),
        ),
        answer=Answer(text=SAID),
        seconds=2.5,
    )


def test_all_judges_must_pass_and_all_are_heard() -> None:
    trial = tried(case(judges=[{"contains": "euro"}, "exact", {"contains": "dollar"}]))
    assert trial.outcome is FAILED
    assert [verdict.passed for verdict in trial.verdicts] == [False, True, False]
    assert trial.note == f"contains: no “euro” in “{SAID}”; contains: no “dollar” in “{SAID}”"


def test_the_agent_gets_the_input_as_it_stands() -> None:
    asked: list[Any] = []

    def agent(question: Any) -> str:
        asked.append(question)
        return SAID

    tried(case(), agent)
    tried(case(input={"question": "x", "top": 3}), agent)
    assert asked == ["What does a late return cost?", {"question": "x", "top": 3}]


def test_only_the_agent_is_timed() -> None:
    times: list[str] = []

    def clock() -> float:
        times.append("clock")
        return float(len(times))

    def agent(question: Any) -> str:
        times.append("agent")
        return SAID

    def judge(answer: Answer, one: Case) -> bool:
        times.append("judge")
        return True

    trial = run_case(case(judges=["j"]), agent, {"j": judge}, thresholds={}, wait=wait, clock=clock)
    assert times == ["clock", "agent", "clock", "judge"]
    assert trial.seconds == 2.0


# Agents


async def slowly(question: Any) -> str:
    """Answer after giving way to others."""
    await asyncio.sleep(0)
    return SAID


class Assistant:
    """An agent that is an object."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, question: Any) -> str:
        return self.text


class SlowAssistant:
    """An agent that is an object with an async call."""

    async def __call__(self, question: Any) -> str:
        return await slowly(question)


@pytest.mark.parametrize(
    "agent", [says(SAID), slowly, Assistant(SAID), SlowAssistant(), lambda question: slowly(question)]
)
def test_kinds_of_agents(agent: Any) -> None:
    assert tried(case(), agent).outcome is PASSED


def test_an_async_agent_is_run_by_the_given_loop() -> None:
    waited: list[Any] = []

    def loop(awaitable: Any) -> Any:
        waited.append(awaitable)
        return wait(awaitable)

    assert ask(case(), slowly, loop) == Answer(text=SAID)
    assert len(waited) == 1
    ask(case(), says(SAID), loop)
    assert len(waited) == 1


# Conversations


def test_a_conversation_grows_turn_by_turn() -> None:
    asked: list[Any] = []

    def agent(messages: list[dict[str, str]]) -> str:
        asked.append([(message["role"], message["content"]) for message in messages])
        messages.clear()  # what the agent does with its copy is its own affair
        return f"answer {len(asked)}"

    talk = case(input=..., turns=["one", {"user": "two", "assistant": "scripted"}, "three"])
    assert ask(talk, agent, wait) == Answer(text="answer 2")
    assert asked == [
        [("user", "one")],
        [
            ("user", "one"),
            ("assistant", "answer 1"),
            ("user", "two"),
            ("assistant", "scripted"),
            ("user", "three"),
        ],
    ]


def test_a_conversation_with_a_script_asks_once() -> None:
    asked: list[Any] = []

    async def agent(messages: Any) -> Answer:
        asked.append(messages)
        return Answer(text=SAID)

    talk = case(input=..., turns=[{"user": "one", "assistant": "scripted"}, "two"])
    assert tried(talk, agent).outcome is PASSED
    assert asked == [
        [
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "scripted"},
            {"role": "user", "content": "two"},
        ]
    ]


# Answers


@dataclass
class Reply:
    """An answer of the user's own making."""

    text: str
    passages: list[Any] = field(default_factory=list)
    usage: Any = None


@dataclass(slots=True)
class SlotUsage:
    """Counts without a `__dict__`."""

    input_tokens: int


@dataclass(slots=True)
class MoreSlotUsage(SlotUsage):
    """Counts in slots of its own and of its base."""

    output_tokens: int


class ModelUsage(BaseModel):
    """Counts as API clients return them."""

    input_tokens: int
    cache: str | None = None


FOUND = Passage(text="Fees are a pound.", source="fees", score=2.5)


@pytest.mark.parametrize(
    "given",
    [
        Answer(text=SAID, passages=(FOUND,), usage={"input_tokens": 3}),
        Reply(SAID, [FOUND], {"input_tokens": 3}),
        Reply(SAID, [{"text": FOUND.text, "source": "fees", "score": 2.5}], SimpleNamespace(input_tokens=3)),
        {"text": SAID, "passages": [FOUND], "usage": ModelUsage(input_tokens=3)},
        SimpleNamespace(
            text=SAID,
            passages=(SimpleNamespace(text=FOUND.text, source="fees", score=2.5),),
            usage={"input_tokens": 3},
        ),
    ],
)
def test_kinds_of_answers(given: Any) -> None:
    assert as_answer(given) == Answer(text=SAID, passages=(FOUND,), usage={"input_tokens": 3})


@pytest.mark.parametrize("given", [SAID, {"text": SAID}, SimpleNamespace(text=SAID, passages=None, usage=None)])
def test_passages_and_usage_may_be_missing(given: Any) -> None:
    assert as_answer(given) == Answer(text=SAID)


def test_a_passage_may_be_text() -> None:
    assert as_answer(Reply(SAID, ["a", {"text": "b", "source": 7, "score": "high"}])).passages == (
        Passage(text="a"),
        Passage(text="b", source="7"),
    )


def test_usage_keeps_counts_only() -> None:
    usage = {"input_tokens": 3, "cost": 0.25, "cached": True, "model": "m", "odd": float("nan"), 7: 1}
    assert as_answer(Reply(SAID, usage=usage)).usage == {"input_tokens": 3, "cost": 0.25, "7": 1}


def test_usage_may_be_an_object_with_slots() -> None:
    assert as_answer(Reply(SAID, usage=SlotUsage(3))).usage == {"input_tokens": 3}


def test_usage_may_inherit_its_slots() -> None:
    assert as_answer(Reply(SAID, usage=MoreSlotUsage(3, 4))).usage == {"input_tokens": 3, "output_tokens": 4}


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (None, "NoneType"),
        (3, "int"),
        ([SAID], "list"),
        (b"One", "bytes"),
        ({}, "dict"),
        ({"text": None}, "dict"),
        (SimpleNamespace(content=SAID), "SimpleNamespace"),
    ],
)
def test_what_is_no_answer(given: Any, kind: str) -> None:
    sentence = f"answered with {kind}; return text, or an object with a `text` attribute"
    with pytest.raises(RecallError) as caught:
        as_answer(given)
    assert str(caught.value) == sentence
    error = broken(case(), says(given))
    assert (str(error), error.stage, error.__cause__) == (f"agent: {sentence}", "agent", None)


@pytest.mark.parametrize("given", [None, 3, {"source": "fees"}])
def test_what_is_no_passage(given: Any) -> None:
    with pytest.raises(RecallError, match=r"a passage is .*; give text, or an object with a `text` attribute"):
        as_answer(Reply(SAID, [given]))


def test_lone_surrogates_are_replaced() -> None:
    def mine(answer: Answer, one: Case) -> tuple[bool, str]:
        return False, "d\ud800"

    trial = tried(case(judges=["mine"]), says(Reply("a\ud800b", ["c\udfff"])), mine=mine)
    assert trial.answer == Answer(text="a?b", passages=(Passage(text="c?"),))
    assert trial.note == "mine: d?"


# What an agent returns


@pytest.mark.parametrize(
    "given", [True, None, "1", 10**400, float("inf"), float("nan")], ids=lambda given: str(given)[:9]
)
def test_what_is_no_finite_number_is_none(given: Any) -> None:
    assert number_of(given) is None


def test_a_mapping_and_an_object_are_the_same_passage() -> None:
    fields = {"text": "a \ud800", "source": 7, "score": 0.5}

    assert passage_of(fields) == passage_of(SimpleNamespace(**fields)) == Passage(text="a ?", source="7", score=0.5)


def test_what_has_no_text_is_no_passage() -> None:
    assert passage_of({"text": 3}) is None


def test_text_without_lone_surrogates_stays_as_it_is() -> None:
    assert well_formed("naïve 😀") == "naïve 😀"


def test_a_text_is_a_passage_and_its_source_may_be_unknown() -> None:
    assert passage_of("a \ud800") == Passage(text="a ?")
    assert passage_of({"text": "a"}) == Passage(text="a")
