"""Tell texts apart that look the same: by how they look, and spelled out."""

from __future__ import annotations

import unicodedata

_QUOTES = str.maketrans("‘’‚‛“”„‟", "''''\"\"\"\"")


_LETTERS = str.maketrans("АВЕЅІЈКМНОРСТУХасеѕіјорухΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABESIJKMHOPCTYXacesijopyxABEZHIKMNOPTYXo")
"""Letters of Cyrillic and Greek that look like those of Latin (a part of UTS 39, confusables)."""
_SELECTORS = dict.fromkeys(range(0xFE00, 0xFE10))
"""Variation selectors, which only say how the sign before is drawn."""


def looks(text: str) -> str:
    """Return `text` as it looks: composed, without what is invisible, one sign for all dashes, quotes and spaces.

    A letter of Cyrillic or Greek that looks like one of Latin is that one.
    """
    plain = unicodedata.normalize("NFKC", text).translate(_QUOTES).translate(_LETTERS).translate(_SELECTORS)
    kinds = ((sign, unicodedata.category(sign)) for sign in plain)
    shown = "".join("-" if kind == "Pd" or sign == "−" else sign for sign, kind in kinds if kind != "Cf")
    return " ".join(shown.split())


def spelled(text: str) -> str:
    """Return `text` with an escape, as of Python, for each sign that looks like another one or like nothing."""
    return "".join(
        sign
        if sign == " " or (sign.isprintable() and looks(sign) == sign and not unicodedata.combining(sign))
        else sign.encode("unicode_escape").decode("ascii")
        for sign in text
    )
