"""Word what may have broken a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_recall.files.wording import plural
from pytest_recall.results.regressions import Cause, CauseLabel, Facts
from pytest_recall.results.replay_text import change_text
from pytest_recall.schedule.suspects import named
from pytest_recall.trials.record import RequestChange

LABELS: Mapping[CauseLabel, str] = {
    CauseLabel.UPSTREAM: "upstream trouble",
    CauseLabel.CASE: "the case was edited",
    CauseLabel.JUDGE: "the judge changed",
    CauseLabel.MODEL: "the model changed",
    CauseLabel.PROMPT: "the prompt changed",
    CauseLabel.REQUEST: "the request changed",
    CauseLabel.CASSETTE: "a stale cassette",
    CauseLabel.COIN: "the case is flaky",
    CauseLabel.RETRIED: "upstream trouble, overcome",
    CauseLabel.CODE: "the agent's code",
    CauseLabel.AGENT: "the agent's code, or the model behind its name",
    CauseLabel.CHANGE: "a change that touched it",
    CauseLabel.PROVIDER: "the provider or the data",
    CauseLabel.OUTSIDE: "the provider, the data or chance",
    CauseLabel.UNKNOWN: "not known",
}
_PARTS = {"system": "system prompt", "tools": "tools", "settings": "settings", "dialogue": "messages around the input"}


def cause_line(cause: Cause) -> str:
    """Return a cause and what points to it."""
    return f"{LABELS[cause.label]}: {finding(cause)}"


def cause_words(cause: Cause | None) -> dict[str, Any] | None:
    """Return a cause in words for the page; None where none is known."""
    if cause is None or cause.label is CauseLabel.UNKNOWN:
        return None
    return {"label": LABELS[cause.label], "evidence": finding(cause), "also": [cause_line(one) for one in cause.also]}


def finding(cause: Cause) -> str:
    """Return what points to a cause."""
    return _FINDINGS[cause.label](cause.facts)


def _upstream(facts: Facts) -> str:
    troubles = ", ".join(f"{count} {end}" for end, count in facts["troubles"].items())
    return f"{troubles} of {plural(facts['calls'], 'call')}"


def _case(_: Facts) -> str:
    return "it is written otherwise than at its last pass"


def _judge(facts: Facts) -> str:
    if touched := facts.get("touched"):
        return f"its judge decides otherwise of the answer of its last pass, and {named(touched)} touched it"
    return "; ".join(
        [
            *(f"its judge `{name}` has other code in {path}" for name, path in facts.get("code", ())),
            *(["its models, its prompt or its criteria are others"] if facts.get("models") else []),
            *(["`thresholds` in the rubric hold its score to another bar"] if facts.get("threshold") else []),
        ]
    )


def _model(facts: Facts) -> str:
    now = ", ".join(facts["now"])
    if "tested" in facts:
        return f"last tested with {facts['tested']}, now with {now}"
    return f"{', '.join(facts['before'])} answered at the last pass, now {now}"


def _prompt(facts: Facts) -> str:
    changed, same = ([_PARTS[part] for part in facts[name]] for name in ("changed", "same"))
    return f"other {_listed(changed)} than at the last pass" + (f"; {_listed(same)} as before" if same else "")


def _request(facts: Facts) -> str:
    return change_text(RequestChange.from_json(facts["request"]))


def _cassette(facts: Facts) -> str:
    return f"the answer was recorded on {facts['recorded']}, and another one passed on {facts['passed']}"


def _coin(facts: Facts) -> str:
    return "; ".join(
        [
            *([f"{facts['passed']} of {facts['verdicts']} trials in this run passed"] if "passed" in facts else []),
            *([f"it fell from a higher box {facts['lapses']} times before"] if "lapses" in facts else []),
        ]
    )


def _retried(facts: Facts) -> str:
    return f"{_upstream(facts)}, each asked again and answered"


def _code(facts: Facts) -> str:
    if "replies" in facts:
        return "of the same recorded replies it made another answer when they were recorded"
    return "; ".join([*_touched(facts), *_same(facts["same"])])


def _change(facts: Facts) -> str:
    (touched,) = _touched(facts)
    return "; ".join([f"{touched}, or how it is judged", *_same(facts["same"])])


def _touched(facts: Facts) -> Iterator[str]:
    if touched := facts.get("touched"):
        yield f"{named(touched)} altered what it makes of replies, or asks after them"


def _same(parts: Sequence[str]) -> Iterable[str]:
    *rest, last = parts
    if last == "recording":
        return [f"{_as_before(rest)}, and so is the recording"]
    return [_as_before(parts)]


def _as_before(parts: Sequence[str]) -> str:
    return f"{_listed(parts)} {'is' if len(parts) == 1 else 'are'} as at the last pass"


def _failed(facts: Facts) -> str:
    return f"all {facts['failed']} trials failed" if facts["failed"] > 1 else "its trial failed"


def _unknown(facts: Facts) -> str:
    if "same" not in facts:
        return "nothing is known of its last pass to compare with"
    return f"{_as_before(facts['same'])}, and the answer is the one that was recorded"


_FINDINGS: Mapping[CauseLabel, Callable[[Facts], str]] = {
    CauseLabel.UPSTREAM: _upstream,
    CauseLabel.CASE: _case,
    CauseLabel.JUDGE: _judge,
    CauseLabel.MODEL: _model,
    CauseLabel.PROMPT: _prompt,
    CauseLabel.REQUEST: _request,
    CauseLabel.CASSETTE: _cassette,
    CauseLabel.COIN: _coin,
    CauseLabel.RETRIED: _retried,
    CauseLabel.CODE: _code,
    CauseLabel.AGENT: _code,
    CauseLabel.CHANGE: _change,
    CauseLabel.PROVIDER: _failed,
    CauseLabel.OUTSIDE: _failed,
    CauseLabel.UNKNOWN: _unknown,
}


def _listed(names: Sequence[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
