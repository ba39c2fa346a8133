"""Say what the cases that a change affects will cost, and leave out those that the budget does not reach."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from pytest_recall.files.wording import budget_words, dollars, plural
from pytest_recall.runs.plan import Plan
from pytest_recall.schedule.spread import affected_cost, beyond
from pytest_recall.trials.cost_text import at_most, price_advice, swapped_models
from pytest_recall.trials.series import TrialCount, rule_of, trial_count


def trial_counts(plan: Plan, case_ids: Collection[str], *, baseline: bool = False) -> dict[str, TrialCount]:
    """Return how many trials each of these cases takes, by id, as far as it is a row of a file.

    Fails of a `baseline`, and of questions of datasets, are not asked again. Raises RecallError.
    """
    counts, affected = {}, () if plan.changes is None else plan.changes.reasons.keys()
    for file in plan.files.values():
        confirm = None if baseline or file.reason else plan.rubric.confirm
        for case in file.cases(file.lines.keys() & case_ids):
            row = None if baseline else plan.before.get(case.id)
            rule = rule_of(case, confirm, row, of_change=case.id in affected)
            counts[case.id] = trial_count(rule, failing=row is not None and row.failing)
    return counts


def within_budget(plan: Plan) -> Plan:
    """Return the plan without the affected cases that its budget does not reach, by what their recordings have cost.

    Each distinct change of a request is asked before a second case of it. Where no price is known all are asked, and
    the budget ends the run when it is spent. Raises RecallError.
    """
    if plan.changes is None or plan.budget is None or plan.context.mode not in ("pr", "main") or not plan.scheduled:
        return plan
    counts = trial_counts(plan, plan.changes.reasons.keys())
    left = beyond(plan.changes, plan.cases, plan.budget, plan.context.seed, counts)
    return replace(plan, unaffordable=left).choosing() if left else plan


def affected_lines(plan: Plan) -> Iterator[str]:
    """Yield what the affected cases would cost, how many of them the budget reaches, and how to name unknown prices."""
    if plan.changes is None:
        return
    cost = affected_cost(plan.changes, plan.cases, trial_counts(plan, plan.changes.reasons.keys()))
    if not cost.cases:
        return
    cases = plural(cost.cases, "affected case")
    if cost.usd is None or cost.most is None:
        yield f"{cases} would cost an amount that is unknown"
    else:
        told = f"{cases} would cost about {dollars(cost.usd, estimated=cost.estimated)}"
        told += at_most(cost.usd, cost.most, estimated=cost.estimated)
        if cost.swapped:
            told += f", at the price of `{plan.context.model}` for the tokens that {swapped_models(cost.swapped)} took"
        if cost.borrowed:
            told += f"; {cost.borrowed:,} of them by the mean of the others"
        if plan.budget is not None:
            reached = f"{cost.cases - len(plan.unaffordable):,}" if plan.unaffordable else "all"
            told += f"; {budget_words(plan.budget)} reaches {reached} of them"
        yield told
    yield from price_advice(cost.unpriced)
