"""Runs that replay all cases first, in processes of their own that are forked."""

from __future__ import annotations

import pytest

from tests.helpers import programs
from tests.helpers.project import Checkout
from tests.helpers.talking import talking
from tests.helpers.upstream import Upstream

QUICK = {"conftest.py": "import os\nimport sys\n\nsys.executable = os.environ.get('QUICK', sys.executable)\n"}
"""A file of a project for `quick_run`."""


def quick_run(checkout: Checkout, *options: str) -> pytest.RunResult:
    """Run `eval` in a process of its own, whose replays come from the nursery as it does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUICK", str(programs.folder() / "python"))
        return checkout.run_apart("eval", *options)


DRY = ("--record=missing", "--recall-dry-run")
"""The options of a dry run."""


def changed(checkout: Checkout, upstream: Upstream, text: str) -> Checkout:
    """Return the checkout with this source of its agent."""
    talking(upstream, text).at(checkout.pytester)
    return checkout
