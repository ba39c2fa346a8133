"""The shipped persona and its story as plain values."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from pytest_recall.files import strict_yaml
from pytest_recall.horizon.corpus import FERRY_OFFICE, PERSONA, shipped


def ferry_folder() -> Path:
    """Return the folder of the persona."""
    found = shipped(FERRY_OFFICE)
    assert found is not None
    return found


def _plain(name: str) -> dict[str, Any]:
    found: dict[str, Any] = strict_yaml.load((ferry_folder() / name).read_text(encoding="utf-8"), name)
    return found


FERRIES = _plain(PERSONA)


def ferry_story(epoch: date = date(2024, 1, 1)) -> dict[str, Any]:
    """Return the story of sixty days, from another day on if one is given."""
    return {**_plain("arcs-60d.yaml"), "epoch": epoch.isoformat()}
