"""Digest what a verdict depended on (case, judge, model, prompt) for a row."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_recall.replay.encodings import json_of, plain_body
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.matching import Rules, canonical
from pytest_recall.trials.trial import Outcome

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings
    from pytest_recall.replay.exchange import Call
    from pytest_recall.trials.execution import Result
    from pytest_recall.trials.trial import Answer

MOST = 4
"""Values that are kept of one condition: an agent with more prompts or models than that is known by the first."""
KEPT = 4_000
"""Characters of an answer in the header of a cassette."""
DIGITS = 6
"""Hex digits of a digest. Two values that differ are taken for one another once in 16 million."""

_ITEM = re.compile(r"([a-z]+)=([\w.@/:~-]+(?:\+[\w.@/:~-]+)*)")
_NAME = re.compile(r"[\w.@/:-]{1,60}")
_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")
_TOOLS = ("tools", "functions", "toolConfig", "tool_config")
_DIALOGUE = ("messages", "contents", "input", "prompt")
_RULING = ("system", "developer")
# What is a part of its own, what names the caller, the model or the turn, and what is drawn again each time.
_NO_SETTING = frozenset(
    {
        *(*_SYSTEM, *_TOOLS, *_DIALOGUE),
        *("user", "safety_identifier", "prompt_cache_key", "metadata", "model"),
        *("stream", "stream_options", "streamOptions", "seed", "store", "previous_response_id", "conversation"),
    }
)
# A prompt that says what day it is does not change with each day.
_PASSING = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\b\d\d:\d\d(?::\d\d)?\b"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    re.IGNORECASE,
)


class Conditions(NamedTuple):
    """What a verdict was given under; what is not known is empty.

    What is not said to be something else is a digest.
    """

    case: tuple[str, ...] = ()
    """The case as it was written."""
    system: tuple[str, ...] = ()
    """What its agent sent to models, without the case's own words; the three fields below have other parts of that."""
    tools: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    dialogue: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    """Who answered."""
    judge: tuple[str, ...] = ()
    """The judging models and their prompts."""
    threshold: tuple[str, ...] = ()
    """What the rubric holds scores to."""
    trouble: tuple[str, ...] = ()
    """How calls ended badly."""
    taped: tuple[str, ...] = ()
    """The day on which a replayed answer was recorded."""
    retold: tuple[str, ...] = ()
    """Whether the agent made the `same` answer of it then, or an`other`."""

    def __str__(self) -> str:
        return " ".join(
            [f"{name}={'+'.join(values)}" for name, values in zip(self._fields, self, strict=True) if values]
        )

    @classmethod
    def parse(cls, text: str | None) -> Conditions:
        """Return the conditions that `str` gave; what is none of them, or of a later version, is passed over."""
        found = (_ITEM.fullmatch(item) for item in (text or "").split())
        return cls(**{match[1]: tuple(match[2].split("+")) for match in found if match and match[1] in cls._fields})


class Prompts(NamedTuple):
    """What an agent sent to models in one trial, as digests by part, each value once."""

    system: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    dialogue: tuple[str, ...] = ()


class RecordedAnswer(NamedTuple):
    """When a replayed cassette was recorded, and the answer of the agent then."""

    day: str
    """In ISO 8601."""
    answer: str | None = None
    """None if unknown."""
    passed: bool = False
    digest: str = ""
    """That of the whole answer, as `digest_of` gives it; empty where the recording does not say."""


def taped_of(header: Mapping[str, Any]) -> RecordedAnswer:
    """Return what the header of a cassette says of its recording."""
    answer = header.get("answer")
    passed = header.get("outcome") == Outcome.PASSED.value
    known = answer if isinstance(answer, str) else None
    return RecordedAnswer(str(header.get("recorded_at", ""))[:10], known, passed, str(header.get("digest", "")))


def kept_answer(text: str) -> str:
    """Return as much of an answer as the header of a cassette keeps, to compare with or to show."""
    return text[:KEPT]


def digest_of(answer: Answer) -> str:
    """Return a digest of what judges are shown of an answer: all of its text, and its passages in their order."""
    passages = [[passage.text, passage.source] for passage in answer.passages]  # Scores differ by machine.
    return hashlib.sha256(canonical([answer.text, passages]).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def conditions(
    result: Result,
    calls: Iterable[Call],
    prompts: Prompts,
    rubric: Settings,
    own: Iterable[str],
    *,
    fingerprint: str = "",
    taped: RecordedAnswer | None = None,
) -> Conditions:
    """Return what the verdicts of `result` were given under.

    `own` are the judges whose threshold the case with this `fingerprint` itself names; `taped` is what is known of
    the recording that was replayed.
    """
    answer = None if result.answer is None else kept_answer(result.answer.text)
    compared = taped is not None and taped.answer is not None and answer is not None
    asked = [call for call in calls if call.kind != "judge"]
    bars = {v.judge: rubric.thresholds[v.judge] for v in result.verdicts if v.judge in rubric.thresholds}
    held = sorted((name, bar) for name, bar in bars.items() if name not in set(own))
    return Conditions(
        case=(fingerprint[:DIGITS],) if fingerprint else (),
        system=prompts.system,
        tools=prompts.tools,
        settings=prompts.settings,
        dialogue=prompts.dialogue,
        model=_few(_named(call.model) for call in asked if call.model and not call.trouble),
        judge=_few(filter(None, [_judges(result, rubric)])),
        threshold=(_digest(held),) if held else (),
        trouble=_few(_named(call.trouble) for call in asked if call.trouble and not call.retried),
        taped=(taped.day,) if taped and taped.day else (),
        retold=(("same" if taped.answer == answer else "other"),) if taped and compared else (),
    )


def prompts(requests: Iterable[Request], texts: Iterable[str], rules: Rules) -> Prompts:
    """Return what `requests` say to models, in their order; `texts` are the case's own words.

    Of a dialogue only the first request counts: in what follows stands what the model has replied, or what
    tools have, which is another one each time. Its digest is there whenever a model was asked, the others where
    there was something of that kind.
    """
    own = sorted({text for text in texts if text.strip()}, key=lambda text: (-len(text), text))
    dialogue: tuple[str, ...] = ()
    ruling: list[tuple[Any, Any, Any]] = []
    for request in requests:
        body = rules.stripped(request.url, json_of(plain_body(request)))
        if not isinstance(body, dict) or body.keys().isdisjoint(_DIALOGUE) or _embeds(request):
            continue
        rules_of_model, conversation = _messages(body)
        dialogue = dialogue or (_digest(_masked(conversation, own)),)
        tools_of_model = [body[name] for name in _TOOLS if name in body]
        settings_of_model = {name: value for name, value in body.items() if name not in _NO_SETTING}
        ruling.append((rules_of_model, tools_of_model, settings_of_model))
    if not ruling:
        return Prompts()
    system, tools, settings = (
        _few(_digest(_masked(value, own)) for value in values if value) for values in zip(*ruling, strict=True)
    )
    return Prompts(system, tools, settings, dialogue)


def words_of(value: Any) -> Iterator[str]:
    """Yield every text in what a case asks."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from words_of(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from words_of(item)


def _embeds(request: Request) -> bool:
    return request.url.partition("?")[0].rstrip("/").endswith("/embeddings")


def _messages(body: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return what rules the model in a body, and what is said to it."""
    messages = next(body[name] for name in _DIALOGUE if name in body)
    system: list[Any] = [body[name] for name in _SYSTEM if name in body]
    dialogue: list[Any] = []
    for message in messages if isinstance(messages, list) else [messages]:
        (system if _role(message) in _RULING else dialogue).append(message)
    return system, dialogue


def _role(message: Any) -> str:
    return str(message.get("role", "")) if isinstance(message, dict) else ""


def _masked(value: Any, own: list[str]) -> Any:
    if isinstance(value, str):
        for text in own:
            value = value.replace(text, "\0")
        return _PASSING.sub("\1", value) if "-" in value or ":" in value else value
    if isinstance(value, dict):
        return {name: _masked(item, own) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, own) for item in value]
    return value


def _judges(result: Result, rubric: Settings) -> str:
    """Return a digest over the models that judged first, and what they were shown; empty if none did.

    Whether someone is asked after them depends on the verdict, so that it is not a condition of it. Empty as well where
    one of them did not come to a vote: the digest would be another one with the same judges.
    """
    judgements = [(verdict, verdict.judgement) for verdict in result.verdicts if verdict.judgement is not None]
    if not judgements or any(vote.error for _, judgement in judgements for vote in judgement.votes):
        return ""
    judges = [
        [verdict.judge, verdict.version, sorted({f"{vote.model} {vote.replied or ''}" for vote in judgement.votes})]
        for verdict, judgement in judgements
    ]
    return _digest(
        [judges, {name: criterion.model_dump(mode="json") for name, criterion in rubric.judge.criteria.items()}]
    )


def _named(name: str) -> str:
    """Return a name as it is, if it stands in a line of the state; else its digest."""
    return name if _NAME.fullmatch(name) else f"~{_digest(name)}"


def _few(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))[:MOST]


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]
