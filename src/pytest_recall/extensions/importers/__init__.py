"""Importers of the eval sets of promptfoo, deepeval and inspect_ai."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_recall.ext import hookimpl

if TYPE_CHECKING:
    from pytest_recall.ext import Importer


@hookimpl
def pytest_recall_importers() -> list[Importer]:
    """Return one importer for each tool."""
    from pytest_recall.ext import Importer
    from pytest_recall.extensions.importers import deepeval, inspect_ai, promptfoo

    return [
        Importer("promptfoo", "a config of promptfoo (.yaml, .json), or its results (.json)", promptfoo.convert),
        Importer("deepeval", "goldens that deepeval has saved (.json, .jsonl, .csv)", deepeval.convert),
        Importer("inspect", "samples or a log of inspect_ai (.json, .jsonl, .csv)", inspect_ai.convert),
    ]
