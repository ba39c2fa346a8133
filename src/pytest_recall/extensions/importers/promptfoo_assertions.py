"""Turn the assertions of promptfoo into judges that decide the same, or say why there are none."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_recall.ext import Judge
from pytest_recall.extensions.importers.templates import number

_SPECIAL = frozenset(r"\.^$*+?{}[]|()")
ANYTHING = r"[\s\S]*"


def present(needles: Sequence[str], *, every: bool, ignore_case: bool) -> list[Judge]:
    """Return judges that pass if the answer holds every needle, or one of them.

    `contains` collapses white space, which makes a difference only for needles that have some; those are looked for
    by an expression that is found nowhere else.
    """
    plain = [needle for needle in needles if not _spaced(needle)]
    spaced = [needle for needle in needles if _spaced(needle)]
    if not every and spaced:
        return [expression("|".join(map(escaped, needles)), ignore_case=ignore_case)]
    judges: list[Judge] = []
    if plain:
        arguments: dict[str, Any] = {"expected": plain if len(plain) > 1 else plain[0]}
        arguments |= {"any": True} if len(plain) > 1 and not every else {}
        arguments |= {} if ignore_case else {"ignore_case": False}
        judges.append({"contains": arguments["expected"] if len(arguments) == 1 else arguments})
    return judges + [expression(escaped(needle), ignore_case=ignore_case) for needle in spaced]


def absent(needles: Sequence[str], *, every: bool, ignore_case: bool) -> list[Judge]:
    """Return judges that pass unless the answer holds every needle, or one of them."""
    if every and len(needles) > 1:
        looks = "".join(f"(?={ANYTHING}{escaped(needle)})" for needle in needles)
        return [expression(rf"\A(?!{looks})", ignore_case=ignore_case)]
    if any(_spaced(needle) for needle in needles):
        return [expression(unlike(ANYTHING + group(needles)), ignore_case=ignore_case)]
    arguments: dict[str, Any] = {"absent": list(needles) if len(needles) > 1 else needles[0]}
    return [{"contains": arguments | ({} if ignore_case else {"ignore_case": False})}]


def expression(pattern: str, *, ignore_case: bool = False) -> Judge:
    """Return the judge that looks for a regular expression."""
    return {"regex": {"expected": pattern, "ignore_case": True} if ignore_case else pattern}


def unlike(pattern: str) -> str:
    """Return the expression that is found in an answer that does not begin with `pattern`."""
    return rf"\A(?!{pattern})"


def group(needles: Sequence[str]) -> str:
    """Return the expression for one of some texts."""
    return escaped(needles[0]) if len(needles) == 1 else f"(?:{'|'.join(map(escaped, needles))})"


def escaped(text: str) -> str:
    """Return the expression for a text; blanks stay readable, as `re.escape` does not leave them."""
    return "".join(f"\\{c}" if c in _SPECIAL else c for c in text)


def _spaced(needle: str) -> bool:
    return any(c.isspace() for c in needle)


# Escapes that both know; other letters stand for themselves in JavaScript, and for something else or nothing in `re`.
_SHARED = frozenset("dDwWsSbBnrtfv0xu")
_ASCII = frozenset("dDwWbB")
_GROUPS = ("?:", "?=", "?!", "?<=", "?<!")
_POSSESSIVE = re.compile(r"(?<!\\)(?:[*+?]|\})\+")
_NAMED = re.compile(r"\?<([A-Za-z_]\w*)>")
_BACK = re.compile(r"<([A-Za-z_]\w*)>")


def python_expression(pattern: str) -> tuple[str, bool] | None:
    """Return an expression of JavaScript (without flags) for `re.search`, and whether `\\s` makes it differ.

    `\\d`, `\\w` and `\\b` are about ASCII there, and `$` is the very end: so they are here. None for what `re` does not
    know, or JavaScript does not.
    """
    made, kinds, inside, index = [], set(), False, 0
    while index < len(pattern):
        character = pattern[index]
        rest = pattern[index + 1 :]
        index += 1
        if character == "\\":
            if not rest:
                return None
            index += 1
            escape = rest[0]
            if escape == "k" and not inside and (found := _BACK.match(rest[1:])):
                made.append(f"(?P={found[1]})")
                index += found.end()
            elif escape in "cp" or rest.startswith("u{") or (inside and escape in "bB"):
                return None
            elif escape.isascii() and escape.isalpha() and escape not in _SHARED:
                made.append(escape)
            else:
                kinds.add(escape)
                made.append(f"\\{escape}")
        elif inside:
            inside = character != "]"
            # `re` warns of what may become sets of sets one day.
            made.append(f"\\{character}" if character in "[&~|" else character)
        elif character == "[":
            if rest.startswith(("]", "^]")):
                return None
            inside = True
            made.append("[^" if rest.startswith("^") else "[")
            index += rest.startswith("^")
        elif character == "(" and rest.startswith("?"):
            named = _NAMED.match(rest)
            if named:
                made.append(f"(?P<{named[1]}>")
                index += named.end()
            elif rest.startswith(_GROUPS):
                made.append(character)
            else:
                return None
        elif character == "$":
            made.append(r"\Z")
        elif character == "{" and rest.startswith(","):
            made.append(r"\{")
        else:
            made.append(character)
    if inside or _POSSESSIVE.search(pattern):
        return None
    text = ("(?a)" if kinds & _ASCII else "") + "".join(made)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(text)
    except (re.error, Warning, OverflowError, RecursionError):
        return None
    return text, bool(kinds & {"s", "S"})


DRAFT_7 = "http://json-schema.org/draft-07/schema#"
CODE = "write it as a judge of your own"
GRADED = "graded with the words of the judge `rubric`, by the model that the rubric or pytest's --judge names"


@dataclass(frozen=True)
class Mapped:
    """The judges that decide as an assertion does; without any, or with a difference, why."""

    judges: tuple[Judge, ...] = ()
    differs: str = ""
    missing: str = ""
    reference: str | None = None
    """What the assertion compares with, if that is the right answer as such."""


@dataclass(frozen=True)
class Assertion:
    """An assertion whose value is filled in."""

    kind: str
    """Without `not-`."""
    value: Any
    inverse: bool
    threshold: Any = None


def mapped(assertion: Assertion) -> Mapped:
    """Return what becomes of an assertion; its weight and its set are another matter."""
    if assertion.kind in _MAPS:
        return _MAPS[assertion.kind](assertion)
    if assertion.kind in _INSTEAD:
        return Mapped(missing=_INSTEAD[assertion.kind])
    prefix = assertion.kind.partition(":")[0]
    return Mapped(missing=_INSTEAD.get(prefix, f"no judge is like it; {CODE}"))


_FIELD = re.compile(r"""[\s,]*(?:"(?P<quoted>(?:\\["\\]|\\(?!["\\])|""|[^"\\])*)"\s*(?=,|\Z)|(?P<bare>(?!")[^,]*))""")
_QUOTED_SIGN = re.compile(r'\\["\\]|""')


def separated(value: str) -> list[str] | None:
    """Return the texts of a list with commas, in quotes where they have some; None if it cannot be read.

    As promptfoo reads it: a line end is a part of a text, a quote stands only around a whole one, and within quotes
    it is written twice or with a backslash.
    """
    parts = []
    place = 0
    while place < len(value):
        field = _FIELD.match(value, place)
        if field is None:
            return None
        quoted, bare = field["quoted"], field["bare"]
        if quoted is not None:
            parts.append(_QUOTED_SIGN.sub(lambda sign: sign[0][1], quoted))
        elif bare.strip():
            parts.append(bare.strip())
        place = field.end()
    return parts


def _contains(assertion: Assertion) -> Mapped:
    folds = assertion.kind.startswith("i")
    several = assertion.kind.endswith(("-all", "-any"))
    values = assertion.value if several else [assertion.value]
    if several and isinstance(values, str):
        values = separated(values)
    if not isinstance(values, list) or not values or not all(_is_text(value) for value in values):
        return Mapped(missing="has no text to look for; correct it first")
    texts = [number(value) if not isinstance(value, str) else value for value in values]
    every = not assertion.kind.endswith("-any")
    made = absent if assertion.inverse else present
    return Mapped(judges=tuple(made(texts, every=every, ignore_case=folds)))


def _equals(assertion: Assertion) -> Mapped:
    value = assertion.value
    if isinstance(value, Mapping | list):
        if assertion.inverse:
            return Mapped(missing=f"no judge says that JSON is another; {CODE}")
        return Mapped(judges=({"json_schema": {"schema": {"const": value}}},), differs=_FENCE)
    if value is None:
        return Mapped(missing="has no text to compare with; correct it first")
    text = value if isinstance(value, str) else number(value)
    if assertion.inverse:
        return Mapped(judges=(expression(unlike(escaped(text) + r"\Z")),))
    if not text.strip():
        return Mapped(judges=(expression(rf"\A{text}\Z"),))
    return Mapped(judges=({"exact": text},), differs="`exact` trims and collapses white space", reference=text)


def _starts_with(assertion: Assertion) -> Mapped:
    if not isinstance(assertion.value, str) or not assertion.value:
        return Mapped(missing="has no text to look for; correct it first")
    text = escaped(assertion.value)
    return Mapped(judges=(expression(unlike(text) if assertion.inverse else rf"\A{text}"),))


def _regex(assertion: Assertion) -> Mapped:
    if not isinstance(assertion.value, str) or not assertion.value:
        return Mapped(missing="has no expression; correct it first")
    found = python_expression(assertion.value)
    if found is None:
        return Mapped(missing="Python's `re` has no expression that is sure to be the same; write it again")
    pattern, spaces = found
    if assertion.inverse:
        flag, bare = ("(?a)", pattern[4:]) if pattern.startswith("(?a)") else ("", pattern)
        pattern = flag + unlike(f"{ANYTHING}(?:{bare})")
    differs = "`\\s` takes other rare blanks than in JavaScript" if spaces else ""
    return Mapped(judges=(expression(pattern),), differs=differs)


_FENCE = "`json_schema` takes a Markdown code fence off"


def _is_json(assertion: Assertion) -> Mapped:
    if assertion.inverse:
        return Mapped(missing=f"no judge says that an answer is no such JSON; {CODE}")
    schema = assertion.value
    if schema in (None, "", {}):
        return Mapped(judges=({"json_schema": {"schema": {}}},), differs=_FENCE)
    if not isinstance(schema, Mapping):
        return Mapped(missing="its schema is not a mapping; write it out as one")
    # ajv takes a schema that does not say for one of draft 7, and checks its formats.
    written = dict(schema) if "$schema" in schema else {"$schema": DRAFT_7, **schema}
    arguments: dict[str, Any] = {"schema": written}
    if not _has_key(schema, "format"):
        return Mapped(judges=({"json_schema": arguments},), differs=_FENCE)
    arguments["formats"] = True
    differs = f"{_FENCE}, and checks each `format` by the rules of the package jsonschema"
    return Mapped(judges=({"json_schema": arguments},), differs=differs)


def _graded(assertion: Assertion) -> Mapped:
    value = assertion.value
    texts = value if isinstance(value, list) else [value]
    if assertion.inverse or not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        what = "the opposite of a rubric" if assertion.inverse else "a rubric that is not text"
        return Mapped(missing=f"{what} is not known here; write what the answer must do, for the judge `rubric`")
    arguments: dict[str, Any] = {"expected": value}
    if assertion.threshold is not None:
        arguments["threshold"] = assertion.threshold
    return Mapped(judges=(_judge("rubric", arguments),), differs=GRADED)


def _factuality(assertion: Assertion) -> Mapped:
    if assertion.inverse or not isinstance(assertion.value, str) or not assertion.value.strip():
        return Mapped(missing="no judge is like it; write what the answer must do, for the judge `rubric`")
    wanted = f"It says nothing that disagrees with this: {assertion.value}"
    return Mapped(judges=({"rubric": wanted},), differs=GRADED, reference=assertion.value)


def _similar(assertion: Assertion) -> Mapped:
    value = assertion.value
    texts = value if isinstance(value, list) else [value]
    if assertion.inverse or not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        return Mapped(missing=f"no judge is like it; {CODE}")
    threshold = 0.75 if assertion.threshold is None else assertion.threshold
    judge: Judge = {"similarity": {"expected": value, "threshold": threshold}}
    return Mapped(judges=(judge,), differs="another model of embeddings; choose the threshold again")


def _judge(name: str, arguments: Mapping[str, Any]) -> Judge:
    return {name: arguments["expected"] if set(arguments) == {"expected"} else dict(arguments)}


def _is_text(value: Any) -> bool:
    return value != "" and isinstance(value, str | int | float) and not isinstance(value, bool)


def _has_key(value: Any, key: str) -> bool:
    if isinstance(value, Mapping):
        return key in value or any(_has_key(inner, key) for inner in value.values())
    return isinstance(value, list) and any(_has_key(inner, key) for inner in value)


_CONTAINS = ("contains", "contains-all", "contains-any", "icontains", "icontains-all", "icontains-any")
_MAPS: Mapping[str, Callable[[Assertion], Mapped]] = {
    **dict.fromkeys(_CONTAINS, _contains),
    "equals": _equals,
    "starts-with": _starts_with,
    "regex": _regex,
    "is-json": _is_json,
    "llm-rubric": _graded,
    "g-eval": _graded,
    "model-graded-closedqa": _graded,
    "factuality": _factuality,
    "model-graded-factuality": _factuality,
    "similar": _similar,
    "similar:cosine": _similar,
}
_SEARCHED = "no judge searches in an answer for it; write it as a judge of your own"
_CODE = f"code is not carried over; {CODE}"
_NO_METRIC = f"no judge has this measure; {CODE}, or use `token_f1` with a threshold of its own"
_INSTEAD: Mapping[str, str] = {
    "javascript": _CODE,
    "python": _CODE,
    "ruby": _CODE,
    "webhook": _CODE,
    "cost": "what a run may cost is held by `--budget`, for all cases together",
    "latency": "no judge sees the time; measure it in the agent",
    "perplexity": "no judge sees log probabilities; measure it in the agent",
    "perplexity-score": "no judge sees log probabilities; measure it in the agent",
    "select-best": "answers of several models are compared by `recall compare`",
    "max-score": "answers of several models are compared by `recall compare`",
    "contains-json": _SEARCHED,
    "contains-html": _SEARCHED,
    "contains-sql": _SEARCHED,
    "contains-xml": _SEARCHED,
    "levenshtein": _NO_METRIC,
    "rouge-n": _NO_METRIC,
    "bleu": _NO_METRIC,
    "gleu": _NO_METRIC,
    "meteor": _NO_METRIC,
    "f-score": _NO_METRIC,
    "context-recall": "`recall_at_k` measures it with the `evidence` of a case",
    "context-faithfulness": "the judge `memory` with `excerpts: passages` asks for it",
    "trajectory": f"no judge sees the steps of an agent; {CODE}",
    "trace-error-spans": f"no judge sees traces; {CODE}",
    "trace-span-count": f"no judge sees traces; {CODE}",
    "trace-span-duration": f"no judge sees traces; {CODE}",
    "tool-call-f1": f"no judge sees calls of tools; {CODE}",
    "human": "people judge with `recall judges calibrate` and its labels",
}
