"""Tell texts apart that look the same: by how they look, and spelled out."""

from __future__ import annotations

import unicodedata

_QUOTES = str.maketrans("‘’‚‛“”„‟", "''''\"\"\"\"")


def looks(text: str) -> str:
    """Return `text` as it looks: composed, without what is invisible, one sign for all dashes, quotes and spaces."""
    plain = unicodedata.normalize("NFKC", text).translate(_QUOTES)
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
