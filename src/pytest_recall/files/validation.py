"""Validate plain values into pydantic models, and word each mistake as `file:line: field: what to do`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

from pydantic import (
    BaseModel,
    Field,
    ValidationError,
)

from pytest_recall.files import strict_yaml
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.wording import shown

SPELLING = {
    "id": "use letters, digits and `-`, `_`, `.`, `/`, `:`, without spaces",
    "name": "start with a letter, and use letters, digits, `-`, `_`, `.`",
}
_KINDS = {
    "tuple_type": "a list in brackets",
    "list_type": "a list in brackets",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "float_type": "a number",
    "int_type": "a whole number",
}
_A_KEY = "[key]"  # The last of a path that leads to a key of a mapping, not to its value.

Model = TypeVar("Model", bound=BaseModel)
LineOf = Callable[[tuple[str | int, ...]], int]
MAX_PROBLEMS = 20

# pydantic names the branches of a union in its paths; people wrote no such field.
_BRANCHES = frozenset({"constrained-str", "str", "dict", "dict[str,json]", "tuple", "list", "float", "int"})


def read_mapping(path: Path, name: str, model: type[Model], start: str) -> Model:
    """Return the YAML file at `path`, called `name`, as a `model`; `start` is how one begins. Raises RecallError."""
    return parse_mapping(read_text(path, name), name, model, start)


def parse_mapping(text: str, name: str, model: type[Model], start: str) -> Model:
    """Return the YAML in `text`, as `read_mapping` does of a file."""
    value = strict_yaml.load(text, name)
    if not isinstance(value, dict):
        raise RecallError(f"{name}:1: must be a mapping; start with {start}")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        lines = strict_yaml.lines(text, name)

        def line_of(path: tuple[str | int, ...]) -> int:
            # What is missing has no line; the mapping in which it is has one.
            known = (path[:end] for end in range(len(path), 0, -1) if path[:end] in lines)
            return lines[found] if (found := next(known, None)) else 1

        raise RecallError(*explain(error, model, name, line_of)) from None


def explain(error: ValidationError, model: type[BaseModel], name: str, line_of: LineOf) -> list[str]:
    """Return one sentence per problem in `error`, at most `MAX_PROBLEMS`."""
    sentences: list[str] = []
    said: set[tuple[str, bool]] = set()
    found = error.errors(include_url=False)
    for problem in found[:MAX_PROBLEMS]:
        if problem["type"] == "too_short" and any(_below(problem["loc"], other["loc"]) for other in found):
            continue  # The list has elements, but they are wrong, as is said of them.
        path = tuple(p for p in problem["loc"] if p != _A_KEY and not (isinstance(p, str) and _is_branch(p)))
        field = ".".join(str(p) for p in path)
        where = f"{name}:{line_of(path)}: "
        if (field, problem["type"] == "extra_forbidden") in said:
            continue  # The other branches of a union say what else it could have been.
        said.add((field, problem["type"] == "extra_forbidden"))
        sentences.append(where + (f"{field}: " if field else "") + _advice(dict(problem), path, model))
    return sentences


MEANT = {
    **dict.fromkeys(("question", "prompt", "query", "user"), "input"),
    **dict.fromkeys(("answer", "output", "expected_output", "reference", "ground_truth", "target"), "expected"),
    **dict.fromkeys(("messages", "conversation"), "turns"),
    **dict.fromkeys(("assert", "asserts", "metrics", "scorers", "evaluators"), "judges"),
}
"""What a field of a case is called elsewhere, and here."""


def _below(outer: tuple[Any, ...], inner: tuple[Any, ...]) -> bool:
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _is_branch(part: str) -> bool:
    return part in _BRANCHES or part.startswith(("function-", "tuple[", "dict[", "list["))


def _advice(problem: Mapping[str, Any], path: tuple[str | int, ...], model: type[BaseModel]) -> str:
    kind, given = problem["type"], problem.get("input")
    context: Mapping[str, Any] = problem.get("ctx") or {}
    if kind == "extra_forbidden":
        known, written = _fields_at(model, path[:-1]), str(path[-1])
        meant = MEANT.get(written)
        if meant in known:
            return f"unknown field; did you mean `{meant}`?"
        inside = [one for one in known if isinstance(one, str) and written in _fields_at(model, (*path[:-1], one))]
        if len(inside) == 1 and written not in known:
            return f"unknown field; write it below `{inside[0]}`"
        return f"unknown field{nearest(written, known)}"
    if kind == "missing":
        return "is missing; add it"
    if kind == "string_type":
        return f"{given!r} is not text; write it in quotes" if isinstance(given, int | float) else "must be text"
    if kind == "string_pattern_mismatch":
        return f"{shown(given)} does not fit; {SPELLING['id' if path[-1] == 'id' else 'name']}"
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}, not {shown(given)}"
    if kind == "string_too_short":
        return "is empty; write some text"
    if kind == "too_short":
        return "is empty; give at least one"
    if kind == "value_error":
        return str(context.get("error", problem["msg"]))
    if kind == "literal_error":
        return f"{given!r} is unknown" + nearest(str(given), _literals(str(context.get("expected", ""))))
    return f"{problem['msg'][:1].lower()}{problem['msg'][1:]}; got {shown(given)}"


def _fields_at(model: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
    """Return the names of the fields that may stand below `path`, which begins at `model`."""
    found = [model]
    for part in path:
        fields = [one.model_fields[part] for one in found if isinstance(part, str) and part in one.model_fields]
        # A key of a mapping or a place in a list is not a field: what it holds was found with the field before.
        found = [inner for field in fields for inner in models_in(field.annotation)] or found
    return [name for one in found for name in one.model_fields]


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models that an annotation names, at any depth."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [inner for part in get_args(annotation) for inner in models_in(part)]


def _literals(expected: str) -> list[str]:
    return [part.strip(" '") for part in expected.replace(" or ", ",").split(",") if part.strip(" '")]


Name = Annotated[str, Field(min_length=1)]
