"""Change each sentence of the package as it is compiled, in each process that has this folder on its PYTHONPATH.

Every blank between two words gets a sign, within a text of three words or more and in an f-string, so that no logic is
touched and every sentence is. The names of an enumeration are no sentences, and neither is SQL. What judges say of an
answer is data, as the answer is, and stays as it is.

`REWORDED=1 PYTHONPYCACHEPREFIX=/tmp/reworded PYTHONPATH=tests/helpers/rewording pytest tests/cli` shows which tests
assert a sentence: these fail. What is compiled has to be apart, and the variable is for processes that tests start.
"""

from __future__ import annotations

import ast
import os
import re
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

_PACKAGE = f"{os.sep}pytest_recall{os.sep}"
_JUDGES = f"{os.sep}judges{os.sep}"
_SENTENCE = re.compile(r"[A-Za-z]+[,;:]? [A-Za-z]+[,;:]? [A-Za-z]")
_SQL = re.compile(r"\s*(?:ALTER|CREATE|DELETE|DROP|INSERT|PRAGMA|REPLACE|SELECT|UPDATE)\b")
_BLANK = re.compile(r"(?<=[A-Za-z]) (?=[A-Za-z])")
"""One between two words."""
_compile: Any = SourceFileLoader.source_to_code
_parse: Any = ast.parse


class Rewording(ast.NodeTransformer):
    """Changes texts, f-strings part by part."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Return an enumeration as it is, and any other class with its texts changed."""
        names = {base.id for base in node.bases if isinstance(base, ast.Name)}
        return node if "StrEnum" in names else self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Return an f-string with its texts changed."""
        if isinstance(node.values[0], ast.Constant) and _SQL.match(str(node.values[0].value)):
            return node
        for place, part in enumerate(node.values):
            if isinstance(part, ast.Constant):
                node.values[place] = _reworded(part, _BLANK)
            else:
                self.generic_visit(part)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Return a sentence changed, and anything else as it is."""
        return _reworded(node, _SENTENCE)


def _reworded(node: ast.Constant, words: re.Pattern[str]) -> ast.expr:
    if not isinstance(node.value, str) or not words.search(node.value) or _SQL.match(node.value):
        return node
    return ast.copy_location(ast.Constant(_BLANK.sub(" ~ ", node.value)), node)


def _parsed(source: Any, filename: Any = "<unknown>", *args: Any, **more: Any) -> Any:
    tree = _parse(source, filename, *args, **more)
    name = os.fsdecode(filename)
    return Rewording().visit(tree) if _PACKAGE in name and _JUDGES not in name else tree


def _source_to_code(self: SourceFileLoader, data: Any, path: Any, **more: Any) -> CodeType:
    code: CodeType = _compile(self, _parsed(data, path) if _PACKAGE in os.fsdecode(path) else data, path, **more)
    return code


setattr(SourceFileLoader, "source_to_code", _source_to_code)  # noqa: B010
if "REWORDED" in os.environ:  # pytest parses by itself what it rewrites the assertions of, and a plugin is among that.
    setattr(ast, "parse", _parsed)  # noqa: B010
