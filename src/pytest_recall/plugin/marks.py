"""Find the tests with `@pytest.mark.recall`, their case ids, and what a renamed test is recognised by."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import textwrap
from typing import Any, NamedTuple

import pytest

from pytest_recall.files.errors import RecallError, nearest

LONGEST = 60
"""Characters of a parameter's value that an id may have; a longer one has to be named."""
_SIMPLE = (str, bytes, int, float, complex, bool, type(None), re.Pattern)
_ADDRESS = re.compile(r"\b0x[0-9a-f]{4,}", re.IGNORECASE)


class MarkedTest(NamedTuple):
    """A marked test as a case."""

    case_id: str
    scenario: str
    dimension: str
    by_place: tuple[str, ...] = ()
    """The names of the parameters whose place in a list is all that tells them apart."""


def marked(item: pytest.Item) -> MarkedTest | None:
    """Return the case that a test is, None if it is none. Raises RecallError for a mark that says something else.

    The id is the mark's, with the parameters in brackets; without one it is the node id. The mark of a class or a
    module is one for each of its tests: what it gives stands before the name of the test.
    """
    found = next(item.iter_markers_with_node("recall"), None)
    if found is None:
        return None
    node, mark = found
    if len(mark.args) > 1 or any(not isinstance(arg, str) or not arg for arg in mark.args):
        raise RecallError(
            f'{item.nodeid}: the mark takes one case id as text, @pytest.mark.recall("case-id"), or none: then the'
            " node id is the case's"
        )
    for name in mark.kwargs:
        if name not in ("scenario", "dimension"):
            raise RecallError(
                f"{item.nodeid}: recall mark: unknown argument `{name}`{nearest(name, ('scenario', 'dimension'))}"
            )
    callspec = getattr(item, "callspec", None)
    if callspec is not None and "__pytest_repeat_step_number" in callspec.params:
        raise RecallError(
            f"{item.nodeid}: --count of pytest-repeat would make a case of each repetition; leave it out, and write"
            " `confirm: 2of3` in the rubric to have a fail asked again"
        )
    params, by_place = _parameters(callspec)
    if not mark.args:
        bare = item.nodeid[: -len(callspec.id) - 2] if callspec is not None else item.nodeid
        case_id = f"{bare}{params}"
    elif node is item:
        case_id = f"{mark.args[0]}{params}"
    else:
        inner = item.nodeid.removeprefix(node.nodeid).removeprefix("::")
        bare = inner[: -len(callspec.id) - 2] if callspec is not None else inner
        case_id = f"{mark.args[0]}::{bare}{params}"
    scenario, dimension = (str(mark.kwargs.get(name, "")) for name in ("scenario", "dimension"))
    return MarkedTest(case_id, scenario, dimension, by_place)


def _parameters(callspec: Any) -> tuple[str, tuple[str, ...]]:
    """Return the part of an id that tells sets of parameters apart, and those that only their place tells.

    pytest names a value that is not text or number by its place in the list: an edit of the list would give it
    another one's history. So such a value stands there itself, if it is short and always written alike.
    """
    if callspec is None:
        return "", ()
    text, by_place = str(callspec.id), []
    for name, value in callspec.params.items():
        place = re.compile(rf"(?<![^\W_]){re.escape(name)}\d+(?!\d)")
        if isinstance(value, _SIMPLE) or hasattr(value, "__name__") or not place.search(text):
            continue
        written = _written(value)
        if written:
            text = place.sub(written.replace("\\", r"\\"), text, count=1)
        else:
            by_place.append(name)
    return f"[{text}]", tuple(by_place)


def _written(value: object) -> str:
    """Return a value as an id has it; empty if it is long, or not written alike each time."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # It is the project's own code.
        return ""
    unordered = isinstance(value, set | frozenset) and len(value) > 1
    return "" if unordered or len(text) > LONGEST or _ADDRESS.search(text) or not text.isprintable() else text


def by_place_line(nodeids: list[str], names: list[str]) -> str:
    """Return that the ids of some tests hang on the order of a list, and what to do."""
    tests = list(dict.fromkeys(nodeid.partition("[")[0] for nodeid in nodeids))
    more = f" and {len(tests) - 1} more tests" if tests[1:] else ""
    listed = ", ".join(f"`{name}`" for name in dict.fromkeys(names))
    return (
        f"{tests[0]}{more}: the values of {listed} are too long for an id, so that their places in the list stand for"
        " them, and an edit of the list gives one the history of another; name them with `ids=` or"
        " `pytest.param(..., id=...)`"
    )


def fingerprint(item: pytest.Item) -> str:
    """Return twelve hex digits over what a marked test does, apart from its name; empty where that cannot be read."""
    try:
        source = textwrap.dedent(inspect.getsource(item.function))  # type: ignore[attr-defined]
        found = ast.parse(source).body[0]
    except (AttributeError, OSError, TypeError, SyntaxError, IndexError):
        return ""
    body = [ast.dump(part) for part in getattr(found, "body", ())]
    callspec = getattr(item, "callspec", None)
    given = {} if callspec is None else {name: _written(value) for name, value in callspec.params.items()}
    text = repr((body, sorted(given.items())))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
