"""Parse arguments, and say in one sentence what is wrong, with the nearest name that is known."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from pytest_recall.files.errors import nearest


class Parser(argparse.ArgumentParser):
    """The parser of `recall` and, as argparse gives subparsers the class of their parser, of each command."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end with exit code 2."""
        help_ = "" if message.endswith(("?", "`")) else f"; `{self.prog} --help` says what it takes"
        print(f"{self.prog}: {message}{help_}", file=sys.stderr)
        raise SystemExit(2)

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Refuse an unknown option or argument where the parser of its command still knows the others.

        A command that takes arguments and gets none prints its help.
        """
        given = sys.argv[1:] if args is None else args
        needed = (one for one in self._actions if not one.option_strings and one.nargs not in ("*", "?"))
        if not given and any(one.required for one in needed):
            self.print_help()
            raise SystemExit(2)
        found, unknown = super().parse_known_args(args, namespace)
        for argument in unknown:
            name = argument.partition("=")[0]
            if not name.startswith("-"):
                self.error(f"unexpected argument `{argument}`")
            self.error(f"unknown option `{name}`{nearest(name, self._option_string_actions)}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = action.choices
        if choices is None or value in choices:
            return
        if action.nargs == argparse.PARSER:
            homes = [parser.prog for name, parser in _inner(choices) if name == value]
            told = f"; it is `{homes[0]}`" if len(homes) == 1 else nearest(str(value), choices)
            raise argparse.ArgumentError(None, f"unknown command `{value}`{told}")
        raise argparse.ArgumentError(action, f"{value!r} is unknown{nearest(str(value), map(str, choices))}")


def _inner(commands: Any) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the commands of groups, by their names."""
    for parser in commands.values():
        for action in parser._actions:
            if action.nargs == argparse.PARSER:
                yield from action.choices.items()
