"""Resolve: from a selector to the model that it selects."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pytest_recall.core.selector import parse
from pytest_recall.providers.breaks import Breaks
from pytest_recall.providers.channel import Channel
from pytest_recall.providers.provider import Provider, Settings


def resolve(
    selector: str,
    *,
    settings: Settings | None = None,
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
    common = (parsed, environ, settings or Settings(), breaks or _breaks_of_the_process())
    if parsed.kind == "openai":
        from pytest_recall.providers.openai_chat import OpenAIModel

        return OpenAIModel(*common)
    if parsed.kind == "azure":
        from pytest_recall.providers.openai_chat import AzureModel

        return AzureModel(*common)
    if parsed.kind == "anthropic":
        from pytest_recall.providers.anthropic_messages import AnthropicModel

        return AnthropicModel(*common)
    if parsed.kind == "python":
        from pytest_recall.providers.own import OwnModel

        return OwnModel(*common, root)
    from pytest_recall.providers.subprocesses import AgentModel, CommandModel

    program = CommandModel if parsed.kind == "command" else AgentModel
    return program(*common, root, channel)


@cache
def _breaks_of_the_process() -> Breaks:
    return Breaks()
