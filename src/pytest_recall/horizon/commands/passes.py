"""The commands `recall bench generate-conversations`, `-tool-calls` and `-qa`: retell days, and write questions."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recall.cli.common import Commands, placeless, say
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.wording import plural
from pytest_recall.horizon.commands.options import (
    ASKING,
    RANGE,
    Usual,
    add_asking,
    add_days,
    add_folders,
    add_persona,
    corpus_of,
    count,
    days_of,
    profile_of,
    say_dates,
    say_unused,
    selector_of,
    settled,
    spent,
    spent_line,
    working,
)

if TYPE_CHECKING:
    from pytest_recall.horizon.corpus import Corpus
    from pytest_recall.horizon.passes.daily import Asking, LeftOut
    from pytest_recall.horizon.passes.questioner import Questioner
    from pytest_recall.horizon.passes.questions import PassOutcome, QuestionPlan
    from pytest_recall.horizon.passes.work import Work
    from pytest_recall.horizon.profile import Profile


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
) -> int:
    """Have the days written that are not there, or only say what it would take, and return the exit code.

    `kinds` are the models of a profile that may write, the first of them that it names; `path` is where a day's
    file is.
    """
    from pytest_recall.horizon.corpus import alone
    from pytest_recall.horizon.passes.daily import Asking, reasons
    from pytest_recall.horizon.passes.work import forecast, sentence, sizes_of

    profile = profile_of(args)
    corpus = corpus_of(args, profile)
    days = days_of(args, profile, corpus)
    say_unused(args, profile, *RANGE, *ASKING)
    selector = selector_of(args, profile, *kinds)
    settled(args, profile, usual)
    folder = path(corpus, days[0]).parent
    with working(selector, args) as work:
        if args.dry_run:
            wanted = _wanted(args, corpus, days, path)
            sizes = sizes_of((prompts(corpus, day) for day in wanted), args.max_tokens)
            kept, found = len(days) - len(wanted), forecast(work.model, sizes)
            plain = {"version": 1, "days": len(wanted), "kept": kept, **found._asdict()}
            print(json.dumps(plain, indent=2) if args.json else sentence(plural(len(wanted), "day"), found, kept))
            return 0
        with alone(corpus.path, folder):
            wanted = _wanted(args, corpus, days, path)
            left_out = write(corpus, wanted, work, Asking(args.temperature, args.max_tokens)) if wanted else []
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


def _wanted(
    args: argparse.Namespace, corpus: Corpus, days: Sequence[int], path: Callable[[Corpus, int], Path]
) -> list[int]:
    return [day for day in days if args.overwrite or not path(corpus, day).exists()]


CONVERSATIONS_DETAILS = """\
Each day is told as a conversation of 4 to 12 turns: the persona is the assistant, and the person it works for is the
user. Each day's file is written as soon as its reply is there, conv-0007.md for day 7; an existing one is kept. A
reply that cannot be read is asked for once more; after that the day is left out and reported.

  recall bench generate-conversations --persona personas/assistant --arcs arcs-60d.yaml --model openai:gpt-5.5
  recall bench generate-conversations --profile run.yaml --days 10 --format json --concurrency 4

Exits with 2 if a day had to be left out. Run the same command again to resume a stopped one.
"""
CONVERSATIONS_USUAL = Usual(temperature=0.7, max_tokens=4_000, timeout=120_000)


def add_conversations(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands,
        "generate-conversations",
        "write a persona's days as conversations",
        run_conversations,
        CONVERSATIONS_DETAILS,
    )
    add_options(parser, "conversations", CONVERSATIONS_USUAL)
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown", help="of the files")


def run_conversations(args: argparse.Namespace) -> int:
    """Run the command."""
    from functools import partial

    from pytest_recall.horizon.passes.daily import (
        conversation_path,
        conversation_prompts,
        write_conversations,
    )

    return daily(
        args,
        CONVERSATIONS_USUAL,
        ("conversation", "generation"),
        path=partial(conversation_path, form=args.format),
        prompts=conversation_prompts,
        write=partial(write_conversations, form=args.format),
    )


TOOL_CALLS_DETAILS = """\
For each day a file tools/day-0007.yaml with calls of the tool memorySave, by session, in the order of the day's
headings. An existing file is kept, and no model is asked for it. A call in a session that the day does not have
is left out and reported; a day without any call is asked for once more, and then left out and reported.

Days come one after the other, since each is shown the calls of the day before, also when a pass goes on. With
--concurrency N they are cut into N stretches; the first day of each has no day before, unless its file is there.

  recall bench generate-tool-calls --persona personas/assistant --arcs arcs-60d.yaml --model openai:gpt-5.5

Exits with 2 if a day had to be left out. Run the same command again to resume a stopped one.
"""
TOOL_CALLS_USUAL = Usual(temperature=0.3, max_tokens=4_000, timeout=120_000)


def add_tool_calls(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands,
        "generate-tool-calls",
        "write the memorySave calls that a persona would have made on each day",
        run_tool_calls,
        TOOL_CALLS_DETAILS,
    )
    add_options(parser, "tools", TOOL_CALLS_USUAL)


def run_tool_calls(args: argparse.Namespace) -> int:
    """Run the command."""
    from functools import partial

    from pytest_recall.horizon.passes.daily import calls_path, tool_call_prompts, write_tool_calls

    return daily(
        args,
        TOOL_CALLS_USUAL,
        ("generation",),
        path=calls_path,
        prompts=tool_call_prompts,
        write=partial(write_tool_calls, tell=say),
    )


QA_DETAILS = """\
Questions are written window by window: --interval days at a time, with the days' texts shown to the model, and each
window's are in the file before the next one is asked for. A question is not taken if it names a day that was not
shown, speaks of day numbers, or repeats another one; what is not taken, and why, is said on standard error. A reply
that was cut off is used as far as it goes.

--mode boundary asks about isolated sessions: questions that must be refused in --query-session, with references that
tell nothing of what was said, and for every two of them one that is asked in the session itself and must be answered.

Run the same command again to resume a stopped one. DIR/.recall-bench has which days are covered; for questions that
were not written by this command nothing is known, and --start says where to begin.

  recall bench generate-qa --persona personas/assistant --arcs arcs-60d.yaml --model openai:gpt-5.5
  recall bench generate-qa --persona personas/assistant --arcs arcs-60d.yaml --model openai:gpt-5.5 --mode boundary

Exits with 2 if a window had to be left out.
"""
QA_USUAL = Usual(temperature=0.7, max_tokens=4_000, timeout=600_000)
DEFAULTS = {"standard": (7, 12), "boundary": (30, 2)}


def add_qa(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "generate-qa", "write questions about a persona's days", run_qa, QA_DETAILS)
    add_persona(parser)
    add_folders(parser, "qa")
    add_asking(parser, QA_USUAL, concurrency=False)
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


def run_qa(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.passes.questioner import Questioner
    from pytest_recall.horizon.passes.questions import QuestionPlan
    from pytest_recall.horizon.persona import PRINCIPAL

    profile = profile_of(args)
    corpus = corpus_of(args, profile)
    say_dates(corpus)
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
    say_unused(args, profile, *RANGE, *ASKING)
    settled(args, profile, QA_USUAL)
    with working(selector, args) as work:
        return _go(args, corpus, plan, Questioner(corpus, work, args.temperature, args.max_tokens))


def _range(args: argparse.Namespace, profile: Profile | None, interval: int) -> tuple[int | None, int | None]:
    """Return the last days of the first and of the last window, as given, or as the profile's days have it."""
    part = None if profile is None else profile.generate
    if part is None or args.start is not None or args.end is not None:
        return args.start, args.end
    if part.days is not None:
        return None, part.days
    return None if part.start is None else part.start + interval - 1, part.end


def _go(args: argparse.Namespace, corpus: Corpus, plan: QuestionPlan, writer: Questioner) -> int:
    from pytest_recall.horizon.passes.questions import write_questions

    if args.dry_run:
        return _dry_run(args, corpus, plan, writer)
    outcome = write_questions(corpus, plan, writer, say)
    _print(args, corpus, outcome, writer.work)
    return 2 if outcome.left_out else 0


def _dry_run(args: argparse.Namespace, corpus: Corpus, plan: QuestionPlan, writer: Questioner) -> int:
    from pytest_recall.horizon.corpus import QUESTIONS, Covered, QuestionFile
    from pytest_recall.horizon.passes.questions import requests
    from pytest_recall.horizon.passes.work import forecast, sentence, sizes_of
    from pytest_recall.horizon.persona import KEPT

    covered = Covered(corpus.path / KEPT / f"{corpus.qa.name}.jsonl")
    wanted = list(requests(corpus, plan, covered, QuestionFile(corpus.qa / QUESTIONS)))
    estimate = forecast(writer.work.model, sizes_of(map(writer.prompts, wanted), args.max_tokens))
    if args.json:
        print(json.dumps({"version": 1, "windows": len(wanted), **estimate._asdict()}, indent=2))
    else:
        print(sentence(plural(len(wanted), "window"), estimate))
    return 0


def _print(args: argparse.Namespace, corpus: Corpus, outcome: PassOutcome, work: Work) -> None:
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
            **spent(work),
        }
        print(json.dumps(plain, indent=2, ensure_ascii=False))
        return
    told = ", ".join(f"{name} {number}" for name, number in counts.most_common())
    print(f"{corpus.qa / QUESTIONS}: {plural(len(outcome.added), 'question')} added" + (f" ({told})" if told else ""))
    if outcome.dropped or outcome.left_out:
        print(f"{len(outcome.dropped):,} not taken; {len(outcome.left_out):,} of {outcome.windows:,} windows left out")
    print(spent_line(work))
