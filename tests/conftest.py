"""How invariants are tried: with no regard to how busy the machine is. And who runs which tests."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker tests that stand together: they share fixtures of modules, and imports that take seconds."""
    if config.getvalue("dist") != "load":
        return None
    return importlib.import_module("xdist.scheduler").WorkStealingScheduling(config, log)
