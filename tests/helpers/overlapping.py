"""Projects whose cases run at once: agents that come to an answer only if others run beside them."""

from __future__ import annotations

import json
from typing import Any

from tests.helpers.project import BARE, Checkout, Project, case, row

IDS = ("a", "b", "c", "d", "e", "f", "g", "h")
"""Cases in the order of their turns."""

TOOLS = """\
import asyncio
import json
import pathlib
import sys
import threading
import time

HERE = pathlib.Path(__file__).parent


def told(text):
    with (HERE / "told.txt").open("a") as log:
        log.write(f"{text}\\n")


class Gate:
    \"\"\"Holds callers until so many have come; says how many there were at once at most.\"\"\"

    def __init__(self, count):
        self.barrier, self.lock, self.here, self.most = threading.Barrier(count), threading.Lock(), 0, 0

    def __enter__(self):
        with self.lock:
            self.here += 1
            self.most = max(self.most, self.here)

    def __exit__(self, *_):
        with self.lock:
            self.here -= 1

    def sync(self):
        with self:
            self.barrier.wait(10)

    async def wait(self):
        with self:
            # Each waits in a thread of its own, so that the loop goes on.
            await asyncio.get_running_loop().run_in_executor(None, self.barrier.wait, 10)


"""
SYNC = """
@pytest.fixture
def agent():
    def answer(question):
        GATE.sync()
        return question

    return answer
"""
ASYNC = """
@pytest.fixture(scope="session")
def agent():
    async def answer(question):
        await GATE.wait()
        return question

    return answer
"""


def overlapping(source: str, *ids: str, gate: int = 4) -> Project:
    """Return a project with this agent, which may use `GATE`, `told` and `Gate`, and a case for each of `ids`."""
    gated = f"{TOOLS}GATE = Gate({gate})\n{source}"
    return due(BARE.with_agent(gated), *(ids or IDS))


def due(project: Project, *ids: str) -> Project:
    """Return the project with a case for each of `ids`, all of them to be run on the day of the runs."""
    return project.with_cases(*(case(name) for name in ids)).with_state(**{name: row(2) for name in ids})


def told(checkout: Checkout) -> list[str]:
    """Return what the project's own code has told, in that order."""
    path = checkout.path / "eval" / "told.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def untimed(value: Any) -> Any:
    """Return what JSON held, without what differs from run to run: its name, its times."""
    if isinstance(value, dict):
        return {key: untimed(item) for key, item in value.items() if key not in ("run", "seconds", "started_at")}
    return [untimed(item) for item in value] if isinstance(value, list) else value


def result_of(checkout: Checkout) -> tuple[str | None, Any, list[Any]]:
    """Return the state, the scorecard and the trials of the newest run, without times."""
    trials = [untimed(json.loads(json.dumps(trial.to_json()))) for trial in checkout.journal().trials]
    return checkout.state_text(), untimed(checkout.scorecard()), trials
