"""Follow the plan of the controller in a worker of pytest-xdist."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pytest_recall.plugin import start
from pytest_recall.plugin.plan_payload import plan_of_text


class Worker:
    """Follows the plan of the controller; registered in a worker of pytest-xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_sessionstart(self) -> None:
        """Make a run from what the controller has sent."""
        sent: Mapping[str, str] = self._config.workerinput  # type: ignore[attr-defined]
        if (text := sent.get("recall")) is not None:
            plan, recording = plan_of_text(text)
            start.begin_recording(start.make_run(self._config, plan), recording)
