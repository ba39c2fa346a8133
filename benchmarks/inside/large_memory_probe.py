"""Fill sqlite-fts with many short passages, at once and one by one, and ask it; prints seconds as JSON.

large_memory_probe.py COUNT QUESTIONS
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

from membench_data import Words, passages, questions

from pytest_recall.cases.memory_part import QueryContext
from pytest_recall.memory.sqlite_fts import SqliteFts


def main(count: int, asked: int) -> None:
    texts = list(passages(count, Words(1)))
    each = SqliteFts("one by one")
    begin = perf_counter()
    for number, text in enumerate(texts):
        each.store(text, {"id": f"u{number}"})
    stored = perf_counter() - begin
    each.close()
    bulk = SqliteFts("at once")
    connection = bulk._open()  # What a client has no method for: it is told one text at a time.
    begin = perf_counter()
    with connection:
        rows = ((text, f"u{number}") for number, text in enumerate(texts))
        connection.executemany("INSERT INTO units (content, source) VALUES (?, ?)", rows)
    at_once = perf_counter() - begin
    seconds = []
    for question in questions(asked, Words(2)):
        begin = perf_counter()
        bulk.recall(question, 10, QueryContext())
        seconds.append(perf_counter() - begin)
    assert bulk.count() == count
    print(json.dumps({"each": stored, "at_once": at_once, "seconds": seconds}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
