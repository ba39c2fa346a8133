"""The folder of a long-horizon run: how its files are called, and which folder somebody means."""

from __future__ import annotations

from pathlib import Path

QUESTIONS = "questions.jsonl"
FAILURES = "failures.jsonl"
PROGRESS = "progress.jsonl"
RESULT = "result.json"
FILES = (RESULT, PROGRESS, QUESTIONS)
"""What the folder of a run holds; of one that goes on, the last two."""


def run_folder(named: str) -> Path | None:
    """Return the folder of the long-horizon run that is `named` by its folder or by a file in it; None if none is."""
    path = Path(named)
    folder = path.parent if path.name in FILES else path
    return folder if any((folder / name).is_file() for name in FILES) else None
