"""LoCoMo: very long conversations between two people, and questions of five categories (arXiv 2402.17753).

The file is an array of conversations. Their sessions are fields with numbers in their names, and
a question names the turns that hold its answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_recall.cases.case import NAME_PATTERN
from pytest_recall.datasets.dataset import Conversation, Kind, Oddity, Question, Sample, Session, Utterance, is_blank
from pytest_recall.datasets.rows import DatasetRow, locomo_date, unique
from pytest_recall.files.wording import one_line

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""By the number in the file, as the evaluation code of the authors reads it; the paper lists them in another order."""
_SESSION = re.compile(r"session_(\d{1,9})", re.ASCII)
_DATE = "_date_time"
# `D8:6`; with a further colon or a leading zero the same turn is meant.
_TURN = re.compile(r"D:?0*(\d{1,9}):0*(\d{1,9})", re.ASCII)


def sample(given: Any, file: str, number: int) -> Sample:
    """Return a conversation with its questions. Raises RecallError for a row that does not fit."""
    row = DatasetRow(file, number)
    fields = row.mapping(given, expected="a conversation")
    # Its id is the scenario of its questions as well.
    row.id = row.name(fields.get("sample_id"), "sample_id")
    if not re.fullmatch(NAME_PATTERN, row.id):
        row.refuse("sample_id", "an id that begins with a letter, of letters, digits, `.`, `-` and `_`", row.id)
    oddities: list[Oddity] = []
    conversation = _conversation(row, row.mapping(fields.get("conversation"), "conversation"), oddities)
    known = {turn.id: session.id for session in conversation.sessions for turn in session.turns}
    asked = row.items(fields.get("qa"), "qa", "a list of questions", some=True)
    questions = tuple(_question(row, n, given, known, oddities) for n, given in enumerate(asked, start=1))
    return Sample(number, conversation, questions, tuple(oddities))


def _conversation(row: DatasetRow, fields: Mapping[str, Any], oddities: list[Oddity]) -> Conversation:
    # By number: as text, `session_10` comes before `session_2`.
    numbers = {key: int(found[1]) for key in fields if (found := _SESSION.fullmatch(key))}
    if not numbers:
        row.refuse("conversation", "sessions as `session_1`", fields)
    taken: set[str] = set()
    sessions = tuple(_session(row, key, fields, taken, oddities) for key in sorted(numbers, key=numbers.__getitem__))
    if not taken:
        row.refuse("conversation", "sessions with turns", [])
    for key in (key for key in fields if key not in numbers):
        if key.endswith(_DATE):
            if key.removesuffix(_DATE) not in numbers:
                oddities.append(Oddity(Kind.NO_SESSION, f"{row.place}: {one_line(key, 60)}", "passed over"))
        elif isinstance(fields[key], list):
            oddities.append(Oddity(Kind.UNREAD, f"{row.place}: conversation.{one_line(key, 60)}", "passed over"))
    return Conversation(row.id, sessions)


def _session(
    row: DatasetRow, field: str, fields: Mapping[str, Any], taken: set[str], oddities: list[Oddity]
) -> Session:
    given = row.items(fields[field], field, "a list of turns")
    turns = tuple(_turn(row, f"{field}[{k}]", one, taken, oddities) for k, one in enumerate(given, start=1))
    key = f"{field}{_DATE}"
    written = "" if fields.get(key) is None else row.text(fields[key], key, some=False)
    date = locomo_date(written)
    if date is None:
        oddities.append(Oddity(Kind.NO_DATE, f"{row.place}: {key}", f"{one_line(written, 60)!r}"))
    return Session(field, turns, date, written)


def _turn(row: DatasetRow, field: str, given: Any, taken: set[str], oddities: list[Oddity]) -> Utterance:
    fields = row.mapping(given, field, "a turn")
    wanted = row.text(fields.get("dia_id"), f"{field}.dia_id")
    id = unique(wanted, taken)
    if id != wanted:
        oddities.append(Oddity(Kind.SAME_ID, f"{row.place}: {field}.dia_id", f"{wanted!r} became {id!r}"))
    caption = fields.get("blip_caption")
    turn = Utterance(
        id,
        row.text(fields.get("speaker"), f"{field}.speaker"),
        row.text(fields.get("text"), f"{field}.text", some=False),
        "" if caption is None else row.text(caption, f"{field}.blip_caption", some=False),
    )
    if is_blank(turn):
        oddities.append(Oddity(Kind.BLANK, f"{row.place}: {field}", "not told"))
    return turn


def _question(row: DatasetRow, n: int, given: Any, known: Mapping[str, str], oddities: list[Oddity]) -> Question:
    field = f"qa[{n}]"
    fields = row.mapping(given, field, "a question")
    number = fields.get("category")
    if type(number) is not int or number not in CATEGORIES:
        row.refuse(f"{field}.category", "a number from 1 to 5", number)
    answer = row.answer(fields.get("answer"), f"{field}.answer")
    adversarial = row.answer(fields.get("adversarial_answer"), f"{field}.adversarial_answer")
    category = CATEGORIES[number]
    unanswerable = category == "adversarial"
    if answer is None and not unanswerable:
        oddities.append(Oddity(Kind.NO_ANSWER, f"{row.place}: {field}", f"category {category}"))
    if answer is not None and adversarial is not None:
        oddities.append(
            Oddity(Kind.TWO_ANSWERS, f"{row.place}: {field}", "`answer` is kept apart from `adversarial_answer`")
        )
    evidence, unresolved = _evidence(row, field, fields.get("evidence"), known, oddities)
    return Question(
        id=f"{row.id}:q{n}",
        text=row.text(fields.get("question"), f"{field}.question"),
        answer=answer,
        category=category,
        evidence=evidence,
        evidence_sessions=tuple(dict.fromkeys(known[id] for id in evidence)),
        unresolved=unresolved,
        unanswerable=unanswerable,
        adversarial_answer=adversarial,
    )


def _evidence(
    row: DatasetRow, field: str, given: Any, known: Mapping[str, str], oddities: list[Oddity]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of the turns that are named, and what names none."""
    place = f"{row.place}: {field}.evidence"
    found: dict[str, None] = {}
    unresolved: list[str] = []
    written = row.items([] if given is None else given, f"{field}.evidence", "a list of ids of turns")
    for one in written:
        text = row.text(one, f"{field}.evidence", some=False)
        ids = [text] if text in known else [_plain(part) for part in re.split(r"[;,\s]+", text) if part] or [text]
        named = [id for id in ids if id in known]
        if lost := [id for id in ids if id not in known]:
            unresolved += lost
            oddities.append(Oddity(Kind.EVIDENCE, place, ", ".join(repr(one_line(id, 40)) for id in lost)))
        if named and named != [text]:
            oddities.append(Oddity(Kind.REPAIRED, place, f"{one_line(text, 60)!r} read as {', '.join(named)}"))
        found.update(dict.fromkeys(named))
    if not written:
        oddities.append(Oddity(Kind.NO_EVIDENCE, place, "names no turn"))
    return tuple(found), tuple(unresolved)


def _plain(id: str) -> str:
    found = _TURN.fullmatch(id)
    return f"D{found[1]}:{found[2]}" if found else id
