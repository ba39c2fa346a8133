"""Implement `--recall-dry-run`: replay every case with its judges and list those that the change affects."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.files.disk import write_bytes
from pytest_recall.files.errors import MissError, RecallError
from pytest_recall.files.git import Repository
from pytest_recall.files.wording import listed
from pytest_recall.models.prices import at_model, call_of, pricing
from pytest_recall.plugin.pytest_internals import run_phase
from pytest_recall.plugin.stash import CASSETTES, ERROR, RUN, add_data, data_of, is_case, state_of
from pytest_recall.replay import files_read
from pytest_recall.replay.budget import may_cost, models_without_price
from pytest_recall.results import replay_text
from pytest_recall.results.ending_text import ending_text
from pytest_recall.schedule.changes import (
    NAME,
    OF_FIXTURE,
    Changes,
    ReplayFinding,
    ReplayState,
    finding,
    of_series,
    to_text,
    worst,
)
from pytest_recall.trials.conditions import taped_of, words_of
from pytest_recall.trials.trial import Outcome

if TYPE_CHECKING:
    from pytest_recall.models.settings import Prices
    from pytest_recall.replay.exchange import Exchange
    from pytest_recall.runs.plan import Plan
    from pytest_recall.trials.record import LetThrough
    from pytest_recall.trials.trial import Trial

_SHOWN = {
    ReplayState.UNAFFECTED: ("not affected", ".", "NOT AFFECTED"),
    ReplayState.CHANGED: ("affected", "a", "AFFECTED"),
    ReplayState.NOT_RECORDED: ("not recorded", "n", "NOT RECORDED"),
    ReplayState.UNJUDGED: ("to be judged again", "j", "TO BE JUDGED AGAIN"),
    ReplayState.RECORDED: ("decided by recorded answers", "r", "RECORDED"),
}


def _mark(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Say on the report what the replay of a case came to; a fault of the replay itself fails no case here."""
    found, state = _found(item, call), state_of(item)
    # Of the recordings of a change itself what they come to is a verdict, also where it is that of the row.
    decides = (ReplayState.UNAFFECTED,) if item.config.option.recall_dry_run_of else ()
    if found.state in (ReplayState.RECORDED, ReplayState.UNJUDGED, *decides):
        # Of a series the report of the last trial has all.
        trials = json.loads(data_of(report)["trials"])
        if "answer" not in trials[-1] and state.answer is not None and state.tape is not None:
            trials[-1]["answer"] = state.answer.clean(state.tape.redactor.redacted).to_json()
        found = found._replace(trials=tuple(trials))
    add_data(report, dry=json.dumps(found.to_json()))
    if state.outcomes is not None:
        return  # One of several trials, of which all together decide.
    _settle(item, call, report, found)


def _settle(item: pytest.Item, call: pytest.CallInfo[None], report: Any, found: ReplayFinding) -> None:
    """Have pytest show what was found: a fail only where the change alone is its cause."""
    if found.state is ReplayState.UNKNOWN or (found.breaks and report.failed):
        return
    if not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = "passed", None
    if call.when == "setup":
        # There is no one to ask, and pytest would go on.
        report.outcome = "skipped"
        report.longrepr = (str(item.path), (item.location[1] or 0) + 1, f"Skipped: dry run: {found.state}")


def _found(item: pytest.Item, call: pytest.CallInfo[None]) -> ReplayFinding:
    """Return what the replay of a case came to, with what its recording has cost if it has to be asked."""
    found, tape = _came_to(item, call), state_of(item).tape
    rubric = item.config.stash[RUN].plan.rubric
    if tape is not None:
        fixtures = item.config.stash[CASSETTES].lacking_headers.intersection(getattr(item, "fixturenames", ()))
        found = found._replace(lacks_headers=tape.lacks_headers or bool(fixtures))
        if found.state is ReplayState.CHANGED and found.request:
            with suppress(RecallError):
                found = found._replace(asked=tuple(sorted({*tape.asked(), found.request})))
    decided = found.state in (ReplayState.UNAFFECTED, ReplayState.RECORDED) and not found.breaks
    if decided or tape is None or tape.cassette is None:
        return found
    try:
        exchanges = [tape.cassette.exchange(place) for place in tape.cassette.calls]
    except RecallError:
        return found
    plan = item.config.stash[RUN].plan
    row = plan.before.get(state_of(item).case_id)
    return priced(found, exchanges, rubric.prices, plan.context.model, None if row is None else row.last_model)


def priced(
    found: ReplayFinding,
    exchanges: Sequence[Exchange],
    prices: Mapping[str, Prices],
    model: str | None,
    last_model: str | None,
) -> ReplayFinding:
    """Return what was found of a case with what its recording has cost, at the price of `model` if that is another."""
    recorded = [call_of(exchange, exchange.kind, "replayed", prices) for exchange in exchanges]
    calls, swapped = at_model(recorded, model, last_model, prices)
    known = [call.cost for call in calls if call.cost is not None]
    longest = max((call.tokens.output or 0 for call in calls if call.tokens is not None), default=0)
    price_of = pricing(prices).price_of
    reserved = (may_cost(exchange.request, price_of, longest or None) for exchange in exchanges)
    above = [most - (call.cost or 0.0) for call, most in zip(calls, reserved, strict=True)]
    return found._replace(
        usd=fsum(known) if len(known) == len(calls) else None,
        estimated=any(call.estimated and bool(call.cost) for call in calls),
        swapped=swapped,
        unpriced=models_without_price(calls),
        answer_tokens=longest,
        headroom=max([0.0, *above]),
    )


def _came_to(item: pytest.Item, call: pytest.CallInfo[None]) -> ReplayFinding:
    manager, plan = item.config.stash[CASSETTES], item.config.stash[RUN].plan
    state = state_of(item)
    tape = state.tape
    case = state.case
    words = () if case is None else words_of([case.id, case.input, case.turns and [one.user for one in case.turns]])
    error = call.excinfo.value if call.excinfo is not None else None
    if manager.player.programs.every and tape is not None and (started := manager.started_for(item)):
        ran = f"programs ran in its replay, and what they ask is not recorded: {listed(started)}"
        return ReplayFinding(ReplayState.UNKNOWN, why=ran)
    if isinstance(error, MissError) and str(error) in manager.differing and (tape is None or tape.difference is None):
        # A fixture that it shares with others asks something else.
        return ReplayFinding(ReplayState.CHANGED, key=OF_FIXTURE)
    recorded = None if tape is None or tape.cassette is None else taped_of(tape.cassette.header)
    answer = state.answer
    if answer is not None and tape is not None:
        answer = answer.clean(tape.redactor.text)
    return finding(
        state.result,
        state.outcome,
        None if tape is None else tape.difference,
        recorded,
        answer=answer,
        row=plan.before.get(state.case_id),
        error="" if error is None else str(error),
        words=words,
    )


def _cache_of(config: pytest.Config) -> Path:
    """Return the folder of pytest's cache; where its plugin is off, one that is not there."""
    try:
        name = str(config.getini("cache_dir"))
    except ValueError:
        name = ".pytest_cache"
    return config.rootpath / name


def _sources(plan: Plan, cache: Path) -> frozenset[str]:
    """Return the files of the project that were imported or read, as paths from its root, also as installed copies.

    Without those of an environment in it, and those that are read here for whatever case: what they say of a case is
    compared by itself.
    """
    place = plan.place
    real = place.root.resolve()
    files = {Path(file).resolve() for module in list(sys.modules.values()) if (file := getattr(module, "__file__", ""))}
    files |= {*files_read.files()} - {path.resolve() for path in (*plan.files, place.rubric, place.state)}
    ours = [folder.resolve() for folder in (place.cassettes, place.run_files, place.artifacts.folder, cache)]
    files = {path for path in files if not any(map(path.is_relative_to, ours))}
    environment = Path(sys.prefix).resolve()
    own = {path for path in files if path.is_relative_to(real) and not path.is_relative_to(environment)}
    own |= set(_installed(real, files - own))
    return frozenset(path.relative_to(real).as_posix() for path in own if path.parent.name != "__pycache__")


def _installed(root: Path, files: Iterable[Path]) -> Iterator[Path]:
    """Yield the files below `root` that git knows and of which `files` has a copy, such as in an installed package."""
    try:
        known = Repository(root).files(root)
    except RecallError:
        return
    originals: dict[tuple[str, str], list[Path]] = {}
    for path in known:
        originals.setdefault((path.parent.name, path.name), []).append(path)
    for copy in files:
        for path in originals.get((copy.parent.name, copy.name), ()):
            with suppress(OSError):
                if path.read_bytes() == copy.read_bytes():
                    yield path.resolve()


class DryRun:
    """Replays each case in place of running it, and collects what that has come to, as the reports come in.

    `path` is the file into which it is written, if one is named.
    """

    def __init__(self, config: pytest.Config, path: Path | None = None) -> None:
        self._cache = _cache_of(config)
        self._found: dict[str, ReplayFinding] = {}
        self._path = path

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Leave out a case that has no recording: nothing is there to compare with, and it might ask past a replay."""
        if is_case(item) and not item.config.stash[CASSETTES].is_recorded(item):
            state_of(item).outcome = Outcome.SKIPPED
            pytest.skip("not recorded")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: pytest.Item | None) -> bool | None:
        """Replay all recorded trials of a case that is asked several times."""
        rule = state_of(item).rule if is_case(item) else None
        if rule is None:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        count = item.config.stash[CASSETTES].recorded_trials(item)
        outcomes: list[Outcome] = []
        state = state_of(item)
        state.outcomes = outcomes
        found: list[ReplayFinding] = []
        try:
            for number in range(1, count + 1):
                call, report = run_phase(item, "setup")
                if report.passed:
                    call, report = run_phase(item, "call")
                found.append(ReplayFinding.from_json(json.loads(data_of(report)["dry"])))
                decided = found[-1].state in (ReplayState.UNAFFECTED, ReplayState.RECORDED)
                last = number == count or not decided
                if last:
                    one = of_series(found, rule.decided([*outcomes, state.outcome]))
                    if found[-1].trials:
                        one = one._replace(trials=tuple(json.loads(data_of(report)["trials"])))
                    add_data(report, dry=json.dumps(one.to_json()))
                    _settle(item, call, report, one)
                _, end = run_phase(item, "teardown", nextitem=nextitem if last else item.parent)
                if last:
                    item.ihook.pytest_runtest_logreport(report=report)
                if last or not end.passed:
                    item.ihook.pytest_runtest_logreport(report=end)
                outcomes.append(state.outcome)
                if last:
                    break
        finally:
            state.outcomes = None
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Say on the report with a trial what the replay came to."""
        report = yield
        if is_case(item) and not state_of(item).calling and "trials" in data_of(report):
            _mark(item, call, report)
            if call.when == "call":
                state_of(item).reported = report.outcome
        return report

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Show a case by what was found; None for what pytest shows as ever."""
        data = data_of(report)
        if "dry" not in data or (report.when == "call" and report.failed and data.get("status") == ERROR):
            return None
        found = ReplayFinding.from_json(json.loads(data["dry"]))
        return None if found.breaks and report.failed else _SHOWN.get(found.state)

    def take(self, trial: Trial, finding: str) -> None:
        """Take in what the replay of a case came to, as the report of its trial has it if it got as far as that."""
        why = ending_text(trial)
        found = ReplayFinding.from_json(json.loads(finding)) if finding else ReplayFinding(ReplayState.UNKNOWN, why=why)
        known = self._found.get(trial.case_id)
        if found.state is ReplayState.UNKNOWN:
            found = found._replace(why=why or found.why)
        # At the end of a teardown there may be something to say against it.
        self._found[trial.case_id] = found if known is None else worst([known, found])

    def changes(self, plan: Plan, let_through: LetThrough) -> Changes:
        """Return what was found of the cases of `plan`."""
        return Changes(self._found, len(plan.picks), _sources(plan, self._cache), let_through=let_through)

    def write(self, plan: Plan, let_through: LetThrough) -> None:
        """Write what was found, for the run that asked for it and for people. Raises OSError."""
        text = to_text(self.changes(plan, let_through), plan.context.date.isoformat(), plan.checkout.commit)
        if self._path is None:
            plan.place.artifacts.write(NAME, text)
        else:
            write_bytes(self._path, text.encode("utf-8", "surrogatepass"))

    def lines(self, plan: Plan, let_through: LetThrough) -> Iterator[str]:
        """Yield what was found, for a terminal."""
        changes = self.changes(plan, let_through)
        nothing = f"nothing was {'' if any(let_through) else 'sent or '}written to the state"
        yield f"{replay_text.counts(changes.summary)}; {nothing}"
        yield from replay_text.lines(changes)
        name = plan.place.name(self._path or plan.place.artifacts.folder / NAME)
        yield f"{name}: written"
