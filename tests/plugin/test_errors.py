"""Mistakes in files: said in one sentence each, before the agent is asked anything."""

from __future__ import annotations

import os

import pytest

from tests.helpers.project import BARE, ECHOING, RUBRIC, case, crashing, failing

SET = ECHOING.with_cases(case("a"), case("b"))


def test_they_are_of_no_concern_elsewhere(pytester: pytest.Pytester) -> None:
    files = {"eval/case.yml": "", "tests/test_a.py": "def test_a(): pass\n"}
    checkout = SET.with_files(files).at(pytester)
    checkout.run("tests").assert_outcomes(passed=1)
    (checkout.path / RUBRIC).unlink()  # The folder is another tool's.
    checkout.run().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("harm", "workers"),
    [
        # Each leaves a state that cannot be written, at the time when the first case is asked.
        ("state.symlink_to('/proc/no-such-place/recall.yaml')", ()),
        ("state.write_text('<<<<<<< ours\\n')", ()),
        ("state.mkdir()", ("-n1",)),
    ],
    ids=["unwritable", "conflict", "directory-n1"],
)
def test_a_state_that_cannot_be_written_is_said_in_red_and_the_rest_still_shown(
    pytester: pytest.Pytester, harm: str, workers: tuple[str, ...]
) -> None:
    source = f"""
@pytest.fixture
def agent():
    def answer(question):
        state = pathlib.Path(__file__).with_name("recall.yaml")
        {harm}
        return question

    return answer
"""
    checkout = ECHOING.with_agent(source).with_cases(case("a")).at(pytester)
    result = checkout.run("eval", "--color=yes", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED == checkout.journal().exit_code
    [said] = [line for line in result.outlines if "recall state apply" in line]
    assert said.startswith("\x1b[31m")
    assert "eval/recall.yaml: not written (" in said
    run = checkout.artifacts.runs()[-1].name
    assert f"; correct that, then `recall state apply {run}`" in said
    result.stdout.fnmatch_lines(["*= recall scorecard =*", "*No regression: 1 case passes*", "1 case, *"])
    assert checkout.scorecard()["counts"] == {"passed": 1}
    if "write_text" in harm:  # What was not written can be applied later.
        (checkout.path / "eval/recall.yaml").unlink()
        assert checkout.recall("state", "apply", "latest").ret == 0
        assert checkout.boxes() == {"a": 1}


@pytest.mark.skipif(os.name != "posix", reason="needs a path that cannot be written")
def test_a_run_that_cannot_be_journalled_does_not_start(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    checkout.artifacts.folder.symlink_to("/proc/no-such-place")
    result = checkout.run("eval")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [said] = [line for line in [*result.outlines, *result.errlines] if "nothing was run" in line]
    assert "_artifacts: is a link to /proc/no-such-place, out of its folder, which is not followed to write" in said
    assert checkout.asked() == []
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_a_traceback_that_python_cannot_read_is_printed_as_it_prints_one(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **given: object) -> None:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(pytest.Function, "repr_failure", broken)
    checkout = ECHOING.with_cases(crashing("a"), case("b")).at(pytester)
    result = checkout.run("eval")
    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*Traceback (most recent call last):"])


KEY = "sk-proj-Zq7Wm3Kp9Xv2Rt5Yb8Nc4Ld6Hf1Jg0Sa"
TELLING = """\
import os


@pytest.fixture
def agent():
    def answer(question):
        key = os.environ["OPENAI_API_KEY"]
        if question == "crash":
            raise ValueError(f"bad key {key}")
        if question == "fail":
            pytest.fail("there is no key")
        return f"it is {key}"
    return answer
"""


@pytest.mark.parametrize("options", [(), ("--record",), ("-n1",)], ids=["live", "recorded", "worker"])
def test_no_run_writes_or_prints_a_secret_of_the_environment(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    checkout = BARE.with_agent(TELLING).with_cases(failing("told"), case("crash", input="crash")).at(pytester)
    result = checkout.run("eval", "--recall-mode=all", "--junitxml=out.xml", *options)
    assert checkout.outcomes() == {"told": "failed", "crash": "error"}
    assert "ValueError: bad key [OPENAI_API_KEY]" in result.stdout.str()
    assert KEY not in result.stdout.str() + result.stderr.str()
    written = [path for path in checkout.path.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".py")]
    assert {"recall.yaml", "trials.jsonl", "scorecard.md", "out.xml"} <= {path.name for path in written}
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []


def test_a_test_that_an_agent_fails_shows_the_agent_alone(pytester: pytest.Pytester) -> None:
    checkout = BARE.with_agent(TELLING).with_cases(case("a", input="fail")).at(pytester)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        result = checkout.run("eval")
    assert checkout.outcomes() == {"a": "error"}
    result.stdout.fnmatch_lines(["*Failed: there is no key", "*eval/conftest.py:*: Failed"])
    for ours in ("case_item.py", "execution.py", "def run_case"):
        result.stdout.no_fnmatch_line(f"*{ours}*")
