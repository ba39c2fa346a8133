"""Parts: a day's text taken apart by session, with the lines on which they are."""

from __future__ import annotations

from typing import NamedTuple

from pytest_recall.core.horizon.layout import spans_in


class Part(NamedTuple):
    """What is said in a session on a day. `heading` is the line of its heading, counted from 1; its text follows."""

    day: int
    session: str
    heading: int
    text: str

    def line_of(self, offset: int) -> int:
        """Return the line of the file on which the character at `offset` of the text is."""
        return self.heading + 1 + self.text.count("\n", 0, offset)


def parts_of(day: int, raw: str) -> list[Part]:
    """Return the parts of a day's file, in its order."""
    return [
        Part(day, session, raw.count("\n", 0, start) + 1, raw[body + 1 : end])
        for session, start, body, end in spans_in(raw)
    ]
