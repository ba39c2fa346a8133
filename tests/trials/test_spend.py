"""What calls came to: known and unknown apart, live and replayed apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.exchange import KINDS, Call, Tokens
from pytest_recall.trials.cost import Bill, Spend, by_scenario, spend_of, total
from tests.helpers.samples import costly, unhurried


def call(cost: float | None = 0.25, *, source: str = "live", kind: str = "agent", tokens: Tokens | None = None) -> Call:
    """Return a call; its costs are powers of two, so that sums are exact."""
    return Call(kind=kind, source=source, cost=cost, tokens=tokens)


def test_nothing() -> None:
    assert spend_of([]) == Spend(0, 0, Tokens(), 0, Bill(0, 0.0, 0), Bill(0, 0.0, 0), Bill(0, 0.0, 0))
    assert by_scenario([]) == {}
    assert total({}) == Spend()


def test_live_and_replayed_apart() -> None:
    calls = [call(0.25), call(0.5), call(1.0, source="replayed"), call(0.125, kind="judge")]
    found = spend_of(iter(calls))
    assert (found.calls, found.replayed) == (4, 1)
    assert found.spent == Bill(3, 0.875, 0)
    assert found.saved == Bill(1, 1.0, 0)
    assert found.recording == Bill(4, 1.875, 0)
    assert found.stays == Bill(1, 0.125, 0)


def test_which_kinds_stay_live() -> None:
    calls = [call(kind="judge"), call(0.5, kind="worker"), call(1.0, kind="judge", source="replayed")]
    assert spend_of(calls).stays == Bill(1, 0.25)
    assert spend_of(calls, stays=()).stays == Bill()
    assert spend_of(calls, stays=("worker", "judge")).stays == Bill(2, 0.75)
    assert by_scenario([("a", calls)], stays=("worker",))["a"].stays == Bill(1, 0.5)


def test_an_unknown_price_is_no_price() -> None:
    calls = [call(None), call(0.5), call(None, source="replayed"), call(None, source="replayed", kind="judge")]
    found = spend_of(calls)
    assert found.spent == Bill(2, 0.5, 1)
    assert found.saved == Bill(2, 0.0, 2)
    assert found.unpriced == 3
    assert found.recording == Bill(4, 0.5, 3)
    assert (found.spent.known, found.saved.known, found.recording.known) == (0.5, None, 0.5)


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -0.5])
def test_what_is_no_price_is_unknown(cost: float) -> None:
    assert spend_of([call(cost), call(0.5)]).spent == Bill(2, 0.5, 1)


def test_what_is_known_to_be_free_is_known() -> None:
    assert spend_of([call(0.0)]).spent == Bill(1, 0.0, 0)
    assert spend_of([call(0.0)]).spent.known == 0.0
    assert spend_of([]).spent.known == 0.0


def test_tokens_are_the_sum_of_the_known_ones() -> None:
    calls = [call(tokens=Tokens(1, 20, None, None)), call(tokens=Tokens(2, None, 0, None)), call(tokens=None)]
    found = spend_of(calls)
    assert found.tokens == Tokens(3, 20, 0, None)
    assert found.uncounted == 1
    assert spend_of([call(), call()]).tokens == Tokens()
    assert spend_of([call(), call()]).uncounted == 2


def test_small_sums_do_not_drift() -> None:
    assert spend_of([call(0.1)] * 10).spent.usd == 1.0


def test_every_attempt_counts() -> None:
    made = [("b", [call()]), ("a", [call(0.5)]), ("b", (call(1.0), call(2.0))), ("c", ())]
    found = by_scenario(iter(made))
    assert list(found) == ["a", "b", "c"]
    assert found["b"].spent == Bill(3, 3.25)
    assert found["a"].spent == Bill(1, 0.5)
    assert found["c"] == Spend()
    assert total(found) == spend_of([call(), call(0.5), call(1.0), call(2.0)])


counts = st.none() | st.integers(0, 10**9)
calls = st.builds(
    Call,
    kind=st.sampled_from(KINDS),
    source=st.sampled_from(["live", "replayed"]),
    tokens=st.none() | st.builds(Tokens, counts, counts, counts, counts),
    cost=st.none() | st.integers(0, 2**20).map(lambda number: number / 1024),
)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.lists(calls, max_size=5)), max_size=6))
@costly
def test_sums_add_up(made: list[tuple[str, list[Call]]]) -> None:
    everything = [call for _, some in made for call in some]
    found = by_scenario(made)
    assert total(found) == spend_of(everything)
    assert sum(spend.calls for spend in found.values()) == len(everything)


@given(st.lists(calls), st.data())
@unhurried
def test_the_order_does_not_matter(some: list[Call], data: st.DataObject) -> None:
    assert spend_of(data.draw(st.permutations(some))) == spend_of(some)


@given(st.lists(calls))
@unhurried
def test_parts_and_wholes(some: list[Call]) -> None:
    found = spend_of(some)
    assert found.spent.calls + found.saved.calls == found.calls == len(some)
    assert found.saved.calls == found.replayed
    assert found.stays.usd <= found.spent.usd <= found.recording.usd
    assert found.unpriced == sum(call.cost is None for call in some)


@pytest.mark.parametrize("source", ["live", "mixed", ""])
def test_only_a_replayed_call_is_free(source: str) -> None:
    """A source of a later version is money until the contrary is known."""
    assert spend_of([call(source=source)]).spent == Bill(1, 0.25)
