"""Units: what a memory is told of a day."""

from __future__ import annotations

from datetime import date
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.memory_part import Unit
from pytest_recall.horizon.day import DayPiece, UnitKind, pieces_of, session_of, units_of

TEXT = """\
# session: principal

### One

First.

### Two

Second.

# session: payroll

Ben earns 7,033.
"""
ON = date(2024, 1, 7)


def units(day: int, text: str, kind: UnitKind, **about: Any) -> list[Unit]:
    return units_of(day, pieces_of(text, kind), numbered=kind == "topic", **about)


def ids(kind: UnitKind, text: str = TEXT) -> list[str]:
    return [unit.id for unit in units(7, text, kind, on=ON, persona="clerk", arcs=[])]


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("day", ["day-0007"]),
        ("session", ["day-0007/principal", "day-0007/payroll"]),
        ("topic", ["day-0007/principal/1", "day-0007/principal/2", "day-0007/payroll/1"]),
    ],
)
def test_a_unit_is_named_by_day_session_and_topic(kind: UnitKind, wanted: list[str]) -> None:
    assert ids(kind) == wanted


def test_what_a_memory_learns_of_a_unit() -> None:
    first = units(7, TEXT, "session", on=ON, persona="clerk", arcs=["a", "b"])[0]
    assert first.content == "### One\n\nFirst.\n\n### Two\n\nSecond."
    assert first.metadata == {
        "id": "day-0007/principal",
        "day": "7",
        "date": "2024-01-07",
        "persona": "clerk",
        "arcs": "a,b",
        "session": "principal",
    }


def test_a_memory_learns_which_sessions_are_isolated() -> None:
    found = units(7, TEXT, "topic", on=ON, persona="clerk", arcs=[], isolated={"payroll"})
    assert [one.metadata.get("isolated") for one in found] == [None, None, "true"]


def test_what_stands_before_the_first_session_is_told_too() -> None:
    assert list(pieces_of("Before.\n\n# session: a\n\nIn it.", "session")) == [
        DayPiece("", "Before."),
        DayPiece("a", "In it."),
    ]
    assert ids("session", "No session at all.") == ["day-0007"]
    assert ids("topic", "No session at all.") == ["day-0007/1"]


_WORDS = st.text(alphabet="abc \n", min_size=1, max_size=40).filter(str.strip)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.lists(_WORDS, min_size=1, max_size=3)), max_size=5))
def test_no_word_of_a_day_is_lost(blocks: list[tuple[str, list[str]]]) -> None:
    text = "\n\n".join(
        "\n\n".join([f"# session: {session}", *(f"### {topic}" for topic in topics)]) for session, topics in blocks
    )
    wanted = sorted(word for _, topics in blocks for topic in topics for word in topic.split())
    for kind in get_args(UnitKind):
        told = " ".join(unit.content for unit in units(1, text, kind, on=ON, persona="p", arcs=[]))
        lines = [line for line in told.splitlines() if not line.startswith("# session")]
        assert sorted(" ".join(lines).replace("###", " ").split()) == wanted
        names = [unit.id for unit in units(1, text, kind, on=ON, persona="p", arcs=[])]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("id", "session"), [("day-0001/fleet", "fleet"), ("day-0001/fleet/2", "fleet"), ("day-0001", ""), ("fleet/2", "")]
)
def test_an_id_says_its_session(id: str, session: str) -> None:
    assert session_of(id) == session
