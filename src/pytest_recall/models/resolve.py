"""Find the model that a selector names, recorded or replayed as the project is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from pytest_recall.models.model import ModelError, parse
from pytest_recall.models.provider import ModelSettings, Provider
from pytest_recall.models.waiting import Breaks, Channel
from pytest_recall.replay.exchange import CallKind, Request, Response
from pytest_recall.replay.player import Player


def resolve(
    selector: str,
    *,
    settings: ModelSettings | None = None,
    breaks: Breaks | None = None,
    environ: Mapping[str, str] | None = None,
    root: Path | None = None,
    channel: Channel | None = None,
) -> Provider:
    """Return the model that `selector` selects. Nothing is asked, and no SDK is imported.

    `breaks` are by default those of the process, so that models of one provider share them;
    `environ` holds keys and endpoints; relative paths are those from `root`, by default the
    current folder; programs are run through `channel`. Raises RecallError for a selector that
    is none; what is missing here `Provider.ready` says.
    """
    parsed = parse(selector)
    environ = os.environ if environ is None else environ
    root = (root or Path.cwd()).absolute()
    common = (parsed, environ, settings or ModelSettings(), breaks or _breaks_of_the_process())
    if parsed.kind == "openai":
        from pytest_recall.models.openai_chat import OpenAIModel

        return OpenAIModel(*common)
    if parsed.kind == "azure":
        from pytest_recall.models.openai_chat import AzureModel

        return AzureModel(*common)
    if parsed.kind == "anthropic":
        from pytest_recall.models.anthropic_messages import AnthropicModel

        return AnthropicModel(*common)
    if parsed.kind == "python":
        from pytest_recall.models.python_model import OwnModel

        return OwnModel(*common, root)
    from pytest_recall.models.programs import AgentModel, CommandModel

    program = CommandModel if parsed.kind == "command" else AgentModel
    return program(*common, root, channel)


@cache
def _breaks_of_the_process() -> Breaks:
    return Breaks()


def through(player: Player) -> Callable[[Request, Callable[[], Response]], Response]:
    """Return what stands between a program and its call: the recorded response, or the call, listened to."""

    def channel(request: Request, call: Callable[[], Response]) -> Response:
        step = player.ask(request)
        if (served := step.held.wait() if step.held is not None else step.served) is not None:
            if served.response is not None:
                return served.response
            failure = served.failure
            raise ModelError(
                failure.message if failure else "the call had not finished when it was recorded; record it again"
            )
        step.begin()
        try:
            response = call()
        except BaseException as error:
            if step.recorder is not None:
                step.recorder.failed(type(error).__name__, str(error))
            raise
        if step.recorder is None:
            return response
        step.recorder.started(response.status, response.reason, response.headers)
        for chunk in response.chunks:
            step.recorder.chunk(chunk)
        step.recorder.ended()
        return response

    return channel


# A client is built with some key, also where nothing is sent.
_NO_KEYS = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY"), "replayed")


def model_of(
    selector: str,
    kind: CallKind,
    *,
    player: Player,
    root: Path,
    say: Callable[[str], None],
    ready: bool = True,
    timeout: int | None = None,
) -> Provider:
    """Return the model that `selector` names, for calls of `kind` that go by `player`.

    One attempt at a call may take `timeout` milliseconds, or as long as usual.

    Raises RecallError, before anything is spent, if there is none, or something is missing here,
    which is not looked for if it need not be `ready`.
    """
    replayed = player.mode == "replay" and player.ways[kind] == "cassette"
    model = resolve(
        selector,
        settings=ModelSettings.within(timeout, say),
        environ={**_NO_KEYS, **os.environ} if replayed else os.environ,
        root=root,
        channel=through(player),
    )
    if ready and not replayed:
        model.ready()
    return model
