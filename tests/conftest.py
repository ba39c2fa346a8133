"""The profiles of hypothesis, without limits of time, and the fixture that several rooms share."""

from __future__ import annotations

import os
from pathlib import Path

# httpx loads httpcore late. Within a run of pytester, which takes out what was loaded in it, there would be a second
# one later, whose errors httpx does not know.
import httpcore  # noqa: F401
import pytest

# The same of YAML, whose events would be of two modules.
import yaml  # noqa: F401
from hypothesis import HealthCheck, Phase, settings

from pytest_recall.files.eval_directory import Place

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Each run tries others, so that a few come to many; `pytest --hypothesis-profile thorough` tries many at once.
settings.register_profile("patient", patient, max_examples=30)
settings.register_profile("thorough", patient, max_examples=500)
# For scripts/check-mutants.py, which asks whether a test fails and not with which example.
settings.register_profile("unshrunk", patient, max_examples=30, phases=(Phase.explicit, Phase.generate), database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "patient"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An eval directory without files."""
    (tmp_path / "eval").mkdir()
    return Place(tmp_path, tmp_path / "eval")
