"""Measure what it takes to search and write down one answer of a size; prints processor seconds of each form as JSON.

large_probe.py FOLDER MEGABYTES ROUNDS
"""

from __future__ import annotations

import json
import random
import sys
from base64 import b64encode
from pathlib import Path
from time import process_time

import corpus

from pytest_recall.replay.cassette_file import Draft, read_draft, write_cassette
from pytest_recall.replay.exchange import Exchange, Request, Response
from pytest_recall.replay.recorded_parts import cleaned
from pytest_recall.replay.redaction import Redactor

WORDS = ("the", "agent", "said", "that", '"picture"', "number", "12", "token", "of", "a", "cat\n", "café")
CHUNK = 1024


def prose(size: int) -> str:
    drawn = random.Random(1).choices(WORDS, k=size // 5)
    return " ".join(drawn)[:size]


def events(size: int) -> bytes:
    drawn = random.Random(2)
    event = {"id": "chatcmpl-BvQ3kxN7Tzz1yXwPq", "object": "chat.completion.chunk", "created": 1764400000, "model": "m"}
    lines: list[bytes] = []
    while size > 0:
        delta = {"index": 0, "delta": {"content": drawn.choice(WORDS)}, "logprobs": None, "finish_reason": None}
        lines.append(b"data: %b\n\n" % json.dumps({**event, "choices": [delta]}, separators=(",", ":")).encode())
        size -= len(lines[-1])
    return b"".join(lines)


def bodies(size: int) -> dict[str, tuple[str, bytes]]:
    """Return the forms of an answer, and the type of each."""
    data = random.Random(3).randbytes(size)
    picture = {"b64": b64encode(data[: size * 3 // 4]).decode()}
    return {
        "a picture in JSON": ("application/json", json.dumps(picture).encode()),
        "text in JSON": ("application/json", json.dumps({"content": prose(size)}, ensure_ascii=False).encode()),
        "events": ("text/event-stream", events(size)),
        "bytes": ("application/octet-stream", data),
    }


def main(folder: Path, size: int, rounds: int) -> None:
    seconds: dict[str, list[float]] = {}
    redactor = Redactor({"OPENAI_API_KEY": "sk-proj-" + "".join(random.Random(4).choices("abcdefghXYZ0123", k=60))})
    forms = bodies(size)
    for number in range(rounds):
        for form, (kind, body) in forms.items():
            chunks = tuple(body[at : at + CHUNK] for at in range(0, len(body), CHUNK))
            answer = Response(200, "OK", (("content-type", kind),), chunks, tuple(0.1 for _ in chunks))
            call = Exchange("", 0, "agent", Request("POST", corpus.URL, (), b"{}"), answer)
            begin = process_time()
            draft = Draft(folder / f"draft-{number}-{form}", {}, corpus.RULES)
            draft.append(cleaned(call, redactor))
            draft.close()
            write_cassette(folder / "case.ndjson", {}, read_draft(draft.path, "case")[1], corpus.RULES)
            seconds.setdefault(form, []).append(process_time() - begin)
            draft.path.unlink()
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) << 20, int(sys.argv[3]))
