"""BEAM (arXiv 2510.27246) for `recall memory run`, as JSON Lines of the rows of Mohammadta/BEAM on Hugging Face."""

from __future__ import annotations

import ast
from pathlib import Path

from pytest_recall.ext import Conversation, DatasetLayout, DatasetRow, Question, Sample, Session, Utterance, hookimpl

ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")


def numbers(value):
    """Yield the numbers of turns in `source_chat_ids`, which is a list, or an object of lists."""
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from numbers(one) if isinstance(one, dict | list) else [f"turn-{one}"]


def sample(given, file, number):
    """Return a conversation with its probing questions; a batch of the chat is a session."""
    row = DatasetRow(file, number)
    fields = row.mapping(given)
    row.id = f"beam-{row.name(str(fields.get('conversation_id')), 'conversation_id')}"
    sessions = []
    for place, batch in enumerate(row.items(fields.get("chat"), "chat", some=True), start=1):
        turns = [row.mapping(turn, f"chat[{place}]") for turn in row.items(batch, f"chat[{place}]")]
        said = tuple(Utterance(f"turn-{one['id']}", str(one["role"]), str(one["content"])) for one in turns)
        when = str(turns[0].get("time_anchor") or "") if turns else ""
        sessions.append(Session(f"batch-{place}", said, written=when))
    there = {turn.id for session in sessions for turn in session.turns}
    try:
        probes = ast.literal_eval(row.text(fields.get("probing_questions"), "probing_questions"))
    except (ValueError, SyntaxError):
        row.refuse("probing_questions", "a Python literal", "other text")
    questions = tuple(
        Question(
            id=f"{row.id}-{category}-{count}",
            text=row.text(one.get("question"), f"{category}[{count}].question"),
            answer=next((str(one[key]) for key in ANSWERS if one.get(key)), None),
            category=category,
            evidence=tuple(dict.fromkeys(turn for turn in numbers(one.get("source_chat_ids")) if turn in there)),
            unanswerable=category == "abstention",
        )
        for category, asked in row.mapping(probes, "probing_questions").items()
        for count, one in enumerate(row.items(asked, category), start=1)
    )
    return Sample(number, Conversation(row.id, tuple(sessions)), questions)


@hookimpl
def pytest_recall_datasets():
    """Return the layout of BEAM."""
    marks = frozenset({"chat", "probing_questions"})
    made_up = Path(__file__).with_name("recall_beam.jsonl")
    return [DatasetLayout("beam", "BEAM", True, marks, sample, made_up, shares_conversations=True)]
