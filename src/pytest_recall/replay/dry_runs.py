"""Replay recorded cases in processes of their own: each is pytest with `--recall-dry-run`, which sends nothing."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import one_line


class DryRunProcess(NamedTuple):
    """A replay in a process."""

    command: Sequence[str | os.PathLike[str]]
    findings: Path
    """Where the command writes what it finds."""
    output: Path
    """Where the output of the command goes."""
    environ: Mapping[str, str]


def run_together(runs: Sequence[DryRunProcess], name: str, folder: Path | None = None) -> None:
    """Run replays at the same time in `folder`, else in the current one, until all have ended.

    Raises RecallError for one that has written no findings, with what it says is to be corrected; else messages call
    the replay `name`.
    """
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for run in runs:
            with run.output.open("wb") as output:
                processes.append(
                    subprocess.Popen(
                        run.command,
                        cwd=folder,
                        env=run.environ,
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                    )
                )
        codes = [process.wait() for process in processes]
    except BaseException:
        for process in processes:
            process.terminate()
            process.wait()
        raise
    for run, code in zip(runs, codes, strict=True):
        if not run.findings.exists():
            raise _failure(name, code, run.output.read_text(encoding="utf-8", errors="replace"))


_USAGE_ERROR = 4
"""How pytest ends that asks nothing, since a file or an option has to be corrected: what it prints is for people."""
_SENTENCE = re.compile(r"^ERROR: (?!usage: )(.+)$", re.MULTILINE)


def _failure(name: str, code: int, output: str) -> RecallError:
    if code == _USAGE_ERROR and (sentences := _SENTENCE.findall(output)):
        return RecallError(*dict.fromkeys(sentences))
    lines = [line for line in output.splitlines() if line.strip()] or ["it printed nothing"]
    errors = [line for line in lines if line.startswith(("ERROR", "E  ", "INTERNALERROR"))]
    last = one_line((errors or lines)[-1].removeprefix("E "), 300)
    return RecallError(
        f"{name} ended with exit code {code} and found nothing ({last});"
        " `pytest -p recall --record=missing --recall-dry-run` runs it by itself"
    )
