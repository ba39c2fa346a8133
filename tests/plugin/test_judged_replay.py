"""With `policy: affected` every case is replayed and judged before a slice is chosen, and what is affected runs."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from pytest_recall.trials.trial import Row, Trial
from tests.helpers import kept
from tests.helpers.project import Checkout, Project, case, row, state_yaml
from tests.helpers.replaying import DRY, QUICK, changed, near_run, quick_run
from tests.helpers.repository import Repository
from tests.helpers.talking import agent, finished, talking
from tests.helpers.upstream import Upstream, running
from tests.plugin.conftest import Once

RUBRIC = {"eval/rubric.yaml": "owner: us\npolicy: affected\nslice_cases: 1\n"}
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
    """Return a checkout of which everything is recorded and passes; all rows are in box 3, and due."""
    checkout = kept.recorded(pytester, project(upstream, source()).with_cases(*(cases or CASES)).with_files(RUBRIC))
    assert list(checkout.outcomes().values()) == ["passed"] * len(cases or CASES)
    upstream.bodies.clear()
    return checkout


def test_without_a_change_all_is_proven_and_the_slice_is_drawn(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout = recorded(pytester, lasting)
    result = near_run(checkout)
    assert result.ret == 0
    assert "recall: judged replay: 0 of 3 cases affected (3 proven)" in result.outlines
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
    """See `NEWS`; `proven` is as it was, `new` has no recording, and the judge of `judged` is asked otherwise."""
    cases = [case(name, expected=f"say {name}".upper()) for name in ("asks", "crash", "fails", "proven", "new")]
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
        assert (
            "recall: judged replay: 3 of 6 cases affected (1 ask something else, 1 not recorded, 1 did not end,"
            " 1 to be judged again, 1 with another answer, 1 proven)"
        ) in one_of_each.result.outlines
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
        assert (trial.reason, trial.outcome.value, trial.source) == ("other answer", "failed", "replayed")
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
    checkout = changed(recorded(pytester, lasting), lasting, source(parse="replace('a', 'x').upper()"))
    result = near_run(checkout, "--recall-mode", "pr", "--recall-seed", "s")
    assert "recall: judged replay: 0 of 3 cases affected (3 with another answer)" in result.outlines
    assert "  FAILED a: exact: expected “SAY A”, got “SXY X”" in result.outlines
    assert len(lasting.prompts) == 1  # The drift of the provider is looked for as ever.
    assert result.ret == 1


def test_a_known_failure_or_one_that_only_informs_is_not_red(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout = recorded(pytester, lasting)
    changed(checkout, lasting, source(parse="replace('b', 'x').upper()"))
    rows = state_yaml(a=row(3), b=row(1, failure_note="wrong"), c=row(3))
    (checkout.path / "eval/recall.yaml").write_text(rows, encoding="utf-8")
    result = near_run(checkout, "--recall-seed", "4")
    assert [trial.case_id for trial in checkout.journal().trials if trial.reason == "other answer"] == ["b"]
    assert result.ret == 0


def test_where_a_run_records_what_is_judged_otherwise_is_asked_whole(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = recorded(pytester, upstream, *JUDGED)
    changed(checkout, upstream, source(ask="are you sure of"))
    assert near_run(checkout, "--record").ret == 0
    assert checkout.slice()["c"] == "affected"
    upstream.bodies.clear()
    checkout.run("eval", *DRY).stdout.fnmatch_lines(["0 of 3 cases affected*"])
    assert upstream.count == 0


def test_each_recorded_trial_of_a_series_is_replayed(pytester: pytest.Pytester, upstream: Upstream) -> None:
    three = case("a", expected="SAY A", trials=3)
    checkout = recorded(pytester, upstream, three)
    upstream.bodies.clear()
    checkout.run("eval", "--record=missing", "--recall-dry-run").stdout.fnmatch_lines(["0 of 1 case affected (1 prov*"])
    last = sorted(finished(checkout))[-1]
    (checkout.path / "eval" / "cassettes" / last).unlink()
    changed(checkout, upstream, source(parse="lower()"))
    result = checkout.run("eval", "--record=missing", "--recall-dry-run")
    result.stdout.fnmatch_lines(["  1 case, such as a: one of its 2 trials: other answer"])
    assert upstream.count == 0


def test_without_recordings_or_in_a_replay_the_slice_is_drawn_and_it_is_said(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = talking(upstream, source()).with_cases(*CASES).with_files(RUBRIC).at(pytester)
    result = checkout.run("eval", "--record")
    result.stdout.fnmatch_lines(
        ["recall: judged replay: no, since nothing is recorded yet; --record makes the recordings*"]
    )
    assert list(checkout.slice().values()) == ["new"]
    checkout.run("eval", "--replay").stdout.fnmatch_lines(["recall: judged replay: a replay calls no model, so*"])
    checkout.run("eval", "--recall-near", "off").stdout.fnmatch_lines(["recall: judged replay: off, by --recall-near"])
    checkout.run("eval", "--co").stdout.fnmatch_lines(["recall: judged replay: not with --collect-only, so that the *"])
    checkout.run("eval", "-k", "a").stdout.no_fnmatch_line("recall: judged replay: *")


def test_a_dry_run_of_another_job_takes_its_place(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout = changed(recorded(pytester, lasting), lasting, source("tell"))
    dry = checkout.run("eval", "--record=missing", "--recall-dry-run", "--recall-dry-run-file", "found.json")
    assert "found.json: written, for --recall-near file:PATH" in dry.outlines
    assert json.loads((checkout.path / "found.json").read_text(encoding="utf-8"))["changed"] == list(NAMES)
    result = checkout.run("eval", "--recall-near", "file:found.json")
    assert "recall: replaying" not in result.stdout.str()
    assert checkout.slice() == dict.fromkeys(NAMES, "affected")
    listing = checkout.run("eval", "--recall-near", "file:found.json", "--co")
    listing.stdout.fnmatch_lines(["recall: * 3 of 3 cases (3 affected)*"])
    (checkout.path / "found.json").write_text('["a"]', encoding="utf-8")
    broken = checkout.run("eval", "--recall-near", "file:found.json")
    assert broken.ret == 4
    broken.stderr.fnmatch_lines(["ERROR: found.json: does not say what a replay found; write it by *"])


def test_a_replay_that_finds_nothing_stops_the_run_with_what_it_said(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    checkout = recorded(pytester, lasting)
    crash = "import os\nif '--recall-dry-run' in str(__import__('sys').argv):\n    os._exit(3)\n"
    talking(lasting, source() + crash).at(pytester)
    result = quick_run(checkout)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: the replay of all cases ended with exit code 3 and found nothing (*); *--recall-near off leaves*"]
    )
    assert lasting.count == 0


def test_plugins_of_a_program_are_refused_in_a_sentence(pytester: pytest.Pytester, upstream: Upstream) -> None:
    there = {**RUBRIC, "eval/cassettes/one/a.ndjson": ""}
    result = talking(upstream, source()).with_cases(*CASES).with_files(there).at(pytester).run("eval")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: `policy: affected` replays all cases in processes of their own, which *"])


def test_the_file_of_a_dry_run_goes_with_one(pytester: pytest.Pytester, upstream: Upstream) -> None:
    made = talking(upstream, source()).with_cases(*CASES).at(pytester)
    result = made.run("eval", "--recall-dry-run-file", "x.json")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --recall-dry-run-file goes with --recall-dry-run"])


class TestTheBase:
    """The code before the change is replayed as well, to tell what differs by itself."""

    PROMPT = """\
system = f"Today is {TODAY}. Be kind, as since 2026-01-01"
return plain_sync([dict(role="system", content=system), dict(role="user", content=f"echo {question}")])"""
    BESIDE = """\
today = "Now it is" if question == "a" else "Today is"
kind = "brief" if question == "b" else "kind"
since = "2026-04-01" if question == "d" else "2026-01-01"
"""
    LOADED = """\
import importlib.util
import sys

_spec = importlib.util.spec_from_file_location("own", {path!r})
own = sys.modules["own"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(own)
"""
    DAY = "import os\n\nTODAY = os.environ.get('DAY', '2026-03-01')\n"
    DAILY = DAY + agent(PROMPT)

    def daily(self, pytester: pytest.Pytester, upstream: Upstream) -> tuple[Checkout, Repository]:
        """Return a checkout whose prompt says the day, as its base has it."""
        files = {**RUBRIC, ".gitignore": "eval/_artifacts\n__pycache__\nrun-*\n"}
        cases = [case(name, judges=[{"regex": "."}]) for name in "abcd"]
        checkout = kept.recorded(pytester, project(upstream, self.DAILY).with_cases(*cases).with_files(files))
        repository = Repository.at(checkout.path)
        repository.commit("Base")
        return checkout, repository

    def test_what_differs_by_itself_is_told_and_a_change_beside_it_is_seen(
        self, pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Options that only the run itself has an end for do not reach the replays."""
        options = ("--junitxml", "report.xml", "-x", "--budget", "1", "--recall-concurrency", "2")
        checkout, repository = self.daily(pytester, lasting)
        text = self.PROMPT.replace("Today is", "{today}").replace("kind", "{kind}").replace("2026-01-01", "{since}")
        changed(checkout, lasting, self.DAY + agent(self.BESIDE + text))
        before = repository.git("status", "--porcelain", "--ignored=no")
        monkeypatch.setenv("DAY", "2026-03-09")
        result = quick_run(checkout, "--recall-near", "git:main", *options)
        assert checkout.journal().header.budget == 1
        report = checkout.path / "report.xml"
        assert 'errors="0" failures="0" skipped="0" tests="3"' in report.read_text(encoding="utf-8")
        report.unlink()
        assert checkout.slice() == dict.fromkeys("abd", "affected")  # A date that the change itself edits is seen.
        result.stdout.fnmatch_lines(
            [
                "recall: replaying 4 cases in 1 process to see which the change affects; nothing is sent",
                "recall: replaying 4 cases of main to see what differs by itself",
                "recall: judged replay: 3 of 4 cases affected (3 ask something else, 1 proven)",
                "  4 cases, such as a: by itself, as before the change: messages[[]0].content: *2026-03-01*2026-03-09*",
                "  1 case, such as a: call 1: messages[[]0].content: “*” → “Now it is 2026-03-09. *”",
                "  1 case, such as b: call 1: messages[[]0].content: “*kind*” → “*brief*”",
                "  1 case, such as d: call 1: messages[[]0].content: “*2026-01-01*” → “*2026-04-01*”",
            ]
        )
        checkout.pytester.path.joinpath("eval", "recall.yaml").unlink()
        repository.git("checkout", "-q", "--", "eval/recall.yaml")
        assert repository.git("status", "--porcelain", "--ignored=no") == before
        assert repository.git("worktree", "list").count("\n") == 1

    def test_code_that_is_imported_from_this_checkout_is_no_base(
        self, pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout, repository = self.daily(pytester, lasting)
        loaded = self.LOADED.format(path=str(checkout.path / "own.py"))
        talking(lasting, loaded + self.DAILY).with_files({"own.py": "WORD = 1\n"}).at(pytester)
        repository.commit("Own")
        monkeypatch.setenv("DAY", "2026-03-09")
        result = quick_run(checkout, "--recall-near", "git:main")
        result.stdout.fnmatch_lines(
            ["recall: the base is not compared with: its replay imports `own` from this checkout, *"]
        )
        assert checkout.slice() == dict.fromkeys("abcd", "affected")


def test_the_cases_of_a_dry_run_are_named_in_a_file(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout = recorded(pytester, lasting)
    (checkout.path / "of.json").write_text('{"a": [], "b": ["x"]}', encoding="utf-8")
    dry = ("eval", "--record=missing", "--recall-dry-run", "--recall-dry-run-of", "of.json")
    checkout.run(*dry).stdout.fnmatch_lines(["0 of 2 cases affected (2 proven); *"])
    (checkout.path / "of.json").write_text("[]", encoding="utf-8")
    result = checkout.run(*dry)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: of.json: does not say which cases to replay; write a JSON object of *"])
