"""Replay past runs under another schedule: what it would have run, and which failures it would have seen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path

from pydantic import ValidationError

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.json_lines import objects
from pytest_recall.files.validation import MAX_PROBLEMS, explain
from pytest_recall.files.wording import plural
from pytest_recall.schedule.boxes import review
from pytest_recall.schedule.history import Backtest, PastRun, VerdictLine, regressions, turned_red
from pytest_recall.schedule.policies import Policy
from pytest_recall.schedule.simulated import waited
from pytest_recall.trials.execution import assumed_trial
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Outcome, Row

FEW_RUNS, FEW_DAYS = 5, 7
"""Runs after the first, and days, that are the least."""
AS_IT_WAS = "as it was"


def check_enough(runs: Sequence[PastRun]) -> None:
    """Raise RecallError if `runs`, in their order, are too few to say anything. The first of them is the start."""
    days = (runs[-1].day - runs[0].day).days + 1 if runs else 0
    if len(runs) <= FEW_RUNS or days < FEW_DAYS:
        raise RecallError(
            f"too little history: {plural(len(runs), 'run')} with verdicts over {plural(days, 'day')}, where"
            f" {FEW_RUNS + 1} over {FEW_DAYS} are the least that say anything; name more with --runs or --verdicts"
        )


def rows_before(records: Iterable[Record], first: date) -> dict[str, Row]:
    """Return the rows that cases had before the day `first`, as far as `records`, the oldest first, know them."""
    rows: dict[str, Row] = {}
    for record in records:
        for trial in record.trials:
            if trial.row is not None and trial.row.last_tested < first:
                rows.setdefault(trial.case_id, trial.row)
    return rows


def as_it_was(runs: Sequence[PastRun]) -> Backtest:
    """Return what the runs on record came to, in the same words: the first is the start, and counts for nothing."""
    red, known = turned_red(runs), list(regressions(runs))
    verdicts = [passed for run in runs[1:] for passed in run.verdicts.values()]
    delay, p95, longest, _ = waited([0.0] * len(known))
    fails = verdicts.count(False)
    counts = (len(runs) - 1, len(verdicts), 0, fails, len(red), len(red), len(known), len(known), 0, 0)
    return Backtest(AS_IT_WAS, *counts, delay, p95, longest)


def backtest(
    make: Callable[[Collection[str]], Policy],
    runs: Sequence[PastRun],
    rows: Mapping[str, Row],
    quarantine: Quarantine | None = None,
) -> Backtest:
    """Return what the policy that `make` makes over some cases would have come to, in the place of each of `runs`.

    It begins with `rows` and the first run, which counts for nothing; after that it knows only what it has chosen
    itself. A pull request draws by its number and a run on the main branch is a night; which cases are near a change
    is not on record. It chooses from the cases that were there by then. What it chooses moves its rows if the run
    had a verdict on it.
    """
    now = dict(rows)
    cases = {*now, *runs[0].verdicts}
    _take(now, runs[0], runs[0].verdicts, quarantine)
    policy = make(cases)
    picked: list[set[str]] = [set()]
    unknown = fails = 0
    for run in runs[1:]:
        if not run.verdicts.keys() <= cases:
            cases |= run.verdicts.keys()
            policy = make(cases)
        if run.pr is None:
            picks = policy.night(now, (), run.day, run.day.isoformat())
        else:
            picks = policy.pull_request(now, (), run.day, run.pr)
        chosen = {pick.case_id for pick in picks}
        picked.append(chosen)
        told = chosen & run.verdicts.keys()
        unknown += len(chosen) - len(told)
        fails += sum(not run.verdicts[case_id] for case_id in told)
        _take(now, run, told, quarantine)
    red = turned_red(runs)
    delays: list[float] = []
    missed = undecided = 0
    broke = list(regressions(runs))
    for one in broke:
        times = [index for index in range(one.start, one.end) if one.case_id in picked[index]]
        seen = [index for index in times if one.case_id in runs[index].verdicts]
        if seen:
            delays.append((runs[seen[0]].day - runs[one.start].day).days)
        elif times:
            undecided += 1
        else:
            missed += 1
    delay, p95, longest, _ = waited(delays)
    return Backtest(
        policy=policy.name,
        runs=len(runs) - 1,
        chosen=sum(map(len, picked)),
        unknown=unknown,
        fails=fails,
        red=len(red),
        caught=sum(bool(picked[index] & failed) for index, failed in red.items()),
        regressed=len(broke),
        found=len(delays),
        missed=missed,
        undecided=undecided,
        delay=delay,
        p95=p95,
        longest=longest,
    )


def _take(rows: dict[str, Row], run: PastRun, case_ids: Iterable[str], quarantine: Quarantine | None) -> None:
    for case_id in case_ids:
        outcome = Outcome.PASSED if run.verdicts[case_id] else Outcome.FAILED
        after = review(rows.get(case_id), assumed_trial(case_id, outcome, "failed"), run.day, quarantine)
        if after is not None:
            rows[case_id] = after


def read_verdicts(path: Path, name: str) -> list[VerdictLine]:
    """Return the lines of the table in `path`. Raises RecallError, with a sentence for each line that is wrong."""
    found: list[VerdictLine] = []
    problems: list[str] = []
    for number, value, problem in objects(read_text(path, name)):
        if problem:
            problems.append(f"{name}:{number}: {problem}")
            continue
        try:
            found.append(VerdictLine.model_validate(value))
        except ValidationError as error:
            problems += explain(error, VerdictLine, name, lambda _, at=number: at)  # type: ignore[misc]
        if len(problems) >= MAX_PROBLEMS:
            break
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    return found
