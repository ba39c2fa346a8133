"""Imports as a whole: cases that a case file can hold, put into one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cases.importers.carry import ImportOptions
from pytest_recall.cases.importers.run import bring_in, put
from pytest_recall.files.errors import RecallError

ROW = {"id": "b", "scenario": "desk", "dimension": "facts", "input": "Open?", "judges": [{"contains": "no"}]}


def test_a_case_that_would_not_be_read_back_is_none(tmp_path: Path) -> None:
    schema: Any = {"type": "string"}
    for _ in range(30):
        schema = {"items": [schema]}
    tests = [
        {"description": "deep", "assert": [{"type": "is-json", "value": schema}, {"type": "similar", "value": "x"}]},
        {"description": "flat", "assert": [{"type": "is-json"}]},
    ]
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"prompts": ["Say it as JSON"], "tests": tests}), encoding="utf-8")
    made = bring_in("promptfoo", path, "config.json", ImportOptions())
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
