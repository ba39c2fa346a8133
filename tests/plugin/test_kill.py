"""Processes that die: a whole run, and a worker under a case."""

from __future__ import annotations

import signal

import pytest

from pytest_recall.trials.journal import NAME
from tests.helpers import kept, programs
from tests.helpers.project import BARE, Checkout, Project, case, row

DYING = {
    "exit": "os._exit(9)",
    "sigkill": "os.kill(os.getpid(), signal.SIGKILL)",
}


def dying(statement: str, count: int = 6) -> Project:
    """Return a project with the cases c0 … and die, whose agent runs `statement` at the last."""
    source = f"""
import os
import signal


@pytest.fixture
def agent():
    def answer(question):
        asked(question)
        if question == "die":
            {statement}
        return question

    return answer
"""
    names = [f"c{number}" for number in range(count)]
    rows = {name: row(2) for name in names}
    return BARE.with_agent(source).with_cases(*map(case, names), case("die")).with_state(die=row(4, 4), **rows)


def finished(checkout: Checkout) -> set[str]:
    """Return the cases with a verdict in the newest journal."""
    return {trial.case_id for trial in checkout.journal().trials if trial.outcome.is_verdict}


class TestWholeRun:
    """SIGKILL of the run itself; `recall state apply` applies what had finished, exactly once."""

    def killed(self, pytester: pytest.Pytester) -> Checkout:
        """Return where a run was killed at the last case: `die` and `c0` had rows before it."""

        def begin() -> Checkout:
            # Two passes take a new case to box 2, so that applying twice would show.
            checkout = dying(DYING["sigkill"]).with_state(die=row(4, 4), c0=row(2)).at(pytester)
            before = checkout.state_text()
            assert checkout.run_apart("eval", "--recall-pr=17", "--recall-mode=all").ret == -signal.SIGKILL
            assert checkout.state_text() == before
            return checkout

        return kept.after(pytester, "killed", begin)

    def test_the_journal_holds_what_had_finished_and_apply_folds_it_exactly_once(
        self, pytester: pytest.Pytester
    ) -> None:
        checkout = self.killed(pytester)
        assert finished(checkout) == {f"c{number}" for number in range(6)}
        assert checkout.journal().exit_code is None
        assert checkout.recall("state", "apply", "latest").ret == 0
        card = checkout.scorecard()
        assert card["counts"] == {"passed": 6, "not run": 1}, "`apply` writes the scorecard that the run could not"
        assert card["exit_code"] is None
        assert card["complete"] is False
        assert checkout.boxes() == {"die": 4, "c0": 3, **{f"c{number}": 1 for number in range(1, 6)}}
        assert checkout.state()["c0"].last_pr == "17"
        once = checkout.state_text()
        second = checkout.recall("state", "apply", "latest")
        assert second.ret == 0
        second.stdout.fnmatch_lines(["*: already in eval/recall.yaml"])
        assert checkout.state_text() == once

    def test_a_run_that_is_applied_while_it_goes_on_is_folded_once_as_well(self, pytester: pytest.Pytester) -> None:
        python = str(programs.folder() / "python")
        apply = f"subprocess.run([{python!r}, '-m', 'pytest_recall', 'state', 'apply', 'latest'], check=True)"
        # A second pass would take a new case to box 2.
        checkout = dying(f"import subprocess; {apply}").without("eval/recall.yaml").at(pytester)
        checkout.run("eval", "--recall-mode=all").assert_outcomes(passed=7)
        assert checkout.boxes() == {"die": 1, **{f"c{number}": 1 for number in range(6)}}

    def test_a_line_that_was_cut_off_is_left_out(self, pytester: pytest.Pytester) -> None:
        checkout = self.killed(pytester)
        journal = checkout.artifacts.runs()[-1] / NAME
        journal.write_bytes(journal.read_bytes()[:-20])
        assert checkout.recall("state", "apply", "latest").ret == 0
        assert checkout.boxes() == {"die": 4, "c0": 3, **{f"c{number}": 1 for number in range(1, 5)}}

    def test_the_next_run_starts_where_the_killed_one_did(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = dying("os.environ.get('ALIVE') or os._exit(9)").at(pytester)
        assert checkout.run_apart("eval").ret == 9
        monkeypatch.setenv("ALIVE", "1")
        checkout.run("eval").assert_outcomes(passed=7)
        assert checkout.boxes() == {"die": 5, **{f"c{number}": 3 for number in range(6)}}
        # The killed run comes second now: its passes are early ones, and promote nothing.
        first = checkout.artifacts.runs()[0]
        assert checkout.recall("state", "apply", first.name).ret == 0
        assert checkout.boxes() == {"die": 5, **{f"c{number}": 3 for number in range(6)}}

    def test_with_workers_what_had_reached_the_controller_is_folded(self, pytester: pytest.Pytester) -> None:
        checkout = dying("os.kill(os.getppid(), signal.SIGKILL)").at(pytester)
        assert checkout.run_apart("eval", "-n2").ret == -signal.SIGKILL
        # The last case is dealt out only when the controller has heard of earlier ones.
        done = finished(checkout)
        assert done
        assert checkout.recall("state", "apply", "latest").ret == 0
        boxes = {f"c{number}": 3 if f"c{number}" in done else 2 for number in range(6)}
        assert checkout.boxes() == {"die": 4, **boxes}

    def test_ctrl_c_with_workers_folds_what_had_reached_the_controller(self, pytester: pytest.Pytester) -> None:
        checkout = dying("os.kill(os.getppid(), signal.SIGINT)").at(pytester)
        result = checkout.run_apart("eval", "-n2")
        assert result.ret == pytest.ExitCode.INTERRUPTED
        done = finished(checkout)
        assert done
        before = {"die": 4, **{f"c{number}": 2 for number in range(6)}}
        assert checkout.boxes() == {name: box + (name in done) for name, box in before.items()}
        result.stdout.fnmatch_lines(["*= recall scorecard =*"])


class TestWorker:
    """A worker that dies under a case: an error of that case, and the loss of no other."""

    def test_its_case_is_an_error_and_every_other_is_folded(self, pytester: pytest.Pytester) -> None:
        checkout = dying(DYING["sigkill"]).at(pytester)
        result = checkout.run("eval", "-n2")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert checkout.outcomes() == {"die": "error", **{f"c{number}": "passed" for number in range(6)}}
        assert checkout.state()["die"] == row(4, 4)
        assert checkout.boxes() == {"die": 4, **{f"c{number}": 3 for number in range(6)}}
        [told] = checkout.scorecard()["no_verdict"]
        assert told["id"] == "die"
        assert (told["reason"], told["ended_by"]) == ("due", "crash")
        result.stdout.fnmatch_lines(["  error: die: *worker * crashed while running *"])
        assert "INTERNALERROR" not in result.stdout.str()
        assert checkout.scorecard()["by_scenario"] == {"one": {"passed": 6, "error": 1}}

    def test_what_had_arrived_stands_a_marked_test_is_known_by_its_case_and_a_plain_one_is_none(
        self, pytester: pytest.Pytester
    ) -> None:
        agent = """
import os


@pytest.fixture
def agent(request):
    yield lambda question: question
    if request.node.name == "die":
        os._exit(9)
"""
        marked = (
            "import os\n\nimport pytest\n\n\n"
            '@pytest.mark.recall("by-hand")\ndef test_by_hand():\n    os._exit(9)\n\n\n'
            '@pytest.mark.recall("other")\ndef test_other():\n    pass\n'
        )
        plain = "import os\n\n\ndef test_it():\n    os._exit(9)\n"
        files = {"eval/test_marked.py": marked, "eval/test_plain.py": plain}
        checkout = dying("pass").with_agent(agent).with_files(files).at(pytester)
        assert checkout.run("eval", "-n1").ret == pytest.ExitCode.TESTS_FAILED
        passed = ("die", "other", *(f"c{number}" for number in range(6)))
        assert checkout.outcomes() == {"by-hand": "error", **dict.fromkeys(passed, "passed")}
        assert checkout.boxes() == {"die": 5, "other": 1, **{f"c{number}": 3 for number in range(6)}}
        assert checkout.scorecard()["counts"] == {"passed": 8, "error": 1}
        assert checkout.scorecard()["not_run"] == []

    def test_every_worker_may_die_and_a_new_case_stays_new(self, pytester: pytest.Pytester) -> None:
        checkout = dying(DYING["exit"], count=1).without("eval/recall.yaml").at(pytester)
        checkout.run("eval", "-n1", "--max-worker-restart=0")
        assert checkout.outcomes() == {"c0": "passed", "die": "error"}
        assert checkout.boxes() == {"c0": 1}
