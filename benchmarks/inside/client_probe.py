"""Time building a vendor's client, the first and later ones; prints seconds as JSON.

client_probe.py VENDOR MODE, where VENDOR is `openai` or `anthropic`, and MODE `replay` or `plain`

What httpx2 imports only when the first client is built is timed on its own, as `import`.
"""

from __future__ import annotations

import importlib
import json
import sys
from statistics import median
from time import perf_counter
from typing import Any

from pytest_recall.replay import watch
from pytest_recall.replay.player import Player

CLIENTS = {"openai": "OpenAI", "anthropic": "Anthropic"}
LATER = 20
LAZILY_IMPORTED = "httpcore2"


def main(vendor: str, mode: str) -> None:
    if mode == "replay":
        watch.install(Player("replay"))
    make: Any = getattr(importlib.import_module(vendor), CLIENTS[vendor])
    begin = perf_counter()
    importlib.import_module(LAZILY_IMPORTED)
    imported = perf_counter() - begin
    seconds: list[float] = []
    clients: list[Any] = []
    for _ in range(LATER + 1):
        begin = perf_counter()
        clients.append(make(api_key="none"))
        seconds.append(perf_counter() - begin)
    print(json.dumps({"import": imported, "first": seconds[0], "later": median(seconds[1:])}))


if __name__ == "__main__":
    main(*sys.argv[1:3])
