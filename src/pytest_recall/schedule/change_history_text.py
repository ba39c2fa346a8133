"""Render the results of policies over a history of changes, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_recall.files.wording import dollars, grid, percent, plural
from pytest_recall.metrics.intervals import Mean, wilson
from pytest_recall.schedule.bank import LOCAL
from pytest_recall.schedule.change_backtest import BATCH_PRICE, PolicySummary
from pytest_recall.schedule.change_history import LEVEL, ChangeHistory, HistoryFacts

NOT_KNOWN = "not known"


def change_lines(
    history: ChangeHistory, facts: HistoryFacts, found: Sequence[PolicySummary], notes: Sequence[str]
) -> Iterator[str]:
    """Yield what the history says, the table with a row for each policy, and `notes`."""
    yield from _facts(facts)
    yield ""
    head = ["", "runs a day", "money a day", "caught", "local", "wide", "before a batch", "false alarms a day"]
    rows = [
        [
            one.policy,
            _mean(one.runs, "{:.1f}", one.batched),
            _mean(one.usd, "${:.2f}"),
            _share(one.caught),
            _share(one.local),
            _share(one.wide),
            _share(one.once),
            _mean(one.false_alarms, "{:.2f}"),
        ]
        for one in found
    ]
    yield from grid(head, rows)
    yield ""
    yield from notes
    if not history.counted:
        yield (
            "The history has no counts of passes: what is caught, false alarms and the trials that confirm a fail are"
            " not known, and neither is what a policy that goes by verdicts would run."
        )
        return
    yield (
        f"caught: of {plural(len(facts.bad or ()), 'change')} that broke sound cases, those in which one of these"
        f" failed that passed before; local: up to {LOCAL} cases affected, wide: more."
    )
    yield (
        "A case is sound if 9 of 10 trials passed, and broken if chance makes it fall as far in less than"
        f" {percent(LEVEL)} (Fisher's exact test)."
    )
    yield "false alarms: confirmed fails of cases that passed before, and of which the history has no fall since."
    yield "In brackets: 95 % intervals over the draws of the verdicts."
    if bad := facts.bad:
        best = max((one.caught.value or 0.0) for one in found)
        if (bounds := wilson(best * len(bad), len(bad))) is not None:
            low, high = (f"{100 * bound:.0f}" for bound in bounds)
            yield (
                f"Of {plural(len(bad), 'change')} alone: {100 * best:.0f} % of them, the most in this table, may be"
                f" {low}–{high} % of others like them."
            )


def _facts(facts: HistoryFacts) -> Iterator[str]:
    yield (
        f"{plural(facts.played, 'change')} from {facts.first} to {facts.last}, {plural(facts.days, 'day')};"
        f" {plural(facts.cases, 'case')} at the end."
    )
    share = facts.touching / facts.played if facts.played else 0.0
    breadth = (
        "" if facts.breadth is None else f"; in the median such a one affects {percent(facts.breadth)} of the cases"
    )
    yield (
        f"affected: {percent(share)} of the changes touch a request, {plural(facts.affected, 'case')} in all{breadth}."
    )
    if facts.falls is None or facts.bad is None or facts.measured is None or facts.flaky is None:
        yield f"safety: {NOT_KNOWN}, without counts."
        return
    yield (
        f"safety: {facts.outside:,} of {plural(facts.falls, 'fall')} of a pass rate outside the affected cases;"
        f" {plural(len(facts.bad), 'change')} broke sound cases,"
        f" {sum(one.is_local for one in facts.bad):,} of them local."
    )
    if facts.measured:
        yield (
            f"flake: {facts.flaky:,} of {facts.measured:,} cases ({percent(facts.flaky / facts.measured)}) neither"
            " always passed nor always failed under the same requests."
        )


def full_names(names: Sequence[str]) -> list[str]:
    """Return the names of policies as they are without the table: an indented one adds to those above it."""
    found: list[str] = []
    for name in names:
        found.append(f"{found[-1]}, {name.strip()}" if name.startswith(" ") and found else name)
    return found


def change_notes(usd: float, is_given: bool, bank: str, confirm: str, seeds: int) -> Iterator[str]:
    """Yield what the table rests on: the price of a trial, the bank, how a fail is confirmed, and the draws."""
    yield (
        f"a trial costs {dollars(usd)} ({'given' if is_given else 'assumed'}), in a batch {BATCH_PRICE:.0%} of that"
        f" (assumed); bank: {bank}; {confirm}; {plural(seeds, 'seed')}.".replace("%", " %")
    )
    yield (
        "All policies begin with one run of all cases, not counted, and have no nights. A fail of a case that failed"
        " when it was last asked is not confirmed. Without differences of requests on record, a bank takes the cases of"
        " one suite for one difference."
    )


def changes_json(
    history: ChangeHistory, facts: HistoryFacts, found: Sequence[PolicySummary], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the same as plain JSON types; what is not known is null."""
    told = {name: value for name, value in facts._asdict().items() if name != "bad"}
    bad = None if facts.bad is None else [{**one._asdict(), "local": one.is_local} for one in facts.bad]
    policies = {
        policy: {
            name: value._asdict() if isinstance(value, Mean) else value
            for name, value in one._asdict().items()
            if name != "policy"
        }
        for policy, one in zip(full_names([one.policy for one in found]), found, strict=True)
    }
    return {
        "version": 1,
        "counted": history.counted,
        **told,
        "first": facts.first.isoformat(),
        "last": facts.last.isoformat(),
        "days": facts.days,
        "bad": bad,
        **settings,
        "policies": policies,
    }


def _mean(mean: Mean, form: str, part: Mean | None = None) -> str:
    if mean.value is None:
        return NOT_KNOWN
    return form.format(mean.value + (part.value or 0.0 if part is not None else 0.0))


def _share(mean: Mean) -> str:
    if mean.value is None:
        return NOT_KNOWN
    told = f"{100 * mean.value:.0f}"
    if mean.low is None or mean.high is None:
        return f"{told} %"
    return f"{told} % ({100 * mean.low:.0f}–{100 * mean.high:.0f})"
