"""Layout: where the files of a persona's story are, by the name of its arcs file."""

from __future__ import annotations

import re

DEFAULT_ARCS = "arcs-1000d.yaml"


def suffix_of(arcs: str) -> str:
    """Return what the story's folders end with: `-180d` for `arcs-180d.yaml`, nothing for any other name."""
    match = re.fullmatch(r"arcs(-.+)\.ya?ml", arcs)
    return match[1] if match else ""


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


_HEADING = re.compile(r"^# session: *(\S+) *$", re.MULTILINE)


def sessions_in(text: str) -> dict[str, str]:
    """Return what a day's text says in each session, by the headings `# session: ID`, without blank lines around."""
    found: dict[str, str] = {}
    headings = list(_HEADING.finditer(text))
    for heading, end in zip(headings, [*(one.start() for one in headings[1:]), len(text)], strict=True):
        body = text[heading.end() : end].strip()
        found[heading[1]] = f"{found[heading[1]]}\n\n{body}" if heading[1] in found else body
    return found
