"""Damaged files: each of them loads soundly or is one sentence, and none loads nothing."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_recall.datasets.dataset import Inventory, Kind, Sample
from pytest_recall.datasets.file import open_dataset
from pytest_recall.datasets.telling import units
from pytest_recall.files.errors import RecallError
from tests.datasets.files import FORMATS, plain, text_of

PLAIN: dict[str, list[Any]] = {format: plain(format) for format in FORMATS}
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.sampled_from(["D1:1", "D1:1; D2:2", "2024/01/01 (Mon) 10:00", "session_1", "user", "_abs"]),
    st.just([]),
    st.just({}),
    st.lists(st.text(max_size=3), max_size=2),
)
EVERY = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])


def inner(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place within a value: what holds it, and its key or index."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from inner(value[key])


@st.composite
def changed(draw: st.DrawFn, format: str) -> Any:
    """Return the rows of a sample after a few drops, replacements, renames and repetitions."""
    rows = copy.deepcopy(PLAIN[format])
    for _ in range(draw(st.integers(1, 3))):
        places = list(inner(rows))
        if not places:
            break
        # High places are few, and break more.
        high = [place for place in places if isinstance(place[1], str) and place[0] in rows]
        holder, key = draw(st.sampled_from(draw(st.sampled_from([places, high or places]))))
        action = draw(st.sampled_from(["drop", "replace", "rename", "repeat"]))
        if action == "drop":
            del holder[key]
        elif action == "replace":
            holder[key] = draw(VALUES)
        elif isinstance(holder, dict):
            value = holder.pop(key)
            holder[draw(st.sampled_from([f"{key}s", f"old_{key}", "session_07", "x_date_time"]))] = value
        else:
            holder.append(holder[key])
    return rows


def check(path: Path, rows: Any, format: str, *, forced: bool) -> list[Sample] | None:
    """Load the file, and hold the result against the rows where there are some; None for a sentence."""
    try:
        samples = list(open_dataset(path, "file", format if forced else None).samples())
    except RecallError as error:
        (message,) = error.messages
        assert message.startswith("file: ")
        assert "\n" not in message
        return None
    inventory = Inventory()
    for sample in samples:
        inventory.add(sample)
        ids = [unit.id for unit in units(sample.conversation)]
        assert len(set(ids)) == len(ids)
        known = {turn.id for turn in sample.conversation.turns()}
        assert all(set(question.evidence) <= known for question in sample.questions)
        assert sample.questions
    assert inventory.turns > 0
    assert inventory.questions > 0
    assert inventory.to_json()["questions"] == sum(len(sample.questions) for sample in samples)
    if rows is not None:
        assert inventory.conversations == len(rows)
        assert inventory.questions == sum(len(row["qa"]) if format == "locomo" else 1 for row in rows)
        passed_over = inventory.oddities[Kind.UNREAD] + inventory.oddities[Kind.NO_SESSION]
        assert passed_over or inventory.turns == sum(map(_turns, rows))
    return samples


def _turns(row: Any) -> int:
    if "conversation" in row:
        return sum(len(value) for key, value in row["conversation"].items() if isinstance(value, list))
    chats = row.get("haystack_sessions") or [*(chat["dialog"] for chat in row["previous_dialogs"]), row["dialog"]]
    return sum(map(len, chats))


@pytest.mark.parametrize("format", FORMATS)
@EVERY
@given(data=st.data())
def test_changed_rows(format: str, data: st.DataObject, tmp_path: Path) -> None:
    rows = data.draw(changed(format))
    path = tmp_path / "f"
    path.write_text(text_of(format, rows), encoding="utf-8")
    check(path, rows, format, forced=data.draw(st.booleans()))


@pytest.mark.parametrize("format", FORMATS)
@EVERY
@given(data=st.data())
def test_damaged_bytes(format: str, data: st.DataObject, tmp_path: Path) -> None:
    raw = bytearray(text_of(format, PLAIN[format]).encode())
    for _ in range(data.draw(st.integers(0, 2))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(raw)))
    path = tmp_path / "f"
    path.write_bytes(raw[:end])
    check(path, None, format, forced=data.draw(st.booleans()))


@EVERY
@given(data=st.binary(max_size=200))
def test_any_bytes(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(data)
    for format in (None, *FORMATS):
        with pytest.raises(RecallError, match=r"^file:"):
            list(open_dataset(path, "file", format).samples())
