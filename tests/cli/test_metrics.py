"""`recall memory metrics`: lines of JSON in, lines of JSON out, by the installed command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tracemalloc
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cli import main
from pytest_recall.metrics import answers, summary
from tests.cli.conftest import Recall
from tests.cli.samples import environment, recall
from tests.helpers import programs
from tests.helpers.command import Done
from tests.helpers.samples import unhurried
from tests.helpers.screens import assert_screen

HIT = {"id": "a", "retrieved": ["Alice uses Go for her projects"], "ground_truth": "Go", "k": 5}
MISS = {"id": "b", "retrieved": ["Alice likes hiking"], "ground_truth": "Go", "k": 5}
LATE = {"id": "c", "ground_truth": "Go", "k": 5, "error": "timeout"}


def jsonl(*lines: Any) -> str:
    """Return lines of JSON; text stands for itself."""
    return "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)


def piped(text: str | bytes, *arguments: str) -> Done:
    """Pipe `text` into the command, within this process."""
    data = text.encode() if isinstance(text, str) else text
    before, sys.stdin = sys.stdin, TextIOWrapper(BytesIO(data))
    try:
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
            try:
                code = main(["memory", "metrics", *arguments])
            except SystemExit as error:  # argparse's own way to refuse
                code = int(str(error.code))
    finally:
        sys.stdin = before
    return Done(code, out.getvalue(), err.getvalue())


def parsed(done: Done) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the lines, and the summary at their end."""
    *lines, last = map(json.loads, done.out.splitlines())
    assert list(last) == ["summary"]
    return lines, last["summary"]


def test_a_line_for_each_and_the_summary_last() -> None:
    done = piped(jsonl(HIT, MISS, LATE))
    assert (done.code, done.err) == (0, "")
    lines, summary = parsed(done)
    assert lines == [
        {
            "id": "a",
            "metrics": {"contains": True, "token_f1": 0.2857142857142857, "contains_at_k": True, "tokens_read": 8},
        },
        {"id": "b", "metrics": {"contains": False, "token_f1": 0.0, "contains_at_k": False, "tokens_read": 5}},
        {"id": "c", "error": "timeout", "metrics": dict.fromkeys(
            ["contains", "token_f1", "contains_at_k", "answer_contains", "answer_token_f1", "squad_exact_match",
             "squad_f1", "rouge_l_precision", "rouge_l_recall", "rouge_l_f"])},
    ]  # fmt: skip
    assert {key: summary[key] for key in ("n", "failures", "refused", "k", "confidence", "estimated")} == {
        "n": 3, "failures": 1, "refused": 0, "k": 5, "confidence": 0.95, "estimated": {"tokens_read": 2},
    }  # fmt: skip
    contains = summary["metrics"]["contains"]
    assert {key: contains[key] for key in ("value", "n", "failures")} == {"value": 0.5, "n": 2, "failures": 1}
    assert 0.09 < contains["low"] < 0.1 < 0.9 < contains["high"] < 0.91
    assert summary["published"] == {
        "name": "stdin", "total_questions": 3, "exact_match_accuracy": 1 / 3, "avg_f1": 0.2857142857142857 / 3,
        "recall_at_k": 1 / 3, "k": 5, "recall_failures": 1, "results": None,
    }  # fmt: skip


def test_a_file_is_read_as_a_pipe_is(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text(jsonl(HIT, MISS), encoding="utf-8")
    done = recall(tmp_path, "memory", "metrics", "mine.jsonl")
    assert done.code == 0
    same = subprocess.run(
        [Path(sys.executable).with_name("recall"), "memory", "metrics", "--name", "mine"],
        input=jsonl(HIT, MISS),
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.out == same.stdout == piped(jsonl(HIT, MISS), "--name", "mine").out


def test_the_summary_alone() -> None:
    whole = piped(jsonl(HIT, MISS, LATE))
    assert piped(jsonl(HIT, MISS, LATE), "--summary-only") == (0, whole.out.splitlines()[-1] + "\n", "")


OTHER = {"id": "d", "answer": "x", "ground_truth": "x"}


def test_tables() -> None:
    parts = []
    for lines in ([HIT, MISS], [HIT, LATE], [HIT, OTHER], [], [LATE], [LATE, OTHER]):
        done = piped(jsonl(*lines), "--table", "--name", "LoCoMo")
        assert done.code == 0
        parts.append(f"{jsonl(*lines)}\n{done.out}{done.err}")
    assert_screen(Path(__file__).parent / "screens" / "metrics-table.txt", "\n".join(parts))


def test_nothing_at_all_comes_to_no_mean() -> None:
    done = piped("")
    assert parsed(done) == ([], {"n": 0, "failures": 0, "refused": 0, "k": 5, "confidence": 0.95, "metrics": {}})
    asked = parsed(piped("", "--metrics", "contains"))[1]["metrics"]
    assert asked == {"contains": {"value": None, "n": 0, "low": None, "high": None, "failures": 0}}


def test_metrics_that_are_asked_for() -> None:
    lines, summary = parsed(piped(jsonl(HIT, MISS), "--metrics", "token_f1, squad_f1"))
    assert [list(line["metrics"]) for line in lines] == [["token_f1"], ["token_f1"]]
    assert list(summary["metrics"]) == ["token_f1", "squad_f1"]
    assert summary["metrics"]["squad_f1"]["value"] is None


def test_k_is_of_the_line_then_of_the_option_then_of_the_first_line() -> None:
    three = {"id": "a", "retrieved_ids": ["x", "y", "z"], "evidence": ["z"]}

    def hits(*lines: dict[str, Any], arguments: tuple[str, ...] = ()) -> list[bool]:
        return [line["metrics"]["evidence_hit_at_k"] for line in parsed(piped(jsonl(*lines), *arguments))[0]]

    assert hits(three) == [True]
    assert hits(three, arguments=("--k", "2")) == [False]
    assert hits({**three, "k": 3}, arguments=("--k", "3")) == [True]
    assert hits({**three, "k": 2}, {**three, "id": "b"}) == [False, False]


def test_broken_lines_are_named_and_the_others_are_measured() -> None:
    text = jsonl(HIT, "{", {"id": "x", "k": 10}, {"id": "a"}, {"id": "y", "anwser": 1}, MISS)
    done = piped(text)
    assert done.code == 2
    assert done.err.splitlines() == [
        "recall: stdin:2: not JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1));"
        " write one object per line",
        "recall: stdin:3: k: is 10, and 5 on line 1; measure each k by itself",
        "recall: stdin:4: id: `a` was there before; choose another",
        "recall: stdin:5: anwser: unknown field; did you mean `answer`?",
    ]
    lines, summary = parsed(done)
    assert [line["id"] for line in lines] == ["a", "b"]
    assert (summary["n"], summary["refused"]) == (2, 4)
    assert summary["metrics"] == parsed(piped(jsonl(HIT, MISS)))[1]["metrics"]


def test_of_many_broken_lines_some_are_named() -> None:
    done = piped("{\n" * 100)
    assert len(done.err.splitlines()) == 21
    assert done.err.splitlines()[-1] == "recall: 80 more lines were left out"
    assert parsed(done)[1]["refused"] == 100


def test_what_is_printed_is_ascii_json_whatever_came_in() -> None:
    done = piped(jsonl({**HIT, "id": "é\u2028😀", "category": "日本", "error": "ü"}))
    assert done.out.isascii()
    assert [line["id"] for line in parsed(done)[0]] == ["é\u2028😀"]


def test_locomo_needs_its_extra() -> None:
    pytest.importorskip("nltk")
    line = {"id": "a", "answer": "two dogs", "ground_truth": "dog, cat", "category": 1}
    assert parsed(piped(jsonl(line)))[0][0]["metrics"].keys() >= {"squad_f1"}
    assert "locomo_f1" not in parsed(piped(jsonl(line)))[0][0]["metrics"]
    found = parsed(piped(jsonl(line), "--metrics", "locomo_f1"))[0][0]
    assert found["metrics"] == {"locomo_f1": pytest.approx(1 / 3)}


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    answers.stem.cache_clear()
    answers._stemmer.cache_clear()
    monkeypatch.setitem(sys.modules, "nltk.stem.porter", None)
    done = piped("", "--metrics", "locomo_f1")
    assert done == (2, "", "recall: locomo_f1: needs nltk; run `pip install 'pytest-recall[metrics]'`\n")
    done = piped("", "--metrics", "squad_f1")
    assert (done.code, done.err) == (0, "")


def test_lines_are_measured_as_they_come(tmp_path: Path) -> None:
    with programs.begin(tmp_path, "memory", "metrics", env=environment()) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        for line in (HIT, MISS):
            process.stdin.write(jsonl(line))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == line["id"]
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.read() == ""
        said = "recall: stopped before the end, so that there is no summary; what was printed holds\n"
        assert process.stderr.read() == said
        assert process.wait() == 130


def test_a_reader_that_has_seen_enough() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "pytest_recall", "memory", "metrics"],
        input=jsonl(HIT).encode(),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_many_lines_need_no_memory_of_their_texts(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(1000):
            line = {"id": number, "retrieved": ["x" * 5000], "ground_truth": "Go", "seconds": 0.5}
            file.write(jsonl(line))
    assert path.stat().st_size > 5_000_000
    piped("")  # what the first call imports stays
    tracemalloc.start()
    try:
        _, summary = parsed(piped("", "--summary-only", str(path)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert summary["n"] == 1000
    assert peak < 1_500_000


@given(st.lists(st.binary(max_size=40) | st.sampled_from([jsonl(HIT).encode(), b'{"id":1}']), max_size=6))
@unhurried
def test_whatever_comes_in_there_is_a_summary_and_no_traceback(lines: list[bytes]) -> None:
    done = piped(b"\n".join(lines))
    _, summary = parsed(done)
    assert (done.code == 2) == (summary["refused"] > 0) == (done.err != "")


def test_categories_without_end_are_refused_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MAX_CATEGORIES", 1)
    done = piped(jsonl({**HIT, "category": "one"}, {**MISS, "category": "two"}))
    lines, told = parsed(done)
    assert (done.code, [line["id"] for line in lines], told["refused"]) == (2, ["a"], 1)
    assert done.err.startswith("recall: stdin:2: category: more than 1 of them; leave out what is not a category")


def test_a_terminal_is_no_input(tmp_path: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", type("Terminal", (), {"isatty": lambda self: True})())
    assert inside(tmp_path, "memory", "metrics") == (
        2, "", "recall: there is nothing on standard input; pipe JSON lines into it, or name a FILE\n",
    )  # fmt: skip
