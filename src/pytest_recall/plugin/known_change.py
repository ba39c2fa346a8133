"""Say what is known of a change before its run is planned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.runs.evidence import NO_RUNS, PullRuns

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings
    from pytest_recall.plugin.recording import Recording
    from pytest_recall.runs.base import Base
    from pytest_recall.runs.job import Job
    from pytest_recall.schedule.changes import Changes


class KnownChange(NamedTuple):
    """What is known of a change before its run is planned."""

    base: Base
    rubric: Settings
    """The settings that it is held to."""
    recording: Recording
    """How the run records or replays."""
    job: Job
    """That of CI, as far as the environment tells of one."""
    affects: Changes | None = None
    """What a replay of all cases found; None without one."""
    earlier: PullRuns = NO_RUNS
    """What runs of the same pull request have left."""
    notes: tuple[str, ...] = ()
    """How its own settings differ from these."""
