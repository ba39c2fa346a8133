"""Unknown options: the nearest name of ours, or what to install, in place of pytest's list of arguments."""

from __future__ import annotations

from difflib import get_close_matches
from importlib.util import find_spec

import pytest

from pytest_recall.files.errors import nearest
from pytest_recall.plugin import options

XDIST = ("-n", "--numprocesses", "--maxprocesses", "--dist", "--tx")
LIKE = 0.8
"""How near an option has to be to one of ours, by difflib's ratio, that it is taken for that one."""


def refuse(parser: pytest.Parser, args: list[str]) -> None:
    """Refuse the first unknown option, if it is near one of ours or of pytest-xdist's.

    All others are for pytest to refuse. Raises pytest.UsageError.
    """
    try:
        _, unknown = parser.parse_known_and_unknown_args(args)
    except pytest.UsageError:
        return  # pytest says it itself.
    for argument in unknown:
        name = argument.partition("=")[0]
        if name.startswith("-n") and not name.startswith("--"):
            name = "-n"
        if name in XDIST:
            if find_spec("xdist") is None:
                how = "is not installed; run `pip install pytest-xdist`"
            else:
                how = "is not loaded; leave out what keeps it from that, such as `-p no:xdist`, or give `-p xdist`"
            raise pytest.UsageError(f"{name}: an option of pytest-xdist, which {how}")
        if not name.startswith("--"):
            continue
        ours = [known for option in parser.getgroup("recall", options.TITLE).options for known in option.names()]
        if name.startswith("--recall-"):
            raise pytest.UsageError(f"{name}: no option of pytest-recall{nearest(name, ours)}")
        if near := get_close_matches(name, ours, n=1, cutoff=LIKE):
            raise pytest.UsageError(f"{name}: no option; did you mean `{near[0]}`?")
