"""Trial: what one run of one case came to; Answer and Verdict, of which it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, NamedTuple

from pytest_recall.core.call import Call
from pytest_recall.core.judgement import Judgement
from pytest_recall.core.plain import typed, values_of
from pytest_recall.core.row import Row


class Outcome(StrEnum):
    """How a trial ended. Only the first two are verdicts; the others move no box."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"

    @property
    def is_verdict(self) -> bool:
        """Whether a judge decided, so that the schedule may learn from it."""
        return self in (Outcome.PASSED, Outcome.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of text that the agent retrieved. `score` is the retriever's own."""

    text: str
    source: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the agent answered: text, retrieved passages in rank order, usage by kind.

    `usage` holds counts as the agent reports them (`input_tokens`, …); absent is unknown.
    """

    text: str
    passages: tuple[Passage, ...] = ()
    usage: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one judge decided. `score` lies in 0..1, or is None for a judge that gives none.

    A judge that only scores leaves `passed` None; the threshold then decides. Of a judge that
    asks a model, `model` is the selector of the one whose word stands, `version` tells its
    prompts apart, and `judgement` has the votes.
    """

    passed: bool | None
    score: float | None = None
    reason: str = ""
    judge: str = ""
    model: str = ""
    version: str = ""
    judgement: Judgement | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; empty and unknown fields are left out."""
        plain = _present(self, _VERDICT)
        return plain if self.judgement is None else plain | {"judgement": self.judgement.to_json()}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Verdict:
        """Return the verdict that `to_json` gave; fields of a later version are passed over."""
        judgement = plain.get("judgement")
        return cls(
            **{"passed": None, **typed(cls, plain)},
            judgement=None if judgement is None else Judgement.from_json(judgement),
        )


class Trial(NamedTuple):
    """One run of one case.

    `reason` says why the case was run ("due", "new", …); `row` is the state that the run
    started from; `seconds` is the agent's own time; `error` explains an outcome that is
    no verdict; `source` says where the answer came from (`live`, `replayed`, `mixed`), and
    `calls` which upstream calls it took. `evidence` is False for a verdict on a replayed
    answer: it is no news of the model, and moves no box. `repeat` counts the trials of a
    series from 1, and `rule` says how they come to one verdict; without a series it is empty.
    `unproven` says why the outcome counts for nothing: a judge falls short of the kappa that the
    rubric asks for; its fail blocks nobody. `arm` is the baseline that was asked, empty for the agent
    under test; the trial of a baseline grades no case. `measured` are the metrics of a dataset's question,
    None for any other case and where nobody can judge the answer; a value that is None is a failure. `under` is
    what a verdict was given under, as `core.conditions` writes it.
    """

    case_id: str
    outcome: Outcome
    reason: str = ""
    scenario: str = ""
    dimension: str = ""
    verdicts: tuple[Verdict, ...] = ()
    answer: Answer | None = None
    error: str = ""
    seconds: float | None = None
    attempt: int = 1
    source: str = "live"
    fingerprint: str = ""
    where: str = ""
    pr: str | None = None
    model: str | None = None
    row: Row | None = None
    calls: tuple[Call, ...] = ()
    evidence: bool = True
    repeat: int = 1
    rule: str = ""
    unproven: str = ""
    arm: str = ""
    measured: Mapping[str, float | None] | None = None
    under: str = ""

    @property
    def note(self) -> str:
        """What went wrong, in words: the failing judges' reasons, or the error."""
        failing = [f"{v.judge}: {v.reason}" if v.judge else v.reason for v in self.verdicts if not v.passed]
        return "; ".join(failing) or self.error

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; empty and unknown fields are left out."""
        plain: dict[str, Any] = {}
        for name in _PLAIN:
            value = getattr(self, name)
            if value not in (None, ""):
                plain[name] = value
        if self.repeat != 1:
            plain["repeat"] = self.repeat
        plain["outcome"] = self.outcome.value
        if self.verdicts:
            plain["verdicts"] = [verdict.to_json() for verdict in self.verdicts]
        if self.answer is not None:
            answer: dict[str, Any] = {"text": self.answer.text}
            if self.answer.passages:
                answer["passages"] = [{"text": p.text} | _present(p, _PASSAGE) for p in self.answer.passages]
            if self.answer.usage:
                answer["usage"] = dict(self.answer.usage)
            plain["answer"] = answer
        if self.row is not None:
            plain["row"] = self.row.to_json()
        if self.calls:
            plain["calls"] = [call.to_json() for call in self.calls]
        if not self.evidence:
            plain["evidence"] = False
        if self.measured is not None:
            plain["measured"] = dict(self.measured)
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Trial:
        """Return the trial that `to_json` gave; fields of a later version are passed over.

        Raises KeyError, TypeError or ValueError for what no version has written.
        """
        answer = plain.get("answer")
        return cls(
            **typed(cls, plain),
            outcome=Outcome(plain["outcome"]),
            verdicts=tuple(map(Verdict.from_json, plain.get("verdicts", ()))),
            answer=None
            if answer is None
            else Answer(
                text=typed(Answer, answer)["text"],
                passages=tuple(Passage(**typed(Passage, p)) for p in answer.get("passages", ())),
                usage=dict(answer.get("usage", {})),
            ),
            row=Row.from_json(plain["row"]) if "row" in plain else None,
            calls=tuple(Call.from_json(call) for call in plain.get("calls", ())),
            measured=None if "measured" not in plain else values_of(plain["measured"]),
        )

    def at(self, row: Row | None, attempt: int, **facts: Any) -> Trial:
        """Return the trial with what only the controller knows: its row, and further `facts` by field."""
        return self._replace(row=row, attempt=attempt, **facts)


_STRUCTURED = frozenset({"outcome", "verdicts", "answer", "row", "calls", "evidence", "repeat", "measured"})
_PLAIN = tuple(name for name in Trial._fields if name not in _STRUCTURED)
_VERDICT = tuple(f.name for f in fields(Verdict) if f.name != "judgement")
_PASSAGE = tuple(f.name for f in fields(Passage))


def _present(value: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {n: v for n in names if (v := getattr(value, n)) not in (None, "")}
