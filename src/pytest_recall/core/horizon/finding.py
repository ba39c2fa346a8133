"""Finding: what is wrong in a persona's files, and where."""

from __future__ import annotations

from typing import Literal, NamedTuple

Severity = Literal["error", "warning"]
Source = Literal["persona", "arcs", "memories"]


class Finding(NamedTuple):
    """One thing that is wrong: a `rule` by name, and a sentence that ends with what to do.

    In the persona's file and the story's its place is a `path` of keys, in a day's text a `line`.
    `memories` without a day are the folder.
    """

    severity: Severity
    rule: str
    message: str
    source: Source = "memories"
    path: tuple[str | int, ...] = ()
    day: int | None = None
    line: int = 1
