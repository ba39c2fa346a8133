"""Send the plan to workers of pytest-xdist, and take back what they found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.plugin import start
from pytest_recall.plugin.options import has_state, today, usage_errors
from pytest_recall.plugin.plan_payload import plan_to_text
from pytest_recall.plugin.stash import FOREIGN, RUN
from pytest_recall.plugin.worker_payload import WorkerPayload
from pytest_recall.replay.exchange import Call

if TYPE_CHECKING:
    from pytest_recall.plugin.session import Run


class Controller:
    """Hands the plan to workers, and takes back what only they can find out; registered where pytest-xdist is."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_configure_node(self, node: Any) -> None:
        """Send the plan to a worker that is about to start."""
        _send_plan(node)

    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Begin the journal, as nothing is collected here, or end a run that lacks a file.

        Raises pytest.Session.Interrupted, as pytest does for its own collection.
        """
        run: Run | None = self._config.stash.get(RUN, None)
        if run is None:
            return
        run.collected_elsewhere(ids)
        if (count := len(run.other_failures.uncollected)) and not self._config.option.continue_on_collection_errors:
            raise pytest.Session.Interrupted(f"{count} error{'s' if count != 1 else ''} during collection")

    def pytest_testnodedown(self, node: Any) -> None:
        """Take in what a worker has found out; one that died says nothing."""
        if any(key.startswith("recall") for key in getattr(node, "workeroutput", ())):
            _take_findings(node, start.ensure_run(self._config))


def _send_plan(node: Any) -> None:
    """Send the plan to a worker, as far as it needs it: the slice, and rows that may still be wanted."""
    node.workerinput["recall_foreign"] = [str(path) for path in node.config.stash.get(FOREIGN, ())]
    run = node.config.stash.get(RUN, None)
    if run is None:
        node.workerinput["recall_today"] = today(node.config).isoformat()
        if not has_state(node.config):
            return
        run = start.begin_run(node.config, [])
    if run.plan.rubric.rate_limits:
        _share(run, node.workerinput["workercount"])
    node.workerinput["recall"] = plan_to_text(run)


def _share(run: Run, workers: int) -> None:
    """Say that workers share the rates. Raises pytest.UsageError where a share is nothing."""
    with usage_errors():
        run.plan.rubric.rates(workers)
    if workers > 1:
        run.log.note(f"rate limits: each of the {workers} workers kept to an equal share of them")


def _take_findings(node: Any, run: Run) -> None:
    """Take in which cases a worker found by collecting; a worker that died says nothing."""
    output = getattr(node, "workeroutput", {})
    for error in output.get("recall_errors", ()):
        run.log.refuse(error)
    text = output.get("recall")
    if text is None:
        return
    payload = WorkerPayload.from_text(text)
    run.log.trouble(payload.problems)
    run.log.note(*payload.notes)
    run.log.halt(payload.halted)
    run.unrecorded.update(payload.unrecorded)
    run.money.calls += map(Call.from_json, payload.calls)
    run.money.alone.update(payload.alone)
    run.money.looped.update(payload.looped)
    run.money.batched.update(payload.batched)
    run.judged.update(payload.judged)
    run.collection.deselected.update(payload.deselected)
    if payload.passed_over:
        run.plan = run.plan.declaring(payload.passed_over)
        run.amended = True
    run.merge_collection(payload.collection)
    if payload.collection.marked_tests or payload.collection.cases:
        run.collected([])
