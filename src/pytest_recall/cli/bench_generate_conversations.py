"""`recall bench generate-conversations`: each day of a persona as a conversation."""

from __future__ import annotations

import argparse

from pytest_recall.cli.bench_daily import add_options, daily
from pytest_recall.cli.common import Commands, placeless
from pytest_recall.horizon.commands.options import Usual

DETAILS = """\
Each day is told as a conversation of 4 to 12 turns: the persona is the agent (assistant), and whom it works for is the
user. Each file is written as soon as it is there, conv-0007.md for day 7, and one that is there is kept. A reply that
cannot be read is asked for once more; after that the day is left out and named.

  recall bench generate-conversations --persona personas/assistant --arcs arcs-60d.yaml --model openai:gpt-5.5
  recall bench generate-conversations --profile run.yaml --days 10 --format json --concurrency 4

--model offline[:SEED] asks no model: whom the agent works for asks about the topics, and the notes are the answers.

Exits with 2 if a day had to be left out. The same command goes on where one was stopped.
"""
USUAL = Usual(temperature=0.7, max_tokens=4_000, timeout=120_000)


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "generate-conversations", "tell a persona's days as conversations", run, DETAILS)
    add_options(parser, "conversations", USUAL)
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown", help="of the files")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from functools import partial

    from pytest_recall.horizon.passes.daily import (
        conversation_path,
        conversation_prompts,
        conversation_retold,
        write_conversations,
    )

    return daily(
        args,
        USUAL,
        ("conversation", "generation"),
        path=partial(conversation_path, form=args.format),
        prompts=conversation_prompts,
        write=partial(write_conversations, form=args.format),
        retold=partial(conversation_retold, form=args.format),
    )
