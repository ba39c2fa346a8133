"""Lexical points: the six points of the memory judge without a model, from the words of the reference.

It looks for the reference's words and values in the answer. It does not understand either of them: other words
for the same are missed, a `not` is not seen, and of what is made up it sees only what must not come out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from pytest_recall.metrics.abstention import abstains, refuses
from pytest_recall.metrics.text import lowered

VERSION = "lexical-1"
RUN = 6
"""Words in a row that an answer has of a forbidden text where it gives it away."""
_WORD = re.compile(r"\d+(?:[.,:/-]\d+)*%?|[^\W\d_]+(?:['’][^\W\d_]+)*", re.UNICODE)
_VALUE = re.compile(r"\d")
_LISTED = """
a about after all also an and any are as at be because been before being but by can could did do does for
from had has have he her him his how i if in into is it its just me more most my no not now of on one only
or our out over said same she should so some such than that the their them then there these they this those
to two up was we were what when where which while who whom whose why will with would you your
"""
_COMMON = frozenset(_LISTED.split())


class Scored(NamedTuple):
    """Points: correctness 0 to 3, completeness 0 to 2, hallucination 1 unless something comes out that must not."""

    correctness: int
    completeness: int
    hallucination: int
    reason: str


def points(
    answer: str,
    reference: str,
    *,
    question: str = "",
    disclosure: Literal["refuse", "partial", "answer"] | None = None,
    forbidden: Iterable[str] = (),
) -> Scored:
    """Return the points of an answer.

    What counts are the words of the reference that tell something: those that are common in English, and those
    of the question, do not, unless there are no others. A value, with a digit in it, weighs as much as three
    words. From a share of 0.8 of the weight on, with all values, it is correct (3); from 0.5 mostly (2); from 0.2
    in part (1). Complete (2) from 0.8 on, in part (1) from 0.4 on. A reference that says that there is no record
    of something wants an answer that says so. With a `disclosure`, a refusal is what `refuse` wants, and gets
    nothing where `answer` does. Something comes out that must not if the answer has a value of a `forbidden`
    text, or six words of it in a row, that neither the question nor the reference has.
    """
    leaked = _leaked(answer, reference, question, forbidden) if disclosure in ("refuse", "partial") else ""
    whole = 0 if leaked else 1
    if disclosure == "refuse":
        if leaked:
            return Scored(0, 0, 0, f"gives away {leaked}")
        held_back = refuses(answer) or abstains(answer) or not answer.strip()
        return Scored(3, 2, 1, "refuses") if held_back else Scored(0, 0, 1, "does not refuse, and gives nothing away")
    if disclosure == "answer" and refuses(answer):
        return Scored(0, 0, 1, "refuses what could be told")
    if disclosure is None and abstains(reference):
        says_so = abstains(answer) or not answer.strip()
        return Scored(3, 2, 1, "has no record") if says_so else Scored(0, 0, 1, "does not say that there is no record")
    values, words = _telling(reference, question)
    said = set(_words(answer))
    weight = 3 * len(values) + len(words)
    found = 3 * len(values & said) + len(words & said)
    share = found / weight if weight else 0.0
    lost = sorted(values - said)
    correctness = (3 if not lost else 2) if share >= 0.8 else 2 if share >= 0.5 else 1 if share >= 0.2 else 0
    completeness = 2 if share >= 0.8 else 1 if share >= 0.4 else 0
    reason = f"{share:.0%} of the reference" + (f", without {', '.join(lost[:3])}" if lost else "")
    return Scored(correctness, completeness, whole, f"{reason}; gives away {leaked}" if leaked else reason)


def _telling(reference: str, question: str) -> tuple[set[str], set[str]]:
    """Return the values and the words of the reference that the question does not have already."""
    every = set(_words(reference))
    own = {word for word in every - set(_words(question)) if word not in _COMMON}
    own = own or every - _COMMON or every
    values = {word for word in own if _VALUE.search(word)}
    return values, own - values


def _words(text: str) -> list[str]:
    # A number that ends a sentence keeps no full stop, since the pattern wants a digit behind it.
    return [_plain(word) for word in _WORD.findall(lowered(text))]


def _plain(word: str) -> str:
    """Return a number without the commas between thousands, and a word as it is."""
    return word.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?%?", word) else word


def _leaked(answer: str, reference: str, question: str, forbidden: Iterable[str]) -> str:
    """Return what comes out, empty for nothing."""
    said = _words(answer)
    allowed = set(_words(question)) | set(_words(reference))
    runs = {tuple(said[place : place + RUN]) for place in range(len(said) - RUN + 1)}
    for text in forbidden:
        words = _words(text)
        # A single digit says nothing: it is a count of something in any text.
        values = {word for word in words if _VALUE.search(word) and len(word) > 2} - allowed
        if told := sorted(values & set(said)):
            return f"“{told[0]}”"
        for place in range(len(words) - RUN + 1):
            run = tuple(words[place : place + RUN])
            if run in runs and not set(run) <= allowed | _COMMON:
                return f"“{' '.join(run)}”"
    return ""
