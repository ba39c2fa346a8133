"""Patience: recorded errors are handed out so that no client waits before it tries again."""

from __future__ import annotations

from pytest_recall.replay.exchange import Headers

_WAITS = ("retry-after", "retry-after-ms")


def patient(status: int, headers: Headers) -> Headers:
    """Return `headers` that make no client wait before it tries again: the recording has the next answer already."""
    if status < 400:
        return headers
    kept = tuple((name, value) for name, value in headers if name.lower() not in _WAITS)
    return (*kept, ("retry-after", "0"), ("retry-after-ms", "1"))


def asks_to_wait(headers: Headers) -> bool:
    """Whether the upstream had named a time to wait: to some clients that alone is a reason to try again."""
    return any(name.lower() in _WAITS for name, _ in headers)
