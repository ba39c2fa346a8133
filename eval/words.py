"""How the assistant reads English: words, stems, sentences and kinds of question.

The word lists are in english.txt. All of it is general: nothing is written for one case of the eval set.
"""

from __future__ import annotations

import re
from pathlib import Path

_LINES: dict[str, list[str]] = {}
for _line in Path(__file__).with_name("english.txt").read_text(encoding="utf-8").splitlines():
    if _line.startswith("["):
        _lines = _LINES.setdefault(_line[1 : _line.index("]")], [])
    elif _line and not _line.startswith("#"):
        _lines.append(_line)

STOP_WORDS = frozenset(" ".join(_LINES["stop words"]).split())
_FORMS = dict(pair.split() for pair in ", ".join(_LINES["forms"]).split(", "))
_GROUPS = [line.split() for line in _LINES["synonyms"]]

_NUMBER = r"\b(?:\d[\d.,]*|two|three|four|five|six|seven|eight|nine|ten|twelve)\b"
_TIME = r"\b\d[\d:]* ?[ap]m\b|\bnoon\b|days?\b|\bmonth|\b(?:january|february|march|april|august|december)\b"
_SPAN = rf"(?:{_NUMBER}|\ban?)[ -](?:\w+ )?(?:minute|hour|day|week|month|year)s?\b"
_MONEY = (
    r"\bhow much|\bcosts?\b|\bprices?\b|\bfees?\b|\bpay\b|\bowe\b|\bcharged?\b|\brates?\b|\bcheap|\bexpensive"
    r"|\bdiscount|\bwhat\b.*\b(?:deposit|fine|penalty)\b"
)
# What a question asks, what a sentence that answers it holds, and a word that both turn on. The first that fits counts.
KINDS = tuple(
    (re.compile(asked, re.IGNORECASE), re.compile(answered, re.IGNORECASE), word)
    for asked, answered, word in (
        (r"\bhow (?:soon|quick|recent)|\b(?:by|until|till) (?:what time|when)\b", f"{_SPAN}|{_TIME}", ""),
        (r"\bhow (?:often|frequent)", r"\bonce (?:a|in)\b|\btwice\b|\bevery\b|\btimes\b", ""),
        (r"\bhow (?:long|much time)|\bhow many (?:hour|day|week|month|year)s\b|\binterval", _SPAN, "length"),
        (r"\bhow (?:heavy|light)|\bweigh", r"\d ?kg\b", "weight"),
        (r"\bhow (?:far|large|big|high|tall|thick|fast|loud|hot|close)\b", r"\d ?(?:[ck]?m|degrees|decibels)\b", ""),
        (r"\bhow old|\b(?:what|which) age", r"\b(?:aged?|age of|at least|over|under) \d", "age"),
        (_MONEY, r"\$\d", ""),
        (r"\bwhen\b|\bwhat time|\b(?:which|what) days?\b|\bhours\b", _TIME, "hour"),
        (r"\bhow many\b|\blimit\b|\bmaximum\b", _NUMBER, ""),
    )
)
# Endings to cut, what to put there, and how many letters have to stay: first a plural, then one of the others.
_PLURALS = (("ies", "y", 3), ("es", "", 3), ("s", "", 3))
_ENDINGS = (("ment", "", 5), ("al", "", 5), ("ly", "", 4), ("ing", "", 3), ("ied", "y", 3), ("ed", "", 3))


def stem(word: str) -> str:
    """Cut common English endings and American spellings, so that `lending` and `lends` meet."""
    word = _FORMS.get(word, word)
    if len(word) > 5:
        word = word.replace("iz", "is").replace("our", "or")
    for endings in (_PLURALS, _ENDINGS):
        for ending, put, least in endings:
            if word.endswith(ending) and len(word) - len(ending) >= least and not word.endswith(("ss", "us")):
                word = word[: -len(ending)] + put
                break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def words(text: str) -> list[str]:
    """The content words, in order and in lower case; a dollar sign is a word, too."""
    found = re.findall(r"[a-z0-9]+", text.lower().replace("$", " dollar "))
    return [word for word in found if word not in STOP_WORDS and (len(word) > 1 or word.isdigit())]


def stems(text: str) -> list[str]:
    """The stems of the content words, in order."""
    return [stem(word) for word in words(text)]


def sentences(text: str) -> list[str]:
    """The text, cut after each full stop, question mark or exclamation mark."""
    return re.split(r"(?<=[.!?])\s+(?=[A-Z0-9])", text.strip())


GENERAL_WORDS = STOP_WORDS.union(*_GROUPS)
_SYNONYMS: dict[str, frozenset[str]] = {}
for _group in (frozenset(map(stem, group)) for group in _GROUPS):
    _SYNONYMS |= {member: _SYNONYMS.get(member, _group) | _group for member in _group}


def alike(root: str) -> frozenset[str]:
    """The stem itself and the stems of its synonyms."""
    return _SYNONYMS.get(root, frozenset((root,)))
