"""xdist: one plan and one writer; and two runs at once on one checkout."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.helpers import programs
from tests.helpers.project import BARE, ECHOING, Project, case, failing, row

MANY = {f"c{number:02}": row(2) for number in range(20)}
SET = ECHOING.with_cases(*map(case, MANY), failing("bad")).with_state(bad=row(3, 3), **MANY)


def python() -> str:
    """Return a Python whose pytest is a process of its own that starts at once."""
    return str(programs.folder() / "python")


@pytest.mark.parametrize("options", ["-n2 --dist=each", "-n2 --dist=loadfile"])
def test_however_the_cases_are_dealt_out_the_state_is_the_same(pytester: pytest.Pytester, options: str) -> None:
    checkout = SET.at(pytester)
    checkout.run("eval", *options.split())
    assert checkout.boxes() == {"bad": 1, **dict.fromkeys(MANY, 3)}
    assert checkout.scorecard()["counts"] == {"passed": 20, "failed": 1}


def test_there_is_one_journal_and_one_scorecard(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    result = checkout.run("eval", "-n2")
    assert checkout.boxes() == {"bad": 1, **dict.fromkeys(MANY, 3)}
    assert checkout.scorecard()["counts"] == {"passed": 20, "failed": 1}
    assert len(checkout.artifacts.runs()) == 1
    assert sum("recall scorecard" in line for line in result.outlines) == 1
    result.stdout.fnmatch_lines(["recall: pr 2026-03-10, seed 2026-03-10: 21 of 21 cases (21 due)", "2 workers *"])
    assert sum(line.startswith("recall: ") for line in result.outlines) == 1


def test_answers_survive_the_way_to_the_controller(pytester: pytest.Pytester) -> None:
    odd = "naïve “ü” \u2028 \U0001f600 \ud800 \x00 end"
    source = f"\n\n@pytest.fixture\ndef agent():\n    return lambda question: {odd!a}\n"
    checkout = BARE.with_agent(source).with_cases(case("a", judges=[{"regex": "end$"}])).at(pytester)
    texts = []
    for workers in ((), ("-n1",)):
        checkout.run("eval", *workers).assert_outcomes(passed=1)
        answer = checkout.journal().trials[0].answer
        assert answer is not None
        texts.append(answer.text)
    assert texts[0] == texts[1] == odd.replace("\ud800", "?")


class TestTwoRunsAtOnce:
    """Neither run loses the other's rows."""

    @staticmethod
    def project(agent: str) -> Project:
        return (
            BARE.with_agent(f"PYTHON = {python()!r}\n{agent}")
            .with_cases(case("a1"), case("a2"), file="eval/a.cases.yaml")
            .with_cases(case("b1"), case("b2"), file="eval/b.cases.yaml")
            .with_state(a1=row(2), a2=row(2), b1=row(2), b2=row(2))
        )

    def test_a_whole_run_inside_another_ones_case(self, pytester: pytest.Pytester) -> None:
        source = """
import subprocess


@pytest.fixture
def agent():
    def answer(question):
        if question == "a1":
            command = [PYTHON, "-m", "pytest", "eval/b.cases.yaml", "--recall-date=2026-03-10"]
            subprocess.run(command, check=True, capture_output=True)
        return question

    return answer
"""
        checkout = self.project(source).at(pytester)
        checkout.run("eval/a.cases.yaml", "-n1").assert_outcomes(passed=2)
        assert checkout.boxes() == {"a1": 3, "a2": 3, "b1": 3, "b2": 3}
        assert len(checkout.artifacts.runs()) == 2

    def test_two_processes_that_are_in_the_middle_of_a_case_together(self, pytester: pytest.Pytester) -> None:
        # Each opens its end of a pipe, which blocks until the other one does as well.
        source = """
import os


@pytest.fixture
def agent():
    def answer(question):
        if question.endswith("1"):
            meeting = pathlib.Path(__file__).with_name("meeting")
            os.close(os.open(meeting, os.O_RDONLY if question == "a1" else os.O_WRONLY))
        return question

    return answer
"""
        checkout = self.project(source).at(pytester)
        os.mkfifo(checkout.path / "eval/meeting")
        common = [python(), "-m", "pytest", "--recall-date=2026-03-10"]
        runs = [pytester.popen([*common, f"eval/{name}.cases.yaml"], stdin=subprocess.DEVNULL) for name in "ab"]
        try:
            outputs = [run.communicate(timeout=60)[0].decode() for run in runs]
        finally:
            for run in runs:
                run.kill()
        assert [run.returncode for run in runs] == [0, 0], "\n".join(outputs)
        assert checkout.boxes() == {"a1": 3, "a2": 3, "b1": 3, "b2": 3}
        assert len(checkout.artifacts.runs()) == 2
        assert all("2 rows changed" in output for output in outputs)

    def test_the_same_case_twice_counts_as_one_pass_and_an_early_one(self, pytester: pytest.Pytester) -> None:
        source = """
import subprocess


@pytest.fixture
def agent():
    def answer(question):
        asked(question)
        if len(pathlib.Path(__file__).with_name("asked.txt").read_text().split()) == 1:
            command = [PYTHON, "-m", "pytest", "eval/a.cases.yaml", "--recall-date=2026-03-10"]
            subprocess.run(command, check=True, capture_output=True)
        return question

    return answer
"""
        checkout = self.project(source).at(pytester)
        checkout.run("eval/a.cases.yaml").assert_outcomes(passed=2)
        assert checkout.boxes() == {"a1": 3, "a2": 3, "b1": 2, "b2": 2}
