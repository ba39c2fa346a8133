"""Whether a memory still holds what it was given."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.case import Case, JudgeCall
from pytest_recall.cases.memory_part import Fact, Haystack, MemoryPart, QueryContext, Stage, Unit
from pytest_recall.files.errors import CaseError
from pytest_recall.memory.built_in import BUILT_IN
from pytest_recall.memory.python_memory import Own
from pytest_recall.memory.resolve import resolve
from pytest_recall.memory.session import HaltedError, Memory, Readback, readback_of, sample, seen
from pytest_recall.trials.concurrency import Loop
from pytest_recall.trials.trial import Passage

UNIT = Unit(id="car", content="Bob's car is red, and old")
NOTHING = Readback(stored=1)


@pytest.mark.parametrize(
    ("passages", "same", "changed", "missing"),
    [
        ([Passage(text="other"), Passage(text=UNIT.content)], 1, 0, 0),
        ([Passage(text=UNIT.content, source="another id")], 1, 0, 0),
        ([Passage(text="The car is of a red colour", source="car")], 0, 1, 0),
        ([Passage(text=f"2026: {UNIT.content} (Bob)")], 0, 1, 0),
        ([Passage(text="Bob's car is red and old.")], 0, 1, 0),
        ([Passage(text="Bob's car is red and old.", source="pump")], 0, 0, 1),
        ([Passage(text="The pump burned out")], 0, 0, 1),
        ([Passage(text="")], 0, 0, 1),
        ([], 0, 0, 1),
    ],
)
def test_a_unit_is_the_same_changed_or_missing(passages: list[Passage], same: int, changed: int, missing: int) -> None:
    assert seen(NOTHING, UNIT, passages) == Readback(stored=1, asked=1, same=same, changed=changed, missing=missing)


@given(st.integers(0, 60), st.integers(0, 20))
def test_a_sample_is_spread_evenly_and_always_the_same(count: int, wanted: int) -> None:
    units = [Unit(id=str(n), content=str(n)) for n in range(count)]
    chosen = sample(units, wanted)
    assert len(chosen) == min(count, wanted)
    assert len({unit.id for unit in chosen}) == len(chosen)
    assert chosen == sample(units, wanted)
    places = [int(unit.id) for unit in chosen]
    assert places == sorted(places)
    if chosen:
        assert places[0] == 0
        steps = {later - earlier for earlier, later in pairwise(places)}
        assert not steps or max(steps) - min(steps) <= 1


@given(st.integers(0, 60), st.integers(0, 20))
def test_an_uneven_sample_has_one_of_each_part(count: int, wanted: int) -> None:
    units = [Unit(id=str(n), content=str(n)) for n in range(count)]
    places = [int(unit.id) for unit in sample(units, wanted, uneven=True)]
    assert len(places) == min(count, wanted)
    assert all(place * count // wanted <= one < (place + 1) * count // wanted for place, one in enumerate(places)) or (
        count <= wanted
    )


class Half:
    """Keeps every second unit, and says so or not."""

    private = True

    def __init__(self, *, counts: bool, rewrites: bool = False) -> None:
        self.rewrites = rewrites
        if counts:
            self.count = lambda: len(self.kept)
        self.reset()

    def reset(self) -> None:
        self.kept: list[str] = []
        self.told = 0

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        self.told += 1
        if self.rewrites:
            self.kept.append(content.upper())
        elif self.told % 2:
            self.kept.append(content)

    def recall(self, query: str, limit: int, context: QueryContext) -> list[str]:
        return [one for one in self.kept if one.lower() == query]


def came_of(memory: Half, *, in_all: int | None = 40, cases: int = 1) -> Readback | None:
    """Return what came of asking units back, of so many conversations with 24 units."""
    session = Memory(Own("half", memory), wait=lambda _: None, probed=4, in_all=in_all)
    for number in range(cases):
        facts = tuple(Fact(id=f"u{n}", text=f"unit {n} of {number}") for n in range(24))
        session.ask(
            Case(
                id="c",
                scenario="s",
                dimension="d",
                input="?",
                judges=(JudgeCall(name="x"),),
                memory=MemoryPart(facts=facts),
            )
        )
    return session.readback


def test_a_memory_that_keeps_every_second_unit_is_told_of() -> None:
    silent, counting = came_of(Half(counts=False)), came_of(Half(counts=True))
    assert silent is not None
    assert silent.trouble == "2 of 4 units did not come back when asked by their own words"
    assert counting is not None
    assert counting.trouble.startswith("it says that it holds 12 of 24 units; 2 of 4 units did not come back")


def test_units_that_no_case_stores_are_read_back_as_well() -> None:
    session = Memory(Own("half", Half(counts=True)), wait=lambda _: None, probed=4, in_all=4)
    units = [Unit(id=f"u{n}", content=f"unit {n}") for n in range(24)]
    for unit in units:
        session.store(unit.content, unit.metadata)
    assert session.read_back(units).trouble.startswith("it says that it holds 12 of 24 units; 2 of 4 units did not")


def test_a_memory_that_keeps_sessions_apart_has_kept_what_it_hands_out_at_home() -> None:
    session = Memory(resolve("sessions", BUILT_IN), wait=lambda _: None, probed=4)
    units = [
        Unit(id=f"u{n}", content=f"unit {n}", metadata={"id": f"u{n}", "session": "payroll", "isolated": "true"})
        for n in range(4)
    ]
    for unit in units:
        session.store(unit.content, unit.metadata)
    assert session.read_back(units).missing == 4
    assert session.read_back(units, at_home=True).trouble == ""


def test_a_memory_that_rewrites_is_told_of() -> None:
    found = came_of(Half(counts=True, rewrites=True))
    assert found is not None
    assert found.trouble == "4 of 4 units did not come back when asked by their own words"


def test_no_more_is_asked_back_than_is_allowed_in_all() -> None:
    found = came_of(Half(counts=True), in_all=10, cases=4)
    assert found is not None
    assert (found.asked, found.stored, found.held) == (10, 96, 48)


def test_of_what_is_told_in_stages_the_new_units_are_counted_and_all_are_asked_back() -> None:
    texts = [[Unit(id=f"u{stage}-{n}", content=f"unit {stage}-{n}") for n in range(24)] for stage in range(3)]
    stages = [Stage(str(place), lambda units=units: tuple(units)) for place, units in enumerate(texts)]  # type: ignore[misc]
    session = Memory(Own("half", Half(counts=True)), wait=lambda _: None, probed=4)
    usages = []
    for count in (1, 1, 3):
        asked = Case(id="c", scenario="s", dimension="d", input="?", judges=(JudgeCall(name="x"),))
        part = Haystack.staged(tuple(stages[:count]))
        usages.append(session.ask(asked.model_copy(update={"memory": part})).usage)
    assert "memory_stored" not in usages[1], "it is there"
    told = [
        [one.get(f"memory_{name}") for name in ("stored", "held", "probed", "stages")] for one in (usages[0], usages[2])
    ]
    assert told == [[24, 12, 4, None], [48, 24, 4, 2]]
    assert session.readback is not None
    assert session.readback.trouble == "it says that it holds 36 of 72 units"


def test_what_an_answer_says_of_it_comes_back() -> None:
    one = Readback(stored=24, asked=4, same=1, changed=1, missing=2, held=12)
    usage = {"memory_stored": 24, "memory_probed": 4, "memory_changed": 1, "memory_missing": 2, "memory_held": 12}
    assert readback_of(usage) == one
    assert readback_of({"memory_stored": 3}) == Readback(stored=3)
    assert (NOTHING.trouble, Readback(stored=3, held=5).trouble) == ("", "")


def test_sums_and_words() -> None:
    one = Readback(stored=3, asked=2, same=1, changed=1, held=2)
    both = one + Readback(stored=1, asked=1, missing=1, held=1)
    assert both == Readback(stored=4, asked=3, same=1, changed=1, missing=1, held=3)
    assert str(both) == (
        "stored 4 units, of which it says it holds 3; of 3 asked back, 1 came as they were, 1 changed, 1 not at all"
    )
    assert (one + NOTHING).held is None
    assert str(NOTHING) == "stored 1 unit"


class Odd:
    """Answers with a number, and cannot count."""

    private = True

    def reset(self) -> None: ...

    def store(self, content: str, metadata: Mapping[str, str]) -> None: ...

    def recall(self, query: str, limit: int, context: QueryContext) -> list[str]:
        return []

    def answer(self, query: str, limit: int, context: QueryContext) -> object:
        return 5

    def count(self) -> int:
        raise ConnectionError("gone")


def test_what_a_memory_cannot_do_is_one_sentence() -> None:
    memory = Memory(Own("mine", Odd()), wait=Loop().wait)
    with pytest.raises(CaseError, match="memory answer: answered with int; return text, or None for no answer"):
        memory.answer("What colour?")
    with pytest.raises(CaseError, match="gone"):
        memory.read_back([UNIT])
    assert memory.read_back([UNIT], as_far=True) == NOTHING


def test_a_run_that_stops_tells_no_more() -> None:
    memory = Memory(resolve("sqlite-fts", BUILT_IN), wait=Loop().wait, is_halted=lambda: True)
    with pytest.raises(HaltedError):
        memory.store_all([UNIT])
    assert memory.count() == 0
