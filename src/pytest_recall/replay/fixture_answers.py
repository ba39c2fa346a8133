"""Know whether a case is replayed with the answers to its wider fixtures with which it was recorded.

The recording of a fixture is another one than that of the case, and each can be made anew without the other. So the
header of a case has a digest of the answers that each of them got.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_recall.replay.exchange import Exchange
from pytest_recall.replay.tokens import hands_out

FIELD = "fixtures"
"""The field of a header that has the digests by the names of the fixtures."""


def digest_of_answers(calls: Iterable[Exchange]) -> str:
    """Return a digest, 16 hex digits, of recorded calls with their answers; empty without any.

    Tokens are left out, which are others each time, and so is the order, in which calls at once are not the same.
    """
    answers = sorted(repr((one.request[:2], one.request.body, _answer(one))) for one in calls if not hands_out(one))
    return hashlib.sha256("\n".join(answers).encode()).hexdigest()[:16] if answers else ""


def _answer(call: Exchange) -> tuple[Any, ...]:
    response, failure = call.response, call.failure
    return (response and (response.status, response.body), failure and failure.kind)


def other_fixture(header: Mapping[str, Any], now: Mapping[str, str]) -> str:
    """Return the first fixture that got other answers than when what this `header` is of was recorded.

    Empty where there is none, and where the header does not say.
    """
    recorded = header.get(FIELD)
    if not isinstance(recorded, dict):
        return ""
    return next((name for name, digest in now.items() if recorded.get(name, digest) != digest), "")
