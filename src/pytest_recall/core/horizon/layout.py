"""Layout: where the files of a persona's story are, by the name of its arcs file."""

from __future__ import annotations

import re
from typing import NamedTuple

DEFAULT_ARCS = "arcs-1000d.yaml"
KEPT = ".recall-bench"
"""The folder below a persona's in which passes keep what they need to go on."""


def suffix_of(arcs: str) -> str:
    """Return what the story's folders end with: `-180d` for `arcs-180d.yaml`, nothing for any other name."""
    match = re.fullmatch(r"arcs(-.+)\.ya?ml", arcs)
    return match[1] if match else ""


def days_in(arcs: str) -> int | None:
    """Return how many days a story has by its file's name, 60 for `arcs-60d.yaml`; None for another name."""
    match = re.fullmatch(r"-([1-9][0-9]{0,5})d", suffix_of(arcs))
    return int(match[1]) if match else None


def folder(base: str, arcs: str) -> str:
    """Return the folder of `memories`, `conversations`, `tools` or `qa` that goes with an arcs file."""
    return base + suffix_of(arcs)


def day_file(day: int, ending: str = "md", stem: str = "day") -> str:
    """Return the name of a day's file, such as `day-0007.md`."""
    return f"{stem}-{day:04}.{ending}"


def day_of(name: str, ending: str = "md", stem: str = "day") -> int | None:
    """Return the day of a file's name; None for another name."""
    match = re.fullmatch(rf"{stem}-(\d{{4,6}})\.{ending}", name)
    return int(match[1]) if match and int(match[1]) else None


HEADING = re.compile(r"^# session: *(\S+) *$", re.MULTILINE)
"""The line that begins a session's part of a day."""


class Span(NamedTuple):
    """A session's part of a text: its heading begins at `start`, what is said at `body`, and it ends at `end`."""

    session: str
    start: int
    body: int
    end: int


def spans_in(text: str) -> list[Span]:
    """Return where each heading `# session: ID` of a day's text is, and what belongs to it."""
    found = list(HEADING.finditer(text))
    ends = [one.start() for one in found[1:]] + [len(text)] * bool(found)
    return [Span(one[1], one.start(), one.end(), end) for one, end in zip(found, ends, strict=True)]


def sessions_in(text: str) -> dict[str, str]:
    """Return what a day's text says in each session, by the headings `# session: ID`, without blank lines around."""
    found: dict[str, str] = {}
    for session, _, start, end in spans_in(text):
        body = text[start:end].strip()
        found[session] = f"{found[session]}\n\n{body}" if session in found else body
    return found
