"""What the commands share that have one file written for each day."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recall.cli.bench_author import check_effect, say, spent, spent_line
from pytest_recall.horizon.commands.options import (
    ASKING,
    RANGE,
    Usual,
    add_asking,
    add_days,
    add_folders,
    add_persona,
    corpus_of,
    days_of,
    profile_of,
    say_unused,
    selector_of,
    settled,
    working,
)

if TYPE_CHECKING:
    from pytest_recall.horizon.corpus import Corpus
    from pytest_recall.horizon.passes.daily import Asking, LeftOut
    from pytest_recall.horizon.passes.work import PassEstimate, Work


def add_options(parser: argparse.ArgumentParser, base: str, usual: Usual) -> None:
    """Add the options of a pass whose files are in the folder `base`."""
    add_persona(parser)
    add_folders(parser, base)
    add_days(parser)
    add_asking(parser, usual)
    parser.add_argument("--overwrite", action="store_true", help="overwrite existing files")


def daily(
    args: argparse.Namespace,
    usual: Usual,
    kinds: Sequence[str],
    *,
    path: Callable[[Corpus, int], Path],
    prompts: Callable[[Corpus, int], tuple[str, str]],
    write: Callable[[Corpus, Sequence[int], Work, Asking], list[LeftOut]],
    retold: Callable[[Corpus, int, str], str],
) -> int:
    """Have the days written that are not there, or only say what it would take, and return the exit code.

    `kinds` are the models of a profile that may write, the first of them that it names; `path` is where a day's
    file is, and `retold` its text by the author who asks no model, of a seed.
    """
    from pytest_recall.horizon.passes.daily import Asking, LeftOut
    from pytest_recall.horizon.passes.work import PassEstimate, forecast, seed_of, sizes_of

    profile = profile_of(args)
    corpus = corpus_of(args, profile)
    days = days_of(args, profile, corpus)
    say_unused(args, profile, *RANGE, *ASKING)
    selector = selector_of(args, profile, *kinds)
    if (seed := seed_of(selector)) is not None:
        options = {f"--{name.replace('_', '-')}": getattr(args, name) for name in (*ASKING, "timeout")}
        check_effect(selector, {**options, "--concurrency": None if args.concurrency == 1 else args.concurrency})

        def tell(wanted: Sequence[int]) -> list[LeftOut]:
            texts = ((day, retold(corpus, day, seed)) for day in wanted)
            return [LeftOut(day, "the day says nothing") for day, text in texts if not _write(path(corpus, day), text)]

        return _pass(args, corpus, days, path, lambda _: PassEstimate(0, 0, 0, 0.0), tell, None)
    settled(args, profile, usual)
    with working(selector, args) as work:
        asking = Asking(args.temperature, args.max_tokens)
        return _pass(
            args,
            corpus,
            days,
            path,
            lambda wanted: forecast(work.model, sizes_of((prompts(corpus, day) for day in wanted), args.max_tokens)),
            lambda wanted: write(corpus, wanted, work, asking) if wanted else [],
            work,
        )


def _pass(
    args: argparse.Namespace,
    corpus: Corpus,
    days: Sequence[int],
    path: Callable[[Corpus, int], Path],
    estimate: Callable[[Sequence[int]], PassEstimate],
    write: Callable[[Sequence[int]], list[LeftOut]],
    work: Work | None,
) -> int:
    """Have `write` write the days that are not there, or only say what it would take, and return the exit code."""
    from pytest_recall.files.wording import plural
    from pytest_recall.horizon.corpus import alone
    from pytest_recall.horizon.passes.daily import reasons
    from pytest_recall.horizon.passes.work import sentence

    folder = path(corpus, days[0]).parent
    if args.dry_run:
        wanted = _wanted(args, corpus, days, path)
        kept, found = len(days) - len(wanted), estimate(wanted)
        plain = {"version": 1, "days": len(wanted), "kept": kept, **found._asdict()}
        print(json.dumps(plain, indent=2) if args.json else sentence(plural(len(wanted), "day"), found, kept))
        return 0
    with alone(corpus.path, folder):
        wanted = _wanted(args, corpus, days, path)
        left_out = write(wanted)
    for told in reasons(left_out):
        say(told)
    done, kept = len(wanted) - len(left_out), len(days) - len(wanted)
    if args.json:
        plain = {"version": 1, "folder": str(folder), "written": done, "kept": kept, **spent(work)}
        print(json.dumps({**plain, "left_out": [one._asdict() for one in left_out]}, indent=2, ensure_ascii=False))
    else:
        told = f"{plural(done, 'day')} written, {kept:,} were there, {len(left_out):,} left out"
        print(f"{folder}: {told}; {spent_line(work)}")
    return 2 if left_out else 0


def _write(path: Path, text: str) -> bool:
    """Write a day's file; return whether there was anything to write."""
    from pytest_recall.files.disk import write_text

    if text:
        write_text(path, text, durable=True)
    return bool(text)


def _wanted(
    args: argparse.Namespace, corpus: Corpus, days: Sequence[int], path: Callable[[Corpus, int], Path]
) -> list[int]:
    return [day for day in days if args.overwrite or not path(corpus, day).exists()]
