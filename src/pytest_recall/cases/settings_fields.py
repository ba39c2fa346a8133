"""Define the types of the settings in `eval/rubric.yaml`, and the criteria of judging models."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from pytest_recall.cases.case import k_of_n
from pytest_recall.files.validation import Name
from pytest_recall.files.wording import shown
from pytest_recall.models.rate import Rate
from pytest_recall.replay.exchange import CREDENTIALS
from pytest_recall.replay.matching import BODY, HEADER, QUESTION, URL, place_parts
from pytest_recall.replay.programs import ANY, words_of

Score = Annotated[float, Field(strict=True, ge=0, le=1)]
Count = Annotated[int, Field(strict=True, ge=0)]
Allowed = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Some = Annotated[int, Field(strict=True, ge=1)]
# A criterion is a field of what the judge replies.
CriterionName = Annotated[str, Field(pattern=r"^[A-Za-z][\w-]*$", max_length=60)]


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


_ONE_OR_SEVERAL = WithJsonSchema(
    {"oneOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string", "minLength": 1}}]}
)
WrittenNames = Annotated[
    tuple[Name, ...],
    BeforeValidator(_listed),
    _ONE_OR_SEVERAL,
]


RATIO = 35
"""The likelihood ratio at which a case has regressed, where the rubric does not say."""
LEAST_RATIO, MOST_RATIO = 5, 10_000
"""What a rubric may ask for."""

_BY_RATIO = re.compile(r"evidence(?::([1-9][0-9]{0,5}))?")


def ratio_needed(text: str) -> int | None:
    """Return the number of `evidence:70`, or None for `2of3`. Raises ValueError for what is neither."""
    if (match := _BY_RATIO.fullmatch(text)) is None:
        try:
            k_of_n(text)
        except ValueError as error:
            raise ValueError(f"{error}; or `evidence`, or `evidence:{RATIO}`") from None
        return None
    needed = int(match[1] or RATIO)
    if not LEAST_RATIO <= needed <= MOST_RATIO:
        raise ValueError(f"write `evidence:{RATIO}`: a number from {LEAST_RATIO} to {MOST_RATIO:,}")
    return needed


def _confirms(text: str) -> str:
    ratio_needed(text)
    return text


Confirm = Annotated[
    str,
    AfterValidator(_confirms),
    Field(json_schema_extra={"pattern": "^([1-9][0-9]{0,2}of[1-9][0-9]{0,2}|evidence(:[1-9][0-9]{0,4})?)$"}),
]


def _is_pattern(text: str) -> str:
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression ({error})") from None
    if pattern.search("") or pattern.fullmatch("What does a late return cost?"):
        raise ValueError(
            f"{text!r} fits any text, so that any answer would do; write what differs with the words beside it"
        )
    return text


def _are_headers(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
            raise ValueError(f"{name!r} is not a name of a header; write one, such as x-tenant")
        if name.lower() in CREDENTIALS:
            raise ValueError(f"`{name}` holds a credential, which is never written down; remove it")
    return names


HeaderNames = Annotated[tuple[Name, ...], AfterValidator(_are_headers)]


def _checked_place(entry: Any) -> Any:
    if isinstance(entry, str):
        if entry in (URL, BODY):
            raise ValueError(f"`{entry}` may differ by a pattern alone; write `{entry}: <regular expression>`")
        part, name = place_parts(entry)
        if part == HEADER:
            _are_headers((name,))
        if part == BODY and QUESTION.fullmatch(name):
            raise ValueError(
                f"`{entry}` is what is asked, and any answer would fit; name the part that differs, such as"
                " `body.messages.*.id`"
            )
        return entry
    pairs = list(entry.items()) if isinstance(entry, dict) else []
    if len(pairs) != 1 or not all(isinstance(part, str) for part in pairs[0]):
        raise ValueError(f"{shown(entry)} is neither a place as text nor one place with its pattern")
    place, pattern = pairs[0]
    if place not in (URL, BODY) and not re.fullmatch(rf"{BODY}\..+", place):
        raise ValueError(f"`{place}` has no pattern of its own; write one for `url`, `body` or `body.FIELD`")
    _is_pattern(pattern)
    return entry


# Looked at before its type, since what is wrong with one form would be said of the other as well.
_Place = Annotated[Name | dict[Name, Name], BeforeValidator(_checked_place)]
VolatilePlaces = tuple[_Place, ...]
"""What may differ from recorded requests, as `volatile_of` reads it."""


def _names_a_program(entry: str) -> str:
    if entry != ANY:
        words_of(entry)
    return entry


Programs = Annotated[
    tuple[Annotated[Name, AfterValidator(_names_a_program)], ...],
    BeforeValidator(_listed),
    _ONE_OR_SEVERAL,
]


class Replay(BaseModel):
    """What a replay may do beside its recordings."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    programs: Programs = Field(
        default=(),
        description="The programs that the code of a case may start in a replay, each by the first words of its"
        " command, such as `git` or `python server.py`. A case that starts another one has no verdict there. Name those"
        " alone that ask no model: what they ask is live in each replay, and in no cost. Under `any` all are started,"
        " and the verdict of a case that starts one moves nothing.",
    )


PerMinute = Annotated[int, Field(strict=True, ge=1)]


class RateLimit(BaseModel):
    """What may be asked in a minute."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    requests_per_minute: PerMinute | None = Field(default=None, description="Calls that begin.")
    tokens_per_minute: PerMinute | None = Field(default=None, description="Tokens, read and written together.")

    @model_validator(mode="after")
    def _limits(self) -> RateLimit:
        if self.requests_per_minute is None and self.tokens_per_minute is None:
            raise ValueError("limits nothing; give `requests_per_minute`, `tokens_per_minute` or both")
        return self

    def of(self, workers: int) -> Rate:
        """Return the share of one of so many `workers`; below 1 there is none."""
        requests, tokens = (
            None if limit is None else limit // workers for limit in (self.requests_per_minute, self.tokens_per_minute)
        )
        return Rate(requests, tokens)


Strictness = Literal["stop", "warn", "off"]
JudgeKind = Literal["rubric", "memory", "pairwise", "paper"]

_Text = Annotated[str, Field(min_length=1)]
_Level = Annotated[int, Field(ge=0, le=100)]

USUAL_SCALE = (1, 5)


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Criterion(_Written):
    """One question about an answer, with the scale on which it is scored in whole numbers."""

    question: _Text
    scale: tuple[_Level, _Level] | None = None
    anchors: dict[_Level, _Text] | None = Field(default=None, min_length=2)
    weight: Annotated[float, Field(strict=True, gt=0, le=1000)] = 1.0
    threshold: _Level | None = None

    @model_validator(mode="after")
    def _has_one_scale(self) -> Criterion:
        if self.scale is not None and self.anchors is not None:
            raise ValueError("give either `scale` or `anchors`, whose lowest and highest are the scale")
        low, high = self.range
        if low >= high:
            raise ValueError(f"scale: goes from {low} to {high}; write the lowest score first, and a higher one last")
        if self.threshold is not None and not low < self.threshold <= high:
            raise ValueError(
                f"threshold: {self.threshold} decides nothing on a scale from {low} to {high};"
                f" give one from {low + 1} to {high}"
            )
        return self

    @property
    def range(self) -> tuple[int, int]:
        """The lowest and the highest score."""
        if self.anchors is not None:
            return min(self.anchors), max(self.anchors)
        return self.scale or USUAL_SCALE


Dollars = Annotated[float, Field(strict=True, gt=0, le=1_000_000, allow_inf_nan=False)]
"""An amount of US dollars."""


def _is_table(value: Any) -> Any:
    if isinstance(value, str | list | tuple):
        raise ValueError(f"is a table; write `judge: {{model: {json.dumps(value, ensure_ascii=False)}}}`")
    return value


class Judging(BaseModel):
    """Which models judge, what they score an answer on, and what is asked of them first."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    model: WrittenNames = Field(
        default=(), description="The model that judges, as a selector; a list of them is a panel that votes."
    )
    appellate: Name | None = Field(
        default=None,
        description="The model whose verdict takes the place of one that fails an answer, as a selector; it checks 5 %"
        " of the passes as well, drawn by seed.",
    )
    criteria: dict[CriterionName, Criterion] = Field(
        default={}, description="What the judge `rubric` scores: a question with its scale, by name."
    )
    min_kappa: Score | None = Field(
        default=None,
        description="The lowest kappa with people of a judging model whose verdicts count; without it, all do.",
    )
    preflight: Strictness = Field(
        default="stop",
        description="What a judging model that misjudges more than one in six known answers does to the run: `stop`,"
        " `warn`, or `off`.",
    )


JudgeTable = Annotated[Judging, BeforeValidator(_is_table)]


QUARANTINE_DAYS = 30
"""Days of quarantine, where the command that sets a case apart says no other number."""


class Quarantine(NamedTuple):
    """When a case is set apart: at its `after`-th lapse, for QUARANTINE_DAYS, to be looked at by `owner`."""

    after: int
    owner: str
