"""Split a text into the words that a judge compares, in any script.

A word is a row of letters, marks and numbers (categories L, M and N of Unicode), with single apostrophes between them,
in NFC and without case: `Straße` and `STRASSE` are one, `hør` and `hår` are two. Scripts that put no space between
words (Han, kana, Thai, Lao, Khmer, Myanmar and their kin, the line breaking classes ID and SA of UAX #14) do not say
where one ends. A row of them counts as many words as it has characters, and is shared only as a whole, so that 不可退货
shares nothing with 可退货.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaadf\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_APOSTROPHE = re.compile("['’]")
_OF_WORDS = "LMN"
_WORD, _ROW, _NONE = "word", "row", ""


def words(text: str) -> list[str]:
    """Return the words of `text`, in their order."""
    # Without case a text need not be in NFC any more.
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    found: list[str] = []
    for kind, characters in groupby(_APOSTROPHE.sub("'", plain), key=_kind):
        row = "".join(characters)
        if kind == _ROW:
            found += [row] * len(row)
        elif kind == _WORD and (word := row.strip("'")):
            found.append(word)
    return found


def _kind(character: str) -> str:
    if _UNSPACED.match(character):
        return _ROW if unicodedata.category(character)[0] in _OF_WORDS else _NONE
    return _WORD if character == "'" or unicodedata.category(character)[0] in _OF_WORDS else _NONE
