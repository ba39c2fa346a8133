"""A memory system, told and asked in one way: what breaks has its stage, what is lost is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any

import pytest

from pytest_recall.cases.case import Case
from pytest_recall.cases.memory_part import Haystack, MemoryFault, MemoryPart, QueryContext, Stage, Unit
from pytest_recall.files.errors import CaseError
from pytest_recall.memory.built_in import BUILT_IN
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.memory.python_memory import Own
from pytest_recall.memory.resolve import resolve
from pytest_recall.memory.session import Memory, Readback
from pytest_recall.trials.trial import Passage

FACTS = ["Alice keeps bees", {"id": "car", "text": "Bob's car is red"}]


def case(facts: Any = FACTS, **given: Any) -> Case:
    plain = {"id": "a", "scenario": "s", "dimension": "d", "input": "Whose car is red?", "judges": ["exact"]}
    return Case.model_validate({**plain, "memory": {"facts": facts}, **given})


class Recorder:
    """Keeps texts as `keep` makes them, None for one that it drops, and notes each call."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.kept: list[str] = []
        self.contexts: list[QueryContext] = []
        self.raises: dict[str, BaseException] = {}

    def keep(self, content: str) -> str | None:
        return content

    def note(self, name: str) -> None:
        self.calls.append(name)
        if name in self.raises:
            raise self.raises[name]

    def reset(self) -> None:
        self.note("reset")
        self.kept.clear()

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        self.note("store")
        kept = self.keep(content)
        self.kept += [] if kept is None else [kept]

    def recall(self, query: str, limit: int, context: QueryContext) -> Any:
        self.note("recall")
        self.contexts.append(context)
        return list(self.kept)

    def finalize(self) -> None:
        self.note("finalize")


def waited(awaitable: Awaitable[Any]) -> Any:
    async def done() -> Any:
        return await awaitable

    return asyncio.run(done())


def memory(found: Any, **given: Any) -> Memory:
    return Memory(Own("mine", found), wait=waited, **given)


def baseline(selector: str, **given: Any) -> Memory:
    return Memory(resolve(selector, BUILT_IN), wait=waited, **given)


def test_a_case_is_stored_finalized_asked_and_read_back() -> None:
    system = Recorder()
    answer = memory(system).ask(case(context={"date": "2026-05-01"}, limit=1))
    assert system.calls == ["reset", "store", "store", "finalize", "recall", "recall", "recall"]
    assert system.contexts[0] == QueryContext(date="2026-05-01")
    assert answer.text == "Alice keeps bees"
    assert answer.passages == (Passage(text="Alice keeps bees", source="fact-1"),)


def test_the_text_is_all_passages_and_the_limit_is_kept() -> None:
    answer = baseline("sqlite-fts").ask(case(["a car", "b car", "c car"], limit=2))
    assert answer.text == "a car\n\nb car"
    assert [one.source for one in answer.passages] == ["fact-1", "fact-2"]
    assert len(baseline("full").ask(case(["a car", "b car", "c car"], limit=2)).passages) == 3


def test_its_own_answer_is_the_text() -> None:
    class Answering(Recorder):
        def answer(self, query: str, limit: int, context: QueryContext) -> str:
            return f"{query} Bob's."

    assert memory(Answering()).ask(case()).text == "Whose car is red? Bob's."


def test_what_is_there_already_is_not_stored_again() -> None:
    system = Recorder()
    asked = memory(system, probed=0)
    asked.ask(case())
    assert "memory_store_seconds" not in asked.ask(case(input="Who keeps bees?")).usage
    assert system.calls == ["reset", "store", "store", "finalize", "recall", "recall"]
    asked.ask(case(["other"]))
    asked.ask(case())
    assert system.calls.count("reset") == 3


def test_it_is_stored_again_where_each_case_is_recorded_or_a_test_has_changed_it() -> None:
    system = Recorder()
    asked = memory(system, probed=0, reuses=False)
    asked.ask(case())
    asked.ask(case())
    assert system.calls.count("reset") == 2
    reusing = memory(Recorder(), probed=0)
    assert reusing.ingest(MemoryPart.model_validate({"facts": FACTS}))
    reusing.store("more")
    assert reusing.ingest(MemoryPart.model_validate({"facts": FACTS}))


def test_a_store_that_failed_halfway_is_not_taken_for_filled() -> None:
    system = Recorder()
    asked = memory(system)
    system.raises["finalize"] = RuntimeError("boom")
    with pytest.raises(CaseError):
        asked.ask(case())
    system.raises.clear()
    asked.ask(case())
    assert system.calls.count("reset") == 2


@pytest.mark.parametrize("stage", ["reset", "store", "finalize", "recall"])
def test_an_error_names_its_stage(stage: str) -> None:
    system = Recorder()
    system.raises[stage] = ConnectionError("refused")
    with pytest.raises(CaseError, match=f"^memory {stage}: ConnectionError: refused$") as caught:
        memory(system).ask(case())
    assert caught.value.stage == f"memory {stage}"
    assert caught.value.__cause__ is system.raises[stage]
    system.raises[stage] = MemoryFault("not today; wait")
    with pytest.raises(CaseError, match=f"^memory {stage}: not today; wait$") as caught:
        memory(system).ask(case())
    assert caught.value.__cause__ is None


def test_what_ends_the_run_is_no_trial() -> None:
    system = Recorder()
    system.raises["recall"] = SystemError("the end")
    with pytest.raises(SystemError):
        memory(system, ends=(SystemError,)).ask(case())


@pytest.mark.parametrize("given", [None, "text", [3]])
def test_what_is_no_list_of_passages_is_an_error_of_recall(given: Any) -> None:
    system = Recorder()
    system.recall = lambda *asked: given  # type: ignore[method-assign]
    with pytest.raises(CaseError, match=r"^memory recall: recalled "):
        memory(system).ask(case())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.recall(""), "memory recall: the question is empty"),
        (lambda m: m.recall("x", 0), "memory recall: the limit is 0"),
        (lambda m: m.answer("x", 10_001), "memory recall: the limit is 10001"),
    ],
)
def test_arguments_are_checked(call: Any, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        call(memory(Recorder()))


@pytest.mark.parametrize("count", [-1, True, "3", 1.0])
def test_a_count_that_is_none(count: Any) -> None:
    system = Recorder()
    system.count = lambda: count  # type: ignore[attr-defined]
    with pytest.raises(CaseError, match=r"^memory count: counted "):
        memory(system).count()


def test_async_clients_are_waited_for() -> None:
    class Late:
        async def reset(self) -> None: ...

        async def store(self, content: str, metadata: Mapping[str, str]) -> None: ...

        async def recall(self, query: str, limit: int, context: QueryContext) -> list[str]:
            return ["Bob's car is red"]

        async def count(self) -> int:
            return 2

    asked = memory(Late())
    assert asked.ask(case()).passages[0].source == "car"
    assert asked.readback == Readback(stored=2, asked=2, same=1, missing=1, held=2)


# What is lost


def test_a_faithful_memory_is_reported_as_one() -> None:
    asked = baseline("sqlite-fts")
    answer = asked.ask(case())
    assert asked.readback == Readback(stored=2, asked=2, same=2, held=2)
    assert {name: answer.usage[name] for name in answer.usage if "seconds" not in name} == {
        "memory_answered": 0,
        "memory_told_tokens": 8,
        "memory_stored": 2,
        "memory_probed": 2,
        "memory_changed": 0,
        "memory_missing": 0,
        "memory_held": 2,
    }


def test_what_is_dropped_or_rewritten_is_reported() -> None:
    class Dropping(Recorder):
        def keep(self, content: str) -> str | None:
            return None if "bees" in content else content.replace("red", "blue")

        def count(self) -> int:
            return len(self.kept)

    asked = memory(Dropping())
    asked.ask(case())
    assert asked.readback == Readback(stored=2, asked=2, changed=1, missing=1, held=1)
    asked.ask(case(["one fact more"]))
    assert asked.readback == Readback(stored=3, asked=3, same=1, changed=1, missing=1, held=2)


def test_probing_can_be_left_out() -> None:
    system = Recorder()
    asked = memory(system, probed=0)
    assert asked.ask(case()).usage["memory_probed"] == 0
    assert system.calls.count("recall") == 1
    assert asked.readback == Readback(stored=2)


def test_one_that_only_answers_is_not_read_back() -> None:
    class Oracle(MemoryAdapter):
        answers_only = True

        def reset(self) -> None: ...

        def store(self, content: str, metadata: Mapping[str, str]) -> None: ...

        def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
            return []

        def answer(self, query: str, limit: int, context: QueryContext) -> str:
            return "red"

    asked = Memory(Oracle("oracle"), wait=waited)
    assert asked.ask(case()).text == "red"
    assert asked.readback == Readback(stored=2)
    with pytest.raises(CaseError, match="answers, and returns no passages; call `answer`"):
        asked.recall("x")


# What a reset would delete


def counting(count: int | None) -> Memory:
    system = Recorder()
    system.count = lambda: count  # type: ignore[attr-defined]
    return memory(system)


def test_what_is_not_empty_is_not_reset() -> None:
    with pytest.raises(CaseError, match=r"^memory reset: mine holds 12 units that are not this run's, and a reset"):
        counting(12).guard(allowed=False)
    with pytest.raises(CaseError, match=r"mine does not say whether it is empty, and .* allow it with --memory-reset"):
        counting(None).guard(allowed=False)
    counting(0).guard(allowed=False)
    counting(12).guard(allowed=True)
    baseline("sqlite-fts").guard(allowed=False)


def test_a_test_may_use_it_by_hand() -> None:
    asked = baseline("sqlite-fts")
    asked.store("a car")
    asked.store("a boat", {"id": "boat"})
    asked.store("a b\ud800c")
    asked.finalize()
    assert [one.source for one in asked.recall("car boat")] == ["unit-1", "boat"]
    assert asked.recall("b c")[0].text == "a b?c"
    assert (asked.count(), asked.answer("x"), asked.name) == (3, None, "sqlite-fts")
    asked.reset()
    assert asked.recall("car") == []
    asked.healthcheck()
    asked.close()


def staged(*texts: str) -> Haystack:
    stages = (
        Stage(" ".join(texts[: place + 1]), lambda text=text: (Unit(id=text, content=text, metadata={"id": text}),))  # type: ignore[misc]
        for place, text in enumerate(texts)
    )
    return Haystack.staged(tuple(stages))


def test_of_a_part_that_begins_as_the_one_before_only_the_rest_is_stored() -> None:
    system = Recorder()
    asked = memory(system, probed=0)
    assert asked.ingest(staged("one"))
    assert asked.ingest(staged("one", "two", "three"))
    assert system.calls == ["reset", "store", "finalize", "store", "finalize", "store", "finalize"]
    assert not asked.ingest(staged("one", "two", "three"))
    assert asked.ingest(staged("one", "two")), "what is there is more than that"
    assert system.calls.count("reset") == 2
    assert asked.ingest(staged("other", "two"))
    assert system.kept == ["other", "two"]


def test_a_stage_that_failed_halfway_is_stored_anew_from_the_beginning() -> None:
    system = Recorder()
    asked = memory(system, probed=0)
    asked.ingest(staged("one"))
    system.raises["finalize"] = RuntimeError("boom")
    with pytest.raises(CaseError):
        asked.ingest(staged("one", "two"))
    system.raises.clear()
    asked.ingest(staged("one", "two"))
    assert system.kept == ["one", "two"]
    assert system.calls.count("reset") == 2


def test_a_question_that_takes_too_long_is_no_answer() -> None:
    class Slow(Recorder):
        async def answer(self, query: str, limit: int, context: QueryContext) -> str:
            await asyncio.sleep(60)
            return "late"

    with pytest.raises(CaseError, match=r"memory answer: no reply within"):
        memory(Slow(), probed=0).ask(case(), seconds=0.05)
    ticks = iter([0.0, 1.0, 1.0, 9.0])
    with pytest.raises(CaseError, match="memory timeout: no answer within 5 s"):
        memory(Recorder(), probed=0, clock=lambda: next(ticks)).ask(case(), seconds=5)
