"""Put together what a memory came to after each of several ingests of one dataset."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pytest_recall.datasets.comparison import JournalContents
from pytest_recall.datasets.judged import JudgingResult
from pytest_recall.datasets.membench import EarlierAnswers, MembenchSummary, fold, has_failed
from pytest_recall.datasets.membench_run import MembenchResult, read_figures
from pytest_recall.files.errors import RecallError
from pytest_recall.trials.cost import Spend, total
from pytest_recall.trials.repeat_folders import begun_repeats
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.trial import Trial


class Ingest(NamedTuple):
    """What came of one ingest."""

    folder: Path
    found: MembenchResult
    """Its questions."""
    judges: str = ""
    """Those that judged the answers; empty without any."""
    judged: JudgingResult | None = None
    """What the judges said of the answers; None without any."""

    @property
    def unfinished(self) -> bool:
        """Whether questions were not asked, or answers not judged, that the same command will come to."""
        return len(self.found.trials) < self.found.total or (self.judged is not None and self.judged.left > 0)

    @property
    def stop(self) -> RunStop | None:
        """Why questions were not asked, or answers not judged; None if all were."""
        if len(self.found.trials) < self.found.total:
            return self.found.stop
        return self.judged.stop if self.judged is not None and self.judged.left else None

    @property
    def spend(self) -> Spend:
        """What the calls of reader and judges came to."""
        judging = {} if self.judged is None else {"judge": self.judged.spend}
        return total({"reader": self.found.reading_spend, **judging})


class RepeatedResult(NamedTuple):
    """What the ingests that were begun came to, one after the other, of as many as were `wanted`."""

    ingests: tuple[Ingest, ...]
    wanted: int

    @property
    def summary(self) -> MembenchSummary:
        """What all of them came to: each question has the mean of its values."""
        first, *further = (one.found for one in self.ingests)
        asked = {} if first.record is None else first.record.asked
        return fold(first.trials, first.total, asked, [one.trials for one in further])

    @property
    def named(self) -> dict[str, Ingest]:
        """The ingests by what they are called, which of a single one is nothing."""
        return {f"ingest {n}" if self.wanted > 1 else "": one for n, one in enumerate(self.ingests, start=1)}

    @property
    def complete(self) -> bool:
        """Whether all questions were asked after all ingests."""
        asked = sum(len(one.found.trials) == one.found.total for one in self.ingests)
        return asked == self.wanted

    @property
    def failed(self) -> tuple[Trial, ...]:
        """The questions that failed after each ingest after which they were asked, with the trial of the first."""
        every = [{trial.case_id: trial for trial in one.found.trials} for one in self.ingests]
        lost = {trial.case_id: trial for one in reversed(self.ingests) for trial in one.found.failed}
        return tuple(trial for id, trial in lost.items() if all(id not in one or has_failed(one[id]) for one in every))

    @property
    def kept(self) -> str:
        """Which questions an earlier command has asked, in words; empty if none."""
        every = [one.found.earlier for one in self.ingests]
        dates = tuple(sorted({day for one in every for day in one.dates}))
        asked = sum(len(one.found.trials) for one in self.ingests)
        return EarlierAnswers(sum(one.questions for one in every), dates).of(asked)

    @property
    def unread(self) -> tuple[Trial, ...]:
        """The trials to which the reader gave no answer."""
        return tuple(trial for one in self.ingests for trial in one.found.unread)

    @property
    def judged(self) -> tuple[Trial, ...]:
        """The trials that were judged."""
        return tuple(trial for one in self.ingests if one.judged is not None for trial in one.judged.judged)

    @property
    def undecided(self) -> Mapping[str, str]:
        """The questions on whose answers the judges came to no verdict, by id and ingest, and why."""
        return {
            f"{id}, {name}" if name else id: why
            for name, one in self.named.items()
            if one.judged is not None
            for id, why in one.judged.undecided.items()
        }


def read_repeats(folder: Path, name: str) -> JournalContents:
    """Return what the journals of a run and of its repeats hold, which messages call `name`.

    Raises RecallError, also for a repeat that was asked something else than the first.
    """
    first, *further = (read_figures(one, name) for one in begun_repeats(folder))
    for number, one in enumerate(further, start=2):
        if one.arguments != first.arguments:
            raise RecallError(
                f"{folder / f'repeat-{number}'}: is of another memory or of other questions than the journal of {name};"
                f" move it away, and ask again with `--repeat {number}`"
            )
    spend = total({str(place): one.spend for place, one in enumerate([first, *further])})
    return first._replace(further=tuple(one.trials for one in further), spend=spend)
