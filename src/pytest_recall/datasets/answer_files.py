"""Read published answer files and labels of people, and find the questions of the dataset that they are about."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.datasets.dataset import Question
from pytest_recall.datasets.file import Dataset
from pytest_recall.datasets.questions import clusters
from pytest_recall.datasets.rows import DatasetRow, rows, whole
from pytest_recall.files.errors import RecallError, nearest

_CONVERSATION = re.compile(r"(?:locomo_experiment_user_)?(\d{1,6})", re.ASCII)
MAX_PROBLEMS = 20


class AnswerKey(NamedTuple):
    """The questions of a dataset by id, the place of each as (conversation, number from 0), and its cluster."""

    dataset: str
    questions: Mapping[str, Question]
    places: Mapping[tuple[str, int], str]
    by_row: Sequence[Sequence[Question]]
    clusters: Mapping[str, str]


def read_key(dataset: Dataset) -> AnswerKey:
    """Return the questions of a dataset. Raises RecallError."""
    questions: dict[str, Question] = {}
    places: dict[tuple[str, int], str] = {}
    by_row: list[Sequence[Question]] = []
    about: list[tuple[Question, str]] = []
    for sample in dataset.samples():
        by_row.append(sample.questions)
        for number, question in enumerate(sample.questions):
            questions[question.id] = question
            places[sample.conversation.id, number] = question.id
            about.append((question, str(sample.row)))
    return AnswerKey(dataset.format, questions, places, by_row, clusters(about, dataset.format))


class AnswerFile(NamedTuple):
    """The answers of one system by question. `strange` of the file's rows ask what is not in the dataset."""

    name: str
    layout: str
    answers: Mapping[str, str]
    strange: int


def read_answers(path: Path, key: AnswerKey) -> AnswerFile:
    """Return the answers in a file. Raises RecallError for one that cannot be read or has another shape."""
    name = str(path)
    if key.dataset == "longmemeval":
        found = _of_lines(path, name, key)
    elif key.dataset == "locomo":
        found = _of_conversations(path, name, key)
    else:
        raise RecallError(f"answers to {key.dataset} are published in no format that is known; use locomo, longmemeval")
    if not found.answers:
        raise RecallError(f"{name}: answers no question of the dataset; check that both are the same benchmark")
    return found


def _of_lines(path: Path, name: str, key: AnswerKey) -> AnswerFile:
    answers: dict[str, str] = {}
    strange = 0
    for number, given in rows(path, name, lines=True):
        row = DatasetRow(name, number)
        fields = row.mapping(given, expected="an object with question_id and hypothesis")
        id = row.text(fields.get("question_id"), "question_id")
        said = row.text(fields.get("hypothesis"), "hypothesis", some=False)
        if id in answers:
            raise RecallError(f"{name}: row {number}: question_id: {id!r} is answered twice; keep one")
        if id not in key.questions:
            strange += 1
        else:
            answers[id] = said
    return AnswerFile(name, "LongMemEval's format", answers, strange)


def _of_conversations(path: Path, name: str, key: AnswerKey) -> AnswerFile:
    row = DatasetRow(name, 1)
    told = row.mapping(whole(path, name), expected="an object with a list of answers for each conversation")
    answers: dict[str, str] = {}
    layouts: set[str] = set()
    strange = 0
    for conversation, given in told.items():
        number = _CONVERSATION.fullmatch(conversation)
        if number is None or int(number[1]) >= len(key.by_row):
            row.refuse(
                "", f"conversations 0 to {len(key.by_row) - 1}, as `0` or `locomo_experiment_user_0`", conversation
            )
        left: dict[str, list[Question]] = defaultdict(list)
        for question in key.by_row[int(number[1])]:
            left[question.text.strip()].append(question)
        for n, one in enumerate(row.items(given, conversation)):
            field = f"{conversation}[{n}]"
            fields = row.mapping(one, field)
            asked = row.text(fields.get("question"), f"{field}.question").strip()
            layout, said, gold = _answer(row, fields, field)
            layouts.add(layout)
            if not (same := left[asked]):
                strange += 1
                continue
            # Some questions are asked twice of one conversation, and the reference tells them apart.
            question = next((one for one in same if one.answer == gold), same[0])
            same.remove(question)
            if said is not None:
                answers[question.id] = said
    if len(layouts) > 1:
        raise RecallError(f"{name}: mixes `response` and `golden_answer`, of two formats; keep to one")
    return AnswerFile(name, f"{next(iter(layouts), 'an unknown')} format", answers, strange)


def _answer(row: DatasetRow, fields: Mapping[str, Any], field: str) -> tuple[str, str | None, str | None]:
    """Return whose format it is, the answer and the reference."""
    if "response" in fields:
        layout, said, gold = "mem0's", "response", "answer"
    elif "golden_answer" in fields:
        layout, said, gold = "Zep's", "answer", "golden_answer"
    else:
        row.refuse(field, "`response` as in mem0's format, or `golden_answer` as in Zep's", dict(fields))
    answer = fields.get(said)
    return (
        layout,
        None if answer is None else row.text(answer, f"{field}.{said}", some=False),
        row.answer(fields.get(gold), f"{field}.{gold}"),
    )


def digest_of_key(question: Question) -> str:
    """Return the SHA-256 of question and reference, by which an overlay knows that it means this one."""
    return hashlib.sha256(f"{question.text}{question.answer or ''}".encode("utf-8", "surrogatepass")).hexdigest()


class OverlayEntry(NamedTuple):
    """What an overlay says of a reference: another `answer`, or None where the question is dropped; and why."""

    answer: str | None
    reason: str


def read_overlay(path: Path, key: AnswerKey) -> dict[str, OverlayEntry]:
    """Return the corrections of the answer key by question. Raises RecallError with a sentence for each bad line."""
    found: dict[str, OverlayEntry] = {}
    problems: list[str] = []
    for line, row, fields in _objects(path):
        sample, number = row.text(fields.get("sample_id"), "sample_id"), fields.get("index")
        reason = row.text(fields.get("reason"), "reason")
        id = key.places.get((sample, number)) if type(number) is int else None
        drop, answer = fields.get("drop"), row.answer(fields.get("answer"), "answer")
        if id is None:
            problems.append(f"{path}:{line}: there is no question {number!r} of {sample!r}; indices count from 0")
        elif fields.get("sha256") != digest_of_key(key.questions[id]):
            problems.append(f"{path}:{line}: {id}: sha256 is that of another question or reference; correct the line")
        elif (drop is True) == (answer is not None) or drop not in (None, True):
            problems.append(f"{path}:{line}: {id}: give either `drop: true` or an `answer`")
        elif id in found:
            problems.append(f"{path}:{line}: {id} is corrected twice; keep one line")
        else:
            found[id] = OverlayEntry(answer, reason)
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    return found


def read_people(path: Path, files: Sequence[AnswerFile]) -> dict[tuple[str, str], bool]:
    """Return what people say of answers, by file and question. Raises RecallError with a sentence for each bad line."""
    known = {Path(one.name).name: one for one in files}
    if len(known) < len(files):
        raise RecallError("labels name answer files without their folders, and two are called the same; rename one")
    found: dict[tuple[str, str], bool] = {}
    problems: list[str] = []
    for line, row, fields in _objects(path):
        name, id = row.text(fields.get("file"), "file"), row.text(fields.get("id"), "id")
        label = fields.get("label")
        if name not in known:
            problems.append(f"{path}:{line}: file: {name!r} is not judged here{nearest(name, known)}")
        elif id not in known[name].answers:
            problems.append(f"{path}:{line}: id: {name} has no answer to {id!r}")
        elif label not in ("pass", "fail"):
            problems.append(f"{path}:{line}: label: write `pass` or `fail`")
        elif (known[name].name, id) in found:
            problems.append(f"{path}:{line}: {id} of {name} is labelled twice; keep one line")
        else:
            found[known[name].name, id] = label == "pass"
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    return found


def _objects(path: Path) -> Iterator[tuple[int, DatasetRow, Mapping[str, Any]]]:
    for number, given in rows(path, str(path), lines=True):
        row = DatasetRow(str(path), number)
        yield number, row, row.mapping(given)
