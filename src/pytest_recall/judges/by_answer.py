"""Decide whether the answer of a failed case may become its `expected`, and with which value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from pydantic import JsonValue

from pytest_recall.cases.case import Case, JudgeCall
from pytest_recall.files.errors import ArgumentError
from pytest_recall.files.strict_yaml import scalar
from pytest_recall.judges.built_in import TEXT_JUDGES
from pytest_recall.judges.written_numbers import DecimalMark, written_numbers
from pytest_recall.trials.trial import ANSWERED, Trial, judged_by_models

COMPARING = {name: judge.check for name, judge in TEXT_JUDGES.items() if judge.is_whole}
"""The judges that hold an answer against `expected` as a whole."""

_TAKEN_OUT = re.compile(r"\[(?:REDACTED|[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD)[A-Z0-9_]*)\]")
"""What stands in an answer where a secret was, as `replay.redaction` writes it."""


class NotByAnswer(NamedTuple):
    """Why a case cannot be accepted by its answer."""

    why: str


def by_answer(case: Case, trials: Iterable[Trial]) -> str | int | float | NotByAnswer:
    """Return what a case expects once its answer in the failed `trials` is accepted, or why that cannot be told.

    It is the answer itself, without the white space around it, or, where only `numeric` compares, the number in it; a
    number stays one.
    """
    answers = {trial.answer.text.strip(): trial for trial in trials if trial.answer is not None}
    if len(answers) != 1:
        return NotByAnswer("its trials gave different answers" if answers else "no answer of it is known")
    [(text, trial)] = answers.items()
    if trial.answer is not None and not trial.answer.usage.get(ANSWERED, 1):
        return NotByAnswer("a memory answered with passages alone")
    if _TAKEN_OUT.search(text):
        return NotByAnswer("a secret in its answer was taken out")
    comparing = [call for call in case.judges if call.name in COMPARING and "expected" not in call.arguments]
    if why := _others(case, comparing, trial):
        return NotByAnswer(why)
    if case.expected is None or isinstance(case.expected, bool | list | dict):
        return NotByAnswer("its `expected` is not a single text or number")
    if not text:
        return NotByAnswer("its answer is empty")
    value = _value(case.expected, comparing, text)
    if isinstance(value, NotByAnswer) or _passes(comparing, text, value):
        return value
    return NotByAnswer(f"its judges would not pass its answer if they expected {value!r}")


def _others(case: Case, comparing: Sequence[JudgeCall], trial: Trial) -> str:
    """Return why what else judges a case stands in the way; empty if nothing does."""
    if judged_by_models(trial.verdicts):
        return "a model judges it"
    passed = {verdict.judge for verdict in trial.verdicts if verdict.passed}
    for call in case.judges:
        if call in comparing:
            continue
        judge = TEXT_JUDGES.get(call.name)
        if judge is not None and not any(name in call.arguments for name in judge.instead):
            return f"which part of the answer `{call.name}` looks for is unknown"
        if judge is None and call.name != "recall_at_k":
            return f"`{call.name}` does not compare with `expected`"
        if call.name not in passed and comparing:
            return f"`{call.name}` failed it, which does not compare with its `expected`"
    return "" if comparing else "none of its judges compares with its `expected`"


def _value(before: JsonValue, comparing: Sequence[JudgeCall], text: str) -> str | int | float | NotByAnswer:
    if all(call.name == "numeric" for call in comparing):
        picks = {str(call.arguments.get("pick", "any")) for call in comparing}
        marks: set[Any] = {call.arguments.get("decimal", ".") for call in comparing}
        if len(marks) > 1:
            return NotByAnswer("its judges read numbers by different decimal marks")
        (mark,) = marks
        found = written_numbers(text, mark)
        found = found[:1] if picks == {"first"} else found[-1:] if picks == {"last"} else found
        values = {number.value for number in found}
        if len(values) != 1:
            return NotByAnswer(f"its answer has {len(values) or 'no'} numbers")
        (value,) = values
        if value is None:
            return NotByAnswer(f"the number in its answer cannot be read with the decimal mark `{mark}`")
        return _number(value, mark, as_text=isinstance(before, str))
    if isinstance(before, int | float):
        number = scalar(text)
        if isinstance(number, int | float) and not isinstance(number, bool) and str(number) == text:
            return number
    return text


def _number(value: Decimal, mark: DecimalMark, *, as_text: bool) -> str | int | float:
    """Return a number as a case has it: as text where it was text before, and where no float is exactly that."""
    if not as_text and value == int(value):
        return int(value)
    if not as_text and Decimal(str(float(value))) == value:
        return float(value)
    return f"{value:f}".replace(".", mark)


def _passes(comparing: Iterable[JudgeCall], text: str, value: str | int | float) -> bool:
    """Whether the judges pass the answer, had they expected `value`."""
    try:
        verdicts = [COMPARING[call.name](text, value, **_own(call)) for call in comparing]
    except (ArgumentError, TypeError):
        return False
    return all(verdict.passed or verdict.score == 1.0 for verdict in verdicts)


def _own(call: JudgeCall) -> dict[str, Any]:
    return {name: given for name, given in call.arguments.items() if name != "threshold"}


def differs(case: Case, trial: Trial) -> str:
    """Return the first judge that decided otherwise than the built-in one of its name; empty if none did."""
    assert trial.answer is not None
    given = {verdict.judge: verdict for verdict in trial.verdicts}
    for call in case.judges:
        if call.name in COMPARING and "expected" not in call.arguments and call.name in given:
            verdict = COMPARING[call.name](trial.answer.text, case.expected, **_own(call))
            if verdict.passed is not None and verdict.passed is not given[call.name].passed:
                return call.name
    return ""
