"""`recall ci ratchet`: what real runs have held, and the lines to write."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.helpers.project import DAY, ECHOING, Checkout, case, failing
from tests.helpers.repository import Repository

CASES = [case(f"r{n}", scenario="refunds") for n in range(9)] + [failing("r9", scenario="refunds")]
RUBRIC = """\
# ours
owner: us
new_traffic_sample: 20
gates:
  - {scenario: refunds, at_least: 0.5, verdicts: 4}  # the shop
  - dimension: facts
    at_least: 0.95  # for now
"""
LINE = '- {"scenario": "refunds", "at_least": 0.9, "verdicts": 4}'
RAISED = RUBRIC.replace("- {scenario: refunds, at_least: 0.5, verdicts: 4}", LINE)


@pytest.fixture(autouse=True)
def _outside_of_github(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_REF", "GITHUB_EVENT_NAME", "GITHUB_BASE_REF", "RECALL_DATE"):
        monkeypatch.delenv(name, raising=False)


def checkout(pytester: pytest.Pytester, rubric: str = RUBRIC) -> Checkout:
    """Return a project with two gates."""
    return ECHOING.with_cases(*CASES).with_files({"eval/rubric.yaml": rubric}).at(pytester)


def nights(project: Checkout, count: int) -> None:
    """Make runs on days in a row."""
    for day in range(count):
        project.run("eval", "-q", day=(date.fromisoformat(DAY) + timedelta(days=day)).isoformat())


def rubric(project: Checkout) -> str:
    """Return the text of the rubric."""
    return (project.path / "eval/rubric.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("branch", ["main", "feature"])
def test_what_has_held_is_asked_for_from_now_on(pytester: pytest.Pytester, branch: str) -> None:
    project = checkout(pytester)
    repository = Repository.at(project.path)
    repository.commit()
    repository.git("switch", "-qC", branch)
    nights(project, 3)
    assert (project.path / "eval/runs").exists() == (branch != "main")
    arguments = ("ci", "ratchet", "--runs", "3")
    done = project.recall(*arguments)
    (*_, last) = (run.name for run in project.artifacts.runs())
    where = "lowest after {}: 90.0 %, 9 of 10 last verdicts"
    assert done.outlines == [
        f"gate `refunds` may be raised from 0.5 to 0.9: it held in 3 runs; {where.format(last)}",
        f"gate `facts` stays at 0.95: it has not held; {where.format(last)}",
        "",
        "write into eval/rubric.yaml, under `gates`, in place of the gates of the same name:",
        f"  {LINE}",
    ]
    assert (done.ret, rubric(project)) == (0, RUBRIC)
    (project.path / "eval/rubric.yaml").write_text(RAISED, encoding="utf-8")
    again = project.recall(*arguments)
    assert (again.ret, again.outlines[0][:40]) == (0, "gate `refunds` stays at 0.9: it has held")
    assert len(again.outlines) == 2
    # What it asks for now is what these runs would have held.
    assert "gate `refunds` held: 90.0 %" in project.recall("score").stdout.str()


def test_too_few_runs_raise_nothing(pytester: pytest.Pytester) -> None:
    project = checkout(pytester)
    assert project.recall("ci", "ratchet").outlines == [
        "gate `refunds` stays at 0.5: too few verdicts now: 0 of 10 cases have one, 4 are needed",
        "gate `facts` stays at 0.95: too few verdicts now: 0 of 10 cases have one, 5 are needed",
    ]
    nights(project, 2)
    done = project.recall("ci", "ratchet")
    assert done.ret == 0
    assert done.outlines[0].startswith("gate `refunds` stays at 0.5: too few runs: 2 have asked its cases, 10 are")
    assert rubric(project) == RUBRIC


def test_runs_that_were_cut_off_or_chosen_by_hand_do_not_count(pytester: pytest.Pytester) -> None:
    project = checkout(pytester)
    nights(project, 2)
    journal = project.artifacts.runs()[-1] / "trials.jsonl"
    *lines, _ = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines), encoding="utf-8")
    project.run("eval/cases.yaml::r1")
    done = project.recall("ci", "ratchet", "--runs", "2")
    assert done.outlines[0].startswith(
        "gate `refunds` stays at 0.5: too few runs: 1 have asked its cases, 2 are needed"
    )


def test_a_gate_is_proposed_where_it_is_asked_for(pytester: pytest.Pytester) -> None:
    project = checkout(pytester, "owner: us # x\nnew_traffic_sample: 20\n")
    nights(project, 2)
    few = project.recall("ci", "ratchet", "--add", "scenario:refunds")
    told = "recall: --add: no gate for refunds yet: too few runs: 2 have asked its cases, 10 are needed"
    assert (few.ret, few.errlines) == (2, [told])
    arguments = ("ci", "ratchet", "--runs", "2", "--add", "scenario:refunds", "--add", "all")
    told_json = json.loads(project.recall(*arguments, "--json").stdout.str())
    assert [(gate["scenario"], gate["at_least"], gate["raised_to"], gate["runs"]) for gate in told_json["gates"]] == [
        ("refunds", None, 0.9, 2),
        (None, None, 0.9, 2),
    ]
    assert told_json["write"] == [
        {"scenario": "refunds", "at_least": 0.9},
        {"at_least": 0.9},
    ]


def test_without_a_rubric_there_are_no_gates(pytester: pytest.Pytester) -> None:
    project = checkout(pytester)
    Path(project.path / "eval/rubric.yaml").unlink()
    assert project.recall("ci", "ratchet").outlines == ["eval/rubric.yaml: no gates; --add proposes one"]
