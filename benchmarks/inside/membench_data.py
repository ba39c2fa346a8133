"""Write a file in the shape and size of LoCoMo, of made-up words; and passages for a large memory.

membench_data.py FILE [DIVISOR]

With a divisor there are so many times fewer turns and questions, in as many conversations and sessions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random
from typing import Any

CONVERSATIONS, TURNS = 10, 5_882
# By the number of the category, as in the published file.
QUESTIONS = {1: 282, 2: 321, 3: 96, 4: 841, 5: 446}
SESSION = 22
"""Turns in a session; the published file has 272 sessions."""
VOCABULARY = 30_000
_SYLLABLES = [c + v for c in "bdfgklmnprst" for v in "aeiou"]


class Words:
    """Words by Zipf's law, rank by rank: the first one is every tenth word or so, as in English."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        size = len(_SYLLABLES)
        self._words = [
            _SYLLABLES[n % size] + _SYLLABLES[n // size % size] + _SYLLABLES[n // size // size % size]
            for n in range(VOCABULARY)
        ]
        self._weights = list(accumulate(1 / (n + 1) for n in range(VOCABULARY)))

    def some(self, count: int) -> list[str]:
        return self.random.choices(self._words, cum_weights=self._weights, k=count)


def passages(count: int, words: Words) -> Iterator[str]:
    """Yield texts of five to twenty words."""
    for _ in range(count):
        yield " ".join(words.some(words.random.randint(5, 20)))


def questions(count: int, words: Words) -> list[str]:
    """Return questions of four to ten words."""
    return [" ".join(words.some(words.random.randint(4, 10))) + "?" for _ in range(count)]


def parts(total: int) -> list[int]:
    """Return how much of a total each conversation has: from three quarters of the mean to five, as in the file."""
    shares = accumulate(0.75 + 0.5 * number / (CONVERSATIONS - 1) for number in range(CONVERSATIONS))
    bounds = [0, *(round(total * share / CONVERSATIONS) for share in shares)]
    return [end - begin for begin, end in pairwise(bounds)]


def locomo(divisor: int = 1, seed: int = 0) -> list[dict[str, Any]]:
    """Return conversations with questions; the words of an answer and of a question are those of a turn."""
    words = Words(seed)
    random = words.random
    rows = []
    length = max(1, SESSION // divisor)
    counts = {category: parts(count // divisor) for category, count in QUESTIONS.items()}
    for number, count in enumerate(parts(TURNS // divisor)):
        conversation: dict[str, Any] = {"speaker_a": "Ana", "speaker_b": "Ben"}
        ids = []
        for n in range(count):
            session = n // length + 1
            turn = {"speaker": ("Ana", "Ben")[n % 2], "dia_id": f"D{session}:{n % length + 1}"}
            turn["text"] = " ".join(words.some(random.randint(8, 40)))
            conversation.setdefault(f"session_{session}", []).append(turn)
            conversation[f"session_{session}_date_time"] = f"1:56 pm on {session % 28 + 1} May, 2023"
            ids.append((turn["dia_id"], turn["text"].split()))
        asked = []
        for category, of_each in counts.items():
            for _ in range(of_each[number]):
                evidence = random.sample(ids, 3 if category == 1 else 1)
                said = [word for _, text in evidence for word in random.sample(text, 4)]
                question: dict[str, Any] = {"question": " ".join([*said, *words.some(3)]) + "?", "category": category}
                question["evidence"] = [id for id, _ in evidence]
                question["adversarial_answer" if category == 5 else "answer"] = " ".join(said[:2])
                asked.append(question)
        rows.append({"sample_id": f"conv-{number + 1}", "conversation": conversation, "qa": asked})
    return rows


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(locomo(*map(int, sys.argv[2:]))), encoding="utf-8")
