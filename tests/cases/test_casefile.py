"""Case files: what is read and when, and mistakes with file, line and field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recall.cases import case_file
from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.files.validation import MAX_PROBLEMS
from tests.schedule.state_samples import fields, problem, problems, read, usual

# What is read


def test_rows_in_their_order_with_their_lines(tmp_path: Path) -> None:
    file = read(tmp_path, "# Prices\n\n" + usual("b", "expected: 5") + "\n" + usual("a"))
    assert file.lines == {"b": 3, "a": 10}
    assert [case.id for case in file.cases()] == ["b", "a"]
    assert [case.id for case in file.cases(["a", "elsewhere"])] == ["a"]
    assert file.cases(["b"])[0].expected == 5
    assert file.cases([]) == []


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".jsonl"])
@pytest.mark.parametrize("text", ["", "\n\n", "# none yet\n"])
def test_no_rows(tmp_path: Path, suffix: str, text: str) -> None:
    if suffix == ".jsonl":
        text = text.replace("# none yet", "")
    file = read(tmp_path, text, suffix)
    assert (file.lines, file.cases()) == ({}, [])


@pytest.mark.parametrize("case_id", ["No", "007", "6:30", "2026-01-31", "1e3x", "null-", "a/b.c", "ü", "a:b", "x@1"])
def test_ids_that_other_readers_take_for_something_else(tmp_path: Path, case_id: str) -> None:
    for written in (case_id, f"'{case_id}'", f'"{case_id}"'):
        file = read(tmp_path, usual(written))
        assert (file.lines, file.cases()[0].id) == ({case_id: 1}, case_id)


def test_windows_line_ends_and_bom(tmp_path: Path) -> None:
    text = "\ufeff" + (usual("a", "notes: |", "  one", "  two") + usual("b")).replace("\n", "\r\n")
    file = read(tmp_path, text)
    assert file.lines == {"a": 1, "b": 9}
    assert file.cases()[0].notes == "one\ntwo\n"


def test_ten_thousand_json_rows(tmp_path: Path) -> None:
    rows = [json.dumps(fields(id=f"case-{number}", input="x" * 90)) for number in range(10_000)]
    file = read(tmp_path, "\n".join(rows), ".jsonl")
    assert len(file.lines) == 10_000
    assert file.lines["case-9999"] == 10_000
    assert [case.id for case in file.cases(["case-5"])] == ["case-5"]
    assert len(file.cases()) == 10_000


def test_ten_thousand_yaml_rows_and_one_wanted(tmp_path: Path) -> None:
    rows = [usual(f"case-{number}", f"notes: {'x' * 90}") for number in range(10_000)]
    file = read(tmp_path, "".join(rows))
    assert file.lines["case-9999"] == 6 * 9_999 + 1
    assert [case.id for case in file.cases(["case-5"])] == ["case-5"]


@pytest.mark.parametrize("suffix", [".yaml", ".jsonl"])
def test_a_large_file_is_read_as_far_as_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(case_file, "LAZY_BYTES", 100)
    rows = [fields(), fields(id="b", surprise=1), fields(id="c")]
    if suffix == ".yaml":
        text = usual("a") + usual("b", "surprise: 1") + usual("c")
        place = "cases.yaml:11"
    else:
        text = "\n".join(json.dumps(row) for row in rows)
        place = "cases.jsonl:2"
    file = read(tmp_path, text, suffix)
    assert list(file.lines) == ["a", "b", "c"]
    assert [case.id for case in file.cases(["a", "c"])] == ["a", "c"]
    refused = problem(lambda: file.cases(["a", "b"]))
    assert refused.startswith(f"{place}: surprise: unknown field")
    assert problem(file.cases) == refused


def test_a_small_file_is_refused_at_once(tmp_path: Path) -> None:
    message = problem(lambda: read(tmp_path, usual("a") + usual("b", "surprise: 1")))
    assert message.startswith("cases.yaml:11: surprise: unknown field")


def test_an_anchor_makes_a_large_file_be_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_file, "LAZY_BYTES", 0)
    file = read(tmp_path, usual("a", judges="&j [exact]") + usual("b", judges="*j"))
    assert [case.judges[0].name for case in file.cases()] == ["exact", "exact"]


# Mistakes


@pytest.mark.parametrize(
    ("row", "line", "words"),
    [
        (usual("a", "expectd: 5"), 6, "expectd: unknown field; did you mean `expected`?"),
        (usual("a", "zebra: 5"), 6, "zebra: unknown field; known: context, dimension, evidence, expected, id, input,"),
        (usual("a", "question: q"), 6, "question: unknown field; did you mean `input`?"),
        (usual("a", "reference: q"), 6, "reference: unknown field; did you mean `expected`?"),
        (usual("a", judges=""), 1, "judges: is missing; add it"),
        (usual("a", scenario="5"), 2, "scenario: 5 is not text; write it in quotes"),
        (usual("a", scenario="two words"), 2, "scenario: 'two words' does not fit; start with a letter"),
        (usual("a", scenario="[s]"), 2, "scenario: must be text"),
        (usual("a", judges="exact"), 5, "judges: must be a list in brackets, not 'exact'"),
        (usual("a", judges="[5]"), 5, "judges.0: write `name`, or `{name: {argument: value}}` with a single name"),
        (usual("a", judges="[{x: 1, y: 2}]"), 5, "judges.0: write `name`, or `{name: {argument: value}}`"),
        (usual("a", "turns: [{user: q, usr: r}]", input=""), 5, "turns.0.usr: unknown field; did you mean `user`?"),
        (usual("a", judges="[]"), 5, "judges: is empty; give at least one"),
        (usual("a", "turns: [q]"), 1, "give either `input` or `turns`"),
        (usual("a", input=""), 1, "give either `input` or `turns`"),
        (usual("a", "turns: []", input=""), 5, "turns: is empty; give at least one"),
        (usual("a", "turns: q", input=""), 5, "turns: must be a list in brackets, not 'q'"),
        (usual("a", "turns: [q, {user: r, assistant: s}]", input=""), 1, "remove its `assistant` reply"),
        (usual("a", "threshold: high"), 6, "threshold: must be a number, not 'high'"),
        (usual("a", "threshold: true"), 6, "threshold: must be a number, not True"),
        (usual("a", "threshold: 1.5"), 6, "threshold: input should be less than or equal to 1"),
        (usual("a", "tags: money"), 6, "tags: must be a list in brackets, not 'money'"),
        (usual("a", "tags: [x, and]"), 6, "tags.1: 'and' means something else to `-m`; choose another word"),
        (usual("a", "tags:", "  - x", "  - y z"), 8, "tags.1: 'y z' does not fit"),
        (usual("a", "notes: 5"), 6, "notes: 5 is not text; write it in quotes"),
        (usual("a b"), 1, "id: 'a b' does not fit; use letters, digits and"),
        (usual("a::b"), 1, "id: 'a::b' does not fit"),
        (usual("x" * 201), 1, "id: "),
        (usual("a", "scenario: t"), 6, "`scenario` is written twice; remove one of them"),
        (usual("a", "id: b"), 6, "`id` is written twice"),
        (usual("a", "notes: !!str x"), 6, "the tag `tag:yaml.org,2002:str` is not allowed"),
        ("- scenario: s\n  dimension: d\n", 1, "id: is missing; add it"),
        ("- just text\n", 1, "a case is a mapping; start it with `id: <id>`"),
        ("cases:\n  - id: a\n", 1, "must be a list of cases; start each with `- id: <id>`"),
        ("<<<<<<< ours\n" + usual("a"), 1, "merge-conflict marker; resolve the conflict"),
        (usual("a") + "=======\n" + usual("b"), 7, "could not find expected ':'"),
    ],
)
def test_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, line: int, words: str) -> None:
    for before in ("", usual("first") + "\n"):
        shift = before.count("\n") if not row.startswith("cases:") else 0
        text = before + row if shift or not before else row
        message = problem(lambda text=text: read(tmp_path, text))  # type: ignore[misc]
        assert message.startswith(f"cases.yaml:{line + shift}: "), message
        assert words in message
    monkeypatch.setattr(case_file, "LAZY_BYTES", 0)
    assert problem(lambda: read(tmp_path, row).cases()).startswith(f"cases.yaml:{line}: ")


@pytest.mark.parametrize(
    ("row", "line", "words"),
    [
        (usual("5"), 1, 'id: 5 is not text; write it in quotes: "5"'),
        (usual("~"), 1, "id: has no value; give it one"),
        (usual("a", input="5"), 4, "input: 5 is not text; write it in quotes"),
        (usual("a", input="[x]"), 4, "input: must be text"),
        (usual("a", input='""'), 4, "input: is empty; write some text"),
    ],
)
def test_one_sentence_for_one_mistake(tmp_path: Path, row: str, line: int, words: str) -> None:
    assert problem(lambda: read(tmp_path, row)).startswith(f"cases.yaml:{line}: {words}")


def test_id_without_a_value(tmp_path: Path) -> None:
    message = problem(lambda: read(tmp_path, usual("")))
    assert message.startswith("cases.yaml:1: id: ")
    assert "None" not in message


def test_line_of_what_is_missing_within_a_field(tmp_path: Path) -> None:
    messages = problems(lambda: read(tmp_path, usual("a", "turns:", "  - {assistant: r}", "  - q", input="")))
    assert messages[0].startswith("cases.yaml:6: turns.0.user: is missing; add it")


def test_every_mistake_of_a_file_at_once_in_its_order(tmp_path: Path) -> None:
    text = usual("a", "surprise: 1") + usual("a") + usual("b", scenario="", dimension="5") + "- id:\n"
    assert [message.split(";")[0] for message in problems(lambda: read(tmp_path, text))] == [
        "cases.yaml:6: surprise: unknown field",
        "cases.yaml:7: id: `a` is already the case on line 1",
        "cases.yaml:13: dimension: 5 is not text",
        "cases.yaml:16: id: has no value",
    ]


def test_not_more_mistakes_than_people_read(tmp_path: Path) -> None:
    text = "".join(usual(f"c{number}", "surprise: 1") for number in range(3 * MAX_PROBLEMS))
    assert len(problems(lambda: read(tmp_path, text))) == MAX_PROBLEMS


# Duplicate ids


@pytest.mark.parametrize("layout", ["", "# &\n"])
def test_ids_twice_in_a_file_name_both_lines(tmp_path: Path, layout: str) -> None:
    message = problem(lambda: read(tmp_path, usual("a") + usual("b") + usual("'a'") + layout))
    assert message == "cases.yaml:11: id: `a` is already the case on line 1; choose another"


def test_ids_twice_among_json_rows(tmp_path: Path) -> None:
    row = json.dumps(fields())
    message = problem(lambda: read(tmp_path, f"{row}\n\n{row}\n", ".jsonl"))
    assert message == "cases.jsonl:3: id: `a` is already the case on line 1; choose another"


def test_ids_twice_in_two_files_name_both_places(tmp_path: Path) -> None:
    files = [read(tmp_path, usual("a") + usual("b")), read(tmp_path, json.dumps(fields(id="b")), ".jsonl")]
    message = problem(lambda: check_unique(files))
    assert message == "cases.jsonl:1: id: `b` is already the case at cases.yaml:6; choose another"
    check_unique(files[:1])
    check_unique([])


# JSON rows


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('{"id": ', "not JSON (Expecting value"),
        ("[1]", "a case is a mapping"),
        ("5", "a case is a mapping"),
        ("null", "a case is a mapping"),
        ('{"scenario": "s"}', "id: is missing; add it"),
        ('{"id": 7}', 'id: 7 is not text; write it in quotes: "7"'),
        (json.dumps(fields())[:-1] + ', "id": "b"}', "`id` is written twice"),
        (json.dumps(fields())[:-1] + ', "expected": {"k": 1, "k": 1}}', "`k` is written twice"),
        (json.dumps(fields(expected=float("nan"))), "NaN is not a JSON value"),
        (json.dumps(fields(expected=[float("-inf")])), "-Infinity is not a JSON value"),
        (json.dumps(fields(surprise=1)), "surprise: unknown field"),
        (json.dumps(fields(judges=...)), "judges: is missing; add it"),
        ("<<<<<<< ours", "merge-conflict marker; resolve the conflict"),
        ("- id: a", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"id": "a", "expected": ' + "9" * 5000 + "}", "not JSON"),
        (json.dumps(fields(expected="Q")).replace('"Q"', "[" * 400 + "]" * 400), "expected"),
    ],
)
def test_json_mistake(tmp_path: Path, row: str, words: str) -> None:
    text = "\n" + json.dumps(fields(id="first")) + "\n" + row + "\n"
    message = problem(lambda: read(tmp_path, text, ".jsonl"))
    assert message.startswith("cases.jsonl:3: ")
    assert words in message


def test_every_broken_json_row_is_told(tmp_path: Path) -> None:
    text = '{"id": \n' + json.dumps(fields(surprise=1)) + "\n[]\n"
    assert [message.split(":")[1] for message in problems(lambda: read(tmp_path, text, ".jsonl"))] == ["1", "2", "3"]


def test_json_number_out_of_range(tmp_path: Path) -> None:
    row = json.dumps(fields(expected="Q")).replace('"Q"', "1e999")
    assert problem(lambda: read(tmp_path, row, ".jsonl")).startswith("cases.jsonl:1: ")


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0c"])
def test_only_line_feeds_end_json_rows(tmp_path: Path, separator: str) -> None:
    row = json.dumps(fields(notes=f"a{separator}b"), ensure_ascii=separator == "\x0c")
    assert read(tmp_path, row, ".jsonl").cases()[0].notes == f"a{separator}b"


# Files that cannot be read


@pytest.mark.parametrize("suffix", [".yaml", ".jsonl"])
def test_not_utf_8(tmp_path: Path, suffix: str) -> None:
    message = problem(lambda: read(tmp_path, b'- id: "\xff"\n', suffix))
    assert message == f"cases{suffix}:1: byte 7 is not UTF-8; save the file as UTF-8"


@pytest.mark.parametrize("suffix", [".yaml", ".jsonl"])
def test_not_a_file(tmp_path: Path, suffix: str) -> None:
    assert problem(lambda: CaseFile(tmp_path / f"gone{suffix}", "gone")).startswith("gone: cannot be read (No such")
    assert problem(lambda: CaseFile(tmp_path, "here")).startswith("here: cannot be read (Is a directory)")
