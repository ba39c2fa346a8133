"""Summary: the file whose text GitHub shows on the page of a job."""

from __future__ import annotations

from pathlib import Path

LIMIT = 2**20
"""Bytes that the summary of a step may have; GitHub shows nothing of a longer one."""
_REST = "\n\n… cut off: the whole of it is in `scorecard.md` of the run.\n"


def append_summary(path: Path, text: str) -> None:
    """Append `text` to the summary at `path`, or as much of it as there is room for. Raises OSError."""
    there = path.stat().st_size if path.exists() else 0
    room = LIMIT - there - 1
    data = f"{text}\n".encode("utf-8", "replace")
    if len(data) > room:
        kept = data[: max(0, room - len(_REST.encode()))].decode("utf-8", "ignore")
        if not kept:
            return
        whole, _, _ = kept.rpartition("\n")
        # What was open is closed, so that the last sentence is seen.
        closing = "\n</details>" if whole.count("<details>") > whole.count("</details>") else ""
        data = f"{whole[: max(0, len(whole) - len(closing))]}{closing}{_REST}".encode()
    with path.open("ab") as file:
        file.write(data)
