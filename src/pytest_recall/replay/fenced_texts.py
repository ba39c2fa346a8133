"""Write texts into the prompt of a judge between lines with a mark, and take such a prompt apart again by name.

The mark is another one for each material. What differs between two prompts is a text or a criterion, never the mark.
"""

from __future__ import annotations

import re

CRITERIA = "Criteria:\n"
"""Stands before the list of criteria at the end of a prompt."""
_MARK = re.compile(r"^The mark is ([0-9a-f]{24})\.$", re.MULTILINE)
_CRITERION = re.compile(r"^- ([^,\n]+), (?=from -?\d+ to -?\d+: )", re.MULTILINE)
AROUND = "around"
"""The name of what stands around the texts and before the criteria."""


def mark_line(mark: str) -> str:
    """Return the line that names the mark of the texts below it."""
    return f"The mark is {mark}."


def block(mark: str, name: str, text: str, note: str = "") -> str:
    """Return a text between lines with the mark and its name; the `note` stands outside of it."""
    return f"BEGIN {mark} {f'{name} ({note})' if note else name}\n{text}\nEND {mark} {name}"


def criterion_line(name: str, low: int, high: int, question: str) -> str:
    """Return a criterion as an item of the list after `CRITERIA`."""
    return f"- {name}, from {low} to {high}: {question}"


def parts_of(prompt: str) -> dict[str, str]:
    """Return the texts or the criteria of a prompt by name, and what is `AROUND` them; empty if it has neither."""
    if (named := _MARK.search(prompt)) is not None:
        mark = named[1]
        blocks = re.compile(rf"^BEGIN {mark} [^\n]*\n(.*?)\nEND {mark} ([^\n]*)$", re.MULTILINE | re.DOTALL)
        texts = {found[2]: found[1] for found in blocks.finditer(prompt)}
        notes = blocks.sub(lambda found: found[0].partition("\n")[0], prompt)
        return {AROUND: notes.replace(mark, "…"), **texts} if texts else {}
    before, heading, listed = prompt.rpartition(f"\n{CRITERIA}")
    if not heading:
        return {}
    _, *criteria = _CRITERION.split(listed)
    by_name = dict(zip(criteria[::2], criteria[1::2], strict=True))
    return {AROUND: before, **{f"criterion {name}": told.rstrip("\n") for name, told in by_name.items()}}
