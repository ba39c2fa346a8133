"""Say what is known of a change before its run is planned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.runs.evidence import NO_RUNS, PullRuns

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings
    from pytest_recall.plugin.recording import Recording
    from pytest_recall.runs.base import Base
    from pytest_recall.runs.ci import CiJob
    from pytest_recall.schedule.changes import Changes


class KnownChange(NamedTuple):
    """What is known of a change before its run is planned.

    `rubric` are the settings that it is held to, `notes` say how its own differ. `recording` is how the run records or
    replays, `affects` what a replay of all cases found, None without one, and `earlier` what runs of the same pull
    request have left. `job` is that of CI, as far as the environment tells of one.
    """

    base: Base
    rubric: Settings
    recording: Recording
    job: CiJob
    affects: Changes | None = None
    earlier: PullRuns = NO_RUNS
    notes: tuple[str, ...] = ()
