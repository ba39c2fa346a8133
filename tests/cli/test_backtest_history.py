"""`recall schedule backtest --history` and `recall schedule export-history`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Recall
from tests.cli.samples import files, installed
from tests.schedule.history_samples import small, uncounted, write

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
