"""Retries: when there is another attempt, and how long it waits."""

from __future__ import annotations

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.models.rate import Retry, asked_for, is_temporary, wait
from tests.helpers.samples import costly

SECONDS = st.floats(0, 1000)
RETRIES = st.builds(Retry, attempts=st.integers(1, 10), total=SECONDS, base=SECONDS, cap=SECONDS, longest=SECONDS)
ROLLS = st.floats(0, 1)
SHARES = st.floats(0, 1.25)


@costly
@given(RETRIES, st.integers(1, 12) | st.integers(1, 2000), SHARES, st.none() | SHARES, ROLLS)
def test_a_wait_is_within_every_bound(
    retry: Retry, failures: int, gone: float, share: float | None, roll: float
) -> None:
    """What is `asked` for, and what is spent, is near their bounds, so that it is on either side."""
    spent, asked = gone * retry.total, None if share is None else share * retry.longest
    seconds = wait(retry, failures, spent, asked, roll)
    if seconds is None:
        return
    assert failures < retry.attempts
    assert spent + seconds <= retry.total
    if asked is None:
        assert 0 <= seconds <= min(retry.cap, retry.base * 2.0 ** (failures - 1))
    else:
        assert asked <= retry.longest
        assert asked <= seconds <= asked + min(asked, retry.cap)


@given(RETRIES, st.integers(1, 20), SECONDS, st.none() | SECONDS)
def test_a_wait_grows_with_the_roll(retry: Retry, failures: int, spent: float, asked: float | None) -> None:
    low, high = (wait(retry, failures, spent, asked, roll) for roll in (0.0, 1.0))
    assert high is None or (low is not None and low <= high)


@given(st.integers(1, 30), ROLLS)
def test_the_ceiling_doubles_up_to_the_cap(failures: int, roll: float) -> None:
    retry = Retry(attempts=100, base=0.5, cap=8.0)
    assert wait(retry, failures, 0, None, 1.0) == min(8.0, 0.5 * 2 ** (failures - 1))
    assert wait(retry, failures, 0, None, roll) == roll * min(8.0, 0.5 * 2 ** (failures - 1))


def test_the_attempts_are_counted_with_the_first() -> None:
    assert wait(Retry(attempts=1), 1, 0, None, 0.5) is None
    assert wait(Retry(attempts=2), 1, 0, None, 0.5) is not None
    assert wait(Retry(attempts=2), 2, 0, None, 0.5) is None


def test_nobody_waits_longer_than_allowed() -> None:
    assert wait(Retry(longest=60), 1, 0, 60, 0) == 60
    assert wait(Retry(longest=60), 1, 0, 61, 0) is None
    assert wait(Retry(total=30), 1, 0, 31, 0) is None


@pytest.mark.parametrize("given", [{"attempts": 0}, {"total": -1}, {"cap": float("nan")}, {"longest": float("inf")}])
def test_no_patience_at_all_is_refused(given: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="at least one attempt"):
        Retry(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_temporary(status: int) -> None:
    assert is_temporary(status)
    assert not is_temporary(status, "insufficient_quota")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_not_temporary(status: int) -> None:
    assert not is_temporary(status)


NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": formatdate(NOW + 30, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(NOW - 30, usegmt=True)}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
    ],
)
def test_what_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_for(headers, NOW) == seconds


@given(st.dictionaries(st.sampled_from(["retry-after", "Retry-After", "retry-after-ms"]), st.text(max_size=20)))
def test_any_header_is_seconds_or_nothing(headers: dict[str, str]) -> None:
    seconds = asked_for(headers, NOW)
    assert seconds is None or 0 <= seconds < float("inf")
