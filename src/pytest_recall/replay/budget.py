"""Keep a run within its budget: what its calls have cost and may yet cost, in all processes, and if another may begin.

A call reserves what it may cost before it begins, and what it has cost takes the place of that when it ends. So the sum
of what is spent and reserved is never above the budget, as far as no call costs more than it has reserved.

Calls reserve in the order in which they arrive. One that does not fit beside those in flight waits for them, and those
behind it wait as well; it is refused only if it does not fit into what is not spent.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from pytest_recall.files import clock, event_loop
from pytest_recall.files.disk import check_link, make_ignored, open_file, remove
from pytest_recall.files.wording import budget_words, dollars
from pytest_recall.replay.cassette_library import is_running
from pytest_recall.replay.exchange import Call, Exchange, Request, Tokens
from pytest_recall.replay.forks import lock
from pytest_recall.replay.token_estimate import reply_limit, request_tokens, writes
from pytest_recall.replay.wire_formats import asked_model, asks_model

_ENTRY = struct.Struct("<cQd")
"""What an entry is of, the number of its call, 0 without one, and an amount in US dollars."""
_BUDGET, _ASKED, _SPENT, _ESTIMATED, _CLOSED, _RESUMED, _DIED = b"b", b"r", b"s", b"e", b"c", b"a", b"d"
_ROUNDING = 1 + 1e-9
"""A sum of many amounts may be off in its last digits."""
_RANDOM_BYTES = 4
"""The lower bytes of the number of a call; the upper ones are the number of its process."""


class LedgerTotal(NamedTuple):
    """What was spent so far."""

    usd: float = 0.0
    """In US dollars."""
    unknown: int = 0
    """How many calls have no known cost."""
    estimated: bool = False
    """Whether part of the cost is counted from texts."""
    refused: float | None = None
    """What a call may cost for which there is no room: one that was not made, or the cheapest so far; None where there
    is room."""


class Balance(NamedTuple):
    """How a budget stands."""

    budget: float
    """In US dollars."""
    spent: LedgerTotal = LedgerTotal()
    """What was spent of it."""
    barred: str = ""
    """Why no call may begin whatever it costs; empty where one may."""


@dataclass(slots=True)
class _State:
    """What the entries of a ledger come to, in their order."""

    budget: float = math.inf
    spent: float = 0.0
    unknown: int = 0
    estimated: bool = False
    cheapest: float = math.inf
    """What the cheapest call has cost, 0 left out."""
    refused: float | None = None
    """What a call may cost that was not made."""
    entries: int = 0
    reserved: dict[int, float] = field(default_factory=dict)
    """The amounts of the calls in flight, by the numbers of the calls."""
    waiting: dict[int, float] = field(default_factory=dict)
    """The amounts of the calls that wait for these, in the order of their arrival, by the numbers of the calls."""

    def is_beyond(self, usd: float) -> bool:
        """Whether a call of this cost will not fit either when all calls in flight have ended at no cost."""
        return self.spent >= self.budget or self.spent + usd > self.budget * _ROUNDING

    @property
    def no_room_for(self) -> float | None:
        """What a call may cost for which there is no room; None where a call was neither refused nor is sure to be."""
        if self.refused is None and self.cheapest < math.inf and self.is_beyond(self.cheapest):
            return self.cheapest
        return self.refused

    def take(self, kind: bytes, number: int, usd: float) -> None:
        self.entries += 1
        if kind == _BUDGET:
            self.budget = usd
        elif kind == _ASKED:
            # The amount of a call that waits may change, and its place does not.
            if number not in self.reserved:
                self.waiting[number] = usd
        elif kind == _CLOSED:
            self.refused = usd
        elif kind == _RESUMED:
            # What the calls have cost that were cut off with their run is not known: as much as they may have.
            self.estimated = self.estimated or any(self.reserved.values())
            self.spent += sum(self.reserved.values())
            self.reserved, self.waiting, self.refused, self.cheapest = {}, {}, None, math.inf
        elif kind == _DIED:
            self.waiting.pop(number, None)
            self.spent += (lost := self.reserved.pop(number, 0.0))
            self.estimated = self.estimated or lost > 0
        else:
            self.reserved.pop(number, None)
            self.waiting.pop(number, None)
            if math.isnan(usd):
                self.unknown += 1
            else:
                self.spent += usd
                self.cheapest = min(self.cheapest, usd or math.inf)
                self.estimated = self.estimated or kind == _ESTIMATED
        self._admit()

    def _admit(self) -> None:
        """Let calls begin that have waited, in their order, up to the first that has to wait on.

        Each process reads the same entries in the same order, and comes to the same answer without a lock.
        """
        for number, usd in list(self.waiting.items()):
            if self.is_beyond(usd):
                continue  # It is going to be refused, or to ask for less, and holds nobody up.
            if self.spent + sum(self.reserved.values()) + usd > self.budget * _ROUNDING:
                break
            self.reserved[number] = self.waiting.pop(number)


class Ledger:
    """The money of a run in US dollars. An entry is with the operating system as soon as it is made.

    Each entry is one short append, which no other process can come between. Raises OSError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = lock()
        self._read = 0
        self._state = _State()

    def hold_to(self, budget: float) -> None:
        """Hold what is reserved from now on to `budget`."""
        self._append(_BUDGET, 0, budget)

    def resume(self) -> None:
        """Begin again after a run that was cut off: what its calls had reserved counts as spent."""
        self._append(_RESUMED, 0, 0.0)

    def add(self, usd: float | None, number: int = 0, *, estimated: bool = False) -> None:
        """Add what a call has cost, None if unknown, in place of what it has reserved or has asked for."""
        self._append(_ESTIMATED if estimated else _SPENT, number, math.nan if usd is None else usd)

    def ask(self, usd: float, number: int = 0) -> int:
        """Ask for an amount and return the number of the call; one that has a `number` waits at its place for it.

        The call has it once it is among those of the state that are `reserved`.
        """
        number = number or os.getpid() << 8 * _RANDOM_BYTES | int.from_bytes(os.urandom(_RANDOM_BYTES))
        self._append(_ASKED, number, usd)
        return number

    def end_dead(self) -> None:
        """End the calls of processes that have died: those in flight may have cost what they had reserved."""
        state = self.state()
        for number in (*state.reserved, *state.waiting):
            process = number >> 8 * _RANDOM_BYTES
            if process != os.getpid() and not is_running(process):
                self._append(_DIED, number, 0.0)

    def close(self, usd: float) -> None:
        """Say to all processes that a call that may cost so much does not fit any more."""
        self._append(_CLOSED, 0, usd)

    def state(self) -> _State:
        """Return what all entries so far come to, of all processes."""
        with self._lock:
            try:
                with open_file(self.path, "rb") as file:
                    file.seek(self._read)
                    news = file.read()
            except FileNotFoundError:
                news = b""
            # Of an entry that another process is just writing a part may be there: it is read the next time.
            whole = len(news) - len(news) % _ENTRY.size
            for entry in _ENTRY.iter_unpack(news[:whole]):
                self._state.take(*entry)
            self._read += whole
            return replace(self._state, reserved=dict(self._state.reserved), waiting=dict(self._state.waiting))

    def sums(self) -> LedgerTotal:
        """Return what was spent so far, by all processes."""
        state = self.state()
        return LedgerTotal(state.spent, state.unknown, state.estimated, state.no_room_for)

    def remove(self) -> None:
        """Delete the file."""
        remove(self.path)

    def _append(self, kind: bytes, number: int, usd: float) -> None:
        make_ignored(self.path.parent)
        check_link(self.path)
        with open_file(self.path, "ab", buffering=0) as file:
            file.write(_ENTRY.pack(kind, number, usd))


def unpriced(call: Call) -> str:
    """Return the model of a call whose tokens are known and whose price is not; else an empty text.

    No call of that model can be counted.
    """
    counted = call.tokens is not None and call.tokens.input is not None
    return (call.model or "a model without a name") if counted and call.cost is None else ""


def models_without_price(calls: Iterable[Call]) -> tuple[str, ...]:
    """Return the models whose calls have no cost since no price is known, sorted; those without a name are left out."""
    return tuple(sorted({call.model for call in calls if call.model and unpriced(call)}))


class SpentBudget(NamedTuple):
    """Why no further call may begin."""

    usd: float
    """The budget, in US dollars."""
    is_spent: bool
    """False where something is left of it, which has no room for another call."""
    unpriced: str = ""
    """The model whose price is unknown: what cannot be counted cannot be kept within a budget either."""


def spent_text(found: SpentBudget) -> str:
    """Return in words why no further call may begin."""
    if found.unpriced:
        return (
            f"the price of `{found.unpriced}` is unknown, so that no budget can be kept;"
            f" add {price_entry(found.unpriced)} to rubric.yaml, in US dollars per million tokens, or leave out"
            " the budget"
        )
    return f"{budget_words(found.usd)} {'is spent' if found.is_spent else 'has no room for another call'}"


_PLAIN_KEY = re.compile(r"[A-Za-z0-9][\w./@-]*(?::[\w./@-]+)*")


def price_entry(model: str) -> str:
    """Return the lines of a rubric that name the price of a model, in one."""
    return f"`prices: {{{price_key(model)}: {{input: USD, output: USD}}}}`"


def price_key(model: str) -> str:
    """Return the name of a model as a key in YAML."""
    return model if _PLAIN_KEY.fullmatch(model) else json.dumps(model, ensure_ascii=False)


def dollars_of(text: str) -> float:
    """Return the amount that a person wrote as `2`, `2.00` or `$2`. Raises ValueError."""
    try:
        amount = float(text.strip().removeprefix("$"))
    except ValueError:
        amount = -1.0
    if not 0 < amount < 1e9:
        raise ValueError(f"{text!r} is not an amount of US dollars above 0, such as 2.00")
    return amount


_ROUNDED_OFF = 1e-6
GUESSED_ANSWER = 256
"""Tokens of the answer to a call that names no limit, as long as this run has no answer of the same model."""
PATIENCE = 600.0
"""Seconds for which a call waits while no other call ends: as long as the SDKs of vendors wait for an answer."""
PAUSE = 0.05
"""Seconds after which a waiting call looks again."""
_CACHED = b'"cache_control"'


class Pricing(NamedTuple):
    """What is to be known of prices here."""

    call_of: Callable[[Exchange], Call]
    """Returns the call that an exchange was."""
    price_of: Callable[[Request, Tokens], float | None]
    """Returns what tokens cost that a request takes, in US dollars; None where the price of the model that is asked is
    not known."""


@dataclass(slots=True)
class _Observed:
    """What the answers of a model say of the next call."""

    ratio: float = 0.0
    """Tokens of the input by those that were counted for it."""
    longest: int = 0
    """The most tokens of an answer."""
    dearest: float = 0.0
    """The most US dollars of a call."""


def may_cost(
    request: Request,
    price_of: Callable[[Request, Tokens], float | None],
    recorded: int | None = None,
    observed: _Observed | None = None,
) -> float:
    """Return what a call may cost, in US dollars: 0 where it asks no model, or the price is not known.

    `recorded` is how many tokens the longest answer in the recording of its case has, and `observed` what calls of its
    model have shown. A call of a model whose price only replies show, such as a proxy on this machine, may cost as much
    as its dearest one so far.
    """
    if not asks_model(request):
        return 0.0
    observed = observed or _Observed()
    counted = math.ceil(request_tokens(request) * max(observed.ratio, 1.0) - _ROUNDED_OFF)
    output = 0
    if writes(request) != "vectors":
        output = reply_limit(request) or observed.longest or recorded or GUESSED_ANSWER
    usd = price_of(request, Tokens(counted, output))
    if _CACHED in request.body:
        written = price_of(request, Tokens(0, output, cache_write=counted))
        usd = max(usd, written) if usd is not None and written is not None else usd
    return usd or observed.dearest


class Meter:
    """The budget of a run, which all of its processes share.

    A call that has begun is never cut off. It costs what it has reserved or less if its input has no more tokens than
    are counted for it, and its answer is no longer than the request allows, or than any answer before it.
    """

    def __init__(self, budget: float, ledger: Ledger, pricing: Pricing) -> None:
        self.budget = budget
        self._ledger = ledger
        self._price_of = pricing.price_of
        self.call_of = pricing.call_of
        self._observed: dict[str, _Observed] = {}
        self._unpriced = ""
        self._lock = lock()
        self._is_open = False

    def may_cost(self, request: Request, recorded: int | None = None) -> float:
        """Return what a call may cost, for all that the calls of its model have shown so far; see `may_cost`."""
        return may_cost(request, self._price_of, recorded, self._observed.get(asked_model(request) or ""))

    def begin(
        self, request: Request, recorded: int | None = None, check: Callable[[], None] = lambda: None
    ) -> BudgetHold:
        """Return what is held of the budget for a call, or is not yet; `check` raises where its case is called off."""
        with self._lock:  # No call may ask before the ledger knows the budget: it would hold it to none.
            if not self._is_open:
                self._ledger.hold_to(self.budget)
                self._is_open = True
        hold = BudgetHold(self, request, recorded, check)
        hold.take()
        return hold

    def ask(self, usd: float, number: int = 0) -> int:
        """Ask for an amount, as the ledger does."""
        return self._ledger.ask(usd, number)

    def reserved(self, number: int) -> float | None:
        """Return what the call of this number has reserved; None if nothing."""
        return self._ledger.state().reserved.get(number)

    def costed(self, exchange: Exchange, hold: BudgetHold | None) -> Call:
        """Return the call that an exchange was. One that the network cut may have cost what was held for it."""
        call = self.call_of(exchange)
        if hold is None or not hold.usd or call.cost is not None or unpriced(call):
            return call
        return call._replace(cost=hold.usd, estimated=True)

    def count(self, call: Call, hold: BudgetHold | None = None) -> None:
        """Take in a live call that has ended."""
        if hold is not None:
            self._learn(hold.request, call)
        self._unpriced = unpriced(call) or self._unpriced
        self._ledger.add(call.cost, 0 if hold is None else hold.number, estimated=call.estimated and bool(call.cost))

    def learn(self, request: Request, call: Call) -> None:
        """Take in what a call has shown that another process has made, which is in the ledger already."""
        self._learn(request, call)
        self._unpriced = unpriced(call) or self._unpriced

    def _learn(self, request: Request, call: Call) -> None:
        if call.cost is None or call.tokens is None:
            return
        tokens = call.tokens
        with self._lock:
            observed = self._observed.setdefault(asked_model(request) or "", _Observed())
            observed.longest = max(observed.longest, tokens.output or 0)
            observed.dearest = max(observed.dearest, call.cost)
            if not call.estimated:
                read = (tokens.input or 0) + (tokens.cache_read or 0) + (tokens.cache_write or 0)
                observed.ratio = max(observed.ratio, read / max(1, request_tokens(request)))

    def is_beyond(self, usd: float) -> bool:
        """Whether an amount will not fit either when all calls in flight have ended at no cost."""
        return self._ledger.state().is_beyond(usd)

    def progress(self) -> int:
        """Return a number that grows when a call of any process begins or ends, also by the death of its process."""
        self._ledger.end_dead()
        return self._ledger.state().entries

    def refuse(self, usd: float) -> str:
        """Return why a call that may cost so much does not begin, and let no further case begin."""
        state = self._ledger.state()
        if self._unpriced or state.spent >= self.budget:
            return spent_text(SpentBudget(self.budget, is_spent=True, unpriced=self._unpriced))
        self._ledger.close(usd)
        left = dollars(max(self.budget - state.spent, 0.0))
        told = f"{spent_text(SpentBudget(self.budget, is_spent=False))}: it may cost {dollars(usd)}, and {left}"
        if state.is_beyond(usd):
            return f"{told} is left"
        held = sum(state.reserved.values())
        return f"{told} is left, of which calls that do not end have reserved {dollars(held)}"

    def barred(self) -> str:
        """Return why no call may begin, whatever it costs; empty if one may."""
        if not self._unpriced:
            return ""
        return spent_text(SpentBudget(self.budget, is_spent=False, unpriced=self._unpriced))

    def closed(self) -> SpentBudget | None:
        """Return why no further case may begin; None if one may.

        That is so when a call was refused, or what is left is less than any call has cost.
        """
        sums = self.sums()
        is_spent = sums.usd >= self.budget
        if not (self._unpriced or is_spent or sums.refused is not None):
            return None
        return SpentBudget(self.budget, is_spent, self._unpriced)

    def balance(self) -> Balance:
        """Return how the budget stands."""
        return Balance(self.budget, self.sums(), self.barred())

    def sums(self) -> LedgerTotal:
        """Return what was spent so far."""
        return self._ledger.sums()

    def close(self) -> None:
        """Forget what was spent: the journal knows it better."""
        self._ledger.remove()


class BudgetHold:
    """What one call holds of the budget: `usd` is what it may cost, and `number` its number, 0 if it asks for nothing.

    One that does not fit waits for the calls in flight, which may cost less than they have reserved. Those that arrive
    later wait behind it. `patience` is for how many seconds it waits while no other call ends.
    """

    def __init__(
        self, meter: Meter, request: Request, recorded: int | None = None, check: Callable[[], None] = lambda: None
    ) -> None:
        self.request = request
        self.usd = 0.0
        self.number = 0
        self.is_taken = False
        """Whether the call may begin."""
        self.patience = PATIENCE
        self._recorded = recorded
        self._check = check
        self._meter = meter
        self._seen = -1
        self._since = 0.0

    def take(self) -> bool:
        """Ask for the amount, and return whether it is reserved. Answers to other calls may have changed it."""
        usd = self._meter.may_cost(self.request, self._recorded)
        if usd == 0 and not self.number:
            self.is_taken = not self._meter.is_beyond(0.0)
        elif self.number or not self._meter.is_beyond(usd):
            if not self.number or usd != self.usd:
                self.number = self._meter.ask(usd, self.number)
            reserved = self._meter.reserved(self.number)
            self.is_taken = reserved is not None
            usd = usd if reserved is None else reserved
        self.usd = usd
        return self.is_taken

    def refusal(self) -> str:
        """Return why the call will never begin; empty if it may yet."""
        if (why := self._meter.barred()) or self._meter.is_beyond(self.usd):
            return why or self._meter.refuse(self.usd)
        now, entries = clock.monotonic(), self._meter.progress()
        if entries != self._seen:
            self._seen, self._since = entries, now
        return self._meter.refuse(self.usd) if now - self._since > self.patience else ""

    def wait(self, refused: Callable[[str], BaseException]) -> None:
        """Wait in this thread until the call may begin. Raises what `refused` makes of the reason if it never may."""
        with self._leaving():
            while not (self.is_taken or self.take()):
                self._may_wait(refused)
                time.sleep(PAUSE)

    async def wait_async(self, refused: Callable[[str], BaseException]) -> None:
        """Do the same in a task."""
        with self._leaving():
            while not (self.is_taken or self.take()):
                self._may_wait(refused)
                await event_loop.sleep(PAUSE)

    @contextmanager
    def _leaving(self) -> Iterator[None]:
        """Hold nobody up any more where the wait ends without the call."""
        try:
            yield
        except BaseException:
            self.release()
            raise

    def _may_wait(self, refused: Callable[[str], BaseException]) -> None:
        self._check()
        if why := self.refusal():
            raise refused(why)

    def release(self) -> None:
        """Give back what is held or waited for, of a call that was not made."""
        if self.number:
            self._meter.count(Call("", "live", cost=0.0), self)
        self.number, self.is_taken = 0, False
