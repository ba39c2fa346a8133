"""Every recorded case is replayed and judged before a slice is chosen, and what the change affects is asked."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_recall.trials.trial import Row, Trial
from tests.helpers import kept
from tests.helpers.project import Checkout, Project, case, row, state_yaml
from tests.helpers.replaying import DRY, QUICK, changed, quick_run
from tests.helpers.repository import Repository
from tests.helpers.talking import agent, finished, talking
from tests.helpers.upstream import Upstream, running
from tests.plugin.conftest import Once

RUBRIC = {"eval/rubric.yaml": "owner: us\nmax_due_cases: 0\nbox_1_cases: 0\nnew_traffic_sample: 0\n"}
"""Nothing is asked but what the change affects."""
JUDGE = """

@pytest.fixture
def judge_fair():
    return lambda answer, case: bool(plain_sync(f"echo {ask} {answer.text}"))
"""
NAMES = ("a", "b", "c")
CASES = [case(name, expected=f"say {name}".upper(), judges=["exact"]) for name in NAMES]
JUDGED = [*CASES[:2], case("c", judges=["fair"])]


def project(upstream: Upstream, text: str) -> Project:
    """Return a project of which `quick_run` forks the replays."""
    return talking(upstream, text).with_files(QUICK)


def source(prompt: str = "say", parse: str = "upper()", ask: str = "is this fair:") -> str:
    return agent(f"return plain_sync(f'echo {prompt} {{question}}').{parse}") + JUDGE.replace("{ask}", ask)


def recorded(pytester: pytest.Pytester, upstream: Upstream, *cases: dict[str, object]) -> Checkout:
    """Return a checkout of which everything is recorded and passes; all rows are in box 1."""
    checkout = kept.recorded(pytester, project(upstream, source()).with_cases(*(cases or CASES)).with_files(RUBRIC))
    assert list(checkout.outcomes().values()) == ["passed"] * len(cases or CASES)
    upstream.bodies.clear()
    return checkout


def test_without_a_change_none_is_affected_and_the_schedule_goes_on(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    checkout = recorded(pytester, lasting)
    Project({"eval/rubric.yaml": RUBRIC["eval/rubric.yaml"].replace("box_1_cases: 0", "box_1_cases: 1")}).at(pytester)
    result = quick_run(checkout)
    assert result.ret == 0
    assert checkout.journal().header.unaffected == 3
    assert len(lasting.prompts) == 1  # The drift of the provider is looked for as ever.
    assert list(checkout.slice().values()) == ["box 1"]
    assert checkout.journal().header.affected == ()


NEWS = """\
said = plain_sync(f"echo {'tell' if question == 'asks' else 'say'} {question}")
if question == "crash":
    raise RuntimeError("boom")
return said.replace("fails", "wrong").upper()"""


class OneOfEach(NamedTuple):
    """A run on two workers after a change that each case meets in another way, and what there was before it."""

    checkout: Checkout
    result: pytest.RunResult
    prompts: list[str]
    before: dict[str, Row]

    def trial(self, name: str) -> Trial:
        """Return the one trial of a case."""
        (found,) = [trial for trial in self.checkout.journal().trials if trial.case_id == name]
        return found


@pytest.fixture(scope="module")
def one_of_each(once: Once) -> OneOfEach:
    """See `NEWS`; `same` is as it was, `new` has no recording, and the judge of `judged` is asked otherwise."""
    cases = [case(name, expected=f"say {name}".upper()) for name in ("asks", "crash", "fails", "same", "new")]
    cases.insert(0, case("judged", judges=["fair"]))
    with once() as pytester, contextmanager(running)() as upstream:
        checkout = recorded(pytester, upstream, *cases[:-1])
        changed(checkout, upstream, agent(NEWS) + JUDGE.replace("{ask}", "are you sure of"))
        Project(RUBRIC).with_cases(*cases).at(pytester)
        before = checkout.state()
        upstream.bodies.clear()
        result = quick_run(checkout, "-n2")
        return OneOfEach(checkout, result, upstream.prompts, before)


class TestOneOfEach:
    """What becomes of each case, by what the change did to it."""

    def test_they_are_counted_and_only_what_is_affected_is_asked(self, one_of_each: OneOfEach) -> None:
        header = one_of_each.checkout.journal().header
        assert (header.unaffected, header.total) == (1, 6)
        news = ["echo are you sure of SAY JUDGED", "echo say crash", "echo say new", "echo tell asks"]
        assert one_of_each.prompts == news
        assert one_of_each.checkout.slice() == {
            **dict.fromkeys(("asks", "crash", "new"), "affected"),
            "judged": "judged again",
        }
        assert one_of_each.checkout.journal().header.affected == ("asks", "fails", "judged")
        assert one_of_each.result.ret == 1

    def test_what_asks_something_else_says_what(self, one_of_each: OneOfEach) -> None:
        whys = {one["id"]: one.get("why") for one in one_of_each.checkout.today()["cases"]}
        assert whys["asks"] == "call 1: messages[0].content: “echo say asks” → “echo tell asks”"
        one_of_each.result.stdout.fnmatch_lines(
            ["  1 case, such as asks: call 1: messages[[]0].content: “echo say asks” → “echo tell asks”"]
        )

    def test_a_crash_after_equal_requests_is_no_verdict(self, one_of_each: OneOfEach) -> None:
        assert one_of_each.trial("crash").outcome.value == "error"

    def test_another_answer_to_equal_requests_is_judged_without_a_call(self, one_of_each: OneOfEach) -> None:
        trial = one_of_each.trial("fails")
        assert (trial.reason, trial.outcome.value, trial.source) == ("recorded answer", "failed", "replayed")
        assert not trial.counts_for_schedule
        assert one_of_each.checkout.state()["fails"] == one_of_each.before["fails"]

    def test_what_is_judged_otherwise_costs_a_judges_call_and_moves_no_box(self, one_of_each: OneOfEach) -> None:
        trial = one_of_each.trial("judged")
        assert (trial.source, trial.counts_for_schedule, trial.outcome.value) == ("replayed", False, "passed")
        assert trial.answer is not None
        assert trial.answer.text == "SAY JUDGED"
        assert one_of_each.checkout.state()["judged"] == one_of_each.before["judged"]


def test_a_fail_by_the_change_alone_is_red_though_nothing_else_runs(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    checkout = changed(recorded(pytester, lasting), lasting, source(parse="replace('y a', 'x a').upper()"))
    result = quick_run(checkout)
    assert checkout.journal().header.unaffected == 2
    assert checkout.scorecard()["regressions"] == ["a"]
    assert lasting.prompts == []
    assert checkout.outcomes() == {"a": "failed"}
    assert result.ret == 1


def test_a_known_failure_or_one_that_only_informs_is_not_red(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout = recorded(pytester, lasting)
    changed(checkout, lasting, source(parse="replace('b', 'x').upper()"))
    rows = state_yaml(a=row(3), b=row(1, failure_note="wrong"), c=row(3))
    (checkout.path / "eval/recall.yaml").write_text(rows, encoding="utf-8")
    result = quick_run(checkout)
    assert [trial.case_id for trial in checkout.journal().trials if trial.reason == "recorded answer"] == ["b"]
    assert result.ret == 0


def test_where_a_run_records_what_is_judged_otherwise_is_asked_whole(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = recorded(pytester, upstream, *JUDGED)
    changed(checkout, upstream, source(ask="are you sure of"))
    assert quick_run(checkout, "--record").ret == 0
    assert checkout.slice()["c"] == "affected"
    upstream.bodies.clear()
    checkout.run("eval", *DRY).stdout.fnmatch_lines(["0 of 3 cases affected*"])
    assert upstream.count == 0


def test_each_recorded_trial_of_a_series_is_replayed(pytester: pytest.Pytester, upstream: Upstream) -> None:
    three = case("a", expected="SAY A", trials=3)
    checkout = recorded(pytester, upstream, three)
    upstream.bodies.clear()
    checkout.run("eval", "--record=missing", "--recall-dry-run").stdout.fnmatch_lines(
        ["0 of 1 case affected (1 as rec*"]
    )
    last = sorted(finished(checkout))[-1]
    (checkout.path / "eval" / "cassettes" / last).unlink()
    changed(checkout, upstream, source(parse="lower()"))
    result = checkout.run("eval", "--record=missing", "--recall-dry-run")
    result.stdout.fnmatch_lines(["  1 case, such as a: its recorded trials come to no verdict together"])
    assert upstream.count == 0


def test_nothing_is_replayed_without_recordings(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = talking(upstream, source()).with_cases(*CASES).with_files(RUBRIC).at(pytester)
    assert "recall: replaying" not in checkout.run("eval").stdout.str()


def test_nothing_is_replayed_where_it_decides_nothing(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout = recorded(pytester, lasting)
    for options in (("--replay",), ("--co",), ("-k", "a"), ("--recall-mode=all",)):
        result = checkout.run("eval", *options)
        assert result.ret == 0, options
        assert "recall: replaying" not in result.stdout.str()
    off = RUBRIC["eval/rubric.yaml"] + "recording: off\n"
    Project({"eval/rubric.yaml": off}).at(pytester)
    assert "recall: replaying" not in checkout.run("eval").stdout.str()


def test_a_dry_run_writes_what_it_finds_into_a_file(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout = changed(recorded(pytester, lasting), lasting, source("tell"))
    dry = checkout.run("eval", "--record=missing", "--recall-dry-run", "--recall-dry-run-file", "found.json")
    assert "found.json: written" in dry.outlines
    assert json.loads((checkout.path / "found.json").read_text(encoding="utf-8"))["changed"] == list(NAMES)


def test_a_replay_that_finds_nothing_stops_the_run_with_what_it_said(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    checkout = recorded(pytester, lasting)
    crash = "import os\nif '--recall-dry-run' in str(__import__('sys').argv):\n    os._exit(3)\n"
    talking(lasting, source() + crash).at(pytester)
    result = quick_run(checkout)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: the replay of all cases ended with exit code 3 and found nothing (*); *--recall-dry-run*"]
    )
    assert lasting.count == 0


def test_plugins_of_a_program_are_refused_in_a_sentence(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = talking(upstream, source()).with_cases(*CASES).with_files(RUBRIC).at(pytester)
    assert checkout.run_apart("eval", "--record", "--recall-mode=all").ret == 0
    Repository.at(Path(checkout.path)).commit()
    assert checkout.run("eval").ret == 0, "where there is no change, nothing has to be replayed"
    result = checkout.run("eval", "--recall-base", "HEAD")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: all cases are replayed in processes of their own, *, and plugins that a program *"]
    )


def test_options_that_only_the_run_itself_has_an_end_for_do_not_reach_the_replays(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    checkout = changed(recorded(pytester, lasting), lasting, source("tell"))
    options = ("--junitxml", "report.xml", "-x", "--budget", "1", "--recall-concurrency", "2")
    result = quick_run(checkout, *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert set(checkout.slice()) <= set(NAMES)
    assert checkout.journal().header.budget == 1
    report = (checkout.path / "report.xml").read_text(encoding="utf-8")
    assert 'errors="0"' in report
    assert report.count("<testcase") == len(checkout.journal().trials)


def test_the_cases_of_a_dry_run_are_named_in_a_file(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout = recorded(pytester, lasting)
    (checkout.path / "of.json").write_text('["a", "b"]', encoding="utf-8")
    dry = ("eval", "--record=missing", "--recall-dry-run", "--recall-dry-run-of", "of.json")
    checkout.run(*dry).stdout.fnmatch_lines(["0 of 2 cases affected (2 as recorded); *"])
    (checkout.path / "of.json").write_text("{}", encoding="utf-8")
    result = checkout.run(*dry)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: of.json: does not say which cases to replay; write a JSON list of *"])
