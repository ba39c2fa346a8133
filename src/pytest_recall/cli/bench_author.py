"""What the commands that write share: who writes, how he is asked, and what it cost."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.persona import KEPT

if TYPE_CHECKING:
    from pytest_recall.horizon.passes.work import Author, PassEstimate, Work
    from pytest_recall.models.provider import Provider
    from pytest_recall.trials.cost import Bill


MOST = 10_000_000
"""The largest number that an option takes."""


class AskOptions(NamedTuple):
    """How a model is asked, with what is written where a person said nothing. `timeout` is in milliseconds."""

    model: str
    temperature: float
    max_tokens: int
    timeout: int
    concurrency: int = 1


class AuthorOptions(NamedTuple):
    """Who writes. `work` is None where no model is asked."""

    author: Author
    work: Work | None


def spent(work: Work | None) -> dict[str, Any]:
    """Return how many calls were made, and their cost in US dollars, None if it is not known."""
    bill = _bill(work)
    return {"calls": bill.calls, "usd": None if bill.unpriced else bill.usd}


def spent_line(work: Work | None) -> str:
    """Return in words what was spent."""
    from pytest_recall.files.wording import plural
    from pytest_recall.trials.cost_text import price

    bill = _bill(work)
    if not bill.calls:
        return "no call was made"
    return f"{plural(bill.calls, 'call')}, {'price unknown' if bill.known is None else price(bill)}"


def _bill(work: Work | None) -> Bill:
    from pytest_recall.trials.cost import spend_of

    return spend_of(work.bought if work else ()).spent


def check_effect(model: str, given: dict[str, object]) -> None:
    """Refuse options, by name, that are set and have no effect since no model is asked."""
    from pytest_recall.horizon.passes.work import seed_of

    if seed_of(model) is not None:
        for name, value in given.items():
            if value is not None:
                raise RecallError(f"{name} is for models, and has no effect with --model {model}; remove it")


@contextmanager
def writing(asked: AskOptions, folder: Path, root: Path) -> Iterator[AuthorOptions]:
    """Yield who writes; replies of models are kept below the persona's `folder`. Raises RecallError.

    A selector's relative paths are those from `root`.
    """
    from pytest_recall.files.disk import make_ignored
    from pytest_recall.horizon.passes.offline_days import OfflineAuthor
    from pytest_recall.horizon.passes.work import ModelAuthor, Whole, Work, seed_of

    seed = seed_of(asked.model)
    if seed is not None:
        yield AuthorOptions(OfflineAuthor(seed), None)
        return
    with model_of(asked.model, asked.timeout, root) as model:
        model.ready()
        make_ignored(folder / KEPT, "# Replies that were paid for; whatever is deleted here is asked again.\n")
        work = Work(Whole(model), folder / KEPT / "replies.jsonl", asked.concurrency)
        yield AuthorOptions(ModelAuthor(work, asked.max_tokens, asked.temperature), work)


def model_of(selector: str, timeout: int, root: Path) -> Provider:
    """Return a model that may take `timeout` milliseconds for a reply. Raises RecallError if there is none."""
    from pytest_recall.models.provider import ModelSettings
    from pytest_recall.models.rate import Retry
    from pytest_recall.models.resolve import resolve

    seconds = timeout / 1000
    # One that took its time may be asked once more.
    settings = ModelSettings(timeout=seconds, retry=Retry(total=max(Retry().total, 2 * seconds)), say=say)
    return resolve(selector, settings=settings, root=root)


def estimate_of(asked: AskOptions, root: Path, sizes: Iterable[tuple[int, int]]) -> PassEstimate:
    """Return what calls of these sizes take, each its tokens in and at most out; nothing where no model is asked."""
    from pytest_recall.horizon.passes.work import PassEstimate, forecast, seed_of

    if seed_of(asked.model) is not None:
        return PassEstimate(0, 0, 0, 0.0)
    with model_of(asked.model, asked.timeout, root) as model:
        return forecast(model, sizes)


def say(sentence: str) -> None:
    """Say a sentence on standard error."""
    print(f"recall: {sentence}", file=sys.stderr, flush=True)


def add_model(parser: argparse.ArgumentParser, *, tokens: int, timeout: int, temperature: float = 0.7) -> None:
    """Add the options that say how a model is asked."""
    parser.add_argument(
        "--temperature", type=_temperature, metavar="T", help=f"how freely it writes, 0 to 2 (default: {temperature})"
    )
    parser.add_argument("--max-tokens", type=count, metavar="N", help=f"the longest reply (default: {tokens})")
    parser.add_argument(
        "--timeout", type=count, metavar="MS", help=f"how long one reply may take, in milliseconds (default: {timeout})"
    )


def count(text: str) -> int:
    """Return a whole number from 1 up, as an option takes it."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count; write a whole number from 1 to {MOST:,}")
    return int(text)


def _temperature(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found <= 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a temperature; write a number from 0 to 2")
    return found
