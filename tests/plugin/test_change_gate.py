"""The check of a change, in real repositories and processes: what it is held to, and what never makes it green."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pytest_recall.files.eval_directory import Place
from pytest_recall.schedule.state import current
from pytest_recall.trials.trial import Row
from tests.helpers import kept
from tests.helpers.project import Checkout, case, row, state_yaml
from tests.helpers.replaying import QUICK, changed, push_recordings, quick_run
from tests.helpers.repository import Repository
from tests.helpers.talking import agent, finished, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx")

RUBRIC = "owner: us\nmax_due_cases: 0\nbox_1_cases: 0\nnew_traffic_sample: 0\n"
"""Nothing is asked but what the change affects."""
CASES = [case(name, judges=[{"regex": "^#000[123] to"}]) for name in "abc"]
"""They pass with the first three answers of the upstream, which are recorded, and with no later one."""
ANY = [case(name, judges=[{"regex": "."}]) for name in "abc"]
"""They pass with any answer."""
PASSING = {name: row(3, 3, due="2026-04-01") for name in "abc"}
AT_MAIN = ("--recall-base", "main")


def source(prompt: str = "say", more: str = "") -> str:
    """Return an agent that asks with a `prompt`."""
    return agent(f"{more}\nreturn plain_sync(f'{prompt} {{question}}')")


def begun(
    pytester: pytest.Pytester,
    upstream: Upstream,
    *cases: dict[str, object],
    rubric: str = RUBRIC,
    budget: float | None = None,
    rows: Mapping[str, Row] = PASSING,
) -> tuple[Checkout, Repository]:
    """Return a clone on a branch of its own; on main all is recorded, and has passed, before it has a `budget`."""
    files = {"eval/rubric.yaml": rubric, ".gitignore": "eval/_artifacts\n__pycache__\nrun-*\nasked.txt\n", **QUICK}
    checkout = kept.recorded(pytester, talking(upstream, source()).with_cases(*(cases or CASES)).with_files(files))
    (checkout.path / "eval/recall.yaml").write_text(state_yaml(**rows), encoding="utf-8")
    if budget is not None:
        (checkout.path / "eval/rubric.yaml").write_text(f"{rubric}budget: {budget}\n", encoding="utf-8")
    repository = Repository.at(checkout.path)
    repository.commit("Main")
    repository.git("switch", "-qc", "feature")
    upstream.bodies += [None] * (3 - len(upstream.bodies))  # A copy of the recording has asked nothing here.
    return checkout, repository


def pushed(checkout: Checkout, upstream: Upstream, *options: str) -> tuple[pytest.RunResult, list[str]]:
    """Return what the check of a push says, and what it has asked."""
    before = upstream.count
    result = quick_run(checkout, *(options or AT_MAIN))
    return result, sorted(body["messages"][-1]["content"] for body in upstream.bodies[before:])


def blocks(checkout: Checkout) -> bool:
    """Return whether the newest run blocks a merge, as the command of CI says."""
    return checkout.recall("score", "latest", "--fail-on", "rubric").ret == 1


def test_a_second_push_that_corrects_nothing_stays_red(pytester: pytest.Pytester, upstream: Upstream) -> None:
    """What the first one has written into the state of the branch excuses nothing."""
    checkout, repository = begun(pytester, upstream)
    rows = checkout.state_text()
    changed(checkout, upstream, source("tell"))
    for push in range(2):
        repository.commit(f"Push {push}")
        result, asked = pushed(checkout, upstream)
        assert asked == ["tell a", "tell b", "tell c"]
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert checkout.scorecard()["regressions"] == ["a", "b", "c"]
        assert blocks(checkout)
        assert len(list(checkout.path.glob("eval/runs/*.yaml"))) == push + 1, "the branch has a state of its own"
        assert checkout.state_text() == rows


def test_a_change_that_affects_nothing_is_green_at_no_call(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout, repository = begun(pytester, upstream)
    (checkout.path / "README.md").write_text("new", encoding="utf-8")
    repository.commit("Docs")
    result, asked = pushed(checkout, upstream)
    assert (result.ret, asked, checkout.slice()) == (pytest.ExitCode.OK, [], {})
    assert checkout.journal().header.unaffected == 3
    assert not blocks(checkout)


def test_code_behind_equal_requests_is_asked_live_once(pytester: pytest.Pytester, upstream: Upstream) -> None:
    """A replay does not see a client that no longer reaches its provider."""
    checkout, repository = begun(pytester, upstream, *ANY)
    changed(checkout, upstream, source(more="timeout = 1"))
    repository.commit("Client")
    result, asked = pushed(checkout, upstream)
    assert len(asked) == 1
    assert list(checkout.slice().values()) == ["live check"]
    assert result.ret == pytest.ExitCode.OK
    header = checkout.journal().header
    assert header.replayed is not None
    assert (header.unaffected, header.replayed.affected, header.replayed.cases) == (2, 1, 3)
    assert result.stdout.str().count("1 affected case passes") == 1
    upstream.close()
    assert quick_run(checkout, *AT_MAIN).ret != pytest.ExitCode.OK
    assert blocks(checkout)


def test_failing_answers_that_the_branch_recorded_are_red_at_no_call(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout, repository = begun(pytester, upstream)
    changed(checkout, upstream, source("tell"))
    checkout.run("eval", "--record", "--recall-mode=all").assert_outcomes(failed=3)
    repository.commit("Recordings")
    result, asked = pushed(checkout, upstream)
    assert (result.ret, asked) == (pytest.ExitCode.TESTS_FAILED, [])
    assert checkout.scorecard()["regressions"] == ["a", "b", "c"]
    assert checkout.journal().header.own_recordings == 3
    assert blocks(checkout)


@pytest.mark.parametrize(("rule", "red"), [("regression", False), ("failure", True)])
def test_a_new_case_that_fails_on_its_recording_is_a_failure_and_no_regression(
    pytester: pytest.Pytester, upstream: Upstream, rule: str, *, red: bool
) -> None:
    checkout, repository = begun(pytester, upstream, rubric=f"{RUBRIC}blocks: {rule}\n")
    talking(upstream, source()).with_files({"eval/rubric.yaml": f"{RUBRIC}blocks: {rule}\n"}).with_cases(
        *CASES, case("new", judges=[{"regex": "^#000[123] to"}])
    ).at(pytester)
    checkout.run("eval", "--record", "--recall-mode=all", "-k", "new").assert_outcomes(failed=1)
    repository.commit("New case")
    result, asked = pushed(checkout, upstream)
    assert (asked, checkout.outcomes()) == ([], {"new": "failed"})
    assert (result.ret == pytest.ExitCode.TESTS_FAILED) is red
    assert blocks(checkout) is red


def test_recordings_of_a_branch_decide_nothing_where_main_says_so(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout, repository = begun(pytester, upstream, *ANY, rubric=f"{RUBRIC}recording: ci\n")
    changed(checkout, upstream, source("tell"))
    checkout.run("eval", "--record", "--recall-mode=all").assert_outcomes(passed=3)
    (checkout.path / "eval/rubric.yaml").write_text(RUBRIC, encoding="utf-8")  # The branch's own word does not count.
    repository.commit("Recordings")
    result, asked = pushed(checkout, upstream)
    assert (result.ret, asked) == (pytest.ExitCode.OK, ["tell a", "tell b", "tell c"])


def test_a_branch_cannot_hide_by_deleting_recordings(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout, repository = begun(pytester, upstream)
    assert len(finished(checkout)) == 3
    shutil.rmtree(checkout.path / "eval/cassettes")
    repository.commit("Delete")
    result, asked = pushed(checkout, upstream)
    assert (result.ret, asked) == (pytest.ExitCode.OK, [])
    assert checkout.journal().header.unaffected == 3
    changed(checkout, upstream, source("tell"))
    repository.commit("Break")
    result, asked = pushed(checkout, upstream)
    assert (result.ret, len(asked)) == (pytest.ExitCode.TESTS_FAILED, 3)


def test_a_case_that_main_has_not_recorded_is_told_apart(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout, repository = begun(pytester, upstream, *ANY)
    repository.git("switch", "-q", "main")
    (checkout.path / "eval/cassettes/one/c.ndjson").unlink()
    repository.commit("Main lacks one")
    repository.git("switch", "-qC", "feature")
    (checkout.path / "README.md").write_text("new", encoding="utf-8")
    repository.commit("Docs")
    result, asked = pushed(checkout, upstream)
    assert (result.ret, asked) == (pytest.ExitCode.OK, ["say c"])
    assert checkout.journal().header.behind == ("c",)
    assert "1 case behind on the target branch" in result.stdout.str()


def test_a_case_that_the_change_skips_is_listed_and_not_evaluated(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout, repository = begun(pytester, upstream, *ANY)
    changed(checkout, upstream, source("tell", "if question == 'b':\n    pytest.skip('later')"))
    repository.commit("Skip")
    result, asked = pushed(checkout, upstream)
    assert asked == ["tell a", "tell c"]
    assert checkout.journal().header.altered == (("b", "b", ("skipped",)),)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert blocks(checkout)


def test_a_change_is_held_to_the_rubric_of_its_base(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout, repository = begun(pytester, upstream)
    changed(checkout, upstream, source("tell"))
    (checkout.path / "eval/rubric.yaml").write_text(
        f"{RUBRIC}blocks: never\nvolatile: [{{body.messages.*.content: 'tell|say'}}]\n"
    )
    repository.commit("Let it pass")
    result, _ = pushed(checkout, upstream)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert blocks(checkout)
    assert checkout.journal().header.held_settings == ("blocks", "volatile")


def test_a_due_case_that_fails_does_not_block(pytester: pytest.Pytester, upstream: Upstream) -> None:
    """Its requests are those of main: what fails is behind them, and the change cannot correct it."""
    rubric = RUBRIC.replace("max_due_cases: 0", "max_due_cases: 1")
    checkout, repository = begun(pytester, upstream, rubric=rubric, rows={**PASSING, "b": row(3, 3)})
    (checkout.path / "README.md").write_text("new", encoding="utf-8")
    repository.commit("Docs")
    result, asked = pushed(checkout, upstream)
    assert (asked, checkout.slice(), checkout.outcomes()) == (["say b"], {"b": "due"}, {"b": "failed"})
    assert result.ret == pytest.ExitCode.OK
    assert not blocks(checkout)
    assert current(Place(checkout.path, checkout.path / "eval")).rows["b"].box == 1, "the schedule learns of it"


class TestFork:
    """Its job has no key: the recordings of the base decide, and nothing is sent, whatever the options say."""

    @pytest.fixture
    def job(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
        """Return what begins the job, once all is recorded."""
        event = tmp_path / "event.json"
        pull = {"number": 7, "head": {"sha": "b" * 40, "repo": {"full_name": "mallory/desk"}}}
        event.write_text(json.dumps({"pull_request": pull}), encoding="utf-8")
        told = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(event), "GITHUB_REPOSITORY": "us/desk"}

        def begin() -> None:
            for name, value in told.items():
                monkeypatch.setenv(name, value)

        return begin

    def test_is_green_where_nothing_that_it_affects_is_missing(
        self, pytester: pytest.Pytester, upstream: Upstream, job: Callable[[], None]
    ) -> None:
        rubric = RUBRIC.replace("max_due_cases: 0", "max_due_cases: 9")
        checkout, repository = begun(pytester, upstream, rubric=rubric, rows=dict.fromkeys("abc", row(3, 3)))
        job()
        (checkout.path / "README.md").write_text("new", encoding="utf-8")
        repository.commit("Docs")
        result, asked = pushed(checkout, upstream)
        assert (result.ret, asked, checkout.slice()) == (pytest.ExitCode.OK, [], {})
        assert not blocks(checkout)

    @pytest.mark.parametrize("options", [(), ("--record=missing",), ("--budget", "9")], ids=["plain", "record", "paid"])
    def test_asks_nobody_what_is_missing(
        self, pytester: pytest.Pytester, upstream: Upstream, job: Callable[[], None], options: tuple[str, ...]
    ) -> None:
        checkout, repository = begun(pytester, upstream, *ANY)
        job()
        changed(checkout, upstream, source("tell"))
        repository.commit("Change")
        result, asked = pushed(checkout, upstream, *AT_MAIN, *options)
        assert (result.ret, asked) == (pytest.ExitCode.TESTS_FAILED, [])
        assert [one["id"] for one in checkout.scorecard()["not_evaluated"]] == ["a", "b", "c"]
        assert {one.source for one in checkout.journal().trials} == {"replayed"}
        assert "--record=" not in result.stdout.str().replace("--record=missing", ""), "where nothing is to be recorded"
        assert blocks(checkout)

    @pytest.mark.parametrize(
        ("more", "options"),
        [("recording: off\nmax_due_cases: 9\n", ()), ("", ("--recall-mode", "all")), ("", ("-k", "a or b"))],
        ids=["no recordings", "all", "explicit"],
    )
    def test_asks_nobody_where_the_change_is_not_known(
        self,
        pytester: pytest.Pytester,
        upstream: Upstream,
        job: Callable[[], None],
        more: str,
        options: tuple[str, ...],
    ) -> None:
        """Recordings that a fork brings decide nothing."""
        rubric = RUBRIC.replace("max_due_cases: 0\n", "") + more if more else RUBRIC
        checkout, _ = begun(pytester, upstream, *ANY, rubric=rubric, rows={"a": row(3, 3), "b": row(3, 3)})
        job()
        result, asked = pushed(checkout, upstream, *AT_MAIN, *options)
        assert (result.ret, asked) == (pytest.ExitCode.TESTS_FAILED, [])
        assert set(checkout.outcomes().values()) == {"error"}

    def test_asks_no_judge_that_is_live_elsewhere(
        self, pytester: pytest.Pytester, upstream: Upstream, job: Callable[[], None]
    ) -> None:
        judge = "\n\n@pytest.fixture\ndef judge_fair():\n    return lambda answer, case: bool(plain_sync('fair?'))\n"
        checkout, repository = begun(pytester, upstream, *ANY, rubric=RUBRIC)
        job()
        talking(upstream, agent("return question") + judge).with_cases(case("new", judges=["fair"])).at(pytester)
        repository.commit("Judge")
        assert pushed(checkout, upstream)[1] == []


class TestNotEvaluated:
    """What the change affects, and has no verdict, is not green."""

    def test_for_want_of_money(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout, repository = begun(pytester, upstream, *ANY, budget=0.000009)
        changed(checkout, upstream, source("tell"))
        (checkout.path / "eval/rubric.yaml").write_text(f"{RUBRIC}budget: 100\nno_verdict_allowed: 9\n")
        repository.commit("Change")
        result, asked = pushed(checkout, upstream)
        assert 0 < len(asked) < 3
        left = {one["id"] for one in checkout.scorecard()["not_evaluated"]}
        assert len(left) == 3 - len(asked)
        assert {one["id"] for one in checkout.today()["not_evaluated"]} <= left
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert blocks(checkout)

    def test_later_runs_of_the_day_ask_the_rest_each_within_a_budget_of_its_own(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GITHUB_REF", "refs/pull/7/merge")
        checkout, repository = begun(pytester, upstream, *ANY, budget=0.000009)
        changed(checkout, upstream, source("tell"))
        repository.commit("Change")
        asked = []
        for last in (False, False, True):
            result, more = pushed(checkout, upstream)
            assert result.ret == (pytest.ExitCode.OK if last else pytest.ExitCode.TESTS_FAILED)
            assert checkout.journal().header.budget == 0.000009
            push_recordings(checkout, repository, 7)
            asked += more
        assert sorted(asked) == ["tell a", "tell b", "tell c"]

    @pytest.mark.parametrize(
        "more",
        ["raise RuntimeError('boom')", "pytest.skip('no key')", "plain_sync('broken')"],
        ids=["crash", "skip", "outage"],
    )
    def test_for_an_error(self, pytester: pytest.Pytester, upstream: Upstream, more: str) -> None:
        checkout, repository = begun(pytester, upstream, *ANY)
        changed(checkout, upstream, source("tell", f"if question == 'b':\n    {more}"))
        repository.commit("Change")
        result, _ = pushed(checkout, upstream)
        assert [one["id"] for one in checkout.scorecard()["not_evaluated"]] == ["b"]
        assert result.ret != pytest.ExitCode.OK
        assert blocks(checkout)

    def test_since_its_base_is_not_there(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout, _ = begun(pytester, upstream)
        changed(checkout, upstream, source("tell"))
        result, asked = pushed(checkout, upstream, "--recall-base", "nowhere")
        assert (asked, checkout.slice()) == ([], {})
        assert checkout.scorecard()["not_compared"]
        assert result.ret != pytest.ExitCode.OK
        assert blocks(checkout)
        quick_run(checkout, "--recall-base", "nowhere", "-k", "a")
        assert not checkout.scorecard()["not_compared"], "a choice by hand is no check"

    def test_since_a_job_chose_the_cases_itself(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Options that come with the change, such as those of `addopts`, may leave out what it breaks."""
        checkout, repository = begun(pytester, upstream)
        changed(checkout, upstream, source("tell"))
        repository.commit("Change")
        for name, value in {"GITHUB_RUN_ID": "1", "GITHUB_REF": "refs/pull/5/merge"}.items():
            monkeypatch.setenv(name, value)
        result, _ = pushed(checkout, upstream, *AT_MAIN, "-k", "not a and not b and not c", "--recall-mode", "pr")
        assert checkout.scorecard()["not_compared"]
        assert result.ret != pytest.ExitCode.OK
        assert blocks(checkout)

    def test_it_is_said_where_nothing_is_recorded(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout, _ = begun(pytester, upstream, *ANY, rubric=f"{RUBRIC}recording: off\n")
        result, asked = pushed(checkout, upstream)
        assert (result.ret, asked) == (pytest.ExitCode.OK, [])
        result.stdout.fnmatch_lines(["recall: what this change affects is not known (`recording: off` *"])
