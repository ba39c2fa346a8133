"""Tell which models replied, and whether that is the one that a selector asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import one_line
from pytest_recall.models.model import parse
from pytest_recall.replay.exchange import Call

MOST = 4
"""Models that are named of one agent."""
_BETWEEN = ", "
_VERSION = re.compile(r"[-@:](latest|\d{4}-\d\d(?:-\d\d)?|\d{8}|\d{6}|\d{3,4})$")
"""What a provider puts behind the name of a model for one version of it."""
_UNNAMED = ("azure", "command", "python")
"""Kinds of selectors that name a deployment or a program, and no model."""
_SHORT = ("claude", "codex", "copilot")
"""Kinds of selectors that may name a model by a part of its name, such as `claude:opus`."""


def replied_models(calls: Iterable[Call]) -> tuple[str, ...]:
    """Return the models that the replies to an agent name, each once; those of its judges are none of it."""
    names = (one_line(call.model, 80) for call in calls if call.kind != "judge" and call.model and not call.trouble)
    return tuple(dict.fromkeys(names))[:MOST]


def joined(models: Iterable[str]) -> str | None:
    """Return models as one name, such as a row has it; None for none."""
    return _BETWEEN.join(models) or None


def is_asked_for(selector: str, replied: str) -> bool:
    """Whether a model that replied, or one of several `joined`, can be the one that `selector` asks for.

    A name without a version is that of any version. Of a selector that names no model nothing is known to differ.
    """
    models = replied.split(_BETWEEN)
    try:
        known = parse(selector)
    except RecallError:  # It is the name of a model.
        return any(_is_same(selector, model) for model in models)
    if known.kind in _UNNAMED or not known.target or replied == selector:
        return True
    if known.kind in _SHORT:
        return any(known.target.lower() in model.lower() for model in models)
    return any(_is_same(known.target, model) for model in models)


def _is_same(one: str, other: str) -> bool:
    (name, version), (other_name, other_version) = _parts(one), _parts(other)
    return name == other_name and (version == other_version or "" in (version, other_version))


def _parts(model: str) -> tuple[str, str]:
    """Return the name of a model without its provider, and its version; the latest one is any."""
    name = model.lower().rpartition("/")[2]
    found = _VERSION.search(name)
    if found is None:
        return name, ""
    return name[: found.start()], "" if found[1] == "latest" else found[1].replace("-", "")
