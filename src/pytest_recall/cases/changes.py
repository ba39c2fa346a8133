"""Tell how a change alters the cases themselves: what is missing, renamed, or asked and judged in another way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from pytest_recall.cases.case import Case


class Alteration(StrEnum):
    """In what a case differs from that of the base, or `SKIPPED`, which it is now; the values are the journal's."""

    INPUT = "input"
    EXPECTED = "expected"
    JUDGES = "judges"
    THRESHOLD = "threshold"
    TRIALS = "trials"
    SKIPPED = "skipped"


class CaseChange(NamedTuple):
    """What became of a case of the base."""

    case_id: str
    now: str = ""
    """Its id after the change; empty where it is gone."""
    alterations: tuple[Alteration, ...] = ()
    """In what it differs."""
    judges: tuple[tuple[str, str], ...] = ()
    """Those of its judges whose code is altered, each with the file that has it."""


def case_changes(before: Mapping[str, Case], now: Mapping[str, Case]) -> list[CaseChange]:
    """Return the cases of the base that a change takes away, renames, or lets pass by another measure; sorted by id.

    A case with the same input under another id, which the base does not have, is the same case with a new name; where
    several fit, none is. New cases are none of the base's.
    """
    news: dict[str, list[str]] = {}
    for case_id, case in now.items():
        if case_id not in before:
            news.setdefault(_question(case), []).append(case_id)
    changed = []
    for case_id, case in sorted(before.items()):
        after = now.get(case_id)
        if after is None:
            renamed = news.get(_question(case), [])
            changed.append(CaseChange(case_id, renamed[0] if len(renamed) == 1 else ""))
        elif after.fingerprint != case.fingerprint and (alterations := tuple(_alterations(case, after))):
            changed.append(CaseChange(case_id, case_id, alterations))
    return changed


def with_judge_code(
    changes: Iterable[CaseChange], now: Mapping[str, Case], judges: Mapping[str, str]
) -> list[CaseChange]:
    """Return `changes` with those of the code of judges, which `judges` maps to the file that has it; sorted by id."""
    found = {one.case_id: one for one in changes}
    renamed = {one.now: one.case_id for one in found.values() if one.now}
    for case_id, case in now.items():
        altered = tuple((call.name, judges[call.name]) for call in case.judges if call.name in judges)
        if altered:
            before = found.get(renamed.get(case_id, case_id), CaseChange(case_id, case_id))
            found[before.case_id] = before._replace(judges=altered)
    return [one for _, one in sorted(found.items())]


def with_skipped(changes: Iterable[CaseChange], case_ids: Iterable[str]) -> list[CaseChange]:
    """Return `changes` with the cases that were skipped; sorted by id."""
    found = {one.case_id: one for one in changes}
    for case_id in case_ids:
        before = found.get(case_id, CaseChange(case_id, case_id))
        found[case_id] = before._replace(alterations=(*before.alterations, Alteration.SKIPPED))
    return [one for _, one in sorted(found.items())]


def _question(case: Case) -> str:
    return repr((case.input, case.turns and [(turn.user, turn.assistant) for turn in case.turns]))


def _alterations(before: Case, after: Case) -> Iterable[Alteration]:
    """Yield what differs of two cases of one id."""
    if _question(before) != _question(after):
        yield Alteration.INPUT
    if before.expected != after.expected:
        yield Alteration.EXPECTED
    if [(call.name, call.arguments) for call in before.judges] != [
        (call.name, call.arguments) for call in after.judges
    ]:
        yield Alteration.JUDGES
    if before.threshold != after.threshold:
        yield Alteration.THRESHOLD
    if before.trials != after.trials:
        yield Alteration.TRIALS
