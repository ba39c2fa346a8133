"""`recall bench run` of a memory with models of its own: what these cost is counted, shown and within the budget."""

from __future__ import annotations

import importlib
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.trials.journal import read_journal
from tests.cli.test_bench_run import RUN
from tests.cli.test_membench_models import OWN, PRICES, cost, counted, words
from tests.helpers import programs
from tests.helpers.persona import write_project
from tests.helpers.priced import priced_folder
from tests.models.endpoint import Endpoint

# A run of pytest in this process forgets what it was the first to import, and some of it would be there twice.
importlib.import_module("pytest_recall.horizon.run")

MEMORY = ("--memory", "python:own.py:InPool", "--ranges", "3d,6d", "--out", "o")


@pytest.fixture(name="served")
def _served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    endpoint = Endpoint(counted)
    monkeypatch.setenv("MODELS", endpoint.url)
    yield endpoint
    endpoint.close()


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    priced_folder(tmp_path, monkeypatch, PRICES, OWN)
    write_project(tmp_path)


def models() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("o/result.json").read_text())["metadata"]["memoryModels"]
    return found


def test_calls_of_the_memory_are_of_its_ingest_or_of_a_question(
    served: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, *MEMORY, "--concurrency", "3"]) == 0
    out = capsys.readouterr().out
    record = read_journal(Path("o"))
    assert len(record.trials) == 12
    assert all([call.model for call in trial.calls] == ["rank"] for trial in record.trials)
    read = words(served, "extract")
    assert sum(told.input_tokens or 0 for told in record.told) == read
    assert models()["ingest"] == {
        "calls": sum(told.calls or 0 for told in record.told),
        "inputTokens": read,
        "outputTokens": 2 * sum(told.calls or 0 for told in record.told),
        "usd": pytest.approx(read / 1000),
    }
    asked = sum(call.cost or 0 for trial in record.trials for call in trial.calls)
    assert models()["question"]["usd"] == pytest.approx(asked / 12)
    assert f", {read:,} tokens read, " in next(
        one for one in out.splitlines() if one.startswith("models of the memory,")
    )
    assert "models of the memory, a question on average: 1 call, " in out
    spent = cost(capsys)["total"]["spent"]
    assert spent["calls"] == len(served.asked)
    assert spent["usd"] == pytest.approx((read + 2 * words(served, "rank")) / 1000)


@pytest.mark.parametrize("budget", ["0.1", "0.2"])
def test_no_call_of_the_memory_begins_once_the_budget_is_spent(
    served: Endpoint, capsys: pytest.CaptureFixture[str], budget: str
) -> None:
    assert main([*RUN, *MEMORY, "--budget", budget]) == 2
    stop = read_journal(Path("o")).stop
    assert stop is not None
    assert (stop.cause, stop.usd) == ("budget", float(budget))
    spent = (words(served, "extract") + 2 * words(served, "rank")) / 1000
    assert 0 < spent <= float(budget)
    assert main([*RUN, *MEMORY, "--budget", "90"]) == 0
    assert len(read_journal(Path("o")).trials) == 12
    all_of_it = (words(served, "extract") + 2 * words(served, "rank")) / 1000
    capsys.readouterr()
    assert cost(capsys)["total"]["spent"]["usd"] == pytest.approx(all_of_it)


def test_what_a_killed_run_has_cost_is_in_the_cost(
    served: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served.script = [*[counted] * 4, served.hang]
    process = programs.begin(tmp_path, *RUN, *MEMORY)
    limit = time.monotonic() + 60
    while len(served.asked) < 5 and time.monotonic() < limit:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    served.asked.pop()
    served.script = [counted]
    assert main([*RUN, *MEMORY]) == 0
    capsys.readouterr()
    assert cost(capsys)["total"]["spent"]["calls"] == len(served.asked)
