"""The journal of a run without pytest: begun or resumed at its first line, and ended however the run ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_recall.cases.settings import DEFAULT_SETTINGS
from pytest_recall.files.errors import STOPPED, RecallError, StoppedError
from pytest_recall.models.inputs import end
from pytest_recall.models.model_notes import NAME as NOTES
from pytest_recall.models.model_notes import end_notes
from pytest_recall.trials.drive import SpentError
from pytest_recall.trials.journal import NAME, Journal, is_begun
from pytest_recall.trials.memory_calls import MemoryModelCalls
from pytest_recall.trials.record import WHOLE, Header
from pytest_recall.trials.run_stop import RunStop
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


class RunJournal:
    """The journal in `folder`, of which nothing is written before `begin`. Its texts are beside it.

    `redact` takes secrets out of a text, by default those of the environment.
    """

    def __init__(self, folder: Path, header: Header, redact: Callable[[str], str] | None = None) -> None:
        self.folder = folder
        self.header = header
        self._redact = redact or DEFAULT_SETTINGS.redactor(os.environ).redacted
        self._journal: Journal | None = None

    def begin(self) -> Journal:
        """Return the journal, which is begun, or resumed where the folder has one.

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

        The `calls` of a trial that fails are written down. Raises RecallError where a judge must not judge, which ends
        the run.
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

    def end(self, exit_code: int, stop: RunStop | None = None) -> None:
        """Write how the run has ended, if it has written anything; only the first end counts. Raises OSError."""
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.end(exit_code, None if stop is None else stop._replace(detail=self._redact(stop.detail)))

    def close(self) -> None:
        """Let go of the files; a journal without an end is of a run that was cut off."""
        if self._journal is not None:
            self._journal.close()


def end_runs(exit_code: int, folders: Iterable[Path]) -> None:
    """Note in the folders of the runs of a command that it has left nothing open, if its exit code says so."""
    for folder in folders if exit_code in WHOLE else ():
        end(folder)
        end_notes(folder / NOTES)


@contextmanager
def run_journal(folder: Path, header: Header, redact: Callable[[str], str] | None = None) -> Iterator[RunJournal]:
    """Hand out the journal of a run, and write how the run ends that Ctrl-C or an error ends in this block.

    `redact` takes secrets out of what an error says, by default those of the environment. Raises StoppedError for
    Ctrl-C.
    """
    run = RunJournal(folder, header, redact)
    try:
        yield run
    except KeyboardInterrupt:
        run.end(STOPPED, RunStop("interrupted"))
        raise StoppedError(f"{folder}: stopped; run the same command again to resume") from None
    except RecallError as error:
        run.end(REFUSED, RunStop("error", str(error)))
        raise
    finally:
        run.close()
