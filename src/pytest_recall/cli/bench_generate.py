"""`recall bench generate`: a persona's days, written by a model or offline."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from pytest_recall.cli.bench_author import (
    AskOptions,
    AuthorOptions,
    add_model,
    check_effect,
    estimate_of,
    say,
    spent,
    spent_line,
    writing,
)
from pytest_recall.cli.common import Commands, placeless
from pytest_recall.files.errors import StoppedError
from pytest_recall.horizon.commands.options import (
    ASKING,
    RANGE,
    Usual,
    add_days,
    add_folders,
    add_persona,
    corpus_of,
    few,
    profile_of,
    root_of,
    say_unused,
    selector_of,
    settled,
    span_of,
)

if TYPE_CHECKING:
    from pytest_recall.horizon.passes.days import WantedDays

USUAL = Usual(temperature=0.7, max_tokens=2_000, timeout=600_000)
WINDOW, CONCURRENCY = 3, 4
DETAILS = f"""\
Writes DIR/memories-…/day-0001.md and so on, from DIR/persona.yaml and the story in DIR/arcs-….yaml. One call
is made for each session of a day, with what belongs to it: its own last entries, its arcs, what has to happen
that day, and what is believed by then. Of confidential sessions others learn a title at most.

A day is written when all of its sessions are. Days that are there stay as they are, and what was written in
them is what later days go on from; so the same command goes on where one was stopped. Replies are kept in
DIR/.recall-bench, and none is paid for twice; delete the folder to have everything asked again.

  recall bench generate --persona DIR --model offline
  recall bench generate --persona DIR --model anthropic:claude-haiku-4-5 --days 30 --dry-run
  recall bench generate --profile run.yaml --start 31 --end 60

--model is a model's selector (`recall judges models` prints the forms), or `offline[:SEED]`, which asks no model.
What a profile says under `persona`, `models.generation` and `generate` counts where no option does.

Exits with 2 if not all days were written, and the sentence says why. Defaults: --max-tokens {USUAL.max_tokens:,},
--history-window {WINDOW}, --concurrency {CONCURRENCY}, --timeout {USUAL.timeout:,}.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "generate", "write a persona's days", run, DETAILS)
    add_persona(parser)
    add_folders(parser)
    add_days(parser)
    parser.add_argument("--model", metavar="SELECTOR", help="who writes: a model, or offline[:SEED]")
    add_model(parser, tokens=USUAL.max_tokens, timeout=USUAL.timeout)
    parser.add_argument(
        "--history-window",
        type=_whole,
        metavar="N",
        help=f"how many of its own last entries a session is told (default: {WINDOW})",
    )
    parser.add_argument(
        "--concurrency", type=few, metavar="N", help=f"how many sessions of a day at once (default: {CONCURRENCY})"
    )
    parser.add_argument("--overwrite", action="store_true", help="write days again that are there")
    parser.add_argument("--dry-run", action="store_true", help="only say what it would take at the most")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) > 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count; write a whole number from 0 to 1000")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.corpus import alone
    from pytest_recall.horizon.passes.days import WantedDays
    from pytest_recall.horizon.passes.work import seed_of

    profile = profile_of(args)
    model = selector_of(args, profile, "generation")
    given = {"--temperature": args.temperature, "--max-tokens": args.max_tokens}
    check_effect(model, {**given, "--timeout": args.timeout, "--concurrency": args.concurrency})
    corpus = corpus_of(args, profile)
    say_unused(args, profile, *RANGE, "history_window", *(() if seed_of(model) else ASKING))
    settled(args, profile, USUAL)
    window = args.history_window
    if window is None:
        written = None if profile is None else profile.generate.history_window
        window = WINDOW if written is None else written
    end = corpus.story.end
    first, last = span_of(args, profile, end or 1)
    days = WantedDays(corpus, first, last, window, args.overwrite)
    if first <= end < last:
        say(f"{corpus.arcs_path}: the story ends with day {end:,}, so that no day after it is written, up to {last:,}")
    asked = AskOptions(model, args.temperature, args.max_tokens, args.timeout, args.concurrency or CONCURRENCY)
    if args.dry_run:
        return _need(args, days, asked)
    plans = days.plans()
    with alone(corpus.path, corpus.memories), writing(asked, corpus.path, root_of(args)) as writer:
        try:
            return _write(args, days, len(plans), writer)
        except KeyboardInterrupt:
            raise StoppedError("stopped; whole days stay, replies are kept, and the same command goes on") from None


def _write(args: argparse.Namespace, days: WantedDays, total: int, writer: AuthorOptions) -> int:
    from pytest_recall.files.wording import plural
    from pytest_recall.horizon.passes.work import PassProgress

    done = days.write(writer.author, PassProgress("day", total).step)
    folder = days.corpus.memories
    if args.json:
        plain = {"version": 1, "folder": str(folder), "days": total, "written": len(done.written)}
        plain |= {"kept": len(done.kept), **spent(writer.work), "problems": list(done.stopped)}
        print(json.dumps(plain, indent=2, ensure_ascii=False))
    else:
        kept = f", {len(done.kept):,} were there" if done.kept else ""
        print(f"{folder}: {plural(len(done.written), 'day')} written{kept}; {spent_line(writer.work)}")
    for problem in done.stopped:
        say(problem)
    if done.stopped:
        say("the days before it are whole, replies are kept, and the same command continues it")
    return 2 if done.stopped else 0


def _need(args: argparse.Namespace, days: WantedDays, asked: AskOptions) -> int:
    """Say what the pass would take."""
    from pytest_recall.files.wording import plural
    from pytest_recall.horizon.passes.work import sentence

    need = days.need(asked.max_tokens)
    estimate = estimate_of(asked, root_of(args), need.sizes)
    if args.json:
        print(json.dumps({"version": 1, "days": need.days, "kept": need.kept, **estimate._asdict()}, indent=2))
    else:
        print(sentence(plural(need.days, "day"), estimate, need.kept))
    return 0
