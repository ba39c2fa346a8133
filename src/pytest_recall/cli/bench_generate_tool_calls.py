"""`recall bench generate-tool-calls`: what a persona would have told its memory on each day."""

from __future__ import annotations

import argparse

from pytest_recall.cli.bench_author import say
from pytest_recall.cli.bench_daily import add_options, daily
from pytest_recall.cli.common import Commands, placeless
from pytest_recall.horizon.commands.options import Usual

DETAILS = """\
For each day a file tools/day-0007.yaml with calls of the tool memorySave, by session, in the order of the day's
headings. A file that is there is kept, and nothing is asked for it. A call in a session that the day has not is not
taken, which is said; a day without any is asked for once more, and then left out and named.

Days come one after the other, since each is shown the calls of the day before, also when a pass goes on. With
--concurrency N they are cut into N stretches; the first day of each has no day before, unless its file is there.

  recall bench generate-tool-calls --persona personas/assistant --arcs arcs-60d.yaml --model openai:gpt-5.5

--model offline asks no model: each line of the notes with a figure, a date or someone's words is a call.

Exits with 2 if a day had to be left out. The same command goes on where one was stopped.
"""
USUAL = Usual(temperature=0.3, max_tokens=4_000, timeout=120_000)


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "generate-tool-calls", "write what a persona would have told its memory", run, DETAILS)
    add_options(parser, "tools", USUAL)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from functools import partial

    from pytest_recall.horizon.passes.daily import calls_path, tool_call_prompts, tool_calls_retold, write_tool_calls

    return daily(
        args,
        USUAL,
        ("generation",),
        path=calls_path,
        prompts=tool_call_prompts,
        write=partial(write_tool_calls, tell=say),
        retold=tool_calls_retold,
    )
