"""Answer calls that are not to be sent, in the place of who would have answered them."""

from __future__ import annotations

import json

from pytest_recall.replay.exchange import Exchange, Request, Response

_JSON = (("content-type", "application/json"),)


def accepted(request: Request) -> Exchange:
    """Return the answer of a service that takes what it was sent."""
    return _answered(request, Response(200, "OK", _JSON, (b"{}",)))


def refused(request: Request, message: str) -> Exchange:
    """Return the answer of a service that can make nothing of a request, which no client then sends again."""
    body = json.dumps({"error": {"message": message, "type": "not_sent", "code": "not_sent"}}).encode()
    return _answered(request, Response(400, "Bad Request", _JSON, (body,)))


def _answered(request: Request, response: Response) -> Exchange:
    return Exchange("", 0, "", request, response)
