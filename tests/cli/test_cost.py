"""`recall cassettes cost`: the record-against-replay table of a run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.exchange import Call, Tokens
from pytest_recall.trials import (
    commands as cost,
)
from pytest_recall.trials.cost_text import COST_MEANING
from tests.cli.samples import files
from tests.cli.test_score import run_of

Cost = Callable[..., str]

CALLS = (
    Call("agent", "replayed", "gpt-4o", "openai", Tokens(1_000, 50, 200), 0.25),
    Call("judge", "live", "gpt-4o", "openai", Tokens(500, 5, 0), 0.0625),
)


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cost:
    """Call the command in a folder, and return what it prints."""

    def call(folder: Path, *arguments: str) -> str:
        parser = argparse.ArgumentParser()
        cost.add_cost(parser.add_subparsers())
        monkeypatch.chdir(folder)
        capsys.readouterr()
        args = parser.parse_args(["cost", *arguments])
        assert args.run(args) == 0
        return capsys.readouterr().out

    return call


@pytest.fixture
def called(ran: Path) -> Path:
    """A project after a run whose trials have called an upstream, one of them in two attempts."""
    path = run_of(ran) / "trials.jsonl"
    made = {"right": CALLS, "crash": (Call("agent", "live"),)}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if line["kind"] == "trial":
            line["calls"] = [call.to_json() for call in made.get(line["case_id"], ())]
    right = next(line for line in lines if line.get("case_id") == "right")
    lines.insert(lines.index(right), {**right, "calls": right["calls"][:1]})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return ran


def test_table(called: Path, printed: Cost) -> None:
    before = files(called)
    told = printed(called).splitlines()
    assert told == [
        "spent at least $0.0625 (1 call without a price), replayed 2 calls that would cost $0.50",
        "",
        "scenario  calls    input   output  cache read  cache write            record   replay    saved",
        "loans         3    2,500      105         400            –           $0.5625  $0.0625   88.9 %",
        "trouble       1  unknown  unknown     unknown      unknown           unknown    $0.00  unknown",
        "total         4    2,500      105         400            –  at least $0.5625  $0.0625  unknown",
        "",
        COST_MEANING,
        "1 call without a price (1 live, 0 replayed): unknown is not zero.",
        "1 call without a count of tokens.",
    ]
    assert files(called) == before


def test_json(called: Path, printed: Cost) -> None:
    found = json.loads(printed(called, "--json"))
    assert list(found["scenarios"]) == ["loans", "trouble"]
    known = {"models_without_price": [], "estimated": False}
    assert found["total"]["saved"] == {"usd": 0.5, "calls": 2, "without_price": 0, **known}
    assert found["total"]["spent"] == {"usd": 0.0625, "calls": 2, "without_price": 1, **known}


def test_a_run_by_its_name_or_place(called: Path, printed: Cost) -> None:
    run = run_of(called)
    texts = {printed(called, given) for given in ("latest", run.name, str(run), str(run / "trials.jsonl"))}
    texts.add(printed(called, "--dir", "eval"))
    assert len(texts) == 1


def test_no_such_run(ran: Path, printed: Cost) -> None:
    with pytest.raises(RecallError, match="no run 'nowhere'"):
        printed(ran, "nowhere")


def test_no_calls(ran: Path, printed: Cost) -> None:
    """A run of an agent that asks no upstream, read from its real journal."""
    assert printed(ran) == f"{run_of(ran).name}: no calls to an upstream were seen in this run.\n"
    assert json.loads(printed(ran, "--json"))["scenarios"] == {}
