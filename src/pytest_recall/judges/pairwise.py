"""Pairwise judge: two answers compared twice, the second time in the other order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_recall.core.case import Case
from pytest_recall.core.errors import ArgumentError
from pytest_recall.core.judgement import Vote
from pytest_recall.core.trial import Answer
from pytest_recall.judges import fence, parse
from pytest_recall.judges.fence import Part
from pytest_recall.judges.seat import Prompt, Seat, reply_schema, version_of

DEFAULT_THRESHOLD = 0.5
"""A tie scores 0.5, so that an answer passes that is no worse than the other."""
WIN, TIE, LOSS = 1.0, 0.5, 0.0
CHOICES = ("first", "second", "tie")
SCHEMA = reply_schema("better", {"type": "string", "enum": list(CHOICES)})

SYSTEM = f"""\
You compare two answers of assistants to the same question, and say which one serves whoever asked better: what is
true and to the point counts, neither length nor style nor the order in which they stand.

{fence.DATA}

Where there is a REFERENCE, it says what is true. Where ASPECT is given, compare in this respect only.

Reply with one JSON object: first "reasoning", in at most four sentences; then "better", which is "first" for the
FIRST ANSWER, "second" for the SECOND ANSWER, or "tie" if neither is better.
"""


@dataclass(frozen=True, kw_only=True)
class PairwiseInquiry:
    """The question which of two answers is better."""

    parts: tuple[Part, ...]
    answer: str
    other: str
    threshold: float
    version: str

    def hear(self, seat: Seat) -> Vote:
        """Return the vote: a win or a loss if both orders say so, else a tie.

        A judge that names the same position in both orders has followed the position. The
        orders are those of Zheng et al., "Judging LLM-as-a-Judge" (2023), §3.4.
        """
        reasoning, before = self._compared(seat, self.answer, self.other)
        again, after = self._compared(seat, self.other, self.answer)
        outcome = {("first", "second"): WIN, ("second", "first"): LOSS}.get((before, after), TIE)
        flips = int(before == after != "tie")
        if outcome != TIE:
            told = f"{'better' if outcome == WIN else 'worse'} in both orders"
        elif flips:
            told = f"a tie, as the {before} one was preferred in both orders"
        else:
            told = "a tie in both orders" if before == after else "a tie, as it was one in one of the orders"
        return Vote(
            passed=outcome >= self.threshold,
            score=outcome,
            flips=flips,
            reason=f"{told}: {reasoning if before != 'tie' else again}",
        )

    def _compared(self, seat: Seat, first: str, second: str) -> tuple[str, str]:
        parts = (*self.parts, Part("FIRST ANSWER", first), Part("SECOND ANSWER", second))
        prompt = Prompt(SYSTEM, fence.fenced(parts), SCHEMA)
        return seat.put(prompt, lambda reply: parse.chosen(reply, "better", CHOICES))


def inquiry(
    answer: Answer, case: Case, *, against: Any = None, aspect: Any = None, threshold: float | None = None
) -> PairwiseInquiry:
    """Let a model compare the answer with another, in both orders: 1 for a win, 0.5 for a tie, 0 for a loss.

    against: the other answer. aspect: in what respect they are compared. threshold: 0.5 lets a
    tie pass, 1 does not.

    Raises ValueError.
    """
    if not isinstance(against, str) or not against.strip():
        raise ArgumentError("needs the other answer; write {pairwise: {against: 'text'}}")
    if aspect is not None and (not isinstance(aspect, str) or not aspect.strip()):
        raise ArgumentError(f"`aspect` must be text, not {aspect!r}")
    parts = [Part("QUESTION", fence.question(case))]
    if case.expected is not None:
        parts.append(Part("REFERENCE", fence.plain(case.expected)))
    if aspect is not None:
        parts.append(Part("ASPECT", aspect))
    return PairwiseInquiry(
        parts=tuple(parts),
        answer=answer.text,
        other=against,
        threshold=DEFAULT_THRESHOLD if threshold is None else threshold,
        version=version_of("pairwise", SYSTEM, SCHEMA),
    )
