"""Time opening a cassette, ours and those of others; prints seconds as JSON.

open_probe.py FOLDER COUNT SIZE ROUNDS
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

import corpus

from pytest_recall.replay.cassette_file import Cassette

PEER_ROUNDS = 3


def main(folder: Path, count: int, size: int, rounds: int) -> None:
    calls = corpus.flat(count, size)
    path = folder / "recall.ndjson"
    corpus.write_recall(path, calls)

    def recall() -> None:
        found = Cassette(path, "case", corpus.RULES)
        if len(found) != count or len(found.keys) != count:
            raise SystemExit(f"{len(found)} calls, not {count}")

    def use(peer: str, place: Path) -> None:
        with corpus.PEERS[peer][2](place):
            pass

    sides: dict[str, Callable[[], None]] = {"recall": recall, "bytes": lambda: _read(path)}
    for peer in corpus.installed():
        suffix, write, _ = corpus.PEERS[peer]
        place = folder / f"{peer}{suffix}"
        write(place, calls)
        sides[peer] = partial(use, peer, place)
    del calls
    gc.collect()
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, action in sides.items():
            if name in corpus.PEERS and number > PEER_ROUNDS:
                continue
            begin = perf_counter()
            action()
            if number:
                seconds[name].append(perf_counter() - begin)
    print(json.dumps(seconds))


def _read(path: Path) -> None:
    path.read_bytes()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:5]))
