"""The command line `recall`: its commands, each in a module, over the same decisions as the plugin."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from pytest_recall.cli.arguments import Parser
from pytest_recall.cli.bench import BENCH, BENCH_DETAILS
from pytest_recall.files.errors import STOPPED, RecallError, StoppedError


class Group(NamedTuple):
    """A command with commands of its own: what it is about, the modules that add them, and more of it for its help."""

    summary: str
    modules: tuple[str, ...]
    details: str = ""


COMMANDS: Mapping[str, str | Group] = {
    "init": "cases.commands",
    "import": "cli.imports",
    "check": "cli.check",
    "status": "cli.status",
    "schedule": Group(
        "choose a slice, say what it will cost, and what other schedules would come to",
        ("cli.select", "trials.commands", "schedule.policy_commands", "cli.backtest"),
    ),
    "score": "cli.score",
    "compare": "results.commands",
    "report": "cli.report",
    "view": "results.report_commands",
    "state": Group(
        "the state of the schedule: show it, change it, fold runs into it, merge it, set cases apart",
        ("schedule.commands", "cli.apply", "cli.quarantine", "cli.fold", "cli.resolve", "cli.merge_driver"),
    ),
    "cassettes": Group(
        "recorded calls: list, show, verify, scan, prune, import and export them, and what they cost",
        (
            "cli.cassette",
            "replay.commands.show",
            "replay.commands.scan",
            "cli.cassette_prune",
            "replay.commands.files",
            "cli.cost",
        ),
    ),
    "judges": Group(
        "judging models: calibrate them, look at their verdicts again, and see how models are named",
        ("judges.commands", "cli.audit", "cli.models"),
    ),
    "memory": Group(
        "memory systems: try one, run one over a public dataset, and measure what one returned",
        ("memory.commands", "datasets.commands", "metrics.commands", "cli.dataset_check", "cli.dataset_sample"),
    ),
    "bench": Group(
        "the long-horizon benchmark: a persona, its days, questions about them, and runs over a memory",
        BENCH,
        BENCH_DETAILS,
    ),
    "ci": Group(
        "what jobs do: post a scorecard, push the state, join shards, raise gates",
        ("forge.commands", "cli.push", "cli.merge", "cli.ratchet"),
    ),
}
"""The commands, in the order of `recall --help`: the module of each here, or what a group of commands is."""
EXAMPLES = """\
the way through:
  recall init                       write a first eval set, which runs offline
  recall import promptfoo FILE      or make one of a set of promptfoo, deepeval or inspect_ai
  pytest -p recall eval             run today's slice of it and keep the schedule
  recall status                     how the cases stand, and what is due when
  recall schedule select            see a slice without running it
  recall schedule estimate          what today's slice will cost
  recall score latest               the scorecard of the newest run, again
  recall compare previous latest    what changed between two runs, and if it could be chance
  recall report                     the newest run as a page to look at
  recall view --open                the same, while the run goes on
  recall state apply latest         fold in a run that was killed before its end
  recall ci merge shards --apply    join the shards of a run, and fold it in

`recall COMMAND` alone prints what it takes.
exit codes: 0 done, 1 found what it looks for, such as a fail or a drop, 2 nothing was done or something was left
out, and a sentence says why, 130 stopped with Ctrl-C
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # A bar that cannot be shown is no reason to fail.
    try:
        given = sys.argv[1:] if argv is None else argv
        parser = _parser(given)
        args = parser.parse_args(given)
        if args.command is None:
            parser.print_help()
            return 2
        code: int = args.run(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("recall: stopped; what is written is whole, and the same command begins again", file=sys.stderr)
        return STOPPED
    except RecallError as error:
        for message in error.messages:
            print(f"recall: {message}", file=sys.stderr)
        return STOPPED if isinstance(error, StoppedError) else 2
    except BrokenPipeError:
        # `recall status | head`: the reader has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"recall: {error.filename or 'a file'}: {error.strerror}; nothing else was changed", file=sys.stderr)
        return 2
    return code


def add_commands(commands: Any, names: Iterable[str] = COMMANDS) -> None:
    """Add the parsers of these commands."""
    for name in names:
        found = COMMANDS[name]
        if isinstance(found, str):
            _module(found).add(commands)
            continue
        parser = commands.add_parser(
            name,
            help=found.summary,
            description=f"{found.summary[0].upper()}{found.summary[1:]}.",
            epilog=found.details,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        inner = parser.add_subparsers(dest="inner", metavar="COMMAND", title="commands", required=True)
        for one in found.modules:
            _module(one).add(inner)


def _module(name: str) -> ModuleType:
    return import_module(f"pytest_recall.{name}")


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    from pytest_recall import __version__

    parser = Parser(
        prog="recall",
        description="Eval cases on a spaced-repetition schedule. `pytest -p recall` runs them; this looks after them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pytest-recall {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    command = next((argument for argument in given if not argument.startswith("-")), None)
    # The others are not needed to understand this one, and take longer to load than most commands take to run.
    add_commands(commands, COMMANDS if command is None or command not in COMMANDS else (command,))
    return parser
