"""A folder in which models have prices, as a command is run in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest


def priced_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, prices: Mapping[str, float], own: str) -> None:
    """Go into a folder with a memory in `own.py`, and with the US dollars of a million tokens that a model reads."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (folder / "own.py").write_text(own)
    (folder / "eval").mkdir()
    listed = {name: {"input": usd, "output": 0} for name, usd in prices.items()}
    (folder / "eval" / "rubric.yaml").write_text(
        json.dumps({"owner": "us", "judge": {"preflight": "off"}, "prices": listed})
    )
