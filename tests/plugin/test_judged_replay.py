"""With `policy: affected` every case is replayed and judged before a slice is chosen, and what is affected runs."""

from __future__ import annotations

import json

import pytest

from tests.helpers import programs
from tests.helpers.project import Checkout, Project, case, row
from tests.helpers.repository import Repository
from tests.helpers.talking import agent, finished, talking
from tests.helpers.upstream import Upstream

RUBRIC = {"eval/rubric.yaml": "owner: us\npolicy: affected\nslice_cases: 1\n"}
JUDGE = """

@pytest.fixture
def judge_fair():
    return lambda answer, case: bool(plain_sync(f"echo {ask} {answer.text}"))
"""
PROMPT = """\
chat = [dict(role="system", content=f"Today is {TODAY}. Be kind"), dict(role="user", content=f"echo {question}")]
return plain_sync(chat)"""
NAMES = ("a", "b", "c")
LOADED = """\
import importlib.util
import sys

_spec = importlib.util.spec_from_file_location("own", {path!r})
own = sys.modules["own"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(own)
"""
CASES = [case(name, expected=f"say {name}".upper(), judges=["exact"]) for name in NAMES]
JUDGED = [*CASES[:2], case("c", judges=["fair"])]


QUICK = {"conftest.py": "import os\nimport sys\n\nsys.executable = os.environ.get('QUICK', sys.executable)\n"}


def project(upstream: Upstream, text: str) -> Project:
    """Return a project whose replays, which are processes of a run, are forked where `quick_run` begins it."""
    return talking(upstream, text).with_files(QUICK)


def quick_run(checkout: Checkout, *options: str) -> pytest.RunResult:
    """Run in a process of its own, whose replays come from the nursery as it does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUICK", str(programs.folder() / "python"))
        return checkout.run_apart("eval", *options)


def source(prompt: str = "say", parse: str = "upper()", ask: str = "is this fair:") -> str:
    return agent(f"return plain_sync(f'echo {prompt} {{question}}').{parse}") + JUDGE.replace("{ask}", ask)


def recorded(pytester: pytest.Pytester, upstream: Upstream, *cases: dict[str, object]) -> Checkout:
    """Return a checkout of which everything is recorded and passes; all rows are in box 3, and due."""
    checkout = project(upstream, source()).with_cases(*(cases or CASES)).with_files(RUBRIC).at(pytester)
    checkout.run("eval", "--record", "--recall-mode", "all").assert_outcomes(passed=len(cases or CASES))
    return checkout


def changed(checkout: Checkout, upstream: Upstream, text: str) -> Checkout:
    talking(upstream, text).at(checkout.pytester)
    return checkout


def test_without_a_change_all_is_proven_and_the_slice_is_drawn(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(pytester, upstream)
    upstream.bodies.clear()
    result = checkout.run_apart("eval")  # With a replay that starts from nothing, as anywhere else.
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "recall: replaying 3 cases in 1 process to see which the change affects; nothing is sent",
            "recall: judged replay: 0 of 3 cases affected (3 proven)",
        ]
    )
    assert len(upstream.prompts) == 1  # The drift of the provider is looked for as ever.
    assert list(checkout.slice().values()) == ["box 1"]
    assert checkout.journal().header.affected == ()


def test_what_asks_something_else_is_run_however_many_and_says_why(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = changed(recorded(pytester, upstream), upstream, source("tell"))
    upstream.bodies.clear()
    result = quick_run(checkout, "-n2")
    assert upstream.prompts == ["echo tell a", "echo tell b", "echo tell c"]
    assert checkout.slice() == dict.fromkeys(NAMES, "affected")
    first = checkout.today()["cases"][0]
    assert first["why"] == "call 1: messages[0].content: “echo say a” → “echo tell a”"
    result.stdout.fnmatch_lines(["  3 cases, such as a: call 1: messages[[]0].content: “echo say a” → “echo tell a”"])
    assert checkout.journal().header.affected == NAMES
    assert result.ret == 1  # They were asked, and fail.


def test_another_answer_to_equal_requests_is_judged_without_a_call(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = changed(recorded(pytester, upstream), upstream, source(parse="lower()"))
    before = checkout.state()
    upstream.bodies.clear()
    result = quick_run(checkout, "-n2")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["recall: judged replay: 0 of 3 cases affected (3 with another answer)"])
    replayed = [trial for trial in checkout.journal().trials if trial.reason == "other answer"]
    assert [(trial.case_id, trial.outcome.value, trial.source) for trial in replayed] == [
        (name, "failed", "replayed") for name in NAMES
    ]
    assert not any(trial.counts_for_schedule for trial in replayed)
    assert len(upstream.prompts) == 1
    moved = {case_id for case_id, now in checkout.state().items() if now != before[case_id]}
    assert len(moved) == 1  # The one that was asked live.


def test_a_fail_by_the_change_alone_is_red_though_nothing_else_runs(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = recorded(pytester, upstream)
    changed(checkout, upstream, source(parse="replace('a', 'x').upper()"))
    result = quick_run(checkout, "--recall-mode", "pr", "--recall-seed", "s")
    passed = [trial for trial in checkout.journal().trials if trial.source == "live"]
    assert "  FAILED a: exact: expected “SAY A”, got “SXY X”" in result.outlines
    assert result.ret == 1, passed


def test_a_known_failure_or_one_that_only_informs_is_not_red(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(pytester, upstream)
    changed(checkout, upstream, source(parse="replace('b', 'x').upper()"))
    talking(upstream, source(parse="replace('b', 'x').upper()")).with_state(
        a=row(3), b=row(1, failure_note="wrong"), c=row(3)
    ).at(pytester)
    result = quick_run(checkout, "--recall-seed", "4")
    assert [trial.case_id for trial in checkout.journal().trials if trial.reason == "other answer"] == ["b"]
    assert result.ret == 0


def test_what_is_judged_otherwise_costs_a_judges_call_and_moves_no_box(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = recorded(pytester, upstream, *JUDGED)
    changed(checkout, upstream, source(ask="are you sure of"))
    before = checkout.state()
    upstream.bodies.clear()
    result = quick_run(checkout, "-n2")
    assert result.ret == 0
    assert checkout.slice()["c"] == "judged again"
    assert "echo are you sure of SAY C" in upstream.prompts
    assert not [prompt for prompt in upstream.prompts if prompt == "echo say c"]
    (trial,) = [trial for trial in checkout.journal().trials if trial.case_id == "c"]
    assert (trial.source, trial.counts_for_schedule, trial.outcome.value) == ("replayed", False, "passed")
    assert trial.answer is not None
    assert trial.answer.text == "SAY C"
    assert checkout.state()["c"] == before["c"]


def test_where_a_run_records_what_is_judged_otherwise_is_asked_whole(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = recorded(pytester, upstream, *JUDGED)
    changed(checkout, upstream, source(ask="are you sure of"))
    assert quick_run(checkout, "--record").ret == 0
    assert checkout.slice()["c"] == "affected"
    upstream.bodies.clear()
    quick_run(checkout, "--record=missing", "--recall-dry-run").stdout.fnmatch_lines(["0 of 3 cases affected*"])
    assert upstream.count == 0


def test_a_crash_after_equal_requests_is_no_verdict_and_is_asked(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(pytester, upstream)
    changed(checkout, upstream, source(parse="oops()"))
    result = quick_run(checkout)
    result.stdout.fnmatch_lines(["recall: judged replay: 3 of 3 cases affected (3 came to no end)"])
    assert checkout.slice() == dict.fromkeys(NAMES, "affected")
    assert {trial.outcome.value for trial in checkout.journal().trials} == {"error"}


def test_a_new_case_is_affected_and_asked(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(pytester, upstream)
    talking(upstream, source()).with_files(RUBRIC).with_cases(*CASES, case("d", expected="SAY D")).at(pytester)
    quick_run(checkout).stdout.fnmatch_lines(["recall: judged replay: 1 of 4 cases affected (1 not recorded, *"])
    assert checkout.slice() == {"d": "affected"}


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
    result.stdout.fnmatch_lines(["recall: judged replay: no, since nothing is recorded yet; --record records what*"])
    assert list(checkout.slice().values()) == ["new"]
    checkout.run("eval", "--replay").stdout.fnmatch_lines(["recall: judged replay: in a replay nothing is asked, so*"])
    checkout.run("eval", "--recall-near", "off").stdout.fnmatch_lines(["recall: judged replay: off, by --recall-near"])


def test_a_dry_run_of_another_job_takes_its_place(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = changed(recorded(pytester, upstream), upstream, source("tell"))
    dry = checkout.run("eval", "--record=missing", "--recall-dry-run", "--recall-dry-run-file", "found.json")
    assert "found.json: written, for --recall-near file:PATH" in dry.outlines
    assert json.loads((checkout.path / "found.json").read_text(encoding="utf-8"))["changed"] == list(NAMES)
    result = checkout.run("eval", "--recall-near", "file:found.json")
    assert "recall: replaying" not in result.stdout.str()
    assert checkout.slice() == dict.fromkeys(NAMES, "affected")
    (checkout.path / "found.json").write_text('["a"]', encoding="utf-8")
    broken = checkout.run("eval", "--recall-near", "file:found.json")
    assert broken.ret == 4
    broken.stderr.fnmatch_lines(["ERROR: found.json: does not say what a replay found; write it by *"])


def test_a_replay_that_finds_nothing_stops_the_run_with_what_it_said(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = recorded(pytester, upstream)
    crash = "import os\nif '--recall-dry-run' in str(__import__('sys').argv):\n    os._exit(3)\n"
    talking(upstream, source() + crash).at(pytester)
    result = quick_run(checkout)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: the replay of all cases ended with exit code 3 and found nothing (*); *--recall-near off leaves*"]
    )
    assert upstream.count == 3


def test_options_of_the_run_do_not_reach_the_replay(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = changed(recorded(pytester, upstream), upstream, source("tell"))
    result = quick_run(checkout, "--junitxml", "report.xml", "-x", "--budget", "1", "--recall-concurrency", "2")
    assert "recall: judged replay: 3 of 3 cases affected (3 ask something else)" in result.outlines
    report = (checkout.path / "report.xml").read_text(encoding="utf-8")
    assert "TELL A" in report
    assert checkout.journal().header.budget == 1


def test_plugins_of_a_program_are_refused_in_a_sentence(pytester: pytest.Pytester, upstream: Upstream) -> None:
    result = recorded(pytester, upstream).run("eval")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: `policy: affected` replays all cases in processes of their own, which *"])


def test_the_file_of_a_dry_run_goes_with_one(pytester: pytest.Pytester, upstream: Upstream) -> None:
    result = recorded(pytester, upstream).run("eval", "--recall-dry-run-file", "x.json")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --recall-dry-run-file goes with --recall-dry-run"])


class TestTheBase:
    """The code before the change is replayed as well, to tell what differs by itself."""

    DAILY = f"import os\n\nTODAY = os.environ.get('DAY', '2026-03-01')\n{agent(PROMPT)}" + JUDGE.replace(
        "{ask}", "fair?"
    )

    def daily(self, pytester: pytest.Pytester, upstream: Upstream) -> tuple[Checkout, Repository]:
        """Return a checkout whose prompt says the day, as its base has it."""
        files = {**RUBRIC, ".gitignore": "eval/_artifacts\n__pycache__\nrun-*\n"}
        cases = [case(name, judges=[{"regex": "."}]) for name in NAMES]
        checkout = project(upstream, self.DAILY).with_cases(*cases).with_files(files).at(pytester)
        checkout.run("eval", "--record", "--recall-mode", "all").assert_outcomes(passed=3)
        repository = Repository.at(checkout.path)
        repository.commit("Base")
        return checkout, repository

    def test_what_differs_by_itself_is_no_change_and_is_told(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout, repository = self.daily(pytester, upstream)
        before = repository.git("status", "--porcelain", "--ignored=no")
        monkeypatch.setenv("DAY", "2026-03-09")
        result = quick_run(checkout, "--recall-near", "git:main")
        result.stdout.fnmatch_lines(
            [
                "recall: replaying 2 cases of main to see what differs by itself",
                "recall: judged replay: 0 of 3 cases affected (3 proven)",
                "  3 cases, such as a: by itself, as before the change: messages[[]0].content: *2026-03-01*2026-03-09*",
            ]
        )
        assert result.ret == 0
        checkout.pytester.path.joinpath("eval", "recall.yaml").unlink()
        repository.git("checkout", "-q", "--", "eval/recall.yaml")
        assert repository.git("status", "--porcelain", "--ignored=no") == before
        assert repository.git("worktree", "list").count("\n") == 1

    def test_a_change_beside_it_is_seen(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout, _ = self.daily(pytester, upstream)
        monkeypatch.setenv("DAY", "2026-03-09")
        changed(checkout, upstream, self.DAILY.replace("Today is", "Now it is"))
        quick_run(checkout, "--recall-near", "git:main")
        assert checkout.slice() == dict.fromkeys(NAMES, "affected")
        changed(checkout, upstream, self.DAILY.replace("Be kind", "Be brief"))
        result = quick_run(checkout, "--recall-near", "git:main")
        assert checkout.slice() == dict.fromkeys(NAMES, "affected")
        result.stdout.fnmatch_lines(["  3 cases, such as a: call 1: *… Be kind*… Be brief*"])

    def test_a_date_that_the_change_itself_edits_is_seen(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout, _ = self.daily(pytester, upstream)
        changed(checkout, upstream, self.DAILY.replace("2026-03-01", "2026-04-01"))
        quick_run(checkout, "--recall-near", "git:main")
        assert checkout.slice() == dict.fromkeys(NAMES, "affected")

    def test_code_that_is_imported_from_this_checkout_is_no_base(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout, repository = self.daily(pytester, upstream)
        loaded = LOADED.format(path=str(checkout.path / "own.py"))
        talking(upstream, loaded + self.DAILY).with_files({"own.py": "WORD = 1\n"}).at(pytester)
        repository.commit("Own")
        monkeypatch.setenv("DAY", "2026-03-09")
        result = quick_run(checkout, "--recall-near", "git:main")
        result.stdout.fnmatch_lines(
            ["recall: the base is not compared with: its replay imports `own` from this checkout, *"]
        )
        assert checkout.slice() == dict.fromkeys(NAMES, "affected")


def test_the_cases_of_a_dry_run_are_named_in_a_file(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(pytester, upstream)
    (checkout.path / "of.json").write_text('{"a": [], "b": ["x"]}', encoding="utf-8")
    dry = ("eval", "--record=missing", "--recall-dry-run", "--recall-dry-run-of", "of.json")
    checkout.run(*dry).stdout.fnmatch_lines(["0 of 2 cases affected (2 proven); *"])
    for text in ("[]", '{"a": "x"}', '{"a": ["("]}', "{"):
        (checkout.path / "of.json").write_text(text, encoding="utf-8")
        result = checkout.run(*dry)
        assert result.ret == 4
        result.stderr.fnmatch_lines(["ERROR: of.json: does not say which cases to replay; write a JSON object of *"])
