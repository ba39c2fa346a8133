"""Programs that cases start, from end to end: named in one line, and refused in a replay where they ask models."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.helpers.project import BARE, RUBRIC, Checkout, Project
from tests.helpers.talking import agent, asking

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs of the tests are scripts of a shell")

UNSEEN = "what they ask over the network is neither recorded nor replayed"
BODY = """\
import subprocess
for name in question.split(","):
    said = subprocess.run([name, "-p", "hi"], capture_output=True, text=True, check=True).stdout
return said
"""


@pytest.fixture(autouse=True)
def programs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put `claude`, `git`, `rg` and `curl` on the PATH, and return the file in which they write that they were run."""
    folder = tmp_path_factory.mktemp("programs")
    for name in ("claude", "git", "rg", "curl"):
        # Our own git is asked for the commit of the run.
        text = f'#!/bin/sh\n[ "$1" = -p ] && echo {name} >> {folder}/ran\necho said by {name}\n'
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder / "ran"


def ran(log: Path) -> list[str]:
    return sorted(log.read_text().split()) if log.exists() else []


def started(*prompts: str, source: str = "") -> Project:
    """Return a project whose agent starts the programs that it is asked for; a case is named by them."""
    cases = (asking(prompt.replace(",", "-"), prompt) for prompt in prompts)
    return BARE.with_agent(source or agent(BODY)).with_cases(*cases)


def run(checkout: Checkout, *options: str) -> pytest.RunResult:
    return checkout.run("eval", "--recall-mode=all", *options)


def line(result: pytest.RunResult) -> str:
    """Return the line about programs; there is one at most."""
    found = [one for one in result.outlines if one.startswith("programs that cases started")]
    assert len(found) < 2, found
    return found[0] if found else ""


def test_a_recording_names_them_with_their_counts(pytester: pytest.Pytester, programs: Path) -> None:
    checkout = started("git,rg,git", "git", "claude").at(pytester)
    result = run(checkout, "--record", "-n1")
    result.assert_outcomes(passed=3)
    refused = "A replay refuses claude, unless `allow_unrecorded` in rubric.yaml names it"
    assert line(result) == f"programs that cases started: git (3), claude (1), rg (1); {UNSEEN}. {refused}"
    assert ran(programs) == ["claude", "git", "git", "git", "rg"]


def test_a_replay_starts_tools_and_no_model_whatever_the_agent_makes_of_it(
    pytester: pytest.Pytester, programs: Path
) -> None:
    hiding = (
        "if question == 'hidden':\n"
        "    try:\n        exec('import subprocess; subprocess.run([\"claude\"])')\n"
        "    except BaseException:\n        pass\n"
        "    return 'x'\n"
    )
    checkout = started("git", "rg", "git,claude", "hidden", source=agent(hiding + BODY)).at(pytester)
    result = run(checkout, "--replay")
    result.assert_outcomes(passed=2, errors=2)
    assert checkout.outcomes() == {"git": "passed", "rg": "passed", "git-claude": "error", "hidden": "error"}
    assert line(result) == f"programs that cases started: git (2), rg (1); {UNSEEN}"
    result.stdout.fnmatch_lines(
        [
            "*error: git-claude: case `git-claude`: `claude` was not started, since it asks models by itself, which is"
            " neither recorded nor replayed; let a replay do without it, or allow it by `allow_unrecorded: [[]claude]`"
            " in rubric.yaml"
        ]
    )
    assert ran(programs) == ["git", "git", "rg"]


def test_a_program_that_is_allowed_is_started(pytester: pytest.Pytester, programs: Path) -> None:
    rubric = {RUBRIC: "owner: us\nallow_unrecorded: [claude]\n"}
    checkout = started("claude", "git").with_files(rubric).at(pytester)
    result = run(checkout, "--replay")
    result.assert_outcomes(passed=2)
    again = "As `allow_unrecorded` says, claude asked again, at a cost that is not known"
    assert line(result) == f"programs that cases started: claude (1), git (1); {UNSEEN}. {again}"
    assert line(run(checkout, "--record")) == f"programs that cases started: claude (1), git (1); {UNSEEN}"
    assert ran(programs) == ["claude", "claude", "git", "git"]


def test_a_fixture_of_the_session_is_answered_for_by_its_cases(pytester: pytest.Pytester, programs: Path) -> None:
    source = "@pytest.fixture(scope='session')\ndef agent():\n    import subprocess\n    {}\n    return str\n"
    checkout = started("one", source=source.format("subprocess.run(['git', '-p'])")).at(pytester)
    result = run(checkout, "--replay")
    result.assert_outcomes(passed=1)
    assert line(result) == f"programs that cases started: git (1); {UNSEEN}"
    started("one", source=source.format("subprocess.run(['claude', '-p'])")).at(pytester)
    result = run(checkout, "--replay")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture `agent`: `claude` was not started*"])
    assert ran(programs) == ["git"]


def test_cases_that_run_at_once_answer_for_their_own(pytester: pytest.Pytester, programs: Path) -> None:
    checkout = started("git", "claude", "rg", "git,rg").at(pytester)
    result = run(checkout, "--replay", "--recall-concurrency=3")
    assert checkout.outcomes() == {"git": "passed", "claude": "error", "rg": "passed", "git-rg": "passed"}
    assert line(result) == f"programs that cases started: git (2), rg (2); {UNSEEN}"
    assert ran(programs) == ["git", "git", "rg", "rg"]


def test_curl_of_a_tool_asks_nobody(pytester: pytest.Pytester, programs: Path) -> None:
    body = "import os\nreturn str(os.system('curl -p ' + question))"
    project = BARE.with_agent(agent(body)).with_cases(
        asking("far", "https://api.example.com/v1"), asking("near", "http://127.0.0.1:9/")
    )
    checkout = project.at(pytester)
    result = run(checkout, "--replay")
    assert checkout.outcomes() == {"far": "error", "near": "passed"}
    result.stdout.fnmatch_lines(["*case `far`: `curl` was not started, since it asks api.example.com, which is*"])
    assert line(result) == f"programs that cases started: curl (1); {UNSEEN}"
    assert ran(programs) == ["curl"]


def test_what_no_case_starts_is_not_named(pytester: pytest.Pytester, programs: Path) -> None:
    """By a conftest file as it is imported, and by a case of a run that neither records nor replays."""
    conftest = "import subprocess\n\nsubprocess.run(['git', '-p'], check=True)\n" + agent("return question")
    checkout = started("one", source=conftest).at(pytester)
    for options in (["--record"], ["--replay"]):
        result = run(checkout, *options)
        result.assert_outcomes(passed=1)
        assert line(result) == ""
    assert line(run(started("git").at(pytester))) == ""
    assert ran(programs) == ["git"] * 3


def test_a_conftest_file_asks_no_model_either(pytester: pytest.Pytester, programs: Path) -> None:
    conftest = "import subprocess\n\nsubprocess.run(['claude', '-p'], check=True)\n" + agent("return question")
    checkout = started("one", source=conftest).at(pytester)
    result = checkout.run_apart("eval", "--replay")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: outside of any case: `claude` was not started*"])
    assert ran(programs) == []


def test_a_model_that_is_a_program_is_recorded_and_no_program_of_a_case(
    pytester: pytest.Pytester, programs: Path
) -> None:
    """It is one call of the cassette, which a replay answers."""
    rubric = {RUBRIC: "owner: us\nmodel_primary: command:claude -p\n", "eval/conftest.py": ""}
    checkout = BARE.with_files(rubric).with_cases(asking("one")).at(pytester)
    for option in ("--record", "--replay"):
        result = run(checkout, option)
        result.assert_outcomes(passed=1)
        assert line(result) == ""
    assert ran(programs) == ["claude"]
