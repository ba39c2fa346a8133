"""`recall compare` end to end: real runs of an agent that gets worse, and of one that does not."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import Recall
from tests.cli.samples import files, python, recall
from tests.helpers.command import Done
from tests.helpers.screens import assert_screen, shown

SCREENS = Path(__file__).parent / "screens"

CASE = """\
- id: {scenario}-{number}
  scenario: {scenario}
  dimension: facts
  input: {scenario} {number}
  judges: [{{contains: "yes"}}]
"""
CONFTEST = """\
import os

import pytest


@pytest.fixture(scope="session")
def agent():
    wrong = os.environ.get("WRONG", "").split(",")
    return lambda question: "no" if question in wrong or question.split()[0] in wrong else "yes"
"""


def evals(folder: Path, wrong: str, *options: str) -> Done:
    """Run all cases, with an agent that is wrong in these scenarios or on these questions."""
    command = ("-m", "pytest", "-q", "-p", "recall", "-p", "no:cacheprovider", "eval", "--recall-mode", "all")
    done = python(folder, *command, "--recall-date", "2026-03-10", *options, WRONG=wrong)
    assert done.code in (0, 1), done
    return done


def names(folder: Path) -> list[str]:
    """Return the names of the runs, oldest first."""
    runs = (folder / "eval" / "_artifacts").glob("*/trials.jsonl")
    return sorted((run.parent.name for run in runs), key=lambda name: (name[:17], len(name), name))


@pytest.fixture(scope="session")
def _three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("three") / "project"
    (folder / "eval").mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    cases = [CASE.format(scenario=scenario, number=n) for scenario in ("fees", "loans") for n in range(12)]
    (folder / "eval" / "cases.yaml").write_text("\n".join(cases), encoding="utf-8")
    (folder / "eval" / "rubric.yaml").write_text("owner: us\n", encoding="utf-8")
    (folder / "eval" / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    for wrong in ("loans 1,loans 2", "loans 1,fees 3", "loans 1,fees"):
        evals(folder, wrong)
    return folder


@pytest.fixture
def three(_three: Path, tmp_path: Path) -> Path:
    """A project with three runs: the second flips two cases, in the third all of `fees` is wrong."""
    return Path(shutil.copytree(_three, tmp_path / "three"))


def test_what_it_says(three: Path, inside: Recall) -> None:
    before = files(three)
    first, second, _ = names(three)
    commands = (
        f"compare {first} {second}",
        "compare previous latest",
        "compare latest previous",
        "compare previous latest --alpha 0.0001",
        "compare previous latest --scenarios loans --dimensions facts",
        "compare previous latest --markdown",
    )
    screen = re.sub(r"\d\.\d\d s\b", "… s", shown(partial(inside, three), *commands))
    assert_screen(SCREENS / "compare.txt", screen)
    assert files(three) == before


def test_a_drop_is_an_exit_code_of_the_process(three: Path) -> None:
    assert recall(three, "compare", "previous", "latest").code == 1


def test_json(three: Path, inside: Recall) -> None:
    done = inside(three, "compare", "previous", "latest", "--json")
    found = json.loads(done.out)
    assert (done.code, found["shown"], found["drops"]) == (1, "drop", ["all cases", "scenario fees"])
    assert (found["overall"]["lost"], found["overall"]["gained"], len(found["lost"])) == (11, 0, 11)
    assert found["by_scenario"]["loans"]["difference"] == 0


@pytest.mark.parametrize(
    ("condition", "small", "large"),
    [("drop", 0, 1), ("any-flip", 1, 1), ("never", 0, 0), ("45.8", 0, 1), ("46", 0, 0), ("0.1", 0, 1)],
)
def test_fail_on(three: Path, condition: str, small: int, large: int, inside: Recall) -> None:
    first, second, _ = names(three)
    assert inside(three, "compare", first, second, "--fail-on", condition).code == small
    assert inside(three, "compare", "previous", "latest", "--fail-on", condition).code == large


def test_fail_on_a_fall_by_exactly_so_much(three: Path, inside: Recall) -> None:
    """11 of 12 are 91.666… points."""
    narrowed = ("compare", "previous", "latest", "--scenarios", "fees", "--fail-on")
    assert [inside(three, *narrowed, points).code for points in ("91.66", "91.67")] == [1, 0]


def test_a_scenario_that_neither_run_has(three: Path, inside: Recall) -> None:
    done = inside(three, "compare", "previous", "latest", "--scenarios", "loan")
    assert (done.code, done.out, "`loans`" in done.err) == (2, "", True)


def test_a_committed_baseline_and_another_checkout(three: Path, tmp_path: Path, inside: Recall) -> None:
    first = three / "eval" / "_artifacts" / names(three)[0]
    (three / "baseline").mkdir()
    shutil.copy(first / "trials.jsonl", three / "baseline")
    elsewhere = Path(shutil.copytree(first, tmp_path / "elsewhere"))
    for base in ("baseline/trials.jsonl", "baseline", str(elsewhere), str(elsewhere / "trials.jsonl")):
        done = inside(three, "compare", base, "latest")
        assert (done.code, "passed in BASE, fails in HEAD (12):" in done.out) == (1, True)


def test_a_run_is_not_compared_with_itself(three: Path, inside: Recall) -> None:
    name = names(three)[-1]
    shutil.copytree(three / "eval" / "_artifacts" / name, three / "copy")
    for pair in (("latest", "latest"), ("latest", name), (f"eval/_artifacts/{name}", "latest"), ("copy", "latest")):
        done = inside(three, "compare", *pair)
        assert done == (2, "", f"recall: {pair[0]} and {pair[1]} are both the run {name}; name two runs\n")


def test_runs_of_one_name_are_told_apart(three: Path, tmp_path: Path, inside: Recall) -> None:
    *_, before, name = names(three)
    text = (three / "eval" / "_artifacts" / before / "trials.jsonl").read_text(encoding="utf-8")
    kept = three / "eval" / "_artifacts" / name / "earlier-1"
    kept.mkdir()
    (kept / "trials.jsonl").write_text(text.replace(f'"run":"{before}"', f'"run":"{name}"'), encoding="utf-8")
    pair = (str(kept), "latest")
    told = inside(three, "compare", *pair).out.splitlines()
    assert [line.split(":")[0] for line in told[:2]] == ["BASE earlier-1", f"HEAD {name}"]
    plain = json.loads(inside(three, "compare", *pair, "--json").out)
    assert (plain["base"]["run"], plain["head"]["run"]) == ("earlier-1", name)
    assert inside(three, "report", *pair, "-o", str(tmp_path / "page.html")).code == 0
    assert f"earlier-1 and {name}" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_no_such_run(three: Path, inside: Recall) -> None:
    done = inside(three, "compare", names(three)[0][:-1] + "x", "latest")
    assert (done.code, done.out) == (2, "")
    assert "did you mean" in done.err
    assert inside(three, "compare", "latest").code == 2


def test_changed_cases_are_other_questions(three: Path, inside: Recall) -> None:
    cases = three / "eval" / "cases.yaml"
    cases.write_text(cases.read_text(encoding="utf-8").replace("fees 3\n", "fees three\n"), encoding="utf-8")
    evals(three, "fees")
    done = inside(three, "compare", "previous", "latest")
    assert "23 cases with a verdict in both; not compared: 1 whose text or judges changed" in done.out
    assert "not the same question: fees-3;" in done.out
    assert (
        "24 cases with a verdict in both\n" in inside(three, "compare", "previous", "latest", "--include-changed").out
    )


def test_nothing_in_common_is_no_good_news(three: Path, inside: Recall) -> None:
    cases = three / "eval" / "cases.yaml"
    cases.write_text(cases.read_text(encoding="utf-8").replace("id: ", "id: new-"), encoding="utf-8")
    evals(three, "")
    done = inside(three, "compare", "previous", "latest")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(
        "recall: no case has a verdict on the same question in both runs (24 are only in BASE, 24"
    )


def test_the_schedule_s_retest_of_what_failed_is_no_rise(three: Path, inside: Recall) -> None:
    """Everything that failed passes now; the schedule asked nothing else, so that it had to look better."""
    evals(three, "", "--recall-mode", "pr")
    done = inside(three, "compare", "previous", "latest")
    assert done.code == 0
    assert "The rates of both runs are not compared: the schedule chose" in done.out
    assert "is shown" not in done.out
