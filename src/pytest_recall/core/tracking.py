"""Tracking: what an issue about failing cases is to say and be after a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from pytest_recall.core.errors import RecallError

MOST = 20_000
"""The most characters for the names that an issue keeps, hidden in its text."""
_MEMORY = re.compile(r"^<!-- recall-failing: (.*) -->$", re.MULTILINE)


class Move(Enum):
    """What is done with the issue."""

    NOTHING = "nothing"
    OPEN = "open"
    UPDATE = "update"
    REOPEN = "reopen"
    CLOSE = "close"


class Known(NamedTuple):
    """An issue as it is: `declined` if somebody closed it as not planned.

    `failing` are the cases that it says fail; None if they were too many to be kept.
    """

    is_open: bool
    declined: bool
    failing: frozenset[str] | None


class Verdicts(NamedTuple):
    """What a run knows of the cases: ids. `gone` are those that no case file has any more.

    `troubles` say why the run shows less than it should, a phrase each: no case answers for them.
    """

    passed: frozenset[str]
    failed: frozenset[str]
    gone: frozenset[str] = frozenset()
    troubles: tuple[str, ...] = ()


class Decision(NamedTuple):
    """What to do: `news` are cases that did not fail by the issue, `failing` all that do now."""

    move: Move
    failing: frozenset[str] | None
    news: tuple[str, ...] = ()


def decide(known: Known | None, run: Verdicts) -> Decision:
    """Return what a run does to the issue, None if there is no issue yet.

    A case fails until it passes or is gone: a run that did not ask it, or came to no verdict, is no news of it. An
    issue that was closed is opened again only by a case that it did not know to fail, and never if it was declined.
    Where the names were too many to be kept, a run does not know what is new, and closes nothing. A run that shows less
    than it should opens the issue and closes none.
    """
    if known is None:
        news = tuple(sorted(run.failed))
        return Decision(Move.OPEN if news or run.troubles else Move.NOTHING, run.failed, news)
    if known.declined:
        return Decision(Move.NOTHING, known.failing)
    if known.failing is None:
        return Decision(Move.UPDATE if known.is_open else Move.NOTHING, None)
    failing = (known.failing - run.passed - run.gone) | run.failed
    news = tuple(sorted(failing - known.failing))
    if not known.is_open:
        if news or run.troubles:
            return Decision(Move.REOPEN, failing, news)
        # Nobody is told, but a case that has passed since and fails again is then news.
        return Decision(Move.NOTHING if failing == known.failing else Move.UPDATE, failing)
    return Decision(Move.UPDATE if failing or run.troubles else Move.CLOSE, failing, news)


def remembered(failing: Iterable[str] | None) -> str:
    """Return the hidden line with the failing cases; no id in it can end it."""
    text = json.dumps(None if failing is None else sorted(failing))
    if len(text) > MOST:
        text = "null"
    return f"<!-- recall-failing: {text.replace('-', chr(92) + 'u002d').replace('>', chr(92) + 'u003e')} -->"


def recollect(body: str, name: str) -> frozenset[str] | None:
    """Return the failing cases in the text of the issue `name`. Raises RecallError if somebody has edited them."""
    line = [*body.replace("\r\n", "\n").split("\n", 2), ""][1]
    found = _MEMORY.fullmatch(line)
    try:
        ids = json.loads(found[1]) if found else 0
    except (ValueError, RecursionError):
        ids = 0
    if ids is None:
        return None
    if not isinstance(ids, list) or not all(isinstance(case_id, str) for case_id in ids):
        raise RecallError(f"{name}: its second line, which is hidden, was edited; delete the text or close the issue")
    return frozenset(ids)
