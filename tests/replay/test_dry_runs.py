"""Replays in processes of their own: what such a process says is to be corrected is what people read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.dry_runs import DryRunProcess, run_together


def process(folder: Path, name: str, printed: str, code: int) -> DryRunProcess:
    """Return a replay that writes no findings, prints something and ends with a `code`."""
    source = f"import sys; print({printed!r}); sys.exit({code})"
    return DryRunProcess(
        [sys.executable, "-c", source], folder / f"{name}.json", folder / f"{name}.txt", dict(os.environ)
    )


def refused(folder: Path, *printed: str, code: int) -> tuple[str, ...]:
    """Return what is said of replays that print these texts."""
    runs = [process(folder, str(number), text, code) for number, text in enumerate(printed)]
    with pytest.raises(RecallError) as caught:
        run_together(runs, "the replay")
    return caught.value.messages


CAUSES = ("eval/recall.yaml:9: is cut; restore the file from git", "eval/recall.yaml:11: is odd (ERROR: x); correct it")


def test_what_a_replay_has_people_correct_is_said_as_it_is(tmp_path: Path) -> None:
    printed = "a warning\n" + "".join(f"ERROR: {cause}\n\n" for cause in CAUSES)
    assert refused(tmp_path, printed, printed, code=4) == CAUSES


@pytest.mark.parametrize(
    ("printed", "code", "last"),
    [
        ("ERROR: eval/recall.yaml:9: is cut", 3, "ERROR: eval/recall.yaml:9: is cut"),
        ("ERROR: usage: pytest [options]\n  pytest: error: unknown --x", 4, "ERROR: usage: pytest [options]"),
        ("ImportError\nE   ModuleNotFoundError: No module named 'x'", 4, "ModuleNotFoundError: No module named 'x'"),
        ("", 1, "it printed nothing"),
    ],
)
def test_a_replay_that_ends_otherwise_is_named_with_its_last_error(
    tmp_path: Path, printed: str, code: int, last: str
) -> None:
    (message,) = refused(tmp_path, printed, code=code)
    assert message.startswith(f"the replay ended with exit code {code} and found nothing ({last}); ")
