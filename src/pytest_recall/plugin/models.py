"""Models by selector: the seam to the providers, until they are there."""

from __future__ import annotations

import importlib
import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_recall.core.errors import RecallError
from pytest_recall.core.model import Ask, Model, Reply

PREFIX = "python:"


def model_of(selector: str) -> Model:
    """Return the model that `selector` names. Raises RecallError."""
    # To be replaced by `resolve` alone, as soon as the providers are part of the package.
    try:
        resolve = importlib.import_module("pytest_recall.providers.selector").resolve
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("pytest_recall.providers"):
            raise
        return _of_python(selector)
    model: Model = resolve(selector)
    return model


@dataclass(frozen=True)
class _Named:
    """An object of somebody's own as a model, under the selector that led to it."""

    name: str
    own: Any

    def ask(self, ask: Ask) -> Reply:
        reply: Reply = self.own.ask(ask)
        return reply


def _of_python(selector: str) -> Model:
    home, colon, attribute = selector.removeprefix(PREFIX).rpartition(":")
    if not selector.startswith(PREFIX) or not colon:
        raise RecallError(
            f"the model {selector!r} is unknown; write `python:package.module:name` or `python:file.py:name`"
        )
    try:
        found = runpy.run_path(home) if home.endswith(".py") else vars(importlib.import_module(home))
    except (ImportError, OSError) as error:
        raise RecallError(f"the model {selector!r}: {Path(home).name} cannot be read ({error}); correct it") from None
    own = found.get(attribute)
    own = own() if isinstance(own, type) else own
    if not callable(getattr(own, "ask", None)):
        raise RecallError(f"the model {selector!r}: `{attribute}` has no method `ask`; name an object that has one")
    return _Named(selector, own)
