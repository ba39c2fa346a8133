"""The command line `recall`: one file per command, over the same core as the plugin."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from pytest_recall.cli.arguments import Parser
from pytest_recall.files.errors import STOPPED, RecallError, StoppedError

COMMANDS = (
    "init",
    "import",
    "select",
    "estimate",
    "simulate",
    "backtest",
    "status",
    "score",
    "ratchet",
    "compare",
    "report",
    "view",
    "apply",
    "merge",
    "check",
    "schema",
    "cassette",
    "cost",
    "quarantine",
    "resolve",
    "merge-driver",
    "fold",
    "state",
    "models",
    "memory",
    "membench",
    "bench",
    "judge",
    "audit",
    "metrics",
    "dataset",
    "post",
    "push",
)
"""The commands, in the order of `recall --help`; each is a module of that name here, of `import` `imports`."""
EXAMPLES = """\
the way through:
  recall init                       write a first eval set, which runs offline
  recall import promptfoo FILE      or make one of a set of promptfoo, deepeval or inspect_ai
  pytest -p recall eval             run today's slice of it and keep the schedule
  recall status                     how the cases stand, and what is due when
  recall select --mode nightly      see a slice without running it
  recall estimate                   what today's slice will cost
  recall score latest               the scorecard of the newest run, again
  recall ratchet --dry-run          which gates of the rubric may ask for more
  recall compare previous latest    what changed between two runs, and if it could be chance
  recall report                     the newest run as a page to look at
  recall view --open                the same, while the run goes on
  recall apply latest               fold in a run that was killed before its end
  recall resolve                    merge a state file that git has left with conflicts
  recall merge shards --apply       join the shards of a run, and fold it in

exit codes: 0 done, 1 `score`, `compare`, `cassette verify`, `cassette scan`, `dataset check`, `bench check`,
`bench lint`, `bench verify` or `bench rescore` found what it looks for, `models check` got no reply, `memory check`
lost a fact, `estimate --budget` is not shown to be within it, a judge falls short in `judge calibrate` or by
`bench audit`, or `membench run --fail-under` is not reached, or `merge-driver` has left a conflict,
or `import` left something out,
2 nothing was done, or a shard is missing in `merge`, or `metrics` left lines out, or a pass of `bench` days or
questions, or questions of `bench run` have no points, and the sentence says why,
130 stopped with Ctrl-C, and the sentence says how to go on
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


def module(name: str) -> ModuleType:
    """Return the module of a command; what a statement is called, such as `import`, no module can be."""
    return import_module(f"{__name__}.{'imports' if name == 'import' else name.replace('-', '_')}")


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
    for name in (command,) if command in COMMANDS else COMMANDS:
        module(name).add(commands)
    return parser
