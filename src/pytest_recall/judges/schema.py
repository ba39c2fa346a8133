"""Schema judge: `json_schema`, over the `jsonschema` package."""

from __future__ import annotations

import json
import re
from typing import Any

from pytest_recall.core.errors import ArgumentError, one_line
from pytest_recall.core.trial import Verdict

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n\s*```\s*\Z", re.DOTALL)


def json_schema(answer: str, expected: Any = None, *, schema: dict[str, Any] | None = None) -> Verdict:
    """Pass if the answer is JSON that fits the JSON Schema `expected` (or `schema`), 2020-12 unless it says.

    A Markdown code fence around the JSON is taken off. References are resolved within the
    schema only: nothing is fetched.
    """
    try:
        from jsonschema import validators
        from jsonschema.exceptions import SchemaError, best_match
        from referencing import Registry
        from referencing.exceptions import Unresolvable
    except ModuleNotFoundError:
        raise ArgumentError("needs the jsonschema package; install `pytest-recall[jsonschema]`") from None
    wanted = schema if schema is not None else expected
    if not isinstance(wanted, dict | bool):
        raise ArgumentError("needs a JSON Schema; give a mapping as `expected` or `schema`")
    kind = validators.validator_for(wanted, default=validators.Draft202012Validator)
    try:
        kind.check_schema(wanted)  # type: ignore[arg-type]  # a bool is a schema too
    except SchemaError as error:
        raise ArgumentError(f"the schema is not valid: {error.message}") from None
    fenced = _FENCE.match(answer)
    try:
        value = json.loads(fenced[1] if fenced else answer)
    except (ValueError, RecursionError) as error:
        return Verdict(passed=False, score=0.0, reason=f"not JSON ({error}): “{one_line(answer, 120)}”")
    try:
        # An empty registry: without one, the validator would fetch what a reference points to.
        problem = best_match(kind(wanted, registry=Registry()).iter_errors(value))
    except Unresolvable as error:
        raise ArgumentError(f"the schema refers to {error.ref!r}, which is not in it; write it out") from None
    if problem is None:
        return Verdict(passed=True, score=1.0)
    return Verdict(passed=False, score=0.0, reason=f"{problem.json_path}: {one_line(problem.message)}")
