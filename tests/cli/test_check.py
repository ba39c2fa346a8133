"""`recall check`: everything that is wrong, in one go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recall.datasets.file import sample_text
from tests.cli.conftest import Recall
from tests.cli.samples import CASES, files, recall
from tests.cli.shelves import cassette
from tests.helpers.project import case, cases_yaml


def test_all_in_order(project: Path) -> None:
    assert recall(project, "state", "forget", "gone").code == 0
    before = files(project)
    done = recall(project, "check")
    assert done == (0, "5 cases in 1 file, 2 scenarios, 2 dimensions: all in order\n", "")
    assert files(project) == before


def test_several_files(project: Path, inside: Recall) -> None:
    row = {"id": "x", "scenario": "new", "dimension": "facts", "input": "q", "expected": "a", "judges": ["exact"]}
    (project / "eval" / "more").mkdir()
    (project / "eval" / "more" / "x.cases.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert inside(project, "check").out == "6 cases in 2 files, 3 scenarios, 2 dimensions: all in order\n"


def test_no_case(tmp_path: Path, inside: Recall) -> None:
    (tmp_path / "eval").mkdir()
    said = "recall: eval: there is no case in it; write cases.yaml, which `recall init` does, or name files of other"
    assert inside(tmp_path, "check") == (2, "", f"{said} names with --files\n")


def test_rows_of_no_case_are_named(ran: Path, inside: Recall) -> None:
    assert inside(ran, "state", "forget", "gone").code == 0
    assert inside(ran, "check").err == ""
    path = ran / "eval" / "cases.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("id: right", "id: other"), encoding="utf-8")
    done = inside(ran, "check")
    assert done.code == 0
    assert "note: eval/recall.yaml: no case is called `right`" in done.err
    assert inside(ran, "state", "forget", "right").code == 0
    assert inside(ran, "check").err == ""


def test_recordings_of_no_case_are_named(project: Path, inside: Recall) -> None:
    assert inside(project, "state", "forget", "gone").code == 0
    made = {name: cassette(project, name) for name in ("right", "gone", "nowhere")}
    cassette(project, "test_fee", scenario="")  # A marked test may have it.
    made["rotten"] = cassette(project, "rotten")
    made["rotten"].write_bytes(b"{")
    before = files(project)
    done = inside(project, "check")
    assert done.code == 0
    [said] = done.err.splitlines()
    assert said.startswith("recall: note: eval/cassettes/loans/gone.ndjson, and 1 more, are recordings of no case; ")
    assert "`recall cassettes prune`" in said
    assert files(project) == before
    for name in ("rotten", "gone"):
        made[name].unlink()
    assert "nowhere.ndjson is the recording" in inside(project, "check").err
    assert inside(project, "cassettes", "prune").code == 0
    assert inside(project, "check").err == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{schema: {properties: {a: {format: date}}}}", True),
        ("{schema: {properties: {a: {format: date}}}, formats: true}", False),
        ("{schema: {properties: {format: {type: string}}}}", False),
    ],
)
def test_a_format_that_has_no_effect_is_named(project: Path, arguments: str, said: bool, inside: Recall) -> None:
    pytest.importorskip("jsonschema")
    text = f"- id: form\n  input: x\n  judges: [{{json_schema: {arguments}}}]\n"
    (project / "eval" / "form.cases.yaml").write_text(text, encoding="utf-8")
    done = inside(project, "check")
    assert done.code == 0
    assert ("eval/form.cases.yaml:1: judges: json_schema: `format: date` has no effect" in done.err) is said


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ("scenario: prices", ""),
        ("dimension: correctness", ""),
        ("scenario: price", "gates: no case is of `price`; did you mean `prices`?"),
        ("dimension: correct", "gates: no case is of `correct`; did you mean `correctness`?"),
        ("scenario: prices, dimension: tone", "gates: no case is of `prices and tone`"),
    ],
)
def test_a_gate_that_no_case_is_under(tmp_path: Path, inside: Recall, gate: str, said: str) -> None:
    rows = "- id: {0}\n  scenario: {1}\n  dimension: {2}\n  input: q\n  expected: a\n  judges: [exact]\n"
    write(tmp_path, "cases.yaml", rows.format("a", "prices", "correctness") + rows.format("b", "hours", "tone"))
    write(tmp_path, "rubric.yaml", f"model_primary: openai:x\ngates:\n  - {{{gate}, at_least: 0.9}}\n")
    done = inside(tmp_path, "check")
    assert (done.code, done.err) == ((1, f"recall: eval/rubric.yaml: {said}\n") if said else (0, ""))


def test_judges_are_looked_up_as_pytest_collects_and_nothing_is_left_behind(project: Path, inside: Recall) -> None:
    rows = "- id: n{0}\n  scenario: s\n  dimension: d\n  input: q\n  expected: '('\n  judges: [{1}]\n"
    texts = {
        "a.cases.yaml": rows.format(1, "contans") + rows.format(2, "{contains: {ignorecase: true}}"),
        "b.cases.jsonl": "{}\n",
        "c.cases.yaml": rows.format(3, "regex") + rows.format(4, "contains").replace("  expected: '('\n", ""),
    }
    for name, text in texts.items():
        write(project, name, text)
    before = files(project)
    done = inside(project, "check")
    assert (done.code, done.out) == (1, "")
    assert [line.split("; ")[0] for line in done.err.splitlines()] == [
        "recall: eval/b.cases.jsonl:1: id: is missing",
        "recall: eval/a.cases.yaml:1: judges: unknown judge `contans`",
        "recall: eval/a.cases.yaml:7: judges: contains: unknown argument `ignorecase`",
        "recall: eval/c.cases.yaml:1: judges: regex: '(' is not a regular expression: missing ), unterminated"
        " subpattern at position 0",
        "recall: eval/c.cases.yaml:7: judges: contains: has nothing to look for",
    ]
    assert files(project) == before


def test_names_that_no_run_reads(project: Path, inside: Recall) -> None:
    for name in ("case.yaml", "rubric.yml", "more/x.case.yml", "more/case.yaml"):
        write(project, name, "mode: all\n")
    done = inside(project, "check", "--files", "more/cas*.yml")
    assert (done.code, done.out) == (1, "")
    assert [line.partition(", or give")[0] for line in done.err.splitlines()] == [
        "recall: eval/case.yaml: no run reads a file of this name; move what is in it into cases.yaml, and delete it",
        "recall: eval/rubric.yml: no run reads a file of this name; move what is in it into rubric.yaml, and delete it",
        "recall: eval/more/x.case.yml: no run reads a file of this name; rename it to x.cases.yaml",
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("conftest.py", "import no_such_module\n", "conftest.py: cannot be imported (ModuleNotFoundError: No module"),
        ("test_x.py", "1 / 0\n", "eval.test_x: cannot be collected (ZeroDivisionError: division by zero)"),
    ],
)
def test_what_pytest_cannot_collect(project: Path, inside: Recall, name: str, text: str, said: str) -> None:
    write(project, name, text)
    done = inside(project, "check")
    assert done.code == 1
    assert len(done.err.splitlines()) == 1
    assert said in done.err


def test_every_problem_of_every_file(project: Path, inside: Recall) -> None:
    texts = {
        "a.cases.yaml": "- id: a\n  scenario: s\n- id: b c\n  scenario: 5\n",
        "b.cases.jsonl": '{"id": "x"\n{"id": 7}\n',
        "c.cases.yaml": CASES.split("\n\n")[0] + "\n",
        "rubric.yaml": "blocks: weekly\n",
        "recall.yaml": "version: 1\ncases:\n  a: {box: 9}\n",
    }
    for name, text in texts.items():
        (project / "eval" / name).write_text(text, encoding="utf-8")
    done = inside(project, "check")
    assert (done.code, done.out) == (1, "")
    assert [line.split("; ")[0].split(" (")[0] for line in done.err.splitlines()] == [
        "recall: eval/a.cases.yaml:1: judges: is missing",
        "recall: eval/a.cases.yaml:3: id: 'b c' does not fit",
        "recall: eval/a.cases.yaml:3: judges: is missing",
        "recall: eval/a.cases.yaml:4: scenario: 5 is not text",
        "recall: eval/b.cases.jsonl:1: not JSON",
        "recall: eval/b.cases.jsonl:2: id: 7 is not text",
        "recall: eval/cases.yaml:1: id: `right` is already the case at eval/c.cases.yaml:1",
        "recall: eval/rubric.yaml:1: blocks: 'weekly' is unknown",
        "recall: eval/recall.yaml:3: a: pass_streak is missing",
    ]


def test_reads_large_files_to_their_end(project: Path, inside: Recall) -> None:
    rows = [
        f"- id: r{n}\n  scenario: s\n  dimension: d\n  input: {'x' * 500}\n  judges: [exact]\n" for n in range(3000)
    ]
    path = project / "eval" / "large.cases.yaml"
    path.write_text("".join(rows) + "  surprise: 1\n", encoding="utf-8")
    done = inside(project, "check")
    assert done.code == 1
    assert done.err.startswith("recall: eval/large.cases.yaml:15001: surprise: unknown field")


def test_a_relative_directory_from_elsewhere(project: Path, inside: Recall) -> None:
    (project / "elsewhere").mkdir()
    assert inside(project / "elsewhere", "check", "--dir", "../eval").code == 0
    (project / "eval" / "rubric.yaml").write_text("owner: 5\n", encoding="utf-8")
    done = inside(project / "elsewhere", "check", "--dir", "../eval")
    assert done.code == 1
    assert "rubric.yaml:1: owner: 5 is not text" in done.err


def write(project: Path, name: str, text: str) -> None:
    path = project / "eval" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_datasets_are_counted_apart(project: Path, inside: Recall) -> None:
    write(project, "locomo.dataset.yaml", "dataset: locomo\npath: sample\nsample: 6\nmemory: last-20\n")
    write(project, "more/dmr.dataset.yml", "path: own.jsonl\n")
    write(project, "more/own.jsonl", sample_text("dmr"))
    said = "5 cases in 1 file, 2 scenarios, 2 dimensions, 11 questions in 2 datasets: all in order\n"
    assert inside(project, "check") == (0, said, "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dataset: lokomo\npath: sample\n", ":1: dataset: 'lokomo' is unknown; did you mean `locomo`?"),
        ("dataset: locomo\npath: sample\nlimt: 3\n", ":3: limt: unknown field; did you mean `limit`?"),
        ("path: gone.json\n", ": path: 'gone.json' is not there; correct it, or write `sample`"),
        (
            "dataset: dmr\npath: sample\nmemory: sqlit\n",
            ": memory: 'sqlit': no memory is selected like this; did you mean `sqlite-fts`?",
        ),
        (
            "dataset: locomo\npath: sample\ncategories: [temprl]\n",
            ": categories: 'temprl' is not in the dataset; did you mean `temporal`?",
        ),
    ],
)
def test_mistakes_of_a_file_that_names_a_dataset(project: Path, inside: Recall, text: str, said: str) -> None:
    write(project, "x.dataset.yaml", text)
    done = inside(project, "check")
    assert (done.code, done.out) == (1, "")
    assert done.err == f"recall: eval/x.dataset.yaml{said}\n"


def test_a_broken_dataset_stands_beside_other_mistakes(project: Path, inside: Recall) -> None:
    write(project, "x.dataset.yaml", "path: own.jsonl\n")
    write(
        project,
        "own.jsonl",
        sample_text("dmr").replace('"self_instruct"', '"self"', 3).replace('"self"', '"self_instruct"', 2),
    )
    write(project, "rubric.yaml", "blocks: weekly\n")
    found = inside(project, "check").err.splitlines()
    assert found[0].startswith("recall: own.jsonl: row 3: self_instruct: ")
    assert found[1].startswith("recall: eval/rubric.yaml:1: ")


def test_selectors_that_name_nothing(project: Path, inside: Recall) -> None:
    with (project / "eval" / "rubric.yaml").open("a", encoding="utf-8") as file:
        file.write("judge: {model: [nosuch, openai:gpt-4o-mini], appellate: third}\nmemory: other\n")
    done = inside(project, "check")
    assert (done.code, done.out) == (1, "")
    told = [line.partition("; known")[0] for line in done.err.splitlines()]
    assert [line.partition(" is selected")[0] for line in told] == [
        "recall: eval/rubric.yaml: judge.model: 'nosuch': no model",
        "recall: eval/rubric.yaml: judge.appellate: 'third': no model",
        "recall: eval/rubric.yaml: memory: 'other': no memory",
    ]


@pytest.mark.parametrize("how", ["none", "rubric", "fixture"])
def test_a_judge_that_asks_a_model_of_no_name_is_noted(project: Path, inside: Recall, how: str) -> None:
    row = {"id": "x", "scenario": "new", "dimension": "facts", "input": "q", "judges": [{"rubric": "Is it polite?"}]}
    (project / "eval" / "x.cases.jsonl").write_text(json.dumps(row), encoding="utf-8")
    if how == "rubric":
        with (project / "eval" / "rubric.yaml").open("a", encoding="utf-8") as file:
            file.write("judge: {model: openai:gpt-4o-mini}\n")
    if how == "fixture":
        with (project / "eval" / "conftest.py").open("a", encoding="utf-8") as file:
            file.write("\n\n@pytest.fixture\ndef judge_rubric():\n    return lambda answer, case, question: True\n")
    assert inside(project, "state", "forget", "gone").code == 0
    done = inside(project, "check")
    assert done.code == 0
    said = "recall: note: `rubric` asks a model, and eval/rubric.yaml names none; give --judge to each run, or write"
    assert done.err == (f"{said} `judge: {{model: SELECTOR}}` there\n" if how == "none" else "")


@pytest.mark.parametrize(
    ("conftest", "rubric", "notes"),
    [
        ("", "owner: us\n", 1),
        ("", "model_primary: openai:x\n", 0),
        ("def agent(): return str", "owner: us\n", 0),
        ("def agnt(): return str", "owner: us\n", 1),
    ],
    ids=["none", "a model", "an agent", "misspelt"],
)
def test_cases_that_nothing_answers_are_noted(
    tmp_path: Path, inside: Recall, conftest: str, rubric: str, notes: int
) -> None:
    write(tmp_path, "cases.yaml", cases_yaml(case("a")))
    write(tmp_path, "rubric.yaml", rubric)
    write(tmp_path, "conftest.py", f"import pytest\n\n\n@pytest.fixture\n{conftest}\n" if conftest else "")
    done = inside(tmp_path, "check")
    assert (done.code, done.err.count("fixture `agent`")) == (0, notes)


def test_a_fixture_that_is_not_there_is_named_with_the_one_that_asks_for_it(tmp_path: Path, inside: Recall) -> None:
    write(tmp_path, "cases.yaml", cases_yaml(case("a")))
    agent = "@pytest.fixture\ndef agent(request, client):\n    return str\n"
    write(tmp_path, "conftest.py", f"import pytest\n\n\n{agent}")
    done = inside(tmp_path, "check")
    assert done.code == 1
    assert "eval/cases.yaml:1: the fixture `agent` asks for `client`, which is not there" in done.err
