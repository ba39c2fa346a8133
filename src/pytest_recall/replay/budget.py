"""Keep a run within its budget: what its calls have cost so far, in all processes, and whether another may begin."""

from __future__ import annotations

import math
import struct
import threading
from collections.abc import Callable
from pathlib import Path

from pytest_recall.files.disk import check_link, make_ignored, open_file, remove
from pytest_recall.files.wording import dollars
from pytest_recall.replay.exchange import Call, Exchange

_AMOUNT = struct.Struct("<d")


class Ledger:
    """The sum of a run in US dollars. An amount is with the operating system as soon as it is added.

    Each amount is one short append, which no other process can come between. Raises OSError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._read = 0
        self._total = 0.0
        self._unknown = 0

    def add(self, usd: float | None) -> None:
        """Add what a call has cost; None if unknown."""
        make_ignored(self.path.parent)
        check_link(self.path)
        with open_file(self.path, "ab", buffering=0) as file:
            file.write(_AMOUNT.pack(math.nan if usd is None else usd))

    def sums(self) -> tuple[float, int]:
        """Return the sum so far, of all processes, and how many amounts are not known."""
        with self._lock:
            try:
                with open_file(self.path, "rb") as file:
                    file.seek(self._read)
                    news = file.read()
            except FileNotFoundError:
                news = b""
            # Of an amount that another process is just writing a part may be there: it is read the next time.
            whole = len(news) - len(news) % _AMOUNT.size
            for (amount,) in _AMOUNT.iter_unpack(news[:whole]):
                if math.isnan(amount):
                    self._unknown += 1
                else:
                    self._total += amount
            self._read += whole
            return self._total, self._unknown

    def remove(self) -> None:
        """Delete the file."""
        remove(self.path)


def unpriced(call: Call) -> str:
    """Return the model of a call whose tokens are known and whose price is not; else an empty text.

    No call of that model can be counted.
    """
    counted = call.tokens is not None and call.tokens.input is not None
    return (call.model or "a model without a name") if counted and call.cost is None else ""


def reason(budget: float, spent: float, unpriced_model: str = "") -> str:
    """Return why no further call may begin once `spent` of `budget` dollars are gone; empty if one may.

    What cannot be counted cannot be kept within a budget either.
    """
    if unpriced_model:
        return (
            f"the price of `{unpriced_model}` is unknown, so that no budget can be kept;"
            " add it to `prices` in rubric.yaml, or leave out --budget"
        )
    return f"the budget of {dollars(budget)} is spent" if spent >= budget else ""


def dollars_of(text: str) -> float:
    """Return the amount that a person wrote as `2`, `2.00` or `$2`. Raises ValueError."""
    try:
        amount = float(text.strip().removeprefix("$"))
    except ValueError:
        amount = -1.0
    if not 0 < amount < 1e9:
        raise ValueError(f"{text!r} is not an amount of US dollars above 0, such as 2.00")
    return amount


class Meter:
    """The budget of a run, which all of its processes share. `call_of` says what a live exchange has cost.

    A call that has begun is never cut off, so that a run passes its budget by no more than
    the calls in flight.
    """

    def __init__(self, budget: float, ledger: Ledger, call_of: Callable[[Exchange], Call]) -> None:
        self.budget = budget
        self._ledger = ledger
        self.call_of = call_of
        self._unpriced = ""

    def count(self, call: Call) -> None:
        """Take in a live call that has ended."""
        self._unpriced = unpriced(call) or self._unpriced
        self._ledger.add(call.cost)

    def closed(self) -> str:
        """Return why no further call may begin; empty if one may."""
        # The file is read before each call, since other processes add to it. Nothing is reserved for a call that
        # begins, as its cost is known at its end: each process can pass the budget by what it has in flight.
        spent, _ = self._ledger.sums()
        return reason(self.budget, spent, self._unpriced)

    def sums(self) -> tuple[float, int]:
        """Return what was spent so far, in US dollars, and how many calls have no known cost."""
        return self._ledger.sums()

    def close(self) -> None:
        """Forget what was spent: the journal knows it better."""
        self._ledger.remove()
