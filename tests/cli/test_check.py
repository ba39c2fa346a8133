"""`recall check`: everything that is wrong, in one go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recall.schedule.state_file import State
from tests.cli.conftest import Recall
from tests.cli.samples import CASES, ROWS, RUBRIC, files, fill
from tests.cli.shelves import cassette
from tests.helpers.dataset_samples import sample_text
from tests.helpers.project import case, cases_yaml
from tests.helpers.screens import assert_screen

JUDGED = {"id": "x", "scenario": "new", "dimension": "facts", "input": "q", "judges": [{"rubric": "Is it polite?"}]}
FIXTURE = "import pytest\n\n\n@pytest.fixture\n"
OWN_JUDGE = f"{FIXTURE}def judge_rubric():\n    return lambda answer, case, question: True\n"
FORMAT = "- id: form\n  input: x\n  judges: [{{json_schema: {}}}]\n"
ROW = "- id: n{}\n  scenario: s\n  dimension: d\n  input: q\n  expected: '('\n  judges: [{}]\n"
NO_AGENT = {"cases.yaml": cases_yaml(case("a")), "conftest.py": ""}


def gated(*gates: str) -> dict[str, str]:
    """Return a rubric with these gates."""
    return {"rubric.yaml": f"{RUBRIC}gates:\n" + "".join(f"  - {{{gate}, at_least: 0.9}}\n" for gate in gates)}


PROJECTS: dict[str, dict[str, str]] = {
    "the sample": {},
    "several files, and datasets": {
        "more/x.cases.jsonl": json.dumps(case("x", scenario="new")),
        "locomo.dataset.yaml": "dataset: locomo\npath: sample\nsample: 6\nmemory: last-20\n",
        "more/dmr.dataset.yml": "path: own.jsonl\n",
        "more/own.jsonl": sample_text("dmr"),
    },
    "no case": {"cases.yaml": ""},
    "wrong fields": {
        "a.cases.yaml": "- id: a\n  scenario: s\n- id: b c\n  scenario: 5\n",
        "b.cases.jsonl": '{"id": "x"\n{"id": 7}\n',
        "c.cases.yaml": CASES.split("\n\n")[0] + "\n",
        "rubric.yaml": "blocks: weekly\n",
        "recall.yaml": "version: 1\ncases:\n  a: {box: 9}\n",
    },
    "judges": {
        "a.cases.yaml": ROW.format(1, "contans") + ROW.format(2, "{contains: {ignorecase: true}}"),
        "b.cases.jsonl": "{}\n",
        "c.cases.yaml": ROW.format(3, "regex") + ROW.format(4, "contains").replace("  expected: '('\n", ""),
    },
    "names that no run reads": dict.fromkeys(("case.yaml", "rubric.yml", "more/x.case.yml"), "mode: all\n"),
    "gates of nothing": gated("scenario: loan", "dimension: fact", "scenario: trouble, dimension: warmth"),
    "gates": gated("scenario: loans", "dimension: facts"),
    "datasets": {
        "a.dataset.yaml": "dataset: lokomo\npath: sample\n",
        "b.dataset.yaml": "dataset: locomo\npath: sample\nlimt: 3\n",
        "c.dataset.yaml": "path: gone.json\n",
        "d.dataset.yaml": "dataset: dmr\npath: sample\nmemory: sqlit\n",
        "e.dataset.yaml": "dataset: locomo\npath: sample\ncategories: [temprl]\n",
        "f.dataset.yaml": "path: broken.jsonl\n",
        "broken.jsonl": sample_text("dmr").replace('"self_instruct"', '"self"', 1),
        "rubric.yaml": "blocks: weekly\n",
    },
    "selectors": {"rubric.yaml": "judge: {model: [nosuch, openai:gpt-4o-mini], appellate: third}\nmemory: other\n"},
    "a conftest that cannot be imported": {"conftest.py": "import no_such_module\n"},
    "a module that cannot be collected": {"test_x.py": "1 / 0\n"},
    "a format that has no effect": {"x.cases.yaml": FORMAT.format("{schema: {properties: {a: {format: date}}}}")},
    "formats": {
        "x.cases.yaml": FORMAT.format("{schema: {properties: {a: {format: date}}}, formats: true}"),
        "y.cases.yaml": FORMAT.format("{schema: {properties: {format: {type: string}}}}").replace("form\n", "other\n"),
    },
    "a judge that asks no model": {"x.cases.jsonl": json.dumps(JUDGED)},
    "a judge whose model is named": {
        "x.cases.jsonl": json.dumps(JUDGED),
        "rubric.yaml": f"{RUBRIC}judge: {{model: openai:gpt-4o-mini}}\n",
    },
    "a judge of one's own": {
        "more/x.cases.jsonl": json.dumps(JUDGED),
        "more/conftest.py": OWN_JUDGE,
    },
    "nothing that answers": NO_AGENT,
    "a model that answers": {**NO_AGENT, "rubric.yaml": "model_primary: openai:x\n"},
    "a misspelt agent": {**NO_AGENT, "conftest.py": f"{FIXTURE}def agnt():\n    return str\n"},
    "an agent that asks for a fixture that is not there": {
        **NO_AGENT,
        "conftest.py": f"{FIXTURE}def agent(request, client):\n    return str\n",
    },
}


def test_what_is_wrong_is_told_in_one_go_and_nothing_is_written(tmp_path: Path, inside: Recall) -> None:
    pytest.importorskip("jsonschema")
    screen = []
    for number, (name, texts) in enumerate(PROJECTS.items()):
        project = tmp_path / str(number)
        fill(project)
        rows = {name: row for name, row in ROWS.items() if name != "gone"}
        for path, text in {"recall.yaml": State({}, "").updated(rows), **texts}.items():
            (project / "eval" / path).parent.mkdir(exist_ok=True)
            (project / "eval" / path).write_text(text, encoding="utf-8")
        if "cases.yaml" in texts:
            (project / "eval" / "recall.yaml").unlink()
        before = files(project)
        done = inside(project, "check")
        assert files(project) == before
        screen.append(f"# {name}\n{done.out}{done.err}exit code {done.code}\n")
    text = "\n".join(screen).replace(str(tmp_path), "FOLDER")
    assert_screen(Path(__file__).parent / "screens" / "check.txt", text)


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
