"""Take the days of a persona apart: the sentences that can stand in a question, and the values in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import NamedTuple

from pytest_recall.horizon.facts import dates, values, words

_TOPIC = re.compile(r"^###\s+(.*\S)")
# Where a text goes on to what is open; that is below no topic.
_OPEN = re.compile(r"^(?:\*\*)?(?:Outstanding|Open loops)\b", re.IGNORECASE)
_LEAD = re.compile(r"^(?:[-*+>]\s+|\d+[.)]\s+)+")
_BETWEEN = re.compile(r"(?<=[.!?])\s+(?=[A-Z“\"])")
_SENTENCES_TIME = re.compile(r"(?<![\d:])\d{1,2}:\d{2}(?: [AP]M)?(?![\d:])")
SHORTEST, LONGEST = 30, 260
"""Characters of a sentence that can stand in a question."""


class ToldDay(NamedTuple):
    """A day: its number, its date, and what is said in each session."""

    day: int
    date: date
    sessions: Mapping[str, str]

    @property
    def text(self) -> str:
        """All that is said on it."""
        return "\n\n".join(self.sessions.values())


class Sentence(NamedTuple):
    """A sentence that is said in a session on a day; `topic` is the heading above it, empty without one."""

    day: int
    date: date
    session: str
    topic: str
    text: str


def topics(body: str) -> list[str]:
    """Return the headings of a session's text."""
    return [match[1] for line in body.split("\n") if (match := _TOPIC.match(line))]


def sentences(told: ToldDay) -> Iterator[Sentence]:
    """Yield the sentences of a day that can stand in a question, in their order."""
    for session, body in told.sessions.items():
        topic = ""
        for line in body.split("\n"):
            if heading := _TOPIC.match(line):
                topic = heading[1]
                continue
            if _OPEN.match(line):
                topic = ""
            for part in _BETWEEN.split(_LEAD.sub("", line.strip()).replace("**", "")):
                if SHORTEST <= len(part) <= LONGEST and not part.startswith("#"):
                    yield Sentence(told.day, told.date, session, topic, part)


def only_value(sentence: Sentence) -> str:
    """Return the one value, time or date in a sentence, beside its own date; empty if there is none, or more."""
    found = [value.written for value in values(sentence.text)]
    found += [match[0] for match in _SENTENCES_TIME.finditer(sentence.text)]
    found += [day.isoformat() for day in dates(sentence.text) if day != sentence.date]
    return found[0] if len(found) == 1 and sentence.text.count(found[0]) == 1 else ""


def support(claim: str, text: str) -> float:
    """Return the share of a claim's words that a text has, 0 to 1; 0 for a claim without words."""
    own, there = set(words(claim)), set(words(text))
    return len(own & there) / len(own) if own else 0.0
