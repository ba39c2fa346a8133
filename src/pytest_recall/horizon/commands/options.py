"""Options that commands of `recall bench` share: the persona, its days, and the model that writes."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_recall.cli.common import TIME_HELP, counted, duration, say
from pytest_recall.files.disk import make_ignored
from pytest_recall.files.duration import show_duration
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import plural
from pytest_recall.horizon.persona import KEPT

if TYPE_CHECKING:
    from pytest_recall.horizon.corpus import Corpus
    from pytest_recall.horizon.passes.work import Author, PassEstimate, Work
    from pytest_recall.horizon.profile import Profile
    from pytest_recall.models.provider import Provider
    from pytest_recall.trials.cost import Bill


few = counted(1, 64)
count = counted(1, 10_000_000)
DATES = ("calendar", "legacy-dst")
RANGE, ASKING = ("days", "start", "end"), ("temperature", "max_tokens")
"""Fields of a profile's `generate`: which days, and how a model is asked."""
_FIELDS = {"max_tokens": "maxTokens", "history_window": "historyWindow"}


def add_folders(parser: argparse.ArgumentParser, *bases: str) -> None:
    """Add the options that say which story of a persona it is, and where its files are."""
    parser.add_argument("--arcs", metavar="FILE", help="the story (default: the only one, or arcs-1000d.yaml)")
    parser.add_argument("--memories-dir", metavar="DIR", help="the days (default: memories, with the story's ending)")
    for base in bases:
        told = f"default: {base}, with the story's ending"
        parser.add_argument(f"--{base}-dir", metavar="DIR", help=f"the folder below the persona's ({told})")
    add_dates(parser)


def add_dates(parser: argparse.ArgumentParser) -> None:
    """Add the option that says how days become dates."""
    parser.add_argument(
        "--dates",
        choices=DATES,
        help="how days become dates; legacy-dst is that of the published corpora (default: what the texts of the days"
        " say)",
    )


def say_dates(corpus: Corpus) -> None:
    """Say it if the days are recognised to be dated in another way than by the calendar."""
    with suppress(RecallError):  # A corpus that cannot be read is told where it is read.
        if corpus.is_dated_otherwise:
            say(f"{corpus.memories}: the days are dated by `--dates {corpus.calendar.dates}`, as their texts say")


def add_persona(parser: argparse.ArgumentParser) -> None:
    """Add the options for the persona's folder and for a profile that says the same."""
    parser.add_argument("--persona", type=Path, metavar="DIR", help="the persona's folder")
    parser.add_argument("--profile", type=Path, metavar="FILE", help="a profile, a YAML file; options override it")


class Usual(NamedTuple):
    """How a model is asked where none is given."""

    temperature: float
    max_tokens: int
    timeout: int
    """In milliseconds."""


def add_asking(parser: argparse.ArgumentParser, usual: Usual, *, concurrency: bool = True) -> None:
    """Add the options for the model that is asked."""
    parser.add_argument("--model", metavar="SELECTOR", help="the model to ask; `recall judges models` prints the forms")
    add_model(parser, tokens=usual.max_tokens, timeout=usual.timeout, temperature=usual.temperature)
    if concurrency:
        parser.add_argument("--concurrency", type=few, default=1, metavar="N", help="calls at once (default: 1)")
    parser.add_argument("--dry-run", action="store_true", help="print what it would take, and do nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_days(parser: argparse.ArgumentParser) -> None:
    """Add the options for the days that are worked on."""
    parser.add_argument("--days", type=count, metavar="N", help="the days 1 to N")
    parser.add_argument("--start", type=count, metavar="DAY", help="the first day")
    parser.add_argument("--end", type=count, metavar="DAY", help="the last day")


def profile_of(args: argparse.Namespace) -> Profile | None:
    """Return the profile that is given, None without one; its variables are taken in. Raises RecallError."""
    if args.profile is None:
        return None
    from pytest_recall.horizon.profile_file import read_profile

    return read_profile(args.profile, str(args.profile), os.environ, say)


def folder_of(args: argparse.Namespace, profile: Profile | None) -> Path:
    """Return the persona's folder, which need not be there. Raises RecallError if nothing names one."""
    if args.persona is not None:
        return Path(args.persona)
    if profile is None:
        raise RecallError("--persona: is not given, and there is no --profile; name the persona's folder")
    return Path(args.profile.parent / (profile.persona.dir or "."))


def say_unused(args: argparse.Namespace, profile: Profile | None, *used: str) -> None:
    """Say which fields of a profile's `generate` the command does not look at; it does at those `used`."""
    if profile is None:
        return
    part = profile.generate
    read = {*used} - ({"start", "end"} if part.days is not None else set())
    written = [name for name in type(part).model_fields if getattr(part, name) is not None and name not in read]
    if written:
        names = ", ".join(f"generate.{_FIELDS.get(name, name)}" for name in written)
        say(f"{args.profile}: {names}: no effect on `recall bench {args.inner}`")


def corpus_of(args: argparse.Namespace, profile: Profile | None = None) -> Corpus:
    """Return the corpus that the options and the profile name. Raises RecallError."""
    from pytest_recall.horizon.corpus import Corpus, story_name

    part = None if profile is None else profile.persona
    folder = folder_of(args, profile)
    if not folder.is_dir():
        raise RecallError(f"{folder}: no such folder; `recall bench create-persona` makes one")

    def given(option: str, written: str | None) -> Any:
        found = getattr(args, option, None)
        return found if found is not None else written

    memories = given("memories_dir", part.memories_dir if part else None)
    return Corpus(
        folder,
        given("arcs", part.arcs if part else None) or story_name(folder, None),
        memories=memories,
        qa=given("qa_dir", part.qa_dir if part else None),
        tools=given("tools_dir", part.tools_dir if part else None),
        conversations=given("conversations_dir", part.conversations_dir if part else None),
        dates=given("dates", part.dates if part else None),
    )


def span_of(args: argparse.Namespace, profile: Profile | None, last: int) -> tuple[int, int]:
    """Return the first and the last day that are asked for, by default 1 to `last`. Raises RecallError."""
    if args.days is not None and (args.start is not None or args.end is not None):
        raise RecallError("--days: means --start 1 and --end; give either")
    part = None if profile is None else profile.generate
    alone = args.start is None and args.end is None
    days = args.days if args.days is not None or part is None or not alone else part.days
    if days is not None:
        return 1, days
    start, end = (None, None) if part is None else (part.start, part.end)
    first, final = args.start or start or 1, args.end or end or last
    if final < first:
        raise RecallError(f"--start: {first} is after {final}, the last day; begin earlier")
    return first, final


def days_of(args: argparse.Namespace, profile: Profile | None, corpus: Corpus) -> list[int]:
    """Return the days of the corpus that are asked for. Raises RecallError if there are none."""
    first, last = span_of(args, profile, corpus.days[-1])
    found = [day for day in corpus.days if first <= day <= last]
    if last > (end := corpus.days[-1]) and found:
        say(f"{corpus.memories}: ends with day {end:,}, and there is nothing up to day {last:,}, which was asked for")
    if not found:
        there = f"{corpus.days[0]} to {corpus.days[-1]}"
        raise RecallError(f"{corpus.memories}: has no day from {first} to {last}; there are {there}")
    return found


def settled(args: argparse.Namespace, profile: Profile | None, usual: Usual) -> None:
    """Settle how the model is asked: as given, else by the profile, else as usual."""
    part = None if profile is None else profile.generate
    for name, default in usual._asdict().items():
        if getattr(args, name) is None:
            written = getattr(part, name, None)
            setattr(args, name, default if written is None else written)


def selector_of(args: argparse.Namespace, profile: Profile | None, *kinds: str) -> str:
    """Return the model that is given, else the first of these kinds that a profile names. Raises RecallError."""
    from pytest_recall.horizon.corpus import FERRY_OFFICE

    written = [] if profile is None else [getattr(profile.models, kind) for kind in kinds]
    found: str | None = args.model or next((one for one in written if one), None)
    if found is None:
        raise RecallError(
            "--model: is not given, and no profile names one; name a model, or run the shipped persona with"
            f" `recall bench run --persona {FERRY_OFFICE}`"
        )
    return found


def root_of(args: argparse.Namespace) -> Path:
    """Return the folder that a model's relative paths are those from: the profile's, if it is the profile's model."""
    given = args.model is not None or getattr(args, "profile", None) is None
    return Path.cwd() if given else args.profile.absolute().parent


@contextmanager
def working(selector: str, args: argparse.Namespace) -> Iterator[Work]:
    """Yield what asks the model. Raises RecallError if there is none, or something is missing for it."""
    from pytest_recall.horizon.passes.work import Work

    with model_of(selector, args.timeout, root_of(args)) as model:
        if not args.dry_run:
            model.ready()
        # What was asked is in the files that came of it, one for each call, and is not kept a second time.
        yield Work(model, None, getattr(args, "concurrency", 1))


"""The largest number that an option takes."""


class AskOptions(NamedTuple):
    """How a model is asked, with what is written where a person said nothing."""

    model: str
    temperature: float
    max_tokens: int
    timeout: int
    """In milliseconds."""
    concurrency: int = 1


class AuthorOptions(NamedTuple):
    """Who writes, and through what the model is asked."""

    author: Author
    work: Work


def spent(work: Work) -> dict[str, Any]:
    """Return how many calls were made, and their cost in US dollars, None if it is not known."""
    bill = _bill(work)
    return {"calls": bill.calls, "usd": None if bill.unpriced else bill.usd}


def spent_line(work: Work) -> str:
    """Return in words what was spent."""
    from pytest_recall.trials.cost_text import price

    bill = _bill(work)
    if not bill.calls:
        return "no call was made"
    return f"{plural(bill.calls, 'call')}, {'price unknown' if bill.known is None else price(bill)}"


def _bill(work: Work) -> Bill:
    from pytest_recall.trials.cost import spend_of

    return spend_of(work.bought).spent


@contextmanager
def writing(asked: AskOptions, folder: Path, root: Path) -> Iterator[AuthorOptions]:
    """Yield who writes; replies of models are kept below the persona's `folder`. Raises RecallError.

    A selector's relative paths are those from `root`.
    """
    from pytest_recall.horizon.passes.work import ModelAuthor, Whole, Work

    with model_of(asked.model, asked.timeout, root) as model:
        model.ready()
        make_ignored(folder / KEPT, "# Replies that were paid for; whatever is deleted here is asked again.\n")
        work = Work(Whole(model), folder / KEPT / "replies.jsonl", asked.concurrency)
        yield AuthorOptions(ModelAuthor(work, asked.max_tokens, asked.temperature), work)


def model_of(selector: str, timeout: int, root: Path) -> Provider:
    """Return a model that may take `timeout` milliseconds for a reply. Raises RecallError if there is none."""
    from pytest_recall.models.provider import ModelSettings
    from pytest_recall.models.resolve import resolve

    return resolve(selector, settings=ModelSettings.within(timeout, say), root=root)


def estimate_of(asked: AskOptions, root: Path, sizes: Iterable[tuple[int, int]]) -> PassEstimate:
    """Return what calls of these sizes take, each its tokens in and at most out."""
    from pytest_recall.horizon.passes.work import forecast

    with model_of(asked.model, asked.timeout, root) as model:
        return forecast(model, sizes)


def add_model(parser: argparse.ArgumentParser, *, tokens: int, timeout: int, temperature: float = 0.7) -> None:
    """Add the options that say how a model is asked."""
    parser.add_argument(
        "--temperature", type=_temperature, metavar="T", help=f"how freely it writes, 0 to 2 (default: {temperature})"
    )
    parser.add_argument("--max-tokens", type=count, metavar="N", help=f"the longest reply (default: {tokens})")
    parser.add_argument(
        "--timeout",
        type=duration,
        metavar="TIME",
        help=f"how long one reply may take, {TIME_HELP} (default: {show_duration(timeout)})",
    )


def _temperature(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found <= 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a temperature; write a number from 0 to 2")
    return found
