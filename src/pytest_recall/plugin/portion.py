"""Select part of a run: one shard of its slice, or the cases that an interrupted run has not finished."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.plugin import option_rules, options
from pytest_recall.plugin.stash import is_case, state_of

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.plugin.recording import Recording
    from pytest_recall.plugin.session import Run
    from pytest_recall.runs.context import Context, Filters
    from pytest_recall.runs.plan import Plan
    from pytest_recall.runs.resume import Rest, Shard
    from pytest_recall.trials.record import Record

LATEST = "latest"


class Resumed(NamedTuple):
    """A run that goes on: its folder, and its journal as it was found."""

    folder: Path
    record: Record

    def context(self, now: Context) -> Context:
        """Return the context of the run: its own date, seed and mode, whatever they would be `now`."""
        from datetime import date

        header = self.record.header
        mode: Any = header.mode if header.scheduled else now.mode
        return now._replace(date=date.fromisoformat(header.date), seed=header.seed, mode=mode, pr=header.pr)

    def wanted(self) -> Filters:
        """Return what the run was narrowed to."""
        from pytest_recall.runs.context import Filters

        header = self.record.header
        return Filters(
            scenarios=header.scenarios,
            dimensions=header.dimensions,
            explicit="" if header.scheduled else f"the run {header.run}",
            update=header.writes,
        )


def shard_of(config: pytest.Config) -> Shard | None:
    """Return the shard that the command line asks for. Raises RecallError."""
    given = config.option.recall_shard
    if given is None:
        return None
    from pytest_recall.runs.resume import of_environment, parse

    return of_environment(os.environ) if given.strip() == "auto" else parse(given)


def resumed(config: pytest.Config, place: Place) -> Resumed | None:
    """Return the run that is to go on. Raises RecallError if there is none, or something else is asked for as well."""
    option = config.option
    if option.recall_resume is None:
        return None
    try:
        folder = place.artifacts.find(option.recall_resume)
    except RecallError as error:
        taken = config.invocation_params.dir / option.recall_resume
        hint = f"; to run what is in `{option.recall_resume}`, write --recall-resume={LATEST}" if taken.exists() else ""
        raise RecallError(f"--recall-resume: {error}{hint}") from None
    from pytest_recall.trials.journal import read_journal

    record = read_journal(folder)
    header = record.header
    if header.merged:
        raise RecallError(f"--recall-resume: {header.run} was joined from shards; resume the shard that was cut off")
    from pytest_recall.plugin.extensions import job_of
    from pytest_recall.runs.checkout import head_of

    branch = head_of(place.root, job_of(config))[1]
    if branch and header.branch and branch != header.branch:
        # Its first trials are in a run file of that branch, which a merge would count a second time.
        raise RecallError(
            f"--recall-resume: {header.run} began on the branch `{header.branch}`, and `{branch}` is checked out;"
            " switch back, or begin a new run"
        )
    shard = shard_of(config)
    settled: list[tuple[str, object, object]] = [
        ("--recall-date", option.recall_date, header.date),
        ("--recall-mode", option.recall_mode, header.mode),
        ("--recall-seed", option.recall_seed, header.seed),
        ("--recall-pr", option.recall_pr, header.pr),
        ("--recall-shard", shard and str(shard), header.shard),
        (options.spelled(config, "scenarios"), options.filters(config).scenarios or None, header.scenarios),
        (options.spelled(config, "dimensions"), options.filters(config).dimensions or None, header.dimensions),
    ]
    others = [name for name, given, had in settled if given is not None and given != had]
    if others := [*others, *_node_ids(config)]:
        raise RecallError(
            f"--recall-resume: the cases of {header.run} are chosen, and {', '.join(others)} would choose others; leave"
            " that out"
        )
    return Resumed(folder, record)


def _node_ids(config: pytest.Config) -> list[str]:
    return ["node ids"] if any("::" in argument for argument in config.args) else []


def resuming(config: pytest.Config, more: str = "") -> str:
    """Return the command that resumes the run of this session, with `more` options."""
    others = option_rules.excluded_by("resume", config.option, partial(options.spelled, config))
    without = "".join(f" and without {name}" for name in (*others, *_node_ids(config)))
    return f"the same command with --recall-resume{more}{without}"


def settled(config: pytest.Config, plan: Plan, rubric: Settings, kept: Resumed | None) -> dict[str, Any]:
    """Return what decides the verdicts of a plan. Raises RecallError where a run that is resumed had something else."""
    from pytest_recall.runs.resume import changes
    from pytest_recall.trials.record import settings_of

    option = config.option
    settings = settings_of(
        rubric=rubric.model_dump(mode="json", exclude_unset=True, exclude={"baselines"}),
        model=plan.context.model,
        judge=tuple(option.recall_judge or ()),
        appellate_judge=option.recall_appellate_judge,
        memory=option.recall_memory,
        baselines=plan.baselines,
        batch=plan.batch or None,
        model_code=_model_code(config, plan, rubric),
        # A replay asks nothing, and the answers of one folder of cassettes are not those of another.
        **{"--replay": option.recall_replay},
    )
    if kept is None:
        return settings
    changed = changes(kept.record.header.settings, settings)
    if changed:
        raise RecallError(
            f"--recall-resume: {', '.join(changed)} changed since {kept.record.header.run} began, so that its verdicts"
            " would not be of one kind; change that back, or begin a new run"
        )
    return settings


def _model_code(config: pytest.Config, plan: Plan, rubric: Settings) -> dict[str, str]:
    """Return a digest of the code of each model of the run that is the user's, by its selector; nothing is imported.

    Of a program it is of its files in the project: others differ between the machines of shards.
    """
    option = config.option
    named = [*(option.recall_judge or rubric.judge.model), option.recall_appellate_judge or rubric.judge.appellate]
    own = [one for one in (*named, plan.context.model) if one and one.startswith(("python:", "command:"))]
    if not own:
        return {}
    from pytest_recall.models.fingerprint import fingerprint
    from pytest_recall.models.resolve import resolve

    root = plan.place.root.resolve()
    found = {}
    for selector in own:
        with suppress(RecallError):  # It is told where the model is needed.
            files = [path for path in resolve(selector, root=root).code() if path.resolve().is_relative_to(root)]
            found[selector] = fingerprint(files).digest
    return {selector: digest for selector, digest in found.items() if digest}


def carried(recording: Recording, kept: Resumed | None, plan: Plan) -> tuple[Recording, Rest | None]:
    """Return the recording and the rest of a run with what it has left beside its journal: ledger and early trials.

    The ledger of a killed run also has the calls of the cases that it was asking. Where that is gone, as in
    another checkout, its journal says what the others have cost.
    """
    rest = plan.rest
    if kept is None or rest is None:
        return recording, rest
    header, folder = kept.record.header, plan.place.artifacts.folder
    from pytest_recall.files.json_lines import appended
    from pytest_recall.replay.budget import Ledger
    from pytest_recall.trials.trial import Trial

    name = Path(header.early).name
    if name and recording.mode == "off":
        trials = (Trial.from_json(one) for _, one in appended(folder / name))
        rest = rest.with_early(trials, partial(_fingerprint, plan))
        recording = recording._replace(early=name)
    budget = header.budget if recording.budget is None else recording.budget
    if budget is None:
        return recording, rest
    if header.ledger and (folder / Path(header.ledger).name).exists():
        Ledger(folder / Path(header.ledger).name).resume()
        return recording._replace(budget=budget, ledger=Path(header.ledger).name), rest
    recording = recording._replace(budget=budget, ledger=recording.ledger or f".spent-{recording.run}")
    ledger = Ledger(folder / recording.ledger)
    paid = (*kept.record.trials, *rest.early.values())
    calls = [*(call for trial in paid for call in trial.calls), *kept.record.calls]
    for call in calls:
        if call.source == "live":
            ledger.add(call.cost, estimated=call.estimated)
    return recording, rest


def _fingerprint(plan: Plan, case_id: str) -> str:
    """Return the fingerprint of a case of the files; empty for any other."""
    found = (case for file in plan.files.values() if case_id in file.lines for case in file.cases([case_id]))
    return next((case.fingerprint for case in found), "")


def drop(run: Run, items: list[pytest.Item]) -> None:
    """Drop the items whose cases were not chosen, fall to another shard, or came to a verdict before."""
    if run.plan.shard is not None and not run.plan.scheduled:
        run.settle({state_of(item).case_id for item in items if is_case(item)})
    plan = run.plan
    chosen = plan.reasons
    done = {} if plan.rest is None else plan.rest.done

    def is_left(item: pytest.Item) -> bool:
        if not is_case(item):
            return True
        state = state_of(item)
        return state.case_id in chosen and (state.case_id, state.arm) not in done

    dropped = [item for item in items if not is_left(item)]
    if dropped:
        items[:] = [item for item in items if is_left(item)]
        run.config.hook.pytest_deselected(items=dropped)


def cut_off_line(plan: Plan) -> str | None:
    """Return how to go on with the newest run, if that was killed: it could not say it itself."""
    from pytest_recall.trials.journal import is_cut_off

    runs = plan.place.artifacts.runs()
    if not runs or not is_cut_off(runs[-1]):
        return None
    return f"recall: {runs[-1].name} was cut off before its end; --recall-resume={runs[-1].name} resumes it"
