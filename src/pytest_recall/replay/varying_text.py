"""Tell where two texts differ in what varies by itself, and propose patterns that fit that alone.

A date, a time, an id or a number varies by itself; a word does not. A pattern holds two fixed words beside what varies,
or the whole text around it, and none fits a bare number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple


class Spot(NamedTuple):
    """Where two texts differ."""

    first: str
    """What stands there in the first text."""
    second: str
    """What stands there in the second text."""
    patterns: tuple[str, ...] = ()
    """Those that fit both, the better first; without any it is nothing that varies by itself."""
    is_shuffled: bool = False
    """Whether the texts have the same words in another order."""


_DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Mon|Tue|Wed|Thu|Fri|Sat|Sun"
_MONTH = (
    r"Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?"
)
_KINDS = {
    "uuid": r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "moment": r"\d{4}-\d\d-\d\d[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?",
    "date": r"\d{4}-\d\d-\d\d|\d{4}/\d\d?/\d\d?|\d\d?/\d\d?/\d{2,4}|\d\d?\.\d\d?\.\d{2,4}",
    "time": r"\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?",
    "day": _DAY,
    "month": _MONTH,
    "ordinal": r"\d\d?(?:st|nd|rd|th)",
    "number": r"\d+(?:[.,]\d+)*",
    "hex": r"(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{6,}|(?=[0-9A-F]*[A-F])(?=[0-9A-F]*\d)[0-9A-F]{6,}",
    "id": r"(?=[\w-]*\d)(?=[\w-]*[^\W\d_])[^\W_]+(?:[_-]+[^\W_]+)*",
}
_TOKEN = re.compile(
    "|".join(f"(?P<{name}>(?<!\\w)(?:{expression})(?!\\w))" for name, expression in _KINDS.items()) + r"|\w+|\s+|.",
    re.DOTALL,
)
_LETTER = re.compile(r"[^\W\d_]")
_NUMBERLIKE = frozenset({"number", "hex", "id"})
"""Kinds of which a bare number may be one."""


class _Token(NamedTuple):
    """A piece of a text."""

    text: str
    kind: str
    """Empty for a piece that does not vary by itself."""

    @property
    def is_word(self) -> bool:
        """Whether it can be told by: what may vary is no fixed word, also where both texts have the same."""
        return not self.kind and _LETTER.search(self.text) is not None


def _tokens(text: str) -> list[_Token]:
    return [_Token(match.group(), match.lastgroup or "") for match in _TOKEN.finditer(text)]


def is_wordless(text: str) -> bool:
    """Whether a text is of what varies by itself alone."""
    tokens = _tokens(text)
    return any(one.kind for one in tokens) and not any(one.is_word for one in tokens)


def _generalized(one: _Token, other: _Token) -> str:
    """Return a regular expression for two tokens and what is like them; empty if they have nothing in common."""
    kinds, texts = {one.kind, other.kind}, (one.text, other.text)
    if kinds == {"uuid"}:
        digit = _hex_digits(texts)
        return f"{digit}{{8}}(?:-{digit}{{4}}){{3}}-{digit}{{12}}"
    if kinds <= {"number", "hex"} and "hex" in kinds:
        same = len(one.text) == len(other.text)
        return _hex_digits(texts) + (f"{{{len(one.text)}}}" if same else "+")
    if kinds == {"number"}:
        return r"\d+".join(map(_escaped, _between(one.text))) if _shape(*texts) else r"\d[\d.,]*"
    if kinds <= _NUMBERLIKE:
        return _with_prefix(*texts)
    if len(kinds) > 1:
        return ""
    if one.kind in ("day", "month", "ordinal") or not _shape(*texts):
        return f"(?:{_KINDS[one.kind]})" if one.kind in ("day", "month", "date") else _KINDS[one.kind]
    runs = zip(*(map(len, re.findall(r"\d+", text)) for text in texts), strict=True)
    padded = one.kind == "moment" or "-" in one.text
    # Of a time the hours alone may be of one digit.
    digits = [_run(*pair, padded=padded or (one.kind == "time" and place > 0)) for place, pair in enumerate(runs)]
    between = [_escaped(text) for text in _between(one.text)]
    if one.kind == "time":
        between[-1] = re.sub(r"[AaPp]([Mm])$", lambda half: f"[AaPp]{half[1]}", between[-1])
    return between[0] + "".join(run + text for run, text in zip(digits, between[1:], strict=True))


def _between(text: str) -> list[str]:
    return re.split(r"\d+", text)


def _shape(one: str, other: str) -> bool:
    """Whether two texts have the same between their digits; AM and PM are one."""
    left, right = (re.sub(r"[AaPp](?=[Mm]$)", "A", re.sub(r"\d+", "0", text)) for text in (one, other))
    return left == right


def _run(one: int, other: int, *, padded: bool) -> str:
    if max(one, other) > 4 or (one != other and max(one, other) > 2):
        return r"\d+"
    if max(one, other) <= 2:
        return r"\d\d" if padded and one == other == 2 else r"\d\d?"
    return rf"\d{{{one}}}"


def _hex_digits(texts: Iterable[str]) -> str:
    joined = "".join(texts)
    return "[0-9a-f]" if joined == joined.lower() else "[0-9A-F]" if joined == joined.upper() else "[0-9a-fA-F]"


def _with_prefix(one: str, other: str) -> str:
    """Return an expression for two ids, which keeps the parts that both begin with."""
    left, right = (re.split(r"(?<=[_-])", text) for text in (one, other))
    same = 0
    while same < min(len(left), len(right)) - 1 and left[same] == right[same]:
        same += 1
    return _escaped("".join(left[:same])) + r"[\w-]+"


_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
_CONTROLS = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def _escaped(text: str) -> str:
    """Return a regular expression for a text as it is, with no more escapes than it needs."""
    plain = _SPECIAL.sub(lambda match: f"\\{match[0]}", text)
    return "".join(_CONTROLS.get(c, c if c.isprintable() else re.escape(c)) for c in plain)


def differs_in_kinds_alone(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but what varies by itself."""
    return all(spot.first and _is_kind(spot.first) and _is_kind(spot.second) for spot in spots(one, other))


def _is_kind(text: str) -> bool:
    tokens = _tokens(text)
    return len(tokens) == 1 and bool(tokens[0].kind)


def fewest(candidates: Sequence[Sequence[str]]) -> list[str]:
    """Return a pattern for each of these, as few as it takes; empty for what has none."""
    chosen = [""] * len(candidates)
    while left := [place for place, one in enumerate(candidates) if one and not chosen[place]]:
        counts: dict[str, int] = {}
        for place in left:
            for pattern in dict.fromkeys(candidates[place]):
                counts[pattern] = counts.get(pattern, 0) + 1
        # The first of equals: that with a word on either side.
        best = max(counts, key=lambda pattern: counts[pattern])
        for place in left:
            if best in candidates[place]:
                chosen[place] = best
    return chosen


class _Piece(NamedTuple):
    """A piece of a text as a pattern has it."""

    expression: str
    is_word: bool = False
    is_barrier: bool = False
    """Whether the other text has nothing like it."""


def spots(one: str, other: str, known: Sequence[re.Pattern[str]] = ()) -> Iterator[Spot]:
    """Yield where two texts differ, but for what is `known` to vary."""
    left, right = _tokens(one), _tokens(other)
    covered = [match.span() for pattern in known for match in pattern.finditer(one)]
    pieces: list[_Piece] = []
    varying: list[tuple[int, _Token, _Token]] = []
    others: list[tuple[str, str]] = []
    at = 0
    for same, mine, theirs in _aligned(left, right):
        if not same:
            text = "".join(token.text for token in mine)
            if not _is_within(at, at + len(text), covered):
                others.append((text, "".join(token.text for token in theirs)))
            pieces.append(_Piece("", is_barrier=True))
            at += len(text)
            continue
        for token, varied in zip(mine, theirs, strict=True):
            inside = _is_within(at, at + len(token.text), covered)
            at += len(token.text)
            if token.text == varied.text:
                pieces.append(_Piece(_escaped(token.text), token.is_word))
                continue
            expression = _generalized(token, varied)
            if not expression and not inside:
                others.append((token.text, varied.text))
            elif not inside:
                varying.append((len(pieces), token, varied))
            pieces.append(_Piece(expression, is_barrier=not expression))
    for place, token, varied in varying:
        numberlike = {token.kind, varied.kind} <= _NUMBERLIKE
        yield Spot(token.text, varied.text, tuple(_anchored(pieces, place, numberlike=numberlike)))
    if others:
        shuffled = sorted(token.text for token in left) == sorted(token.text for token in right)
        first, second = (" … ".join(filter(None, map(str.strip, texts))) for texts in zip(*others, strict=True))
        yield Spot(first, second, is_shuffled=shuffled)


def _is_within(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(first <= start and end <= last for first, last in spans)


def _aligned(
    left: Sequence[_Token], right: Sequence[_Token]
) -> Iterator[tuple[bool, Sequence[_Token], Sequence[_Token]]]:
    """Yield stretches of two texts side by side, and whether they are alike but for what varies by itself."""
    mine, theirs = (["\0" if token.kind else token.text for token in tokens] for tokens in (left, right))
    begin = 0
    while begin < min(len(mine), len(theirs)) and mine[begin] == theirs[begin]:
        begin += 1
    end = 0
    while end < min(len(mine), len(theirs)) - begin and mine[-1 - end] == theirs[-1 - end]:
        end += 1
    yield True, left[:begin], right[:begin]
    middle, other = mine[begin : len(mine) - end], theirs[begin : len(theirs) - end]
    for tag, i, j, k, n in SequenceMatcher(None, middle, other, autojunk=False).get_opcodes():
        yield tag == "equal", left[begin + i : begin + j], right[begin + k : begin + n]
    yield True, left[len(left) - end :], right[len(right) - end :]


_WORDS = ((1, 1), (2, 0), (0, 2), (2, 2))
"""How many words a pattern holds to the left and to the right of what varies, the better first."""


def _anchored(pieces: Sequence[_Piece], place: int, *, numberlike: bool) -> Iterator[str]:
    """Yield patterns for the piece at `place` with two fixed words beside it, or with the whole text around it."""
    for before, after in _WORDS:
        left = _walked(pieces[:place][::-1], before)
        right = _walked(pieces[place + 1 :], after)
        if left is None or right is None:
            continue
        words = left.words + right.words
        if words >= 2 or (left.at_edge and right.at_edge and (words or not numberlike)):
            begin = r"\A" if left.at_edge else r"\b"
            end = r"\Z" if right.at_edge else r"\b"
            yield begin + "".join(left.expressions[::-1]) + pieces[place].expression + "".join(right.expressions) + end


class _Walk(NamedTuple):
    expressions: list[str]
    words: int
    at_edge: bool


def _walked(pieces: Sequence[_Piece], words: int) -> _Walk | None:
    """Return the pieces up to so many words, or to the edge of the text; None where a barrier is before that."""
    found = _Walk([], 0, at_edge=False)
    for piece in pieces:
        if found.words == words:
            return found
        if piece.is_barrier:
            return None
        found.expressions.append(piece.expression)
        found = found._replace(words=found.words + piece.is_word)
    return found if found.words == words else found._replace(at_edge=True)
