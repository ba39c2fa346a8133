"""Report at the end of a worker of pytest-xdist what only it can know."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from pytest_recall.plugin import judging, unrecorded
from pytest_recall.plugin.stash import CASSETTES
from pytest_recall.plugin.worker_payload import WorkerPayload

if TYPE_CHECKING:
    import pytest

    from pytest_recall.plugin.session import Run


class WorkerEnding:
    """The end of a run in a worker, whose controller writes the journal."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def finish(self, session: pytest.Session) -> None:
        """Send to the controller what this process has found, unless a mistake was found by which nothing runs."""
        run = self._run
        judging.note_asking(run, session)
        unrecorded.take(run)
        output: dict[str, Any] = run.config.workeroutput  # type: ignore[attr-defined]
        if "recall_errors" in output:
            return
        manager = run.config.stash[CASSETTES]
        deselected = run.collection.deselected
        payload = WorkerPayload(
            collection=run.collection_payload(),
            problems=[*manager.problems, *manager.player.strays],
            notes=run.log.notes,
            halted=run.log.halted,
            unrecorded=run.unrecorded.to_json(),
            calls=[call.to_json() for call in manager.calls],
            alone=run.money.alone,
            looped=run.money.looped,
            batched=run.money.batched,
            deselected={case_id: named for case_id, named in deselected.items() if case_id in run.plan.reasons},
            passed_over=sorted(run.collection.passed_over),
            judged=sorted(run.judged),
        )
        output["recall"] = payload.to_text()

    def summary(self, reporter: pytest.TerminalReporter) -> None:
        """Print nothing: the controller does."""

    def failures_hidden(self, reporter: pytest.TerminalReporter) -> AbstractContextManager[None]:
        """Leave pytest's own sections as they are."""
        return nullcontext()
