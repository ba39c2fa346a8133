"""`recall schedule backtest`: what the schedules would have seen of the runs on record."""

from __future__ import annotations

import json
import shutil
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Recall
from tests.cli.samples import DATE, files, installed, recall, run_evals
from tests.cli.test_score import artifacts
from tests.schedule.history_samples import small, uncounted, write

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
    rows = {line[:32].strip(): line[32:].split() for line in lines}
    assert rows["whose verdicts are not known"] == ["0", "0", "0"]
    assert rows["cases run"][::2] == ["195", "59"]
    assert rows["money"][::2] == ["$97.50", "$29.50"]
    assert rows["regressions found, of 1"][:2] == ["1", "(100"]
    assert any(
        line.startswith("39 runs on record from 2026-03-10 to 2026-03-29, of which 20 of pull") for line in lines
    )
    assert "1 case on record: no longer in any case file, left out." in lines
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
    assert "2 cases of the case files: in no run, left out." in done.out, "those that crash or skip have no verdict"
    assert "No case broke and stayed broken, so how late a schedule finds one is unknown." in done.out

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
    assert "No run on the main branch is on record, so no schedule has a night." in done.out


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


# `recall schedule backtest --history` and `recall schedule export-history`


PLAY = ("schedule", "backtest", "--history")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two histories and no eval set."""
    write(tmp_path / "small.jsonl.gz", small())
    write(tmp_path / "uncounted.jsonl", uncounted())
    return tmp_path


def test_it_says_what_each_policy_comes_to_and_what_that_rests_on(folder: Path, inside: Recall) -> None:
    before = files(folder)
    done = inside(folder, *PLAY, "small.jsonl.gz", "--seeds", "4")
    assert done.code == 0
    assert done.out.splitlines()[:4] == [
        "6 changes from 2026-01-01 to 2026-02-12, 43 days; 80 cases at the end.",
        "affected: 50.0 % of the changes touch a request, 74 cases in all; in the median such a one affects 3.8 % of"
        " the cases.",
        "safety: 0 of 3 falls of a pass rate outside the affected cases; 2 changes broke sound cases, 1 of them local.",
        "flake: 2 of 81 cases (2.5 %) neither always passed nor always failed under the same requests.",
    ]
    rows = {line[:23].strip(): line[23:].split() for line in done.out.splitlines() if "$" in line[:60]}
    assert list(rows)[:5] == [
        "25 at random",
        "literal",
        "25 of the affected",
        "100 of the affected",
        "all affected, once",
    ]
    assert rows["all affected, once"][2:6] == ["100", "%", "100", "%"]
    assert "a trial costs $0.04 (assumed), in a batch 50 % of that (assumed); bank: $1.00 a day, kept for 7 days;" in (
        done.out
    )
    assert "Of 2 changes alone: 100 % of them, the most in this table, may be 34–100 % of others like them." in done.out
    assert done.err.startswith("recall: 25 at random done\nrecall: literal done\n")
    assert files(folder) == before


def test_what_is_not_known_is_said_to_be(folder: Path, inside: Recall) -> None:
    done = inside(folder, *PLAY, "uncounted.jsonl", "--usd", "0.5")
    assert "safety: not known, without counts." in done.out
    assert "a trial costs $0.50 (given)" in done.out
    (row,) = [line for line in done.out.splitlines() if line.startswith("all affected, once")]
    assert row.split()[3:] == ["0.5", "$0.25", *["not", "known"] * 5]
    assert "literal" not in done.out
    plain = json.loads(inside(folder, *PLAY, "uncounted.jsonl", "--json").out)
    assert plain["counted"] is False
    assert plain["bad"] is None
    assert plain["policies"]["bank"]["caught"]["value"] is None


def test_the_installed_command_gives_the_same_under_another_hash_seed(folder: Path, inside: Recall) -> None:
    command = (*PLAY, "small.jsonl.gz", "--seeds", "3", "--json")
    first = installed(folder, *command)
    assert inside(folder, *command).out == first
    plain = json.loads(first)
    assert (plain["version"], plain["days"], plain["falls"], plain["outside"]) == (1, 43, 3, 0)
    assert plain["bank"] == {"per_day": 1.0, "carry_days": 7}
    assert plain["usd_a_trial"] == {"value": 0.04, "source": "assumed"}
    assert [one["local"] for one in plain["bad"]] == [True, False]
    assert plain["policies"]["all affected, once"]["by_change"] == {"a1": 1.0, "a5": 1.0}
    assert list(plain["policies"])[-3:] == [
        "bank, rest in a batch",
        "bank, rest in a batch, and local ones twice",
        "bank, rest in a batch, and local ones twice, and wide ones stop",
    ]


def test_the_bank_and_the_confirmation_are_the_rubric_s_unless_they_are_given(project: Path, inside: Recall) -> None:
    write(project / "t.jsonl", small())
    rubric = project / "eval" / "rubric.yaml"
    rubric.write_text("owner: us\nconfirm: 3of3\nbudget: {per_day: 2, carry_days: 3}\n", encoding="utf-8")
    plain = json.loads(inside(project, *PLAY, "t.jsonl", "--seeds", "1", "--json").out)
    assert (plain["bank"], plain["confirm"]) == ({"per_day": 2.0, "carry_days": 3}, "3of3")
    given = ("--per-day", "0.5", "--carry-days", "9", "--confirm", "never")
    plain = json.loads(inside(project, *PLAY, "t.jsonl", "--seeds", "1", *given, "--json").out)
    assert (plain["bank"], plain["confirm"]) == ({"per_day": 0.5, "carry_days": 9}, None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--seeds", "3"), "--seeds: needs --history; give one of them"),
        (("--confirm", "2of3"), "--confirm: needs --history; give one of them"),
        (("--per-day", "1"), "--per-day: needs --history; give one of them"),
        (
            ("--history", "small.jsonl.gz", "--verdicts", "x"),
            "--verdicts: is of runs, and has no effect with --history; give one of them",
        ),
        (
            ("--history", "small.jsonl.gz", "--slice", "5"),
            "--slice: is of runs, and has no effect with --history; give one of them",
        ),
        (
            ("--history", "none.jsonl"),
            "none.jsonl: cannot be read (No such file or directory); check that it is there and readable",
        ),
        (
            ("--history", "small.jsonl.gz", "--usd", "1e-7"),
            "--usd: 1e-07 is less than a millionth of a dollar; give what a trial costs, such as 0.04",
        ),
        (
            ("--history", "small.jsonl.gz", "--dir", "other"),
            "other: no such directory; run `recall init`, or give another --dir",
        ),
        (("--history", "small.jsonl.gz", "--seeds", "0"), "'0' is not a number from 1 to 10,000"),
        (("--history", "small.jsonl.gz", "--carry-days", "0"), "'0' is not a number of days from 1 to 366"),
    ],
)
def test_what_does_not_go_together_gets_one_sentence(
    folder: Path, inside: Recall, given: tuple[str, ...], said: str
) -> None:
    done = inside(folder, "schedule", "backtest", *given)
    assert done.code == 2
    assert done.out == ""
    assert said in done.err
    assert done.err.count("\n") == 1


def test_runs_that_say_nothing_of_a_change_are_no_history(ran: Path, inside: Recall) -> None:
    done = inside(ran, "schedule", "export-history")
    assert done.code == 2
    assert done.err == (
        "recall: no history: of 1 run on record none says which cases its change affected; runs of pull requests with"
        " recordings do\n"
    )
    done = inside(ran, "schedule", "export-history", "--runs", "none")
    assert done.err == "recall: --runs: none: no such directory; give a folder of runs, such as eval/_artifacts\n"
