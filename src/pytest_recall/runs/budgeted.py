"""Apply the rolling budget to a plan: which affected cases run now, and which are deferred."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pytest_recall.runs.plan import Plan
from pytest_recall.schedule.allotment import Allotment, allot
from pytest_recall.schedule.bank import bank_from
from pytest_recall.schedule.changes import Changes
from pytest_recall.schedule.selection import Deferrals


def allotted(plan: Plan, changes: Changes) -> Allotment | None:
    """Return how far the budget goes for what a change affects; None without one."""
    bank, context = bank_from(plan.rubric.budget), plan.context
    if bank is None or plan.rubric.policy != "affected":
        return None
    # Of marked tests, which no file has, the replay knows all.
    ids = plan.cases | (changes.found.keys() - plan.declared)
    return allot(bank, plan.account, changes, ids, plan.rows, context.date, context.seed)


def held_to_budget(plan: Plan) -> Plan:
    """Return the plan of a pull request that asks what there is money for; by batch it asks what others left, alone."""
    if plan.changes is None or plan.context.mode != "pr" or not plan.scheduled:
        return plan
    waiting = plan.account.deferred
    again = {case_id: names for case_id, names in waiting.items() if case_id in plan.changes.affected & plan.cases}
    if plan.batch and again:
        return replace(plan, left_to=Deferrals(waiting=again, alone=True)).choosing()
    allotment = allotted(plan, plan.changes)
    if allotment is None:
        return plan
    return replace(plan, allotment=allotment, left_to=Deferrals(frozenset(allotment.deferred), waiting)).choosing()


def stopped(plan: Plan, case_ids: Iterable[str]) -> Plan:
    """Return the plan without affected cases that are asked no more, since a regression is confirmed."""
    gone = frozenset(case_ids)
    if plan.allotment is None or not gone:
        return plan
    left_to = plan.left_to._replace(deferred=plan.left_to.deferred | gone)
    picks = tuple(pick for pick in plan.picks if pick.case_id not in gone)
    return replace(plan, allotment=plan.allotment.stopped(gone), left_to=left_to, picks=picks, whole=picks)
