"""Calls: what a trial remembers of them, as JSON and back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.call import KINDS, Call, Tokens

counts = st.none() | st.integers(0, 10**9)
tokens = st.builds(Tokens, counts, counts, counts, counts)
calls = st.builds(
    Call,
    kind=st.sampled_from(KINDS),
    source=st.sampled_from(["live", "replayed"]),
    model=st.none() | st.text(),
    provider=st.none() | st.text(),
    tokens=st.none() | tokens,
    cost=st.none() | st.floats(0, 1e6),
    seconds=st.floats(0, 1e6),
    batched=st.booleans(),
)


@given(calls)
def test_the_way_through_json_changes_nothing(call: Call) -> None:
    assert Call.from_json(json.loads(json.dumps(call.to_json()))) == call


def test_what_is_unknown_is_left_out_and_is_not_zero() -> None:
    call = Call("agent", "live", tokens=Tokens(input=0, output=3))
    assert call.to_json() == {"kind": "agent", "source": "live", "tokens": {"input": 0, "output": 3}, "seconds": 0.0}


def test_fields_of_a_later_version_are_passed_over() -> None:
    plain = {"kind": "judge", "source": "live", "seconds": 1.0, "mood": "fine", "tokens": {"input": 1, "dreams": 2}}
    assert Call.from_json(plain) == Call("judge", "live", tokens=Tokens(input=1), seconds=1.0)


@pytest.mark.parametrize("plain", [{"kind": "agent", "source": 3}, {"kind": "agent"}, {"kind": None, "source": "live"}])
def test_what_no_version_has_written_is_refused(plain: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Call.from_json(plain)
