"""The scorecard in a terminal and as JSON; and that an answer stays text in it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pytest_recall.cases.gate import Gate
from pytest_recall.results import sentences
from pytest_recall.results.scorecard import Scorecard
from pytest_recall.results.scorecard_text import (
    MAX_MARKDOWN,
    MAX_TERMINAL,
    MOST,
    ShownFailure,
    annotation_lines,
    as_json,
    markdown,
    terminal,
)
from pytest_recall.results.standing import Standing
from pytest_recall.trials.record import Record, SetApart
from pytest_recall.trials.trial import Verdict, WeighedTrials
from tests.helpers.samples import ERROR, FAILED, PASSED, TODAY, WEAK, failing, row, trial
from tests.results.runs import A_RUN, graded, run, told

# In a terminal


def test_more_is_shown_where_more_is_asked_for() -> None:
    record, card = run(A_RUN, left=[("late", "new")], orphans=("gone",), swapped=2, model="m2", pr="41")
    quiet, plain, verbose = (list(terminal(record, card, verbosity)) for verbosity in (-1, 0, 1))
    assert len(quiet) < len(plain) < len(verbose)
    assert quiet[0] == plain[0] == verbose[0]
    for line in ("regressions (1):", "no verdict (2), no box moved:", "chosen but not run (1): late"):
        assert line in quiet
    for lines in (quiet, plain):
        assert "1 known failure: `recall score -v` shows it" in lines
        assert "due          1       1      1        0        0" not in lines
    assert "due          1       1      1        0        0" in verbose
    assert sentences.orphans(record.header) in plain
    assert sentences.orphans(record.header) not in quiet


def test_notes_that_are_left_out_are_counted() -> None:
    flaky = graded("shaky", PASSED, "due", row(2, 2, failed=1, tried=9), weighed=WeighedTrials((True,), 70))
    swapped: dict[str, Any] = {
        "orphans": ("gone",),
        "swapped": 2,
        "model": "m2",
        "quarantined": (SetApart("a", "2026-03-01"),),
        "moved": (("b", "c"),),
    }
    lines = list(terminal(*run([flaky], exit_code=0, **swapped)))
    assert len(lines) <= 9
    assert "2 more notes: `recall score -v` shows them" in lines


def test_terminal_of_nothing_due() -> None:
    first, *rest = terminal(*run([], exit_code=0))
    assert first.startswith("No case was chosen")
    assert len(rest) == 1


def test_terminal_shows_scenarios_where_there_are_several() -> None:
    record, card = run([graded("a", PASSED, "due"), trial("b", PASSED, reason="due", scenario="opening hours")])
    assert "scenario       passed" in list(terminal(record, card, 1))
    assert "opening hours       1" in list(terminal(record, card, 1))


def test_a_run_that_was_cut_off_says_so() -> None:
    title = "pull request, 2026-03-10, seed 7"
    cut_off, ended = run(A_RUN, exit_code=None), run(A_RUN, exit_code=2)
    assert f"{title} (cut off before its end)" in list(terminal(*cut_off, 1))
    assert title in list(terminal(*ended, 1))
    assert rf"- {title} \(cut off before its end\)." in markdown(*cut_off).splitlines()
    assert f"- {title}." in markdown(*ended).splitlines()


@pytest.mark.parametrize(
    ("render", "box"), [(lambda *a: "\n".join(terminal(*a)), "box 3"), (markdown, "box 1")], ids=["terminal", "page"]
)
def test_a_run_that_writes_nothing_moves_nothing(render: Any, box: str) -> None:
    new = graded("fresh", FAILED, "explicit")
    text = render(*run([*A_RUN, new], writes=False, scheduled=False, mode="explicit"))
    assert f"{box}, not moved" in text
    assert "→" not in text


def test_terminal_lists_have_an_end() -> None:
    fails = [graded(f"fail-{number:03}", FAILED, "due", failing()) for number in range(MAX_TERMINAL + 3)]
    crashes = [graded(f"crash-{n:03}", ERROR, "due", error=f"broke at {n}") for n in range(MAX_TERMINAL + 4)]
    left = [(f"left-{number:03}", "due") for number in range(15)]
    lines = [*terminal(*run(fails), 1), *terminal(*run(crashes, left=left))]
    assert f"known failures ({MAX_TERMINAL + 3}):" in lines
    assert sum(line.startswith("  fail-") for line in lines) == MAX_TERMINAL
    assert "  and 3 more in scorecard.md" in lines
    assert sum(line.startswith("  error: crash-") for line in lines) == MAX_TERMINAL
    assert "  and 4 more in scorecard.md" in lines
    assert "chosen but not run (15): " + ", ".join(f"left-{n:03}" for n in range(10)) + " and 5 more" in lines


def test_cases_with_one_cause_are_told_once() -> None:
    missed = "eval/cassettes/s/{0}.ndjson: POST http://h/ is not recorded; `pytest '::{0}' --record` records it"
    crashes = [graded(f"miss-{n}", ERROR, "due", error=missed.format(f"miss-{n}")) for n in range(8)]
    other = graded("a", ERROR, "due", error="broke")
    lines = list(terminal(*run([*crashes, other])))
    begin = lines.index("no verdict (9), no box moved:")
    last, first, more = lines[begin + 1 : begin + 4]
    assert first.startswith("  error: miss-0: eval/cassettes/s/miss-0.ndjson: POST")
    assert more == "      the same of 7 more: " + ", ".join(f"miss-{n}" for n in range(1, 8))
    assert last == "  error: a: broke"
    assert sum(line.startswith("  error: miss-") for line in terminal(*run(crashes), 1)) == 8


def test_misses_that_differ_in_one_place_have_one_cause() -> None:
    """A prompt was edited: the words around it are those of each case, and so are its scenario and its file."""

    def miss(number: int, field: str = "messages[0].content") -> str:
        return (
            f"eval/cassettes/s{number}/c{number}.ndjson: POST http://h/ is not recorded; `pytest 'x/{number}.yaml::c'"
            f" --record` records it\n  nearest: call 1, recorded → asked\n    {field}: “ask {number}” → “tell {number}”"
        )

    crashes = [graded(f"c{number}", ERROR, "due", error=miss(number)[:140], ended_by="miss") for number in range(8)]
    elsewhere = graded("d", ERROR, "due", error=miss(8, "model")[:140], ended_by="miss")
    shown = {f"c{number}": ShownFailure(miss(number)) for number in range(8)}
    shown["d"] = ShownFailure(miss(8, "model"))
    lines = list(terminal(*run([*crashes, elsewhere]), shown=shown))
    told = lines[lines.index("no verdict (9), no box moved:") + 1 :]
    assert told[3] == "      the same of 7 more: " + ", ".join(f"c{number}" for number in range(1, 8))
    assert told[4].startswith("  error: d: eval/cassettes/s8/")
    assert len([line for line in told[:8] if ".ndjson" in line]) == 2


def test_terminal_lists_of_just_the_limit_are_whole() -> None:
    fails = [graded(f"fail-{number:03}", FAILED, "due") for number in range(MAX_TERMINAL)]
    assert not any("more in" in line for line in terminal(*run(fails)))


def test_terminal_prints_no_control_characters() -> None:
    evil = "\x1b[2J\x1b[31mred\r\nsecond line\x07\u202e"
    crash = graded("crash", ERROR, "due", error=evil)
    lines = list(terminal(*run([told(evil), crash])))
    assert all(line.isprintable() for line in lines)
    assert "      [2J [31mred second line" in lines


def test_terminal_spends_one_line_on_what_was_known() -> None:
    again = graded("again", FAILED, "due", failing(), verdicts=(Verdict(passed=False, reason="x\n" * 1000),))
    line = next(line for line in terminal(*run([again]), 1) if "again" in line)
    assert line == "  " + ("again (box 1): " + "x " * 100)[:149] + "…"


def test_terminal_cuts_long_notes() -> None:
    lines = list(terminal(*run([told("é" * 1000), graded("crash", ERROR, "due", error="ü" * 1000)])))
    assert "      " + "é" * 299 + "…" in lines
    assert "  error: crash: " + "ü" * 139 + "…" in lines


# As JSON


def test_json_of_a_whole_run() -> None:
    record, card = run(
        A_RUN,
        left=[("late", "new")],
        orphans=("gone",),
        swapped=2,
        model="m2",
        pr="41",
        owner="anna",
        state="ab12",
        not_due=30,
        over_cap=3,
        unseen=1,
        next_due="2026-03-12",
    )
    plain = json.loads(json.dumps(as_json(record, card)))
    assert plain.pop("unseen_share_95") == pytest.approx(0.6316, abs=0.0001)
    failed, third = plain.pop("failed"), plain.pop("no_verdict")
    assert plain.pop("cost")["total"]["calls"] == 0
    assert (plain.pop("gates"), plain.pop("gates_loosened")) == ([], [])
    assert plain == {
        "version": 1,
        "run": "2026-03-10T120000",
        "mode": "pr",
        "date": "2026-03-10",
        "seed": "7",
        "pr": "41",
        "model": None,
        "owner": "anna",
        "state": "ab12",
        "writes_state": True,
        "exit_code": 1,
        "checkout_changed": False,
        "complete": False,
        "stop": None,
        "shard": None,
        "merged": [],
        "lost": [],
        "total": 40,
        "chosen": 6,
        "not_chosen": {"not_due": 30, "over_cap": 3, "unseen": 1, "without_base": 0},
        "freshness": None,
        "base": None,
        "not_compared": None,
        "knows_change": False,
        "replayed": None,
        "affected": [],
        "not_evaluated": [],
        "waiver": None,
        "next_due": "2026-03-12",
        "counts": {"passed": 1, "failed": 2, "error": 1, "skipped": 1, "not run": 1},
        "last_verdicts": None,
        "regressions": ["worse"],
        "new_failures": [],
        "known_failures": ["bad"],
        "by_reason": {
            "box 1": {"failed": 1},
            "due": {"passed": 1, "failed": 1, "error": 1},
            "new": {"skipped": 1, "not run": 1},
        },
        "by_scenario": {"fees": {"passed": 1, "failed": 2, "error": 1, "skipped": 1}},
        "by_dimension": {"facts": {"passed": 1, "failed": 2, "error": 1, "skipped": 1}},
        "held_settings": [],
        "altered": [],
        "unrecorded": [],
        "programs_ran": {},
        "let_through": {"calls": {}, "places": [], "programs": []},
        "unproven": [],
        "not_run": [{"id": "late", "reason": "new"}],
        "orphans": ["gone"],
        "moved": [],
        "model_swapped": 2,
        "several_trials": [],
        "flake": {},
        "by_tries": [],
        "quarantined": [],
        "sources": {"live": 3},
        "datasets": None,
        "baselines": None,
        "measures": None,
        "extensions": None,
        "judged_by_models": None,
        "judged_rates": [],
        "regraded": None,
        "observed": None,
    }
    assert {name: failed[0].pop(name) for name in ("suspects", "source", "answer", "last_pass")} == {
        "suspects": None,
        "source": "live",
        "answer": None,
        "last_pass": None,
    }
    assert failed[0].pop("cause")["label"] == "unknown"
    assert failed[0].pop("judges") == [{"judge": "contains", "model": None, "passed": False}]
    assert failed[0] == {
        "id": "worse",
        "outcome": "failed",
        "reason": "due",
        "note": "contains: no “one pound”",
        "box_before": 3,
        "box_after": 1,
        "regression": True,
        "standing": "regression",
        "attempts": 1,
        "where": "eval/cases.yaml:12",
    }
    assert [(one["id"], one["box_before"], one["box_after"]) for one in third] == [
        ("crash", 4, 4),
        ("skip", None, None),
    ]


@pytest.mark.parametrize(
    ("exit_code", "left", "complete"), [(0, [], True), (1, [], True), (None, [], False), (2, [("x", "due")], False)]
)
def test_a_complete_run(exit_code: int | None, left: list[tuple[str, str]], complete: bool) -> None:
    assert as_json(*run([graded("a", PASSED, "due")], exit_code=exit_code, left=left))["complete"] is complete


def test_json_lists_every_failed_case_in_full() -> None:
    fails = [graded(f"fail-{number:04}", FAILED, "due") for number in range(MAX_MARKDOWN + 3)]
    note = "<b>" + "x" * 1000
    plain = as_json(*run([*fails, told(note)]))
    assert len(plain["failed"]) == MAX_MARKDOWN + 4
    assert plain["failed"][0]["note"] == note


def test_unknown_is_null_and_not_zero() -> None:
    plain = as_json(*run([], exit_code=None))
    assert (plain["unseen_share_95"], plain["pr"], plain["exit_code"], plain["counts"]) == (None, None, None, {})


# Annotations: one line each, whatever an answer says


WHERE = "eval/cases.yaml:12"


def of_cases(made: tuple[Record, Scorecard], below: str = "") -> list[str]:
    """Return the annotations of cases, without the one of the whole run."""
    record, card = made
    lines = list(annotation_lines(record.header, card, below))
    return [line for line in lines if not line.startswith(f"::error title={sentences.verdict(record.header, card)}::")]


def test_the_verdict_and_regressions_are_errors_new_failures_warnings_and_known_ones_no_news() -> None:
    made = run([*A_RUN, graded("fresh", FAILED, "new")])
    verdict, *_ = annotation_lines(made[0].header, made[1])
    assert (
        verdict
        == f"::error title={sentences.first_line(made[0].header, made[1])}::{sentences.advice(made[0].header, made[1])}"
    )
    assert [line.partition("::contains")[0].partition("::agent")[0] for line in of_cases(made)] == [
        "::error file=eval/cases.yaml,line=12,title=regression%3A worse",
        "::warning title=new failure%3A fresh",
        "::warning title=no verdict%3A crash",
    ]


@pytest.mark.parametrize(
    "said", ["a\n::error::b", "100% ::set-output name=x::y\r\nz", "%0A::stop-commands::t", "a,b:c"]
)
def test_an_answer_gives_no_command(said: str) -> None:
    one = graded(
        "a,b", FAILED, "due", row(3), where="eval/a,b: 100%.yaml:3", verdicts=(Verdict(passed=False, reason=said),)
    )
    (line,) = of_cases(run([one]))
    place = "file=eval/a%2Cb%3A 100%25.yaml,line=3,title=regression%3A a%2Cb"
    assert line.startswith(f"::error {place}::")
    assert not re.search(r"[\r\n]", line)
    assert "%0A::" not in line


@pytest.mark.parametrize(
    ("touched", "told"),
    [
        ((), "no change is known to have touched it since its last pass on main: provider, data or chance"),
        (("12",), "suspect: #12 (the change since its last pass on main that touched it)"),
        (("12", "9f86d081884c"), "suspects: #12, 9f86d081884c (changes since its last pass on main that touched it)"),
        (
            tuple("12345678"),
            "suspects: #1, #2, #3, #4, #5, #6, #7, #8"
            " (the newest 8 changes since its last pass on main that touched it)",
        ),
    ],
)
def test_a_regression_names_its_suspects(touched: tuple[str, ...], told: str) -> None:
    record, card = run([graded(name, FAILED, "due", row(3), where=WHERE) for name in "ab"])
    first, second = of_cases((record, card._replace(suspects={"a": touched})))
    assert f"%0A{told}%0A" in first
    assert "%0Asuspect" not in second
    assert "no change" not in second


def test_paths_are_those_of_the_repository() -> None:
    (line,) = of_cases(run([graded("a", FAILED, "due", row(3), where=WHERE)]), "agents/bot")
    assert "file=agents/bot/eval/cases.yaml,line=12," in line


def test_what_blocks_nobody_is_no_annotation() -> None:
    apart = graded("a", FAILED, "due", row(3, quarantined=TODAY))
    assert of_cases(run([apart, graded("b", FAILED, "due", row(3), unproven=(WEAK,))])) == []


def test_a_missed_gate_is_an_error_of_no_file() -> None:
    record, card = run([])
    (line,) = of_cases((record, card._replace(gates=(Standing(Gate(at_least=0.9), 10, 10, 5, 0),))))
    assert line.startswith("::error title=a gate is missed::gate `all cases` missed: 50.0 %25 of 10 last verdicts")


def test_there_are_no_more_than_github_shows() -> None:
    fails = [graded(f"a{n}", FAILED, "due", row(3)) for n in range(MOST + 5)]
    new = [graded(f"b{n}", FAILED, "new") for n in range(MOST)]
    record, card = run([*fails, *new, graded("c", ERROR, "due")])
    lines = list(annotation_lines(record.header, card))
    assert sorted(line.split()[0] for line in lines) == ["::error"] * MOST + ["::warning"] * MOST
