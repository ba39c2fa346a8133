"""The memory under test: a notebook that lets a model rewrite what it hears, finds it by words, and answers from it."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Mapping
from typing import Any

import httpx

MODEL = os.environ.get("MODEL", "qwen2.5-coder-1.5b-instruct")
URL = os.environ.get("MODEL_URL", "http://127.0.0.1:18080") + "/v1"
REWRITE = (
    "Rewrite what was said as one short sentence about {speaker}. Put the name {speaker} in place of I, me and my. "
    "Keep every name and number."
)
ANSWER = (
    "Answer in one short sentence, from these notes alone. The last one is the newest, and the newest counts. "
    "If they do not say it: I do not know."
)


class Notebook:
    """Keeps notes in SQLite, in memory."""

    private = True  # It lives in this process, and is empty when it is made: a reset deletes nothing of anybody's.

    def __init__(self) -> None:
        self._client = httpx.Client(base_url=URL, timeout=120)
        self._notes = sqlite3.connect(":memory:", check_same_thread=False)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._notes.executescript("DROP TABLE IF EXISTS note; CREATE VIRTUAL TABLE note USING fts5(text, id, day);")

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a fact as it is, and what somebody says as a note about them."""
        if speaker := metadata.get("speaker"):
            said = content.removeprefix(f"{speaker}: ")
            content = self._ask(REWRITE.format(speaker=speaker), said)
        row = (content, metadata["id"], metadata.get("date", ""))
        self._notes.execute("INSERT INTO note VALUES (?, ?, ?)", row)

    def recall(self, query: str, limit: int, context: object) -> list[dict[str, Any]]:
        """Return the notes that share words with the question, the best first."""
        words = " OR ".join(f'"{word}"*' for word in re.findall(r"\w{3,}", query))
        found = self._notes.execute(
            "SELECT text, id, bm25(note) FROM note WHERE text MATCH ? ORDER BY bm25(note) LIMIT ?", (words, limit)
        )
        return [{"text": text, "source": id, "score": -score} for text, id, score in found]

    def answer(self, query: str, limit: int, context: object) -> str:
        """Let the model answer from the notes, which it gets in the order of their days."""
        ids = [note["source"] for note in self.recall(query, limit, context)]
        rows = self._notes.execute("SELECT id, day, text FROM note ORDER BY day, rowid")
        notes = [f"{day} {text}".strip() for id, day, text in rows if id in ids]
        return self._ask(ANSWER, "\n".join([*notes, f"Question: {query}"]))

    def count(self) -> int:
        """Return how many notes there are."""
        (count,) = self._notes.execute("SELECT count(*) FROM note").fetchone()
        return int(count)

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()
        self._notes.close()

    def _ask(self, system: str, text: str) -> str:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
        body = {"model": MODEL, "messages": messages, "temperature": 0, "max_tokens": 60}
        key = os.environ.get("OPENAI_API_KEY", "none-needed")
        reply = self._client.post("/chat/completions", json=body, headers={"Authorization": f"Bearer {key}"})
        return str(reply.raise_for_status().json()["choices"][0]["message"]["content"]).strip()
