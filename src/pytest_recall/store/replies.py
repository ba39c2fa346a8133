"""Replies: what judging models said in a calibration, kept so that no call is paid for twice."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_recall.core.call import Tokens
from pytest_recall.core.model import Reply
from pytest_recall.core.plain import typed
from pytest_recall.store.lines import Appended, read_appended


class Replies:
    """The replies in an append-only file, by who was asked what; `fresh` begins without them.

    Without a file they are kept as long as the process.

    A process that is killed loses none that it had: each is written through as it comes. What
    several processes wrote stands side by side, and the last one counts.
    """

    def __init__(self, path: Path | None, *, fresh: bool = False) -> None:
        self.path = path
        self._kept: dict[str, Reply] = {}
        for line in [] if fresh or path is None else read_appended(path):
            try:
                self._kept[line["key"]] = _reply(line["reply"])
            except (KeyError, TypeError):
                continue  # It is asked again, which is what a cache may do.

    def find(self, key: str) -> Reply | None:
        """Return the reply that is kept under `key`, or None."""
        return self._kept.get(key)

    def keep(self, key: str, reply: Reply) -> None:
        """Keep a reply, also on the disk. Raises OSError."""
        self._kept[key] = reply
        if self.path is not None:
            with Appended(self.path) as file:
                file.append({"key": key, "reply": _plain(reply)})


def _plain(reply: Reply) -> dict[str, Any]:
    plain = asdict(reply)
    return plain | {"tokens": None if reply.tokens is None else reply.tokens._asdict()}


def _reply(plain: dict[str, Any]) -> Reply:
    tokens, stop = plain.get("tokens"), plain.get("stop", "end")
    if stop not in ("end", "length", "refused"):
        raise TypeError(f"stop: {stop!r} is unknown")
    return Reply(**typed(Reply, plain), stop=stop, tokens=None if tokens is None else Tokens(**typed(Tokens, tokens)))
