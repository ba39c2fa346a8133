"""Baselines: other agents asked the same cases in the same run, beside the one under test."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from pytest_recall.trials.trial import Trial
from tests.helpers.project import ECHOING, Checkout, Project, case, failing, row
from tests.helpers.talking import agent, asking, finished, talking
from tests.helpers.upstream import Upstream, running
from tests.plugin.conftest import Once, unnamed

FILLER = "words " * 30
LONG = [
    {"user": "My locker has the code code-4711.", "assistant": "I will remember it."},
    *({"user": f"Day {day}: {FILLER}", "assistant": "Noted."} for day in range(8)),
    "find code-[0-9]+",
]
"""A conversation whose first turn has what its last one asks for."""
RUBRIC = "owner: me\nblocks: failure\n"
NARROW = """\
from pytest_recall.trials import baseline_agents

baseline_agents.WINDOW, usual = 200, baseline_agents.WINDOW


def pytest_unconfigure():
    baseline_agents.WINDOW = usual
"""
KNOWS = """\
@pytest.fixture
def agent():
    return lambda question: "It is code-4711."
"""


def remembering(upstream: Upstream, source: str = KNOWS, *more: dict[str, Any]) -> Project:
    """Return a project with a case that asks for an early detail of a long conversation."""
    early = case("early", turns=LONG, expected="code-4711", judges=["contains"])
    del early["input"]
    files = {"eval/rubric.yaml": RUBRIC, "conftest.py": NARROW}
    return talking(upstream, source).with_cases(early, *more).with_files(files)


def model(upstream: Upstream) -> str:
    """Return the selector of the model that `upstream` is."""
    return f"openai:m;{upstream.url}/v1"


def trials(checkout: Checkout) -> dict[tuple[str, str], Trial]:
    """Return the last trial of each case by each agent."""
    return {(trial.case_id, trial.arm): trial for trial in checkout.journal().trials}


def outcomes(checkout: Checkout) -> dict[str, str]:
    """Return how the case `early` ended, by agent."""
    return {arm: trial.outcome.value for (case_id, arm), trial in trials(checkout).items() if case_id == "early"}


def ends(result: pytest.RunResult) -> str:
    """Return what pytest counts in its last line, without the time and what was deselected, in a fixed order."""
    counts = result.outlines[-1].strip("= ").partition(" in ")[0].split(", ")
    return ", ".join(sorted((one for one in counts if "deselected" not in one), key=lambda one: one.split(" ", 1)[1]))


SHIPPED = "raw,tail-window,compaction,no-memory"
"""The shipped ones, in the order in which they are asked."""
EARLY = ("passed", "passed", "failed", "passed", "failed")
"""How the case `early` ends with the agent, and with each of those that are shipped."""


class Shipped(NamedTuple):
    """A run with the agent, each baseline that is shipped and the model itself, and what came to that model."""

    checkout: Checkout
    result: pytest.RunResult
    bodies: list[Any]
    selector: str


@pytest.fixture(scope="module")
def shipped(once: Once) -> Shipped:
    """See the class."""
    with once() as pytester, contextmanager(running)() as upstream:
        checkout = remembering(upstream).at(pytester)
        selector = model(upstream)
        result = checkout.run("eval", "--baselines", f"{SHIPPED},{selector}", "--model", selector)
        return Shipped(checkout, result, upstream.bodies, selector)


def test_the_shipped_ones_differ_in_what_they_know_of_a_long_conversation(shipped: Shipped) -> None:
    assert shipped.result.ret == 0
    assert ends(shipped.result) == "2 baseline failed, 3 baseline passed, 1 passed"
    named = dict(zip(("", *SHIPPED.split(",")), EARLY, strict=True))
    assert outcomes(shipped.checkout) == {**named, shipped.selector: "passed"}
    found = trials(shipped.checkout)
    calls = {arm: len(trial.calls) for (_, arm), trial in found.items()}
    assert (calls["raw"], calls["tail-window"], calls["no-memory"]) == (1, 1, 1)
    assert calls["compaction"] > 2
    assert found["early", "compaction"].answer
    usage = found["early", "compaction"].answer.usage
    assert usage == {"input_tokens": 10 * calls["compaction"], "output_tokens": 5 * calls["compaction"]}


def test_what_each_sends_to_the_model(shipped: Shipped) -> None:
    # In this order they are asked.
    raw, tail, *compaction, alone, plain = [body["messages"] for body in shipped.bodies]
    assert len(raw) == 19
    assert plain == raw
    assert alone == [{"role": "user", "content": LONG[-1]}]
    assert tail[0]["content"].startswith("[6 earlier turns of this conversation are not shown.]\n\nDay 5: ")
    assert tail[1:] == raw[-len(tail) + 1 :]
    *summaries, last = compaction
    assert [len(messages) for messages in summaries] == [2] * len(summaries)
    assert last[0] == {"role": "user", "content": "[6 earlier turns of this conversation are summed up here.]"}
    assert last[1]["role"] == "assistant"
    assert "code-4711" in last[1]["content"]
    assert last[2:] == raw[-len(last) + 2 :]
    settings = [body for body in shipped.bodies if "summary" in str(body["messages"][0])]
    assert {(body["temperature"], body["max_tokens"]) for body in settings} == {(0.0, 4096)}


def test_an_empty_summary_is_an_error_and_no_silent_loss(pytester: pytest.Pytester, upstream: Upstream) -> None:
    model_py = "def answer(prompt):\n    return ' ' if '<summary>' in prompt else 'code-4711'\n"
    checkout = remembering(upstream).with_files({"models.py": model_py}).at(pytester)
    result = checkout.run("eval", "--baselines=compaction,raw", "--model=python:models.py:answer")
    assert result.ret == 0
    assert ends(result) == "1 baseline error, 1 baseline passed, 1 passed"
    error = trials(checkout)["early", "compaction"].error
    assert error.startswith("agent: python:models.py:answer: replied with nothing, and gave no summary")
    result.stdout.fnmatch_lines(
        ["no verdict on a baseline (1), which fails no run", "*", "compaction  early  error  *agent: python:*"]
    )


OWN = """\
@pytest.fixture
def agent_always_late():
    return lambda question: "too late"


@pytest.fixture
def agent_raw():
    async def answer(question):
        return "a"

    return answer


@pytest.fixture
def agent_broken():
    raise RuntimeError("not plugged in")
"""
OWNING = ECHOING.with_files({"eval/conftest.py": ECHOING.files["eval/conftest.py"] + OWN})


def test_fixtures_are_baselines_and_go_before_what_is_shipped(pytester: pytest.Pytester) -> None:
    checkout = OWNING.with_cases(case("a"), case("b")).at(pytester)
    result = checkout.run("eval", "--baselines", "raw,always-late,broken")
    assert result.ret == 0
    assert ends(result) == "2 baseline error, 3 baseline failed, 1 baseline passed, 2 passed"
    assert trials(checkout)["a", "raw"].outcome.value == "passed"
    assert trials(checkout)["b", "broken"].error == "RuntimeError: not plugged in"
    assert {(trial.counts_for_schedule, trial.row) for trial in checkout.journal().trials if trial.arm} == {
        (False, None)
    }
    assert checkout.boxes() == {"a": 1, "b": 1}


def test_a_model_by_its_selector_is_a_baseline(shipped: Shipped) -> None:
    trial = trials(shipped.checkout)["early", shipped.selector]
    assert (trial.outcome.value, trial.model) == ("passed", None)


def test_the_items_stand_beside_their_cases(pytester: pytest.Pytester) -> None:
    checkout = OWNING.with_cases(case("a"), case("b")).at(pytester)
    args = ("--recall-mode=all", "--baselines=raw,always-late")
    result = checkout.run("eval", "--collect-only", "-q", *args)
    ids = [line for line in result.outlines if "::" in line]
    assert ids == [f"eval/cases.yaml::{name}" for c in "ab" for name in (c, f"{c}[raw]", f"{c}[always-late]")]
    assert ends(checkout.run("eval", "-k", "raw", *args)) == "1 baseline failed, 1 baseline passed"
    assert {arm for _, arm in trials(checkout)} == {"raw"}
    assert ends(checkout.run("eval/cases.yaml::a", *args)) == "1 baseline failed, 1 baseline passed, 1 passed"
    assert ends(checkout.run("eval/cases.yaml::b[raw]", *args)) == "1 baseline failed"
    result = checkout.run("eval", "-x", "-v", *args)
    assert ends(result) == "3 baseline failed, 1 baseline passed, 2 passed"
    result.stdout.fnmatch_lines(["eval/cases.yaml::b[[]raw[]] BASELINE FAILED (baseline raw)*"])


def test_junit_knows_no_failure(pytester: pytest.Pytester) -> None:
    checkout = OWNING.with_cases(case("a"), failing("b")).at(pytester)
    checkout.run("eval", "--junitxml=junit.xml", "--baselines=raw,broken")
    text = (checkout.path / "junit.xml").read_text()
    assert 'errors="0" failures="1" skipped="3" tests="6"' in text
    assert 'name="b[raw]"' in text


def test_neither_the_state_nor_the_exit_code_hears_of_them(pytester: pytest.Pytester) -> None:
    project = OWNING.with_cases(case("a"), failing("b"), case("c")).with_state(
        a=row(2), b=row(1, 0, failure_note="no"), c=row(3, due="2026-05-01")
    )
    alone = project.at(pytester)
    plain = alone.run("eval")
    state = unnamed(alone.state_text())
    counts = {k: v for k, v in alone.scorecard().items() if k not in ("run", "baselines")}
    alone.forget()
    beside = project.at(pytester)
    result = beside.run("eval", "--baselines=always-late,broken")
    assert (result.ret, unnamed(beside.state_text())) == (plain.ret, state)
    assert {k: v for k, v in beside.scorecard().items() if k not in ("run", "baselines")} == counts
    assert beside.slice().keys() == {"a", "b"}
    assert {(trial.counts_for_schedule, trial.row) for trial in beside.journal().trials if trial.arm} == {(False, None)}
    assert beside.recall("score", "latest", "--fail-on", "regression").ret == 0
    assert beside.recall("state", "apply", "latest").ret == 0
    assert unnamed(beside.state_text()) == state


def test_the_scorecard_has_the_agents_side_by_side(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = remembering(upstream, KNOWS, case("other", scenario="two", input="echo x", expected="x")).at(pytester)
    sold = model(upstream).replace(":m;", ":deepseek-r1;")  # A model without a price is free on this machine.
    result = checkout.run("eval", "--baselines", "no-memory", "--model", sold)
    assert result.ret == 1
    told = [" ".join(line.split()) for line in result.outlines]
    start = told.index("baselines passed failed pass rate 95 % pairs change p calls tokens cost")
    assert told[start + 1 : start + 6] == [
        "agent 1 1 50.0 % 9.5 to 90.5 – – – 0 – –",
        "no-memory 1 1 50.0 % 9.5 to 90.5 2 +0.0 1 2 30 unknown",
        "passed by scenario agent no-memory",
        "one 1 of 1 0 of 1",
        "two 0 of 1 1 of 1",
    ]
    found = checkout.scorecard()["baselines"]
    assert found["cases"] == 2
    assert found["arms"]["no-memory"]["change"] == {
        "pairs": 2,
        "lost": 1,
        "gained": 1,
        "difference": 0.0,
        "difference_95": found["arms"]["no-memory"]["change"]["difference_95"],
        "p": 1.0,
    }
    assert (found["arms"]["no-memory"]["calls"], found["agent"]["calls"]) == (2, 0)
    page = (checkout.artifacts.folder / "scorecard.md").read_text()
    assert "<summary>Baselines</summary>" in page
    assert "| no-memory | 1 | 1 | 50.0 % |" in page
    assert list(checkout.scorecard()["cost"]["scenarios"]) == ["(baselines)"]


def test_several_trials_are_asked_of_a_baseline_as_well_but_no_fail_is_confirmed(pytester: pytest.Pytester) -> None:
    flips = """\
@pytest.fixture(scope="session")
def agent_flips():
    count = iter(range(100))
    return lambda question: question if next(count) % 2 else "no"
"""
    source = ECHOING.files["eval/conftest.py"] + flips
    checkout = (
        ECHOING.with_files({"eval/conftest.py": source, "eval/rubric.yaml": f"{RUBRIC}confirm: 2of3\n"})
        .with_cases(case("a", trials="2of4"), case("b"), case("c", trials=2))
        .at(pytester)
    )
    result = checkout.run("eval", "--recall-mode=all", "--baselines=flips")
    assert result.ret == 0
    assert ends(result) == "2 baseline failed, 1 baseline passed, 3 passed, 8 rerun"
    arms = [(trial.case_id, trial.repeat, trial.rule) for trial in checkout.journal().trials if trial.arm]
    assert [one for one in arms if one[0] == "a"] == [("a", n, "pass 2of4") for n in (1, 2, 3, 4)]
    assert [one for one in arms if one[0] == "b"] == [("b", 1, "")]


def test_each_has_a_recording_of_its_own_and_is_replayed_without_the_model(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    project = remembering(upstream, KNOWS, case("other", input="echo code-1", expected="code-1"))
    checkout = project.at(pytester)
    args = ("eval", "--baselines", SHIPPED, "--model", model(upstream), "--recall-mode=all")
    checkout.run(*args, "--record", "-n", "1")
    assert outcomes(checkout) == dict(zip(("", *SHIPPED.split(",")), EARLY, strict=True))
    recorded = {key: trial.answer for key, trial in trials(checkout).items()}
    assert len(recorded) == 10
    assert sorted(finished(checkout)) == sorted(
        f"one/{name}@{arm}.ndjson" for name in ("early", "other") for arm in SHIPPED.split(",")
    )
    upstream.close()
    checkout.forget()
    result = checkout.run(*args, "--replay", "--recall-concurrency=4")
    assert {key: trial.answer for key, trial in trials(checkout).items()} == recorded
    assert {trial.source for (_, arm), trial in trials(checkout).items() if arm} == {"replayed"}
    assert "baseline error" not in ends(result)
    assert checkout.recall("cassettes", "verify").ret == 0
    listed = checkout.recall("cassettes", "list").stdout.str()
    assert "one/early (baseline no-memory)" in listed
    assert "orphan" not in listed
    assert "nothing to delete" in checkout.recall("cassettes", "prune").stdout.str()
    (checkout.path / "eval/cassettes/one/early@raw.ndjson").unlink()
    checkout.forget()
    result = checkout.run(*args, "--replay")
    assert result.ret == 1
    assert result.parseoutcomes()["errors"] == 1, "a recording that is missing fails the run"
    assert trials(checkout)["early", "raw"].outcome.value == "error"
    records = "`pytest -p recall 'eval/cases.yaml::early[raw]' --baselines 'raw' --record` records it"
    assert records in trials(checkout)["early", "raw"].error + result.stdout.str()
    checkout.forget()
    assert (
        "deleted 7 cassettes" in project.with_cases(case("new")).at(pytester).recall("cassettes", "prune").stdout.str()
    )


def test_a_series_that_the_budget_leaves_out_is_one_case(pytester: pytest.Pytester, upstream: Upstream) -> None:
    rubric = f"{RUBRIC}prices: {{gpt-4o-mini: {{input: 100000, output: 0}}, m: {{input: 100000, output: 0}}}}\n"
    made = talking(upstream, agent("return openai_sync(question)")).with_cases(asking("a", trials="1of3"))
    checkout = made.with_files({"eval/rubric.yaml": rubric}).at(pytester)
    args = ("eval", "--recall-mode=all", "--model", model(upstream))
    result = checkout.run(*args, "--budget=4.50", "--baselines=raw")
    assert (result.ret, upstream.count) == (pytest.ExitCode.INTERRUPTED, 3)
    assert "; baselines not asked: raw (1 case)\n" in result.stdout.str()


def test_the_budget_is_theirs_as_well(pytester: pytest.Pytester, upstream: Upstream) -> None:
    rubric = f"{RUBRIC}prices: {{m: {{input: 100000, output: 0}}}}\n"
    checkout = remembering(upstream).with_files({"eval/rubric.yaml": rubric}).at(pytester)
    args = ("eval", "--recall-mode=all", "--model", model(upstream), "--budget=76")
    result = checkout.run(*args, "--baselines=raw,no-memory,tail-window,compaction")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert 0 < checkout.scorecard()["cost"]["total"]["spent"]["usd"] <= 76
    counts = {name: arm["counts"] for name, arm in checkout.scorecard()["baselines"]["arms"].items()}
    assert counts.pop("compaction") == {"error": 1}  # It asks several times, and the last time had no room.
    assert all("error" not in one for one in counts.values())
    assert "the budget of $76.00" in result.stdout.str()


def test_a_budget_that_is_spent_before_any_baseline_is_asked_is_no_success(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    rubric = f"{RUBRIC}prices: {{gpt-4o-mini: {{input: 100000, output: 0}}, m: {{input: 100000, output: 0}}}}\n"
    made = talking(upstream, agent("return openai_sync(question)")).with_cases(asking("a"))
    checkout = made.with_files({"eval/rubric.yaml": rubric}).at(pytester)
    args = ("eval", "--recall-mode=all", "--model", model(upstream))
    result = checkout.run(*args, "--budget=2.50", "--baselines=raw,no-memory")
    assert (result.ret, upstream.count) == (pytest.ExitCode.INTERRUPTED, 1)
    assert result.stdout.str().count("; baselines not asked: raw (1 case), no-memory (1 case)\n") == 1
    assert checkout.scorecard()["not_run"] == []
    assert checkout.run(*args, "--budget=2.50").ret == 0


def test_a_case_that_they_leave_no_money_for_is_cut(pytester: pytest.Pytester, upstream: Upstream) -> None:
    rubric = f"{RUBRIC}prices: {{m: {{input: 100000, output: 0}}}}\n"
    checkout = remembering(upstream, KNOWS, case("other")).with_files({"eval/rubric.yaml": rubric}).at(pytester)
    args = ("eval", "--recall-mode=all", "--model", model(upstream), "--budget=1")
    assert checkout.run(*args, "--baselines=raw").ret == pytest.ExitCode.INTERRUPTED
    assert checkout.scorecard()["not_run"] == [{"id": "other", "reason": "all"}]


@pytest.mark.usefixtures("every_plugin")
def test_what_is_run_again_when_it_fails_is_no_baseline(pytester: pytest.Pytester) -> None:
    checkout = OWNING.with_cases(failing("a")).at(pytester)
    result = checkout.run("eval", "--reruns=1", "--baselines=always-late,broken")
    assert ends(result) == "1 baseline error, 1 baseline failed, 1 failed, 1 rerun"
    assert [trial.arm for trial in checkout.journal().trials] == ["", "", "always-late", "broken"]


def test_a_miss_in_a_series_fails_the_run_as_well(pytester: pytest.Pytester, upstream: Upstream) -> None:
    cases = case("a", input="echo a", expected="a", trials=2)
    checkout = ECHOING.with_agent("@pytest.fixture\ndef agent():\n    return lambda question: 'a'\n").with_cases(cases)
    ready = checkout.at(pytester)
    args = ("eval", "--recall-mode=all", "--model", model(upstream), "--baselines=raw")
    assert ready.run(*args, "--record").ret == 0
    assert len(finished(ready)) == 2
    upstream.close()
    assert ready.run(*args, "--replay").ret == 0
    next((ready.path / "eval/cassettes").rglob("a@raw.ndjson")).unlink()
    result = ready.run(*args, "--replay")
    assert result.ret == 1
    assert "1 error" in ends(result)


def test_the_rubric_names_them_and_the_option_replaces_them(pytester: pytest.Pytester) -> None:
    rubric = {"eval/rubric.yaml": "owner: me\nblocks: failure\nbaselines: [raw, always-late]\n"}
    checkout = OWNING.with_files(rubric).with_cases(case("a")).at(pytester)
    result = checkout.run("eval", "--recall-mode=all")
    assert ends(result) == "1 baseline failed, 1 baseline passed, 1 passed"
    result.stdout.fnmatch_lines(["recall: 2 baselines beside the agent: raw, always-late"])
    assert ends(checkout.run("eval", "--recall-mode=all", "--baselines=raw")) == "1 baseline passed, 1 passed"
    assert ends(checkout.run("eval", "--recall-mode=all", "--baselines=none")) == "1 passed"
    assert json.loads((checkout.artifacts.folder / "scorecard.json").read_text())["baselines"] is None


def test_a_worker_that_dies_under_a_baseline_is_seen(pytester: pytest.Pytester) -> None:
    dies = "import os\n\n\n@pytest.fixture\ndef agent_dies():\n    return lambda question: os._exit(3)\n"
    source = ECHOING.files["eval/conftest.py"] + dies
    checkout = ECHOING.with_files({"eval/conftest.py": source}).with_cases(case("a")).at(pytester)
    result = checkout.run("eval", "--baselines=dies", "-n", "1")
    assert result.ret == 1
    found = trials(checkout)
    assert found["a", ""].outcome.value == "passed"
    assert found["a", "dies"].ended_by == "crash"


def test_without_a_model_there_is_nobody_to_ask(pytester: pytest.Pytester) -> None:
    checkout = OWNING.with_cases(case("a")).at(pytester)
    result = checkout.run("eval", "--baselines=no-memory")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [
            "eval/cases.yaml:1: the baseline `no-memory`: no model is named; give --model SELECTOR,"
            " or `model_primary` in eval/rubric.yaml"
        ]
    )
    assert checkout.asked() == []
