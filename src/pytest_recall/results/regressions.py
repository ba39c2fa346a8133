"""Find the likely cause of a regression, and how its answer differs from the last pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pytest_recall.models.reply_names import is_asked_for
from pytest_recall.trials.conditions import MOST as KEPT_VALUES
from pytest_recall.trials.conditions import Conditions
from pytest_recall.trials.record import RequestChange
from pytest_recall.trials.trial import Outcome, Row, Trial

LAPSES = 2
"""Falls from a higher box from which on a case counts as flaky."""
PARTS = ("system", "tools", "settings", "dialogue")
"""What is sent to a model beside the input of a case, as `trials.conditions` has it."""


class CauseLabel(StrEnum):
    """What may have broken a case, in the order of certainty; each with the facts that point to it."""

    UPSTREAM = "upstream"
    """The provider gave no sound answer: `troubles`, how many calls ended with each, of so many `calls`."""
    CASE = "case"
    """The case is written otherwise than at its last pass."""
    JUDGE = "judge"
    """It is judged otherwise: the judges whose `code` is altered, each with its file; whether its `models`, its prompt
    or its criteria are others; whether the `threshold` is another one; or, of the answer of its last pass, the changes
    that `touched` it."""
    MODEL = "model"
    """Other models answered `now` than `before`, at the last pass or, where that is not known, when it was last
    `tested`."""
    PROMPT = "prompt"
    """Some parts of what is sent are `changed`, and others the `same`."""
    REQUEST = "request"
    """Another `request` than the recorded one, as `RequestChange` has it."""
    CASSETTE = "cassette"
    """The answer was `recorded` on a day before the case last `passed`, on another answer."""
    COIN = "chance"
    """Of so many `verdicts` of this run some `passed`; the case fell from a higher box so many times (`lapses`)."""
    RETRIED = "retried"
    """As `upstream`, but each of these calls was made again and answered."""
    CODE = "code"
    """The agent makes another answer of the same replies, or asks something else after them: what is as at the last
    pass (`same`), the changes that `touched` the case; `replies` where the recorded ones show it."""
    AGENT = "code-or-model"
    """What is asked first is the `same` as at the last pass."""
    CHANGE = "change"
    """The changes that `touched` the case altered what it makes of replies, asks after them, or how it is judged."""
    PROVIDER = "provider"
    """No change has touched the case, and all of so many trials `failed`: no chance."""
    OUTSIDE = "outside"
    """No change has touched the case; so many of its trials `failed`, all of them."""
    UNKNOWN = "unknown"
    """What is known to be the `same` as at the last pass, and whether the answer is the recorded one."""


TRIES = 3
"""Trials that have all to fail before chance is left out: a case that passes half of its trials does so in one of 8."""
BY_PEOPLE = frozenset(
    {
        CauseLabel.CASE,
        CauseLabel.JUDGE,
        CauseLabel.MODEL,
        CauseLabel.PROMPT,
        CauseLabel.REQUEST,
        CauseLabel.CODE,
        CauseLabel.CASSETTE,
    }
)
"""Causes that are changes of people: where one is found, neither the provider nor chance is to blame."""


Facts = Mapping[str, Any]
"""What points to a cause, as plain JSON types by the names that `CauseLabel` has."""


class Cause(NamedTuple):
    """The likely cause of a regression."""

    label: CauseLabel
    facts: Facts = MappingProxyType({})
    also: tuple[Cause, ...] = ()
    """What else is not as it was."""

    def to_json(self) -> dict[str, Any]:
        """Return the same as plain JSON types."""
        also = [{"label": one.label.value, "facts": dict(one.facts)} for one in self.also]
        return {"label": self.label.value, "facts": dict(self.facts), "also": also}


class _Facts(NamedTuple):
    trial: Trial
    row: Row
    outcomes: tuple[Outcome, ...]
    was: Conditions
    now: Conditions
    judge_code: Sequence[tuple[str, str]] = ()
    request: RequestChange | None = None


def cause(
    trial: Trial,
    row: Row,
    outcomes: Sequence[Outcome] = (),
    judge_code: Sequence[tuple[str, str]] = (),
    request: RequestChange | None = None,
) -> Cause:
    """Return what broke a case whose last verdict was a pass, as the state's `row` has it.

    `outcomes` are those of all trials of the case in this run, and `judge_code` are its judges whose code the change
    alters, each with its file. `request` is the first that a replay did not find to be as recorded.
    The findings stand in the order of their certainty: an answer that never came is not an
    answer of the agent's, then comes what people changed and can name, then what speaks for chance. If nothing does,
    nothing that is known has changed.
    """
    was, now = Conditions.parse(row.passed_under), Conditions.parse(trial.under)
    facts = _Facts(trial, row, tuple(outcomes), was, now, judge_code, request)
    causes = [Cause(label, one) for label, look in _LOOKS if (one := look(facts)) is not None]
    if not causes:
        return _nothing_found(facts)
    first, *others = causes
    return first._replace(also=tuple(others))


def narrowed(found: Cause, trial: Trial, touched: Sequence[str], failed: int, last_answer: str | None = None) -> Cause:
    """Return a cause with what is known of the changes since the last pass, where the conditions left it open.

    `touched` are the changes that altered what the case asks, how it is judged, or what it makes of equal replies: none
    shows that its code is not to blame. `failed` counts its trials in this run, all of which failed; where one passed,
    chance has been found before. `last_answer` is that of its last pass, where it is known.
    """
    # Passages are shown to judges as well, and nobody knows those of the last pass.
    answer = None if trial.answer is None or trial.answer.passages else trial.answer.text
    open_ = (CauseLabel.AGENT, CauseLabel.CODE, CauseLabel.UNKNOWN)
    if found.label in open_ and touched and answer is not None and answer == last_answer:
        return Cause(CauseLabel.JUDGE, {"touched": list(touched)}, found.also)
    if found.label is CauseLabel.AGENT and touched:
        # What is asked before the first reply is as it was. A judge of one's own may have asked something else.
        judged = any(call.kind == "judge" for call in trial.calls)
        label = CauseLabel.CHANGE if judged else CauseLabel.CODE
        return Cause(label, {**found.facts, "touched": list(touched)}, found.also)
    if found.label in (CauseLabel.AGENT, CauseLabel.UNKNOWN) and not touched:
        label = CauseLabel.PROVIDER if failed >= TRIES else CauseLabel.OUTSIDE
        return Cause(label, {"failed": failed}, found.also)
    return found


def _upstream(facts: _Facts) -> Facts | None:
    ends = [call.trouble for call in facts.trial.calls if call.kind != "judge" and call.trouble and not call.retried]
    news = [end for end in ends if end not in facts.was.trouble]
    return _troubles(facts, news)


def _case(facts: _Facts) -> Facts | None:
    return {} if _differs(facts.was.case, facts.now.case) else None


def _judge(facts: _Facts) -> Facts | None:
    found: dict[str, Any] = {}
    if facts.judge_code:
        found["code"] = [list(one) for one in facts.judge_code]
    if _differs(facts.was.judge, facts.now.judge):
        found["models"] = True
    # A threshold that is put there or taken away is a change as well, where the last pass is known at all.
    if facts.was.case and facts.now.case and facts.was.threshold != facts.now.threshold:
        found["threshold"] = True
    return found or None


def _model(facts: _Facts) -> Facts | None:
    if _differs(facts.was.model, facts.now.model):
        return {"before": list(facts.was.model), "now": list(facts.now.model)}
    before, now = facts.row.last_model, facts.trial.model
    # The row of an earlier version has the name that was asked for, which any version of the model answers to.
    if facts.was.model or before is None or now is None or is_asked_for(before, now):
        return None
    return {"tested": before, "now": [now]}


def _prompt(facts: _Facts) -> Facts | None:
    sides = {name: (getattr(facts.was, name), getattr(facts.now, name)) for name in PARTS}
    known = facts.was.dialogue and facts.now.dialogue
    changed = [name for name, (before, now) in sides.items() if known and _has_new(before, now)]
    same = [name for name, (before, now) in sides.items() if before and now and name not in changed]
    return {"changed": changed, "same": same} if changed else None


def _request(facts: _Facts) -> Facts | None:
    # Another model or prompt is another request, and says more of it.
    if facts.request is None or _model(facts) is not None or _prompt(facts) is not None:
        return None
    return {"request": facts.request.to_json()}


def _code(facts: _Facts) -> Facts | None:
    other = facts.now.retold == ("other",) and facts.trial.source == "replayed"
    return {"replies": "recorded"} if other else None


def _cassette(facts: _Facts) -> Facts | None:
    taped = facts.now.taped[0] if facts.now.taped else ""
    passed = facts.row.last_tested.isoformat()
    if not taped or not any(facts.was) or taped >= passed or facts.was.taped == facts.now.taped:
        return None
    return {"recorded": taped, "passed": passed}


def _coin(facts: _Facts) -> Facts | None:
    found: dict[str, Any] = {}
    if passed := facts.outcomes.count(Outcome.PASSED):
        found |= {"passed": passed, "verdicts": sum(outcome.is_verdict for outcome in facts.outcomes)}
    if facts.row.lapses >= LAPSES:
        found["lapses"] = facts.row.lapses
    return found or None


def _retried(facts: _Facts) -> Facts | None:
    return _troubles(facts, [call.trouble for call in facts.trial.calls if call.kind != "judge" and call.retried])


def _troubles(facts: _Facts, ends: Sequence[str]) -> Facts | None:
    if not ends:
        return None
    return {"troubles": dict(Counter(ends)), "calls": sum(call.kind != "judge" for call in facts.trial.calls)}


_LOOKS: tuple[tuple[CauseLabel, Callable[[_Facts], Facts | None]], ...] = (
    (CauseLabel.UPSTREAM, _upstream),
    (CauseLabel.CASE, _case),
    (CauseLabel.JUDGE, _judge),
    (CauseLabel.MODEL, _model),
    (CauseLabel.PROMPT, _prompt),
    (CauseLabel.REQUEST, _request),
    (CauseLabel.CODE, _code),
    (CauseLabel.CASSETTE, _cassette),
    (CauseLabel.COIN, _coin),
    (CauseLabel.RETRIED, _retried),
)


def _differs(before: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """Whether both are known, and there is something new."""
    return bool(before and now and _has_new(before, now))


def _has_new(before: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """Whether there is something new. What is missing may be a call that was not made this time.

    Of as many values as are kept there may have been more, so that one which is not among them need not be new.
    """
    return len(before) < KEPT_VALUES and not set(now) <= set(before)


def _nothing_found(facts: _Facts) -> Cause:
    parts = {"case": "case", "system": "prompt", "dialogue": "prompt", "model": "model", "judge": "judge"}
    same = [part for name, part in parts.items() if getattr(facts.was, name) and getattr(facts.now, name)]
    same = list(dict.fromkeys(same))
    if not same:
        return Cause(CauseLabel.UNKNOWN)
    if facts.trial.source == "replayed" and facts.now.retold == ("same",):
        return Cause(CauseLabel.UNKNOWN, {"same": same, "answer": "recorded"})
    if facts.trial.source == "replayed" and facts.now.taped and facts.now.taped == facts.was.taped:
        return Cause(CauseLabel.CODE, {"same": [*same, "recording"]})
    return Cause(CauseLabel.AGENT, {"same": same})


DiffKind = Literal["same", "gone", "new"]
MOST = 400
"""Words of each answer that are compared: comparing takes time with the square of them."""
AROUND = 4
"""Words that stay on each side of a change."""


class DiffPiece(NamedTuple):
    """Some words that both answers have, or only the one before (`gone`) or after (`new`)."""

    kind: DiffKind
    text: str


def word_diff(before: str, after: str, limit: int = 40) -> list[DiffPiece]:
    """Return how `after` differs from `before`, in at most about `limit` words; empty if it does not.

    What both have is shortened to the words next to a change, with `…` for the rest.
    """
    old, new = before.split()[:MOST], after.split()[:MOST]
    if old == new:
        return []
    pieces: list[DiffPiece] = []
    opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for place, (tag, i, j, k, m) in enumerate(opcodes):
        if tag == "equal":
            first, last = place == 0, place == len(opcodes) - 1
            pieces.append(DiffPiece("same", _shortened(old[i:j], first=first, last=last)))
            continue
        if j > i:
            pieces.append(DiffPiece("gone", _cut(old[i:j], limit)))
        if m > k:
            pieces.append(DiffPiece("new", _cut(new[k:m], limit)))
    return list(_first(pieces, limit))


def _shortened(words: list[str], *, first: bool, last: bool) -> str:
    if first:
        return " ".join(words if len(words) <= AROUND else ["…", *words[-AROUND:]])
    if last:
        return " ".join(words if len(words) <= AROUND else [*words[:AROUND], "…"])
    return " ".join(words if len(words) <= 2 * AROUND + 1 else [*words[:AROUND], "…", *words[-AROUND:]])


def _cut(words: list[str], limit: int) -> str:
    return " ".join(words if len(words) <= limit // 2 else [*words[: limit // 2], "…"])


def _first(pieces: Iterable[DiffPiece], limit: int) -> Iterable[DiffPiece]:
    count = 0
    for piece in pieces:
        if count >= limit:
            yield DiffPiece("same", "…")
            return
        yield piece
        count += piece.text.count(" ") + 1
