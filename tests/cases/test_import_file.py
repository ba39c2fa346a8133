"""Imports as a whole: cases that a case file can hold, put into one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cases.import_file import delimiter_of, import_set, names_of, put
from pytest_recall.cases.imports import Document, ImportedSet, ImportedTest, Importer, ImportOptions
from pytest_recall.files.errors import RecallError

ROW = {"id": "b", "scenario": "desk", "dimension": "facts", "input": "Open?", "judges": [{"contains": "no"}]}


def convert(document: Document, options: ImportOptions) -> ImportedSet:
    """Make a case of each row of a list, which has the fields of a case file."""
    into = ImportedSet(options, "desk")
    for node in document.root.each():
        test = ImportedTest(place=node.place, fields={"input": "Open?"}, judged=False)
        test.names = [("name", node.text("name"), "")]
        test.judges = node.value.get("judges", [])
        if "mood" in node.value:
            test.left("`mood`", "write it by hand")
        into.add(test)
    return into


ROWS = Importer("rows", "a list of rows", convert)


def imported(folder: Path, rows: Sequence[Mapping[str, Any]], **options: Any) -> ImportedSet:
    """Return what becomes of rows in a file."""
    path = folder / "rows.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return import_set(ROWS, path, "rows.json", ImportOptions(**options))


def test_a_case_that_would_not_be_read_back_is_none(tmp_path: Path) -> None:
    schema: Any = {"type": "string"}
    for _ in range(30):
        schema = {"items": [schema]}
    deep = {"name": "deep", "judges": [{"json_schema": {"schema": schema}}], "mood": "fine"}
    made = imported(tmp_path, [deep, {"name": "flat", "judges": ["exact"], "mood": "fine"}])
    assert [case.id for case in made.cases] == ["flat"]
    [remark] = [remark for remark in made.remarks if remark.whole]
    assert (remark.what, remark.advice) == ("holds what a case file cannot", "write it by hand")
    assert [remark.case for remark in made.remarks] == ["flat", ""]


def test_rows_are_not_put_below_a_list_in_brackets(tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    held = f"[{json.dumps({**ROW, 'id': 'a'})}]\n"
    path.write_text(held, encoding="utf-8")
    with pytest.raises(RecallError, match=r"^cases\.yaml: is not a plain list of rows that begin with `- id`; import"):
        put([ROW], path, "cases.yaml", append=True)
    assert path.read_text(encoding="utf-8") == held


def test_what_was_left_out_is_in_the_notes_of_the_case(tmp_path: Path) -> None:
    made = imported(tmp_path, [{"name": "a", "mood": "fine"}], judges=["rubric"])
    assert [case.row["notes"] for case in made.cases] == ["left out in the import: `mood`"]


def test_a_delimiter_of_what_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecallError, match=r"^--delimiter: rows\.json is no table "):
        imported(tmp_path, [], delimiter=";")


def test_options_name_columns_and_a_delimiter() -> None:
    assert names_of(["input=q", "expected_output=a=b"]) == {"input": "q", "expected_output": "a=b"}
    assert [delimiter_of(text) for text in (";", "tab", "|")] == [";", "\t", "|"]


@pytest.mark.parametrize("given", [["q"], ["=q"], ["input="], ["input=a", "input=b"], ["input=a", "target=a"]])
def test_a_column_that_is_not_named_once_is_refused(given: list[str]) -> None:
    with pytest.raises(RecallError, match=r"^--map: '.*' names no column once; "):
        names_of(given)


@pytest.mark.parametrize("given", ["", ";;", '"', "\n"])
def test_what_parts_no_cells_is_refused(given: str) -> None:
    with pytest.raises(RecallError, match=r"^--delimiter: .* is no delimiter; "):
        delimiter_of(given)
