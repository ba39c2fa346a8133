"""Ask a case, judge the answer, and put the Trial together; no other module makes one.

A worker makes it without the facts of the run, which the controller adds.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_recall.cases.case import Case, JudgeCall
from pytest_recall.files.errors import CaseError, MissError, RecallError, message_of, nearest
from pytest_recall.files.wording import one_line
from pytest_recall.replay.exchange import Call
from pytest_recall.trials.evidence import renamed
from pytest_recall.trials.trial import (
    Answer,
    AtCheckpoint,
    EarlierRun,
    Outcome,
    Passage,
    Row,
    SeriesTally,
    Trial,
    TrialStep,
    Verdict,
    WeakJudge,
    WeighedTrials,
    note_of,
)

if TYPE_CHECKING:
    from pytest_recall.models.outage import Outage


class TrialCase(NamedTuple):
    """What a trial is of: a case, or a test with the mark, of which all but the id may be unknown."""

    id: str
    scenario: str = ""
    dimension: str = ""
    fingerprint: str = ""

    @classmethod
    def of(cls, case: Case) -> TrialCase:
        """Return what a trial says of a case."""
        return cls(case.id, case.scenario, case.dimension, case.fingerprint)


class Result(NamedTuple):
    """What asking a case and judging its answer came to. The fields are those of `Trial`."""

    outcome: Outcome
    answer: Answer | None = None
    verdicts: tuple[Verdict, ...] = ()
    error: str = ""
    stage: str = ""
    seconds: float | None = None
    measures: Mapping[str, float | None] | None = None
    checkpoint: AtCheckpoint | None = None
    steps: tuple[TrialStep, ...] = ()
    ended: str = ""
    ended_by: str = ""
    outage: Outage | None = None

    def clean(self, text: Callable[[str], str]) -> Result:
        """Return the result with its texts put through `text`, which takes secrets out."""
        texts = [self.error, *(self.outage[1:] if self.outage else ()), *(verdict.reason for verdict in self.verdicts)]
        votes = [vote for verdict in self.verdicts if verdict.judgement for vote in verdict.judgement.every]
        texts += [said for vote in votes for said in (vote.reason, vote.error)]
        if self.answer is not None:
            texts += [self.answer.text, *(passage.text for passage in self.answer.passages)]
        together = "\0".join(texts)
        if text(together) == together:  # Nearly always, and one search is faster than many.
            return self
        verdicts = tuple(
            replace(verdict, reason=text(verdict.reason), judgement=verdict.judgement and verdict.judgement.clean(text))
            for verdict in self.verdicts
        )
        answer = self.answer and self.answer.clean(text)
        outage = self.outage and self.outage.clean(text)
        return self._replace(error=text(self.error), verdicts=verdicts, answer=answer, outage=outage)

    @classmethod
    def judged(cls, answer: Answer, verdicts: Iterable[Verdict], seconds: float | None = None) -> Result:
        """Return what verdicts on an answer come to: all of them have to pass."""
        every = tuple(verdicts)
        outcome = Outcome.PASSED if all(verdict.passed for verdict in every) else Outcome.FAILED
        return cls(outcome, answer, every, seconds=seconds)

    @classmethod
    def no_verdict(cls, error: CaseError, answer: Answer | None = None) -> Result:
        """Return what an error at any stage comes to, with the answer if there was one."""
        text = one_line(str(error), 300)
        return cls(Outcome.ERROR, answer, error=text, stage=error.stage, **ending_of(error)._asdict())

    @classmethod
    def skipped(cls, why: str, answer: Answer | None = None) -> Result:
        """Return what comes of a case on which nothing is decided, with the answer if there was one."""
        return cls(Outcome.SKIPPED, answer, error=why, ended_by="skip")

    @classmethod
    def of(cls, trial: Trial) -> Result:
        """Return the part of a trial that asking and judging gave."""
        return cls(*(getattr(trial, name) for name in cls._fields))

    @property
    def note(self) -> str:
        """What went wrong: the failing judges' reasons, or the error."""
        return note_of(self.verdicts, self.error)


class TrialEnding(NamedTuple):
    """How a trial ended without a verdict. The fields are those of `Trial`."""

    ended_by: str = ""
    outage: Outage | None = None


def ending_of(error: BaseException) -> TrialEnding:
    """Return how a trial ended in which `error` was raised."""
    from pytest_recall.models.outage import chain_of, outage_of  # most trials come to a verdict

    if (miss := next((one for one in chain_of(error) if isinstance(one, MissError)), None)) is not None:
        return TrialEnding("budget" if miss.unpaid else "miss")
    outage = outage_of(error)
    return TrialEnding("exception") if outage is None else TrialEnding("outage", outage)


class CallSummary(NamedTuple):
    """The upstream calls of a trial, where its answer came from, and what its verdict was given under.

    The fields are those of `Trial`.
    """

    source: str = "live"
    calls: tuple[Call, ...] = ()
    under: str = ""
    unrecorded: str = ""
    asked: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()


class RunFacts(NamedTuple):
    """What only the run knows of a trial. The fields are those of `Trial`."""

    reason: str = ""
    where: str = ""
    row: Row | None = None
    attempt: int = 1
    pr: str | None = None
    model: str | None = None
    counts_for_schedule: bool = True
    custom_measures: Mapping[str, float] = {}


NO_CALLS = CallSummary()
NO_ENDING = TrialEnding()
"""That of a trial with a verdict."""
UNKNOWN_RUN = RunFacts()


def make_trial(
    case: TrialCase,
    result: Result,
    calls: CallSummary = NO_CALLS,
    run: RunFacts = UNKNOWN_RUN,
    *,
    repeat: int = 1,
    rule: str = "",
    arm: str = "",
    unproven: tuple[WeakJudge, ...] = (),
) -> Trial:
    """Return the trial of a case."""
    return Trial(
        case_id=case.id,
        scenario=case.scenario,
        dimension=case.dimension,
        fingerprint=case.fingerprint,
        repeat=repeat,
        rule=rule,
        arm=arm,
        unproven=unproven,
        outcome=result.outcome,
        answer=result.answer,
        verdicts=result.verdicts,
        error=result.error,
        stage=result.stage,
        seconds=result.seconds,
        measures=result.measures,
        checkpoint=result.checkpoint,
        steps=result.steps,
        ended=result.ended,
        ended_by=result.ended_by,
        outage=result.outage,
        **calls._asdict(),
        **run._asdict(),
    )


def read_only(trial: Trial) -> Trial:
    """Return a trial for code of others, whose measures it cannot change: the scorecard would have the change."""
    return trial._replace(custom_measures=MappingProxyType(trial.custom_measures))


def in_run(trial: Trial, run: RunFacts) -> Trial:
    """Return the trial with what its run knows of it."""
    return trial._replace(**run._asdict())


def with_result(trial: Trial, result: Result, calls: tuple[Call, ...] | None = None) -> Trial:
    """Return the trial with another result, such as of judging again, which took these `calls` if it took any."""
    return trial._replace(**result._asdict(), calls=trial.calls if calls is None else calls)


def grading(trial: Trial, *, weighed: WeighedTrials | None, counts_for_schedule: bool) -> Trial:
    """Return the trial of a series that grades the case, with what all of the series says."""
    return trial._replace(weighed=weighed, counts_for_schedule=counts_for_schedule)


def undecided(trial: Trial, outcome: Outcome, last: Trial | None, tally: SeriesTally | None) -> Trial:
    """Return the last trial of a series that came to no verdict, which moves no box.

    `last` is the last one with an error, which it has then; `tally` is left out of a series of one trial that has one.
    """
    ending = Result(outcome, ended_by="series") if last is None else Result.of(last)
    return trial._replace(
        outcome=outcome,
        verdicts=(),
        error=ending.error,
        stage=ending.stage,
        ended_by=ending.ended_by or "series",
        outage=ending.outage,
        tally=tally,
        counts_for_schedule=False,
    )


def assumed_trial(
    case_id: str,
    outcome: Outcome,
    note: str = "",
    *,
    reason: str = "",
    pr: str | None = None,
    model: str | None = None,
    under: str = "",
    weighed: WeighedTrials | None = None,
    source: str = "live",
    earlier: EarlierRun | None = None,
) -> Trial:
    """Return a trial for which nothing is asked: of a simulation, or what rows and events say of one.

    It has only what a review reads; `note` is why a failed case failed.
    """
    why = (Verdict(passed=False, reason=note),) if outcome is Outcome.FAILED else ()
    return Trial(
        case_id,
        outcome,
        reason=reason,
        verdicts=why,
        pr=pr,
        model=model,
        under=under,
        weighed=weighed,
        source=source,
        earlier=earlier,
    )


Agent = Callable[[Any], Any]
JudgeFunction = Callable[..., Any]
Awaiter = Callable[[Awaitable[Any]], Any]
"""Runs an awaitable to its end and returns what it gives."""
EndingErrors = tuple[type[BaseException], ...]
DEFAULT_THRESHOLD = 0.5
PREFLIGHT = "preflight"
"""The stage at which a judge that gets itself ready breaks."""


def _anybody(kind: str) -> AbstractContextManager[None]:
    return nullcontext()


def _ignored(answer: Answer) -> None:
    """Do nothing with an answer that only its judges are to see."""


def run_case(
    case: Case,
    agent: Agent,
    judges: Mapping[str, JudgeFunction],
    *,
    thresholds: Mapping[str, float],
    wait: Awaiter,
    clock: Callable[[], float],
    ends: EndingErrors = (),
    asking: Callable[[str], AbstractContextManager[None]] = _anybody,
    preflight: bool = True,
    answered: Callable[[Answer], None] = _ignored,
) -> Result:
    """Ask `agent` the case, let its judges decide, and return what came of it.

    `judges` maps each judge that the case lists to a callable `(answer, case, **arguments)`;
    `thresholds` is the rubric's; `clock` gives seconds; `ends` are the exceptions by which
    someone ends the whole run, and no trial; `asking` marks the calls that are made within
    it as of a kind. With `preflight`, a judge with a method `ready` is made ready by it before the agent is asked;
    `answered` is called with the answer before it is judged.
    Raises CaseError, no verdict, where there is no verdict; what the agent or a judge
    raised is its cause.
    """
    check_callable("agent", agent)
    for call in case.judges:
        check_callable(f"judge_{call.name}", judges[call.name])
        check_arguments(call, judges[call.name])
    readying = [ready for judge in judges.values() if callable(ready := getattr(judge, "ready", None))]
    if readying and preflight:
        with asking("judge"):
            for ready in readying:
                called(PREFLIGHT, ready, ends)
    start = clock()
    with asking("agent"):
        answer = ask(case, agent, wait, ends)
    if case.memory is not None and case.memory.renames:
        answer = replace(answer, passages=renamed(answer.passages, case.memory.names))
    seconds = clock() - start
    answered(answer)
    with asking("judge"):
        verdicts = judge_answer(case, answer, judges, thresholds=thresholds, wait=wait, ends=ends)
    return Result.judged(answer, verdicts, round(seconds, 6))


def judge_answer(
    case: Case,
    answer: Answer,
    judges: Mapping[str, JudgeFunction],
    *,
    thresholds: Mapping[str, float],
    wait: Awaiter,
    ends: EndingErrors = (),
) -> tuple[Verdict, ...]:
    """Return what each judge of the case decides on an answer. Raises CaseError where one comes to no verdict."""
    decided = [judged(call, judges[call.name], answer, case, thresholds, wait, ends) for call in case.judges]
    check_threshold(case, any(scored for _, scored in decided))
    return tuple(verdict for verdict, _ in decided)


def ask(case: Case, agent: Agent, wait: Awaiter, ends: EndingErrors = ()) -> Answer:
    """Return the agent's answer to the case, or to the last turn of its conversation.

    A conversation grows message by message, as `{"role": ..., "content": ...}`; each user
    turn is put to the agent with all that came before, unless its reply is scripted.
    """
    if case.turns is None:
        return _asked(agent, case.input, wait, ends)
    messages: list[dict[str, str]] = []
    for turn in case.turns:
        messages.append({"role": "user", "content": turn.user})
        if turn.assistant is not None:
            messages.append({"role": "assistant", "content": turn.assistant})
            continue
        answer = _asked(agent, [dict(message) for message in messages], wait, ends)
        messages.append({"role": "assistant", "content": answer.text})
    return answer


def _asked(agent: Agent, question: Any, wait: Awaiter, ends: EndingErrors) -> Answer:
    def call() -> Answer:
        __tracebackhide__ = True
        return as_answer(_done(agent(question), wait))

    answer: Answer = called("agent", call, ends)
    return answer


def as_answer(given: Any) -> Answer:
    """Return what an agent gave as an Answer: text, or an object or mapping with `text`.

    Raises RecallError for anything else.
    """
    if isinstance(given, str):
        return Answer(text=well_formed(given))
    get = _field_of(given)
    text = get("text")
    if not isinstance(text, str):
        raise RecallError(f"answered with {type(given).__name__}; return text, or an object with a `text` attribute")
    passages = tuple(_passage(passage) for passage in get("passages") or ())
    by = given.by if isinstance(given, Answer) else ""
    return Answer(text=well_formed(text), passages=passages, usage=_usage(get("usage")), by=by)


def passage_of(given: Any) -> Passage | None:
    """Return the passage that is a text, or an object or mapping with `text`; None for anything else."""
    if isinstance(given, str):
        return Passage(text=well_formed(given))
    get = _field_of(given)
    text, source = get("text"), get("source")
    if not isinstance(text, str):
        return None
    return Passage(
        text=well_formed(text),
        source=None if source is None else well_formed(str(source)),
        score=number_of(get("score")),
    )


def _field_of(given: Any) -> Callable[..., Any]:
    """Return what looks up a field of a mapping or an attribute of any other object, None if it is not there."""
    return given.get if isinstance(given, Mapping) else lambda name, default=None: getattr(given, name, default)


def well_formed(text: str) -> str:
    """Return `text` as it can be written as UTF-8 and sent between processes: a lone surrogate becomes a "?"."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def number_of(value: Any) -> float | None:
    """Return `value` if it is a finite number, and None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # an integer that no float can hold
        return None


def _passage(given: Any) -> Passage:
    passage = passage_of(given)
    if passage is None:
        raise RecallError(f"a passage is {type(given).__name__}; give text, or an object with a `text` attribute")
    return passage


def _usage(given: Any) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        dump = getattr(given, "model_dump", None)  # the SDKs' objects are pydantic models
        slots = [getattr(kind, "__slots__", ()) for kind in type(given).__mro__]
        names = {*getattr(given, "__dict__", {}), *(n for s in slots for n in ((s,) if isinstance(s, str) else s))}
        given = dump() if dump else {name: getattr(given, name, None) for name in sorted(names)}
    return {str(kind): count for kind, count in given.items() if number_of(count) is not None}


def _done(value: Any, wait: Awaiter) -> Any:
    __tracebackhide__ = True
    return wait(value) if inspect.isawaitable(value) else value


def called(stage: str, call: Callable[[], Any], ends: EndingErrors) -> Any:
    """Return what `call` gives. Raises CaseError for what it raises, with `stage` where none is named further down."""
    __tracebackhide__ = True
    try:
        return call()
    except ends:
        raise
    except CaseError:
        raise
    except RecallError as error:
        raise CaseError(stage, str(error)) from None
    except ModuleNotFoundError as error:
        # One of ours has no name, and says itself what to install.
        told = f"needs the module `{error.name}`, which is not installed; install it" if error.name else str(error)
        raise CaseError(stage, told) from None
    except (Exception, SystemExit) as error:  # Code that parses its own arguments exits; the run goes on.
        raise CaseError(stage, message_of(error)) from error


def check_callable(fixture: str, value: object) -> None:
    """Raise CaseError if what a fixture gave cannot be called."""
    if not callable(value):
        stage = fixture.replace("_", " ", 1)
        takes = "the answer and the case" if fixture.startswith("judge_") else "the input of a case"
        told = f"the fixture `{fixture}` gave {one_line(repr(value), 60)}, which is not a function"
        raise CaseError(stage, f"{told}; return one that takes {takes}")


def check_arguments(call: JudgeCall, judge: JudgeFunction) -> None:
    """Raise CaseError for arguments that the judge does not take, before anything is spent."""
    if not call.arguments:
        return
    own = call.arguments.get("threshold")
    number = number_of(own)
    if own is not None and (number is None or not 0 <= number <= 1):
        raise CaseError(f"judge {call.name}", f"threshold: {own!r} is not a score; give a number from 0 to 1")
    names = _argument_names(judge)
    for name in call.arguments:
        if names is not None and name not in names and name != "threshold":
            known = nearest(name, [*names, "threshold"])
            raise CaseError(f"judge {call.name}", f"unknown argument `{name}`{known}")


def check_threshold(case: Case, scored: bool) -> None:
    """Raise CaseError for a threshold that no judge of the case compares a score with."""
    if case.threshold is not None and not scored:
        raise CaseError(
            "threshold", f"no judge of the case scores, so nothing is compared with {case.threshold:g}; remove it"
        )


def _argument_names(judge: JudgeFunction) -> list[str] | None:
    """Return the names of a judge's arguments after answer and case; None if it takes any."""
    try:
        parameters = list(inspect.signature(judge).parameters.values())[2:]
    except (TypeError, ValueError):
        return None
    return None if any(p.kind is p.VAR_KEYWORD for p in parameters) else [p.name for p in parameters]


def judged(
    call: JudgeCall,
    judge: JudgeFunction,
    answer: Answer,
    case: Case,
    thresholds: Mapping[str, float],
    wait: Awaiter,
    ends: EndingErrors,
) -> tuple[Verdict, bool]:
    """Return the verdict, and whether a threshold decided it. Raises CaseError."""
    arguments = dict(call.arguments)
    own = arguments.pop("threshold", None)
    stage = f"judge {call.name}"
    given = (number_of(own), case.threshold, thresholds.get(call.name))
    threshold = next((value for value in given if value is not None), None)
    compares = threshold is not None and "threshold" in (_argument_names(judge) or ())
    if compares:
        # It decides from several scores; where no threshold is given, by one of its own.
        arguments["threshold"] = threshold

    def decide() -> Verdict:
        __tracebackhide__ = True
        try:
            given = _done(judge(answer, case, **arguments), wait)
        except AssertionError as error:
            why = one_line(str(error).partition("\n")[0], 100) or "without a message"
            instead = "return a bool, a score, or either with a reason"
            raise RecallError(f"asserts ({why}), which is no verdict; {instead}") from None
        return as_verdict(given)

    verdict: Verdict = called(stage, decide, ends)
    if verdict.passed is not None:
        if own is not None and not compares:
            raise CaseError(stage, "decides by itself, so that `threshold` has no effect; remove it")
        return _signed(verdict, call.name), compares
    threshold = DEFAULT_THRESHOLD if threshold is None else threshold
    score = verdict.score or 0.0
    passed = score >= threshold
    reason = verdict.reason if passed else f"{verdict.reason or f'score {score:.2f}'}, below {threshold:g}"
    return _signed(replace(verdict, passed=passed, reason=reason), call.name), True


def _signed(verdict: Verdict, judge: str) -> Verdict:
    return replace(verdict, reason=well_formed(str(verdict.reason or "")), judge=judge)


_PLAIN = (bool, float, int, type(None))


def _plain_scalar(value: Any) -> Any:
    """Return the value of an array without dimensions, as Python has it; anything else as it is."""
    return value.item() if getattr(value, "ndim", None) == 0 and callable(getattr(value, "item", None)) else value


def as_verdict(given: Any) -> Verdict:
    """Return what a judge gave as a Verdict: a Verdict, a bool, a score in 0..1, or `(either, reason)`.

    A number is any real one, such as a `decimal.Decimal`; a scalar of an array (numpy, torch) is what it holds.
    Raises RecallError for anything else: a judge that says nothing has not decided.
    """
    reason = ""
    if isinstance(given, tuple) and len(given) == 2:
        given, reason = given[0], str(given[1])
    if not isinstance(given, Verdict):
        given = _plain_scalar(given)
        if isinstance(given, bool):
            return Verdict(passed=given, score=None, reason=reason)
        if not isinstance(given, Real | Decimal):
            raise RecallError(f"gave {one_line(repr(given), 60)}; return a Verdict, a bool, or a score from 0 to 1")
        given = Verdict(passed=None, score=float(given), reason=reason)
    verdict: Verdict = given
    score: Any = verdict.score
    if type(verdict.passed) not in _PLAIN or type(score) not in _PLAIN:
        score = _plain_scalar(score)
        passed = _plain_scalar(verdict.passed)
        verdict = replace(verdict, passed=passed, score=score if score is None else float(score))
    if verdict.score is not None and not 0 <= verdict.score <= 1:
        raise RecallError(f"gave the score {score!r}; a score lies between 0 and 1")
    if verdict.passed is None and verdict.score is None:
        raise RecallError("gave neither `passed` nor a score; a verdict needs one of them")
    return verdict
