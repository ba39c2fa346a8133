#!/usr/bin/env python3
"""Print which files of the package one replayed case of our own eval set passes through, and which a whole run does.

A file counts if one of its functions is called; what runs while a module is imported does not, be it one of ours or a
client's: that comes once in a process, whatever the case.

    scripts/trace-case.py                        the case that the README breaks, whose agent makes no call, and one
                                                 that replays the recorded call of a client
    scripts/trace-case.py late-fee-per-day       another case of eval/cases.yaml
    scripts/trace-case.py answers.cases.yaml::openai-late-trailer
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import pytest_recall
from pytest_recall.replay.origin import is_importing

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = f"{Path(pytest_recall.__file__).parent}{os.sep}"
CASES = ("membership-flatmate-moved-out", "answers.cases.yaml::openai-late-trailer")
IS_FUNCTION = 0x1  # CO_OPTIMIZED: the bodies of modules and classes are without it.


class Tracer:
    """Collects the files whose functions are called, in the whole session and while an item is run."""

    def __init__(self) -> None:
        self.session: set[str] = set()
        self.case: set[str] = set()
        self._in_case = False

    def called(self, frame: FrameType, event: str, arg: Any) -> None:
        """Note the file of a function that is called; millions are, and nearly all of them are not ours."""
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) or not frame.f_code.co_flags & IS_FUNCTION:
            return
        if is_importing(frame.f_back):
            return
        self.session.add(name.removeprefix(PACKAGE))
        if self._in_case:
            self.case.add(name.removeprefix(PACKAGE))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._in_case = True
        try:
            return (yield)
        finally:
            self._in_case = False


def main() -> int:
    if len(sys.argv) < 2:
        # Each in a process of its own: what one has loaded and remembered, another would not call again.
        return max(subprocess.run([sys.executable, __file__, case]).returncode for case in CASES)
    wanted = sys.argv[1] if "::" in sys.argv[1] else f"cases.yaml::{sys.argv[1]}"
    if sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    tracer = Tracer()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "eval", Path(folder, "eval"), ignore=shutil.ignore_patterns("_artifacts", "__pycache__"))
        os.chdir(folder)
        sys.settrace(tracer.called)
        threading.settrace(tracer.called)
        # On a slow machine a thread would print a line of progress while the case runs.
        chosen = ["-p", "recall", "--replay", "-q", "-o", "recall_progress=0", f"eval/{wanted}"]
        code = pytest.main(["-p", "no:cacheprovider", *chosen], plugins=[tracer])
        sys.settrace(None)
        threading.settrace(None)
        os.chdir(ROOT)
    for what, files in (("case", tracer.case), ("run", tracer.session)):
        print(f"\none {what}: {len(files)} files\n  {' '.join(sorted(files))}")
    return int(code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED))


if __name__ == "__main__":
    sys.exit(main())
