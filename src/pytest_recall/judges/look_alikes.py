"""Say in code points where two texts differ that people cannot tell apart."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_recall.files.look import looks

_MOST = 6
"""As many code points are shown of each text."""


def difference(answer: str, missing: Iterable[str], *, whole: bool) -> str:
    """Return what only one of `answer` and a text of `missing` has if they look the same; empty if none does.

    Without `whole`, the text need only look like a part of the answer.
    """
    given = looks(answer)
    for text in missing:
        look = looks(text)
        if look and (look == given if whole else look in given):
            sides = (("the answer has", _not_in(text, answer)), ("the text has", _not_in(answer, text)))
            told = " and ".join(f"{whose} {', '.join(points)}" for whose, points in sides if points)
            return f"; they look alike, but {told}" if told else ""
    return ""


def _not_in(other: str, text: str) -> list[str]:
    """Return the code points beyond ASCII of `text` that are not in `other`."""
    return [f"U+{ord(sign):04X}" for sign in dict.fromkeys(text) if not sign.isascii() and sign not in other][:_MOST]
