"""A layout of an extension: what it cannot be, and a `read` of it that has a fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.datasets.dataset import Conversation, Sample
from pytest_recall.datasets.file import LAYOUTS, Dataset, DatasetLayout, Reader, check_selected
from pytest_recall.files.errors import RecallError

TALK = Conversation("talk", ())


def layout(**fields: Any) -> DatasetLayout:
    given = {"name": "mine", "title": "Mine", "lines": True, "marks": frozenset({"x"}), "sample": Path("f.jsonl")}
    return DatasetLayout(**{"read": lambda row, file, number: Sample(number, TALK, ()), **given, **fields})


@pytest.mark.parametrize("name", ["auto", "A b\n", "a\n", "", 5])
def test_a_name_is_one_that_can_be_written_in_a_file(name: Any) -> None:
    with pytest.raises(ValueError, match="is no name of a dataset"):
        layout(name=name)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"marks": []}, "marks"),
        ({"marks": "foo"}, "marks"),
        ({"marks": [5]}, "marks"),
        ({"title": ""}, "title"),
        ({"read": "x"}, "`read`"),
    ],
)
def test_fields_that_cannot_be_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        layout(**fields)


def test_marks_and_the_sample_may_be_written_plainly() -> None:
    made = layout(marks=["foo"], sample="/nope")
    assert (made.marks, made.sample) == (frozenset({"foo"}), Path("/nope"))


def faulty(row: Any, file: str, number: int) -> Any:
    return row["gone"]


@pytest.mark.parametrize(
    ("read", "fault"),
    [
        (faulty, rf"KeyError: 'gone', .*{Path(__file__).name}:\d+"),
        (lambda row, file, number: None, "it returns NoneType, and no Sample"),
        (lambda row, file, number: Sample(7, TALK, ()), "a Sample of row 7"),
        (lambda row, file, number: Sample(number, None, ()), "without a Conversation"),  # type: ignore[arg-type]
        (lambda row, file, number: Sample(number, TALK, None), "no Question"),  # type: ignore[arg-type]
    ],
)
def test_a_read_with_a_fault_is_named_with_file_row_and_line(tmp_path: Path, read: Any, fault: str) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text(json.dumps({"x": 1}) + "\n", encoding="utf-8")
    dataset = Dataset(path, "f.jsonl", layout(read=read))
    message = rf"^f.jsonl: row 1: `read` of the dataset `mine` has a fault \(.*{fault}.*\); correct it$"
    with pytest.raises(RecallError, match=message):
        list(dataset.samples())
    with pytest.raises(RecallError, match=message):
        Reader(dataset).at(1)


def test_what_a_read_refuses_itself_is_said_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text("{}\n", encoding="utf-8")
    with pytest.raises(RecallError, match=r"^f.jsonl: row 1: "):
        list(Dataset(path, "f.jsonl", LAYOUTS["dmr"]).samples())


@pytest.mark.parametrize("name", ["", "lokomo"])
def test_a_name_that_is_no_dataset_is_refused_before_anything_is_read(name: str) -> None:
    with pytest.raises(RecallError, match=r"--dataset: .* is unknown"):
        check_selected(name, "--dataset", LAYOUTS)
    check_selected("auto", "--dataset", LAYOUTS)


@pytest.mark.parametrize("command", ["run", "dataset"])
def test_the_commands_name_auto_as_well(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", command, "sample", "--dataset", ""]) == 2
    assert "auto, dmr, locomo, longmemeval" in capfd.readouterr().err
