"""The questions of a dataset as cases: what is stored is read as it is wanted, and never held as a whole."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cases.memory_part import MemoryPart, key_of
from pytest_recall.datasets.cases import DatasetCases, dataset_of, read_bench
from pytest_recall.datasets.file import Reader, open_dataset
from pytest_recall.datasets.membench_run import MembenchResult, arguments_of, ask_open_questions, header_of
from pytest_recall.datasets.questions import BenchFile
from pytest_recall.files import pace
from pytest_recall.files.errors import RecallError
from pytest_recall.memory.built_in import BUILT_IN
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.memory.resolve import resolve
from pytest_recall.trials.question_run import QuestionRun

ROWS, LONG = 40, 100_000


def bench(path: str = "sample", folder: Path = Path(), **given: Any) -> DatasetCases:
    asked = BenchFile.model_validate({"path": path, **given})
    return DatasetCases(folder / "f.dataset.yaml", "f.dataset.yaml", asked, dataset_of(asked, folder, "f.dataset.yaml"))


def asked_all(found: DatasetCases, client: MemoryAdapter, folder: Path, tell: Callable[[str], None]) -> MembenchResult:
    arguments = arguments_of(found, client)
    with QuestionRun(folder, header_of(folder, found, arguments, None), tell) as run:
        return ask_open_questions(found, client, run, arguments, allowed=False)


def history(number: int, text: str = "") -> dict[str, Any]:
    return {
        "question_id": f"q{number}",
        "question_type": "multi-session",
        "question": f"What is the secret of number{number}?",
        "answer": f"word{number}",
        "question_date": "2024/04/01 (Mon) 10:00",
        "haystack_session_ids": ["s"],
        "haystack_dates": ["2024/01/09 (Tue) 18:30"],
        "haystack_sessions": [
            [
                {"role": "user", "content": f"The secret of number{number} is word{number}.", "has_answer": True},
                {"role": "assistant", "content": text or "I see."},
            ]
        ],
        "answer_session_ids": ["s"],
    }


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "longmemeval.json"
    path.write_text(json.dumps(rows))
    return path


def test_a_question_is_a_case_with_all_that_a_case_has() -> None:
    case = bench(dataset="locomo", limit=3).cases(["conv-1:q1"])[0]
    assert (case.scenario, case.dimension, case.limit) == ("conv-1", "single-hop", 3)
    assert case.evidence == ("D1:4",)
    assert case.memory is not None
    first = case.memory.units[0]
    assert (first.id, first.metadata["id"], first.metadata["conversation"]) == ("D1:1", "D1:1", "conv-1")


def test_the_day_of_the_question_goes_along() -> None:
    case = bench(dataset="longmemeval").cases()[0]
    assert case.context is not None
    assert case.context.date == "2024-04-01T10:00"


def test_what_is_stored_decides_on_the_key_as_it_does_for_cases() -> None:
    cases = bench(dataset="locomo").cases()
    keys = {case.scenario: case.memory.key for case in cases if case.memory}
    assert len(set(keys.values())) == len(keys) == 2
    part = cases[0].memory
    assert part is not None
    assert part.key == key_of(part.units)
    facts = MemoryPart.model_validate({"facts": ["a"]})
    assert facts.key == key_of(facts.units)
    by_session = bench(dataset="locomo", unit="session").cases()[0]
    assert by_session.fingerprint != cases[0].fingerprint


def test_sessions_are_stored_whole() -> None:
    case = bench(dataset="locomo", unit="session").cases(["conv-1:q1"])[0]
    assert case.memory is not None
    assert case.evidence == ("session_1",)
    assert [unit.id for unit in case.memory.units] == ["session_1", "session_2", "session_3", "session_4"]


def test_pairs_are_stored_and_named() -> None:
    found = bench(dataset="locomo", unit="pair", captions=False, dates=False)
    case = found.cases(["conv-1:q1"])[0]
    assert case.memory is not None
    assert case.evidence == ("D1:3+D1:4",)
    assert found.question(found.entries["conv-1:q1"]).evidence == case.evidence
    unit = next(one for one in case.memory.units if one.id in case.evidence)
    assert unit.metadata == {"id": "D1:3+D1:4", "conversation": "conv-1", "session": "session_1"}
    assert "[image" not in unit.content
    assert case.fingerprint != bench(dataset="locomo").cases(["conv-1:q1"])[0].fingerprint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset: locomo\n", "f.yaml:1: path: is missing; add it"),
        ("dataset: lokomo\npath: sample\n", "f.yaml:1: dataset: 'lokomo' is unknown; did you mean `locomo`?"),
        ("dataset: dmr\npath: sample\nlimit: '3'\n", "f.yaml:3: limit: must be a whole number, not '3'"),
        (
            "dataset: locomo\npath: sample\ncategories: [temprl]\n",
            "f.yaml: categories: 'temprl' is not in the dataset; did you mean `temporal`?",
        ),
        ("path: sample\n", "f.yaml: dataset: is missing; `path: sample` needs one of locomo, longmemeval, dmr"),
        ("path: gone.json\n", "f.yaml: path: 'gone.json' is not there; correct it, or write `sample`"),
        ("path: cut.json\n", "cut.json: is neither a JSON array nor JSON Lines"),
    ],
)
def test_mistakes_in_the_file_name_their_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "cut.json").write_text("nothing")
    (tmp_path / "f.yaml").write_text(text)
    with pytest.raises(RecallError, match=f"^{re.escape(message)}"):
        read_bench(tmp_path / "f.yaml", "f.yaml")


def test_rows_are_read_in_any_order(tmp_path: Path) -> None:
    reader = Reader(open_dataset(written(tmp_path, *map(history, range(1, 5)))))
    assert [reader.at(row).conversation.id for row in (1, 3, 3, 2, 4)] == ["q1", "q3", "q3", "q2", "q4"]
    with pytest.raises(RecallError, match="row 9 is gone"):
        reader.at(9)
    assert reader.at(2).conversation.id == "q2"


def test_a_large_file_is_never_held(tmp_path: Path) -> None:
    path = written(tmp_path, *(history(number, "x " * (LONG // 2)) for number in range(ROWS)))
    whole = path.stat().st_size
    client = resolve("last-2", BUILT_IN)

    def run(named: Path, out: str) -> MembenchResult:
        found = bench(str(named), limit=1)
        return asked_all(found, client, tmp_path / out, print)

    (tmp_path / "small").mkdir()
    run(written(tmp_path / "small", history(0)), "first")  # Modules that are imported late are no part of the file.
    tracemalloc.start()
    try:
        ended = run(path, "o")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert ended.summary.everything.means["evidence_all_at_k"].value == 1
    assert ended.summary.ingests == ROWS
    assert peak < whole / 3, f"{peak:,} of {whole:,} bytes"


def test_how_far_it_has_come_is_told_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "EVERY", 0)
    found, client, told = bench(dataset="dmr"), resolve("last-2", BUILT_IN), list[str]()
    asked_all(found, client, tmp_path, told.append)
    total = len(found.entries)
    assert total > 1
    assert told == [f"{count} of {total} questions asked" for count in range(1, total + 1)]
