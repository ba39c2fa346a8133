"""Programs that cases start, in processes of their own: a replay starts those alone that the rubric names."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterator

import pytest

from tests.helpers.project import BARE, RUBRIC, Checkout, Project
from tests.helpers.talking import agents, asking, trial
from tests.helpers.upstream import Upstream

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs of the tests are scripts")

HEAD = """\
import asyncio
import ctypes
import importlib
import multiprocessing
import os
import subprocess
import sys
import threading
import urllib.request

URL = {url!r}
CLI = os.path.join(os.path.dirname(__file__), "cli.py")
CODE = "import urllib.request; urllib.request.urlopen('" + URL + "')"


def in_multiprocessing(method):
    process = multiprocessing.get_context(method).Process(target=urllib.request.urlopen, args=(URL,))
    process.start()
    process.join()


async def awaited():
    process = await asyncio.create_subprocess_exec(CLI)
    await process.wait()
    process = await asyncio.create_subprocess_shell(CLI)
    await process.wait()


"""
CLI = """\
#!{python}
import urllib.request

urllib.request.urlopen({url!r})
"""
IN_THREAD = "thread = threading.Thread(target=subprocess.run, args=([CLI],))\nthread.start()\nthread.join()\n"
WAYS = {
    "popen": "subprocess.run([CLI])\n",
    "code": "subprocess.run([sys.executable, '-c', CODE])\n",
    "script": "subprocess.run([sys.executable, CLI])\n",
    "shell": "subprocess.run('true; ' + CLI, shell=True)\n",
    "sh": "subprocess.run(['sh', '-c', CLI])\n",
    "system": "os.system(CLI)\n",
    "hidden": "try:\n    subprocess.run([CLI])\nexcept BaseException:\n    pass\n",
    "posix-spawn": "os.waitpid(os.posix_spawn(CLI, [CLI], os.environ), 0)\n",
    "spawnv": "os.spawnv(os.P_WAIT, CLI, [CLI])\n",
    "ctypes": "ctypes.CDLL(None).system(CLI.encode())\n",
    "asyncio": "asyncio.run(awaited())\n",
    "thread": IN_THREAD,
    "spawn": "in_multiprocessing('spawn')\n",
    "forkserver": "in_multiprocessing('forkserver')\n",
}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    made = Upstream()
    yield made
    made.close()


def starting(upstream: Upstream, ways: dict[str, str], rubric: str = "", source: str = "") -> Project:
    """Return a project whose agent asks in each of these ways, for a case of that name."""
    bodies = {name: f"{body}return 'done'\n" for name, body in ways.items()}
    return (
        BARE.with_agent(HEAD.format(url=upstream.url) + agents(bodies) + source)
        .with_cases(*map(asking, ways))
        .with_files(
            {RUBRIC: f"owner: us\n{rubric}", "eval/cli.py": CLI.format(python=sys.executable, url=upstream.url)}
        )
    )


def at(project: Project, pytester: pytest.Pytester) -> Checkout:
    checkout = project.at(pytester)
    (checkout.path / "eval" / "cli.py").chmod(0o755)
    return checkout


def run(checkout: Checkout, *options: str) -> pytest.RunResult:
    return checkout.run_afresh("-p", "recall", "eval", "--recall-mode=all", *options)


def line_to_add(result: pytest.RunResult) -> str:
    """Return the line that a recording says to add to the rubric."""
    (found,) = re.findall(r"have in rubric.yaml: (replay: .*)", "\n".join(result.outlines))
    return str(found)


def test_a_replay_starts_what_the_rubric_names_and_nothing_else(pytester: pytest.Pytester, upstream: Upstream) -> None:
    ways = dict(WAYS)
    if importlib.util.find_spec("uvloop") is not None:
        ways["uvloop"] = "importlib.import_module('uvloop').run(awaited())\n"
    checkout = at(starting(upstream, ways), pytester)
    result = run(checkout, "--record")
    result.assert_outcomes(passed=len(ways))
    asked = upstream.count
    assert asked == len(ways) + sum(name in ways for name in ("asyncio", "uvloop"))
    named = line_to_add(result)

    replayed = run(checkout, "--replay")
    assert upstream.count == asked
    assert set(checkout.outcomes().values()) == {"error"}
    assert all(one.source == "replayed" for one in checkout.journal().trials)
    assert f"have in rubric.yaml: {'replay: {programs: [cli.py]}'}" in replayed.stdout.str()
    assert "multiprocessing" in trial(checkout, "spawn").error

    before = checkout.boxes()
    checkout.pytester.path.joinpath(RUBRIC).write_text(f"owner: us\n{named}\n")
    result = run(checkout, "--replay")
    result.assert_outcomes(passed=len(ways))
    assert upstream.count == 2 * asked
    assert {one.source for one in checkout.journal().trials} == {"replayed"}
    assert {one.programs for one in checkout.journal().trials} == {()}
    programs = checkout.journal().let_through.programs
    assert {"cli.py", "multiprocessing"} <= set(programs)
    result.stdout.fnmatch_lines([f"{len(programs)} programs ran, whose calls are not counted in the cost: *"])
    assert checkout.boxes() == before
    assert "have in rubric.yaml" not in run(checkout, "--record").stdout.str()


@pytest.mark.parametrize("workers", [[], ["-n1"], ["--recall-concurrency=2"]])
def test_where_any_may_run_the_verdict_is_no_evidence(
    pytester: pytest.Pytester, upstream: Upstream, workers: list[str]
) -> None:
    ways = {"popen": WAYS["popen"], "none": ""}
    checkout = at(starting(upstream, ways, "replay: {programs: any}\n"), pytester)
    result = run(checkout, "--replay", "--recall-trust-replays", "--recall-update", *workers)
    result.assert_outcomes(passed=2)
    found = trial(checkout, "popen")
    assert (found.source, found.programs, found.counts_for_schedule) == ("replayed", ("cli.py",), False)
    assert trial(checkout, "none").programs == ()
    assert list(checkout.boxes()) == ["none"]
    assert checkout.scorecard()["programs_ran"] == {"popen": ["cli.py"]}
    result.stdout.fnmatch_lines(["*programs ran in 1 of them*popen*"])


FIXTURE = """

@pytest.fixture(scope="session")
def agent():
    {body}
    return str
"""


@pytest.mark.parametrize(
    "body", ["subprocess.run([CLI])", "exec('try: subprocess.run([CLI])\\nexcept BaseException: 0')"]
)
def test_a_fixture_of_the_session_leaves_its_cases_without_a_verdict(
    pytester: pytest.Pytester, upstream: Upstream, body: str
) -> None:
    source = FIXTURE.format(body=body)
    checkout = at(starting(upstream, {"one": "", "two": ""}, source=source), pytester)
    result = run(checkout, "--replay")
    result.assert_outcomes(errors=2)
    assert upstream.count == 0
    result.stdout.fnmatch_lines(["*fixture `agent`: `cli.py` was not started*"])
    checkout.pytester.path.joinpath(RUBRIC).write_text("owner: us\nreplay: {programs: any}\n")
    run(checkout, "--replay").assert_outcomes(passed=2)
    assert {one.programs for one in checkout.journal().trials} == {("cli.py",)}


def test_what_no_case_starts_is_none_of_its_business(pytester: pytest.Pytester, upstream: Upstream) -> None:
    """A conftest file as it is imported, and what Python asks of the machine in a case."""
    looks = (
        "import ctypes.util, platform, uuid\nctypes.util.find_library('c')\nplatform._Processor.get()\nuuid.getnode()\n"
    )
    checkout = at(starting(upstream, {"looks": looks}, source="\nsubprocess.run(['true'])\n"), pytester)
    for option in ("--record", "--replay"):
        result = run(checkout, option)
        result.assert_outcomes(passed=1)
        assert "rubric.yaml" not in result.stdout.str()


def test_programs_of_our_own_are_none_of_a_case(pytester: pytest.Pytester, upstream: Upstream) -> None:
    """A model that is a program is one call of the cassette, which a replay answers."""
    checkout = at(starting(upstream, {"one": ""}), pytester)
    checkout.pytester.path.joinpath("eval/conftest.py").write_text("")
    cli = checkout.path / "eval" / "cli.py"
    cli.write_text(cli.read_text() + "print('said')\n")
    checkout.pytester.path.joinpath(RUBRIC).write_text(f"owner: us\nmodel_primary: 'command:{cli}'\n")
    for option in ("--record", "--replay"):
        result = run(checkout, option)
        result.assert_outcomes(passed=1)
        assert "have in rubric.yaml" not in result.stdout.str()
    assert upstream.count == 1
