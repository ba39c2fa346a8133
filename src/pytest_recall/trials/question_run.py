"""A run that asks questions without pytest: its journal is begun or resumed at its first line, and has its end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pytest_recall.cases.settings import DEFAULT_SETTINGS
from pytest_recall.files.errors import STOPPED, RecallError, StoppedError
from pytest_recall.files.wording import same_command
from pytest_recall.models.inputs import end
from pytest_recall.models.model_notes import NAME as NOTES
from pytest_recall.models.model_notes import end_notes
from pytest_recall.trials.journal import NAME, Journal, is_begun
from pytest_recall.trials.memory_calls import MemoryModelCalls
from pytest_recall.trials.model_calls import RunModels
from pytest_recall.trials.record import WHOLE, Header
from pytest_recall.trials.run_stop import RunStop, SpentError
from pytest_recall.trials.texts_file import TextsFile

REFUSED = 2
"""The exit code of a command that an error ends."""


def questions_header(
    folder: Path,
    started: str,
    ids: Iterable[str],
    reason: str,
    *,
    source_kind: str,
    seed: str,
    settings: Mapping[str, Any],
    budget: float | None,
) -> Header:
    """Return the header of a run in `folder` that asks questions, each for the same `reason`; none is on a schedule."""
    picks = tuple((id, reason) for id in ids)
    return Header(
        run=folder.resolve().name,
        date=started[:10],
        mode="all",
        seed=seed,
        started=started,
        scheduled=False,
        writes=False,
        total=len(picks),
        picks=picks,
        questions=len(picks),
        settings=settings,
        source_kind=source_kind,
        budget=budget,
    )


class QuestionRun:
    """A run in `folder`, of which nothing is written before `begin`; a context manager.

    Where Ctrl-C or an error ends the block, the journal says so; StoppedError is raised for Ctrl-C. `tell` takes
    sentences for the user, and `redact` takes secrets out of a text, by default those of the environment.
    """

    def __init__(
        self,
        folder: Path,
        header: Header,
        tell: Callable[[str], None] = lambda sentence: None,
        redact: Callable[[str], str] | None = None,
    ) -> None:
        self.folder = folder
        self.header = header
        self.tell = tell
        self.redact = redact or DEFAULT_SETTINGS.redactor(os.environ).redacted
        self._journal: Journal | None = None

    def begin(self) -> Journal:
        """Return the journal, which is begun, or resumed where the folder has one. Its texts are beside it.

        Raises OSError, and RecallError if another process is writing it.
        """
        if self._journal is not None:
            return self._journal
        fresh = not is_begun(self.folder)
        if fresh:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / NAME).unlink(missing_ok=True)
            journal = Journal(self.folder, self.header)
        else:
            journal = Journal.continued(self.folder)
            journal.resume(self.header.started, self.header.budget, "", "")
        self._journal = journal
        journal.texts = TextsFile(self.folder, fresh=fresh)
        return journal

    def try_judges(self, ready: Callable[[], None], calls: MemoryModelCalls) -> RunStop | None:
        """Put known answers to the judges, before anything else is paid for, and return why nothing may be asked.

        The `calls` of a trial that fails are written down. Raises RecallError where a judge must not judge, which
        ends the run.
        """
        try:
            ready()
        except (SpentError, RecallError) as error:
            with calls.written(self.begin().spent):
                pass
            if isinstance(error, SpentError):
                return error.stop
            self.end(REFUSED, RunStop("preflight", str(error)))
            raise
        return None

    def tell_unrecorded(self, calls: RunModels, names: Iterable[str], what: str) -> None:
        """Say how many of the answers that are kept, by the `names` of their questions, have no recording."""
        if unrecorded := calls.unrecorded(names):
            verb = "is" if unrecorded == 1 else "are"
            self.tell(
                f"{self.folder}: {unrecorded:,} of the {what} {verb} not recorded; --fresh asks and records all of them"
            )

    def end(self, exit_code: int, stop: RunStop | None = None) -> None:
        """Write how the run has ended, if it has written anything; only the first end counts. Raises OSError."""
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.end(exit_code, None if stop is None else stop._replace(detail=self.redact(stop.detail)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if isinstance(error, KeyboardInterrupt):
                self.end(STOPPED, RunStop("interrupted"))
                raise StoppedError(f"{self.folder}: stopped; {same_command()}") from None
            if isinstance(error, RecallError):
                self.end(REFUSED, RunStop("error", str(error)))
        finally:
            # A journal without an end is of a run that was cut off.
            if self._journal is not None:
                self._journal.close()


def end_runs(exit_code: int, folders: Iterable[Path]) -> None:
    """Note in the folders of the runs of a command that it has left nothing open, if its exit code says so."""
    for folder in folders if exit_code in WHOLE else ():
        end(folder)
        end_notes(folder / NOTES)
