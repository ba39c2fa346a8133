"""Screens that people read: each stands whole in a file, in the folder `screens` beside its test, and nowhere else.

After a change of what they say, `SCREENS=write pytest tests/cli` writes them again: read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path


def assert_screen(path: Path, text: str) -> None:
    """Assert that `text` is what the file says, or write it there if that is asked for."""
    if os.environ.get("SCREENS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
