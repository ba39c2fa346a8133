"""Runs in a process that starts from nothing: what it imports, its garbage collector, and an encoding of ASCII."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

from tests.helpers.project import BARE, ECHOING, Project, case
from tests.plugin.conftest import Once

NAMED = ECHOING.with_cases(case("größe"), case("länge"), case("b"))
OTHER = BARE.with_agent("@pytest.fixture\ndef agent():\n    return lambda question: question\n")
HOW = "does not have these characters; set PYTHONUTF8=1, or a locale of UTF-8 such as LC_ALL=C.UTF-8"
ENCODED = {"named": NAMED, "listed": NAMED, "other": OTHER.with_cases(case("b", input="größe"))}
"""Projects whose cases have names, or inputs, that an encoding of ASCII does not have."""
LOADED = """
import sys


def test_loaded():
    assert not [name for name in sys.modules if name.startswith('pytest_recall.memory')]
"""
UNASKED = OTHER.with_cases(case("a")).with_files({"eval/test_loaded.py": LOADED})
"""A project in which no case and no test asks for a memory, so that nothing of it is imported."""

# Python 3.12 has some 400 frozen objects of its own, now and then.
AGENT = """
import gc
import pytest


@pytest.fixture
def agent():
    return lambda question: "held" if gc.get_freeze_count() > 1_000 and gc.isenabled() else "free"


def pytest_unconfigure():
    print("frozen while pytest looks:", gc.get_freeze_count() > 1_000)
"""
LEFT = """

class Left:
    def __init__(self, when):
        self.me, self.when = self, when

    def __del__(self):
        raise ValueError(f"left in a cycle {self.when}")


left = Left("since collection")


def pytest_runtest_teardown():
    globals().pop("left", None)
    Left("by a test")
"""
LOOKS = pytest.version_tuple >= (8, 4)
"""Whether pytest looks for what was left as a session ends; older ones see what happens to be collected in a test."""
EARLIER = "import gc\ngc.freeze()\n"
SET = BARE.with_cases(case("a", input="x", expected="held"))
OFF = "import gc\ngc.disable()\n"
NO_CASE = {
    "eval/conftest.py": """
import gc

import pytest

PAUSED = not gc.get_threshold()[0]


@pytest.fixture
def paused():
    return PAUSED
""",
    "eval/test_collecting.py": """
import gc


def test_collecting(paused):
    assert paused and gc.isenabled() and gc.get_threshold()[0]
""",
}
PROJECTS = {
    "ours": SET.with_files({"eval/conftest.py": AGENT}),
    "no case": Project(NO_CASE),
    "refused": SET.with_files({"conftest.py": AGENT, "eval/rubric.yaml": "owner: x\nmode: nonsense\n"}),
    **({"left": SET.with_files({"eval/conftest.py": AGENT + LEFT})} if LOOKS else {}),
    "off": SET.with_files(
        {"conftest.py": OFF, "eval/conftest.py": AGENT.replace("gc.isenabled()", "not gc.isenabled()", 1)}
    ),
    "another's": SET.with_files({"conftest.py": "import gc\ngc.enable()\n", "eval/conftest.py": EARLIER + AGENT}),
}
"""Each is run after those before it, in one process; what is frozen by another stays so for good."""
RUNS = f"""
import gc, os, pytest, traceback
for name in {[*ENCODED, "unasked", *PROJECTS]!r}:
    os.chdir(name)
    how = ["--collect-only", "-q"] if name == "listed" else [] if name in {list(ENCODED)!r} else ["-s", "--tb=short"]
    try:
        code = pytest.main(["-p", "recall", "eval", *how, "-W", "error"])
    except Exception:  # pytest raises what it finds that was not closed.
        traceback.print_exc()
        code = 1
    frozen = gc.get_freeze_count() > 1_000
    print(f"{{name}}: ended with {{int(code)}}, frozen: {{frozen}}, collecting: {{gc.isenabled()}}", flush=True)
    os.chdir("..")
"""
ENDED = "ended with 0, frozen: False, collecting: True"


class Afresh(NamedTuple):
    """What the runs said, all of them in one process: the lines of each, with how it ended, and what went wrong."""

    lines: dict[str, list[str]]
    ended: dict[str, str]
    errors: list[str]
    asked: bool
    """Whether the agent of `named` was asked."""


@pytest.fixture(scope="module")
def afresh(once: Once) -> Afresh:
    """See the class."""
    with once() as pytester, pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONIOENCODING", raising=False)
        for name, value in {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}.items():
            patch.setenv(name, value)
        for name, project in {**ENCODED, "unasked": UNASKED, **PROJECTS}.items():
            Project({f"{name}/{file}": text for file, text in project.files.items()}).at(pytester)
        done = pytester.run(sys.executable, "-c", RUNS)
        lines: dict[str, list[str]] = {}
        ended: dict[str, str] = {}
        said: list[str] = []
        for line in done.outlines:
            name, found, end = line.partition(": ended with")
            if found:
                lines[name], ended[name], said = said, f"{found}{end}".removeprefix(": "), []
            else:
                said.append(line)
        return Afresh(lines, ended, done.errlines, (pytester.path / "named/eval/asked.txt").exists())


def test_what_stays_is_not_walked_while_cases_run_and_what_was_left_is_found_afterwards(afresh: Afresh) -> None:
    ended = {
        # A case passes while what stays is frozen; a plan that is refused ends with 4.
        "ours": ENDED,
        "no case": ENDED,
        "refused": "ended with 4, frozen: False, collecting: True",
        "left": "ended with 1, frozen: False, collecting: True",
        "off": "ended with 0, frozen: False, collecting: False",
        "another's": "ended with 0, frozen: True, collecting: True",
    }
    assert {name: afresh.ended[name] for name in PROJECTS} == {name: ended[name] for name in PROJECTS}
    every = [line for name in PROJECTS for line in afresh.lines[name]]
    looked = [line.rpartition(" ")[2] for line in every if "frozen while pytest looks" in line]
    assert looked == [str(name == "another's") for name in PROJECTS if name != "no case"]
    said = "\n".join([*every, *afresh.errors])
    for left in ("since collection", "by a test") if LOOKS else ():
        assert f"left in a cycle {left}" in said


def test_a_run_with_an_agent_pays_nothing_for_a_memory(afresh: Afresh) -> None:
    assert afresh.ended["unasked"] == ENDED
    assert any("2 passed" in line for line in afresh.lines["unasked"])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the environment is in UTF-8")
def test_what_an_encoding_does_not_have_is_one_sentence_and_listed_and_other_cases_run(afresh: Afresh) -> None:
    assert {name: afresh.ended[name] for name in ENCODED} == {
        "named": "ended with 4, frozen: False, collecting: True",
        "listed": ENDED,
        "other": ENDED,
    }
    every = [line for name in ENCODED for line in afresh.lines[name]]
    said = [line for line in (*every, *afresh.errors) if "ERROR: eval/cases.yaml::" in line]
    assert len(said) == 1
    assert said[0].startswith(
        r"ERROR: eval/cases.yaml::gr\xf6\xdfe (and 1 more case): the encoding of this environment"
    )
    assert said[0].endswith(HOW)
    assert not [line for line in every if "ERROR" in line and line not in said]
    assert not afresh.asked
    assert r"eval/cases.yaml::gr\xf6\xdfe" in afresh.lines["listed"]


def test_with_utf_8_it_runs(pytester: pytest.Pytester) -> None:
    NAMED.at(pytester).run("eval").assert_outcomes(passed=3)  # What it prints to is in UTF-8 here.
