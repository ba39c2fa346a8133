"""`recall schedule estimate`: what the next slice costs by what its cases cost before, or that no one knows."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from pathlib import Path

import pytest

from pytest_recall.replay.exchange import Call
from tests.cli.conftest import Recall
from tests.cli.samples import DATE, files
from tests.cli.test_score import run_of
from tests.helpers.screens import assert_screen, shown

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


def test_as_json(spent: Path, inside: Recall) -> None:
    plain = json.loads(inside(spent, *ON, "--json").out)
    usd = plain["usd"]
    assert (usd["total"], usd["own"], usd["borrowed"], usd["unknown"]) == (1.125, 2, 1, 2)
    assert 0.7 < usd["low"] < usd["total"] < usd["high"] < 1.55
    assert plain["scenarios"]["trouble"]["total"] is None


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


@pytest.fixture
def halved(ran: Path) -> Path:
    """A project whose last run has paid half by batches."""
    return priced(ran, Call("agent", "live", "m", "openai", cost=0.5, batched=True), batch=True)


LOANS = (*ON, "--scenarios", "loans")


def test_what_is_assumed_of_batches(dear: Path, inside: Recall) -> None:
    plain = json.loads(inside(dear, *LOANS, "--batch", "--json").out)
    assert (plain["batch"], plain["usd"]["total"], plain["usd"]["assumed"]) == (True, 1.5, 3)
    assert (plain["without_batch"]["usd"]["total"], plain["seconds"]["total"]) == (3.0, None)
    plain = json.loads(inside(dear, *LOANS, "--json").out)
    assert (plain["batch"], plain["usd"]["assumed"], plain["without_batch"]) == (False, 0, None)


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


SCREENS: dict[str, tuple[str, ...]] = {
    "project": ("",),
    "spent": (
        "",
        "--fail-above 2 --scenarios loans",
        "--fail-above $1 --scenarios loans",
        "--fail-above 9",
    ),
    "halved": (
        "--scenarios loans",
        "--scenarios loans --batch",
        "--scenarios loans --batch --fail-above 2",
        "--scenarios loans --fail-above 2",
    ),
    "dear": (
        "--scenarios loans --batch",
        "--scenarios loans --batch --fail-above 2",
        "--scenarios loans --batch --fail-above 4",
        "--scenarios loans --batch --baselines raw",
    ),
    "compared": (
        "--baselines raw,elder,no-memory",
        "--baselines raww,openai:gpt-4o",
        "--scenarios loans --fail-above 5",
        "--scenarios loans --fail-above 5 --baselines raw",
        "--fail-above 9 --baselines raw",
    ),
}
"""What is said of each project, the fixture of that name, in place of how long its cases really took."""


@pytest.mark.parametrize("name", SCREENS)
def test_what_it_says(name: str, request: pytest.FixtureRequest, inside: Recall) -> None:
    folder: Path = request.getfixturevalue(name)
    before = files(folder)
    screen = shown(partial(inside, folder), *(f"{' '.join(ON)} {more}".strip() for more in SCREENS[name]))
    # The columns of a table are as wide as the times in it.
    text = re.sub(r" {2,}", "  ", re.sub(r"(?:0\.0\d+|\d\.\d+e-\d+|\d+(?:\.\d+)?) s\b", "… s", screen))
    assert_screen(Path(__file__).parent / "screens" / f"estimate-{name}.txt", text)
    assert files(folder) == before


def test_the_rubric_names_the_baselines_and_none_leaves_them_out(compared: Path, inside: Recall) -> None:
    with (compared / "eval" / "rubric.yaml").open("a", encoding="utf-8") as rubric:
        rubric.write("baselines: [raw]\n")
    plain = json.loads(inside(compared, *ON, "--json").out)
    assert (plain["usd"]["total"], plain["baselines"]["raw"]["usd"]["total"]) == (1.125, 4.5)
    assert (plain["sum"]["usd"]["total"], plain["sum"]["usd"]["unknown"]) == (5.625, 4)
    without = json.loads(inside(compared, *ON, "--baselines", "none", "--json").out)
    assert (without["baselines"], without["sum"]["usd"]) == ({}, without["usd"])


def test_only_so_many_runs_are_read(spent: Path, inside: Recall) -> None:
    shutil.copytree(run_of(spent), spent / "eval" / "_artifacts" / "2026-01-01T000000")
    assert "from 1 earlier run: " in inside(spent, *ON, "--runs", "1").out
    assert "from 2 earlier runs: " in inside(spent, *ON, "--runs", "2").out
