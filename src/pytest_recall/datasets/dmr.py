"""DMR: deep memory retrieval, a question about several chats of two people (arXiv 2310.08560).

The file, MSC-Self-Instruct, is JSON Lines. A row has the earlier chats, the last one, and under
`self_instruct` the question that B asks and the answer of A.
"""

from __future__ import annotations

from typing import Any

from pytest_recall.datasets.dataset import Conversation, Kind, Oddity, Question, Sample, Session, Utterance, is_blank
from pytest_recall.datasets.rows import DatasetRow

CATEGORY = "deep-memory-retrieval"
"""The dataset has a single task and names no categories."""
SPEAKERS = ("Speaker 1", "Speaker 2")
"""As Multi-Session Chat calls them. They alternate, and the first begins, where the turns do not say."""


def sample(given: Any, file: str, number: int) -> Sample:
    """Return a question with its conversation. Raises RecallError for a row that does not fit."""
    row = DatasetRow(file, number)
    fields = row.mapping(given, expected="chats with a question")
    asked = row.mapping(fields.get("self_instruct"), "self_instruct", "the question `B` and its answer `A`")
    earlier = row.items(fields.get("previous_dialogs"), "previous_dialogs", "a list of chats")
    row.id = f"dmr-{number}"
    oddities: list[Oddity] = []
    sessions: list[Session] = []
    for n, one in enumerate(earlier, start=1):
        field = f"previous_dialogs[{n}]"
        chat = row.mapping(one, field, "a chat")
        back = chat.get("time_back")
        turns = _turns(row, f"{field}.dialog", chat.get("dialog"), n, oddities)
        # How long ago it was, such as `7 days`; the file has no dates.
        sessions.append(
            Session(f"S{n}", turns, None, "" if back is None else row.text(back, f"{field}.time_back", some=False))
        )
    n = len(sessions) + 1
    sessions.append(Session(f"S{n}", _turns(row, "dialog", fields.get("dialog"), n, oddities)))
    if not any(session.turns for session in sessions):
        row.refuse("dialog", "chats with turns", [])
    answer = row.answer(asked.get("A"), "self_instruct.A")
    if answer is None:
        oddities.append(Oddity(Kind.NO_ANSWER, f"{row.place}: self_instruct.A", f"category {CATEGORY}"))
    question = Question(id=row.id, text=row.text(asked.get("B"), "self_instruct.B"), answer=answer, category=CATEGORY)
    return Sample(number, Conversation(row.id, tuple(sessions)), (question,), tuple(oddities))


def _turns(row: DatasetRow, field: str, given: Any, session: int, oddities: list[Oddity]) -> tuple[Utterance, ...]:
    turns: list[Utterance] = []
    for k, one in enumerate(row.items(given, field, "a list of turns"), start=1):
        fields = row.mapping(one, f"{field}[{k}]", "a turn")
        text = row.text(fields.get("text"), f"{field}[{k}].text", some=False)
        speaker = fields.get("id")
        turn = Utterance(f"S{session}:{k}", speaker if speaker in SPEAKERS else SPEAKERS[(k - 1) % 2], text)
        if is_blank(turn):
            oddities.append(Oddity(Kind.BLANK, f"{row.place}: {field}[{k}]", "not told"))
        turns.append(turn)
    return tuple(turns)
