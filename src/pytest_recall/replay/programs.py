"""Programs: models that are asked as a subprocess, recorded and replayed as any other call."""

from __future__ import annotations

from collections.abc import Callable

from pytest_recall.core.exchange import Request, Response
from pytest_recall.core.model import ModelError
from pytest_recall.replay.player import Player


def through(player: Player) -> Callable[[Request, Callable[[], Response]], Response]:
    """Return what stands between a program and its call: the recorded response, or the call, listened to."""

    def channel(request: Request, call: Callable[[], Response]) -> Response:
        step = player.ask(request)
        if step.served is not None:
            if step.served.response is not None:
                return step.served.response
            failure = step.served.failure
            raise ModelError(failure.message if failure else "it came to no end when it was recorded")
        step.begin()
        if step.tap is None:
            return call()
        try:
            response = call()
        except BaseException as error:
            step.tap.failed(type(error).__name__, str(error))
            raise
        step.tap.started(response.status, response.reason, response.headers)
        for chunk in response.chunks:
            step.tap.chunk(chunk)
        step.tap.ended()
        return response

    return channel
