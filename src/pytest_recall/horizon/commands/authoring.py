"""The commands `recall bench create-persona` and `generate`: write a persona, its story and its days."""

from __future__ import annotations

import argparse
import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recall.cli.common import Commands, placeless, say
from pytest_recall.files.duration import show_duration
from pytest_recall.files.errors import RecallError, StoppedError
from pytest_recall.files.wording import plural, same_command
from pytest_recall.horizon.commands.options import (
    ASKING,
    RANGE,
    AskOptions,
    AuthorOptions,
    Usual,
    add_days,
    add_folders,
    add_model,
    add_persona,
    corpus_of,
    count,
    estimate_of,
    few,
    folder_of,
    profile_of,
    root_of,
    say_unused,
    selector_of,
    settled,
    span_of,
    spent,
    spent_line,
    writing,
)

if TYPE_CHECKING:
    from pytest_recall.horizon.passes.days import WantedDays
    from pytest_recall.horizon.passes.work import StoryRequest
    from pytest_recall.horizon.persona import Persona
    from pytest_recall.horizon.profile import Profile


CREATE_PERSONA_USUAL, DAYS = Usual(temperature=0.7, max_tokens=4_000, timeout=120_000), 1_000
CREATE_PERSONA_DETAILS = """\
Writes DIR/persona.yaml, with sessions, cast and shared knowledge, and DIR/arcs-<N>d.yaml, the story of its days:
arcs that overlap and are mentioned in other sessions, and beliefs that are corrected. Each reply of the model is
checked; if something is missing or wrong, the model is told what and asked again, three times at most. Nothing is
written before all of it is valid. `recall bench generate` then writes the days.

  recall bench create-persona --model anthropic:claude-sonnet-5 --persona DIR --days 180 --prompt \\
      'the assistant of the head of a small museum, with a confidential loan and a confidential vacancy'
  recall bench create-persona --profile run.yaml --prompt 'the clerk of a timber yard'
  recall bench create-persona --arcs-only --days 365 --persona DIR --model … --prompt …   another story

--model is a model's selector (`recall judges models` prints the forms). A story may be twice as long as --max-tokens.
Without a model there is the persona `ferry-office`, which is shipped: `recall bench run --persona ferry-office`.

What a profile says under `persona`, `models.creation` (or else `models.generation`) and `generate` counts where
no option does. Of the days it is `days`, else `end`, else the number in the name of its story.
"""


def add_create_persona(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "create-persona", "write a persona and its story", run_create_persona, CREATE_PERSONA_DETAILS
    )
    parser.add_argument("--prompt", metavar="TEXT", help="what kind of persona to write")
    parser.add_argument("--model", metavar="SELECTOR", help="the model that writes")
    add_persona(parser)
    parser.add_argument(
        "--epoch", type=_date, metavar="YYYY-MM-DD", help="the date of the first day (default: 2024-01-01)"
    )
    parser.add_argument("--days", type=count, metavar="N", help=f"how many days (default: {DAYS})")
    parser.add_argument("--arcs", metavar="FILE", help="the file name of the story (default: arcs-<N>d.yaml)")
    parser.add_argument("--arcs-only", action="store_true", help="write another story for a persona that is there")
    add_model(parser, tokens=CREATE_PERSONA_USUAL.max_tokens, timeout=CREATE_PERSONA_USUAL.timeout)
    parser.add_argument("--dry-run", action="store_true", help="print what it would take, and do nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _date(text: str) -> date:
    from pytest_recall.horizon.persona import FIRST, LAST

    try:
        found = date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date; write one like 2024-01-01") from None
    if not FIRST <= found <= LAST:
        raise argparse.ArgumentTypeError(f"{text!r} is out of reach; write a date from {FIRST} to {LAST}")
    return found


def run_create_persona(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.consistency import SHORTEST
    from pytest_recall.horizon.corpus import PERSONA, Corpus
    from pytest_recall.horizon.passes.work import StoryRequest
    from pytest_recall.horizon.persona import DEFAULT_EPOCH

    profile = profile_of(args)
    model = selector_of(args, profile, "creation", "generation")
    args.persona = folder_of(args, profile)
    arcs, days = _story(args, profile)
    say_unused(args, profile, "days", "end", *ASKING)
    settled(args, profile, CREATE_PERSONA_USUAL)
    if args.prompt is None:
        raise RecallError("--prompt: is missing; say in a sentence what kind of persona it is")
    if days < SHORTEST:
        raise RecallError(f"--days: {days} are too few for a story; give at least {SHORTEST}")
    if Path(arcs).name != arcs or not arcs.endswith((".yaml", ".yml")):
        raise RecallError(f"--arcs: {arcs!r} is not the name of a file; write one like arcs-{days}d.yaml")
    corpus = Corpus(args.persona, arcs)
    if corpus.arcs_path.exists():
        raise RecallError(f"{corpus.arcs_path}: is there already; name another with --arcs")
    there = args.persona / PERSONA
    if there.exists() and not args.arcs_only:
        raise RecallError(f"{there}: is there already; name another --persona, or add a story with --arcs-only")
    known = corpus.persona if args.arcs_only else None
    wanted = StoryRequest(args.prompt, args.epoch or (known and known.epoch) or DEFAULT_EPOCH, days)
    asked = AskOptions(model, args.temperature, args.max_tokens, args.timeout)
    if args.dry_run:
        return _need_create_persona(args, wanted, known, asked)
    with writing(asked, args.persona, root_of(args)) as writer:
        try:
            code = _create(args, corpus.arcs_path, wanted, known, writer)
        except KeyboardInterrupt:
            kept = "nothing is written, replies are kept"
            raise StoppedError(f"stopped; {kept}: {same_command()}") from None
    if profile is not None and profile.persona.id != (id := corpus.persona.id):
        say(f"{args.profile}: persona.id: is {profile.persona.id!r}, and the persona's is {id!r}; write that there")
    return code


def _story(args: argparse.Namespace, profile: Profile | None) -> tuple[str, int]:
    """Return the name of the story's file, and how many days it has: as given, or as the profile says."""
    from pytest_recall.horizon.persona import days_in

    named = None
    if profile is not None and args.days is None and "arcs" in profile.persona.model_fields_set:
        named = profile.persona.arcs
    part = None if profile is None else profile.generate
    written = None if part is None else part.days or part.end
    days: int = args.days or written or days_in(args.arcs or named or "") or DAYS
    return args.arcs or named or f"arcs-{days}d.yaml", days


def _create(
    args: argparse.Namespace, arcs: Path, wanted: StoryRequest, known: Persona | None, writer: AuthorOptions
) -> int:
    from pytest_recall.horizon.corpus import PERSONA
    from pytest_recall.horizon.passes.days import create_persona, create_story, write_persona, write_story

    persona = known
    if persona is None:
        say("inventing the persona")
        persona = create_persona(writer.author, wanted)
    say("inventing the story")
    story = create_story(writer.author, wanted, persona)
    # The persona comes last: where it is, all of it is.
    write_story(arcs, story)
    if known is None:
        write_persona(args.persona / PERSONA, persona)
    if args.json:
        plain = {"version": 1, "persona": str(args.persona / PERSONA), "id": persona.id, "arcs": str(arcs)}
        plain |= {"days": wanted.days, "epoch": wanted.epoch.isoformat(), "count": len(story.arcs)}
        print(json.dumps({**plain, **spent(writer.work)}, indent=2, ensure_ascii=False))
        return 0
    isolated = sum(one.isolated for one in persona.sessions)
    print(f"{args.persona / PERSONA}: {persona.name}, {plural(len(persona.sessions), 'session')}, {isolated} isolated")
    print(f"{arcs}: {plural(len(story.arcs), 'arc')} over {plural(wanted.days, 'day')} from {wanted.epoch} on")
    say(spent_line(writer.work))
    return 0


def _need_create_persona(
    args: argparse.Namespace, wanted: StoryRequest, known: Persona | None, asked: AskOptions
) -> int:
    """Say what it would take if the first replies can be taken. What the story's prompt has is not there yet."""
    from pytest_recall.horizon.passes.prompts import PERSONA, STORY, persona, story
    from pytest_recall.horizon.passes.work import sentence
    from pytest_recall.metrics.answers import estimated_tokens

    most = asked.max_tokens
    # A story is told the persona, which is as long as its reply may be, and may be twice as long itself.
    if known is None:
        asking = persona(*wanted)
        sizes = [(estimated_tokens([PERSONA, asking]), most), (estimated_tokens([STORY, asking]) + most, 2 * most)]
    else:
        sizes = [(estimated_tokens([STORY, story(*wanted, known)]), 2 * most)]
    estimate = estimate_of(asked, root_of(args), sizes)
    if args.json:
        print(json.dumps({"version": 1, **estimate._asdict()}, indent=2))
    else:
        print(sentence("a story" if known else "a persona and its story", estimate))
    return 0


GENERATE_USUAL = Usual(temperature=0.7, max_tokens=2_000, timeout=600_000)
WINDOW, CONCURRENCY = 3, 4
GENERATE_DETAILS = f"""\
Writes DIR/memories-…/day-0001.md and so on, from DIR/persona.yaml and the story in DIR/arcs-….yaml. One call
is made for each session of a day. Its prompt has the session's last entries, its arcs, the events of that day, and
what is believed by then; of a confidential session, prompts for other sessions have the title at most.

A day is written when all of its sessions are. Days that are there stay as they are, and what was written in
them is what later days go on from: run the same command again to resume a stopped one. Replies are kept in
DIR/.recall-bench, and none is paid for twice; delete the folder to have everything asked again.

  recall bench generate --persona DIR --model anthropic:claude-haiku-4-5 --days 30 --dry-run
  recall bench generate --profile run.yaml --start 31 --end 60

--model is a model's selector (`recall judges models` prints the forms).
What a profile says under `persona`, `models.generation` and `generate` counts where no option does.

Exits with 2 if not all days were written, and the sentence says why.
Defaults: --max-tokens {GENERATE_USUAL.max_tokens:,}, --history-window {WINDOW}, --concurrency {CONCURRENCY},
--timeout {show_duration(GENERATE_USUAL.timeout)}.
"""


def add_generate(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "generate", "write a persona's days", run_generate, GENERATE_DETAILS)
    add_persona(parser)
    add_folders(parser)
    add_days(parser)
    parser.add_argument("--model", metavar="SELECTOR", help="the model that writes")
    add_model(parser, tokens=GENERATE_USUAL.max_tokens, timeout=GENERATE_USUAL.timeout)
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
    parser.add_argument("--dry-run", action="store_true", help="print what it would take at most, and do nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) > 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count; write a whole number from 0 to 1000")
    return int(text)


def run_generate(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.corpus import alone
    from pytest_recall.horizon.passes.days import WantedDays

    profile = profile_of(args)
    model = selector_of(args, profile, "generation")
    corpus = corpus_of(args, profile)
    say_unused(args, profile, *RANGE, "history_window", *ASKING)
    settled(args, profile, GENERATE_USUAL)
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
        return _need_generate(args, days, asked)
    plans = days.plans()
    with alone(corpus.path, corpus.memories), writing(asked, corpus.path, root_of(args)) as writer:
        try:
            return _write(args, days, len(plans), writer)
        except KeyboardInterrupt:
            kept = "whole days stay, replies are kept"
            raise StoppedError(f"stopped; {kept}: {same_command()}") from None


def _write(args: argparse.Namespace, days: WantedDays, total: int, writer: AuthorOptions) -> int:
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
        say(f"the days before it are complete and replies are kept; {same_command()}")
    return 2 if done.stopped else 0


def _need_generate(args: argparse.Namespace, days: WantedDays, asked: AskOptions) -> int:
    """Say what the pass would take."""
    from pytest_recall.horizon.passes.work import sentence

    need = days.need(asked.max_tokens)
    estimate = estimate_of(asked, root_of(args), need.sizes)
    if args.json:
        print(json.dumps({"version": 1, "days": need.days, "kept": need.kept, **estimate._asdict()}, indent=2))
    else:
        print(sentence(plural(need.days, "day"), estimate, need.kept))
    return 0
