"""Time the first event of a stream on the loopback device, recorded and direct; prints seconds as JSON.

stream_probe.py FOLDER ROUNDS
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import corpus
import openai
from stream_server import EVENTS

from pytest_recall.replay import watch
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import Tape


def first_event(client: openai.OpenAI, messages: Any) -> float:
    """Return the seconds to the first event of a stream that is then read to its end."""
    begin = perf_counter()
    stream = client.chat.completions.create(model=corpus.MODEL, messages=messages, stream=True)
    next(stream)
    seconds = perf_counter() - begin
    if len(list(stream)) != EVENTS - 1:
        raise SystemExit("a stream is not whole")
    return seconds


def recorded(client: openai.OpenAI, messages: Any, draft: Path) -> float:
    """Return the same of a call that is recorded, whose pieces must be on the disk afterwards."""
    tape = Tape("case", "record", corpus.RULES, corpus.REDACTOR, "", draft_path=draft)
    player = Player("record")
    undo = watch.install(player)
    try:
        with player.playing(tape):
            seconds = first_event(client, messages)
    finally:
        for take_back in reversed(undo):
            take_back()
        tape.close()
    pieces = [len(exchange.response.chunks) for exchange in tape.recorded() if exchange.response]
    if len(pieces) != 1 or pieces[0] < EVENTS:
        raise SystemExit(f"a stream of {EVENTS} events was recorded in pieces of {pieces}")
    return seconds


def main(folder: Path, rounds: int) -> None:
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("stream_server.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        port = int(server.stdout.readline())
        client = openai.OpenAI(api_key="none", base_url=f"http://127.0.0.1:{port}/v1", max_retries=0)
        messages = corpus.question(1, 5_000)
        gc.collect()
        gc.freeze()
        seconds: dict[str, list[float]] = {"direct": [], "recorded": []}
        for number in range(rounds + 1):
            sides = {
                "direct": partial(first_event, client, messages),
                "recorded": partial(recorded, client, messages, folder / f"draft-{number}.ndjson"),
            }
            for name in list(sides)[:: 1 if number % 2 else -1]:
                took = sides[name]()
                if number:
                    seconds[name].append(took)
    finally:
        server.stdin.close()
        server.wait()
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
