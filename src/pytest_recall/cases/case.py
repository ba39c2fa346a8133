"""The Case: what people write in a case file, validated."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any
from unicodedata import normalize

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    WithJsonSchema,
    model_validator,
)

from pytest_recall.cases.memory_part import MAX_LIMIT, AskedAt, MemoryPart

MAX_COUNT = 100

_WRITTEN = re.compile(r"([1-9][0-9]{0,2})of([1-9][0-9]{0,2})")


def k_of_n(text: str) -> tuple[int, int]:
    """Return the numbers of `2of3`. Raises ValueError."""
    match = _WRITTEN.fullmatch(text)
    needed, count = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= needed <= count <= MAX_COUNT:
        raise ValueError(f"write `2of3`: how many of how many, at most {MAX_COUNT}")
    return needed, count


# An id travels through node ids, file names, YAML keys and shells: no spaces, no `::`, no brackets.
ID_PATTERN = r"^\w[\w.\-/+@=]*(?::[\w.\-/+@=]+)*$"
NAME_PATTERN = r"^[A-Za-z]\w*(?:[.\-]\w+)*$"
_RESERVED = frozenset({"and", "or", "not", "True", "False", "None"})


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class _Written(BaseModel):
    """What a person writes: unknown keys are mistakes, values do not change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class JudgeCall(_Written):
    """A judge by name with its arguments, as `exact` or `{token_f1: {threshold: 0.6}}`."""

    name: str
    arguments: dict[str, JsonValue] = {}


class Turn(_Written):
    """One turn of a conversation; a scripted `assistant` reply is used instead of asking."""

    user: str = Field(min_length=1)
    assistant: str | None = None


@lru_cache(maxsize=256)
def _bare(name: str) -> JudgeCall:
    # The same for each case that names it, which most of them do, and nothing about it to validate.
    return JudgeCall.model_construct(name=name)


_QUOTES = "“”„‟‘’‚‛«»‹›"


def _check_judge(name: Any) -> None:
    """Raise ValueError for what names no judge: it is the rest of the name of a fixture."""
    if isinstance(name, str) and not name.isidentifier():
        plain = name.strip(_QUOTES)
        if plain != name and plain.isidentifier():
            raise ValueError(f"`{name}` has typographic quotes, which are part of the name; write {plain}")
        raise ValueError(f"`{name}` is no name of a judge; write one of letters, digits and `_`")


def _judge_call(value: Any) -> Any:
    if isinstance(value, str):
        _check_judge(value)
        return _bare(value)
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, given),) = value.items()
        _check_judge(name)
        # Anything but a mapping is what this judge expects instead of the case's `expected`.
        arguments = given if isinstance(given, Mapping) else {} if given is None else {"expected": given}
        return {"name": name, "arguments": arguments}
    if isinstance(value, JudgeCall):
        return value
    raise ValueError("write `name`, or `{name: {argument: value}}` with a single name")


def _turn(value: Any) -> Any:
    return {"user": value} if isinstance(value, str) else value


def _tag(value: str) -> str:
    if value in _RESERVED:
        raise ValueError(f"{value!r} means something else to `-m`; choose another word")
    return value


_JUDGE_SCHEMA = {
    "oneOf": [
        {"type": "string"},
        {"type": "object", "minProperties": 1, "maxProperties": 1},
    ]
}
_TURN_SCHEMA = {
    "oneOf": [
        {"type": "string", "minLength": 1},
        {
            "type": "object",
            "properties": {"user": {"type": "string", "minLength": 1}, "assistant": {"type": ["string", "null"]}},
            "required": ["user"],
            "additionalProperties": False,
        },
    ]
}


def composed(text: str) -> str:
    """Return the one spelling of letters with marks: macOS and some editors write `é` as `e` and a mark."""
    return normalize("NFC", text)


CaseId = Annotated[str, Field(pattern=ID_PATTERN, max_length=200), AfterValidator(composed)]
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=100), AfterValidator(composed)]
Tag = Annotated[Name, AfterValidator(_tag), Field(json_schema_extra={"not": {"enum": sorted(_RESERVED)}})]
Text = Annotated[str, Field(min_length=1)]


def _trials(value: Any) -> Any:
    if isinstance(value, str):
        k_of_n(value)
    elif type(value) is not int or not 1 <= value <= MAX_COUNT:
        raise ValueError(f"write how often to ask, from 1 to {MAX_COUNT}, or `4of5`")
    return value


WrittenTrials = Annotated[
    int | str,
    BeforeValidator(_trials),
    WithJsonSchema(
        {
            "oneOf": [
                {"type": "integer", "minimum": 1, "maximum": MAX_COUNT},
                {"type": "string", "pattern": "^[1-9][0-9]{0,2}of[1-9][0-9]{0,2}$"},
            ]
        }
    ),
]
WrittenTurn = Annotated[Turn, BeforeValidator(_turn), WithJsonSchema(_TURN_SCHEMA)]
WrittenJudge = Annotated[JudgeCall, BeforeValidator(_judge_call), WithJsonSchema(_JUDGE_SCHEMA)]


def _asks_one_way(schema: dict[str, Any]) -> None:
    """Say in the JSON Schema what the validator below says: either `input` or `turns`."""
    null, given = {"type": "null"}, {"not": {"type": "null"}}
    schema["oneOf"] = [
        {"required": ["input"], "properties": {"input": given, "turns": null}},
        {"required": ["turns"], "properties": {"turns": given, "input": null}},
    ]


class Case(_Written):
    """One eval case: what to ask, what to expect, who judges."""

    # Built at once, with what it is made of: every importer has cases to validate.
    model_config = ConfigDict(json_schema_extra=_asks_one_way, defer_build=False)

    id: CaseId = Field(
        description="Declared, unique, and the key under which state, journal and node ids know the case.",
    )
    scenario: Name = Field(default="general", description="What the user is doing; `--scenarios` picks by it.")
    dimension: Name = Field(default="correctness", description="What is being measured; `--dimensions` picks by it.")
    input: Text | dict[str, JsonValue] | None = Field(
        default=None, description="What the agent is asked: text, or a mapping that it gets as it stands."
    )
    turns: Annotated[tuple[WrittenTurn, ...], Field(min_length=1)] | None = Field(
        default=None, description="A conversation instead of `input`; the answer to the last turn is judged."
    )
    memory: MemoryPart | None = Field(
        default=None, description="What a memory system is given before the question: it answers, and no agent."
    )
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_LIMIT)] | None = Field(
        default=None, description="With `memory`: how many passages it is asked for; 5 without it."
    )
    context: AskedAt | None = Field(
        default=None, description="With `memory`: `session`, `date` and `checkpoint` of the question."
    )
    evidence: Annotated[tuple[Text, ...], Field(min_length=1)] | None = Field(
        default=None, description="Ids or texts of what has to be retrieved, for `recall_at_k`."
    )
    expected: JsonValue = Field(default=None, description="The reference that judges compare the answer with.")
    judges: tuple[WrittenJudge, ...] = Field(min_length=1, description="Who decides; all of them must pass.")
    threshold: Annotated[float, Field(strict=True, ge=0, le=1)] | None = Field(
        default=None, description="The lowest passing score, for judges that return a score."
    )
    trials: Annotated[
        WrittenTrials, Field(description="How often the case is asked: `5`, or `4of5` if four must pass.")
    ] = 1
    tags: tuple[Tag, ...] = Field(default=(), description="Words to pick by: `-m money`.")
    notes: str | None = Field(default=None, description="For the reader; nothing else looks at it.")

    @model_validator(mode="after")
    def _asks_once(self) -> Case:
        if (self.input is None) == (self.turns is None):
            raise ValueError("give either `input` or `turns`")
        if self.turns is not None and self.turns[-1].assistant is not None:
            raise ValueError("the last turn is the one that is judged; remove its `assistant` reply")
        return self

    @model_validator(mode="after")
    def _asks_a_memory(self) -> Case:
        if self.memory is not None and not isinstance(self.input, str):
            raise ValueError("a case with `memory` asks its question in `input`, as text")
        for name in ("limit", "context"):
            if self.memory is None and getattr(self, name) is not None:
                raise ValueError(f"`{name}` goes with `memory`; remove it")
        return self

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits over all that decides the verdict; notes and tags do not."""
        decisive: dict[str, object] = {
            "input": self.input,
            "turns": self.turns and [[turn.user, turn.assistant] for turn in self.turns],
            "expected": self.expected,
            "judges": [[call.name, call.arguments] for call in self.judges],
            "threshold": self.threshold,
        }
        if self.trials != 1:
            decisive["trials"] = self.trials
        if self.memory is not None:
            context = None if self.context is None else self.context.context.to_json()
            decisive["memory"] = [self.memory.key, self.limit, context]
        if self.evidence is not None:
            decisive["evidence"] = self.evidence
        text = _canonical(decisive)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
