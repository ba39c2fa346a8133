"""Find the likely cause of a regression, and how its answer differs from the last pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from pytest_recall.models.reply_names import is_asked_for
from pytest_recall.schedule.suspects import named
from pytest_recall.trials.conditions import MOST as KEPT_VALUES
from pytest_recall.trials.conditions import Conditions
from pytest_recall.trials.trial import Outcome, Row, Trial

LAPSES = 2
"""Falls from a higher box from which on a case counts as flaky."""
_PARTS = {"system": "system prompt", "tools": "tools", "settings": "settings", "dialogue": "messages around the input"}


class CauseLabel(StrEnum):
    """What may have broken a case, as `scorecard.json` and JUnit files have it."""

    UPSTREAM = "upstream trouble"
    CASE = "the case was edited"
    JUDGE = "the judge changed"
    MODEL = "the model changed"
    PROMPT = "the prompt changed"
    REQUEST = "the request changed"
    CASSETTE = "a stale cassette"
    COIN = "the case flips a coin"
    RETRIED = "upstream trouble, overcome"
    CODE = "the agent's code"
    AGENT = "the agent's code, or the model behind its name"
    CHANGE = "a change that touched it"
    PROVIDER = "the provider or the data"
    OUTSIDE = "the provider, the data or chance"
    UNKNOWN = "not known"

    @property
    def shown(self) -> str:
        """What messages and pages call it; files have the value, which stays as it was published."""
        return "the case is flaky" if self is CauseLabel.COIN else self.value


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


class Cause(NamedTuple):
    """The likely cause of a regression, and the finding that points to it; `also` is what else is not as it was."""

    label: CauseLabel
    finding: str
    also: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the same as plain JSON types."""
        return {"label": self.label.value, "evidence": self.finding, "also": list(self.also)}


class _Facts(NamedTuple):
    trial: Trial
    row: Row
    outcomes: tuple[Outcome, ...]
    was: Conditions
    now: Conditions
    judge_code: Sequence[tuple[str, str]] = ()
    difference: str = ""


def cause(
    trial: Trial,
    row: Row,
    outcomes: Sequence[Outcome] = (),
    judge_code: Sequence[tuple[str, str]] = (),
    difference: str = "",
) -> Cause:
    """Return what broke a case whose last verdict was a pass, as the state's `row` has it.

    `outcomes` are those of all trials of the case in this run, and `judge_code` are its judges whose code the change
    alters, each with its file. `difference` is what a replay found to be the first that it does not send as recorded.
    The findings stand in the order of their certainty: an answer that never came is not an
    answer of the agent's, then comes what people changed and can name, then what speaks for chance. If nothing does,
    nothing that is known has changed.
    """
    was, now = Conditions.parse(row.passed_under), Conditions.parse(trial.under)
    facts = _Facts(trial, row, tuple(outcomes), was, now, judge_code, difference)
    found = [(label, finding) for label, look in _LOOKS if (finding := look(facts))]
    if not found:
        return _nothing_found(facts)
    (label, finding), *rest = found
    return Cause(label, finding, tuple(f"{other}: {told}" for other, told in rest))


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
        told = f"its judge decides otherwise of the answer of its last pass, and {named(touched)} touched it"
        return Cause(CauseLabel.JUDGE, told, found.also)
    if found.label is CauseLabel.AGENT and touched:
        # What is asked before the first reply is as it was. A judge of one's own may have asked something else.
        judged = any(call.kind == "judge" for call in trial.calls)
        told = f"{named(touched)} altered what it makes of replies, or asks after them"
        label = CauseLabel.CHANGE if judged else CauseLabel.CODE
        return Cause(label, f"{told}{', or how it is judged' if judged else ''}; {found.finding}", found.also)
    if found.label in (CauseLabel.AGENT, CauseLabel.UNKNOWN) and not touched:
        label = CauseLabel.PROVIDER if failed >= TRIES else CauseLabel.OUTSIDE
        return Cause(label, f"all {failed} trials failed" if failed > 1 else "its trial failed", found.also)
    return found


def _upstream(facts: _Facts) -> str:
    ends = [call.trouble for call in facts.trial.calls if call.kind != "judge" and call.trouble and not call.retried]
    news = [end for end in ends if end not in facts.was.trouble]
    return f"{_counted(news)} of {_calls(facts)}" if news else ""


def _case(facts: _Facts) -> str:
    return "it is written otherwise than at its last pass" if _differs(facts.was.case, facts.now.case) else ""


def _judge(facts: _Facts) -> str:
    told = [f"its judge `{name}` has other code in {path}" for name, path in facts.judge_code]
    if _differs(facts.was.judge, facts.now.judge):
        told.append("its models, its prompt or its criteria are others")
    # A threshold that is put there or taken away is a change as well, where the last pass is known at all.
    if facts.was.case and facts.now.case and facts.was.threshold != facts.now.threshold:
        told.append("`thresholds` in the rubric hold its score to another bar")
    return "; ".join(told)


def _model(facts: _Facts) -> str:
    if _differs(facts.was.model, facts.now.model):
        return f"{', '.join(facts.was.model)} answered at the last pass, now {', '.join(facts.now.model)}"
    before, now = facts.row.last_model, facts.trial.model
    # The row of an earlier version has the name that was asked for, which any version of the model answers to.
    if facts.was.model or before is None or now is None or is_asked_for(before, now):
        return ""
    return f"last tested with {before}, now with {now}"


def _prompt(facts: _Facts) -> str:
    sides = {told: (getattr(facts.was, name), getattr(facts.now, name)) for name, told in _PARTS.items()}
    known = facts.was.dialogue and facts.now.dialogue
    changed = [told for told, (before, now) in sides.items() if known and _has_new(before, now)]
    same = [told for told, (before, now) in sides.items() if before and now and told not in changed]
    if not changed:
        return ""
    rest = f"; {_listed(same)} as before" if same else ""
    return f"other {_listed(changed)} than at the last pass{rest}"


def _request(facts: _Facts) -> str:
    # Another model or prompt is another request, and says more of it.
    return "" if _model(facts) or _prompt(facts) else facts.difference


def _code(facts: _Facts) -> str:
    other = facts.now.retold == ("other",) and facts.trial.source == "replayed"
    return "of the same recorded replies it made another answer when they were recorded" if other else ""


def _cassette(facts: _Facts) -> str:
    taped = facts.now.taped[0] if facts.now.taped else ""
    passed = facts.row.last_tested.isoformat()
    if not taped or not any(facts.was) or taped >= passed or facts.was.taped == facts.now.taped:
        return ""
    return f"the answer was recorded on {taped}, and another one passed on {passed}"


def _coin(facts: _Facts) -> str:
    told = []
    passed, verdicts = facts.outcomes.count(Outcome.PASSED), sum(outcome.is_verdict for outcome in facts.outcomes)
    if passed:
        told.append(f"{passed} of {verdicts} trials in this run passed")
    if facts.row.lapses >= LAPSES:
        told.append(f"it fell from a higher box {facts.row.lapses} times before")
    return "; ".join(told)


def _retried(facts: _Facts) -> str:
    ends = [call.trouble for call in facts.trial.calls if call.kind != "judge" and call.retried]
    return f"{_counted(ends)} of {_calls(facts)}, each asked again and answered" if ends else ""


_LOOKS: tuple[tuple[CauseLabel, Callable[[_Facts], str]], ...] = (
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
    asked = {"case": "case", "system": "prompt", "dialogue": "prompt", "model": "model", "judge": "judge"}
    same = [told for name, told in asked.items() if getattr(facts.was, name) and getattr(facts.now, name)]
    same = list(dict.fromkeys(same))
    if not same:
        return Cause(CauseLabel.UNKNOWN, "nothing is known of its last pass to compare with")
    finding = f"{_listed(same)} {'is' if len(same) == 1 else 'are'} as at the last pass"
    if facts.trial.source == "replayed" and facts.now.retold == ("same",):
        return Cause(CauseLabel.UNKNOWN, f"{finding}, and the answer is the one that was recorded")
    if facts.trial.source == "replayed" and facts.now.taped and facts.now.taped == facts.was.taped:
        return Cause(CauseLabel.CODE, f"{finding}, and so is the recording")
    return Cause(CauseLabel.AGENT, finding)


def _calls(facts: _Facts) -> str:
    count = sum(call.kind != "judge" for call in facts.trial.calls)
    return f"{count} call{'' if count == 1 else 's'}"


def _counted(ends: Sequence[str]) -> str:
    return ", ".join(f"{ends.count(end)} {end}" for end in dict.fromkeys(ends))


def _listed(names: Sequence[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


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
