"""`recall check --schema`: what an editor refuses is what the loader refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pytest_recall.cases.case_file import CaseFile
from pytest_recall.cases.check_commands import schema_of
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.datasets.file import LAYOUTS
from pytest_recall.datasets.questions import BenchFile
from pytest_recall.files import strict_yaml
from pytest_recall.files.errors import RecallError
from pytest_recall.files.validation import read_mapping
from tests.cli.samples import recall

OWN = Path(__file__).resolve().parents[2] / "eval"
TEMPLATES = Path(__file__).resolve().parents[2] / "src" / "pytest_recall" / "templates"
CASES = Draft202012Validator(schema_of("cases"))
DATASET = Draft202012Validator(schema_of("dataset"))
RUBRIC = Draft202012Validator(schema_of("rubric"))


@pytest.mark.parametrize("what", ["cases", "rubric", "dataset"])
def test_is_a_schema(tmp_path: Path, what: str) -> None:
    done = recall(tmp_path, "check", "--schema", what)
    assert (done.code, done.err) == (0, "")
    schema = json.loads(done.out)
    assert schema == schema_of(what)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


def test_every_field_is_described() -> None:
    fields = schema_of("cases")["$defs"]["Case"]["properties"]
    assert list(fields)[:3] == ["id", "scenario", "dimension"]
    assert all(field["description"] for field in fields.values())
    assert all(field["description"] for field in schema_of("rubric")["properties"].values())
    assert all(field["description"] for field in schema_of("dataset")["properties"].values())


@pytest.mark.parametrize("path", [OWN / "cases.yaml", TEMPLATES / "cases.yaml"], ids=["own", "scaffold"])
def test_our_cases_fit(path: Path) -> None:
    cases = strict_yaml.load(path.read_text(encoding="utf-8"), path.name)
    assert len(cases) >= 4
    CASES.validate(cases)


@pytest.mark.parametrize("path", [OWN / "rubric.yaml", TEMPLATES / "rubric.yaml"], ids=["own", "scaffold"])
def test_our_rubrics_fit(path: Path) -> None:
    RUBRIC.validate(strict_yaml.load(path.read_text(encoding="utf-8"), path.name))


def loads(folder: Path, row: dict[str, Any]) -> bool:
    """Whether the loader accepts the row."""
    path = folder / "x.cases.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    try:
        CaseFile(path, path.name)
    except RecallError:
        return False
    return True


def example(**given: Any) -> dict[str, Any]:
    """Return a valid row with other fields; `...` leaves one out."""
    row = {"id": "a", "scenario": "s", "dimension": "d", "input": "q", "judges": ["exact"], **given}
    return {name: value for name, value in row.items() if value is not ...}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"id": "ü/1:2.b@c=d+e_f"},
        {"id": "a" * 200},
        {"scenario": "two-words.v2"},
        {"input": {"question": "q", "top_k": 3}},
        {"input": {}},
        {"input": None, "turns": ["q"]},
        {"input": ..., "turns": ["q", {"user": "r", "assistant": "s"}, "t"]},
        {"expected": None},
        {"expected": [1, {"a": [True, None]}]},
        {"judges": ["exact", {"contains": "x"}, {"token_f1": {"threshold": 0.6}}, {"own": None}]},
        {"threshold": 0},
        {"threshold": 0.5},
        {"threshold": None},
        {"tags": []},
        {"tags": ["money", "slow.v2"]},
        {"notes": "Asked often."},
        {"notes": None},
    ],
)
def test_good_row(tmp_path: Path, given: dict[str, Any]) -> None:
    assert CASES.is_valid([example(**given)])
    assert loads(tmp_path, example(**given))


@pytest.mark.parametrize(
    "given",
    [
        {"id": ...},
        {"id": 5},
        {"id": ""},
        {"id": "two words"},
        {"id": "a::b"},
        {"id": "-a"},
        {"id": "a[b]"},
        {"id": "a" * 201},
        {"scenario": "two words"},
        {"scenario": "1st"},
        {"scenario": None},
        {"dimension": 5},
        {"input": 5},
        {"input": ""},
        {"input": ["q"]},
        {"input": ..., "turns": []},
        {"input": ..., "turns": [""]},
        {"input": ..., "turns": "q"},
        {"input": ..., "turns": [5]},
        {"input": ..., "turns": [{"usr": "q"}]},
        {"input": ..., "turns": [{"user": "q", "more": "r"}]},
        {"judges": ...},
        {"judges": []},
        {"judges": "exact"},
        {"judges": [5]},
        {"judges": [{}]},
        {"judges": [{"a": 1, "b": 2}]},
        {"threshold": "0.5"},
        {"threshold": True},
        {"threshold": 1.1},
        {"threshold": -0.1},
        {"tags": "money"},
        {"tags": [5]},
        {"tags": ["two words"]},
        {"tags": None},
        {"notes": 5},
        {"expectd": "x"},
        {"turns": ["q"]},
        {"input": ...},
        {"input": None},
        {"input": ..., "turns": [{"user": ""}]},
        {"tags": ["and"]},
    ],
)
def test_bad_row(tmp_path: Path, given: dict[str, Any]) -> None:
    assert not CASES.is_valid([example(**given)])
    assert not loads(tmp_path, example(**given))


@pytest.mark.parametrize(
    "given",
    [
        {"input": ..., "turns": ["q", {"user": "r", "assistant": "s"}]},
        {"id": "a\n"},
    ],
)
def test_bad_row_for_the_loader_only(tmp_path: Path, given: dict[str, Any]) -> None:
    """A JSON Schema cannot speak of the last element, nor keep Python's `$` from a line end."""
    assert not loads(tmp_path, example(**given))
    assert CASES.is_valid([example(**given)])


def test_bad_row_for_the_schema_only(tmp_path: Path) -> None:
    row = example(input=..., turns=[{"user": "q", "assistant": None}, "r"])
    assert CASES.is_valid([row]) is loads(tmp_path, row)


@pytest.mark.parametrize(
    ("rubric", "good"),
    [
        ({"owner": "me"}, True),
        ({"owner": "me", "blocks": "never", "max_due_cases": 0, "nightly_cases": None, "thresholds": {"x": 1}}, True),
        ({}, True),
        ({"owner": ""}, False),
        ({"owner": "me", "blocks": "weekly"}, False),
        ({"owner": "me", "max_due_cases": -1}, False),
        ({"owner": "me", "max_due_cases": 1.5}, False),
        ({"owner": "me", "max_due_cases": "5"}, False),
        ({"owner": "me", "thresholds": {"x": 2}}, False),
        ({"owner": "me", "thresholds": ["x"]}, False),
        ({"owner": "me", "max_due": 5}, False),
    ],
)
def test_rubric(tmp_path: Path, rubric: dict[str, Any], good: bool) -> None:
    assert RUBRIC.is_valid(rubric) is good
    path = tmp_path / "rubric.yaml"
    path.write_text(json.dumps(rubric), encoding="utf-8")
    try:
        found: Settings | None = read_settings(path, path.name)
    except RecallError:
        found = None
    assert (found is not None) is good


@pytest.mark.parametrize(
    ("dataset", "good"),
    [
        ({"path": "sample"}, True),
        ({"path": "sample", "dataset": "dmr", "limit": 5, "unit": "session", "sample": 2, "seed": "x"}, True),
        ({"path": "sample", "categories": ["temporal"], "judges": ["contains", {"rubric": {"threshold": 1}}]}, True),
        ({"dataset": "dmr"}, False),
        ({"path": ""}, False),
        ({"path": "sample", "dataset": "lokomo"}, False),
        ({"path": "sample", "limit": 0}, False),
        ({"path": "sample", "limit": "5"}, False),
        ({"path": "sample", "unit": "word"}, False),
        ({"path": "sample", "questions": []}, False),
        ({"path": "sample", "judges": []}, False),
        ({"path": "sample", "judges": [{"a": {}, "b": {}}]}, False),
        ({"path": "sample", "limt": 5}, False),
    ],
)
def test_dataset(tmp_path: Path, dataset: dict[str, Any], good: bool) -> None:
    assert DATASET.is_valid(dataset) is good
    path = tmp_path / "x.dataset.yaml"
    path.write_text(json.dumps(dataset), encoding="utf-8")
    try:
        found: BenchFile | None = read_mapping(path, path.name, BenchFile, "`path: sample`")
    except RecallError:
        found = None
    assert (found is not None and found.dataset in ("auto", *LAYOUTS)) is good
