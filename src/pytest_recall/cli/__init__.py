"""The command line `recall`: the tree of its commands, each of which stands in the room of its feature."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from pytest_recall.cli.arguments import Parser
from pytest_recall.files.errors import STOPPED, RecallError, StoppedError, is_full, refused_by_system, remedy_of
from pytest_recall.files.wording import same_command


class Group(NamedTuple):
    """A command with commands of its own: what it is about, what adds each of them, and more of it for its help."""

    summary: str
    commands: tuple[str, ...]
    details: str = ""


BENCH_DETAILS = """\
typical steps:
  recall bench create-persona       write a persona and its story
  recall bench generate             write its days
  recall bench check                find inconsistencies in persona, story and days
  recall bench generate-qa          write the questions about them
  recall bench lint                 find mistakes in the questions, without a model
  recall bench verify               whether the days support the references, with a model
  recall bench run                  tell the days to a memory system, and ask it
  recall bench rescore              compute its numbers again from the answers, and compare
  recall bench heatmap              its scores, as pictures
  recall bench report               its scores, with confidence intervals
  recall judges audit               its verdicts for a second look, and the causes of failures

Each command takes --help.
"""

COMMANDS: Mapping[str, str | Group] = {
    "init": "cases.commands:add_init",
    "import": "cases.commands:add_import",
    "check": "cases.check_commands:add_check",
    "status": "schedule.commands:add_status",
    "schedule": Group(
        "choose a slice, and estimate its cost",
        (
            "schedule.policy_commands:add_select",
            "trials.commands:add_estimate",
        ),
    ),
    "score": "results.commands:add_score",
    "accept": "runs.commands:add_accept",
    "compare": "results.commands:add_compare",
    "report": "results.report_commands:add_report",
    "view": "results.view_commands:add_view",
    "state": Group(
        "the state of the schedule: show it, change it, apply runs to it, quarantine cases",
        (
            "schedule.commands:add_state",
            "schedule.commands:add_apply",
            "schedule.commands:add_quarantine",
        ),
    ),
    "cassettes": Group(
        "recorded calls: list, show, verify, scan, prune, move, import and export them, what varies and what they cost",
        (
            "replay.commands.listing:add_list",
            "replay.commands.show:add_show",
            "replay.commands.scan:add_scan",
            "replay.commands.varying:add_varying",
            "replay.commands.files:add_prune",
            "replay.commands.files:add_move",
            "replay.commands.files:add_convert",
            "trials.commands:add_cost",
        ),
    ),
    "judges": Group(
        "judging models: calibrate them, look at their verdicts again, and see how models are named",
        ("judges.commands:add_calibrate", "judges.commands:add_audit", "judges.commands:add_models"),
    ),
    "memory": Group(
        "memory systems: try one, run one over a public dataset, and measure what one returned",
        (
            "memory.commands:add_memory",
            "datasets.commands.run:add_membench",
            "datasets.commands.rescore:add_rescore",
            "datasets.commands.rescore:add_misses",
            "datasets.commands.verify:add_verify",
            "metrics.commands:add_metrics",
            "datasets.commands.dataset:add_dataset_check",
            "datasets.commands.dataset:add_dataset_sample",
        ),
    ),
    "bench": Group(
        "the long-horizon benchmark: a persona, its days, questions about them, and runs over a memory",
        (
            "horizon.commands.authoring:add_create_persona",
            "horizon.commands.authoring:add_generate",
            "horizon.commands.passes:add_conversations",
            "horizon.commands.passes:add_tool_calls",
            "horizon.commands.passes:add_qa",
            "horizon.commands.checks:add_check",
            "horizon.commands.checks:add_lint",
            "horizon.commands.checks:add_verify",
            "horizon.commands.run:add_bench",
            "horizon.commands.run:add_rebuild",
            "horizon.commands.run:add_merge",
            "horizon.commands.run:add_rescore",
            "horizon.commands.reports:add_heatmap",
            "horizon.commands.reports:add_report",
            "horizon.commands.reports:add_misses",
        ),
        BENCH_DETAILS,
    ),
    "ci": Group(
        "commands for CI jobs: post a scorecard, push the state, join shards, raise gates",
        (
            "forge.commands:add_post",
            "forge.commands:add_fetch",
            "forge.commands:add_push",
            "forge.commands:add_waive",
            "runs.commands:add_merge",
            "results.commands:add_ratchet",
        ),
    ),
}
"""The commands, in the order of `recall --help`: what adds each, as `module:function`, or what a group of them is."""
EXAMPLES = """\
typical steps:
  recall init                       write a first eval set, which runs offline
  recall import TOOL FILE           or make one of a set of another tool
  pytest -p recall eval             run today's slice of it and keep the schedule
  recall status                     how the cases stand, and what is due when
  recall schedule select            see a slice without running it
  recall schedule estimate          what today's slice will cost
  recall score latest               the scorecard of the newest run, again
  recall accept latest              an intended change: take its answers for the expected ones
  recall compare previous latest    what changed between two runs, and if it could be chance
  recall report                     the newest run as a page to look at
  recall view --open                the same, while the run goes on
  recall state apply latest         update the state with a run that was killed
  recall ci merge shards --apply    join the shards of a run, and update the state

`recall COMMAND --help` prints what it takes.
exit codes: 0 success; 1 a check failed, such as a failed case or a drop; 2 an error, or something is left out: the
message says why; 130 stopped with Ctrl-C
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""
    # Streams that were closed, as by `>&-`, are None.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # A bar that cannot be shown is no reason to fail.
    try:
        given = sys.argv[1:] if argv is None else argv
        parser = _parser(given)
        args = parser.parse_args(given)
        run = getattr(args, "_recall_run", None)
        if run is None and args.command is None:
            parser.print_help()
            return 2
        run = run or args.run
        code: int = run(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("recall: stopped; files that were written are complete; run the same command again", file=sys.stderr)
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
        first = remedy_of(error)
        then = same_command(first=first) if is_full(error) else f"{first}, and run the same command again"
        print(f"recall: {refused_by_system(error)}; {then}", file=sys.stderr)
        return 2
    return code


def add_commands(commands: Any, names: Iterable[str] = COMMANDS, *, inner: bool = True) -> None:
    """Add the parsers of these commands, and of the `inner` ones of groups."""
    for name in names:
        found = COMMANDS[name]
        if isinstance(found, str):
            _adding(found)(commands)
            continue
        parser = commands.add_parser(
            name,
            help=found.summary,
            description=f"{found.summary[0].upper()}{found.summary[1:]}.",
            epilog=found.details,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        within = parser.add_subparsers(dest="inner", metavar="COMMAND", title="commands", required=True)
        for one in found.commands if inner else ():
            _adding(one)(within)


def _adding(written: str) -> Callable[[Any], None]:
    module, _, name = written.partition(":")
    add: Callable[[Any], None] = getattr(import_module(f"pytest_recall.{module}"), name)
    return add


def _command_of(given: Sequence[str]) -> str | None:
    """Return the word in the place of a command: the first one, unless an option is before it, as in `--help state`."""
    return given[0] if given and not given[0].startswith("-") else None


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    from pytest_recall import __version__

    parser = Parser(
        prog="recall",
        description="Eval cases on a spaced-repetition schedule. `pytest -p recall` runs them;"
        " `recall` manages their files, results and schedule.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pytest-recall {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    command = _command_of(given)
    # The others are not needed to understand this one, and take longer to load than most commands take to run.
    if command is not None and command in COMMANDS:
        add_commands(commands, (command,))
    elif given[:1] != ["--version"]:
        # The list of all needs none within a group, and a word that is no command may be one of these.
        add_commands(commands, inner=command is not None)
        from pytest_recall.cli.common import say
        from pytest_recall.cli.extension_commands import add_extension_commands

        for fault in add_extension_commands(commands, COMMANDS):
            say(fault)
    return parser
