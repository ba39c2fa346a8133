"""Entry: one case of a run with all that a person wants to see of it, wherever that is known from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import JsonValue

from pytest_recall.core.case import Case, JudgeCall
from pytest_recall.core.pairing import Pair
from pytest_recall.core.scorecard import NOT_RUN, LastPass, Result
from pytest_recall.core.trial import Outcome, Trial
from pytest_recall.core.worddiff import Piece, word_diff


class Written(NamedTuple):
    """A case as its file has it now; `edited` says that it is not the one that the run has asked.

    All of it is text; `reference` is empty where the case has none, and `criteria` are its judges with
    their arguments.
    """

    asked: str
    reference: str
    scenario: str
    dimension: str
    criteria: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    notes: str = ""
    edited: bool = False


def written(case: Case, fingerprint: str = "") -> Written:
    """Return a case as text; `fingerprint` is that of the trial, empty where it is not known."""
    return Written(
        asked=_asked(case),
        reference="" if case.expected is None else _text(case.expected),
        scenario=case.scenario,
        dimension=case.dimension,
        criteria=tuple(_criterion(call) for call in case.judges),
        tags=case.tags,
        notes=case.notes or "",
        edited=bool(fingerprint) and fingerprint != case.fingerprint,
    )


def _asked(case: Case) -> str:
    if case.turns is None:
        return _text(case.input)
    said = ((who, text) for turn in case.turns for who, text in (("user", turn.user), ("assistant", turn.assistant)))
    return "\n".join(f"{who}: {text}" for who, text in said if text is not None)


def _criterion(call: JudgeCall) -> str:
    if not call.arguments:
        return call.name
    given = call.arguments["expected"] if call.arguments.keys() == {"expected"} else call.arguments
    return f"{call.name}: {_text(given)}"


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Step(NamedTuple):
    """What a case came to in one run: its boxes before and after, None where it had none. `day` is ISO 8601.

    `scores` are those of the judges that give one, `note` says why it is what it is, `answer` None where there is none.
    """

    run: str
    day: str
    outcome: Outcome
    before: int | None
    after: int | None
    source: str = "live"
    scores: tuple[float, ...] = ()
    note: str = ""
    answer: str | None = None


class Upstream(NamedTuple):
    """A recorded call: `asked` and `answered` are its last message and the reply, empty where they are not text.

    `status` is the HTTP status, or how the call ended that had none.
    """

    kind: str
    address: str
    status: str
    seconds: float
    asked: str
    answered: str


class Taped(NamedTuple):
    """The calls of a cassette, with its file and the day of its recording; `problem` says why there are none."""

    path: str
    day: str = ""
    calls: tuple[Upstream, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One case of a run.

    `result` is None for a case that was chosen and not run. `written` is None where no case file has it, as of
    an ordinary test on the schedule. `steps` are its runs so far, oldest first, this one last. `pair` is there
    if two runs are compared and both have a verdict on the case.
    """

    case_id: str
    reason: str
    result: Result | None = None
    written: Written | None = None
    steps: tuple[Step, ...] = ()
    taped: Taped | None = None
    last_pass: LastPass | None = None
    pair: Pair | None = None

    @property
    def trial(self) -> Trial | None:
        """The trial that grades the case."""
        return None if self.result is None else self.result.trial

    @property
    def outcome(self) -> str:
        """How the case ended, in a word: an outcome, or that it was not run."""
        return NOT_RUN if self.result is None else self.result.trial.outcome.value

    @property
    def kind(self) -> str:
        """How the case ended, in the words of the headline: a failed one is a regression, a known failure and so on."""
        if self.result is None or self.result.trial.outcome is not Outcome.FAILED:
            return self.outcome
        return self.result.failure.value

    @property
    def regression(self) -> bool:
        """Whether it fails now, and its last verdict was a pass."""
        return self.result is not None and self.result.regression

    @property
    def scenario(self) -> str:
        """The scenario that it ran in, or that its file names; empty where neither is known."""
        return (self.trial and self.trial.scenario) or (self.written.scenario if self.written else "")

    @property
    def dimension(self) -> str:
        """The dimension, known as the scenario is."""
        return (self.trial and self.trial.dimension) or (self.written.dimension if self.written else "")

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of those who judged, each once."""
        verdicts = self.trial.verdicts if self.trial else ()
        return tuple(dict.fromkeys(verdict.judge for verdict in verdicts if verdict.judge))

    @property
    def source(self) -> str:
        """Where the answer came from; empty if there is none."""
        return self.trial.source if self.trial is not None and self.trial.answer is not None else ""

    @property
    def flip(self) -> str:
        """What has become of it since the first of two runs: `lost`, `gained`, `same`; empty where they do not tell."""
        if self.pair is None:
            return ""
        return {(True, False): "lost", (False, True): "gained"}.get(self.pair.passed, "same")

    def change(self) -> list[Piece]:
        """Return how the answer differs from that of the first of two runs; empty if it does not, or there is none."""
        if self.pair is None or self.pair.base.answer is None or self.trial is None or self.trial.answer is None:
            return []
        return word_diff(self.pair.base.answer.text, self.trial.answer.text)

    def difference(self) -> list[Piece]:
        """Return how the answer differs from that of the last pass, in a few words; empty if it does not."""
        if self.last_pass is None or self.trial is None or self.trial.answer is None:
            return []
        return word_diff(self.last_pass.answer, self.trial.answer.text)
