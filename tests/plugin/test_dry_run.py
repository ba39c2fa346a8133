"""A dry run: every case replayed with its judges, to find those that a change affects, without a call or a box."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.helpers.project import Checkout, case, row
from tests.helpers.talking import agent, asking, finished, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx")

DRY = ("eval", "--record=missing", "--recall-dry-run")
PROMPT = """\
style = "shout" if question in CHANGED else "plain"
return plain_sync(f"{style}: {question}")"""


def talker(*changed: str) -> str:
    """Return the source of an agent whose prompt has changed for these questions."""
    return f"CHANGED = {changed!r}\n\n\n" + agent(PROMPT)


def found(checkout: Checkout) -> dict[str, Any]:
    """Return what a dry run has written."""
    loaded: dict[str, Any] = json.loads((checkout.artifacts.folder / "changed.json").read_text(encoding="utf-8"))
    return loaded


def test_a_dry_run_lists_what_changed_and_leaves_everything_as_it_was(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    cases = [asking(name) for name in ("a", "b", "c")]
    checkout = talking(upstream, talker()).with_cases(*cases).with_state(a=row(3), b=row(1)).at(pytester)
    checkout.run("eval", "--record", "--recall-mode", "all").assert_outcomes(passed=3)
    talking(upstream, talker("b")).with_cases(*cases, asking("late")).at(pytester)
    before, asked, state, runs = finished(checkout), upstream.count, checkout.state_text(), checkout.artifacts.runs()

    result = checkout.run(*DRY, "-n", "1")

    assert result.ret == 0
    plain = found(checkout)
    why = plain.pop("found")["b"]
    assert plain == {
        "version": 4,
        "date": "2026-03-10",
        "cases": 4,
        "of": 4,
        "changed": ["b"],
        "not_recorded": ["late"],
        "unjudged": [],
        "recorded": [],
        "unaffected": ["a", "c"],
        "sources": ["eval/conftest.py"],
        "let_through": {"calls": {}, "places": [], "programs": []},
        "unknown": {},
    }
    assert (why["call"], [one["sent"] for one in why["differences"]]) == (1, ["shout: b"])
    result.stdout.fnmatch_lines(
        [
            "recall: all 2026-03-10, seed 2026-03-10: 4 of 4 cases",
            "recall: dry run: every case is replayed with its judges; nothing is sent",
            "*recall dry run*",
            "2 of 4 cases affected (1 ask something else, 1 not recorded, 2 as recorded);"
            " nothing was sent or written to the state",
            "not affected: requests, answer and verdict are as recorded (2): a, c",
            "would ask something else than is recorded (1): b",
            "have no recording to compare with (1): late",
            "  1 case, such as b: call 1: messages[[]0].content: “plain: b” → “shout: b”",
            "eval/_artifacts/changed.json: written",
        ]
    )
    assert {"2 not affected", "1 affected", "1 not recorded"} <= {
        part.strip(" =") for part in result.outlines[-1].partition(" in ")[0].split(",")
    }
    assert (finished(checkout), upstream.count, checkout.state_text()) == (before, asked, state)
    assert checkout.artifacts.runs() == runs


def test_listing_finds_nothing_out(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = talking(upstream, talker()).with_cases(asking("a")).at(pytester)
    assert checkout.run(*DRY, "--collect-only").ret == 0
    assert not (checkout.artifacts.folder / "changed.json").exists()


INDEXED = """\
@pytest.fixture(scope="session")
def index():
    return plain_sync({prompt!r})


@pytest.fixture
def agent(index):
    return lambda question: index + plain_sync(question)
"""
MARKED = """\
import pytest


@pytest.mark.recall("marked")
def test_marked(agent):
    assert agent("x")
"""
OTHERWISE = {
    "fewer": (agent("plain_sync('first')\nreturn plain_sync(question)"), agent("return plain_sync(question)")),
    "indexed": (INDEXED.format(prompt="old"), INDEXED.format(prompt="new")),
    "marking": (talker(), talker("x")),
}
"""Folders with an agent, and what has become of it."""


def test_calls_that_are_no_longer_made_and_those_of_a_fixture_or_a_marked_test_are_a_change(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    def conftests(now: int) -> dict[str, str]:
        made = {name: talking(upstream, sources[now]) for name, sources in OTHERWISE.items()}
        return {f"eval/{name}/conftest.py": one.files["eval/conftest.py"] for name, one in made.items()}

    project = talking(upstream, talker()).with_files({"eval/marking/test_it.py": MARKED, **conftests(0)})
    for name, ids in {"fewer": ("a",), "indexed": ("b", "c"), "marking": ("d",)}.items():
        project = project.with_cases(*map(asking, ids), file=f"eval/{name}/it.cases.yaml")
    checkout = project.at(pytester)
    checkout.run("eval", "--record", "--recall-mode", "all").assert_outcomes(passed=5)
    assert upstream.prompts.count("old") == 1, "a fixture that cases share asks once"
    asked = upstream.count
    project.with_files(conftests(1)).at(pytester)
    assert checkout.run(*DRY).ret == 0
    assert (found(checkout)["changed"], found(checkout)["unknown"]) == (["a", "b", "c", "marked"], {})
    assert found(checkout)["unaffected"] == ["d"]
    assert upstream.count == asked


def test_a_crash_is_no_change_and_no_success(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = talking(upstream, talker()).with_cases(asking("a")).at(pytester)
    checkout.run("eval", "--record").assert_outcomes(passed=1)
    talking(upstream, agent("raise RuntimeError('boom')")).with_cases(asking("a"), asking("late")).at(pytester)
    result = checkout.run(*DRY)
    assert result.ret == 1
    assert found(checkout)["unknown"] == {"a": "agent: RuntimeError: boom"}
    # What has no recording is not replayed, and so does not crash.
    assert (found(checkout)["changed"], found(checkout)["not_recorded"]) == ([], ["late"])


def test_no_judge_is_asked_without_a_recording(pytester: pytest.Pytester, upstream: Upstream) -> None:
    source = talker() + "\n\n@pytest.fixture\ndef judge_dear():\n    return lambda answer, case: plain_sync('judge')\n"
    one = case("a", judges=["dear"], trials=3)
    checkout = talking(upstream, source).with_cases(one).at(pytester)
    checkout.run(*DRY)
    assert upstream.count == 0
    assert found(checkout)["not_recorded"] == ["a"]


def test_a_conftest_that_calls_a_model_is_refused(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = talking(upstream, talker() + "\n\nplain_sync('early')\n").with_cases(asking("a")).at(pytester)
    result = checkout.run(*DRY)
    assert result.ret == 4
    assert upstream.count == 0


def test_questions_of_a_dataset_whose_texts_have_other_names_in_a_store_are_proven(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    source = (
        "@pytest.fixture\ndef agent(memory):\n    def ask(question):\n        found = memory.recall(question, 3)\n"
        "        return {'text': plain_sync(question), 'passages': found}\n    return ask\n"
    )
    file = "dataset: longmemeval\npath: sample\njudges: [recall_at_k]\n"
    checkout = talking(upstream, source).with_files({"eval/long.dataset.yaml": file}).at(pytester)
    checkout.run("eval", "eval/long.dataset.yaml", "--record")
    result = checkout.run(*DRY, "eval/long.dataset.yaml")
    plain = found(checkout)
    assert (plain["changed"], plain["unknown"]) == ([], {}), result.outlines[-12:]
    assert len(plain["recorded"]) == 8, "questions of a dataset have no row"


@pytest.mark.skipif(os.name != "posix", reason="`true` is a program of POSIX")
def test_a_case_that_starts_a_program_is_unaffected_only_where_the_rubric_names_it(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    """What ran in a replay of the change may have asked anything."""
    source = agent("import subprocess\nsubprocess.run(['true'])\nreturn plain_sync(question)")
    checkout = talking(upstream, source).with_cases(asking("a")).with_state(a=row(3)).at(pytester)
    checkout.run("eval", "--record", "--recall-mode", "all").assert_outcomes(passed=1)
    finished(checkout)
    rubric = checkout.path / "eval" / "rubric.yaml"
    states = {}
    for programs in ("[]", "['true']", "any"):
        rubric.write_text(f"owner: us\nreplay: {{programs: {programs}}}\n", encoding="utf-8")
        checkout.run(*DRY)
        plain = found(checkout)
        states[programs] = (plain["unaffected"], plain["unknown"].get("a", ""))
    assert states["['true']"] == (["a"], "")
    assert states["[]"][0] == states["any"][0] == []
    assert "`true` was not started" in states["[]"][1]
    assert states["any"][1] == "programs ran in its replay, and what they ask is not recorded: true"
