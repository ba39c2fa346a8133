"""Report baselines beside the agent under test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_recall.files.sections import Section, TextTable
from pytest_recall.files.wording import one_line, p_value, plural
from pytest_recall.metrics.intervals import Interval
from pytest_recall.results.ending_text import explanation, no_verdict_json
from pytest_recall.trials import cost_text
from pytest_recall.trials.baselines import Arm, SideBySide, verdicts
from pytest_recall.trials.cost_text import AGENT
from pytest_recall.trials.trial import Outcome

ABSENT = "–"
MAX_UNDECIDED = 20
MEANING = (
    "change: from the agent to the baseline, in points, over the cases with a verdict by both; p: McNemar's exact test,"
    " not adjusted for the number of baselines. Calls, tokens and cost are the agent's own, without its judges'."
)
_COUNTED = (*(outcome.value for outcome in Outcome), "not run")
_FIGURES = ("pass rate", "95 %", "pairs", "change", "p", "calls", "tokens", "cost")


def baselines_section(arms: SideBySide) -> Section:
    """Return the arms side by side, and the baselines' cases without a verdict."""
    head, rows = _table(arms)
    tables = [TextTable("", head, rows)]
    if len(arms.scenarios) > 1:
        tables.append(TextTable("", *_by_scenario(arms)))
    notes = [MEANING]
    if undecided := _undecided(arms):
        name = f"no verdict on a baseline ({len(undecided)}), which fails no run"
        tables.append(TextTable(name, ("baseline", "case", "outcome", "why"), undecided[:MAX_UNDECIDED], texts=4))
        if (more := len(undecided) - MAX_UNDECIDED) > 0:
            notes.append(f"{more} more without a verdict in scorecard.json")
    facts = {
        "cases": arms.cases,
        "agent": _plain(arms, arms.agent),
        "arms": {arm.name: _plain(arms, arm) for arm in arms.baselines},
    }
    return Section("Baselines", tables, notes, key="baselines", facts=facts)


def _plain(found: SideBySide, arm: Arm) -> dict[str, Any]:
    changed = arm.change
    bill = arm.spend.recording
    return {
        "counts": _counts(found, arm),
        "by_scenario": arm.by_scenario,
        "pass_rate": arm.passed / arm.verdicts if arm.verdicts else None,
        "pass_rate_95": None if arm.interval is None else list(arm.interval),
        "change": None
        if changed is None
        else {
            "pairs": changed.pairs,
            "lost": changed.lost,
            "gained": changed.gained,
            "difference": changed.difference,
            "difference_95": list(changed.interval),
            "p": changed.p,
        },
        "calls": arm.spend.calls,
        "tokens": arm.spend.tokens._asdict(),
        "calls_without_tokens": arm.spend.uncounted,
        "usd": bill.known,
        "calls_without_price": bill.unpriced,
        "estimated": bool(bill.estimated),
        "no_verdict": [no_verdict_json(trial) for trial in arm.undecided],
    }


def _counts(found: SideBySide, arm: Arm) -> Mapping[str, int]:
    left = found.cases - sum(arm.counts.values())
    return {**arm.counts, "not run": left} if left else arm.counts


def _table(found: SideBySide) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    arms = (found.agent, *found.baselines)
    counts = [_counts(found, arm) for arm in arms]
    columns = [name for name in _COUNTED if any(name in some for some in counts)]
    rows = [
        (_name(arm), *(f"{some.get(column, 0):,}" for column in columns), *_figures(arm))
        for arm, some in zip(arms, counts, strict=True)
    ]
    return ("baselines", *columns, *_FIGURES), rows


def _figures(arm: Arm) -> list[str]:
    rate = f"{100 * arm.passed / arm.verdicts:.1f} %" if arm.verdicts else ABSENT
    told = [rate, _range(arm.interval)]
    changed = arm.change
    told += (
        [ABSENT] * 3
        if changed is None
        else [f"{changed.pairs:,}", f"{100 * changed.difference:+z.1f}", p_value(changed.p)]
    )
    spend = arm.spend
    if not spend.calls:
        return [*told, "0", ABSENT, ABSENT]
    return [*told, f"{spend.calls:,}", _tokens(arm), cost_text.price(spend.recording)]


def _tokens(arm: Arm) -> str:
    """Return the tokens of all kinds together, "at least" so many if a call has not counted its own."""
    known = [count for count in arm.spend.tokens if count is not None]
    if not known:
        return cost_text.UNKNOWN
    return f"at least {sum(known):,}" if arm.spend.uncounted else f"{sum(known):,}"


def _range(interval: Interval | None) -> str:
    return ABSENT if interval is None else f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"


def _by_scenario(found: SideBySide) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    arms = (found.agent, *found.baselines)
    rows = [
        (one_line(scenario) or "(none)", *(_share(arm.by_scenario.get(scenario, {})) for arm in arms))
        for scenario in found.scenarios
    ]
    return ("passed by scenario", *map(_name, arms)), rows


def _share(counts: Mapping[str, int]) -> str:
    """Return how many of the verdicts are passes."""
    among = verdicts(counts)
    return f"{counts.get(Outcome.PASSED.value, 0):,} of {among:,}" if among else ABSENT


def _name(arm: Arm) -> str:
    return one_line(arm.name, 60) or AGENT


def _undecided(found: SideBySide) -> list[tuple[str, str, str, str]]:
    """Return what came to no verdict: the baseline, the case, the outcome and why."""
    return [
        (one_line(arm.name, 60), one_line(trial.case_id), trial.outcome.value, one_line(explanation(trial), 140))
        for arm in found.baselines
        for trial in arm.undecided
    ]


def summary(names: Iterable[str]) -> str:
    """Return which baselines a run asks, in one line."""
    every = list(names)
    return f"{plural(len(every), 'baseline')} beside the agent: {', '.join(one_line(name, 60) for name in every)}"
