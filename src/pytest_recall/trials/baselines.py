"""Name the baselines of a run, and compare them with the agent under test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.metrics.intervals import Interval, wilson
from pytest_recall.trials.cost import Spend, spend_of
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Outcome, Trial

if TYPE_CHECKING:  # Most runs ask no baseline, and need no statistics for one.
    from pytest_recall.metrics.change import Change

ALPHA = 0.05


class Arm(NamedTuple):
    """How one agent did."""

    name: str
    counts: Mapping[str, int]
    """By outcome; absent is not zero."""
    by_scenario: Mapping[str, Mapping[str, int]]
    """The counts of each scenario."""
    spend: Spend
    """On the agent's own calls, without those of its judges, every attempt counted."""
    change: Change | None
    """From the agent under test to this one, over the cases with a verdict by both; None for the agent under test
    itself, and without such a case."""
    undecided: tuple[Trial, ...]
    """The trials that grade the cases that came to no verdict."""

    @property
    def passed(self) -> int:
        """How many cases passed."""
        return self.counts.get(Outcome.PASSED.value, 0)

    @property
    def verdicts(self) -> int:
        """How many cases came to a verdict."""
        return verdicts(self.counts)

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the pass rate (Wilson); None without a verdict."""
        return wilson(self.passed, self.verdicts)


class SideBySide(NamedTuple):
    """The agent under test and its baselines."""

    cases: int
    """How many cases some baseline was asked; an agent has no count for those of them that were not put to it."""
    agent: Arm
    baselines: tuple[Arm, ...]

    @property
    def scenarios(self) -> list[str]:
        """The scenarios of all arms, sorted."""
        return sorted({scenario for arm in (self.agent, *self.baselines) for scenario in arm.by_scenario})


def verdicts(counts: Mapping[str, int]) -> int:
    """Return how many of these outcomes are verdicts."""
    return sum(count for name, count in counts.items() if Outcome(name).is_verdict)


def side_by_side(trials: Iterable[Trial], wanted: Iterable[str] = ()) -> SideBySide | None:
    """Return the agents of a run side by side; None if no baseline was asked.

    `wanted` are the baselines that were to be asked, in their order. Of several trials of a case
    the last one grades it, with a series all of it, as for the agent under test.
    """
    every = list(trials)
    asked = [trial.arm for trial in every if trial.arm]
    if not asked:
        return None
    names = list(dict.fromkeys([*wanted, *asked]))
    grading = {name: graded(every, name) for name in ("", *names)}
    cases = {case_id for name in names for case_id in grading[name]}
    own = {case_id: trial for case_id, trial in grading[""].items() if case_id in cases}

    def made(name: str) -> list[Trial]:
        return [trial for trial in every if trial.arm == name and trial.case_id in cases]

    return SideBySide(
        len(cases),
        _arm("", own, made(""), None),
        tuple(_arm(name, grading[name], made(name), _change(own, grading[name])) for name in names),
    )


def _arm(name: str, grading: Mapping[str, Trial], made: Sequence[Trial], changed: Change | None) -> Arm:
    scenarios: dict[str, Counter[str]] = {}
    for trial in grading.values():
        scenarios.setdefault(trial.scenario, Counter())[trial.outcome.value] += 1
    return Arm(
        name=name,
        counts=dict(Counter(trial.outcome.value for trial in grading.values())),
        by_scenario={scenario: dict(scenarios[scenario]) for scenario in sorted(scenarios)},
        spend=spend_of(call for trial in made for call in trial.calls if call.kind != "judge"),
        change=changed,
        undecided=tuple(trial for _, trial in sorted(grading.items()) if not trial.outcome.is_verdict),
    )


def _change(own: Mapping[str, Trial], other: Mapping[str, Trial]) -> Change | None:
    pairs = [
        (trial.outcome is Outcome.PASSED, other[case_id].outcome is Outcome.PASSED)
        for case_id, trial in own.items()
        if case_id in other and trial.outcome.is_verdict and other[case_id].outcome.is_verdict
    ]
    from pytest_recall.metrics.change import Counts, change

    counts = Counts(len(pairs), pairs.count((True, True)), pairs.count((True, False)), pairs.count((False, True)))
    return change(counts, ALPHA) if pairs else None


SHIPPED: Mapping[str, str] = {
    "raw": "the whole conversation is sent to the model under test",
    "tail-window": "the newest turns that fit 80,000 tokens; the older ones are dropped",
    "compaction": "the same, with a summary by the model in place of the older turns",
    "no-memory": "the last turn of the user alone",
}
"""What needs no product, and what each sends to the model under test."""
NONE = "none"
"""The name that stands for no baseline, where the rubric names some."""

BaselineKind = Literal["fixture", "shipped", "model"]


class Baseline(NamedTuple):
    """A baseline by its `name`: a fixture of the user's, one of `SHIPPED`, or a model by its selector."""

    name: str
    kind: BaselineKind

    @property
    def fixture(self) -> str:
        """The fixture that returns its agent, or the model under test; empty where none is needed."""
        return {"fixture": fixture_of(self.name), "shipped": "recall_model", "model": ""}[self.kind]


def fixture_of(name: str) -> str:
    """Return what the fixture of a baseline of the user's own is called."""
    return f"agent_{name.replace('-', '_')}"


def named(given: str, where: str) -> tuple[str, ...]:
    """Return the baselines that a person lists at `where`, as in `raw,no-memory`. Raises RecallError for an empty list.

    `none` is an empty one that is meant.
    """
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    if not names:
        raise RecallError(
            f"{where}: names nothing; give one or more, separated by commas, or `{NONE}` for none of the rubric's"
        )
    return () if names == (NONE,) else names


def check_names(names: Sequence[str], where: str) -> None:
    """Raise RecallError for a name that is given twice, or for what can only be a selector and is none."""
    problems = []
    seen: dict[str, str] = {}
    for name in names:
        key = name if ":" in name else fixture_of(name)
        if key in seen:
            also = "" if seen[key] == name else f", as `{seen[key]}`"
            problems.append(f"{where}: the baseline `{name}` is named twice{also}; name it once")
        seen[key] = name
        if not name.isprintable():
            problems.append(f"{where}: {name!r} is not a name for a baseline; write it in one line")
        if ":" in name:
            from pytest_recall.models.model import parse

            try:
                parse(name)
            except RecallError as error:
                problems.append(f"{where}: {error}")
    if problems:
        raise RecallError(*problems)


def baseline_of(name: str, *, has_fixture: bool, fixtures: Iterable[str]) -> Baseline:
    """Return the baseline of this name; a fixture of the user's goes before what is shipped.

    `fixtures` are the names of known fixtures, for anyone who made a typing mistake. Raises RecallError.
    """
    if ":" in name:
        return Baseline(name, "model")
    if has_fixture:
        return Baseline(name, "fixture")
    if name in SHIPPED:
        return Baseline(name, "shipped")
    from pytest_recall.models.model import KINDS, parse

    if name in KINDS:
        parse(name)
        return Baseline(name, "model")
    own = [one.removeprefix("agent_") for one in fixtures if one.startswith("agent_")]
    raise RecallError(
        f"the baseline `{name}` is unknown; write a fixture `{fixture_of(name)}`, or name a model by its"
        f" selector{nearest(name, [*own, *SHIPPED])}"
    )


def item_name(case_id: str, baseline: str) -> str:
    """Return what a case is called when a baseline is asked."""
    return f"{case_id}[{baseline}]"


def case_and_baseline(name: str) -> tuple[str, str]:
    """Return the case and the baseline of an item by its name; the agent under test has none."""
    case_id, bracket, rest = name.partition("[")  # In no id of a case.
    return case_id, rest.removesuffix("]") if bracket else ""
