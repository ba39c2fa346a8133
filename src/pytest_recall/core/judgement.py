"""Judgement: what models said about one answer, before it became a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from pytest_recall.core.plain import typed

Cause = Literal["failed", "disagreement", "audit"]
"""Why the appellate judge was asked: the primary failed, its votes differed, or it is a check of a pass."""


class Vote(NamedTuple):
    """What one judge said once. `passed` is None where it came to nothing; `error` then says why.

    `model` is the selector, `replied` the model's name as the provider says it; `scores` are by
    criterion, on its own scale; `score` lies in 0..1; `retried` counts replies that could not be
    used; `flips` is 1 if a comparison followed the position; `ignored` names settings without effect.
    """

    model: str = ""
    passed: bool | None = None
    score: float | None = None
    reason: str = ""
    scores: Mapping[str, int] = {}
    replied: str | None = None
    retried: int = 0
    flips: int = 0
    ignored: tuple[str, ...] = ()
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; empty and unknown fields are left out."""
        plain = {name: value for name, value in self._asdict().items() if value not in (None, "", 0, {}, ())}
        return plain | {name: value for name in ("passed", "score") if (value := getattr(self, name)) is not None}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Vote:
        """Return the vote that `to_json` gave; raises TypeError for what no version has written."""
        scores = plain.get("scores", {})
        if not isinstance(scores, Mapping) or not all(type(score) is int for score in scores.values()):
            raise TypeError(f"scores: {scores!r} are no scores")
        return cls(**typed(cls, plain), scores=dict(scores))


class Preflight(NamedTuple):
    """How a judge did on answers whose verdict is known: `wrong` ones include those without a judgement."""

    asked: int
    wrong: int
    allowed: int


class Judgement(NamedTuple):
    """The votes of the primary judges, and the appellate's if it was asked, for the reason `cause`.

    An appeal that came to nothing is a vote with an `error`. `preflights` are those made
    just before, by model.
    """

    votes: tuple[Vote, ...] = ()
    appeal: Vote | None = None
    cause: str = ""
    preflights: Mapping[str, Preflight] = {}

    @property
    def overturned(self) -> bool:
        """Whether the appellate judge decided otherwise than the primary ones."""
        return self.appeal is not None and self.appeal.passed is (not majority(self.votes))

    @property
    def split(self) -> bool:
        """Whether the primary votes differed."""
        return len({vote.passed for vote in self.votes if vote.passed is not None}) > 1

    @property
    def every(self) -> tuple[Vote, ...]:
        """All votes, the appellate's last."""
        return self.votes if self.appeal is None else (*self.votes, self.appeal)

    def clean(self, text: Callable[[str], str]) -> Judgement:
        """Return the judgement with what judges wrote put through `text`."""

        def cleaned(vote: Vote) -> Vote:
            return vote._replace(reason=text(vote.reason), error=text(vote.error))

        return self._replace(
            votes=tuple(map(cleaned, self.votes)), appeal=None if self.appeal is None else cleaned(self.appeal)
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        plain: dict[str, Any] = {"votes": [vote.to_json() for vote in self.votes]}
        if self.appeal is not None:
            plain |= {"appeal": self.appeal.to_json(), "cause": self.cause}
        if self.preflights:
            plain["preflights"] = {model: list(preflight) for model, preflight in self.preflights.items()}
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Judgement:
        """Return the judgement that `to_json` gave; raises TypeError or ValueError."""
        appeal = plain.get("appeal")
        return cls(
            **typed(cls, plain),
            votes=tuple(map(Vote.from_json, plain.get("votes", ()))),
            appeal=None if appeal is None else Vote.from_json(appeal),
            preflights={
                str(model): Preflight(*(int(count) for count in counts[:3]))
                for model, counts in plain.get("preflights", {}).items()
            },
        )


def majority(votes: Iterable[Vote]) -> bool | None:
    """Return whether more than half of the seats passed it, or None if the missing votes could still decide.

    A tie is a fail: a pass has to be earned.
    """
    seats = list(votes)
    passes = sum(vote.passed is True for vote in seats)
    missing = sum(vote.passed is None for vote in seats)
    if 2 * passes > len(seats):
        return True
    return None if 2 * (passes + missing) > len(seats) else False


def middle(votes: Iterable[Vote]) -> float | None:
    """Return the median of the scores; None if there are none."""
    from statistics import median  # most runs have no votes, and it brings decimal and fractions

    scores = [vote.score for vote in votes if vote.score is not None]
    return float(median(scores)) if scores else None
