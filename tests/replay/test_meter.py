"""Meters: no dollar above a budget, whatever calls cost, in whichever order they begin and end."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import MissError
from pytest_recall.replay import budget
from pytest_recall.replay.budget import GUESSED_ANSWER, BudgetHold, Ledger, Meter, Pricing, SpentBudget
from pytest_recall.replay.call_recorder import CallRecorder, CallStep
from pytest_recall.replay.exchange import Call, Exchange, Request, Tokens
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.tape import Tape

URL = "https://api.openai.com/v1/chat/completions"
INPUT, OUTPUT = 0.01, 0.1
"""US dollars for a token."""


def price(tokens: Tokens) -> float:
    """Return what tokens cost."""
    return (tokens.input or 0) * INPUT + (tokens.output or 0) * OUTPUT


def price_of(request: Request, tokens: Tokens) -> float | None:
    if b"unpriced" in request.body:
        return None
    return 0.0 if b"free" in request.body else price(tokens)


def call_of(exchange: Exchange) -> Call:
    raise AssertionError("no exchange is made here")


def meter_at(folder: Path, usd: float, name: str = "spent") -> Meter:
    return Meter(usd, Ledger(folder / name), Pricing(call_of, price_of))


def asking(text: str = "x", url: str = URL, **more: int) -> Request:
    return Request("POST", url, (), json.dumps({"model": "m", "messages": [text], **more}).encode())


def call(request: Request, output: int, input_: int | None = None) -> Call:
    """Return a call with as many tokens of input as its text has at most, or with other ones."""
    tokens = Tokens(len(request.body) // 4 if input_ is None else input_, output)
    return Call("agent", "live", "m", "openai", tokens, price(tokens))


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def test_no_call_begins_before_the_ledger_knows_the_budget(folder: Path) -> None:
    """Two threads arrive while the first one writes the budget down."""
    writes, may_write = threading.Event(), threading.Event()

    class SlowLedger(Ledger):
        def hold_to(self, budget: float) -> None:
            writes.set()
            assert may_write.wait(30)
            super().hold_to(budget)

    meter = Meter(1.0, SlowLedger(folder / "spent"), Pricing(call_of, price_of))
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(meter.begin, asking(max_tokens=6))
        assert writes.wait(30)
        others = [pool.submit(meter.begin, asking(max_tokens=6)) for _ in range(2)]
        wait(others, timeout=0.5)
        may_write.set()
        assert [call.result(30).is_taken for call in (first, *others)].count(True) == 1


# A call: how long its text is, how long its answer may be, what share of that it is, and when it ends.
CALLS = st.lists(
    st.tuples(st.integers(0, 400), st.integers(1, 60), st.floats(0, 1), st.integers(0, 3)), min_size=1, max_size=40
)


@given(CALLS, st.floats(0.5, 60))
def test_no_dollar_above_what_was_named(calls: list[tuple[int, int, float, int]], usd: float) -> None:
    """Two processes take turns; some calls are in flight while others begin."""
    with tempfile.TemporaryDirectory() as name:
        meters = [meter_at(Path(name), usd), meter_at(Path(name), usd)]
        flying: list[tuple[int, Meter, BudgetHold, Call]] = []
        for number, (length, limit, share, later) in enumerate(calls):
            meter = meters[number % 2]
            hold = meter.begin(request := asking("x" * length, max_tokens=limit))
            if hold.is_taken:
                flying.append((number + later, meter, hold, call(request, int(limit * share))))
            for end in [one for one in flying if one[0] <= number]:
                end[1].count(end[3], end[2])
                flying.remove(end)
            assert meter.sums().usd <= usd
        for _, meter, hold, made in flying:
            meter.count(made, hold)
        assert meters[0].sums().usd <= usd


def test_threads_wait_for_each_other_and_none_is_refused_too_early(folder: Path) -> None:
    """Eight at once may cost 5.12 each, of 12, and cost 0.62: all but the last ones fit, one after the other."""
    meter = meter_at(folder, 12.0)
    refused: list[str] = []

    def ask(_: int) -> None:
        request = asking(max_tokens=50)
        hold = meter.begin(request)
        if not hold.is_taken:
            try:
                hold.wait(RuntimeError)
            except RuntimeError as error:
                refused.append(str(error))
                return
        meter.count(call(request, 5), hold)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(24)))
    assert 12 - 5.2 < meter.sums().usd <= 12
    assert refused
    assert all(one.startswith("the budget of $12.00 has no room for another call: it may cost $5.") for one in refused)


def test_tasks_wait_as_well(folder: Path) -> None:
    meter = meter_at(folder, 6.0)

    async def ask() -> None:
        request = asking(max_tokens=50)
        hold = meter.begin(request)
        await hold.wait_async(RuntimeError)
        await asyncio.sleep(0)
        meter.count(call(request, 1), hold)

    async def main() -> None:
        await asyncio.gather(ask(), ask(), ask())

    asyncio.run(main())
    assert meter.sums().usd == pytest.approx(3 * price(Tokens(len(asking(max_tokens=50).body) // 4, 1)))


def test_a_task_that_is_cancelled_while_it_waits_has_cost_nothing(folder: Path) -> None:
    meter = meter_at(folder, 6.0)
    first = meter.begin(asking(max_tokens=50))
    tape = Tape("", "off", Rules(), Redactor({}), "")

    async def main() -> None:
        hold = meter.begin(request := asking(max_tokens=50))
        recorder = CallRecorder(tape, request, "agent", record=False, meter=meter, hold=hold)
        waiting = asyncio.ensure_future(CallStep(recorder=recorder, hold=hold).begin_async())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        recorder.failed("CancelledError", "")

    asyncio.run(main())
    assert meter.sums() == (0.0, 0, False, None)
    assert [made.call for made in tape.made] == [Call("agent", "live", cost=0.0)]
    first.release()
    assert meter.begin(asking(max_tokens=50)).is_taken


def test_a_case_that_is_called_off_waits_no_longer(folder: Path) -> None:
    meter = meter_at(folder, 6.0)
    assert meter.begin(asking(max_tokens=50)).is_taken

    def check() -> None:
        raise MissError("called off")

    with pytest.raises(MissError, match="called off"):
        meter.begin(asking(max_tokens=50), check=check).wait(RuntimeError)


def test_who_waits_for_a_call_that_never_ends_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "PATIENCE", 0.1)
    meter = meter_at(folder, 6.0)
    assert meter.begin(asking(max_tokens=50)).is_taken
    waiting = meter.begin(asking(max_tokens=50))
    assert not waiting.is_taken

    def wait() -> None:
        said = "no room for another call: it may cost $5.17, and $6.00 is left, of which calls that do not end have"
        with pytest.raises(RuntimeError, match=re.escape(f"{said} reserved $5.17")):
            waiting.wait(RuntimeError)

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert meter.closed() == SpentBudget(6.0, is_spent=False)


class TestMayCost:
    """What a call may cost, before anything of it is known."""

    def test_the_limit_of_the_request_else_the_longest_answer_else_the_recording_else_a_guess(
        self, folder: Path
    ) -> None:
        meter = meter_at(folder, 1e6)
        input_ = -(-len(asking().body) // 3) * INPUT
        assert meter.may_cost(asking()) == pytest.approx(input_ + GUESSED_ANSWER * OUTPUT)
        assert meter.may_cost(asking(), 40) == pytest.approx(input_ + 40 * OUTPUT)
        for length in (30, 70, 20):
            meter.count(call(asking(), length, -(-len(asking().body) // 3)), meter.begin(asking()))
        assert meter.may_cost(asking(), 40) == pytest.approx(input_ + 70 * OUTPUT)
        limited = asking(max_tokens=7)
        assert meter.may_cost(limited, 40) == pytest.approx(-(-len(limited.body) // 3) * INPUT + 7 * OUTPUT)

    def test_the_count_of_the_text_is_corrected_by_what_vendors_have_counted(self, folder: Path) -> None:
        meter = meter_at(folder, 1e6)
        meter.count(call(asking(), 0, 500), meter.begin(asking()))
        assert meter.may_cost(asking(max_tokens=1)) > 500 * INPUT

    def test_what_asks_no_model_costs_nothing_and_is_refused_once_all_is_spent(self, folder: Path) -> None:
        meter = meter_at(folder, 1.0)
        search = asking(url="https://search.example/find")
        assert meter.may_cost(search) == 0
        assert meter.begin(search).is_taken
        meter.count(Call("agent", "live", cost=1.0))
        hold = meter.begin(search)
        assert not hold.is_taken
        assert hold.refusal() == "the budget of $1.00 is spent"  # And does not wait for others.

    def test_a_model_without_a_price_is_asked_once(self, folder: Path) -> None:
        meter = meter_at(folder, 1.0)
        request = asking("unpriced")
        hold = meter.begin(request)
        assert hold.is_taken
        meter.count(Call("agent", "live", "mine", None, Tokens(1, 1), None), hold)
        assert meter.sums() == (0.0, 1, False, None)
        assert "add `prices: {mine: {input: USD, output: USD}}` to rubric.yaml" in meter.barred()

    @pytest.mark.parametrize("text", ["unpriced", "free"])
    def test_a_price_that_only_replies_show_is_known_from_then_on(self, folder: Path, text: str) -> None:
        meter = meter_at(folder, 5.0)
        request = asking(text)
        meter.count(call(request, 30), meter.begin(request))
        assert meter.may_cost(request) == pytest.approx(call(request, 30).cost)
        assert not meter.begin(request).is_taken


def test_no_case_begins_where_no_call_so_far_would_fit(folder: Path) -> None:
    meter = meter_at(folder, 1.0)
    request = asking(max_tokens=5)
    other, cost = meter_at(folder, 1.0), call(request, 5).cost
    assert meter.balance().spent.refused is None
    meter.count(call(request, 5), meter.begin(request))
    written = (folder / "spent").read_bytes()
    assert other.balance().spent.refused == meter.balance().spent.refused == cost  # The other is of another process.
    assert meter.closed() == other.closed() == SpentBudget(1.0, is_spent=False)
    assert (folder / "spent").read_bytes() == written, "who asks changes nothing"
