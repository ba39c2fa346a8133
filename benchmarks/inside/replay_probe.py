"""Time replayed calls, ours beside dictionaries and beside other recorders; prints seconds as JSON.

replay_probe.py FOLDER CLIENT SIZE ROUNDS PEERS COUNT..., where CLIENT is `httpx2` or `openai`,
SIZE the bytes of each body, and PEERS how many rounds the other recorders take part in
"""

from __future__ import annotations

import gc
import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import corpus
import httpcore2
import httpx2
import openai

from pytest_recall.replay import watch
from pytest_recall.replay.cassette_file import Cassette
from pytest_recall.replay.player import Player

CALLS = 100
"""Calls of a round. The slow ones make some, all over the file: they look for them from its start."""
SLOW_CALLS = 6

Post = Callable[[int], bytes]


class Corpus:
    """Calls, and the ways to have them answered."""

    def __init__(self, folder: Path, count: int, size: int, way: Way, peers: list[str]) -> None:
        self.count = count
        self.calls = corpus.flat(count, size, way.written)
        self.messages = [corpus.question(number, size) for number in range(count)]
        self.path = folder / f"recall-{count}.ndjson"
        corpus.write_recall(self.path, self.calls)
        self.peers: dict[str, Path] = {}
        self.refused: list[str] = []
        for peer in peers:
            suffix, write, use = corpus.PEERS[peer]
            path = folder / f"{peer}-{count}{suffix}"
            write(path, self.calls)
            try:
                with use(path):
                    self.peers[peer] = path
            except Exception as error:
                reason = str(error).partition("\n")[0]
                self.refused.append(f"{peer} does not open {count:,} calls of {size:,} bytes ({reason})")
        self._answers = {call.body: call.answer for call in self.calls}

    def dictionary(self, request: httpx2.Request) -> httpx2.Response:
        """Answer from a dictionary."""
        return httpx2.Response(200, headers=corpus.HEADERS, content=self._answers[request.read()])

    @contextmanager
    def pooled(self) -> Iterator[None]:
        """Answer from a dictionary in place of the connection pool, where calls are replayed as well."""
        headers = [(name.encode(), value.encode()) for name, value in corpus.HEADERS]

        def answer(pool: object, request: httpcore2.Request) -> httpcore2.Response:
            body = b"".join(request.stream)  # type: ignore[arg-type]  # the stream of a client that does not await
            return httpcore2.Response(200, headers=headers, content=self._answers[body])

        original = httpcore2.ConnectionPool.handle_request
        setattr(httpcore2.ConnectionPool, "handle_request", answer)  # noqa: B010 - a method is no variable to mypy
        try:
            yield
        finally:
            setattr(httpcore2.ConnectionPool, "handle_request", original)  # noqa: B010

    def timed(self, post: Post, seed: int, calls: int) -> float:
        """Return the median time of some calls, each of which must get its own answer."""
        seconds: list[float] = []
        for number in random.Random(seed).sample(range(self.count), min(calls, self.count)):
            begin = perf_counter()
            answer = post(number)
            seconds.append(perf_counter() - begin)
            self.check(number, answer)
        return median(seconds)

    def check(self, number: int, answer: bytes) -> None:
        """Refuse what is not the answer to this call, as a body or as its text alone."""
        body = self.calls[number].answer
        # Cassetter writes JSON again, so that the bytes differ.
        if answer != body and answer != _content(body) and json.loads(answer) != json.loads(body):
            raise SystemExit(f"call {number} got another answer")


def _content(body: bytes) -> bytes:
    content: str = json.loads(body)["choices"][0]["message"]["content"]
    return content.encode()


class Way(NamedTuple):
    """How calls are made: what turns messages into a body, and what posts the call with a number."""

    written: Callable[[corpus.Messages], bytes]
    posting: Callable[[Corpus, httpx2.Client], Post]


def by_httpx2(one: Corpus, client: httpx2.Client) -> Post:
    """Return how a call is made without an SDK."""
    headers = {"content-type": "application/json"}
    return lambda number: client.post(corpus.URL, content=one.calls[number].body, headers=headers).content


def by_openai(one: Corpus, client: httpx2.Client) -> Post:
    """Return how a call is made by the SDK of OpenAI."""
    create = _created_by(client)
    return lambda number: create(one.messages[number])


def written_by_openai(messages: corpus.Messages) -> bytes:
    """Return the body that the SDK of OpenAI makes of `messages`."""
    written: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        written.append(request.read())
        return httpx2.Response(200, content=corpus.answered(""))

    _created_by(httpx2.Client(transport=httpx2.MockTransport(answer)))(messages)
    return written[0]


def _created_by(client: httpx2.Client) -> Callable[[Any], bytes]:
    sdk = openai.OpenAI(api_key="none", base_url=corpus.BASE, http_client=client, max_retries=0)
    create = sdk.chat.completions.create
    return lambda messages: (create(model=corpus.MODEL, messages=messages).choices[0].message.content or "").encode()


WAYS = {"httpx2": Way(corpus.asked, by_httpx2), "openai": Way(written_by_openai, by_openai)}


@contextmanager
def replaying(cassette: Cassette) -> Iterator[None]:
    """Replay `cassette` to anyone who asks in this block."""
    player = Player("replay")
    undo = watch.install(player)
    try:
        with player.playing(corpus.tape(cassette)):
            yield
    finally:
        for take_back in reversed(undo):
            take_back()


def main(folder: Path, way: Way, size: int, rounds: int, slow_rounds: int, counts: list[int]) -> None:
    peers = corpus.installed() if slow_rounds else []
    corpora = [Corpus(folder, count, size, way, peers) for count in counts]
    client = httpx2.Client()
    posts = {one.count: way.posting(one, client) for one in corpora}
    mocks = {
        one.count: way.posting(one, httpx2.Client(transport=httpx2.MockTransport(one.dictionary))) for one in corpora
    }
    opened = {one.count: Cassette(one.path, "case", corpus.RULES) for one in corpora}
    gc.collect()
    gc.freeze()

    def dictionary(one: Corpus, seed: int) -> float:
        return one.timed(mocks[one.count], seed, CALLS)

    def pool(one: Corpus, seed: int) -> float:
        with one.pooled():
            return one.timed(posts[one.count], seed, CALLS)

    def recall(one: Corpus, seed: int) -> float:
        with replaying(opened[one.count]):
            return one.timed(posts[one.count], seed, CALLS)

    def peer(name: str, one: Corpus, seed: int) -> float:
        with corpus.PEERS[name][2](one.peers[name]):
            return one.timed(posts[one.count], seed, SLOW_CALLS)

    seconds: dict[str, dict[str, list[float]]] = {}
    for number in range(rounds + 1):
        for one in corpora:
            sides: dict[str, Callable[[Corpus, int], float]] = {
                "dictionary": dictionary,
                "pool": pool,
                "recall": recall,
            }
            if 0 < number <= slow_rounds:
                sides |= {name: partial(peer, name) for name in one.peers}
            for name in list(sides)[:: 1 if number % 2 else -1]:
                took = sides[name](one, number)
                if number:
                    seconds.setdefault(name, {}).setdefault(str(one.count), []).append(took)
    print(json.dumps({"seconds": seconds, "refused": [text for one in corpora for text in one.refused]}))


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[3:]]
    main(Path(sys.argv[1]), WAYS[sys.argv[2]], numbers[0], numbers[1], numbers[2], numbers[3:])
