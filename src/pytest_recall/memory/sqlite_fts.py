"""Full-text search by BM25 in SQLite: the default memory, in this process or in a file."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.files.wording import one_line
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.trials.trial import Passage

DEFAULT_TOKENIZER = "unicode61"
LARGE = 50_000
"""From so many units on, words are left out that tell few of them apart."""
COMMON = 100
"""A word is common if more than one in so many units has it."""
LONG = 64
"""Of a question of more words, these many are looked for, of those that are not common if there are any."""


class SqliteFts(MemoryAdapter):
    """An FTS5 table. Units that share a word with the question are ranked by SQLite's `bm25()`, k1 = 1.2 and b = 0.75.

    The words of the question are those that the table's own tokenizer finds in it, each once, joined by OR:
    nothing in it is query syntax. Of equal scores the unit stored first is first; a score is -bm25, so that
    more is better. SQLite looks at every unit that has one of the words: among `LARGE` units and more, those of
    the question that are common are left out, unless all are, and of a question of more than `LONG` words, the first
    `LONG` of those that are left are looked for.

    `apart`, a unit that is `isolated` by its metadata is found by questions from its own session alone.
    """

    concurrent = True

    def __init__(
        self, name: str, path: Path | None = None, tokenizer: str = DEFAULT_TOKENIZER, *, apart: bool = False
    ) -> None:
        super().__init__(name)
        self.private = path is None
        self._apart = apart
        self._path = path
        self._tokenizer = tokenizer
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None

    def ready(self) -> None:
        """Raise MemoryFault if the file is none of ours, or SQLite is without FTS5."""
        with self._lock:
            self._open()

    def reset(self) -> None:
        """Forget everything."""
        self._do("DELETE FROM units")

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a text."""
        row = [content, metadata.get("id")]
        if self._apart:
            # An isolated unit that names no session has no home, and is returned nowhere.
            row.append(metadata.get("session") if metadata.get("isolated") == "true" else "")
        self._do(f"INSERT INTO units VALUES ({', '.join('?' * len(row))})", *row)

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return the best units that share a word with the question."""
        here, session = ("AND home IN ('', ?)", [context.session]) if self._apart else ("", [])
        with self._lock:
            connection = self._open()
            try:
                words = _telling(connection, _words(connection, query))
                rows = connection.execute(
                    f"SELECT content, source, -bm25(units) FROM units WHERE units MATCH ? {here}"
                    " ORDER BY bm25(units), rowid LIMIT ?",
                    (" OR ".join(f'"{word}"' for word in words) or '""', *session, limit),
                ).fetchall()
            except sqlite3.Error as error:
                raise self._fault(error) from error
        return [Passage(text=text, source=source, score=score) for text, source, score in rows]

    def count(self) -> int:
        """Return how many units it holds."""
        count: int = self._do("SELECT count(*) FROM units")[0][0]
        return count

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _do(self, statement: str, *values: object) -> list[tuple[int]]:
        with self._lock:
            connection = self._open()
            try:
                with connection:
                    return connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise self._fault(error) from error

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        try:
            # The lock is ours: whichever thread asks has it.
            connection = sqlite3.connect(self._path or ":memory:", check_same_thread=False)
        except sqlite3.Error as error:
            raise self._fault(error) from error
        try:
            if self._path is not None:
                # Each text is a transaction of its own: with a log beside the file, the disk is not waited for at
                # each of them, and a power cut loses the last ones but not the file.
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS units"
                f" USING fts5(content, source UNINDEXED{', home UNINDEXED' if self._apart else ''},"
                f" tokenize='{self._tokenizer}')"
            )
            # This table holds one question at a time. Its words are not stemmed here: the query does that,
            # and the stem of a stem may be another one.
            words = DEFAULT_TOKENIZER if self._tokenizer == "porter" else self._tokenizer
            connection.execute(f"CREATE VIRTUAL TABLE temp.asked USING fts5(query, tokenize='{words}')")
            connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(temp, asked, 'instance')")
            connection.execute("SELECT content, source FROM units LIMIT 0")
            connection.commit()
        except sqlite3.Error as error:
            connection.close()
            raise self._fault(error) from error
        self._connection = connection
        weakref.finalize(self, connection.close)  # One that is dropped without `close` is closed too.
        return connection

    def _fault(self, error: sqlite3.Error) -> MemoryFault:
        where = "in memory" if self._path is None else str(self._path)
        return MemoryFault(f"SQLite, {where}: {one_line(str(error))}; name another file, or another memory")


def _words(connection: sqlite3.Connection, query: str) -> list[str]:
    with connection:
        connection.execute("DELETE FROM temp.asked")
        connection.execute("INSERT INTO temp.asked (query) VALUES (?)", (query,))
        rows = connection.execute("SELECT term FROM temp.words GROUP BY term ORDER BY min(offset)").fetchall()
    return [term.replace('"', '""') for (term,) in rows]


def _telling(connection: sqlite3.Connection, words: list[str]) -> list[str]:
    """Return the words to look for: without the common ones of a large memory, or where they are many."""
    newest = connection.execute("SELECT rowid FROM units ORDER BY rowid DESC LIMIT 1").fetchone()
    if newest is None or (newest[0] < LARGE and len(words) <= LONG):
        return words
    most = newest[0] // COMMON
    counted = "SELECT count(*) FROM (SELECT 1 FROM units WHERE units MATCH ? LIMIT ?)"
    rare = [word for word in words if connection.execute(counted, (f'"{word}"', most + 1)).fetchone()[0] <= most]
    return (rare or words)[:LONG] if len(words) > LONG else rare or words
