"""`recall bench generate-qa`: questions about a persona's days."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import TYPE_CHECKING

from pytest_recall.cli.bench_author import check_effect, count, say, spent, spent_line
from pytest_recall.cli.common import Commands, placeless
from pytest_recall.horizon.commands.options import (
    ASKING,
    RANGE,
    Usual,
    add_asking,
    add_folders,
    add_persona,
    corpus_of,
    profile_of,
    say_unused,
    selector_of,
    settled,
    working,
)

if TYPE_CHECKING:
    from pytest_recall.horizon.corpus import Corpus
    from pytest_recall.horizon.passes.questions import PassOutcome, QuestionPlan, QuestionWriter
    from pytest_recall.horizon.passes.work import Work
    from pytest_recall.horizon.profile import Profile

DETAILS = """\
Questions are written window by window: --interval days at a time, with the days' texts shown to the model, and each
window's are in the file before the next one is asked for. A question is not taken if it names a day that was not
shown, speaks of day numbers, or repeats another one; what is not taken, and why, is said on standard error. A reply
that was cut off is used as far as it goes.

--mode boundary asks about isolated sessions: questions that must be refused in --query-session, with references that
tell nothing of what was said, and for every two of them one that is asked in the session itself and must be answered.

--model offline[:SEED] asks no model: questions are made of the days' own dates, numbers, corrections and events.

The same command goes on where one was stopped. Which days are covered is kept in DIR/.recall-bench; for questions
that came from elsewhere nothing is, and --start says where to begin.

  recall bench generate-qa --persona personas/assistant --arcs arcs-60d.yaml --model openai:gpt-5.5
  recall bench generate-qa --persona personas/assistant --arcs arcs-60d.yaml --model offline --mode boundary

Exits with 2 if a window had to be left out.
"""
USUAL = Usual(temperature=0.7, max_tokens=4_000, timeout=600_000)
DEFAULTS = {"standard": (7, 12), "boundary": (30, 2)}


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "generate-qa", "write questions about a persona's days", run, DETAILS)
    add_persona(parser)
    add_folders(parser, "qa")
    add_asking(parser, USUAL, concurrency=False)
    parser.add_argument(
        "--mode", choices=tuple(DEFAULTS), default="standard", help="about all days, or isolated sessions"
    )
    parser.add_argument("--interval", type=count, metavar="DAYS", help="days of a window (default: 7; boundary: 30)")
    parser.add_argument(
        "--pairs-per-checkpoint", type=count, metavar="N", help="questions of a window (default: 12; boundary: 2)"
    )
    parser.add_argument("--query-session", metavar="ID", help="where boundary questions are asked (default: principal)")
    parser.add_argument("--start", type=count, metavar="DAY", help="the last day of the first window")
    parser.add_argument("--end", type=count, metavar="DAY", help="the last day (default: the last that there is)")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.files.errors import RecallError, nearest
    from pytest_recall.horizon.passes.questioner import Questioner, TemplateWriter
    from pytest_recall.horizon.passes.questions import QuestionPlan
    from pytest_recall.horizon.passes.work import seed_of
    from pytest_recall.horizon.persona import PRINCIPAL

    profile = profile_of(args)
    corpus = corpus_of(args, profile)
    if args.query_session is not None:
        if args.mode != "boundary":
            raise RecallError("--query-session: has an effect with --mode boundary alone; remove it")
        known = [PRINCIPAL, *(session.id for session in corpus.persona.sessions)]
        if args.query_session not in known:
            raise RecallError(f"--query-session: `{args.query_session}` is unknown{nearest(args.query_session, known)}")
    if args.start is not None and args.start > (last := corpus.days[-1]):
        raise RecallError(f"--start: {args.start} is after {last}, the last day that there is; begin earlier")
    usual, pairs = DEFAULTS[args.mode]
    interval = args.interval or usual
    start, end = _range(args, profile, interval)
    plan = QuestionPlan(
        boundary=args.mode == "boundary",
        interval=interval,
        pairs=args.pairs_per_checkpoint or pairs,
        start=start,
        end=end,
        query_session=args.query_session or PRINCIPAL,
    )
    selector = selector_of(args, profile, "generation")
    given = {"--temperature": args.temperature, "--max-tokens": args.max_tokens, "--timeout": args.timeout}
    check_effect(selector, given)
    say_unused(args, profile, *RANGE, *(() if seed_of(selector) else ASKING))
    settled(args, profile, USUAL)
    if (seed := seed_of(selector)) is not None:
        return _go(args, corpus, plan, TemplateWriter(corpus, seed), None)
    with working(selector, args) as work:
        return _go(args, corpus, plan, Questioner(corpus, work, args.temperature, args.max_tokens), work)


def _range(args: argparse.Namespace, profile: Profile | None, interval: int) -> tuple[int | None, int | None]:
    """Return the last days of the first and of the last window, as given, or as the profile's days have it."""
    part = None if profile is None else profile.generate
    if part is None or args.start is not None or args.end is not None:
        return args.start, args.end
    if part.days is not None:
        return None, part.days
    return None if part.start is None else part.start + interval - 1, part.end


def _go(args: argparse.Namespace, corpus: Corpus, plan: QuestionPlan, writer: QuestionWriter, work: Work | None) -> int:
    from pytest_recall.horizon.passes.questions import write_questions

    if args.dry_run:
        return _dry_run(args, corpus, plan, writer)
    outcome = write_questions(corpus, plan, writer, say)
    _print(args, corpus, outcome, work)
    return 2 if outcome.left_out else 0


def _dry_run(args: argparse.Namespace, corpus: Corpus, plan: QuestionPlan, writer: QuestionWriter) -> int:
    from pytest_recall.files.wording import plural
    from pytest_recall.horizon.corpus import QUESTIONS, Covered, QuestionFile
    from pytest_recall.horizon.passes.questioner import Questioner
    from pytest_recall.horizon.passes.questions import requests
    from pytest_recall.horizon.passes.work import forecast, sentence, sizes_of
    from pytest_recall.horizon.persona import KEPT

    covered = Covered(corpus.path / KEPT / f"{corpus.qa.name}.jsonl")
    wanted = list(requests(corpus, plan, covered, QuestionFile(corpus.qa / QUESTIONS)))
    estimate = None
    if isinstance(writer, Questioner):
        estimate = forecast(writer.work.model, sizes_of(map(writer.prompts, wanted), args.max_tokens))
    if args.json:
        plain = {"version": 1, "windows": len(wanted)}
        print(json.dumps({**plain, **(estimate._asdict() if estimate else {"calls": 0})}, indent=2))
    elif estimate is None:
        print(f"{plural(len(wanted), 'window')}, and no model is asked")
    else:
        print(sentence(plural(len(wanted), "window"), estimate))
    return 0


def _print(args: argparse.Namespace, corpus: Corpus, outcome: PassOutcome, work: Work | None) -> None:
    from pytest_recall.files.wording import plural
    from pytest_recall.horizon.corpus import QUESTIONS

    counts = Counter(row["category"] for row in outcome.added)
    if args.json:
        plain = {
            "version": 1,
            "file": str(corpus.qa / QUESTIONS),
            "windows": outcome.windows,
            "added": [row["id"] for row in outcome.added],
            "categories": dict(counts),
            "not_taken": outcome.dropped,
            "left_out": outcome.left_out,
            **({"calls": 0, "usd": 0.0} if work is None else spent(work)),
        }
        print(json.dumps(plain, indent=2, ensure_ascii=False))
        return
    told = ", ".join(f"{name} {number}" for name, number in counts.most_common())
    print(f"{corpus.qa / QUESTIONS}: {plural(len(outcome.added), 'question')} added" + (f" ({told})" if told else ""))
    if outcome.dropped or outcome.left_out:
        print(f"{len(outcome.dropped):,} not taken; {len(outcome.left_out):,} of {outcome.windows:,} windows left out")
    if work is not None:
        print(spent_line(work))
