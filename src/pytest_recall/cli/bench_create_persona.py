"""`recall bench create-persona`: a persona and its story, invented by a model or offline."""

from __future__ import annotations

import argparse
import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recall.cli.bench_author import (
    Asked,
    Writer,
    add_model,
    check_effect,
    count,
    price_of,
    say,
    spent,
    spent_line,
    writing,
)
from pytest_recall.cli.common import Commands, placeless
from pytest_recall.core.errors import RecallError

if TYPE_CHECKING:
    from pytest_recall.core.horizon.persona import Persona
    from pytest_recall.horizon.passes.author import Wish

TOKENS, TIMEOUT, DAYS = 4_000, 120_000, 1_000
DETAILS = """\
Writes DIR/persona.yaml, with sessions, cast and what everybody knows, and DIR/arcs-<N>d.yaml, the story of its
days: arcs that overlap, are touched on in other sessions, and beliefs that are corrected. What the model
replies is checked; if something is missing or wrong it is told what, three times at the most. Nothing is
written before all of it can be taken, and what is written `recall bench generate` can go on with.

  recall bench create-persona --model offline --days 60 --persona eval/personas/ferry-office
  recall bench create-persona --model anthropic:claude-sonnet-5 --persona DIR --days 180 --prompt \\
      'the assistant of the head of a small museum, with a confidential loan and a confidential vacancy'
  recall bench create-persona --arcs-only --days 365 --persona DIR --model … --prompt …   another story

--model is a model's selector (`recall models list` prints the forms), or `offline[:SEED]`, who asks nobody and
needs no --prompt. A story may be twice as long as --max-tokens.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "create-persona", "write a persona and its story", run, DETAILS)
    parser.add_argument("--prompt", metavar="TEXT", help="what kind of persona; not for offline")
    parser.add_argument("--model", required=True, metavar="SELECTOR", help="who writes: a model, or offline[:SEED]")
    parser.add_argument("--persona", type=Path, required=True, metavar="DIR", help="the persona's folder")
    parser.add_argument(
        "--epoch", type=_date, metavar="YYYY-MM-DD", help="the date of the first day (default: 2024-01-01)"
    )
    parser.add_argument("--days", type=count, default=DAYS, metavar="N", help=f"how many days (default: {DAYS})")
    parser.add_argument("--arcs", metavar="FILE", help="how the story is called (default: arcs-<N>d.yaml)")
    parser.add_argument("--arcs-only", action="store_true", help="write another story for a persona that is there")
    add_model(parser, tokens=TOKENS, timeout=TIMEOUT)
    parser.add_argument("--dry-run", action="store_true", help="only say what it would take")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _date(text: str) -> date:
    from pytest_recall.core.horizon.persona import FIRST, LAST

    try:
        found = date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date; write one like 2024-01-01") from None
    if not FIRST <= found <= LAST:
        raise argparse.ArgumentTypeError(f"{text!r} is out of reach; write a date from {FIRST} to {LAST}")
    return found


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.core.horizon.calendar import DEFAULT_EPOCH
    from pytest_recall.core.horizon.demands import SHORTEST
    from pytest_recall.horizon.corpus import PERSONA, Corpus
    from pytest_recall.horizon.passes.author import Wish, seed_of

    given = {"--prompt": args.prompt, "--temperature": args.temperature, "--max-tokens": args.max_tokens}
    check_effect(args.model, {**given, "--timeout": args.timeout})
    if args.prompt is None and seed_of(args.model) is None:
        raise RecallError("--prompt: is missing; say in a sentence what kind of persona it is")
    if args.days < SHORTEST:
        raise RecallError(f"--days: {args.days} are too few for a story; give at least {SHORTEST}")
    corpus = Corpus(args.persona, args.arcs or f"arcs-{args.days}d.yaml")
    if args.arcs is not None and (Path(args.arcs).name != args.arcs or not args.arcs.endswith((".yaml", ".yml"))):
        raise RecallError(f"--arcs: {args.arcs!r} is not the name of a file; write one like arcs-{args.days}d.yaml")
    if corpus.arcs_path.exists():
        raise RecallError(f"{corpus.arcs_path}: is there already; name another with --arcs")
    there = args.persona / PERSONA
    if there.exists() and not args.arcs_only:
        raise RecallError(f"{there}: is there already; name another --persona, or add a story with --arcs-only")
    known = corpus.persona if args.arcs_only else None
    wish = Wish(args.prompt or "", args.epoch or (known and known.epoch) or DEFAULT_EPOCH, args.days)
    temperature = 0.7 if args.temperature is None else args.temperature
    asked = Asked(args.model, temperature, args.max_tokens or TOKENS, args.timeout or TIMEOUT)
    if args.dry_run:
        return _need(args, wish, known, asked)
    with writing(asked, args.persona, Path.cwd()) as writer:
        try:
            return _create(args, corpus.arcs_path, wish, known, writer)
        except KeyboardInterrupt:
            raise RecallError("stopped; nothing is written, replies are kept, and the same command goes on") from None


def _create(args: argparse.Namespace, arcs: Path, wish: Wish, known: Persona | None, writer: Writer) -> int:
    from pytest_recall.horizon.corpus import PERSONA
    from pytest_recall.horizon.passes.personas import create_persona, create_story, write_persona, write_story
    from pytest_recall.render.sentences import plural

    persona = known
    if persona is None:
        say("inventing the persona")
        persona = create_persona(writer.author, wish)
    say("inventing the story")
    story = create_story(writer.author, wish, persona)
    # The persona comes last: where it is, all of it is.
    write_story(arcs, story)
    if known is None:
        write_persona(args.persona / PERSONA, persona)
    if args.json:
        plain = {"version": 1, "persona": str(args.persona / PERSONA), "id": persona.id, "arcs": str(arcs)}
        plain |= {"days": wish.days, "epoch": wish.epoch.isoformat(), "count": len(story.arcs)}
        print(json.dumps({**plain, **spent(writer.work)}, indent=2, ensure_ascii=False))
        return 0
    isolated = sum(one.isolated for one in persona.sessions)
    print(f"{args.persona / PERSONA}: {persona.name}, {plural(len(persona.sessions), 'session')}, {isolated} isolated")
    print(f"{arcs}: {plural(len(story.arcs), 'arc')} over {plural(wish.days, 'day')} from {wish.epoch} on")
    say(spent_line(writer.work))
    return 0


def _need(args: argparse.Namespace, wish: Wish, known: Persona | None, asked: Asked) -> int:
    """Say what it would take if the first replies can be taken. What the story's prompt has is not there yet."""
    from pytest_recall.horizon.passes.author import seed_of
    from pytest_recall.horizon.passes.persona_prompt import PERSONA, STORY, persona
    from pytest_recall.metrics.tokencount import estimated_tokens
    from pytest_recall.render.cost import dollars
    from pytest_recall.render.sentences import plural

    offline = seed_of(asked.model) is not None
    calls = 0 if offline else 1 if known else 2
    given = estimated_tokens([PERSONA, STORY, persona(*wish)]) + asked.max_tokens
    most = asked.max_tokens * (2 if known else 3)
    usd = 0.0 if offline else price_of(asked.model, given, most)
    if args.json:
        plain = {"version": 1, "calls": calls, "input_tokens": 0 if offline else given}
        print(json.dumps({**plain, "output_tokens": 0 if offline else most, "usd": usd}, indent=2))
        return 0
    cost = "at an unknown price" if usd is None else f"for {dollars(usd)} at list price"
    about = "" if offline else f", at the most about {given:,} tokens in and {most:,} out, {cost}"
    print(f"{plural(calls, 'call')}{about}" + ("" if offline else "; more if a reply has to be asked for again"))
    return 0
