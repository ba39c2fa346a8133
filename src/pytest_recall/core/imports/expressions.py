"""Expressions: regular expressions of JavaScript as those of Python's `re`, or not at all."""

from __future__ import annotations

import re
import warnings

# Escapes that both know; other letters stand for themselves in JavaScript, and for something else or nothing in `re`.
_SHARED = frozenset("dDwWsSbBnrtfv0xu")
_ASCII = frozenset("dDwWbB")
_GROUPS = ("?:", "?=", "?!", "?<=", "?<!")
_POSSESSIVE = re.compile(r"(?<!\\)(?:[*+?]|\})\+")
_NAMED = re.compile(r"\?<([A-Za-z_]\w*)>")
_BACK = re.compile(r"<([A-Za-z_]\w*)>")


def python_expression(pattern: str) -> tuple[str, bool] | None:
    """Return an expression of JavaScript (without flags) for `re.search`, and whether `\\s` makes it differ.

    `\\d`, `\\w` and `\\b` are about ASCII there, and `$` is the very end: so they are here. None for what `re` does not
    know, or JavaScript does not.
    """
    made, kinds, inside, index = [], set(), False, 0
    while index < len(pattern):
        character = pattern[index]
        rest = pattern[index + 1 :]
        index += 1
        if character == "\\":
            if not rest:
                return None
            index += 1
            escape = rest[0]
            if escape == "k" and not inside and (found := _BACK.match(rest[1:])):
                made.append(f"(?P={found[1]})")
                index += found.end()
            elif escape in "cp" or rest.startswith("u{") or (inside and escape in "bB"):
                return None
            elif escape.isascii() and escape.isalpha() and escape not in _SHARED:
                made.append(escape)
            else:
                kinds.add(escape)
                made.append(f"\\{escape}")
        elif inside:
            inside = character != "]"
            # `re` warns of what may become sets of sets one day.
            made.append(f"\\{character}" if character in "[&~|" else character)
        elif character == "[":
            if rest.startswith(("]", "^]")):
                return None
            inside = True
            made.append("[^" if rest.startswith("^") else "[")
            index += rest.startswith("^")
        elif character == "(" and rest.startswith("?"):
            named = _NAMED.match(rest)
            if named:
                made.append(f"(?P<{named[1]}>")
                index += named.end()
            elif rest.startswith(_GROUPS):
                made.append(character)
            else:
                return None
        elif character == "$":
            made.append(r"\Z")
        elif character == "{" and rest.startswith(","):
            made.append(r"\{")
        else:
            made.append(character)
    if inside or _POSSESSIVE.search(pattern):
        return None
    text = ("(?a)" if kinds & _ASCII else "") + "".join(made)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(text)
    except (re.error, Warning, OverflowError, RecursionError):
        return None
    return text, bool(kinds & {"s", "S"})
