"""Names of cases in an environment whose encoding is ASCII."""

from __future__ import annotations

import sys

import pytest

from tests.helpers.project import BARE, ECHOING, Project, case

NAMED = ECHOING.with_cases(case("größe"), case("länge"), case("b"))
HOW = "does not have these characters; set PYTHONUTF8=1, or a locale of UTF-8 such as LC_ALL=C.UTF-8"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the environment is in UTF-8")


@pytest.fixture(autouse=True)
def _ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    for name, value in {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}.items():
        monkeypatch.setenv(name, value)


RUNS = """
import os, pytest
for name in ("named", "listed", "other"):
    os.chdir(name)
    more = ["--collect-only", "-q"] if name == "listed" else []
    code = pytest.main(["-p", "recall", "-p", "no:rerunfailures", "eval", *more])
    print(f"{name} ended with {int(code)}", flush=True)
    os.chdir("..")
"""


def test_what_it_does_not_have_is_one_sentence_and_listed_and_other_cases_run(pytester: pytest.Pytester) -> None:
    other = BARE.with_agent("@pytest.fixture\ndef agent():\n    return lambda question: question\n")
    projects = {"named": NAMED, "listed": NAMED, "other": other.with_cases(case("b", input="größe"))}
    for name, project in projects.items():
        Project({f"{name}/{file}": text for file, text in project.files.items()}).at(pytester)
    result = pytester.run(sys.executable, "-c", RUNS)
    lines = list(result.outlines)
    ended = [line for line in lines if " ended with " in line]
    assert ended == ["named ended with 4", "listed ended with 0", "other ended with 0"]
    said = [line for line in (*lines, *result.errlines) if "ERROR" in line]
    assert len(said) == 1
    assert said[0].startswith(
        r"ERROR: eval/cases.yaml::gr\xf6\xdfe (and 1 more case): the encoding of this environment"
    )
    assert said[0].endswith(HOW)
    assert not (pytester.path / "named/eval/asked.txt").exists()
    assert r"eval/cases.yaml::gr\xf6\xdfe" in lines[lines.index(ended[0]) : lines.index(ended[1])]


def test_with_utf_8_it_runs(pytester: pytest.Pytester) -> None:
    NAMED.at(pytester).run("eval").assert_outcomes(passed=3)  # What it prints to is in UTF-8 here.
