"""Leave a page that says why a run was refused, where a job of CI posts the page of the newest run."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import relative
from pytest_recall.files.wording import one_line

if TYPE_CHECKING:
    from pytest_recall.plugin.session import Run

_NO_RUN = (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR)
"""How a session ends that has asked no case."""


def page_of_no_run(session: pytest.Session, run: Run | None, error: BaseException | None) -> None:
    """Leave a page about a session that ended before its run had begun."""
    if session.exitstatus not in _NO_RUN or (run is not None and run.journal is not None):
        return
    ended = f"pytest ended with exit code {int(session.exitstatus)} before a case was asked; its log says why"
    refused = run.log.refused if run is not None else []
    leave_page(session.config, error or RecallError(*(refused or [ended])))


def leave_page(config: Any, error: BaseException) -> None:
    """Write why a run was refused in place of the newest scorecard, in a job of CI that runs cases.

    `config` is as much of it as is known. What cannot be written is left out: pytest says why it ends.
    """
    option = config.option
    only = ("collectonly", "recall_dry_run", "help", "version", "showfixtures", "setupplan", "setuponly")
    if not os.environ.get("CI") or hasattr(config, "workerinput") or any(getattr(option, one, None) for one in only):
        return
    from pytest_recall.plugin.extensions import job_of
    from pytest_recall.plugin.options import place_of
    from pytest_recall.results.scorecard_markdown import refusal
    from pytest_recall.runs.job import append_summary

    with suppress(RecallError, OSError):
        place = place_of(config)
        if not place.eval_dir.is_dir():
            return
        page = refusal(_sentences(config, error))
        place.artifacts.write("scorecard.md", page)
        if (summary := job_of(config).summary) is not None:
            append_summary(summary, page)


def _sentences(config: Any, error: BaseException) -> list[str]:
    """Return what an error says, in a sentence or more; of a conftest file that cannot be imported also which."""
    if isinstance(error, pytest.UsageError | RecallError):
        return [str(part) for part in error.args] or [type(error).__name__]
    cause = error.__cause__
    if cause is not None and isinstance(path := getattr(error, "path", None), Path):
        return [one_line(f"{relative(path, config.rootpath)}: {type(cause).__name__}: {cause}", 300)]
    return [one_line(f"{type(error).__name__}: {error}", 300)]
