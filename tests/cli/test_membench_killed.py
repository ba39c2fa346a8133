"""`recall memory run` killed while a service holds what it was told: the same command resumes it, and no other one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from tests.cli.test_membench import trials
from tests.datasets.files import write_few
from tests.helpers import programs
from tests.memory.services import Service, serving

RUN = ("memory", "run", "few.json")
"""Of two conversations, the first has 12 texts and the second 6."""


class Stuck(Service):
    """A service that is slow at one of its calls, from then on."""

    at = ("/recall", 1000)

    def reply(self, method: str, path: str, given: Any) -> tuple[int, bytes]:
        found = super().reply(method, path, given)
        if path == self.at[0] and sum(one == f"{method} {path}" for one, _ in self.asked) > self.at[1]:
            self.waits.wait(60)
        return found


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_few(tmp_path)


def killed(service: Stuck, at: tuple[str, int], *command: str) -> None:
    """Run in a process of its own, and kill it with SIGKILL once the service is stuck."""
    service.at = at
    before = len(service.asked)
    with programs.begin(Path(), *command) as process:
        limit = time.monotonic() + 60
        while sum(one == f"POST {at[0]}" for one, _ in service.asked[before:]) <= at[1] and time.monotonic() < limit:
            assert process.poll() is None
            time.sleep(0.01)
        programs.kill(process)
    service.at = ("/recall", 10**6)
    service.waits.set()


@pytest.mark.parametrize(
    ("at", "kept"),
    [
        pytest.param(("/store", 14), 3, id="while it is told the second conversation"),
        pytest.param(("/store", 5), 6, id="while it is told the first one"),
        pytest.param(("/recall", 6), 12, id="while it is asked"),
    ],
)
def test_the_same_command_resumes_what_was_killed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, at: tuple[str, int], kept: int
) -> None:
    service = Stuck()
    with serving(service):
        command = (*RUN, "--memory", service.url, "--out", "o")
        killed(service, at, *command)
        assert len(service.kept) == kept
        assert main([*RUN, "--memory", service.url, "--out", "another"]) == 2
        assert f"holds {kept} units that are not this run's" in capsys.readouterr().err
        assert main(command) == 0
        assert "--memory-reset" not in capsys.readouterr().err
        assert len({one["case_id"] for one in trials(tmp_path / "o")}) == 7 == len(trials(tmp_path / "o"))
        assert service.kept == []
        assert not (tmp_path / "o" / ".memory-filled").exists()
        service.kept.append({"content": "of someone else", "metadata": {}})
        assert main([*command, "--fresh"]) == 2
        assert "holds 1 units that are not this run's" in capsys.readouterr().err


def test_the_ingest_that_was_killed_is_one_of_the_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    service = Stuck()
    with serving(service):
        command = (*RUN, "--memory", service.url, "--out", "o", "--repeat", "2")
        killed(service, ("/store", 22), *command)
        assert (tmp_path / "o" / ".memory-filled").exists()
        assert main(command) == 0
        assert not (tmp_path / "o" / ".memory-filled").exists()
