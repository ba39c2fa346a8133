"""Resolve what a run is about: its date, seed and mode, and the filters that the command line narrows it by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

from pytest_recall.cases.settings import MODES, Mode, Settings
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.runs.job import Job


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What the command line narrows a run to; empty is everything."""

    scenarios: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = ()
    explicit: str = ""
    """The option by which the person chose the cases, so that the schedule stands aside; else empty."""
    update: bool = False
    """Whether the state is written all the same."""

    @property
    def names(self) -> list[tuple[str, str]]:
        """What is wanted, each name with its option."""
        wanted = (("--scenarios", self.scenarios), ("--dimensions", self.dimensions))
        return [(option, name) for option, names in wanted for name in names]

    @property
    def narrows(self) -> bool:
        """Whether a case must be read to know if it is wanted."""
        return bool(self.scenarios or self.dimensions)

    def keeps(self, scenario: str, dimension: str) -> bool:
        """Whether a case of this scenario and dimension is wanted."""
        return (not self.scenarios or scenario in self.scenarios) and (
            not self.dimensions or dimension in self.dimensions
        )

    def check(self, scenarios: Iterable[str], dimensions: Iterable[str]) -> None:
        """Raise RecallError for a wanted name that no case has, with the nearest ones."""
        known = {"--scenarios": set(scenarios), "--dimensions": set(dimensions)}
        problems = [
            f"{option}: {name!r} is in no case{nearest(name, known[option])}"
            for option, name in self.names
            if name not in known[option]
        ]
        if problems:
            raise RecallError(*problems)


LONGEST = timedelta(days=3660)
"""How far ahead of its date a run may look, and how far back."""


class CommandLine(NamedTuple):
    """What the command line says; None where it is silent."""

    date: str | None = None
    seed: str | None = None
    mode: str | None = None
    pr: str | None = None
    model: str | None = None


class Context(NamedTuple):
    """The facts that a run's decisions rest on, beside cases and state."""

    date: date
    seed: str
    mode: Mode
    pr: str | None
    model: str | None


def resolve(asked: CommandLine, job: Job, rubric: Settings, today: date) -> Context:
    """Return the context: the command line first, then the job; the model may be the rubric's.

    `today` is the date where the command line names none. Without a seed the pull request's number is the
    seed, so that each push to it draws the same new cases; without one, the date is.
    Raises RecallError for a value that is not one.
    """
    pr = asked.pr or (None if job.number is None else str(job.number))
    day = parse_date(asked.date) if asked.date else today
    mode: Mode = "pr"
    if asked.mode is not None:
        mode = parse_mode(asked.mode)
    elif job.is_scheduled:
        mode = "nightly"
    return Context(
        date=day,
        seed=asked.seed or pr or day.isoformat(),
        mode=mode,
        pr=pr,
        model=asked.model or rubric.model_primary,
    )


def today_in(env: Mapping[str, str], today: date) -> date:
    """Return the date that `RECALL_DATE` names, else `today`. Raises RecallError."""
    return parse_date(env["RECALL_DATE"], "RECALL_DATE") if env.get("RECALL_DATE") else today


def parse_date(text: str, name: str = "date") -> date:
    """Return the ISO date in `text`, which messages call `name`. Raises RecallError."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise RecallError(f"{name}: {text!r} is not a date; write it like 2026-01-31") from None
    first, last = date.min + LONGEST, date.max - LONGEST
    if not first <= day <= last:
        raise RecallError(
            f"{name}: {day} leaves a schedule no room, which counts {LONGEST.days} days back and ahead; give a day from"
            f" {first} to {last}"
        )
    return day


def parse_mode(text: str) -> Mode:
    """Return the mode named `text`. Raises RecallError with the nearest."""
    for mode in MODES:
        if text == mode:
            return mode
    raise RecallError(f"mode: {text!r} is unknown{nearest(text, MODES)}")
