"""Ask one judging model until its reply can be read, and read it strictly.

The judgement is the reply, and nothing within it: one JSON object (RFC 8259, no key twice), after one leading
`<think>…</think>`, and in one code fence or none. A draft, a quotation or an object in prose is none, since it may be
taken back, or be by the author of the answer that is judged.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

from pytest_recall.files.errors import RecallError
from pytest_recall.files.strict_json import strict_json
from pytest_recall.files.wording import one_line
from pytest_recall.models.model import Ask, Message, Model, Reply, without_thinking
from pytest_recall.trials.trial import Vote

Range = tuple[int, int]
_FENCE = re.compile(r"\A```[a-zA-Z]*[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL)
MAX_REPLY = 100_000


class UnreadableJudgement(Exception):  # noqa: N818 - it is what the reply is, and no error of ours
    """A reply that is no judgement; the message goes on after "the reply"."""


class CriteriaScores(NamedTuple):
    """What a judge wrote: the reasoning, then whole numbers by criterion."""

    reasoning: str
    scores: Mapping[str, int]


def scored(reply: str, ranges: Mapping[str, Range]) -> CriteriaScores:
    """Return the judgement `{"reasoning": text, "scores": {name: number}}` with exactly these names.

    A number is whole and in its range, and the reasoning stands before the scores. Raises Unreadable.
    """
    found = _fields(reply, "scores")
    scores = found["scores"]
    if not isinstance(scores, dict):
        raise UnreadableJudgement("has `scores` that are not an object")
    _check_names(list(scores), list(ranges), "the score")
    return CriteriaScores(_reasoning(found), {name: _number(name, scores[name], ranges[name]) for name in ranges})


def chosen(reply: str, name: str, choices: Sequence[str]) -> tuple[str, str]:
    """Return reasoning and choice of the judgement `{"reasoning": text, name: one of choices}`. Raises Unreadable."""
    found = _fields(reply, name)
    choice = found[name]
    if choice not in choices:
        raise UnreadableJudgement(f"has `{name}` {_shown(choice)}, which is none of {', '.join(choices)}")
    return _reasoning(found), choice


def _fields(reply: str, last: str) -> dict[str, Any]:
    """Return the object that the reply is, which has a reasoning and then `last`."""
    if len(reply) > MAX_REPLY:
        raise UnreadableJudgement(f"has more than {MAX_REPLY:,} characters")
    text = without_thinking(reply).strip()
    if not text:
        raise UnreadableJudgement("is empty" if not reply.strip() else "has nothing after its thinking")
    if fenced := _FENCE.match(text):
        text = fenced[1]
    try:
        found = strict_json(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableJudgement(f"is not one JSON object and nothing else ({one_line(str(error), 80)})") from None
    if not isinstance(found, dict):
        raise UnreadableJudgement("is JSON, but no object")
    _check_names(list(found), ["reasoning", last], "the field")
    if list(found) != ["reasoning", last]:
        raise UnreadableJudgement(f"has `{last}` before `reasoning`; the reasoning comes first")
    return found


def _check_names(given: list[str], wanted: list[str], what: str) -> None:
    missing = [name for name in wanted if name not in given]
    if missing:
        raise UnreadableJudgement(f"lacks {what} {', '.join(f'`{name}`' for name in missing)}")
    unknown = [name for name in given if name not in wanted]
    if unknown:
        raise UnreadableJudgement(f"has {what} {_shown(unknown[0])}, which was not asked for")


def _reasoning(found: Mapping[str, Any]) -> str:
    reasoning = found["reasoning"]
    if not isinstance(reasoning, str) or not reasoning.strip():
        raise UnreadableJudgement("has no reasoning in words")
    return one_line(reasoning.encode("utf-8", "replace").decode("utf-8"), 400)


def _number(name: str, value: Any, allowed: Range) -> int:
    low, high = allowed
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnreadableJudgement(f"has {_shown(value)} for `{name}`, which is not a number")
    if value != value or not low <= value <= high:
        raise UnreadableJudgement(f"has {_shown(value)} for `{name}`, which is not from {low} to {high}")
    if value != int(value):
        raise UnreadableJudgement(f"has {value!r} for `{name}`, which is not whole")
    return int(value)


def _shown(value: object) -> str:
    return one_line(repr(value).encode("utf-8", "replace").decode("utf-8"), 60)


MAX_TOKENS = 1024
ATTEMPTS = 3
"""How often a judging model is asked before its judgement counts as unreadable."""

T = TypeVar("T")


class Undecided(RecallError):  # noqa: N818 - it is what became of the judgement
    """A judgement that could not be had: no verdict, and never a score."""


class Prompt(NamedTuple):
    """What is put to a judging model: who it is, the material, and the shape of its reply."""

    system: str
    material: str
    schema: Mapping[str, Any]


class Inquiry(Protocol):
    """What is to be found out about one answer; the same for each model that is asked.

    `version` is eight hex digits over the prompt's template, the schema and the settings.
    """

    @property
    def version(self) -> str:
        """Return the version."""
        ...

    def hear(self, seat: Seat) -> Vote:
        """Return what the judge at `seat` decides. Raises Undecided or ModelError."""
        ...


@dataclass(kw_only=True)
class Seat:
    """A model with how it is asked. It counts the replies that could not be used."""

    model: Model
    retried: int = 0
    replied: str | None = None
    ignored: set[str] = field(default_factory=set)

    def put(self, prompt: Prompt, read: Callable[[str], T]) -> T:
        """Return what `read` makes of the reply, asking again while it is refused, cut off or unreadable.

        Each further ask says what was wrong. Raises Undecided after the last one, and ModelError
        where the model could not be asked at all.
        """
        ask = Ask(
            messages=(Message("user", prompt.material),),
            system=prompt.system,
            max_tokens=MAX_TOKENS,
            temperature=0.0,
            schema=prompt.schema,
        )
        problems: list[str] = []
        for _ in range(ATTEMPTS):
            reply = self.model.ask(_once_more(ask, prompt, problems))
            self.replied = reply.model or self.replied
            self.ignored.update(reply.ignored)
            try:
                return read(_whole(reply))
            except UnreadableJudgement as error:
                problems.append(str(error))
                self.retried += 1
            if reply.stop == "length":
                ask = replace(ask, max_tokens=2 * ask.max_tokens)
        # The last one was not followed by another.
        self.retried -= 1
        raise Undecided(f"{self.model.name}: asked {ATTEMPTS} times, and the reply {problems[-1]}")

    def signed(self, vote: Vote) -> Vote:
        """Return the vote with who gave it, and how often the model had to be asked again."""
        return vote._replace(
            model=self.model.name, replied=self.replied, retried=self.retried, ignored=tuple(sorted(self.ignored))
        )


def _once_more(ask: Ask, prompt: Prompt, problems: list[str]) -> Ask:
    """Return the ask, with what was wrong with the reply before.

    That reply is not shown again: whatever made it go astray would be repeated in it.
    """
    if not problems:
        return ask
    told = (
        f"{prompt.material}\n\nYour earlier reply could not be used: it {problems[-1]}."
        " Reply with the JSON object alone, and keep the reasoning short."
    )
    return replace(ask, messages=(Message("user", told),))


def _whole(reply: Reply) -> str:
    if reply.stop == "refused":
        raise UnreadableJudgement("is a refusal to judge")
    if reply.stop == "length":
        raise UnreadableJudgement("was cut off at the limit of tokens")
    return reply.text


def version_of(*parts: Any) -> str:
    """Return eight hex digits over what decides a judgement apart from the case: template, schema, settings."""
    text = json.dumps(parts, sort_keys=True, default=list)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def reply_schema(name: str, shape: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a reply: the reasoning first, so that it is written before what follows from it."""
    return {
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, name: dict(shape)},
        "required": ["reasoning", name],
        "additionalProperties": False,
    }


def score_schema(ranges: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """Return the JSON Schema of a reply with scores. Levels are listed: not every provider knows bounds."""
    levels = {name: {"type": "integer", "enum": list(range(low, high + 1))} for name, (low, high) in ranges.items()}
    shape = {"type": "object", "properties": levels, "required": list(levels), "additionalProperties": False}
    return reply_schema("scores", shape)
