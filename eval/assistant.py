"""A small assistant that answers questions from the Fernhill Tool Library handbook.

Retrieval is SQLite FTS5 with the porter tokenizer and bm25 over single paragraphs;
the answer is the one or two sentences of the best paragraph that share most words
with the question. Nothing is learned and nothing is random.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

NOT_FOUND = "I could not find that in the handbook."

_TITLE_WEIGHT, _HEADING_WEIGHT, _BODY_WEIGHT = 2.0, 1.5, 1.0
_FEW_WORDS = 3  # a follow-up with at most this many content words leans on the turn before

_STOP_TEXT = """
    a about after again all also am an and any anyone are as at be because been but by can
    could did do does doing don else for from get gets getting give go goes going got had has
    have having he hello help her here hi his how i if in into is it its just know let like ll
    long many may me mine much must my need needed no not now of off ok on one only or our out
    please re really s she should so some somebody someone something still t tell than thank
    thanks that the their them then there these they thing things this those to too up us ve
    very want was we well were what when where whether which while who why will with would yes
    you your"""
_STOP_WORDS = frozenset(_STOP_TEXT.split())


@dataclass(frozen=True)
class Passage:
    """One paragraph: a line with title and heading, then the paragraph itself."""

    text: str
    source: str
    score: float


@dataclass(frozen=True)
class Reply:
    """What the assistant said, and the passages behind it (none if it found nothing)."""

    text: str
    passages: list[Passage]


def _words(text: str) -> list[str]:
    return [w for w in re.findall(r"[a-z0-9]+", text.lower()) if w not in _STOP_WORDS]


def _stem(word: str) -> str:
    """Cut common English endings, so that ``lending`` and ``lends`` meet."""
    for ending, put in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + put
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def _stems(text: str) -> set[str]:
    return {_stem(word) for word in _words(text)}


def _sentences(paragraph: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+(?=[A-Z0-9])", paragraph)


class Handbook:
    """The articles of a folder, indexed paragraph by paragraph."""

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(
            "CREATE VIRTUAL TABLE passage USING fts5"
            "(title, heading, body, source UNINDEXED, tokenize = 'porter unicode61')"
        )
        for path in sorted(folder.glob("*.md")):
            title = heading = ""
            for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8").strip()):
                if block.startswith("## "):
                    heading = block[3:].strip()
                elif block.startswith("# "):
                    title = block[2:].strip()
                else:
                    row = (title, heading, " ".join(block.split()), path.stem)
                    self._db.execute("INSERT INTO passage VALUES (?, ?, ?, ?)", row)

    def search(self, query: str, limit: int = 5) -> list[Passage]:
        """The passages that match best. A word given twice in the query counts twice."""
        match = " OR ".join(f'"{word}"' for word in _words(query))
        if not match:
            return []
        rows = self._db.execute(
            "SELECT title, heading, body, source, bm25(passage, ?, ?, ?) AS rank_value"
            " FROM passage WHERE passage MATCH ? ORDER BY rank_value, rowid LIMIT ?",
            (_TITLE_WEIGHT, _HEADING_WEIGHT, _BODY_WEIGHT, match, limit),
        )
        return [Passage(f"{title} - {heading}\n{body}", source, -value) for title, heading, body, source, value in rows]


class Assistant:
    """Answers a question, a question that asks for JSON, or the end of a conversation."""

    def __init__(self, handbook: Handbook) -> None:
        self._handbook = handbook

    def __call__(self, question: str | Mapping[str, object] | Sequence[Mapping[str, str]]) -> Reply:
        if isinstance(question, str):
            return self._answer(question)
        if isinstance(question, Mapping):
            reply = self._answer(str(question.get("question", "")))
            return _as_json(reply) if question.get("format") == "json" else reply
        asked = [message["content"] for message in question if message["role"] == "user"]
        if not asked:
            return Reply(NOT_FOUND, [])
        return self._answer(asked[-1], asked[-2] if len(asked) > 1 else "")

    def _answer(self, question: str, context: str = "") -> Reply:
        preamble, question = _last_question(question)
        context = f"{context} {preamble}".strip()
        wanted = _stems(question)
        query = question
        if context and len(wanted) <= _FEW_WORDS:
            query = f"{question} {question} {context}"
        passages = self._handbook.search(query)
        wanted = wanted or _stems(context)
        if not passages or not _is_enough(wanted, _stems(context), passages[0]):
            return Reply(NOT_FOUND, [])
        paragraph = passages[0].text.partition("\n")[2]
        return Reply(_best_sentences(paragraph, _stems(query)), passages)


def _last_question(text: str) -> tuple[str, str]:
    """What comes before and after the start of the last sentence that asks something."""
    sentences = _sentences(text.strip())
    asking = [i for i, sentence in enumerate(sentences) if sentence.endswith("?")]
    if not asking:
        return "", text
    return " ".join(sentences[: asking[-1]]), sentences[asking[-1]]


def _is_enough(wanted: set[str], hints: set[str], passage: Passage) -> bool:
    """Half of the question's words, and two in all if question and context have two."""
    there = _stems(passage.text)
    found, hinted = len(wanted & there), len((hints - wanted) & there)
    return 2 * found >= len(wanted) and found + hinted >= min(2, len(wanted | hints))


def _best_sentences(paragraph: str, wanted: set[str]) -> str:
    """The sentence that shares most words, and the next one if it shares any, in reading order."""
    sentences = _sentences(paragraph)
    shared = [len(wanted & _stems(sentence)) for sentence in sentences]
    ranked = sorted(range(len(sentences)), key=lambda i: (-shared[i], i))
    kept = [i for n, i in enumerate(ranked[:2]) if n == 0 or shared[i] > 0]
    return " ".join(sentences[i] for i in sorted(kept))


def _as_json(reply: Reply) -> Reply:
    found = reply.text != NOT_FOUND
    source = reply.passages[0].source if found else None
    answer = {"answer": reply.text, "source": source, "found": found}
    return Reply(json.dumps(answer, ensure_ascii=False), reply.passages)
