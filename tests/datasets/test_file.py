"""Dataset: a file as a whole: its order, its size, and the samples that are shipped."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tracemalloc
from collections import deque
from pathlib import Path

import pytest

from pytest_recall.cases.case import JudgeCall
from pytest_recall.datasets.dataset import Sample, case_of
from pytest_recall.datasets.file import PUBLISHED, digest, open_dataset
from pytest_recall.datasets.telling import DatasetUnit, units
from pytest_recall.files.errors import RecallError
from tests.datasets.files import FORMATS, load, odd, plain, text_of, write


@pytest.mark.parametrize("format", FORMATS)
def test_a_dataset_can_be_read_again(format: str, tmp_path: Path) -> None:
    path = write(tmp_path / "f", format, plain(format))
    dataset = open_dataset(path)
    assert (dataset.name, dataset.format) == (str(path), format)
    assert list(dataset.samples()) == list(dataset.samples())


@pytest.mark.parametrize("format", FORMATS)
def test_every_question_is_a_case(format: str, tmp_path: Path) -> None:
    dataset = open_dataset(write(tmp_path / "f", format, plain(format)))
    cases = [
        case_of(question, dataset.scenario(sample), [JudgeCall(name="contains")])
        for sample in dataset.samples()
        for question in sample.questions
    ]
    scenarios = {"locomo": {"conv-1", "conv-2"}, "longmemeval": {"longmemeval"}, "dmr": {"dmr"}}
    assert {case.scenario for case in cases} == scenarios[format]
    assert len({case.id for case in cases}) == len(cases)


@pytest.mark.parametrize("format", ["locomo", "longmemeval"])
def test_two_rows_of_one_id(format: str, tmp_path: Path) -> None:
    rows = plain(format)
    with pytest.raises(RecallError, match=r"^file: row 2: `[a-z0-9-]+` is already row 1; choose another id$"):
        load(tmp_path / "f", format, [rows[0], rows[0]])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("text", ["[]", "", "\n\n", "{}"])
def test_no_facts_are_never_loaded_in_silence(format: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecallError, match=r"^f: "):
        list(open_dataset(path, "f", format).samples())


def test_memory_does_not_grow_with_the_number_of_rows(tmp_path: Path) -> None:
    row = plain("longmemeval")[0]
    row["haystack_sessions"][0][0]["content"] = "x" * 100_000

    def peak(count: int) -> int:
        rows = [{**row, "question_id": f"q{n}"} for n in range(count)]
        dataset = open_dataset(write(tmp_path / "f", "longmemeval", rows))
        del rows
        tracemalloc.start()
        try:
            deque(dataset.samples(), maxlen=0)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)  # What is imported is not counted.
    assert peak(100) < 1.5 * peak(4)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_what_is_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(
            RecallError, match=r"^f: is not a regular file; it is read more than once, so write it to one$"
        ):
            open_dataset(path, "f")


def test_the_digest_is_of_the_whole_file(tmp_path: Path) -> None:
    path = write(tmp_path / "f", "dmr", plain("dmr"))
    data = path.read_bytes()
    assert digest(open_dataset(path)) == (len(data), hashlib.sha256(data).hexdigest())


def test_digests_of_published_files_are_well_formed() -> None:
    assert [key for key in PUBLISHED if not re.fullmatch("[0-9a-f]{64}", key)] == []


# The samples


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]{3,}", text.lower()))


def _nearest(question: str, told: list[DatasetUnit]) -> DatasetUnit:
    """Return the unit that shares most words with the question, as the plainest retrieval would."""
    return max(told, key=lambda unit: len(_words(unit.text) & _words(question)))


@pytest.mark.parametrize("format", ["locomo", "longmemeval"])
def test_a_plain_retrieval_gets_some_of_a_sample_right_and_some_wrong(format: str, tmp_path: Path) -> None:
    hits = [
        _nearest(question.text, list(units(sample.conversation))).id in question.evidence
        for sample in load(tmp_path / "f", format, plain(format))
        for question in sample.questions
        if not question.unanswerable
    ]
    assert 0.2 <= sum(hits) / len(hits) <= 0.8


@pytest.mark.parametrize("format", FORMATS)
def test_samples_are_sound_and_as_large_as_promised(format: str, tmp_path: Path) -> None:
    samples = load(tmp_path / "f", format, plain(format))
    assert odd(samples) == []
    questions = [question for sample in samples for question in sample.questions]
    assert (len(samples), len(questions)) == {"locomo": (2, 22), "longmemeval": (8, 8), "dmr": (5, 5)}[format]
    assert all(isinstance(sample, Sample) for sample in samples)
    assert json.loads(text_of("locomo", plain("locomo")))
