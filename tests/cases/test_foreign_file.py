"""Foreign files: what they hold with its lines, or a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_recall.cases import foreign_file
from pytest_recall.cases.foreign_file import MAX_BYTES, Folder, read_document, with_columns
from pytest_recall.files.errors import RecallError
from tests.helpers.samples import unhurried


def read(folder: Path, name: str, text: str) -> Any:
    """Return a document that was written as `name`."""
    (folder / name).write_text(text, encoding="utf-8")
    return read_document(folder / name, name)


@pytest.mark.parametrize(
    ("name", "text", "value", "places"),
    [
        ("a.json", '[\n {"a": "}\\""},\n\n {"b": [1,\n2]}]', [{"a": '}"'}, {"b": [1, 2]}], {(1,): 4, (1, "b", 1): 5}),
        ("a.jsonl", '{"a": 1}\n\n{"b": 2}\n', [{"a": 1}, {"b": 2}], {(0,): 1, (1, "b"): 3}),
        ("a.csv", 'a,b\n"x\ny",1\n\nz,2\n', [{"a": "x\ny", "b": "1"}, {"a": "z", "b": "2"}], {(0,): 2, (1,): 5}),
        ("a.yaml", "- &a {x: 1, y: 1}\n- <<: *a\n  y: 2\n", [{"x": 1, "y": 1}, {"y": 2, "x": 1}], {(1, "y"): 3}),
        (
            "a.yaml",
            "- &a {x: 1}\n- &b {x: 2, y: 2}\n- <<: [*a, *b]\n",
            [{"x": 1}, {"x": 2, "y": 2}, {"x": 1, "y": 2}],
            {},
        ),
        ("a.txt", "two\nlines\n", "two\nlines\n", {(): 1}),
    ],
)
def test_values_have_their_lines(name: str, text: str, value: Any, places: dict[Any, int], tmp_path: Path) -> None:
    document = read(tmp_path, name, text)
    assert document.value == value
    assert {path: document.place(path) for path in places} == {path: f"{name}:{line}" for path, line in places.items()}


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.json", '[\n{"a": 1, 2}]', "a.json:2: not JSON (Expecting property name"),
        ("a.json", '{"a": 1, "a": 2}', "a.json:1: not JSON (`a` is written twice)"),
        ("a.json", "[NaN]", "a.json:1: not JSON (NaN is not a JSON value)"),
        ("a.json", "[" * 101 + "]" * 101, "a.json:1: nested more than 100 deep"),
        ("a.json", "[" * 100_000, "a.json:1: not JSON (nested more than 500 deep"),
        ("a.jsonl", '{"a": 1}\n[]\n', "a.jsonl:2: is not an object"),
        ("a.csv", "a,b\n1\n", "a.csv:2: has 1 cells, and the header has 2"),
        ("a.csv", "a,a\n1,2\n", "a.csv:1: the column `a` is there twice"),
        ("a.csv", "a;b\n1;2\n", "a.csv:1: has one column, `a;b`; if `;` parts its cells, add --delimiter ';'"),
        ("a.csv", "a\tb\n1\t2\n", "a.csv:1: has one column, `a b`; if `\t` parts its cells, add --delimiter tab"),
        ("a.csv", "a\n\0\n", "a.csv: holds a zero byte; save it as text"),
        ("a.csv", 'a\n"x" y\n', "a.csv:2: not CSV ("),
        ("a.yaml", "a: !!python/object:x {}\n", "a.yaml:1: the tag `tag:yaml.org,2002:python/object:x` is not allowed"),
        ("a.yaml", "- <<: 1\n", "a.yaml: `<<` merges mappings"),
        ("a.py", "raise SystemExit\n", "a.py: is code, and code is not run"),
        ("a.xlsx", "", "a.xlsx: `.xlsx` is not read"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(name: str, text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(RecallError) as caught:
        read(tmp_path, name, text)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    "reference", ["../secret.txt", "/etc/hostname", "link.txt", "~/x.txt", "in/../../secret.txt", "\0"]
)
def test_files_outside_of_the_folder_are_not_read(reference: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (tmp_path / "in" / "link.txt").symlink_to(tmp_path / "secret.txt")
    document = read(tmp_path, "in/a.txt", "")
    with pytest.raises(RecallError, match=r"is outside of its folder|is not a path"):
        Folder(tmp_path / "in" / "a.txt", "in/a.txt").read(reference, document)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(RecallError, match=r"^a\.json: larger than 64 MB; import it in parts$"):
        read_document(tmp_path / "a.json", "a.json")


def test_a_source_refers_to_some_files_and_to_none_of_them_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_file, "MAX_FILES", 2)
    document = read(tmp_path, "a.txt", "")
    folder = Folder(tmp_path / "a.txt", "a.txt")
    for name in ("b.txt", "c.txt", "b.txt"):
        (tmp_path / name).write_text(name, encoding="utf-8")
        assert folder.read(name, document).value == name
    with pytest.raises(RecallError, match=r"^a\.txt: refers to more than 2 files; import it in parts$"):
        folder.read("d.txt", document)


def test_a_file_beside_the_source_is_named_as_the_source_is(tmp_path: Path) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    document = read(tmp_path, "in/a.txt", "")
    read(tmp_path, "in/sub/b.txt", "B")
    found = Folder(tmp_path / "in" / "a.txt", "in/a.txt").read("sub/b.txt", document)
    assert (found.name, found.value) == ("in/sub/b.txt", "B")


@settings(unhurried, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(["a.yaml", "a.json", "a.jsonl", "a.csv"]), text=st.text('{}[]:,"\\ \n\t-&*<a1é'))
def test_whatever_a_file_holds_it_is_read_or_refused(name: str, text: str, tmp_path: Path) -> None:
    said = ""
    try:
        said = read(tmp_path, name, text).place((0,))
    except RecallError as error:
        said = error.messages[0]
    assert said.startswith(f"{name}:")


def test_cells_are_parted_by_what_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a;b\n1,5;2\n", encoding="utf-8")
    assert read_document(tmp_path / "a.csv", "a.csv", ";").value == [{"a": "1,5", "b": "2"}]


def test_columns_get_the_names_that_are_known(tmp_path: Path) -> None:
    document = with_columns(read(tmp_path, "a.csv", "id,q,a\n1,Open?,no\n"), {"input": "q", "target": "a"})
    assert document.value == [{"id": "1", "input": "Open?", "target": "no"}]
    assert document.place((0,)) == "a.csv:2"
    swapped = with_columns(read(tmp_path, "a.csv", "input,target\n1,2\n"), {"input": "target", "target": "input"})
    assert swapped.value == [{"target": "1", "input": "2"}]


@pytest.mark.parametrize(
    ("text", "names", "sentence"),
    [
        ("[1]", {"input": "q"}, r"^--map: a\.json is no table and no list of rows"),
        ('{"q": 1}', {"input": "q"}, r"^--map: a\.json is no table and no list of rows"),
        (
            '[{"question": 1}]',
            {"input": "quest"},
            r"^--map input=quest: no row of a\.json has `quest`; ",
        ),
        (
            '[{"q": 1, "input": 2}]',
            {"input": "q"},
            r"^--map input=q: rows of a\.json have `input` as well; ",
        ),
    ],
)
def test_a_name_that_fits_no_column_is_refused(text: str, names: dict[str, str], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(RecallError, match=sentence):
        with_columns(read(tmp_path, "a.json", text), names)


def test_a_pattern_stands_for_the_files_that_fit_it(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name in ("b.yaml", "a.yaml", "c.txt"):
        (tmp_path / "tests" / name).write_text("[]\n", encoding="utf-8")
    config = read(tmp_path, "c.yaml", "tests: x\n")
    (tmp_path.parent / "outside.yaml").write_text("[]\n", encoding="utf-8")
    folder = Folder(tmp_path / "c.yaml", "c.yaml")
    assert folder.read("tests/*.yaml", config).value == ["tests/a.yaml", "tests/b.yaml"]
    for pattern in ("tests/*.csv", "../*.yaml", "/*"):
        with pytest.raises(RecallError, match=r"^c\.yaml: no file fits "):
            folder.read(pattern, config)
