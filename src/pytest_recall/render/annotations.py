"""Annotations: fails as commands of GitHub Actions, which shows them on the line of the case.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_recall.core.errors import one_line
from pytest_recall.core.scorecard import Failure, Result, Scorecard
from pytest_recall.core.trial import Outcome
from pytest_recall.render import gates, sentences

MOST = 10
"""GitHub shows so many errors of a step, and as many warnings."""
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def commands(card: Scorecard, below: str = "") -> Iterator[str]:
    """Yield a line for each regression and each missed gate, as errors, and for each new failure, as a warning.

    `below` is the folder of the repository that paths are relative to. A case without a verdict is a warning too. What
    is known to fail is no news on a pull request.
    """
    kinds = card.failures()
    regressions = kinds.get(Failure.REGRESSION, [])
    others = kinds.get(Failure.NEW, []) + card.with_outcome(Outcome.ERROR)
    missed = [standing for standing in card.gates if standing.stops("regression")]
    errors = [_command("error", "a gate is missed", gates.line(standing)) for standing in missed]
    errors += [_of_case("error", result, below) for result in regressions]
    yield from errors[:MOST]
    yield from [_of_case("warning", result, below) for result in others][:MOST]


def _of_case(level: str, result: Result, below: str) -> str:
    trial = result.trial
    standing = "no verdict" if trial.outcome is Outcome.ERROR else sentences.standing(result)
    told = one_line(trial.note, 300)
    if result.cause is not None:
        told += f"\nlikely cause: {result.cause.label}: {result.cause.evidence}"
    return _command(level, f"{standing}: {trial.case_id}", told, f"{below}/{trial.where}" if below else trial.where)


def _command(level: str, title: str, told: str, where: str = "") -> str:
    path, _, line = where.rpartition(":")
    place = f"file={path.translate(_PROPERTY)},line={line}," if path and line.isdigit() else ""
    return f"::{level} {place}title={one_line(title).translate(_PROPERTY)}::{told.translate(_DATA)}"
