"""A small assistant that answers questions from the Fernhill Tool Library handbook.

SQLite FTS5 finds paragraphs, a second look ranks them by the rare words they share with the question,
and the answer is two sentences of the best one. Nothing is learned and nothing is random.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from handbook import Handbook, Paragraph
from words import KINDS, alike, sentences, stem, words

__all__ = ["NOT_FOUND", "Assistant", "Handbook", "Passage", "Reply"]

NOT_FOUND = "I could not find that in the handbook."

# How much these count next to a word of the question itself.
_SYNONYM, _IMPLIED, _PREAMBLE, _TURN_BEFORE, _HINT_FOUND = 0.6, 0.5, 0.7, 0.4, 0.5
# How much these add to the words found in a paragraph: its title and heading, its best sentences, the kind asked for.
_HEAD, _BEST, _KIND = 0.3, 1.5, 0.4
_SHARE, _PLENTY = 0.6, 6.0  # an answer has to hold this share of what the question tells, or this much of it
_FEW, _SHOWN = 2, 5

# A question that opens or points like this is about what was said before.
_LEANS = re.compile(
    r"^(?:and|but|or|then|so|ok|what (?:about|if)|how about)\b|\b(?:it|its|they|them|that|those|one|he|she)\b",
    re.IGNORECASE,
)


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


@dataclass(frozen=True)
class _Term:
    """A word of the question: its stem, those that may stand for it, and how much finding it tells."""

    root: str
    alike: frozenset[str]
    weight: float

    def told_by(self, there: frozenset[str]) -> float:
        if self.root in there:
            return self.weight
        return 0.0 if self.alike.isdisjoint(there) else _SYNONYM * self.weight


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
        return self._answer(asked[-1], *asked[-2:-1]) if asked else Reply(NOT_FOUND, [])

    def _answer(self, text: str, before: str = "") -> Reply:
        """Answer the last question of a text. If it is short or points back, what came before it helps."""
        preamble, question = _last_question(text)
        question = self._handbook.corrected(question)
        asked, hints = self._terms(question), list[_Term]()
        if len(asked) <= _FEW or _LEANS.search(question):
            hints += self._terms(self._handbook.corrected(preamble), _PREAMBLE, asked)
            hints += self._terms(self._handbook.corrected(before), _TURN_BEFORE, [*asked, *hints])
        kind, implied = next(((answered, word) for ask, answered, word in KINDS if ask.search(question)), (None, ""))
        terms = [*asked, *hints, *self._terms(implied, _IMPLIED, [*asked, *hints])]

        ranked: list[tuple[float, int, Paragraph, str]] = []
        for place, paragraph in enumerate(self._handbook.search({root for term in terms for root in term.alike})):
            best, chosen = _best_sentences(paragraph, terms, kind)
            score = _told(terms, paragraph.stems) + _HEAD * _told(terms, paragraph.head) + _BEST * best
            ranked.append((-score, place, paragraph, chosen))
        ranked.sort(key=lambda row: row[:2])
        if not ranked or not _is_enough(asked, hints, ranked[0][2]):
            return Reply(NOT_FOUND, [])
        passages = [Passage(found.text, found.source, round(-score, 3)) for score, _, found, _ in ranked[:_SHOWN]]
        return Reply(ranked[0][3], passages)

    def _terms(self, text: str, factor: float = 1.0, known: Sequence[_Term] = ()) -> list[_Term]:
        """The words of a text, without those that the known terms already stand for."""
        taken = frozenset[str]().union(*(term.alike for term in known))
        roots = dict.fromkeys(stem(word) for word in words(text))
        return [
            _Term(root, alike(root), factor * self._handbook.rarity(alike(root))) for root in roots if root not in taken
        ]


def _last_question(text: str) -> tuple[str, str]:
    """What comes before the last sentence that asks something, and that sentence."""
    cut = sentences(text)
    last = max((i for i, sentence in enumerate(cut) if sentence.endswith("?")), default=len(cut) - 1)
    return " ".join(cut[:last]), cut[last]


def _told(terms: Sequence[_Term], there: frozenset[str]) -> float:
    return sum(term.told_by(there) for term in terms)


def _best_sentences(paragraph: Paragraph, terms: Sequence[_Term], kind: re.Pattern[str] | None) -> tuple[float, str]:
    """The two sentences that tell most, more so if one holds the kind of thing that is asked for."""
    cut = paragraph.sentences
    if len(cut) == 1:
        cut = (*cut, ("", frozenset()))
    alone = [_told(terms, there) for _, there in cut]
    fits = [kind is not None and kind.search(sentence) is not None for sentence, _ in cut]
    best, chosen = -1.0, (0, 1)
    for i, j in combinations(range(len(cut)), 2):
        told = (max(alone[i], alone[j]) + _told(terms, cut[i][1] | cut[j][1])) / 2
        told *= 1 + _KIND * (fits[i] or fits[j])
        if told > best:
            best, chosen = told, (i, j)
    return best, " ".join(cut[i][0] for i in chosen).strip()


def _is_enough(asked: Sequence[_Term], hints: Sequence[_Term], paragraph: Paragraph) -> bool:
    """Whether the paragraph holds most of what the question tells; what was said before makes up for a little."""
    asked, hints = (asked, hints) if asked else (hints, ())
    found, hinted = (
        sum(term.weight for term in terms if not term.alike.isdisjoint(paragraph.stems)) for terms in (asked, hints)
    )
    return found + _HINT_FOUND * hinted >= min(_PLENTY, _SHARE * sum(term.weight for term in asked))


def _as_json(reply: Reply) -> Reply:
    found = reply.text != NOT_FOUND
    source = reply.passages[0].source if found else None
    answer = {"answer": reply.text, "source": source, "found": found}
    return Reply(json.dumps(answer, ensure_ascii=False), reply.passages)
