"""What the measures of extensions came to in a run: a mean over its cases, with an interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from statistics import fmean
from typing import NamedTuple

from pytest_recall.files.sections import Section, TextTable
from pytest_recall.files.wording import one_line
from pytest_recall.metrics.clustered import Clustered, clustered_mean
from pytest_recall.trials.trial import Trial


class CaseValue(NamedTuple):
    """What a measure came to for a case: the mean of its trials."""

    trial: Trial
    """The last of them."""
    value: float


def case_values(series: Mapping[str, Iterable[Trial]]) -> dict[str, dict[str, CaseValue]]:
    """Return what each measure came to, by its name and the case, from the trials of each case; the names sorted."""
    found: dict[str, dict[str, list[tuple[Trial, float]]]] = {}
    for case_id, trials in series.items():
        for trial in trials:
            for name, value in trial.custom_measures.items():
                found.setdefault(name, {}).setdefault(case_id, []).append((trial, value))
    return {
        name: {
            case_id: CaseValue(values[-1][0], fmean(value for _, value in values))
            for case_id, values in found[name].items()
        }
        for name in sorted(found)
    }


def measure_means(series: Mapping[str, Iterable[Trial]], group_of: Callable[[Trial], str]) -> dict[str, Clustered]:
    """Return the mean of each measure over the cases, with its interval at 95 %; cases of a group are alike."""
    return {
        name: clustered_mean((group_of(one.trial), one.value) for one in values.values())
        for name, values in case_values(series).items()
    }


def measures_section(means: Mapping[str, Clustered], about: Mapping[str, str]) -> Section:
    """Return the means as a section, with what each measure is `about`, as far as that is known."""
    rows = [
        (
            name,
            one_line(about.get(name, ""), 80),
            f"{mean.n:,}",
            *("" if value is None else number_text(value) for value in (mean.value, mean.low, mean.high)),
        )
        for name, mean in means.items()
    ]
    head = ("measure", "what it is", "cases", "mean", "95 % from", "to")
    facts = {
        name: {
            "about": about.get(name) or None,
            "cases": mean.n,
            "mean": mean.value,
            "low": mean.low,
            "high": mean.high,
        }
        for name, mean in means.items()
    }
    return Section("Measures", [TextTable("", head, rows, texts=2)], key="measures", facts=facts)


def number_text(value: float) -> str:
    """Return a number of any unit as people read it: with three digits or more."""
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.1f}" if size >= 10 else f"{value:.3g}"
