"""`recall bench`: the long-horizon benchmark, from a persona to the pictures of a run."""

from __future__ import annotations

from importlib import import_module

from pytest_recall.cli.common import Commands

COMMANDS: tuple[str, ...] = (
    *("create-persona", "generate", "generate-conversations", "generate-tool-calls", "generate-qa"),
    *("check", "lint", "verify", "run"),
    *("rebuild", "merge", "rescore", "heatmap", "report", "audit"),
)
"""The commands, in the order of a benchmark; each is a module `bench_<name>` here, with `_` for `-`."""
DETAILS = """\
the way through:
  recall bench create-persona       write a persona and its story
  recall bench generate             write its days
  recall bench check                whether persona, story and days fit together
  recall bench generate-qa          write the questions about them
  recall bench lint                 what is wrong with the questions, by their words
  recall bench verify               whether the days support the references, by a model
  recall bench run                  tell the days to a memory system, and ask it
  recall bench rescore              whether the numbers of its files are what the answers come to
  recall bench heatmap              what it came to, as pictures
  recall bench report               the same, with what chance may have done
  recall bench audit                look at answers again, and find where it went wrong

Each command takes --help.
"""


def add(commands: Commands) -> None:
    """Add the command with its own."""
    import argparse

    parser: argparse.ArgumentParser = commands.add_parser(
        "bench",
        help="the long-horizon benchmark: a persona, its days, questions, runs",
        description="The long-horizon benchmark: a persona, its days, questions about them, and runs over a memory.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inner = parser.add_subparsers(dest="bench", metavar="COMMAND", title="commands", required=True)
    for name in COMMANDS:
        import_module(f"pytest_recall.cli.bench_{name.replace('-', '_')}").add(inner)
