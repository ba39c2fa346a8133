"""`recall import`: sets of other tools as cases that are in order and run.

Below `foreign/`, deepeval 4.3.1 has written the goldens and talks, and inspect_ai 0.3.285 the samples in JSON Lines and
the log, which was cut to what is read of it.
"""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import Recall
from tests.cli.samples import run_evals
from tests.helpers.screens import assert_screen, shown

FOREIGN = Path(__file__).parent / "foreign"
ECHO = """\
import pytest


@pytest.fixture
def agent():
    return lambda question: f"{question} Six tools, for seven days, on a shelf in the room, which is closed."
"""
# A model that finds every requirement met, for the judge `rubric`.
GRADER = """\
import json


def grade(prompt):
    names = [name for name in ("requirement", "requirement-2") if name in str(prompt)]
    return json.dumps({"reasoning": "as it says", "scores": dict.fromkeys(names, 1)})
"""
RUBRIC = "owner: desk\njudge: {model: python:grader.py:grade, preflight: 'off'}\n"
JUDGED = ("--default-judge", "token_f1")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A project with the sets of the tools, and an agent that says what it is asked, and a sentence."""
    shutil.copytree(FOREIGN, tmp_path / "sets")
    (tmp_path / "eval").mkdir()
    texts = {"eval/conftest.py": ECHO, "pytest.ini": "[pytest]\n", "grader.py": GRADER, "eval/rubric.yaml": RUBRIC}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("tool", "file", "more", "code", "checked", "ran"),
    [
        ("promptfoo", "promptfoo/promptfooconfig.yaml", (), 1, "9 cases", "5 passed, 4 xfailed"),
        ("deepeval", "goldens.json", JUDGED, 1, "2 cases", "1 passed, 1 xfailed"),
        ("deepeval", "talks.json", JUDGED, 1, "1 case", "1 xfailed"),
        ("inspect", "samples.jsonl", JUDGED, 1, "4 cases", "4 xfailed"),
        ("inspect", "samples.csv", JUDGED, 0, "2 cases", "2 xfailed"),
        ("inspect", "log.json", (), 1, "4 cases", "3 passed, 1 xfailed"),
    ],
)
def test_a_set_is_imported_checked_and_run(
    tool: str, file: str, more: tuple[str, ...], code: int, checked: str, ran: str, sources: Path, inside: Recall
) -> None:
    done = inside(sources, "import", tool, f"sets/{file}", *more, "-o", "eval/cases.yaml")
    assert (done.code, done.err) == (code, "")
    assert f"\nwrote {checked} to eval/cases.yaml\n" in done.out
    assert inside(sources, "check").out.startswith(checked)
    assert run_evals(sources, "eval", "--recall-mode", "all").out.splitlines()[-1].startswith(ran)


def test_without_output_the_cases_are_printed_and_nothing_is_written(sources: Path, inside: Recall) -> None:
    done = inside(sources, "import", "inspect", "sets/samples.csv", "--default-judge", "exact")
    assert done.code == 0
    assert done.out == (
        "- id: loan-days\n  scenario: samples\n  dimension: correctness\n  input: How long can I borrow a drill?\n"
        '  expected: seven days\n  judges:\n    - exact\n  notes: \'metadata: {"area": "loans"}\'\n'
        "\n- id: is-the-workshop-open-on-sunday\n  scenario: samples\n  dimension: correctness\n"
        '  input: Is the workshop open on Sunday?\n  expected: "no"\n  judges:\n    - exact\n'
    )
    assert done.err == "2 cases of 2 tests; ids from id (1), input (1)\n"
    assert inside(sources, "import", "inspect", "sets/samples.csv", "--default-judge", "exact") == done
    assert sorted(path.name for path in (sources / "eval").iterdir()) == ["conftest.py", "rubric.yaml"]


def test_the_report_names_what_is_left_out_and_where(sources: Path, inside: Recall) -> None:
    sets = ("deepeval sets/goldens.json", "promptfoo sets/promptfoo/promptfooconfig.yaml", "inspect sets/samples.jsonl")
    commands = [f"import {one} --dry-run -o eval/cases.yaml" for one in sets]
    assert_screen(Path(__file__).parent / "screens" / "import.txt", shown(partial(inside, sources), *commands))
    assert not (sources / "eval" / "cases.yaml").exists()


def test_the_report_as_json_counts_every_test(sources: Path, inside: Recall) -> None:
    done = inside(sources, "import", "promptfoo", "sets/promptfoo/promptfooconfig.yaml", "--dry-run", "--json")
    report = json.loads(done.out)
    assert (done.code, report["found"], report["carried"], report["no_case"]) == (1, 10, 9, 1)
    assert report["cases"][0] == {
        "id": "loan-of-a-drill",
        "place": "sets/promptfoo/promptfooconfig.yaml:16",
        "id_from": "description",
    }
    assert {
        "place": "sets/promptfoo/more.csv:3",
        "case": "what-is-1-1",
        "kind": "left out",
        "what": "the assertion `python`",
        "advice": "code is not carried over; write it as a judge of your own",
    } in report["remarks"]


def test_three_forms_of_one_set_make_the_same_cases(sources: Path, inside: Recall) -> None:
    made = {
        inside(sources, "import", "deepeval", f"sets/goldens.{ending}", *JUDGED).out
        for ending in ("json", "jsonl", "csv")
    }
    assert len(made) == 1


def test_a_file_that_is_there_is_left_alone(sources: Path, inside: Recall) -> None:
    cases = sources / "eval" / "cases.yaml"
    cases.write_text("# mine\n", encoding="utf-8")
    done = inside(sources, "import", "inspect", "sets/log.json", "-o", "eval/cases.yaml")
    assert (done.code, cases.read_text(encoding="utf-8")) == (2, "# mine\n")
    assert done.err == (
        "recall: eval/cases.yaml: is there already; give another name, or --append to put the cases below its own\n"
    )


@pytest.mark.parametrize("ending", ["yaml", "jsonl"])
def test_append_keeps_what_is_there_and_refuses_ids_twice(ending: str, sources: Path, inside: Recall) -> None:
    output = ("-o", f"eval/all.cases.{ending}")
    assert inside(sources, "import", "inspect", "sets/log.json", *output).code == 1
    first = (sources / output[1]).read_text(encoding="utf-8")
    again = inside(sources, "import", "deepeval", "sets/goldens.csv", *JUDGED, *output, "--append")
    assert (again.code, again.err) == (1, "")
    both = (sources / output[1]).read_text(encoding="utf-8")
    assert both.startswith(first)
    assert inside(sources, "check").out.startswith("6 cases in 1 file")
    twice = inside(sources, "import", "deepeval", "sets/goldens.csv", *JUDGED, *output, "--append")
    assert twice.code == 2
    assert "id: `drill-loan` is there already; take it out, or import into another file\n" in twice.err
    assert (sources / output[1]).read_text(encoding="utf-8") == both


def test_names_and_judges_can_be_given(sources: Path, inside: Recall) -> None:
    names = ("--scenario", "desk", "--dimension", "facts")
    judges = ("--default-judge", "exact", "--default-judge", "similarity: {threshold: 0.9}")
    done = inside(sources, "import", "inspect", "sets/samples.csv", *names, *judges)
    assert done.out.count("  scenario: desk\n  dimension: facts\n") == 2
    assert done.out.count("  judges:\n    - exact\n    - similarity:\n        threshold: 0.9\n") == 2
