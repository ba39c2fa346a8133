"""`recall estimate`: what the next slice costs by what its cases cost before, or that nobody knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recall.core.call import Call
from tests.cli.conftest import Recall
from tests.cli.samples import DATE, files
from tests.cli.test_score import run_of

ON = ("estimate", "--mode", "all", "--date", DATE)
COSTS: dict[str, float | None] = {"right": 0.5, "worse": 0.25, "crash": None}


@pytest.fixture
def spent(ran: Path) -> Path:
    """A project whose last run spent money on two cases, and an unknown amount on one."""
    path = run_of(ran) / "trials.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if line.get("case_id") in COSTS:
            line["calls"] = [Call("agent", "live", "m", cost=COSTS[line["case_id"]]).to_json()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return ran


def test_it_says_what_is_known_and_from_where(spent: Path, inside: Recall) -> None:
    before = files(spent)
    done = inside(spent, *ON)
    assert done.code == 0
    first, time, *scenarios, last = done.out.splitlines()
    assert first.startswith("5 cases: at least $1.12 (95 %: $0.7007 to $1.55), at list price with every call live; ")
    assert time.startswith("the agent's time, one case after another: ")
    assert scenarios == ["  loans: about $1.12 (95 %: $0.7007 to $1.55)", "  trouble: cost unknown"]
    assert last == (
        "from 1 earlier run: 2 cases by what it cost itself, 1 case by the mean of its scenario,"
        " 2 cases not known, and in no sum"
    )
    assert files(spent) == before


def test_as_json(spent: Path, inside: Recall) -> None:
    plain = json.loads(inside(spent, *ON, "--json").out)
    usd = plain["usd"]
    assert (usd["total"], usd["own"], usd["borrowed"], usd["unknown"]) == (1.125, 2, 1, 2)
    assert 0.7 < usd["low"] < usd["total"] < usd["high"] < 1.55
    assert plain["scenarios"]["trouble"]["total"] is None


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--budget", "2", "--scenarios", "loans"), 0, ""),
        (
            ("--budget", "$1", "--scenarios", "loans"),
            1,
            "about $1.12 (95 %: $0.7007 to $1.55) is more than the budget of $1.00",
        ),
        (("--budget", "9"), 1, "the budget of $9.00 may be too small: the cost of 2 cases is unknown"),
    ],
)
def test_a_budget_decides_the_exit_code(
    spent: Path, inside: Recall, more: tuple[str, ...], code: int, said: str
) -> None:
    done = inside(spent, *ON, *more)
    assert done.code == code
    told = [line for line in done.err.splitlines() if "budget" in line]
    assert told == ([f"recall: {said}"] if said else [])


def test_without_history_nothing_is_known(project: Path, inside: Recall) -> None:
    done = inside(project, *ON)
    assert done.out.startswith("5 cases: cost unknown")
    assert "from 0 earlier runs: 5 cases not known" in done.out


def test_a_journal_that_cannot_be_read_is_left_out(spent: Path, inside: Recall) -> None:
    broken = spent / "eval" / "_artifacts" / "2026-01-01T000000"
    broken.mkdir()
    (broken / "trials.jsonl").write_text('{"kind": "odd"}\n')
    done = inside(spent, *ON)
    assert done.code == 0
    assert "recall: left out: " in done.err
    assert "from 1 earlier run" in done.out


@pytest.mark.parametrize("wrong", [("--budget", "0"), ("--budget", "much"), ("--runs", "0"), ("--runs", "x")])
def test_wrong_values_are_refused(project: Path, inside: Recall, wrong: tuple[str, ...]) -> None:
    done = inside(project, *ON, *wrong)
    assert done.code == 2
    assert "Traceback" not in done.err
