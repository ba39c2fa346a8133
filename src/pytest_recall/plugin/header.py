"""Print the header of a run: the slice, how calls are recorded or replayed, and who is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_recall.plugin import baselines, recording
from pytest_recall.plugin.stash import CASSETTES
from pytest_recall.results import sentences
from pytest_recall.results.evaluation_text import not_compared_text

if TYPE_CHECKING:
    from pytest_recall.plugin.session import Run


def lines(run: Run) -> Iterator[str | None]:
    """Yield the lines, in order; None and empty ones stand for what there is nothing to say of."""
    plan = run.plan
    yield run.header_line()
    if plan.changes is not None:
        yield f"recall: {sentences.replay_line(plan.changes.summary)}"
        if not run.dry:
            from pytest_recall.runs.affordable import affected_lines

            yield from (f"recall: {line}" for line in affected_lines(plan))
    elif plan.mode == "pr" and plan.scheduled and plan.rest is None and plan.files and not run.dry:
        yield _not_replayed(run)
    if plan.not_compared:
        yield f"recall: not evaluated, since {not_compared_text(plan.not_compared)}"
    if run.dry:
        yield "recall: dry run: every case is replayed with its judges; nothing is sent"
    yield _warm_up_line(run)
    yield recording.live_line(run.config.stash[CASSETTES])
    if run.runs and plan.rest is None:
        from pytest_recall.plugin import portion

        yield portion.cut_off_line(plan)
    yield baselines.header_line(run)
    yield _concurrency_line(run)


def _not_replayed(run: Run) -> str | None:
    """Return why it is not known which cases a change affects; None where none is there to know."""
    if not run.plan.base.is_change or run.plan.changes is not None:
        return None
    if run.plan.rubric.recording == "off":
        why = "`recording: off` in rubric.yaml"
    elif run.recording is not None and run.recording.mode == "replay":
        why = "a replay asks nothing"
    else:
        return None
    return f"recall: what this change affects is not known ({why})"


def _warm_up_line(run: Run) -> str | None:
    """Return how a new set comes to be known, where its slices alone would take long."""
    plan = run.plan
    if plan.mode not in ("pr", "nightly") or plan.rest is not None or not plan.files or run.dry:
        return None
    from pytest_recall.schedule.forecast import warm_up

    scheduled = plan.cases - plan.unscheduled.keys()
    found = warm_up(len(scheduled - plan.rows.keys()), len(scheduled), plan.rubric, plan.context.date)
    return None if found is None else f"recall: {sentences.warm_up(found, plan.place.name(plan.place.eval_dir))}"


def _concurrency_line(run: Run) -> str | None:
    """Return how many cases run at once, or why none do though it was asked for."""
    from pytest_recall.plugin import options

    limit = options.concurrency(run.config)
    if limit == 1 or not run.plan.files or run.config.option.collectonly:
        return None
    from pytest_recall.plugin.overlap import obstacle

    reason = obstacle(run.config)
    return f"recall: up to {limit} cases at once" if reason is None else f"recall: cases run one by one, {reason}"
