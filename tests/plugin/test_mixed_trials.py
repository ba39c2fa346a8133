"""A case that a change has ask something else begins with what the base has recorded, and goes on live."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.eval_directory import Place
from pytest_recall.schedule.state import current
from pytest_recall.trials.trial import Row, Trial
from tests.helpers import kept
from tests.helpers.project import DAY, Checkout, case, row, state_yaml
from tests.helpers.replaying import QUICK, changed, push_recordings, quick_run
from tests.helpers.repository import Repository
from tests.helpers.talking import agent, calls, finished, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx")

RUBRIC = "owner: us\nmax_due_cases: 0\nbox_1_cases: 0\nnew_traffic_sample: 0\n"
"""Nothing is asked but what the change affects."""
LATER = row(3, 3, due="2026-04-01")
"""A row that no pass moves."""
AT_MAIN = ("--recall-base", "main")
RECORDINGS, OF_BASE = "eval/_artifacts/recordings", "eval/_artifacts/recordings-of-base"
WARM = """

@pytest.fixture(scope="session", autouse=True)
def warm():
    plain_sync("echo warm")
"""
JUDGE = """

@pytest.fixture
def judge_fair():
    return lambda answer, case: bool(plain_sync(f"echo is this fair: {answer.text}"))
"""


def source(last: str = "answer", more: str = "") -> str:
    """Return an agent that makes three calls, each with the answer to the one before."""
    return agent(f"plan = plain_sync(f'plan {{question}}')\nreturn ask('{last}', plain_sync(f'search {{plan}}'))") + (
        f"\n\ndef ask(word, text):\n    return plain_sync(f'{{word}} {{text}}')\n{more}"
    )


def begun(
    pytester: pytest.Pytester,
    lasting: Upstream,
    text: str,
    *cases: dict[str, Any],
    rows: Mapping[str, Row],
    rubric: str = RUBRIC,
) -> tuple[Checkout, Repository]:
    """Return a clone on a branch of its own; on main all is recorded, and has passed."""
    files = {"eval/rubric.yaml": rubric, ".gitignore": "eval/_artifacts\n__pycache__\nrun-*\n", **QUICK}
    checkout = kept.recorded(pytester, talking(lasting, text).with_cases(*cases).with_files(files))
    (checkout.path / "eval/recall.yaml").write_text(state_yaml(**rows), encoding="utf-8")
    repository = Repository.at(checkout.path)
    repository.commit("Main")
    repository.git("switch", "-qc", "feature")
    return checkout, repository


def pushed(
    checkout: Checkout, repository: Repository, lasting: Upstream, text: str, *options: str
) -> tuple[pytest.RunResult, list[str]]:
    """Return what the check of a push says, and the first words of what it has asked."""
    changed(checkout, lasting, text)
    repository.commit("Change")
    lasting.bodies.clear()
    result = quick_run(checkout, *AT_MAIN, *options)
    return result, [prompt.partition(" ")[0] for prompt in lasting.prompts]


def trials(checkout: Checkout) -> dict[str, list[Trial]]:
    """Return the trials of the newest run by case."""
    by_case: dict[str, list[Trial]] = {}
    for one in checkout.journal().trials:
        by_case.setdefault(one.case_id, []).append(one)
    return by_case


def of_calls(trial: Trial) -> list[str]:
    """Return where the answers to the calls of the agent came from."""
    return [call.source for call in trial.calls if call.kind != "judge"]


MIXED, LIVE = ["replayed", "replayed", "live"], ["live"] * 3
ANY = [case(name, judges=[{"regex": "."}]) for name in ("a", "again", "due", "new")]
ROWS = {"a": LATER, "again": row(1, 0, due="2026-04-01"), "due": row(3, 3, due=DAY)}


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "workers"])
def test_only_what_the_change_altered_is_asked_unless_the_box_of_the_case_is_to_move(
    pytester: pytest.Pytester, lasting: Upstream, workers: tuple[str, ...]
) -> None:
    checkout, repository = begun(pytester, lasting, source(more=WARM), *ANY, rows=ROWS)
    result, asked = pushed(checkout, repository, lasting, source("conclude", WARM), *workers)
    assert result.ret == pytest.ExitCode.OK
    asked = [word for word in asked if word != "echo"]
    assert Counter(asked) == {"plan": 3, "search": 3, "conclude": 4}
    sources = {name: of_calls(one) for name, (one,) in trials(checkout).items()}
    assert sources == {"a": MIXED, "again": LIVE, "due": LIVE, "new": LIVE}
    [mixed] = trials(checkout)["a"]
    assert (mixed.source, mixed.outcome.value, mixed.counts_for_schedule) == ("mixed", "passed", False)
    assert len(calls(checkout.path / RECORDINGS / "one/a.ndjson")) == 3
    assert "_fixtures" not in {path.name for path in (checkout.path / OF_BASE).iterdir()}


def test_the_next_push_replays_what_a_mixed_trial_has_recorded(
    pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_REF", "refs/pull/7/merge")
    checkout, repository = begun(pytester, lasting, source(), ANY[0], rows=ROWS)
    _, asked = pushed(checkout, repository, lasting, source("conclude"))
    assert asked == ["conclude"]
    push_recordings(checkout, repository, 7)
    result, asked = pushed(checkout, repository, lasting, source("conclude"))
    assert (result.ret, asked) == (pytest.ExitCode.OK, [])
    assert checkout.journal().header.ci_recordings == ("a",)


def test_later_trials_are_asked_live_though_the_base_has_recorded_some(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    checkout, repository = begun(pytester, lasting, source(), {**ANY[0], "trials": 2}, rows=ROWS)
    assert set(finished(checkout)) == {"one/a.ndjson", "one/a~2.ndjson"}
    result, asked = pushed(checkout, repository, lasting, source("conclude"))
    assert result.ret == pytest.ExitCode.OK
    assert asked == ["conclude", "conclude", "plan", "search"]
    assert [of_calls(one) for one in trials(checkout)["a"]] == [MIXED, LIVE]


def test_a_fail_is_confirmed_by_live_trials_and_moves_no_box(pytester: pytest.Pytester, lasting: Upstream) -> None:
    cases = [case("a", judges=[{"regex": "to answer"}])]
    checkout, repository = begun(pytester, lasting, source(), *cases, rows=ROWS, rubric=f"{RUBRIC}confirm: 2of3\n")
    result, asked = pushed(checkout, repository, lasting, source("conclude"))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert asked == ["conclude", "conclude", "plan", "search"]
    assert [of_calls(one) for one in trials(checkout)["a"]] == [MIXED, LIVE]
    assert checkout.scorecard()["regressions"] == ["a"]
    rows = current(Place(checkout.path, checkout.path / "eval")).rows
    assert rows["a"].touched
    assert rows["a"]._replace(touched=()) == LATER


def test_a_judge_is_asked_only_what_is_not_recorded(pytester: pytest.Pytester, lasting: Upstream) -> None:
    def judged(last: str) -> str:
        """Return an agent whose answer does not depend on its second call."""
        return agent(f"plain_sync(f'plan {{question}}')\nplain_sync(f'{last} {{question}}')\nreturn question") + JUDGE

    checkout, repository = begun(pytester, lasting, judged("answer"), case("a", judges=["fair"]), rows=ROWS)
    result, asked = pushed(checkout, repository, lasting, judged("conclude"))
    assert (result.ret, asked) == (pytest.ExitCode.OK, ["conclude"])
    assert len(calls(checkout.path / RECORDINGS / "one/a.ndjson")) == 3


KILLED = """\
plain_sync(f"plan {{question}}")
plain_sync(f"{search} {{question}}")
if "KILLED" in os.environ:
    os.kill(os.getpid(), 9)
return plain_sync(f"answer {{question}}")"""


def test_a_resumed_trial_goes_on_live_though_what_it_lacked_is_known_by_then(
    pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(search: str) -> str:
        return f"import os\n\n\n{agent(KILLED.format(search=search))}"

    checkout, repository = begun(pytester, lasting, killed("search"), ANY[0], rows=ROWS)
    # The replay that comes first does not get as far.
    monkeypatch.setenv("KILLED", "1")
    result, asked = pushed(checkout, repository, lasting, killed("find_all"))
    assert (result.ret, asked) == (-signal.SIGKILL, ["find_all"])
    monkeypatch.delenv("KILLED")
    lasting.bodies.clear()
    assert quick_run(checkout, *AT_MAIN, "--recall-resume").ret == pytest.ExitCode.OK
    assert lasting.prompts == ["answer a"]
    [one] = trials(checkout)["a"]
    assert (one.source, of_calls(one)) == ("mixed", ["replayed", "replayed", "live"])
    assert [path.name for path in Path(checkout.path, RECORDINGS, "one").iterdir()] == ["a.ndjson"]
    assert len(calls(checkout.path / RECORDINGS / "one/a.ndjson")) == 3


def test_a_case_whose_first_live_call_cannot_be_paid_is_not_run(pytester: pytest.Pytester, lasting: Upstream) -> None:
    """What recordings have answered has cost nothing: it is no trial that was cut off."""
    rubric = f"{RUBRIC}prices: {{gpt-4o-mini: {{input: 100000, output: 0}}}}\n"  # A recorded call is one dollar.
    checkout, repository = begun(pytester, lasting, source(), ANY[0], rows=ROWS, rubric=rubric)
    result, asked = pushed(checkout, repository, lasting, source("conclude " * 100), "--budget=20")
    assert (result.ret, asked) == (pytest.ExitCode.INTERRUPTED, [])
    assert "a" in checkout.slice(), "the budget was enough for what is recorded"
    assert trials(checkout) == {}
