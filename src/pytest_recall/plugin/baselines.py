"""Ask baselines beside the agent under test, and report what they came to without failing the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.files.errors import MissError, RecallError
from pytest_recall.plugin.options import spelled
from pytest_recall.plugin.pytest_internals import defined_names, definitions
from pytest_recall.plugin.session import run_of
from pytest_recall.plugin.stash import CASSETTES, ERROR, MODELS, add_data, data_of, state_of
from pytest_recall.trials.baselines import Baseline, baseline_of, check_names, fixture_of, named
from pytest_recall.trials.trial import Outcome

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings
    from pytest_recall.plugin.session import Run
    from pytest_recall.trials.baseline_agents import PlainModel

STATUS = "baseline "
"""What the status of a baseline's trial begins with, before its outcome."""
LETTERS = {Outcome.PASSED: "b", Outcome.FAILED: "B", Outcome.ERROR: "e", Outcome.SKIPPED: "s"}
"""What pytest prints in a row for each outcome of a baseline."""


def checked_names(config: pytest.Config, rubric: Settings, where: str) -> tuple[str, ...]:
    """Return the baselines of this session by name: those of the command line, else those of the rubric at `where`.

    Raises RecallError for what can be no list of them, before anything is collected.
    """
    given = config.option.recall_baselines
    option = spelled(config, "baselines")
    names = rubric.baselines if given is None else named(given, option)
    check_names(names, where if given is None else option)
    return names


def header_line(run: Run) -> str:
    """Return who is asked beside the agent under test; empty if none is."""
    names = run.plan.baselines
    if not names or not run.plan.files:
        return ""
    from pytest_recall.results.baselines_text import summary

    return f"recall: {summary(names)}"


def of_module(module: pytest.Module) -> list[Baseline]:
    """Return the baselines that are asked the cases of a file. What is unknown ends the session after collection."""
    run = run_of(module.config)
    found = []
    for name in run.plan.baselines:
        has_fixture = ":" not in name and bool(definitions(module, fixture_of(name)))
        try:
            found.append(baseline_of(name, has_fixture=has_fixture, fixtures=defined_names(module.config)))
        except RecallError as error:
            run.collection.unknown_baselines.update(dict.fromkeys(error.messages))
    return found


def agent_of(config: pytest.Config, baseline: Baseline, fixtures: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return the agent of a baseline, from the `fixtures` of its item. Raises RecallError."""
    if baseline.kind == "model":
        return model_of(config, baseline.name)
    agent: Callable[[Any], Any] = fixtures[baseline.fixture]
    if baseline.kind == "fixture":
        return agent
    from pytest_recall.trials import baseline_agents

    return baseline_agents.arm(baseline.name, fixtures[baseline.fixture], baseline_agents.WINDOW)


def model_under_test(config: pytest.Config) -> PlainModel:
    """Return the model under test, to be asked. Raises RecallError if none is named, or its name is not a selector."""
    plan = run_of(config).plan
    if plan.context.model is None:
        rubric = plan.place.name(plan.place.rubric)
        raise RecallError(
            f"no model is named; give {spelled(config, 'model')} SELECTOR, or `model_primary` in {rubric}"
        )
    return model_of(config, plan.context.model)


def model_of(config: pytest.Config, selector: str) -> PlainModel:
    """Return the model of a selector, the same one for all who ask it in this process. Raises RecallError."""
    models = config.stash.setdefault(MODELS, {})
    if selector not in models:
        from pytest_recall.models import resolve as run_models
        from pytest_recall.trials.baseline_agents import PlainModel

        run = run_of(config)
        model = run_models.model_of(
            selector,
            "agent",
            player=config.stash[CASSETTES].player,
            root=run.plan.place.root,
            say=run.log.note,
            ready=not config.option.collectonly,
        )
        config.add_cleanup(model.close)
        models[selector] = PlainModel(model)
    return models[selector]


def mark(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Say in the report that a trial is a baseline's; it fails the run only if it asked for what is not recorded."""
    if isinstance(call.excinfo and call.excinfo.value, MissError):
        state_of(item).missed = True
        return
    add_data(report, status=f"{STATUS}{state_of(item).outcome}")
    if state_of(item).rule is None:
        settle(item, report)


def settle(item: Any, report: Any) -> None:
    """Report the fail or the error of a baseline as an expected one, so that it does not fail the run."""
    if report.failed:
        report.outcome = "skipped"
        report.wasxfail = f"baseline {state_of(item).arm}"


def settle_series(item: Any, report: Any, verdict: Outcome) -> None:
    """The same for a series of trials, one of which may have asked for what is not recorded."""
    add_data(report, status=f"{STATUS}{verdict}")
    if not state_of(item).missed:
        settle(item, report)
    elif report.failed:
        add_data(report, status=ERROR if verdict is Outcome.ERROR else "")


def status(report: Any) -> tuple[str, str, str] | None:
    """Return the words of a baseline's trial; None for any other report."""
    status = data_of(report).get("status", "")
    if not status.startswith(STATUS):
        return None
    return status, LETTERS[Outcome(status.removeprefix(STATUS))], status.upper()
