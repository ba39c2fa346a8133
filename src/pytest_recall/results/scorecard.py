"""Summarize the trials of a run, and decide whether it fails a check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.files.wording import one_line, plural
from pytest_recall.metrics.intervals import unseen_share
from pytest_recall.models.reply_names import replied_models
from pytest_recall.results.ending_text import explanation
from pytest_recall.results.evaluation_text import not_compared_text, not_evaluated_text
from pytest_recall.results.regressions import Cause, cause, narrowed
from pytest_recall.results.standing import informs
from pytest_recall.results.stop_text import failed_item_text, left_text
from pytest_recall.schedule.boxes import DATASET, OF_CHANGE, UNSCHEDULED, review
from pytest_recall.schedule.forecast import Freshness, freshness
from pytest_recall.trials.record import NotEvaluated, RequestChange, Waiver
from pytest_recall.trials.series import Repeats, RepeatSummary, graded, parse_rule, repeats, series, summarize_repeats
from pytest_recall.trials.trial import Outcome, Trial, asks_only, judged_by_models

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_recall.cases.gate import Blocks
    from pytest_recall.datasets.membench import MembenchSummary
    from pytest_recall.judges.audit import Grading, Regraded
    from pytest_recall.judges.calibration import Calibration, JudgeKey, Panels
    from pytest_recall.judges.judged_rates import JudgedRate
    from pytest_recall.metrics.clustered import Clustered
    from pytest_recall.results.standing import Standing
    from pytest_recall.trials.baselines import SideBySide
    from pytest_recall.trials.record import Header, Record
    from pytest_recall.trials.run_stop import RunStop


NOT_RUN = "not run"


class Flake(NamedTuple):
    """How many trials of a case `failed`, of all `tried` while it was not known to fail."""

    failed: int
    tried: int


class CaseResult(NamedTuple):
    """What a case came to in a run."""

    trial: Trial
    """The one that grades the case."""
    attempts: int
    before: int | None
    """Its box before the run; None where the schedule does not know the case."""
    after: int | None
    """Its box after the run; None where the schedule does not know the case, or nothing moved it."""
    regression: bool
    """Whether it is a fail of a case whose last verdict was a pass, unless it blocks no one."""
    repeats: Repeats | None = None
    """The counts of its trials, where it was asked several times."""
    cause: Cause | None = None
    """What a regression is likely to come from."""
    flake: Flake | None = None
    """How many of how many trials on record failed, with those of this run: of all in which the case was not known to
    fail."""
    outside: bool = False
    """Whether the change of a pull request does not affect the case, so that its fail is of what lies behind equal
    requests."""
    behind: bool = False
    """Whether it has asked what the target branch asks as well, which that has not recorded."""

    @property
    def apart(self) -> bool:
        """Whether the case was in quarantine, so that its fail does not fail the run."""
        return bool(self.trial.row and self.trial.row.quarantined)

    @property
    def blocks(self) -> bool:
        """Whether it is a fail that counts, of a case that is not set apart, and decides the check."""
        elsewhere = self.outside or self.behind
        return self.trial.outcome is Outcome.FAILED and not self.trial.is_unproven and not self.apart and not elsewhere

    @property
    def failure(self) -> FailureKind:
        """What the case is, if it failed: by its last verdict before, and by whether this one counts."""
        if self.apart:
            return FailureKind.QUARANTINED
        if self.trial.is_doubted:
            return FailureKind.UNCONFIRMED
        if self.trial.is_unproven:
            return FailureKind.UNCOUNTED
        if self.trial.reason in UNSCHEDULED:
            return FailureKind.UNSCHEDULED
        if self.behind:
            return FailureKind.BEHIND
        if self.regression:
            return FailureKind.OUTSIDE if self.outside else FailureKind.REGRESSION
        return FailureKind.NEW if self.trial.row is None else FailureKind.KNOWN


class FailureKind(StrEnum):
    """What a failed case is: one of these words, wherever it is shown."""

    REGRESSION = "regression"
    NEW = "new failure"
    OUTSIDE = "failure outside the change"
    BEHIND = "failed behind on the target branch"
    KNOWN = "known failure"
    UNSCHEDULED = "failed"
    UNCONFIRMED = "not confirmed"
    QUARANTINED = "in quarantine"
    UNCOUNTED = "not counted"


class LastVerdicts(NamedTuple):
    """How all cases on the schedule stand."""

    cases: int
    known: int
    """How many have had a verdict."""
    passed: int
    """How many passed at the last one."""


class LastPass(NamedTuple):
    """The answer of a case at its last pass, as much of it as is kept, from a run or from a recording."""

    answer: str
    run: str = ""
    recording: str = ""
    """Whose it is: that of the `base` or of this `checkout`."""
    date: str = ""
    """The day of the recording, in ISO 8601."""


class CaseText(NamedTuple):
    """What a case asks, and what it expects, as its file has it; the latter is empty where it says none."""

    asked: str
    expected: str = ""


class Scorecard(NamedTuple):
    """A run in numbers and lists, about the agent under test.

    Counts are by outcome; absent is not zero.
    """

    results: tuple[CaseResult, ...]
    not_run: tuple[tuple[str, str], ...]
    counts: dict[str, int]
    by_reason: dict[str, dict[str, int]]
    """The counts of each reason."""
    by_scenario: dict[str, dict[str, int]]
    """The counts of each scenario."""
    by_dimension: dict[str, dict[str, int]]
    """The counts of each dimension."""
    unseen: float | None
    """The largest share of cases that a change could have broken with none of them in the slice."""
    sources: Mapping[str, int] = MappingProxyType({})
    """How many verdicts there are by where the answer came from."""
    unmoved: int = 0
    """How many of these move no box, because the answer was replayed."""
    panels: Panels | None = None
    """What models judged."""
    regraded: Regraded | None = None
    """What it comes to where someone has looked again."""
    arms: SideBySide | None = None
    """The agent under test beside the baselines, if there are any."""
    datasets: Mapping[str, MembenchSummary] = MappingProxyType({})
    """What the questions of datasets came to, by the file that names one."""
    passes: Mapping[str, LastPass] = MappingProxyType({})
    """The last passes of what has regressed, by case id, where they are known."""
    suspects: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """The changes that may have broken what has regressed, by case id: none where no change has touched the case, and
    no entry where that is not known."""
    gates: tuple[Standing, ...] = ()
    """How those of the rubric stand."""
    loosened: tuple[str, ...] = ()
    """The gates that ask for less than before this change."""
    rates: tuple[JudgedRate, ...] = ()
    """How many answers each judging model passed, with its errors taken out where there are labels."""
    texts: Mapping[str, CaseText] = MappingProxyType({})
    """The questions of failed cases, by case id, where their files still have them."""
    directory: str = "eval"
    """The eval directory as commands name it."""
    models: tuple[str, ...] = ()
    """Those that the replies to the agent under test name."""
    waiver: Waiver | None = None
    measures: Mapping[str, Clustered] = MappingProxyType({})
    """The means of the measures of extensions over the cases, by name."""
    on_record: frozenset[str] = frozenset()
    """The failed cases of which this checkout has a recording with the same answer."""

    def failures(self) -> dict[FailureKind, list[CaseResult]]:
        """Return the failed cases by what they are, those that matter most first; a kind without any is left out."""
        found: dict[FailureKind, list[CaseResult]] = {kind: [] for kind in FailureKind}
        for result in self.with_outcome(Outcome.FAILED):
            found[result.failure].append(result)
        return {kind: results for kind, results in found.items() if results}

    def with_history(
        self, suspects: Mapping[str, tuple[str, ...]], passes: Mapping[str, LastPass], trials: Iterable[Trial]
    ) -> Scorecard:
        """Return the scorecard with the `suspects` and the last `passes` of what has regressed.

        Its cause has what they say of it. `trials` are all of the run.
        """
        failed = Counter(trial.case_id for trial in trials if trial.outcome is Outcome.FAILED)
        results = []
        for one in self.results:
            if one.cause is not None and (touched := suspects.get(one.trial.case_id)) is not None:
                case_id, last = one.trial.case_id, passes.get(one.trial.case_id)
                found = narrowed(one.cause, one.trial, touched, failed[case_id], last and last.answer)
                one = one._replace(cause=found)
            results.append(one)
        return self._replace(results=tuple(results), suspects=suspects, passes=passes)

    def last_verdicts(self, header: Header) -> LastVerdicts | None:
        """Return how all cases stand after the run; None for a run of a version that did not count them.

        A verdict of this run takes the place of the one before, also where it is on a replayed answer; what is none,
        or does not count, leaves the one before in place.
        """
        if header.verdicts is None:
            return None
        known, passed = header.verdicts, header.passing
        for trial in (result.trial for result in self.results):
            if not trial.outcome.is_verdict or trial.is_unproven or trial.programs or trial.reason in UNSCHEDULED:
                continue
            known += trial.row is None
            passed += (trial.outcome is Outcome.PASSED) - (trial.row is not None and not trial.row.failing)
        return LastVerdicts(header.total - header.questions, known, passed)

    def freshness(self, header: Header) -> Freshness | None:
        """Return how fresh the verdicts of all cases are after the run; None for a run that did not say."""
        return freshness(header, {one.trial.case_id: one.trial for one in self.results}, len(self.not_run))

    @property
    def flaky(self) -> dict[str, Flake]:
        """The cases of which a trial on record failed, by id, those that fail most often first.

        A confirmed fail is no flake.
        """
        found = {
            one.trial.case_id: one.flake
            for one in self.results
            if one.flake is not None
            and one.flake.failed
            and (one.trial.outcome is not Outcome.FAILED or one.trial.is_unproven)
        }
        return dict(sorted(found.items(), key=lambda item: (-item[1].failed / item[1].tried, item[0])))

    @property
    def by_tries(self) -> list[RepeatSummary]:
        """The cases that are always asked as often, together, for each number of trials.

        What `confirm` asks again is left out: it stops at the first pass, so that its trials
        say nothing of how often the case passes.
        """
        found: dict[int, list[Repeats]] = {}
        for result in self.results:
            rule = parse_rule(result.trial.rule) if result.trial.rule else None
            if result.repeats is not None and rule is not None and rule.ends == "pass":
                found.setdefault(rule.tries, []).append(result.repeats)
        return [summarize_repeats(found[tries], tries) for tries in sorted(found)]

    def of_change(self) -> list[CaseResult]:
        """Return the results of the cases that are asked on behalf of the change of a pull request."""
        return [one for one in self.results if one.trial.reason in OF_CHANGE]

    def not_evaluated(self, header: Header) -> list[NotEvaluated]:
        """Return the affected cases without a verdict, by id."""
        left = {case_id: NotEvaluated(case_id, "budget") for case_id in header.unaffordable}
        left |= {case_id: NotEvaluated(case_id, "not-run") for case_id, reason in self.not_run if reason in OF_CHANGE}
        left |= {
            one.trial.case_id: _not_evaluated(one.trial) for one in self.of_change() if not one.trial.outcome.is_verdict
        }
        return [left[case_id] for case_id in sorted(left)]

    def unwaived(self, header: Header) -> list[str]:
        """Return the affected cases without a verdict that nobody has waived."""
        waived = () if self.waiver is None else self.waiver.cases
        return [one.id for one in self.not_evaluated(header) if one.id not in waived]

    def with_outcome(self, *outcomes: Outcome) -> list[CaseResult]:
        """Return the results with one of `outcomes`, regressions first, then by id."""
        wanted = [result for result in self.results if result.trial.outcome in outcomes]
        return sorted(wanted, key=lambda result: (not result.regression, result.trial.case_id))


def summarize(
    trials: Iterable[Trial],
    picks: Iterable[tuple[str, str]],
    total: int,
    today: date,
    quarantine: Quarantine | None = None,
    calibrations: Mapping[JudgeKey, Calibration] = MappingProxyType({}),
    gradings: Mapping[str, Grading] = MappingProxyType({}),
    baselines: Iterable[str] = (),
    *,
    by_change: bool = False,
    judge_code: Mapping[str, Sequence[tuple[str, str]]] = MappingProxyType({}),
    as_base: Iterable[tuple[str, Sequence[str]]] = (),
    request_changes: Mapping[str, RequestChange] = MappingProxyType({}),
) -> Scorecard:
    """Return the scorecard of `trials`, in a run that chose `picks` from `total` cases.

    With several attempts at a case the last one grades it, with a series all of it.
    `calibrations` are of the judges that have been compared with people, `gradings` of cases
    whose verdicts were looked at again, `baselines` who was to be asked beside the agent under test. `by_change` says
    that only the cases that a change affects decide, and `judge_code` has the judges of a case whose code it alters,
    each with its file. `as_base` has the cases that ask what the target branch asks, each with the keys of that, and
    `request_changes` what a case asks in place of what is recorded.
    """
    with_baselines = list(trials)
    every = [trial for trial in with_baselines if not trial.arm]
    attempts = Counter(trial.case_id for trial in every if trial.repeat == 1)
    grading, asked = graded(every), series(every)
    outcomes: dict[str, list[Outcome]] = {}
    for trial in every:
        outcomes.setdefault(trial.case_id, []).append(trial.outcome)
    counting = [trial for some in asked.values() for trial in some]
    counted = set(map(id, counting))
    behind = _behind(every, as_base)
    results = tuple(
        _result(
            trial,
            asked[one],
            attempts[one],
            today,
            quarantine,
            outcomes[one],
            judge_code.get(one, ()),
            request_changes.get(one),
            by_change,
        )
        for one, trial in grading.items()
    )
    results = tuple(one._replace(behind=True, cause=None) if one.trial.case_id in behind else one for one in results)
    not_run = tuple((case_id, reason) for case_id, reason in picks if case_id not in attempts)
    by_reason = _table(results, lambda trial: trial.reason)
    for _, reason in not_run:
        by_reason.setdefault(reason, {})[NOT_RUN] = by_reason.get(reason, {}).get(NOT_RUN, 0) + 1
    verdicts = sum(result.trial.outcome.is_verdict for result in results)
    counts = dict(Counter(result.trial.outcome.value for result in results))
    if not_run:
        counts[NOT_RUN] = len(not_run)
    return Scorecard(
        results=results,
        not_run=not_run,
        counts=counts,
        by_reason=by_reason,
        by_scenario=_table(results, lambda trial: trial.scenario),
        by_dimension=_table(results, lambda trial: trial.dimension),
        unseen=unseen_share(verdicts, total),
        sources=dict(Counter(result.trial.source for result in results if result.trial.outcome.is_verdict)),
        unmoved=sum(
            result.trial.outcome.is_verdict
            and result.trial.source == "replayed"
            and not result.trial.counts_for_schedule
            for result in results
        ),
        panels=_panels(counting, calibrations, [trial for trial in every if id(trial) not in counted]),
        regraded=_regraded(results, gradings),
        arms=_arms(with_baselines, baselines) if len(every) < len(with_baselines) else None,
        datasets=_datasets(results),
        measures=_measures(counting, asked),
        models=replied_models(call for trial in every for call in trial.calls),
    )


def _behind(trials: Iterable[Trial], as_base: Iterable[tuple[str, Sequence[str]]]) -> set[str]:
    """Return those of the cases that ask what the target branch asks of which no failed trial asked anything else."""
    known = {case_id: frozenset(keys) for case_id, keys in as_base}
    others = {
        one.case_id
        for one in trials
        if one.outcome is Outcome.FAILED and one.case_id in known and not asks_only(one.asked, known[one.case_id])
    }
    return known.keys() - others


def has_failed(header: Header, trials: Iterable[Trial]) -> bool:
    """Whether a case has a failure that blocks, or came to no verdict, which a run that ends well has none of."""
    trials = list(trials)
    behind = _behind(trials, header.as_base)
    return any(
        trial.outcome is Outcome.ERROR
        or (
            trial.outcome is Outcome.FAILED
            and not trial.is_unproven
            and not (trial.row and trial.row.quarantined)
            and trial.case_id not in behind
            and not (header.scheduled and informs(header.blocks, trial.row, decides=_decides(header, trial)))
        )
        for trial in graded(trials).values()
    )


def _not_evaluated(trial: Trial) -> NotEvaluated:
    """Return why a trial came to no verdict: how its last call ended, where that left it without an answer.

    What the client raised is longer, and is shown with the trial.
    """
    ends = [call.trouble for call in trial.calls if call.kind != "judge"]
    if trial.answer is None and ends and ends[-1]:
        return NotEvaluated(trial.case_id, "call", ends[-1])
    return NotEvaluated(trial.case_id, trial.ended_by or trial.outcome.value, one_line(trial.error, 160))


def _decides(header: Header, trial: Trial) -> bool:
    return not header.knows_change or trial.reason in OF_CHANGE


# What most runs have nothing of is not imported for them: it is paid for by each run.


def _panels(
    counting: list[Trial], calibrations: Mapping[JudgeKey, Calibration], others: Iterable[Trial]
) -> Panels | None:
    if not any(judged_by_models(trial.verdicts) for trial in counting):
        return None
    from pytest_recall.judges.calibration import panels

    return panels(counting, calibrations, others)


def _regraded(results: Iterable[CaseResult], gradings: Mapping[str, Grading]) -> Regraded | None:
    if not gradings:
        return None
    from pytest_recall.judges.audit import regrade

    return regrade((result.trial for result in results), gradings)


def _measures(counting: Iterable[Trial], asked: Mapping[str, Iterable[Trial]]) -> Mapping[str, Clustered]:
    if not [trial for trial in counting if trial.custom_measures]:
        return {}
    from pytest_recall.results.comparison import unit_of
    from pytest_recall.results.measures import measure_means

    return measure_means(asked, unit_of)


def _arms(trials: Iterable[Trial], baselines: Iterable[str]) -> SideBySide | None:
    from pytest_recall.trials.baselines import side_by_side

    return side_by_side(trials, baselines)


def _datasets(results: Iterable[CaseResult]) -> Mapping[str, MembenchSummary]:
    trials = [result.trial for result in results if result.trial.reason == DATASET]
    if not trials:
        return {}
    from pytest_recall.datasets.membench import by_file

    return by_file(trials)


def _result(
    trial: Trial,
    asked: list[Trial],
    attempts: int,
    today: date,
    quarantine: Quarantine | None,
    outcomes: Sequence[Outcome],
    judge_code: Sequence[tuple[str, str]],
    request: RequestChange | None,
    by_change: bool,
) -> CaseResult:
    row = trial.row
    after = review(row, trial, today, quarantine)
    failed = trial.outcome is Outcome.FAILED and not trial.is_unproven
    regression = failed and row is not None and not row.failing and row.quarantined is None
    return CaseResult(
        trial=trial,
        attempts=attempts,
        before=row.box if row else None,
        after=after.box if after else None,
        regression=regression,
        repeats=repeats({trial.case_id: [one.outcome for one in asked]})[0] if trial.rule else None,
        cause=cause(trial, row, outcomes, judge_code, request) if regression and row is not None else None,
        flake=Flake(after.failed, after.tried) if after is not None and after.tried else None,
        outside=by_change and trial.reason not in (*OF_CHANGE, *UNSCHEDULED),
    )


def _table(results: Iterable[CaseResult], key: Callable[[Trial], str]) -> dict[str, dict[str, int]]:
    counts = Counter((key(result.trial), result.trial.outcome) for result in results)
    table: dict[str, dict[str, int]] = {name: {} for name in sorted({name for name, _ in counts if name})}
    for (name, outcome), count in counts.items():
        if name:
            table[name][outcome.value] = count
    return table


ENDED = frozenset({0, 1, 5})
"""pytest's exit codes of a run that came to its end: all passed, some failed, nothing was collected."""
SHOWN = 5
"""Cases, tests and files that are named at the most."""


def troubles(record: Record, card: Scorecard, allowed: float) -> list[str]:
    """Return why a run shows less than it should, a phrase each: what is no matter of a case's answer.

    An affected case was not evaluated, or the base cannot be found, or other shards have the rest. More of the other
    cases that decide than `allowed`, a number or below 1 a share of them, have no verdict. A test beside the cases
    failed. pytest did not come to its end.
    """
    header, found = record.header, []
    if is_incomplete(header, card):
        found.append(not_evaluated_line(header, card))
    if header.shard:
        found.append(f"this is shard {header.shard} alone; join all of them with `recall ci merge`")
    errors, skipped = (card.with_outcome(outcome) for outcome in (Outcome.ERROR, Outcome.SKIPPED))
    # Questions of a dataset that no judge at hand can decide are skipped, and its table counts them.
    skipped = [result for result in skipped if result.trial.reason not in UNSCHEDULED]
    not_run = awaited(header, card.not_run, record.stop)
    if header.knows_change:  # Those that decide are said to be not evaluated.
        errors, skipped = [], []
    chosen = len(card.results) + len(card.not_run)
    most = most_allowed(allowed, chosen)
    kinds = {"error": len(errors), "skipped": len(skipped), NOT_RUN: len(not_run)}
    missing = sum(kinds.values())
    if missing > most:
        told = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items() if count)
        whys = (one_line(explanation(result.trial), 160) for result in (*errors, *skipped))
        said = next(filter(None, whys), "")
        said = said or left_text(record.stop, len(card.not_run))
        why = f" ({said})" if said else ""
        found.append(f"{missing:,} of {chosen:,} cases without a verdict, {most:,} allowed: {told}{why}")
    if record.also:
        found.append(f"beside the cases: {_named(tuple(map(failed_item_text, record.also)))}")
    if record.exit_code is not None and record.exit_code not in ENDED:
        why = left_text(record.stop, len(card.not_run))
        found.append(f"pytest ended with {record.exit_code}{f': {why}' if why else ''}")
    return found


def awaited(header: Header, left: Iterable[tuple[str, str]], stop: RunStop | None) -> list[tuple[str, str]]:
    """Return those of the cases that were not asked on which a verdict is missing, with their reasons.

    A change is decided by the cases that it affects, and what a person leaves out by `--deselect` is not waited for.
    """
    excluded = frozenset(() if stop is None else stop.excluded)
    return [] if header.knows_change else [pick for pick in left if pick[0] not in excluded]


def most_allowed(allowed: float, chosen: int) -> int:
    """Return how many of the chosen cases may have no verdict, where `allowed` is a number or below 1 a share."""
    return int(allowed * chosen) if 0 < allowed < 1 else int(allowed)


def is_incomplete(header: Header, card: Scorecard) -> bool:
    """Whether it is not known what the change breaks: an affected case was not evaluated, and nobody has waived it."""
    return bool(header.not_compared or card.unwaived(header))


def not_evaluated_line(header: Header, card: Scorecard) -> str:
    """Return how many affected cases have no verdict, or that nothing could be compared; empty if all was evaluated."""
    if header.not_compared:
        return f"not evaluated: {not_compared_text(header.not_compared)}" + (
            "" if header.picks else "; no case was asked"
        )
    left = card.not_evaluated(header)
    if not left:
        return ""
    count = len(left) + sum(one.trial.outcome.is_verdict for one in card.of_change())
    trials = {one.trial.case_id: one.trial for one in card.of_change()}
    whys = Counter(not_evaluated_text(header, one, trials.get(one.id)) for one in left)
    told = "; ".join(f"{number:,}: {why}" if len(whys) > 1 else why for why, number in whys.most_common(3))
    were = "was" if len(left) == 1 else "were"
    said = f"{len(left):,} of {plural(count, 'affected case')} {were} not evaluated"
    if card.waiver is not None and not card.unwaived(header):
        why = f" (“{one_line(card.waiver.reason, 160)}”)" if card.waiver.reason else ""
        return f"{said}; waived by {card.waiver.by}{why}"
    if header.fork:
        return (
            f"needs an answer from a maintainer: {plural(len(left), 'case')}, at least {plural(len(left), 'request')};"
            " record them on a branch of this repository"
        )
    return f"{said} ({told})"


def blocking(record: Record, card: Scorecard, blocks: Blocks, allowed: float = 0) -> list[str]:
    """Return why a run blocks a merge under the rule `blocks`, a phrase each; empty if it does not.

    Under `incomplete` no case without a verdict is `allowed`.
    """
    if blocks == "never":
        return []
    return [*_failures(card, blocks), *troubles(record, card, 0 if blocks == "incomplete" else allowed)]


def waivable(record: Record, card: Scorecard, blocks: Blocks, allowed: float = 0) -> tuple[str, ...]:
    """Return the cases that were not evaluated, if a run of a pull request blocks for nothing but these."""
    left = tuple(card.unwaived(record.header))
    if record.header.pr is None or not left or not blocking(record, card, blocks, allowed):
        return ()
    without = card._replace(waiver=Waiver("", "", tuple(one.id for one in card.not_evaluated(record.header))))
    return () if blocking(record, without, blocks, allowed) else left


def _failures(card: Scorecard, blocks: Blocks) -> Iterator[str]:
    failed = [result for result in card.with_outcome(Outcome.FAILED) if result.blocks]
    wanted = [result for result in failed if result.regression or blocks != "regression"]
    if wanted:
        names = _named([result.trial.case_id for result in wanted])
        yield f"{'regressed' if blocks == 'regression' else 'failed'}: {names}"
    for standing in card.gates:
        if standing.stops(blocks):
            yield f"the gate of {standing.gate.name} is missed"


def _named(every: Sequence[str]) -> str:
    return ", ".join(every[:SHOWN]) + (f" and {len(every) - SHOWN:,} more" if every[SHOWN:] else "")
