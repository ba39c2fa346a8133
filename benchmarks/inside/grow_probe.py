"""Write a conversation that grows from 2 to 200 KB, by us and by vcrpy; prints bytes on disk as JSON.

grow_probe.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import corpus

from pytest_recall.replay.cassette_file import Cassette

CALLS = 24
FIRST, LAST = 2_000, 200_000


def main(folder: Path) -> None:
    calls = list(corpus.growing(CALLS, FIRST, LAST))
    path = folder / "recall.ndjson"
    corpus.write_recall(path, calls)
    found = [exchange.request.body for exchange in Cassette(path, "case", corpus.RULES).exchanges()]
    if found != [call.body for call in calls] or (len(found[0]), len(found[-1])) != (FIRST, LAST):
        raise SystemExit("what was written is not what was asked")
    size = {"recall": path.stat().st_size, "bodies": sum(len(call.body) + len(call.answer) for call in calls)}
    for peer in corpus.installed():
        suffix, write, _ = corpus.PEERS[peer]
        path = folder / f"{peer}{suffix}"
        write(path, calls)
        size[peer] = path.stat().st_size
    print(json.dumps(size))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
