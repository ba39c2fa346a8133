"""Ledger: amounts that the processes of one run add up, in a file to which all of them append."""

from __future__ import annotations

import math
import struct
import threading
from pathlib import Path

from pytest_recall.store.files import check_link, make_ignored

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
        """Add what a call has cost; None if nobody knows."""
        make_ignored(self.path.parent)
        check_link(self.path)
        with self.path.open("ab", buffering=0) as file:
            file.write(_AMOUNT.pack(math.nan if usd is None else usd))

    def sums(self) -> tuple[float, int]:
        """Return the sum so far, of all processes, and how many amounts are not known."""
        with self._lock:
            try:
                with self.path.open("rb") as file:
                    file.seek(self._read)
                    news = file.read()
            except FileNotFoundError:
                news = b""
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
        self.path.unlink(missing_ok=True)
