"""The plan as it goes to a worker of pytest-xdist, and as it is read there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recall.plugin.recording import Recording
from pytest_recall.trials.trial import Row

if TYPE_CHECKING:
    from pytest_recall.plugin.session import Run
    from pytest_recall.runs.plan import Plan


def plan_to_text(run: Run) -> str:
    """Return the plan of a run, and how it records, as JSON: as far as a worker needs it.

    That is the slice, and the rows of its cases and of marked tests, which a worker may yet choose.
    """
    plan = run.plan
    picks = () if run.waits else plan.full_slice
    chosen = {pick.case_id for pick in picks}

    def needed(rows: Mapping[str, Row]) -> dict[str, Any]:
        return {
            case_id: row.to_json()
            for case_id, row in rows.items()
            if run.waits or case_id in chosen or case_id not in plan.declared
        }

    place, changes = plan.place, plan.changes
    return json.dumps(
        {
            "root": str(place.root),
            "eval_dir": str(place.eval_dir),
            "artifacts": None if place.artifacts_folder is None else str(place.artifacts_folder),
            "context": {**plan.context._asdict(), "date": plan.context.date.isoformat()},
            "rubric": plan.rubric.model_dump(exclude_unset=True),
            "filters": asdict(plan.filters),
            "picks": picks,
            "changes": None
            if changes is None
            else {case_id: one.to_json() for case_id, one in changes.only(chosen).findings.items()},
            "unaffordable": sorted(plan.unaffordable),
            "rows": needed(plan.rows),
            "before": None if plan.before is plan.rows else needed(plan.before),
            "is_change": plan.base.is_change,
            "baselines": plan.baselines,
            "recording": run.recording,
            "shard": plan.shard,
            "rest": plan.rest and plan.rest.to_json(),
        }
    )


def plan_of_text(text: str) -> tuple[Plan, Recording]:
    """Return the plan of a worker, and how it records, from what `plan_to_text` gave."""
    from pytest_recall.cases.settings import Settings
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.runs.base import Base
    from pytest_recall.runs.context import Context, Filters
    from pytest_recall.runs.plan import Plan
    from pytest_recall.runs.resume import Rest, Shard
    from pytest_recall.schedule.changes import Changes, ReplayFinding
    from pytest_recall.schedule.selection import Pick

    sent = json.loads(text)
    picks = tuple(Pick(*pick) for pick in sent["picks"])
    filters, findings = sent["filters"], sent["changes"]
    plan = Plan(
        place=Place(
            Path(sent["root"]), Path(sent["eval_dir"]), None if sent["artifacts"] is None else Path(sent["artifacts"])
        ),
        context=Context(**{**sent["context"], "date": date.fromisoformat(sent["context"]["date"])}),
        rubric=Settings.model_validate(sent["rubric"]),
        filters=Filters(
            scenarios=tuple(filters["scenarios"]),
            dimensions=tuple(filters["dimensions"]),
            explicit=filters["explicit"],
            update=filters["update"],
        ),
        rows=_rows(sent["rows"]),
        cases=frozenset(pick.case_id for pick in picks),
        picks=picks,
        base=Base(is_change=sent["is_change"], rows=None if sent["before"] is None else _rows(sent["before"])),
        unaffordable=frozenset(sent["unaffordable"]),
        changes=None
        if findings is None
        else Changes({case_id: ReplayFinding.from_json(one) for case_id, one in findings.items()}),
        baselines=tuple(sent["baselines"]),
        shard=sent["shard"] and Shard(*sent["shard"]),
        rest=sent["rest"] and Rest.from_json(sent["rest"]),
    )
    return plan.dealt(), Recording(*sent["recording"])


def _rows(plain: Mapping[str, Any]) -> dict[str, Row]:
    return {case_id: Row.from_json(row) for case_id, row in plain.items()}
