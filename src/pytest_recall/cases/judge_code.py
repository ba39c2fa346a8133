"""Compare the code of a project's own judges in two versions of a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

PREFIX = "judge_"
"""What the names of fixtures begin with that are judges."""


def altered_judges(before: str, after: str) -> frozenset[str]:
    """Return the judges whose code differs between two texts of a Python file, which are empty for no file.

    The code of a judge is its fixture with all that this names in the file, directly or by what it names. What it
    imports from other files is not looked at. Of a text that is no Python, all judges of the other one differ.
    """
    one, other = _judges(before), _judges(after)
    return frozenset(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def _judges(text: str) -> Mapping[str, tuple[str, ...]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    defined: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for name in _names(node):
            defined.setdefault(name, []).append(node)
    found = {}
    for inner in ast.walk(tree):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and (name := _fixture(inner)).startswith(PREFIX):
            found[name.removeprefix(PREFIX)] = tuple(sorted(map(ast.dump, _reached(inner, defined))))
    return found


def _fixture(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the name under which a function would be a fixture: its own, or the one that a decorator gives it."""
    for decorator in node.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                return str(keyword.value.value)
    return node.name


def _names(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module gives something."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
        return
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id


def _reached(judge: ast.AST, defined: Mapping[str, list[ast.stmt]]) -> list[ast.AST]:
    """Return a judge with all statements of its module that it names, directly or not."""
    reached: list[ast.AST] = [judge]
    waiting: list[ast.AST] = [judge]
    while waiting:
        for inner in ast.walk(waiting.pop()):
            for node in defined.get(inner.id, ()) if isinstance(inner, ast.Name) else ():
                if node not in reached:
                    reached.append(node)
                    waiting.append(node)
    return reached
