"""Send the calls of a session through batch APIs, with `--recall-batch`."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from pytest_recall.files.errors import RecallError, sentence_of
from pytest_recall.models import batch as render
from pytest_recall.models.batch_file import BatchLog
from pytest_recall.models.batch_queue import BatchSender
from pytest_recall.plugin import options
from pytest_recall.plugin.stash import BATCHED, CASSETTES
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
    player.batches = BatchSender(
        rubric.calls_that("batch"),
        log,
        partial(written_key, rules=rubric.rules(), redactor=rubric.redactor(os.environ)),
    )
    return Watch(player) if isinstance(begun, str) else begun


def finish(run: Run) -> None:
    """End the batches of this process; on the controller, say what went which way and what is left."""
    config = run.config
    manager = config.stash.get(CASSETTES, None)
    batches = manager.player.batches if manager is not None else None
    if batches is None or run.recording is None:
        return
    batches.close()
    run.log.trouble(batches.problems)
    if run.follows:
        config.workeroutput["recall_batched"] = dict(batches.tally)  # type: ignore[attr-defined]
        return
    tally = batches.tally + config.stash.get(BATCHED, Counter())
    if tally:
        run.log.note(render.tally_line(tally))
    try:
        left = BatchLog(run.plan.place.artifacts.folder, run.recording.run).left()
    except (OSError, RecallError) as error:
        run.log.trouble([sentence_of(error)])
        return
    if left:
        run.log.note(render.left(left))
