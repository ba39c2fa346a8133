"""Rows: one at a time, within limits, and what is said of those that cannot be read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.datasets import rows as module
from pytest_recall.datasets.rows import rows
from pytest_recall.files.errors import RecallError


def read(path: Path, data: str | bytes, *, lines: bool = False) -> list[tuple[int, Any]]:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return list(rows(path, "f", lines=lines))


@pytest.mark.parametrize(
    "values", [[], [None], [{}, []], [1, -2.5, "a\u2028ü\n", True, None], [{"a": {"b": [[], [1, {"c": "x"}]]}}, [[]]]]
)
def test_rows_are_what_json_says(values: list[Any], tmp_path: Path) -> None:
    numbered = list(enumerate(values, start=1))
    assert read(tmp_path / "a", json.dumps(values)) == numbered
    assert read(tmp_path / "a", "\ufeff" + json.dumps(values, ensure_ascii=False, indent=3)) == numbered
    assert read(tmp_path / "a", "".join(json.dumps(value) + "\r\n" for value in values), lines=True) == numbered


def test_a_row_is_there_before_the_next_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(json.dumps([{"n": n, "text": "x" * 200_000} for n in range(3)]) + "]", encoding="utf-8")
    found = rows(path, "f", lines=False)
    assert [next(found)[1]["n"] for _ in range(2)] == [0, 1]
    with pytest.raises(RecallError, match=r"^f: row 4: is no JSON \(parse error: trailing garbage\)"):
        list(found)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('[{"a": 1}, {"a": ', "f: row 2: is no JSON (parse error: premature EOF); the file may be cut off or damaged"),
        ('[{"a": 1}, {"a": 1', "f: row 2: is no JSON (parse error: premature EOF)"),
        ("[1, 2, nope]", "f: row 3: is no JSON (lexical error"),
        (b'["\xff"]', "f: row 1: is no JSON (lexical error: invalid bytes in UTF8 string"),
        ("", "f: row 1: is no JSON (parse error: premature EOF)"),
        ('{"a": [1]}', "f: expected an array of rows, found an object"),
        ('"a"', "f: expected an array of rows, found text"),
        ('[{"a": 1, "b": {"c": 1, "c": 2}}]', "f: row 1: `c` is written twice; remove one"),
        ("[" + "9" * 400 + "]", "f: row 1: is no JSON (parse error: integer overflow)"),
        ("[1]\n[2]", "f: row 2: is no JSON (parse error: trailing garbage)"),
        ("[1, NaN]", "f: row 2: is no JSON"),
    ],
)
def test_what_is_no_array(data: str | bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(RecallError) as raised:
        read(tmp_path / "a", data)
    (message,) = raised.value.messages
    assert message.startswith(said)
    assert "\n" not in message


def test_what_are_no_lines(tmp_path: Path) -> None:
    with pytest.raises(RecallError, match=r"^f: row 3: is no JSON \(parse error: premature EOF\)"):
        read(tmp_path / "a", '{"a": 1}\n\n{"a": \n2}', lines=True)


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    deep = module.MAX_DEPTH
    assert read(path, "[" * (deep + 1) + "]" * (deep + 1))
    with pytest.raises(RecallError, match=r"^f: row 1: is nested more than 32 deep; no row of these datasets is$"):
        read(path, "[" * 2_000_000)
    with pytest.raises(RecallError, match=r"^f: row 2: is nested more than 32 deep"):
        read(path, "1\n" + '{"a":' * 100_000, lines=True)
    monkeypatch.setattr(module, "MAX_TEXT", 1 << 20)
    with pytest.raises(RecallError, match=r"^f: row 2: has a text of more than 1 million characters; shorten it$"):
        read(path, json.dumps(["", "x" * (1 << 20) + "x"]))
    monkeypatch.setattr(module, "MAX_VALUES", 1000)
    assert read(path, json.dumps([[1] * 999] * 3))
    with pytest.raises(RecallError, match=r"^f: row 2: has more than 1,000 values; no row of these datasets has$"):
        read(path, json.dumps([1, [1] * 1000]))


@pytest.mark.parametrize("lines", [False, True])
def test_a_row_of_too_many_bytes(lines: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ROW_BYTES", 1 << 20)
    fitting, endless = [f'["{"x" * 1_000_000}"]'] * 5, '"' + "x" * 5_000_000
    opening, between = ("", "\n") if lines else ("[", ",")
    with pytest.raises(RecallError, match=r"^f: row 6: is longer than 1 MB; no row of these datasets is$"):
        read(tmp_path / "a", opening + between.join([*fitting, endless]), lines=lines)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RecallError, match=r"^f: cannot be read \(No such file or directory\); check that it is there"):
        list(rows(tmp_path / "a", "f", lines=False))


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ijson", None)
    with pytest.raises(
        RecallError, match=r"^datasets are read with ijson; .* `pip install 'pytest-recall\[datasets\]'`$"
    ):
        read(tmp_path / "a", "[1]")
