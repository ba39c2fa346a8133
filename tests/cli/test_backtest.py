"""`recall schedule backtest`: what the schedules would have seen of the runs on record."""

from __future__ import annotations

import json
import shutil
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Recall
from tests.cli.samples import DATE, files, recall, run_evals
from tests.cli.test_score import artifacts

IDS = ("right", "worse", "crash", "skipped", "later")

BACKTEST = ("schedule", "backtest")


@pytest.fixture
def table(project: Path) -> Path:
    """A project with a table of twenty days of runs of everything, in which one case breaks and stays so."""
    lines = []
    for day in range(20):
        for pr in (None, 100 + day):
            for case_id in (*IDS, "gone"):
                broken = case_id == "worse" and day >= 10
                line = {
                    "date": (date.fromisoformat(DATE) + timedelta(days=day)).isoformat(),
                    "case_id": case_id,
                    "outcome": "failed" if broken else "passed",
                }
                lines.append(line if pr is None else {**line, "pr": pr})
    (project / "table.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return project


def test_a_table_of_full_runs_leaves_nothing_unknown(table: Path) -> None:
    before = files(table)
    done = recall(table, *BACKTEST, "--verdicts", "table.jsonl", "--usd", "0.5", "--nightly", "1", "--slice", "2")
    assert done.code == 0
    assert done.err == "recall: literal done\nrecall: lottery done\n"
    head, *lines = done.out.splitlines()
    assert head.split() == ["as", "it", "was", "literal", "lottery"]
    rows = {line[:40].strip(): line[40:].split() for line in lines}
    assert rows["not known what they would have said"] == ["0", "0", "0"]
    assert rows["cases run"][::2] == ["195", "59"]
    assert rows["money"][::2] == ["$97.50", "$29.50"]
    assert rows["regressions found, of 1"][:2] == ["1", "(100"]
    assert any(
        line.startswith("39 runs on record from 2026-03-10 to 2026-03-29, of which 20 of pull") for line in lines
    )
    assert "1 case on record in no case file any more, and left out." in lines
    assert files(table) == before


def test_as_json(table: Path, inside: Recall) -> None:
    plain = json.loads(inside(table, *BACKTEST, "--verdicts", "table.jsonl", "--json").out)
    assert (plain["version"], plain["cases"], plain["never_run"], plain["gone"]) == (1, 5, 0, 1)
    assert (plain["first"], plain["last"]) == ("2026-03-10", "2026-03-29")
    assert list(plain["schedules"]) == ["as it was", "literal", "lottery"]
    literal = plain["schedules"]["literal"]
    assert (literal["regressed"], literal["found"], literal["usd"]) == (1, 1, None)
    assert plain["usd"] == {"value": None, "source": "assumed", "told": ""}


def test_the_runs_are_those_on_record(project: Path, tmp_path: Path, inside: Recall) -> None:
    assert run_evals(project, "--recall-mode", "all", "eval").code == 1
    (run,) = artifacts(project).glob("2*")
    journal = (run / "trials.jsonl").read_text(encoding="utf-8")
    for day in range(1, 7):  # The same run, as it would be on later days.
        on = (date.fromisoformat(DATE) + timedelta(days=day)).isoformat()
        later = run.with_name(f"{on}T120000")
        later.mkdir()
        (later / "trials.jsonl").write_text(journal.replace(run.name, later.name).replace(DATE, on), encoding="utf-8")
    done = inside(project, *BACKTEST, "--nightly", "5")
    assert done.code == 0, done.err
    assert "6 runs on record from 2026-03-10 to 2026-03-16, of which 0 of pull requests" in done.out
    assert "2 cases of the case files in no run, and left out." in done.out, "those that crash or skip have no verdict"
    assert "No case broke and stayed so: nothing says how late a schedule would have found one." in done.out

    # The same runs from elsewhere.
    shutil.move(artifacts(project), tmp_path / "elsewhere")
    assert inside(project, *BACKTEST, "--nightly", "5", "--runs", str(tmp_path / "elsewhere")).out == done.out


def test_what_no_run_has_run_is_said_to_be_unknown(table: Path, inside: Recall) -> None:
    path = table / "table.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    # After the first run, each has run one case that no one would choose so often.
    path.write_text("".join(lines[:6] + [line for line in lines[6:] if "later" in line]), encoding="utf-8")
    done = inside(table, *BACKTEST, "--verdicts", "table.jsonl")
    assert "of what lottery would have run: too little to judge it by. Give --verdicts" in done.out


def test_no_run_on_the_main_branch_is_said(table: Path, inside: Recall) -> None:
    path = table / "table.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"pr"' in line), encoding="utf-8")
    done = inside(table, *BACKTEST, "--verdicts", "table.jsonl")
    assert "No run on the main branch is on record, so that no schedule has a night." in done.out


def test_too_little_history_is_one_sentence(ran: Path, inside: Recall) -> None:
    done = inside(ran, *BACKTEST)
    assert done == (
        2,
        "",
        "recall: too little history: 1 run with verdicts over 1 day, where 6 over 7 are the least that say anything;"
        " name more with --runs or --verdicts\n",
    )


def test_what_is_not_there_is_named(project: Path, inside: Recall) -> None:
    done = inside(project, *BACKTEST, "--runs", "nowhere")
    assert done == (
        2,
        "",
        "recall: --runs: nowhere: no such directory; give a folder of runs, such as eval/_artifacts\n",
    )
    assert inside(project, *BACKTEST, "--verdicts", "no.jsonl").err.startswith("recall: no.jsonl: cannot be read")
