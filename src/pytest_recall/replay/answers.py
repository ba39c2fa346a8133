"""Make the stand-in responses of a replay for unrecorded calls that must not end a case, such as telemetry."""

from __future__ import annotations

import json

from pytest_recall.replay.exchange import Exchange, Failure, Request, Response

BACKGROUND = "nothing is sent in a replay, not by a thread that was there before the case either"
IMPORTED = "nothing is sent in a replay, not by a package as it is imported either"
_JSON = (("content-type", "application/json"),)


def accepted(request: Request) -> Exchange:
    """Return the answer of a service that takes what it was sent."""
    return _answered(request, Response(200, "OK", _JSON, (b"{}",)))


def refused(request: Request, message: str) -> Exchange:
    """Return the answer of a service that can make nothing of a request, which no client then sends again."""
    body = json.dumps({"error": {"message": message, "type": "not_sent", "code": "not_sent"}}).encode()
    return _answered(request, Response(400, "Bad Request", _JSON, (body,)))


def unreachable(request: Request, message: str) -> Exchange:
    """Return how a call ends where there is no network."""
    return Exchange("", 0, "", request, None, Failure("ConnectError", message))


def _answered(request: Request, response: Response) -> Exchange:
    return Exchange("", 0, "", request, response)
