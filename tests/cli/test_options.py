"""Options mean the same of each command that has them."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator

from pytest_recall.cli import add_commands
from pytest_recall.cli.common import add_filters, add_record, dollars, duration

NAMED_ALIKE = {
    "--case": "one file is of one case, and several may be replayed",
    "--concurrency": "a profile has limits of its own for it, and for `--k` and `--sample`",
    "--fail-on": "a run blocks, and a comparison finds drops",
    "--judge": "the published runner takes one",
    "--k": "the same figure, of which a report takes several",
    "--memory": "the published runner takes one",
    "--mode": "of the schedule, and of the questions that the published runner writes",
    "--out": "a page may go to standard output",
    "--runs": "how many runs are read",
    "--sample": "how many are drawn; a profile may draw none of the older questions",
    "--seed": "any text, and a number in a profile",
    "--unit": "the parts of a dataset's conversations, and of a persona's days",
}
"""Options of one name that are read in more than one way, each with why."""


def options() -> Iterator[tuple[str, str, argparse.Action]]:
    """Yield each option of each command, by the longest of its names."""
    root = argparse.ArgumentParser(prog="recall")
    add_commands(root.add_subparsers())
    waiting = [root]
    while waiting:
        parser = waiting.pop()
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                waiting += action.choices.values()
            elif action.option_strings and not isinstance(action, argparse._HelpAction):
                yield parser.prog, action.option_strings[-1], action


def test_an_option_is_read_in_one_way_by_all_commands() -> None:
    found: dict[str, set[object]] = defaultdict(set)
    for _, name, action in options():
        reader = getattr(action.type, "__qualname__", None)
        found[name].add((reader, action.nargs, type(action), tuple(action.choices or ())))
    assert {name for name, ways in found.items() if len(ways) > 1} == NAMED_ALIKE.keys()


def test_money_and_times_are_read_alike_wherever_they_are_an_option() -> None:
    for command, name, action in options():
        if action.metavar == "USD":
            assert action.type is dollars, (command, name)
        if action.metavar == "TIME" and name not in ("--settle", "--max-wait"):  # which may be none
            assert action.type is duration, (command, name)


def test_each_command_that_asks_models_records_them_alike() -> None:
    parser = argparse.ArgumentParser()
    add_record(parser)
    add_filters(parser, "take cases")
    usual = {name: action for action in parser._actions for name in action.option_strings if name != "-h"}
    for command, name, action in options():
        if name in ("--record", "--replay", "--scenarios", "--dimensions"):
            assert (action.type, action.nargs, action.const) == (
                usual[name].type,
                usual[name].nargs,
                usual[name].const,
            ), (command, name)
