"""`--recall-resume`: a run that was killed goes on, pays for nothing twice, and is one run in the end."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest

from pytest_recall.replay.exchange import Call
from pytest_recall.trials.journal import NAME, Journal, is_cut_off, read_journal
from tests.helpers.kept import after, ran
from tests.helpers.project import BARE, DAY, ECHOING, WORKERS, Checkout, Project, case, failing, row
from tests.helpers.repository import Repository
from tests.helpers.screens import RUN, assert_screen
from tests.helpers.talking import agent, asking, finished, talking
from tests.helpers.upstream import Upstream

Workers = tuple[str, ...]
NAMES = [f"c{number}" for number in range(12)]
RUBRIC = "owner: ana\nprices: {gpt-4o-mini: {input: 100000, output: 0}}\n"
"""A call reads 10 tokens by the upstream: one dollar each. By its text it may have 23."""
DYING = """\
answered = plain_sync(question)
if question == os.environ.get("KILLED_AT"):
    os.kill(int(os.environ.get("KILLED", os.getpid())), 9)
return answered
"""


def talkative(upstream: Upstream, body: str = DYING, rubric: str = RUBRIC) -> Project:
    """Return a project whose run is killed when the answer to the case in KILLED_AT has come."""
    made = talking(upstream, agent(body)).with_cases(*map(asking, NAMES))
    source = made.files["eval/conftest.py"]
    return made.with_files({"eval/conftest.py": f"import os\n{source}", "eval/rubric.yaml": rubric})


def judged(checkout: Checkout) -> set[str]:
    """Return the cases with a verdict in the newest journal."""
    return {trial.case_id for trial in checkout.journal().trials if trial.outcome.is_verdict}


def killed(checkout: Checkout, monkeypatch: pytest.MonkeyPatch, at: str, *args: str, body: str = "") -> None:
    """Run until the agent kills the run at the case `at`."""
    monkeypatch.setenv("KILLED_AT", at)
    assert checkout.run_apart("eval", "--recall-mode=all", *args).ret == -signal.SIGKILL
    monkeypatch.delenv("KILLED_AT")


def cut_off(pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch, *args: str) -> Checkout:
    """Return a project whose run was killed at the sixth of its cases, made once; its upstream counts from 0."""

    def begin() -> Checkout:
        checkout = talkative(lasting).at(pytester)
        lasting.bodies.clear()
        killed(checkout, monkeypatch, "c5", *args)
        assert lasting.prompts == NAMES[:6]
        return checkout

    checkout = after(pytester, f"killed at c5 {args} {lasting.url}", begin)
    lasting.bodies.clear()
    return checkout


def test_the_next_run_says_how_to_go_on_with_one_that_was_killed(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a")).at(pytester)
    checkout.run("eval")
    [folder] = checkout.artifacts.runs()
    journal = folder / NAME
    told = f"recall: {folder.name} was cut off before its end; --recall-resume={folder.name} resumes it"
    assert told not in checkout.run("eval", "--collect-only").outlines
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    with Journal.continued(folder):
        assert not is_cut_off(folder)  # It runs.
    assert told in checkout.run("eval").outlines
    assert told not in checkout.run("eval").outlines  # There is a newer one, which has come to its end.


@pytest.mark.parametrize(
    ("path", "text", "changed"),
    [
        ("eval/conftest.py", "\n", True),
        ("notes.txt", "new", True),
        ("eval/_artifacts/x.txt", "x", False),
        ("", "", False),
    ],
)
def test_a_checkout_that_has_changed_since_the_run_began_is_said(
    pytester: pytest.Pytester, path: str, text: str, changed: bool
) -> None:
    checkout = ECHOING.with_cases(case("a"), case("b")).with_files({".gitignore": "*.pyc\nasked.txt\n"}).at(pytester)
    Repository.at(checkout.path).commit()
    assert checkout.run("eval", "-p", "no:cacheprovider").ret == 0
    [folder] = checkout.artifacts.runs()
    first, trial, *_ = (folder / NAME).read_bytes().splitlines(keepends=True)
    (folder / NAME).write_bytes(first + trial)
    if path:
        with (checkout.path / path).open("a", encoding="utf-8") as file:
            file.write(text)
    checkout.run("eval", "--recall-resume", "-p", "no:cacheprovider")
    assert checkout.journal().header.checkout_changed is changed
    assert checkout.scorecard()["checkout_changed"] is changed


class TestKilled:
    """SIGKILL in the middle of a run whose upstream counts."""

    def test_nothing_is_bought_twice_but_what_was_in_flight(
        self, pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = cut_off(pytester, lasting, monkeypatch)
        assert judged(checkout) == set(NAMES[:5])
        result = checkout.run("eval", "--recall-resume")
        result.assert_outcomes(passed=7)
        assert result.ret == 0
        result.stdout.fnmatch_lines([f"recall: * is resumed: 7 cases left of 12 chosen, as of {DAY}"])
        assert Counter(lasting.prompts) == dict.fromkeys(NAMES[5:], 1)
        assert len(checkout.artifacts.runs()) == 1
        assert judged(checkout) == set(NAMES)
        card = checkout.scorecard()
        assert card["counts"] == {"passed": 12}
        assert card["complete"] is True
        assert card["stop"] is None
        assert card["exit_code"] == 0
        assert checkout.boxes() == dict.fromkeys(NAMES, 1)

    def test_with_workers(self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
        body = DYING.replace('os.environ.get("KILLED", os.getpid())', "os.getppid()")
        checkout = talkative(upstream, body).at(pytester)
        killed(checkout, monkeypatch, "c8", "-n2")
        before = judged(checkout)
        assert before
        checkout.run("eval", "--recall-resume", "-n2").assert_outcomes(passed=12 - len(before))
        asked = Counter(upstream.prompts)
        assert asked.keys() == set(NAMES)
        assert all(asked[case_id] == 1 for case_id in before)
        # Each of the two workers was at one case, and may have had the next one begun when its pipe broke.
        assert sum(asked.values()) <= 12 + 4
        assert checkout.boxes() == dict.fromkeys(NAMES, 1)

    def test_with_cases_at_once(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = talkative(upstream).at(pytester)
        killed(checkout, monkeypatch, "c10", "--recall-concurrency=3")
        before = judged(checkout)
        checkout.run("eval", "--recall-resume", "--recall-concurrency=3").assert_outcomes(passed=12 - len(before))
        asked = Counter(upstream.prompts)
        assert asked.keys() == set(NAMES)
        assert all(asked[case_id] == 1 for case_id in before)
        # Of those that were done before their turn the answers are kept.
        assert sum(asked.values()) <= 12 + 3

    def test_what_was_done_before_its_turn_is_not_bought_twice(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # The first case waits for its answer until the run is killed, and all others have theirs by then.
        body = """\
if question == "c0" and "KILLED_AT" in os.environ:
    while len(asked_for) < 11:
        time.sleep(0.01)
    time.sleep(0.5)
    os.kill(os.getpid(), 9)
answered = plain_sync(question)
asked_for.append(question)
return answered
"""
        made = talkative(upstream, body)
        source = f"import time\n\nasked_for = []\n{made.files['eval/conftest.py']}"
        checkout = made.with_files({"eval/conftest.py": source}).at(pytester)
        killed(checkout, monkeypatch, "c0", "--recall-concurrency=4", "--budget=20")
        assert judged(checkout) == set()
        assert upstream.count == 11
        result = checkout.run("eval", "--recall-resume", "--recall-concurrency=4")
        result.assert_outcomes(passed=12)
        assert Counter(upstream.prompts) == dict.fromkeys(NAMES, 1)
        assert checkout.scorecard()["cost"]["total"]["spent"]["usd"] == 12.0
        result.stdout.fnmatch_lines(["spent $12.00 of the budget of $20.00"])
        assert list(checkout.artifacts.folder.glob(".early*")) == []

    def test_time_and_again(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = talkative(upstream).at(pytester)
        killed(checkout, monkeypatch, "c2")
        monkeypatch.setenv("KILLED_AT", "c9")
        assert checkout.run_apart("eval", "--recall-resume").ret == -signal.SIGKILL
        monkeypatch.delenv("KILLED_AT")
        checkout.run("eval", "--recall-resume").assert_outcomes(passed=3)
        assert Counter(upstream.prompts) == {**dict.fromkeys(NAMES, 1), "c2": 2, "c9": 2}
        assert checkout.boxes() == dict.fromkeys(NAMES, 1)

    def test_a_run_that_was_applied_meanwhile_is_folded_once(
        self, pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = cut_off(pytester, lasting, monkeypatch)
        checkout.recall("state", "apply", "latest")
        assert len(checkout.boxes()) == 5
        checkout.run("eval", "--recall-resume")
        assert checkout.boxes() == dict.fromkeys(NAMES, 1)

    @WORKERS
    def test_marked_tests_are_left_as_well(self, pytester: pytest.Pytester, workers: Workers) -> None:
        tests = "\n\n".join(
            f'@pytest.mark.recall("m{number}")\ndef test_{number}():\n    at("m{number}")\n' for number in range(4)
        )
        pid = "os.getppid()" if workers else "os.getpid()"
        at = f"""
import os
import pathlib
import time

import pytest


def at(name):
    with open("asked.txt", "a") as log:
        log.write(f"{{name}}\\n")
    if name == "m3" and "KILLED_AT" in os.environ:
        for _ in range(200):
            if any("trial" in path.read_text() for path in pathlib.Path("_artifacts").glob("*/trials.jsonl")):
                break
            time.sleep(0.05)
        os.kill({pid}, 9)


"""
        checkout = BARE.with_files({"test_marked.py": at + tests}).at(pytester)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KILLED_AT", "1")
            assert checkout.run_apart("--recall-mode=all", "--recall-dir=.", *workers).ret == -signal.SIGKILL
        (journal,) = (checkout.path / "_artifacts").glob(f"*/{NAME}")
        before = {trial.case_id for trial in read_journal(journal.parent).trials}
        assert before
        checkout.run("--recall-dir=.", "--recall-resume", *workers)
        asked = Counter((checkout.path / "asked.txt").read_text().split())
        assert asked.keys() == {"m0", "m1", "m2", "m3"}
        assert all(asked[name] == 1 for name in before)
        record = read_journal(journal.parent)
        assert {trial.case_id for trial in record.trials} == dict(record.header.picks).keys() == asked.keys()


class TestRecording:
    """The rest of a run is recorded as its beginning was, whoever resumes it."""

    @pytest.mark.parametrize(
        ("how", "folder"),
        [("--record", "eval/cassettes"), ("--record=missing", "eval/cassettes"), ("--record=missing:kept", "kept")],
    )
    def test_what_is_left_is_recorded(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, how: str, folder: str
    ) -> None:
        checkout = talkative(upstream).at(pytester)
        killed(checkout, monkeypatch, "c5", how)
        assert set(finished(checkout, folder)) == {f"one/{name}.ndjson" for name in NAMES[:5]}
        checkout.run("eval", "--recall-resume", "-n2").assert_outcomes(passed=7)
        assert set(finished(checkout, folder)) == {f"one/{name}.ndjson" for name in NAMES}
        assert checkout.journal().header.recording_facts.recording == ("missing" if "missing" in how else "record")
        upstream.bodies.clear()
        checkout.run("eval", f"--replay={folder}", "--recall-mode=all").assert_outcomes(passed=12)
        assert upstream.count == 0

    def test_time_and_again_as_it_was_resumed_last(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = talkative(upstream).at(pytester)
        killed(checkout, monkeypatch, "c2")
        monkeypatch.setenv("KILLED_AT", "c9")
        assert checkout.run_apart("eval", "--recall-resume", "--record=kept").ret == -signal.SIGKILL
        monkeypatch.delenv("KILLED_AT")
        checkout.run("eval", "--recall-resume").assert_outcomes(passed=3)
        assert set(finished(checkout, "kept")) == {f"one/{name}.ndjson" for name in NAMES[2:]}

    def test_what_was_live_and_what_was_trusted_is_so_again(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = talkative(upstream).at(pytester)
        checkout.run("eval", "--record", "--recall-mode=all", "-k", "c8")
        how = ("--record=missing", "--recall-live=judge", "--recall-trust-replays")
        killed(checkout, monkeypatch, "c5", *how)
        result = checkout.run("eval", "--recall-resume")
        result.stdout.fnmatch_lines(["recall: live, over the network, and not recorded: calls of the kind judge"])
        [replayed] = [trial for trial in checkout.journal().trials if trial.case_id == "c8"]
        assert (replayed.source, replayed.counts_for_schedule) == ("replayed", True)


class TestBudget:
    """A budget is that of the run, and not of one of its parts."""

    @pytest.mark.parametrize("again", [("--budget=10.50",), ()], ids=["said again", "not said again"])
    def test_it_holds_over_both_parts(
        self, pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch, again: Workers
    ) -> None:
        checkout = cut_off(pytester, lasting, monkeypatch, "--budget=10.50")
        result = checkout.run("eval", "--recall-resume", *again)
        # The answer to c5 was paid for and is lost with the process: its price is in the ledger all the same.
        assert lasting.count == 3
        result.stdout.fnmatch_lines(["spent $9.00 of the budget of $10.50*"])
        assert result.ret == pytest.ExitCode.INTERRUPTED
        card = checkout.scorecard()
        assert card["counts"] == {"passed": 8, "not run": 4}
        assert card["stop"] == {"cause": "budget", "kind": "no-room", "usd": 10.5}
        assert list(checkout.artifacts.folder.glob(".spent*")) == []

    def test_the_one_of_the_rubric_does_not_take_its_place(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout = talkative(upstream, rubric=f"{RUBRIC}budget: 4\n").at(pytester)
        assert checkout.run("eval", "--recall-mode=all", "--budget=8").ret == pytest.ExitCode.INTERRUPTED
        checkout.run("eval", "--recall-resume")
        assert checkout.journal().header.budget == 8.0

    @pytest.mark.parametrize("options", [("-n2",), ("--recall-concurrency=3",)], ids=["n2", "at once"])
    def test_calls_at_once_stay_within_it_as_well(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, options: Workers
    ) -> None:
        body = DYING.replace('os.environ.get("KILLED", os.getpid())', "os.getppid()") if "-n2" in options else DYING
        checkout = talkative(upstream, body).at(pytester)
        killed(checkout, monkeypatch, "c4", "--budget=10", *options)
        checkout.run("eval", "--recall-resume")
        assert upstream.count <= 10

    def test_without_the_ledger_the_journal_knows(
        self, pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = cut_off(pytester, lasting, monkeypatch, "--budget=10.50")
        (ledger,) = checkout.artifacts.folder.glob(".spent*")
        ledger.unlink()
        checkout.run("eval", "--recall-resume")
        assert lasting.count == 4


class TestSeries:
    """Cases that are asked several times."""

    def test_a_series_goes_on_where_it_was(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        source = """
import os


@pytest.fixture
def agent():
    def answer(question):
        asked(question)
        if os.environ.get("KILLED_AT") and pathlib.Path(__file__).with_name("asked.txt").read_text().count("\\n") == 4:
            os._exit(9)
        return question

    return answer
"""
        checkout = BARE.with_agent(source).with_cases(case("a", trials=5), case("b")).at(pytester)
        monkeypatch.setenv("KILLED_AT", "1")
        assert checkout.run_apart("eval", "--recall-mode=all").ret == 9
        monkeypatch.delenv("KILLED_AT")
        assert checkout.recall("score", "latest").ret == 1
        checkout.run("eval", "--recall-resume").assert_outcomes(passed=2)
        assert Counter(checkout.asked()) == {"a": 6, "b": 1}
        (told,) = checkout.scorecard()["several_trials"]
        assert (told["trials"], told["passes"]) == (5, 5)
        assert [trial.repeat for trial in checkout.journal().trials if trial.case_id == "a"] == [1, 2, 3, 4, 5]

    def test_fails_before_it_was_cut_off_count(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = """
import os


@pytest.fixture
def agent():
    def answer(question):
        asked(question)
        count = pathlib.Path(__file__).with_name("asked.txt").read_text().count("\\n")
        if os.environ.get("KILLED_AT") and count == 3:
            os._exit(9)
        return question if count > 3 else "wrong"

    return answer
"""
        checkout = BARE.with_agent(source).with_cases(case("a", trials="2of3")).at(pytester)
        monkeypatch.setenv("KILLED_AT", "1")
        assert checkout.run_apart("eval", "--recall-mode=all").ret == 9
        monkeypatch.delenv("KILLED_AT")
        result = checkout.run("eval", "--recall-resume")
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["* 1 of 3 trials passed (pass 2of3)"])


THREE = ECHOING.with_cases(failing("a"), case("b"), case("c"))
STOPPED = ("eval", "--recall-mode=all", "-x")
"""So a run of it ends after the first case."""


class TestEnded:
    """Runs that ended, but not with a verdict on each case."""

    def test_errors_are_asked_again(self, pytester: pytest.Pytester) -> None:
        checkout = ECHOING.with_cases(case("a"), case("crash")).at(pytester)
        assert checkout.run("eval", "--recall-mode=all").ret == 1
        ECHOING.with_agent("@pytest.fixture\ndef agent():\n    return lambda question: question\n").at(pytester)
        result = checkout.run("eval", "--recall-resume")
        result.assert_outcomes(passed=1)
        assert result.ret == 0
        assert [trial.attempt for trial in checkout.journal().trials if trial.case_id == "crash"] == [1, 2]
        assert checkout.boxes() == {"a": 1, "crash": 1}
        # Now there is nothing left, and nothing is asked.
        asked = checkout.asked()
        result = checkout.run("eval", "--recall-resume")
        assert result.ret == 0
        result.stdout.fnmatch_lines(["recall: * is resumed: 0 cases left of 2 chosen, as of *"])
        assert checkout.asked() == asked

    def test_a_fail_of_the_first_part_is_one_of_the_run(self, pytester: pytest.Pytester) -> None:
        checkout, result = ran(pytester, THREE, *STOPPED)
        assert result.ret == 1
        card = checkout.scorecard()
        assert card["stop"] == {"cause": "pytest", "detail": "stopping after 1 failures"}
        result.stdout.fnmatch_lines(["to resume: run the same command with --recall-resume; it asks *"])
        result = checkout.run("eval", "--recall-resume")
        result.assert_outcomes(passed=2)
        assert result.ret == 1
        assert checkout.scorecard()["counts"] == {"failed": 1, "passed": 2}

    def test_a_run_may_be_named(self, pytester: pytest.Pytester) -> None:
        checkout, _ = ran(pytester, THREE, *STOPPED)
        checkout.run(*STOPPED)
        first = checkout.artifacts.runs()[0]
        checkout.run("eval", f"--recall-resume={first.name}").assert_outcomes(passed=2)
        assert checkout.asked() == ["a", "a", "b", "c"]

    def test_baselines_that_were_not_asked_are(self, pytester: pytest.Pytester) -> None:
        source = "\n\n@pytest.fixture\ndef agent_other():\n    return lambda question: question\n"
        plain = "@pytest.fixture\ndef agent():\n    return lambda question: question\n"
        project = BARE.with_agent(plain + source).with_cases(case("a"), case("b"))
        checkout = project.at(pytester)
        checkout.run("eval", "--recall-mode=all", "--baselines=other")
        folder = checkout.artifacts.runs()[-1]
        lines = (folder / NAME).read_bytes().splitlines(keepends=True)
        (folder / NAME).write_bytes(b"".join(lines[:2]))
        (checkout.path / "eval/recall.yaml").unlink()
        checkout.run("eval", "--recall-resume", "--baselines=other")
        assert Counter((trial.case_id, trial.arm) for trial in checkout.journal().trials) == dict.fromkeys(
            [("a", ""), ("a", "other"), ("b", ""), ("b", "other")], 1
        )

    def test_a_shard_goes_on_as_one(self, pytester: pytest.Pytester) -> None:
        checkout = ECHOING.with_cases(*map(case, NAMES)).with_state(**{name: row(2) for name in NAMES}).at(pytester)
        checkout.run("eval", "--recall-shard=1/2", "--maxfail=1", "-p", "no:cacheprovider")
        folder = checkout.artifacts.runs()[-1]
        lines = (folder / NAME).read_bytes().splitlines(keepends=True)
        (folder / NAME).write_bytes(b"".join(lines[:3]))
        result = checkout.run("eval", "--recall-resume")
        result.assert_outcomes(passed=4)
        assert checkout.journal().header.shard == "1/2"
        assert checkout.boxes() == dict.fromkeys(NAMES, 2)
        assert checkout.recall("ci", "merge", "eval/_artifacts").ret == 2


class TestRefused:
    """What would make two kinds of verdicts of one run."""

    @pytest.fixture
    def checkout(self, pytester: pytest.Pytester) -> Checkout:
        """A run that was cut short after the first case."""
        return ran(pytester, THREE, *STOPPED)[0]

    def test_what_decides_no_verdict_may_change(self, checkout: Checkout) -> None:
        (checkout.path / "eval/rubric.yaml").write_text("owner: bob\nprices: {m: {input: 1, output: 1}}\n")
        checkout.run("eval", "--recall-resume", day=None).assert_outcomes(passed=2)
        assert checkout.state()["b"].last_tested.isoformat() == DAY

    @pytest.mark.parametrize(
        ("model", "edited"),
        [("python:own/judge.py:model", "own/words.py"), ("command:python own/judge.py", "own/judge.py")],
    )
    def test_another_code_of_a_judge(self, pytester: pytest.Pytester, model: str, edited: str) -> None:
        judge = "import words\nmodel = words.model\n"
        files = {"own/judge.py": judge, "own/words.py": "def model(prompt): return ''\n"}
        checkout = THREE.with_files(files).at(pytester)
        checkout.run(*STOPPED, f"--judge={model}")
        again = ("eval", "--recall-resume", f"--judge={model}")
        (checkout.path / edited).write_text("# edited\n", encoding="utf-8")
        assert f"model_code.{model}" in refused(checkout, " ".join(again[:2]), again[2])
        (checkout.path / edited).write_text(files[edited], encoding="utf-8")
        checkout.run(*again).assert_outcomes(passed=2)

    def test_what_replays_and_what_asks(self, checkout: Checkout) -> None:
        checkout.run(*STOPPED, "--replay")
        assert len(checkout.journal().trials) == 1
        assert refused(checkout, "eval --recall-resume").startswith("ERROR: ")

    def test_a_case_that_was_changed_is_asked_again(self, checkout: Checkout) -> None:
        ECHOING.with_cases(case("a"), case("b"), case("c")).at(checkout.pytester)
        result = checkout.run("eval", "--recall-resume")
        result.assert_outcomes(passed=3)
        assert result.ret == 0
        assert checkout.scorecard()["counts"] == {"passed": 3}

    def test_a_run_that_still_runs(self, checkout: Checkout) -> None:
        folder = checkout.artifacts.runs()[-1]
        pytest.importorskip("fcntl")
        before = sorted(checkout.artifacts.folder.rglob("*"))
        with Journal.continued(folder) as journal:
            journal.spent([Call("agent", "live", cost=0.5)])
            refused(checkout, "eval --recall-resume --budget=10.50")
        # The calls that it has paid for are written down for the one who resumes it, and that is no one yet.
        assert sorted(checkout.artifacts.folder.rglob("*")) == before

    def test_a_run_that_was_joined_from_shards(self, pytester: pytest.Pytester) -> None:
        checkout = ECHOING.with_cases(case("a"), case("b")).at(pytester)
        checkout.run("eval", "--recall-shard=1/2")
        checkout.recall("ci", "merge", "eval/_artifacts")
        refused(checkout, "eval --recall-resume")

    def test_each_is_told_in_a_sentence(self, checkout: Checkout) -> None:
        parts = []
        rubric = checkout.path / "eval/rubric.yaml"
        before = rubric.read_text(encoding="utf-8")
        for options, text in REFUSED:
            rubric.write_text(text or before, encoding="utf-8")
            parts.append(f"# {text}" * bool(text) + f"$ pytest {options}\n{refused(checkout, options)}")
        assert_screen(Path(__file__).with_name("screens") / "resume.txt", RUN.sub("RUN", "\n".join(parts)))


REFUSED = (
    ("eval --recall-resume=latest --recall-mode=pr", ""),
    ("eval --recall-resume=latest --recall-seed=2", ""),
    ("eval --recall-resume=latest --recall-shard=1/2", ""),
    ("eval --recall-resume=latest --scenarios=one", ""),
    ("eval/cases.yaml::b --recall-resume=latest", ""),
    ("eval/cases.yaml::b --recall-resume=latest --recall-mode=pr --recall-seed=2 --scenarios=one", ""),
    ("eval --recall-resume --recall-date=2026-03-11", ""),
    ("eval --recall-resume --replay", ""),
    ("eval --recall-resume --model=m2 --judge=openai:gpt-4o-mini", ""),
    ("eval --recall-resume", "owner: ana\nconfirm: 2of3\nmodel_primary: m2\n"),
    ("eval --recall-resume=2026-03-10T000000", ""),
    ("--recall-resume eval", ""),
)
"""What is given to resume the run, and the rubric if it is another one."""


def refused(checkout: Checkout, options: str, *more: str) -> str:
    """Return the errors of a run that is refused, and has asked nothing and written nothing into the journal."""
    journals = {path: (path / NAME).read_bytes() for path in checkout.artifacts.runs()}
    asked = checkout.asked()
    result = checkout.run(*options.split(), *more, day=None if "--recall-date" in options else DAY)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert checkout.asked() == asked
    assert {path: (path / NAME).read_bytes() for path in checkout.artifacts.runs()} == journals
    return "".join(f"{line}\n" for line in result.errlines if line.startswith("ERROR: "))
