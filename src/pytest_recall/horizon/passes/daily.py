"""Daily: passes that have one file written for each day, each whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import NamedTuple, TypeVar

from pytest_recall.core.errors import StoppedError
from pytest_recall.core.horizon.salvage import Unreadable
from pytest_recall.core.model import ModelError
from pytest_recall.horizon.passes.work import Progress, Work

ATTEMPTS = 2
"""How often a day is asked for before it is left out."""
Read = TypeVar("Read")


class Asking(NamedTuple):
    """How a model is asked."""

    temperature: float | None
    max_tokens: int


class LeftOut(NamedTuple):
    """A day without a file, and why."""

    day: int
    why: str


def ask(work: Work, asking: Asking, system: str, message: str, read: Callable[[str], Read]) -> Read:
    """Return what `read` makes of the reply; one that it cannot read is asked for again.

    Raises Unreadable or ModelError.
    """
    problem = ""
    for attempt in range(1, ATTEMPTS + 1):
        said = f"{message}\n\nThis was asked before, and the reply {problem}. Write it anew." if problem else message
        reply = work.ask(system, said, max_tokens=asking.max_tokens, temperature=asking.temperature)
        try:
            if reply.stop == "refused":
                raise Unreadable("is a refusal")
            return read(reply.text)
        except Unreadable as error:
            cut = f", at the limit of {asking.max_tokens:,} tokens" if reply.stop == "length" else ""
            problem = f"{error}{cut}"
            if attempt == ATTEMPTS:
                raise Unreadable(problem) from None
    raise AssertionError("the last attempt returns or raises")


class Trying:
    """Says why jobs came to nothing. What is wrong with the model itself, such as its key, is asked of it once."""

    def __init__(self) -> None:
        self._broken = ""

    def reason(self, do: Callable[[], None]) -> str:
        """Return why `do` came to nothing, empty if it came to something; may be called from several threads."""
        if self._broken:
            return self._broken
        try:
            do()
        except Unreadable as error:
            return f"the reply {error}"
        except ModelError as error:
            if not error.temporary:
                self._broken = str(error)
            return str(error)
        return ""


def write_days(
    work: Work, stretches: Sequence[Sequence[int]], write: Callable[[int], None], what: str, goes_on: Path
) -> list[LeftOut]:
    """Have `write` write each day's file, and return the days that are left out.

    Days of one stretch come one after the other, several stretches at once. Raises RecallError for a pass that
    somebody stops; `goes_on` is the folder that it names.
    """
    progress, lock = Progress(what, sum(map(len, stretches))), Lock()
    left_out, trying = list[LeftOut](), Trying()

    def one(stretch: Sequence[int]) -> None:
        for day in stretch:
            why = trying.reason(partial(write, day))
            with lock:
                if why:
                    left_out.append(LeftOut(day, why))
                progress.step()

    try:
        work.each(stretches, one)
    except KeyboardInterrupt:
        raise StoppedError(f"{goes_on}: stopped; the same command continues it") from None
    return sorted(left_out)


def reasons(left_out: Sequence[LeftOut]) -> list[str]:
    """Return a sentence for each reason, with the days that it is for."""
    days: dict[str, list[int]] = {}
    for one in left_out:
        days.setdefault(one.why, []).append(one.day)
    told = []
    for why, found in days.items():
        named = ", ".join(map(str, found[:10])) + (f" and {len(found) - 10:,} more" if len(found) > 10 else "")
        told.append(f"{'day' if len(found) == 1 else 'days'} {named} left out: {why}; the same command asks again")
    return told


def stretches(days: Sequence[int], number: int) -> list[list[int]]:
    """Return days as so many runs of days that follow one another, or fewer; their lengths differ by one at most."""
    number = min(number, len(days))
    short, longer = divmod(len(days), number) if number else (0, 0)
    found, at = list[list[int]](), 0
    for place in range(number):
        end = at + short + (place < longer)
        found.append(list(days[at:end]))
        at = end
    return found
