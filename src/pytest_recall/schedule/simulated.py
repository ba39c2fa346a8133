"""Summarize what a schedule came to in simulated worlds, for one seed and over several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.metrics.intervals import Mean, mean_of, percentile

if TYPE_CHECKING:
    from pytest_recall.cases.case import Case

WEEK = 7.0


class Figures(NamedTuple):
    """What a policy came to: delays in days, of cases that broke on their own; None where there is nothing to say.

    `a_day` are the trials of a day, and `usd` what they cost; `slice` the 5th percentile, the median and the largest.
    `caught` is the share of bad pull requests that failed themselves, of `bad` ones; `again` the share of cases
    that a pull request ran while another one had them; `demotions` of sound cases, a day, and `set_apart` how many of
    them go into quarantine, a year. `delays` are those of the
    cases that were found; the others had been broken for `waits` at the end, which the other figures take for delays.
    """

    policy: str
    a_day: float
    usd: float | None
    slice: tuple[int, int, int]
    longest_night: int
    broke: int
    delay: float | None
    p95: float | None
    longest: float | None
    in_a_week: float | None
    bad: int
    caught: float | None
    again: float | None
    demotions: float
    set_apart: float
    delays: tuple[float, ...] = ()
    waits: tuple[float, ...] = ()


class SimulationSummary(NamedTuple):
    """The figures of several seeds: a Mean has the 95 % interval that the spread between seeds gives.

    Of sizes it is the smallest 5th percentile, the median of medians and the largest; `broke` and `bad` are sums,
    and `longest` is the largest of all. `found_by` has days since a case broke, and the share that is found by then.
    """

    policy: str
    seeds: int
    a_day: Mean
    usd: Mean
    slice: tuple[int, int, int]
    longest_night: int
    broke: int
    delay: Mean
    p95: Mean
    longest: float | None
    in_a_week: Mean
    bad: int
    caught: Mean
    again: Mean
    demotions: Mean
    set_apart: Mean
    found_by: tuple[tuple[float, float], ...]


def waited(delays: Sequence[float]) -> tuple[float | None, float | None, float | None, float | None]:
    """Return the mean, the 95th percentile and the largest of `delays`, in days, and the share within a week."""
    if not delays:
        return None, None, None, None
    ordered = sorted(delays)
    within = sum(delay <= WEEK for delay in ordered) / len(ordered)
    return sum(ordered) / len(ordered), percentile(ordered, 95), ordered[-1], within


def summed_up(found: Sequence[Figures]) -> SimulationSummary:
    """Return the figures of one policy under several seeds, of which there has to be one at least, as one."""

    def mean(of: Callable[[Figures], float | None], most: float = inf) -> Mean:
        return mean_of([value for one in found if (value := of(one)) is not None], within=(0, most))

    medians = sorted(one.slice[1] for one in found)
    return SimulationSummary(
        policy=found[0].policy,
        seeds=len(found),
        a_day=mean(lambda one: one.a_day),
        usd=mean(lambda one: one.usd),
        slice=(min(one.slice[0] for one in found), medians[len(medians) // 2], max(one.slice[2] for one in found)),
        longest_night=max(one.longest_night for one in found),
        broke=sum(one.broke for one in found),
        delay=mean(lambda one: one.delay),
        p95=mean(lambda one: one.p95),
        longest=max((one.longest for one in found if one.longest is not None), default=None),
        in_a_week=mean(lambda one: one.in_a_week, 1),
        bad=sum(one.bad for one in found),
        caught=mean(lambda one: one.caught, 1),
        again=mean(lambda one: one.again, 1),
        demotions=mean(lambda one: one.demotions),
        set_apart=mean(lambda one: one.set_apart),
        found_by=tuple(
            found_by([delay for one in found for delay in one.delays], [wait for one in found for wait in one.waits])
        ),
    )


def found_by(delays: Sequence[float], waits: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Yield days and the share, 0..1, that is found by then; `waits` are of cases that were not found at the end.

    Kaplan and Meier 1958, JASA 53:457: a case that broke the day before the end says nothing of later days.
    """
    left, hidden = len(delays) + len(waits), 1.0
    for days, is_found in sorted([(days, True) for days in delays] + [(days, False) for days in waits]):
        if is_found:
            hidden *= 1 - 1 / left
            yield days, 1 - hidden
        left -= 1


def parts(cases: Iterable[Case]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the ids of `cases` by tag, and of those without one by scenario: no tag tells that they are touched."""
    tags: dict[str, list[str]] = {}
    untold: dict[str, list[str]] = {}
    for case in cases:
        for tag in case.tags:
            tags.setdefault(tag, []).append(case.id)
        if not case.tags:
            untold.setdefault(case.scenario, []).append(case.id)
    return tags, untold
