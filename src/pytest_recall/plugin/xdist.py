"""Send the plan to workers of pytest-xdist, and take back what they found."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.plugin import start
from pytest_recall.plugin.options import has_state, today, usage_errors
from pytest_recall.plugin.recording import Recording
from pytest_recall.plugin.stash import BATCHED, CASSETTES, FOREIGN, RUN
from pytest_recall.replay.exchange import Call
from pytest_recall.trials.trial import Row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_recall.plugin.session import Run
    from pytest_recall.schedule.changes import Changes


def brief(node: Any) -> None:
    """Send the plan to a worker, as far as it needs it: the slice, and rows that may still be wanted."""
    node.workerinput["recall_foreign"] = [str(path) for path in node.config.stash.get(FOREIGN, ())]
    run = node.config.stash.get(RUN, None)
    if run is None:
        node.workerinput["recall_today"] = today(node.config).isoformat()
        if not has_state(node.config):
            return
        run = start.wake(node.config, [])
    plan = run.plan
    if plan.rubric.rate_limits:
        _share(run, node.workerinput["workercount"])
    picks = () if run.waits else plan.whole
    chosen = {pick.case_id for pick in picks}

    def sent(rows: Mapping[str, Row]) -> dict[str, Any]:
        needed = (one for one in rows.items() if run.waits or one[0] in chosen or one[0] not in plan.declared)
        return {case_id: row.to_json() for case_id, row in needed}

    node.workerinput["recall"] = json.dumps(
        {
            "root": str(plan.place.root),
            "eval_dir": str(plan.place.eval_dir),
            "artifacts": None if plan.place.artifacts_folder is None else str(plan.place.artifacts_folder),
            "context": {**plan.context._asdict(), "date": plan.context.date.isoformat()},
            "rubric": plan.rubric.model_dump(exclude_unset=True),
            "wanted": asdict(plan.wanted),
            "picks": picks,
            "changes": None
            if plan.changes is None
            else {case_id: one.to_json() for case_id, one in plan.changes.only(chosen).findings.items()},
            "unaffordable": sorted(plan.unaffordable),
            "rows": sent(plan.rows),
            "before": None if plan.before is plan.rows else sent(plan.before),
            "is_change": plan.base.is_change,
            "baselines": plan.baselines,
            "recording": run.recording,
            "shard": plan.shard,
            "rest": plan.rest and plan.rest.to_json(),
        }
    )


def _share(run: Run, workers: int) -> None:
    """Say that workers share the rates. Raises pytest.UsageError where a share is nothing."""
    with usage_errors():
        run.plan.rubric.rates(workers)
    if workers > 1:
        run.log.note(f"rate limits: each of the {workers} workers kept to an equal share of them")


def follow(config: pytest.Config) -> None:
    """Make a worker's run from what the controller sent."""
    given = config.workerinput.get("recall")  # type: ignore[attr-defined]
    if given is None:
        return
    from pytest_recall.cases.settings import Settings
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.runs.base import Base
    from pytest_recall.runs.context import Context, Filters
    from pytest_recall.runs.plan import Plan
    from pytest_recall.runs.resume import Rest, Shard
    from pytest_recall.schedule.selection import Pick

    sent = json.loads(given)
    picks = tuple(Pick(*pick) for pick in sent["picks"])
    plan = Plan(
        place=Place(
            Path(sent["root"]), Path(sent["eval_dir"]), None if sent["artifacts"] is None else Path(sent["artifacts"])
        ),
        context=Context(**{**sent["context"], "date": date.fromisoformat(sent["context"]["date"])}),
        rubric=Settings.model_validate(sent["rubric"]),
        wanted=Filters(
            scenarios=tuple(sent["wanted"]["scenarios"]),
            dimensions=tuple(sent["wanted"]["dimensions"]),
            explicit=sent["wanted"]["explicit"],
            update=sent["wanted"]["update"],
        ),
        rows=_rows(sent["rows"]),
        cases=frozenset(pick.case_id for pick in picks),
        picks=picks,
        base=Base(
            is_change=sent["is_change"],
            rows=None if sent["before"] is None else _rows(sent["before"]),
        ),
        unaffordable=frozenset(sent["unaffordable"]),
        changes=None if sent["changes"] is None else _changes(sent["changes"]),
        baselines=tuple(sent["baselines"]),
        shard=sent["shard"] and Shard(*sent["shard"]),
        rest=sent["rest"] and Rest.from_json(sent["rest"]),
    )
    run = start.make_run(config, plan.dealt())
    asked = Recording(*sent["recording"])
    run.begin_recording(asked)
    config.stash[CASSETTES] = start.make_manager(run, asked)


def _changes(sent: Mapping[str, Any]) -> Changes:
    from pytest_recall.schedule.changes import Changes, ReplayFinding

    return Changes({case_id: ReplayFinding.from_json(one) for case_id, one in sent.items()})


def _rows(sent: Mapping[str, Any]) -> dict[str, Row]:
    return {case_id: Row.from_json(row) for case_id, row in sent.items()}


def debrief(node: Any, run: Run) -> None:
    """Take in which cases a worker found by collecting; a worker that died says nothing."""
    output = getattr(node, "workeroutput", {})
    for error in output.get("recall_errors", ()):
        run.log.refuse(error)
    node.config.stash.setdefault(BATCHED, Counter()).update(output.get("recall_batched", {}))
    given = output.get("recall")
    if given is None:
        return
    found = json.loads(given)
    run.log.trouble(found["problems"])
    run.log.note(*found["notes"])
    run.log.halt(found["halted"])
    run.unrecorded.telemetry.update(found["telemetry"])
    run.unrecorded.ignored.update(found["ignored"])
    run.unrecorded.places.update(dict.fromkeys(found["places"]))
    run.money.calls += map(Call.from_json, found["calls"])
    run.money.alone.update(found["alone"])
    run.money.looped.update(found["looped"])
    run.unrecorded.programs.update(dict.fromkeys(found["programs"]))
    run.unrecorded.clients.update(found["clients"])
    run.judged.update(found["judged"])
    run.found.deselected.update(found["deselected"])
    if found["passed_over"]:
        run.plan = run.plan.declaring(found["passed_over"])
        run.amended = True
    run.take_in(found)
    if found["late"] or found["cases"]:
        run.collected([])
