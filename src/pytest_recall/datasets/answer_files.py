"""Read published answers, labels of people and corrections of the key, and find the questions that they are about."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.datasets.dataset import Question
from pytest_recall.datasets.file import Dataset
from pytest_recall.datasets.overlay import SHIPPED, KeyQuestion, Overlay, OverlayEntry, entry_of
from pytest_recall.datasets.questions import clusters
from pytest_recall.datasets.rows import MAX_PROBLEMS, DatasetRow, objects, rows, whole
from pytest_recall.files.errors import RecallError, nearest

_CONVERSATION = re.compile(r"(?:locomo_experiment_user_)?(\d{1,6})", re.ASCII)


class AnswerKey(NamedTuple):
    """The questions of a dataset by id and by row, the id of the conversation of each row, and clusters by question."""

    dataset: str
    questions: Mapping[str, Question]
    by_row: Sequence[Sequence[Question]]
    samples: Sequence[str]
    clusters: Mapping[str, str]

    def in_places(self) -> Iterator[KeyQuestion]:
        """Yield each question as an overlay names it."""
        for sample, questions in zip(self.samples, self.by_row, strict=True):
            for index, one in enumerate(questions):
                yield KeyQuestion(sample, index, one.id, one.text, one.answer, one.category)


def read_key(dataset: Dataset) -> AnswerKey:
    """Return the questions of a dataset. Raises RecallError."""
    questions: dict[str, Question] = {}
    by_row: list[Sequence[Question]] = []
    samples: list[str] = []
    about: list[tuple[Question, str]] = []
    for sample in dataset.samples():
        by_row.append(sample.questions)
        samples.append(sample.conversation.id)
        for question in sample.questions:
            questions[question.id] = question
            about.append((question, str(sample.row)))
    return AnswerKey(dataset.format, questions, by_row, samples, clusters(about, dataset.format))


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


def read_overlay(named: str, dataset: str, key: Iterable[KeyQuestion]) -> Overlay:
    """Return the corrections in the file that is named, or of the shipped list.

    A user's list has to fit the key line by line. Of the shipped one those lines count that do: a file may have some
    of the conversations, or references that were corrected since. Raises RecallError with a sentence for each bad line,
    and if no shipped correction fits.
    """
    places = {(one.sample, one.number): one for one in key}
    if named == SHIPPED:
        return _shipped(dataset, places)
    found: dict[str, OverlayEntry] = {}
    problems: list[str] = []
    for row, fields in objects(Path(named), named):
        one, entry = entry_of(row, fields, places)
        if isinstance(entry, str):
            problems.append(f"{named}:{row.number}: {entry}")
        elif one is not None and one.id in found:
            problems.append(f"{named}:{row.number}: {one.id} is corrected twice; keep one line")
        elif one is not None:
            found[one.id] = entry
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    return Overlay(found)


def _shipped(dataset: str, places: Mapping[tuple[str, int], KeyQuestion]) -> Overlay:
    if dataset != "locomo":
        raise RecallError(f"--overlay {SHIPPED}: corrects the key of LoCoMo, and this is {dataset}; name a file")
    path = Path(str(files("pytest_recall").joinpath("datasets", "corrections", "locomo.jsonl")))
    found: dict[str, OverlayEntry] = {}
    others = 0
    for row, fields in objects(path, path.name):
        one, entry = entry_of(row, fields, places)
        if one is None or isinstance(entry, str):
            others += 1
        else:
            found[one.id] = entry
    if not found:
        raise RecallError(
            f"--overlay {SHIPPED}: none of its {others} corrections is about a question here; it corrects locomo10.json"
        )
    return Overlay(found, others)


def read_people(path: Path, answered: Sequence[AnswerFile]) -> dict[tuple[str, str], bool]:
    """Return what people say of answers, by file and question. Raises RecallError with a sentence for each bad line."""
    known = {Path(one.name).name: one for one in answered}
    if len(known) < len(answered):
        raise RecallError("labels name answer files without their folders, and two are called the same; rename one")
    found: dict[tuple[str, str], bool] = {}
    problems: list[str] = []
    for row, fields in objects(path, str(path)):
        name, id = row.text(fields.get("file"), "file"), row.text(fields.get("id"), "id")
        label = fields.get("label")
        if name not in known:
            problems.append(f"{path}:{row.number}: file: {name!r} is not judged here{nearest(name, known)}")
        elif id not in known[name].answers:
            problems.append(f"{path}:{row.number}: id: {name} has no answer to {id!r}")
        elif label not in ("pass", "fail"):
            problems.append(f"{path}:{row.number}: label: write `pass` or `fail`")
        elif (known[name].name, id) in found:
            problems.append(f"{path}:{row.number}: {id} of {name} is labelled twice; keep one line")
        else:
            found[known[name].name, id] = label == "pass"
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    return found
