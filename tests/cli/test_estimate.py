"""`recall schedule estimate`: what the next slice costs by what its cases cost before, or that no one knows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pytest_recall.replay.exchange import Call
from tests.cli.conftest import Recall
from tests.cli.samples import DATE, files
from tests.cli.test_score import run_of

ON = ("schedule", "estimate", "--mode", "all", "--date", DATE)
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
    said = (
        "5 cases: at least $1.12 (95 %: $0.7007 to $1.55), $1.25 at most for the known, at list price with every call"
    )
    assert first.startswith(f"{said} live; ")
    assert time.startswith("the agent's time, one case after another: ")
    assert scenarios == ["  loans: about $1.12 (95 %: $0.7007 to $1.55), $1.25 at most", "  trouble: cost unknown"]
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
        (("--fail-above", "2", "--scenarios", "loans"), 0, ""),
        (
            ("--fail-above", "$1", "--scenarios", "loans"),
            1,
            "about $1.12 (95 %: $0.7007 to $1.55), $1.25 at most is more than $1.00",
        ),
        (("--fail-above", "9"), 1, "it may be more than $9.00: the cost of 2 cases is unknown"),
    ],
)
def test_a_budget_decides_the_exit_code(
    spent: Path, inside: Recall, more: tuple[str, ...], code: int, said: str
) -> None:
    done = inside(spent, *ON, *more)
    assert done.code == code
    told = [line for line in done.err.splitlines() if "more than" in line]
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


@pytest.fixture
def dear(ran: Path) -> Path:
    """A project whose last run asked OpenAI directly, for a dollar each time."""
    return priced(ran, Call("agent", "live", "m", "openai", cost=1.0))


def priced(folder: Path, call: Call, **header: bool) -> Path:
    """Let the trials of the last run have made this call, and the run have this in its header."""
    path = run_of(folder) / "trials.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines[0] |= header
    for line in lines:
        if line["kind"] == "trial":
            line["calls"] = [call.to_json()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


LOANS = (*ON, "--scenarios", "loans")


def test_half_prices_are_not_forecast_for_a_run_without_batches(ran: Path, inside: Recall) -> None:
    half = Call("agent", "live", "m", "openai", cost=0.5, batched=True)
    priced(ran, half, batch=True)
    assert inside(ran, *LOANS).out.splitlines()[:2] == [
        "3 cases: about $3.00, at list price with every call live; a replay costs what stays live, which are the"
        " judges' calls by default",
        "the agent's time, one case after another: unknown",
    ]
    assert inside(ran, *LOANS, "--batch").out.splitlines() == [
        "3 cases: about $1.50 by batch, about $3.00 without, at list price with every call live",
        "from 1 earlier run: 2 cases by what it cost itself, 1 case by the mean of its scenario",
    ]
    assert inside(ran, *LOANS, "--batch", "--fail-above", "2").code == 0
    assert inside(ran, *LOANS, "--fail-above", "2").code == 1


def test_what_is_assumed_of_batches_is_said(dear: Path, inside: Recall) -> None:
    lines = inside(dear, *LOANS, "--batch").out.splitlines()
    assert lines[:2] == [
        "3 cases: about $1.50 by batch, about $3.00 without, at list price with every call live",
        "of 3 cases no run by batch is known: calls to OpenAI and Anthropic are taken at half price, though streams,"
        " and others that no batch takes, are not",
    ]
    plain = json.loads(inside(dear, *LOANS, "--batch", "--json").out)
    assert (plain["batch"], plain["usd"]["total"], plain["usd"]["assumed"]) == (True, 1.5, 3)
    assert (plain["without_batch"]["usd"]["total"], plain["seconds"]["total"]) == (3.0, None)
    plain = json.loads(inside(dear, *LOANS, "--json").out)
    assert (plain["batch"], plain["usd"]["assumed"], plain["without_batch"]) == (False, 0, None)


def test_a_budget_is_not_within_what_is_assumed(dear: Path, inside: Recall) -> None:
    done = inside(dear, *LOANS, "--batch", "--fail-above", "2")
    assert done.code == 1
    assert (
        "recall: it may be more than $2.00: of 3 cases no run by batch is known, and directly the slice"
        " costs about $3.00" in done.err.splitlines()
    )
    assert inside(dear, *LOANS, "--batch", "--fail-above", "4").code == 0


def test_by_batch_no_time_stands_beside_baselines(dear: Path, inside: Recall) -> None:
    done = inside(dear, *LOANS, "--batch", "--baselines", "raw")
    head = next(line for line in done.out.splitlines() if line.startswith("asked"))
    assert head.split() == ["asked", "cost", "95", "%", "by", "itself", "by", "scenario", "unknown"]


@pytest.fixture
def compared(spent: Path) -> Path:
    """The same project, whose last run has put two of the cases to baselines as well."""
    path = run_of(spent) / "trials.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    took: dict[str, dict[str, float | None]] = {
        "raw": {"right": 2.0, "worse": 1.0},
        "elder": {"right": None, "worse": 3.0},
    }
    for arm, costs in took.items():
        for line in [line for line in lines if line.get("case_id") in costs and "arm" not in line]:
            calls = [Call("agent", "live", "m", cost=costs[line["case_id"]]).to_json()]
            lines.insert(-1, {**line, "arm": arm, "calls": calls, "seconds": 2.0})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return spent


def test_baselines_stand_beside_the_agent_each_by_its_own_history(compared: Path, inside: Recall) -> None:
    done = inside(compared, *ON, "--baselines", "raw,elder,no-memory", "--scenarios", "loans,trouble")
    assert done.code == 0
    first, *table, last = done.out.splitlines()
    assert first.startswith("5 cases, each asked of 4 agents: at least $14.62 (95 %: ")
    rows = [" ".join(line.split()) for line in table]
    assert rows[0] == "asked cost 95 % agent's time by itself by scenario unknown"
    assert rows[1].startswith("agent at least $1.12 $0.7007 to $1.55 at least ")
    assert rows[1].endswith(" s 2 1 2")
    assert rows[2] == "raw at least $4.50 $2.80 to $6.20 at least 6.0 s 2 1 2"
    assert rows[3] == "elder at least $9.00 – at least 6.0 s 1 2 2"
    assert rows[4] == "no-memory unknown – unknown 0 0 5"
    assert rows[5].startswith("sum at least $14.62 ")
    assert rows[5].endswith(" 5 4 11")
    assert rows[6:] == [
        "cost by scenario agent raw elder no-memory",
        "loans about $1.12 about $4.50 about $9.00 unknown",
        "trouble unknown unknown unknown unknown",
    ]
    assert last == "from 1 earlier run"
    assert "was asked in no earlier run" not in done.err


def test_the_rubric_names_the_baselines_and_none_leaves_them_out(compared: Path, inside: Recall) -> None:
    with (compared / "eval" / "rubric.yaml").open("a", encoding="utf-8") as rubric:
        rubric.write("baselines: [raw]\n")
    plain = json.loads(inside(compared, *ON, "--json").out)
    assert (plain["usd"]["total"], plain["baselines"]["raw"]["usd"]["total"]) == (1.125, 4.5)
    assert (plain["sum"]["usd"]["total"], plain["sum"]["usd"]["unknown"]) == (5.625, 4)
    without = json.loads(inside(compared, *ON, "--baselines", "none", "--json").out)
    assert (without["baselines"], without["sum"]["usd"]) == ({}, without["usd"])


def test_the_budget_is_for_all_agents_together(compared: Path, inside: Recall) -> None:
    asked = (*ON, "--scenarios", "loans", "--fail-above", "5")
    assert inside(compared, *asked).code == 0
    assert inside(compared, *asked, "--baselines", "raw").code == 1
    done = inside(compared, *ON, "--fail-above", "9", "--baselines", "raw")
    assert "it may be more than $9.00: the cost of 4 cases, counted for each agent, is unknown" in done.err


def test_a_baseline_that_nobody_knows_is_said(compared: Path, inside: Recall) -> None:
    done = inside(compared, *ON, "--baselines", "raww,openai:gpt-4o")
    assert done.code == 0
    assert "recall: `raww` was asked in no earlier run; did you mean `raw`?" in done.err.splitlines()
    assert "gpt-4o` was" not in done.err


def test_only_so_many_runs_are_read(spent: Path, inside: Recall) -> None:
    shutil.copytree(run_of(spent), spent / "eval" / "_artifacts" / "2026-01-01T000000")
    assert "from 1 earlier run: " in inside(spent, *ON, "--runs", "1").out
    assert "from 2 earlier runs: " in inside(spent, *ON, "--runs", "2").out
    assert "'0' is not a number of runs from 1 up" in inside(spent, *ON, "--runs", "0").err
