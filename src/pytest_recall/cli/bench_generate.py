"""`recall bench generate`: a persona's days, written by a model or offline."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recall.cli.bench_author import (
    Asked,
    Writer,
    add_model,
    check_effect,
    count,
    first_of,
    price_of,
    say,
    writing,
)
from pytest_recall.cli.common import Commands, placeless
from pytest_recall.core.errors import RecallError

if TYPE_CHECKING:
    from pytest_recall.core.horizon.profile import GeneratePart, Profile
    from pytest_recall.horizon.corpus import Corpus
    from pytest_recall.horizon.passes.days import Days

TOKENS, TIMEOUT, WINDOW, CONCURRENCY = 2_000, 600_000, 3, 4
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

--model is a model's selector (`recall models list` prints the forms), or `offline[:SEED]`, who asks nobody.
What a profile says under `persona`, `models.generation` and `generate` counts where no option does.

Exits with 2 if not all days were written, and the sentence says why. Defaults: --max-tokens {TOKENS:,},
--history-window {WINDOW}, --concurrency {CONCURRENCY}, --timeout {TIMEOUT:,}.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "generate", "write a persona's days", run, DETAILS)
    parser.add_argument("--persona", type=Path, metavar="DIR", help="the persona's folder")
    parser.add_argument("--model", metavar="SELECTOR", help="who writes: a model, or offline[:SEED]")
    parser.add_argument("--profile", type=Path, metavar="FILE", help="a profile that says what no option does")
    parser.add_argument("--arcs", metavar="FILE", help="the story (default: the only one, or arcs-1000d.yaml)")
    parser.add_argument("--memories-dir", metavar="DIR", help="where days are written (default: by the story's name)")
    parser.add_argument("--days", type=count, metavar="N", help="write the days 1 to N (default: all of the story)")
    parser.add_argument("--start", type=count, metavar="A", help="the first day to write (default: 1)")
    parser.add_argument("--end", type=count, metavar="B", help="the last day to write (default: the story's last)")
    add_model(parser, tokens=TOKENS, timeout=TIMEOUT)
    parser.add_argument(
        "--history-window",
        type=_whole,
        metavar="N",
        help=f"how many of its own last entries a session is told (default: {WINDOW})",
    )
    parser.add_argument(
        "--concurrency", type=count, metavar="N", help=f"how many sessions of a day at once (default: {CONCURRENCY})"
    )
    parser.add_argument("--overwrite", action="store_true", help="write days again that are there")
    parser.add_argument("--dry-run", action="store_true", help="only say what it would take at the most")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) > 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no count; write a whole number from 0 to 1000")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.core.horizon.profile import GeneratePart
    from pytest_recall.horizon.passes.days import Days

    profile = _profile(args.profile)
    model = first_of([args.model, profile and profile.models.generation])
    if model is None:
        raise RecallError("--model: is missing; name a model, or `offline`, which asks nobody")
    given = {"--temperature": args.temperature, "--max-tokens": args.max_tokens}
    check_effect(model, {**given, "--timeout": args.timeout, "--concurrency": args.concurrency})
    corpus = _corpus(args, profile)
    said = profile.generate if profile else GeneratePart()
    window = first_of([args.history_window, said.history_window, WINDOW])
    days = Days(corpus, *_range(args, said, corpus), window, args.overwrite)
    asked = Asked(
        model,
        first_of([args.temperature, said.temperature, 0.7]),
        first_of([args.max_tokens, said.max_tokens, TOKENS]),
        args.timeout or TIMEOUT,
        args.concurrency or CONCURRENCY,
    )
    if args.dry_run:
        return _need(args, days, asked)
    plans = days.plans()
    with writing(asked, corpus.path) as writer:
        try:
            return _write(args, days, len(plans), writer)
        except KeyboardInterrupt:
            raise RecallError("stopped; whole days stay, replies are kept, and the same command goes on") from None


def _write(args: argparse.Namespace, days: Days, total: int, writer: Writer) -> int:
    from pytest_recall.horizon.passes.work import Progress
    from pytest_recall.render.sentences import plural

    done = days.write(writer.author, Progress("day", total).step)
    folder = days.corpus.memories
    if args.json:
        plain = {"version": 1, "folder": str(folder), "days": total, "written": len(done.written)}
        plain |= {"kept": len(done.kept), **writer.spent(), "problems": list(done.stopped)}
        print(json.dumps(plain, indent=2, ensure_ascii=False))
    else:
        kept = f", {len(done.kept):,} were there" if done.kept else ""
        print(f"{folder}: {plural(len(done.written), 'day')} written{kept}; {writer.told()}")
    for problem in done.stopped:
        say(problem)
    if done.stopped:
        say("the days before it are whole, replies are kept, and the same command goes on from here")
    return 2 if done.stopped else 0


def _need(args: argparse.Namespace, days: Days, asked: Asked) -> int:
    """Say what the pass would take."""
    from pytest_recall.horizon.passes.author import seed_of
    from pytest_recall.render.cost import dollars
    from pytest_recall.render.sentences import plural

    need = days.need(asked.max_tokens)
    offline = seed_of(asked.model) is not None
    if offline:
        need = need._replace(calls=0, input_tokens=0, output_tokens=0)
    usd = 0.0 if offline else price_of(asked.model, need.input_tokens, need.output_tokens)
    if args.json:
        print(json.dumps({"version": 1, **need._asdict(), "usd": usd}, indent=2))
        return 0
    cost = "at an unknown price" if usd is None else f"for {dollars(usd)} at list price"
    kept = f" ({need.kept:,} more are there)" if need.kept else ""
    print(
        f"{plural(need.days, 'day')}{kept}: {plural(need.calls, 'call')}"
        + ("" if offline else f", at the most about {need.input_tokens:,} tokens in")
        + ("" if offline else f" and {need.output_tokens:,} out, {cost}")
    )
    return 0


def _profile(path: Path | None) -> Profile | None:
    from pytest_recall.core.horizon.profile import Profile
    from pytest_recall.store.written import read_mapping

    if path is None:
        return None
    profile = read_mapping(path, str(path), Profile, "`persona`")
    if profile.env is not None:
        say(f"{path}: env.file: no variable is taken from it here; set those that the model needs")
    return profile


def _corpus(args: argparse.Namespace, profile: Profile | None) -> Corpus:
    from pytest_recall.horizon.corpus import Corpus, story_name

    if profile is None:
        if args.persona is None:
            raise RecallError("--persona: is missing; name the persona's folder, or a --profile that does")
        return Corpus(args.persona, story_name(args.persona, args.arcs), memories=args.memories_dir)
    said = profile.persona
    folder = args.persona or args.profile.parent / (said.dir or ".")
    return Corpus(
        folder, args.arcs or said.arcs, memories=first_of([args.memories_dir, said.memories_dir]), dates=said.dates
    )


def _range(args: argparse.Namespace, said: GeneratePart, corpus: Corpus) -> tuple[int, int]:
    """Return the first and the last day that are wanted."""
    if args.days is not None and (args.start is not None or args.end is not None):
        raise RecallError("--days says where it ends, and so do --start and --end; give either")
    end = max((arc.end_day for arc in corpus.story.arcs), default=1)
    alone = args.start is None and args.end is None
    days = args.days if args.days is not None or not alone else said.days
    if days is not None:
        return 1, days
    first = first_of([args.start, said.start, 1])
    last = first_of([args.end, said.end, end])
    if last < first:
        raise RecallError(f"--start: {first} is after {last}, the last day; begin earlier")
    return first, last
