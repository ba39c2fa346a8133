"""Text judges: `exact`, `contains`, `regex` and `token_f1`."""

from __future__ import annotations

import re
from typing import Any

from pytest_recall.core.errors import ArgumentError, one_line
from pytest_recall.core.trial import Verdict
from pytest_recall.metrics import text as metrics


def exact(answer: str, expected: Any, *, ignore_case: bool = False) -> Verdict:
    """Pass if the answer is `expected`, white space trimmed and collapsed.

    ignore_case: take `A` for `a`. `expected` may be a list; one of it is enough.
    """
    accepted = [folded(text, ignore_case) for text in texts(expected)]
    if folded(answer, ignore_case) in accepted:
        return Verdict(passed=True, score=1.0)
    return Verdict(passed=False, score=0.0, reason=f"expected {_shown(expected)}, got {_quoted(answer)}")


def contains(
    answer: str,
    expected: Any = None,
    *,
    any: bool = False,
    ignore_case: bool = True,
    absent: str | list[str] | None = None,
) -> Verdict:
    """Pass if the answer contains every text of `expected` (one text or a list), white space collapsed.

    any: one of them is enough. ignore_case: take `A` for `a`. absent: texts that must not occur.
    """
    wanted = [] if expected is None else texts(expected)
    unwanted = [] if absent is None or absent == [] else texts(absent)
    if not all(text.strip() for text in (*wanted, *unwanted)):
        raise ArgumentError("an empty text is in every answer; remove it")
    if not wanted and not unwanted:
        raise ArgumentError("has nothing to look for; give `expected` or `absent`")
    given = folded(answer, ignore_case)
    missing = [text for text in wanted if folded(text, ignore_case) not in given]
    present = [text for text in unwanted if folded(text, ignore_case) in given]
    found = len(wanted) - len(missing)
    enough = not missing or (any and found > 0)
    if enough and not present:
        return Verdict(passed=True, score=1.0)
    problems = [] if enough else ["no " + (" or " if any else ", no ").join(_quoted(text) for text in missing)]
    problems += [f"{_quoted(text)} must not occur" for text in present]
    return Verdict(passed=False, score=0.0, reason=f"{'; '.join(problems)} in {_quoted(answer)}")


def regex(answer: str, expected: str, *, ignore_case: bool = False, full: bool = False) -> Verdict:
    """Pass if the regular expression `expected` (Python's `re`) is found in the answer.

    ignore_case: take `A` for `a`. full: the whole answer must fit.
    """
    if not isinstance(expected, str):
        raise ArgumentError(f"`expected` must be a regular expression as text, not {expected!r}")
    try:
        pattern = re.compile(expected, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise ArgumentError(f"{expected!r} is not a regular expression: {error}") from None
    if pattern.fullmatch(answer.strip()) if full else pattern.search(answer):
        return Verdict(passed=True, score=1.0)
    return Verdict(passed=False, score=0.0, reason=f"/{expected}/ does not fit {_quoted(answer)}")


def token_f1(answer: str, expected: Any) -> Verdict:
    """Score the words that the answer shares with `expected` (the best of a list), as F1 in 0..1.

    The threshold decides: of the call, the case, or the rubric; 0.5 where none is given.
    """
    references = texts(expected)
    if not all(metrics.tokens(reference) for reference in references):
        raise ArgumentError("the reference has no words of `a-z0-9'` to compare; use another judge")
    score, reference = max((metrics.token_f1(answer, reference), reference) for reference in references)
    return Verdict(passed=None, score=score, reason=f"F1 {score:.2f} with {_quoted(reference)}, got {_quoted(answer)}")


def texts(expected: Any) -> list[str]:
    """Return `expected` as a list of texts; numbers become text. Raises ValueError for anything else."""
    values = list(expected) if isinstance(expected, list | tuple) else [expected]
    if not values:
        raise ArgumentError("`expected` is an empty list; give at least one text")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ArgumentError(f"`expected` must be text or a list of texts, not {value!r}")
    return [str(value) for value in values]


def folded(text: str, ignore_case: bool = True) -> str:
    """Return `text` with its white space collapsed, and without case if that is to be ignored."""
    collapsed = " ".join(text.split())
    return collapsed.casefold() if ignore_case else collapsed


def _quoted(text: str) -> str:
    return f"“{one_line(text, 120)}”"


def _shown(expected: Any) -> str:
    return " or ".join(_quoted(text) for text in texts(expected))
