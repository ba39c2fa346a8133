"""Send the calls of a session through batch APIs, with `--recall-batch`."""

from __future__ import annotations

import os
from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pytest_recall.files.errors import RecallError, sentence_of
from pytest_recall.models import batch as render
from pytest_recall.models.batch_file import BatchLog
from pytest_recall.models.batch_queue import BatchSender
from pytest_recall.plugin import options
from pytest_recall.plugin.interrupts import Postponed
from pytest_recall.replay.equality import written_key
from pytest_recall.replay.player import Player
from pytest_recall.replay.watch import Watch

if TYPE_CHECKING:
    from pytest_recall.plugin.session import Run
    from pytest_recall.replay.tape import CassetteMode


def watch(run: Run, begun: Watch | CassetteMode, name: str) -> Watch:
    """Let the calls of cases that run at once wait for batches, with what watches already, or in a mode.

    Raises pytest.UsageError if none can.
    """
    options.concurrency(run.config)
    rubric = run.plan.rubric
    log = BatchLog(run.plan.place.artifacts.folder, name)
    player = Player(begun) if isinstance(begun, str) else begun.player
    batches = player.batches = BatchSender(
        rubric.calls_that("batch"),
        log,
        partial(written_key, rules=rubric.rules(), redactor=rubric.redactor(os.environ)),
    )
    run.config.pluginmanager.register(Batching(run, batches), "recall-batching")
    return Watch(player) if isinstance(begun, str) else begun


class Batching:
    """Ends the batches of this process before its run; registered with `--recall-batch`."""

    def __init__(self, run: Run, batches: BatchSender) -> None:
        self._run = run
        self._batches = batches

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """On the controller, say also what went which way, and what is left with the providers."""
        try:
            return (yield)
        finally:
            with Postponed() as interrupt:
                self._finish()
            if interrupt.came:
                session.exitstatus = pytest.ExitCode.INTERRUPTED

    def _finish(self) -> None:
        run = self._run
        self._batches.close()
        run.log.trouble(self._batches.problems)
        run.money.batched += self._batches.tally
        if run.follows or run.recording is None:
            return
        if run.money.batched:
            run.log.note(render.tally_line(run.money.batched))
        try:
            left = BatchLog(run.plan.place.artifacts.folder, run.recording.run).left()
        except (OSError, RecallError) as error:
            run.log.trouble([sentence_of(error)])
            return
        if left:
            run.log.note(render.left(left))
