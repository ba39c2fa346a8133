"""LongMemEval: questions to an assistant, each with the chats that lie behind it (arXiv 2410.10813).

The file is an array of questions, and each of them carries its own sessions: those that hold the
answer and, but for the file `oracle`, many that do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pytest_recall.datasets.dataset import Conversation, Kind, Oddity, Question, Sample, Session, Utterance, is_blank
from pytest_recall.datasets.rows import DatasetRow, longmemeval_date, unique
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.wording import one_line

CATEGORIES = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "temporal-reasoning",
    "knowledge-update",
)
"""The values of `question_type`."""
ROLES = ("user", "assistant")


def sample(given: Any, file: str, number: int) -> Sample:
    """Return a question with its conversation. Raises RecallError for a row that does not fit."""
    row = DatasetRow(file, number)
    fields = row.mapping(given, expected="a question")
    row.id = row.name(fields.get("question_id"), "question_id")
    category = row.text(fields.get("question_type"), "question_type")
    if category not in CATEGORIES:
        names = nearest(category, CATEGORIES)
        raise RecallError(f"{file}: {row.place}: question_type: {one_line(category, 60)!r} is unknown{names}")
    if "haystack_sessions" not in fields and "sessions" in fields:
        row.refuse("haystack_sessions", "a list of sessions; this is another layout of LongMemEval", None)
    oddities: list[Oddity] = []
    conversation, marked = _conversation(
        row,
        row.items(fields.get("haystack_sessions"), "haystack_sessions", "a list of sessions", some=True),
        row.items(fields.get("haystack_session_ids"), "haystack_session_ids", "a list of ids"),
        row.items(fields.get("haystack_dates"), "haystack_dates", "a list of dates"),
        oddities,
    )
    known = {session.id for session in conversation.sessions}
    named = [
        row.text(id, "answer_session_ids")
        for id in row.items(fields.get("answer_session_ids"), "answer_session_ids", "a list of ids")
    ]
    unresolved = tuple(id for id in named if id not in known)
    if unresolved:
        shown = ", ".join(repr(one_line(id, 40)) for id in unresolved)
        oddities.append(Oddity(Kind.EVIDENCE, f"{row.place}: answer_session_ids", shown))
    # Nothing but the id says so: the type is that of the question it was made from, the answer an explanation.
    unanswerable = row.id.endswith("_abs")
    if not named and not marked and not unanswerable:
        oddities.append(Oddity(Kind.NO_EVIDENCE, f"{row.place}: answer_session_ids", "names no session"))
    answer = row.answer(fields.get("answer"), "answer")
    if answer is None and not unanswerable:
        oddities.append(Oddity(Kind.NO_ANSWER, row.place, f"category {category}"))
    asked = fields.get("question_date")
    written = "" if asked is None else row.text(asked, "question_date", some=False)
    question = Question(
        id=row.id,
        text=row.text(fields.get("question"), "question"),
        answer=answer,
        category=category,
        evidence=marked,
        evidence_sessions=tuple(dict.fromkeys(id for id in named if id in known)),
        unresolved=unresolved,
        unanswerable=unanswerable,
        date=_date(row, "question_date", written, oddities),
        written=written,
    )
    return Sample(number, conversation, (question,), tuple(oddities))


def _conversation(
    row: DatasetRow, haystack: Sequence[Any], ids: Sequence[Any], dates: Sequence[Any], oddities: list[Oddity]
) -> tuple[Conversation, tuple[str, ...]]:
    """Return the sessions by date, and the ids of the turns that are marked as holding the answer."""
    for field, values in (("haystack_session_ids", ids), ("haystack_dates", dates)):
        if len(values) != len(haystack):
            row.refuse(field, f"as many as there are haystack_sessions, {len(haystack)}", len(values))
    marked: list[str] = []
    taken: set[str] = set()
    sessions: list[Session] = []
    for n, (given, wanted, date) in enumerate(zip(haystack, ids, dates, strict=True), start=1):
        field = f"haystack_sessions[{n}]"
        id = unique(row.text(wanted, f"haystack_session_ids[{n}]"), taken)
        if id != wanted:
            said = f"{one_line(wanted, 40)!r} became {one_line(id, 44)!r}"
            oddities.append(Oddity(Kind.SAME_ID, f"{row.place}: haystack_session_ids[{n}]", said))
        written = row.text(date, f"haystack_dates[{n}]", some=False)
        turns: list[Utterance] = []
        for k, one in enumerate(row.items(given, field, "a list of turns"), start=1):
            turn, holds = _turn(row, f"{field}[{k}]", one, f"{id}_{k}")
            turns.append(turn)
            if holds:
                marked.append(turn.id)
            if is_blank(turn):
                oddities.append(Oddity(Kind.BLANK, f"{row.place}: {field}[{k}]", "not told"))
        when = _date(row, f"haystack_dates[{n}]", written, oddities)
        sessions.append(Session(id, tuple(turns), when, written))
    if not any(session.turns for session in sessions):
        row.refuse("haystack_sessions", "sessions with turns", [])
    # Some of the files have them in no order; where a date is missing, theirs is all there is.
    if all(session.date is not None for session in sessions):
        sessions.sort(key=lambda session: session.date or datetime.min)
    # Ids of sessions that are evidence begin with `answer`, and that of a question may say that it has no answer.
    return Conversation(row.id, tuple(sessions), row.number), tuple(marked)


def _turn(row: DatasetRow, field: str, given: Any, id: str) -> tuple[Utterance, bool]:
    fields = row.mapping(given, field, "a turn")
    role = row.text(fields.get("role"), f"{field}.role")
    if role not in ROLES:
        row.refuse(f"{field}.role", "`user` or `assistant`", role)
    holds = fields.get("has_answer")
    if holds is not None and not isinstance(holds, bool):
        row.refuse(f"{field}.has_answer", "true or false", holds)
    return Utterance(id, role, row.text(fields.get("content"), f"{field}.content", some=False)), bool(holds)


def _date(row: DatasetRow, field: str, written: str, oddities: list[Oddity]) -> datetime | None:
    date = longmemeval_date(written)
    if date is None:
        oddities.append(Oddity(Kind.NO_DATE, f"{row.place}: {field}", f"{one_line(written, 60)!r}"))
    return date
