"""`recall schedule simulate`: both schedules through made-up months, with what that rests on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_recall.replay.exchange import Call
from tests.cli.conftest import Recall
from tests.cli.samples import files, installed
from tests.cli.test_score import run_of
from tests.schedule.history_samples import small, uncounted, write

SHORT = ("--days", "20", "--seeds", "2")
SHORTEST = ("--days", "6", "--seeds", "1")

SIMULATE = ("schedule", "simulate")


@pytest.fixture
def tagged(project: Path) -> Path:
    """A project with sixty cases under three tags, and one without."""
    rows = [
        f"- id: {tag}-{number}\n  scenario: all\n  dimension: facts\n  input: x\n  judges: [{{contains: x}}]\n"
        f"  tags: [{tag}]\n"
        for tag in ("fees", "loans", "tools")
        for number in range(20)
    ]
    rows.append("- id: alone\n  scenario: all\n  dimension: facts\n  input: x\n  judges: [{contains: x}]\n")
    (project / "eval" / "cases.yaml").write_text("\n".join(rows), encoding="utf-8")
    return project


def test_it_says_what_each_schedule_comes_to_and_what_that_rests_on(tagged: Path, inside: Recall) -> None:
    before = files(tagged)
    done = inside(tagged, *SIMULATE, *SHORT, "--usd", "0.04", "--drift", "1/40", "--slice", "7", "--nightly", "5")
    assert done.code == 0
    head, *lines = done.out.splitlines()
    assert head.split() == ["literal", "lottery"]
    rows = {line[:49].strip(): line[49:].split() for line in lines if line.startswith(("cases in", "longest"))}
    assert rows["longest night"][-2:] == ["5", "cases"]
    assert rows["cases in a pull request: p5 / p50 / most"][-5:] == ["7", "/", "7", "/", "7"]
    told = dict(re.findall(r"^  .*\((--\S+)\) .* (\w+)$", done.out, re.MULTILINE))
    assert told["--usd"] == told["--drift"] == "given"
    assert told["--pulls"] == told["--flaky"] == told["--bad"] == told["--recall"] == "assumed"
    assert re.search(r"a case breaks by itself, a day \(--drift\) +1 in 40  given\n", done.out)
    assert any(line.startswith("61 cases under 3 tags; 20 days, the first 5 in no figure; 2 seeds") for line in lines)
    assert "1 case without a tag: no change is known to touch them." in lines
    assert done.err == "recall: seed 0: 1 of 2 done\nrecall: seed 1: 2 of 2 done\n"
    assert files(tagged) == before


def test_the_installed_command_gives_the_same_under_another_hash_seed(tagged: Path, inside: Recall) -> None:
    command = (*SIMULATE, *SHORT, "--json")
    first = installed(tagged, *command)
    assert inside(tagged, *command).out == first
    plain = json.loads(first)
    assert (plain["version"], plain["cases"], plain["untold"], plain["days"], plain["seeds"]) == (1, 61, 1, 20, 2)
    assert plain["sizes"] == {"slice": 25, "nightly": 5, "stalest": 7}
    assert plain["settings"]["usd"] == {"value": None, "source": "assumed", "told": ""}
    literal, lottery = plain["policies"]["literal"], plain["policies"]["lottery"]
    assert literal["usd"]["value"] is None
    assert lottery["slice"] == [25, 25, 25]
    assert [one["longest_night"] for one in lottery["by_seed"]] == [5, 5]
    assert lottery["caught"]["low"] <= lottery["caught"]["value"] <= lottery["caught"]["high"]


def test_the_price_is_that_of_the_runs_on_record(ran: Path, inside: Recall) -> None:
    path = run_of(ran) / "trials.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    (trial, *_) = [line for line in lines if line["kind"] == "trial"]
    trial["calls"] = [Call("agent", "live", "m", cost=0.25).to_json()]
    path.write_text("".join(json.dumps(line) + "\n" for line in [lines[0], *[trial] * 20]), encoding="utf-8")

    done = inside(ran, *SIMULATE, *SHORT)
    assert re.search(r"trial \(--usd\) +\$0.25  estimated: trials with a price: 20, without: 0\n", done.out)
    assert "assumed: the runs have too little: pull requests: 0, days: 1, runs: 1\n" in done.out


def test_a_confirmation_is_the_rubric_s_unless_it_is_given(tagged: Path, inside: Recall) -> None:
    (tagged / "eval" / "rubric.yaml").write_text("owner: us\nconfirm: 2of3\nnightly_max_cases: 9\n", encoding="utf-8")
    done = inside(tagged, *SIMULATE, *SHORTEST)
    assert "a fail counts if 2 of up to 3 trials fail" in done.out
    assert "; 9 due in a night." in done.out
    assert "lottery: 25 in a pull request; 9 in a night, first those that did not run for 7 days." in done.out
    done = inside(tagged, *SIMULATE, *SHORTEST, "--confirm", "never", "--stalest", "never", "--late")
    assert "nights after the day's pull requests; a fail counts at once." in done.out
    assert "; 9 in a night.\n" in done.out
    done = inside(tagged, *SIMULATE, *SHORTEST, "--confirm", "evidence", "--half", "0.5")
    assert "a fail counts at a likelihood ratio of 70, and is asked again up to 3 times" in done.out
    assert "In 50.0 % of regressions a case passes half as often, in the others never.\n" in done.out


def test_a_picture_is_drawn_where_it_is_asked_for(tagged: Path, inside: Recall) -> None:
    pytest.importorskip("matplotlib")
    done = inside(tagged, *SIMULATE, *SHORT, "--plot", "a.png")
    assert done.err.endswith("recall: drew a.png\n")
    assert (tagged / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--plot", "a.svg"), "recall: a.svg: the picture is a PNG; call it *.png\n"),
        (("--days", "9", "--warm-up", "9"), "recall: --warm-up: of 9 days none would be left; give more --days\n"),
        (("--bad", "2"), "'2' is not between 0 and 1; write 0.05 or 1/20"),
        (("--drift", "1/0"), "'1/0' is not between 0 and 1; write 0.05 or 1/20"),
        (("--pulls", "0"), "'0' is not above 0 and up to 1000"),
        (("--open-days", "nan"), "'nan' is not a time in days, above 0 and up to 365"),
        (("--seeds", "0"), "'0' is not a number from 1 to 1,000,000"),
        (("--confirm", "3of2"), "at most 100; or `evidence`, or `evidence:70`; or `never`"),
        (("--confirm", "evidence:4"), "write `evidence:70`: a number from 5 to 10,000; or `never`"),
    ],
)
def test_wrong_values_are_refused(project: Path, inside: Recall, wrong: tuple[str, ...], said: str) -> None:
    done = inside(project, *SIMULATE, *wrong)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_without_cases_there_is_nothing_to_simulate(project: Path, inside: Recall) -> None:
    (project / "eval" / "cases.yaml").write_text("", encoding="utf-8")
    done = inside(project, *SIMULATE)
    assert done == (2, "", "recall: eval: no cases; write some, or name their files with --files\n")


# With the changes of a history


def test_the_changes_and_the_flake_are_those_of_a_history(tagged: Path, inside: Recall) -> None:
    write(tagged / "t.jsonl.gz", small())
    done = inside(tagged, *SIMULATE, *SHORT, "--history", "t.jsonl.gz", "--per-day", "2")
    assert done.code == 0
    assert done.out.splitlines()[0].split() == ["literal", "lottery", "affected"]
    told = dict(re.findall(r"^  .*\((--\S+)\) +\S+(?: %)?  (.+)$", done.out, re.MULTILINE))
    assert told["--bad"] == "measured: 6 changes"
    assert told["--breaks"] == "measured: the mean; each bad change breaks as many as it did"
    assert told["--flaky"].startswith("measured: the mean of 77 sound cases, 0.5 % for those that always passed")
    assert told["--usd"] == told["--recall"] == "assumed"
    assert "for what is in the bank ($2.00 a day, kept for 7 days)" in done.out
    assert "Changes as in 1 history: 50.0 % touch a request. Which cases one affects is drawn." in done.out
    plain = json.loads(inside(tagged, *SIMULATE, *SHORTEST, "--history", "t.jsonl.gz", "--json").out)
    assert plain["mix"] == {"changes": [6], "touching": 0.5, "counted": True}
    assert plain["bank"] == {"per_day": 1.0, "carry_days": 7}
    assert plain["policies"]["affected"]["usd"]["value"] > 0


def test_what_a_history_does_not_know_is_given_or_assumed(tagged: Path, inside: Recall) -> None:
    write(tagged / "t.jsonl", small())
    write(tagged / "u.jsonl", uncounted())
    both = ("--history", "t.jsonl", "--history", "u.jsonl")
    done = inside(tagged, *SIMULATE, *SHORTEST, *both, "--bad", "0.5", "--breaks", "3")
    told = dict(re.findall(r"^  .*\((--\S+)\) +\S+(?: %)?  (\w+)", done.out, re.MULTILINE))
    assert told["--bad"] == told["--breaks"] == "given"
    assert told["--flaky"] == "measured"
    assert "Changes as in 2 histories, each as often: 58.3 % touch a request." in done.out
    assert "50.0 % of the changes affect 3 cases or more; bad ones are of these, so that 50.0 % are bad." in done.out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--history", "t.jsonl", "--bad", "0.1"), "--bad: the history says it; leave out the option or --history"),
        (("--history", "t.jsonl", "--breaks", "2"), "--breaks: the history says it; leave out the option or --history"),
        (("--history", "t.jsonl", "--flaky", "0"), "--flaky: the history says it; leave out the option or --history"),
        (("--per-day", "1"), "--per-day: needs --history; give both, or neither"),
        (
            ("--history", "t.jsonl", "--plot", "x.png"),
            "--plot: draws the two schedules without --history; give one of them",
        ),
        (
            ("--history", "idle.jsonl"),
            "idle.jsonl: no change touches source or a request; there is nothing to draw from",
        ),
        (
            ("--history", "none.jsonl"),
            "none.jsonl: cannot be read (No such file or directory); check that it is there and readable",
        ),
    ],
)
def test_a_history_and_an_option_that_do_not_go_together_get_one_sentence(
    tagged: Path, inside: Recall, given: tuple[str, ...], said: str
) -> None:
    write(tagged / "t.jsonl", small())
    write(tagged / "idle.jsonl", [{"commit": "c", "date": "2026-01-01", "source": False}])
    done = inside(tagged, *SIMULATE, *given)
    assert (done.code, done.out, done.err) == (2, "", f"recall: {said}\n")
