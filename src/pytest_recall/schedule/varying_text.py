"""Learn which parts of a case's requests vary without a code change, such as dates, from a replay of the base."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

CONTEXT = 2
"""Words before or after what differs that have to be the same: the same kind of text elsewhere is told apart."""

_MONTHS = "january february march april may june july august september october november december"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_KINDS = (
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?",
    r"\d\d?:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?",
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    rf"(?i:{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in _MONTHS.split())})",
    rf"(?i:{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in _DAYS.split())})",
    r"\d+(?:[.,/]\d+)*(?:st|nd|rd|th)?",
    r"(?=\w*\d)(?:\w*[_-])?[0-9a-fA-F]{8,}",
)
"""What may differ by itself: dates, times, ids, names of months and days, numbers, and ids in hex digits."""
_WORD = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)
_LINE = re.compile(r"[^:]*: “(.*)” → “(.*)”", re.DOTALL)
_CUT = "…"


def learned(lines: Iterable[str]) -> tuple[str, ...]:
    """Return regular expressions of what differs in `lines`, as `path: “recorded” → “asked”`; none if not all can.

    Each stands for one place: it has the words beside it that were the same. What is not a date, time, id or number is
    not learned, since it may be what is asked.
    """
    found: list[str] = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            return ()
        patterns = _of_texts(match[1].split(), match[2].split())
        if patterns is None:
            return ()
        found += patterns
    return tuple(dict.fromkeys(found))


def _of_texts(before: list[str], after: list[str]) -> list[str] | None:
    """Return the patterns of the words that differ; None if one of them is of no kind that varies."""
    found, same = [], 0
    for tag, i, j, k, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            same = k
            continue
        if tag != "replace" or j - i != end - k:
            return None
        kinds = [_kind(one, other) for one, other in zip(before[i:j], after[k:end], strict=True)]
        if not all(kinds):
            return None
        left = [word for word in after[max(k - CONTEXT, same) : k] if not word.startswith(_CUT)]
        right = [] if left else [word for word in after[end : end + CONTEXT] if not word.endswith(_CUT)]
        if not left and not right and (i, j, k, end) != (0, len(before), 0, len(after)):
            return None
        words = [*map(re.escape, left), *map(str, kinds), *map(re.escape, right)]
        text = r"\s+".join(words)
        found.append(text if left or right else rf"\A\s*{text}\s*\Z")
    return found


def _kind(before: str, after: str) -> str:
    """Return the pattern of a word with what stands around it; empty if the two are not of one kind."""
    one, other = _WORD.fullmatch(before), _WORD.fullmatch(after)
    assert one is not None
    assert other is not None
    if (one[1], one[3]) != (other[1], other[3]):
        return ""
    kind = next((kind for kind in _KINDS if re.fullmatch(kind, one[2]) and re.fullmatch(kind, other[2])), "")
    return kind and f"{re.escape(one[1])}(?:{kind}){re.escape(one[3])}"
