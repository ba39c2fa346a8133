"""Recognise: which dataset a file is, and what is said of files that are none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.datasets.file import recognise
from pytest_recall.files.errors import RecallError
from tests.datasets.files import FORMATS, plain, text_of, write
from tests.helpers.samples import POINTER


@pytest.mark.parametrize("format", FORMATS)
def test_samples_are_recognised(format: str, tmp_path: Path) -> None:
    path = write(tmp_path / "f", format, plain(format))
    assert recognise(path, "f").name == format
    path.write_text("\ufeff \n" + text_of(format, plain(format)), encoding="utf-8")
    assert recognise(path, "f").name == format


def _locomo() -> Any:
    return plain("locomo")[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"<!doctype html>", "is neither a JSON array nor JSON Lines"),
        (gzip.compress(b"[]", mtime=0), "is compressed; unpack it first"),
        (b"PK\x03\x04", "is compressed; unpack it first"),
        (b"[]", "has no rows"),
        (b"[3]", "row 1: expected an object, found the number 3"),
        (b"{}", "is not a known dataset: its first row has no fields"),
        (b'[{"a": 1, "b": 2}]', "is not a known dataset: its first row has `a`, `b`"),
        (b'{"a": 1', "row 1: is no JSON"),
    ],
)
def test_other_files(text: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(text)
    with pytest.raises(RecallError) as raised:
        recognise(path, "f")
    (message,) = raised.value.messages
    assert message.startswith(f"f: {said}")


def test_a_pointer_of_git_lfs(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(POINTER)
    with pytest.raises(RecallError, match="git lfs pull"):
        recognise(path, "f")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (_locomo(), "is LoCoMo as an object or JSON Lines; as published it is an array whose rows have"),
        (
            {**_locomo()["conversation"], "qa": []},
            "is a conversation of LoCoMo with its sessions at the top, its older layout, a file for each; known:",
        ),
        ([_locomo()["conversation"]], "is a conversation of LoCoMo with its sessions at the top, its older layout"),
        (
            {"conv-1": {"session_1": [], "question_answer_pairs": []}},
            "is an object of conversations by id, another layout of LoCoMo; known:",
        ),
        (
            [{"question_id": "a", "question_type": "b", "sessions": [[]]}],
            "is `sessions` in the layout of LongMemEval; known:",
        ),
        (plain("longmemeval")[0], "is LongMemEval as an object or JSON Lines; as published it is an array"),
        (plain("dmr"), "is DMR as an array; as published it is JSON Lines whose rows have"),
        ([{"previous_dialogs": [], "dialog": []}], "is Multi-Session Chat without the `self_instruct` of DMR; known:"),
        ([{"id": 1, "turns": [], "query": "q"}], "is questions with a `conversation` each, no layout that"),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_other_layouts_are_named(value: Any, said: str, indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text(json.dumps(value, indent=indent), encoding="utf-8")
    with pytest.raises(RecallError) as raised:
        recognise(path, "f")
    (message,) = raised.value.messages
    assert message.startswith(f"f: {said}")
