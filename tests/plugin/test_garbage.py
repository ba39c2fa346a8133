"""The garbage collector: held off what stays while cases run, and left as it was found."""

from __future__ import annotations

import sys

import pytest

from tests.helpers.project import BARE, Project, case

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
EARLIER = "import gc\ngc.freeze()\n"
SET = BARE.with_cases(case("a", input="x", expected="held"))
OFF = "import gc\ngc.disable()\n"
PROJECTS = {
    "ours": SET.with_files({"eval/conftest.py": AGENT}),
    "refused": SET.with_files({"conftest.py": AGENT, "eval/rubric.yaml": "owner: x\nmode: nonsense\n"}),
    "left": SET.with_files({"eval/conftest.py": AGENT + LEFT}),
    "off": SET.with_files(
        {"conftest.py": OFF, "eval/conftest.py": AGENT.replace("gc.isenabled()", "not gc.isenabled()", 1)}
    ),
    "another's": SET.with_files({"conftest.py": "import gc\ngc.enable()\n", "eval/conftest.py": EARLIER + AGENT}),
}
"""Each is run after those before it, in one process; what is frozen by another stays so for good."""
LOOKS = pytest.version_tuple >= (8, 4)
"""Whether pytest looks for what was not closed."""
RUNS = f"""
import gc, os, pytest, traceback
for name in {list(PROJECTS)!r}:
    os.chdir(name)
    try:
        code = pytest.main(["-p", "recall", "eval", "-s", "-W", "error", "--tb=short"])
    except Exception:  # pytest raises what it finds that was not closed.
        traceback.print_exc()
        code = 1
    frozen = gc.get_freeze_count() > 1_000
    print(f"{{name}}: ended with {{int(code)}}, frozen: {{frozen}}, collecting: {{gc.isenabled()}}")
    os.chdir("..")
"""


def test_what_stays_is_not_walked_while_cases_run_and_what_was_left_is_found_afterwards(
    pytester: pytest.Pytester,
) -> None:
    for name, project in PROJECTS.items():
        Project({f"{name}/{file}": text for file, text in project.files.items()}).at(pytester)
    done = pytester.run(sys.executable, "-c", RUNS)
    told = dict(line.split(": ", 1) for line in done.outlines if ": ended with" in line)
    assert told == {  # A case passes while what stays is frozen; a plan that is refused ends with 4.
        "ours": "ended with 0, frozen: False, collecting: True",
        "refused": "ended with 4, frozen: False, collecting: True",
        "left": f"ended with {int(LOOKS)}, frozen: False, collecting: True",
        "off": "ended with 0, frozen: False, collecting: False",
        "another's": "ended with 0, frozen: True, collecting: True",
    }
    looked = [line.rpartition(" ")[2] for line in done.outlines if "frozen while pytest looks" in line]
    assert looked == ["False", "False", "False", "False", "True"]
    said = done.stdout.str() + done.stderr.str()
    for left in ("since collection", "by a test") if LOOKS else ():
        assert f"left in a cycle {left}" in said
