"""Screens that people read: each stands whole in a file, in the folder `screens` beside its test, and nowhere else.

After a change of what they say, `SCREENS=write pytest tests/cli` writes them again: read the difference.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

from tests.helpers.command import Done

RUN = re.compile(r"\d{4}-\d\d-\d\dT\d{6}[-\w]*")
"""The name of a run, which is another one each time."""


def shown(call: Callable[..., Done], *commands: str) -> str:
    """Return what a terminal shows of these commands of `recall`, with the exit code of each."""
    parts = []
    for command in commands:
        done = call(*shlex.split(command))
        parts.append(f"$ recall {command}\n{done.out}{done.err}exit code {done.code}\n")
    return RUN.sub("RUN", "\n".join(parts))


def assert_screen(path: Path, text: str) -> None:
    """Assert that `text` is what the file says, or write it there if that is asked for."""
    if os.environ.get("SCREENS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
