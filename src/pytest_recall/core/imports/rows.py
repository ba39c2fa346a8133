"""Rows: tests of promptfoo as a CSV file has them, with assertions in single cells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_recall.core.imports.assertions import separated

_KINDS = """\
agent-rubric answer-relevance bleu classifier contains contains-all contains-any contains-html contains-json
contains-sql contains-xml context-faithfulness context-recall context-relevance conversation-relevance cost equals
f-score factuality finish-reason g-eval gleu guardrails icontains icontains-all icontains-any is-html is-json
is-refusal is-sql is-valid-function-call is-valid-openai-function-call is-valid-openai-tools-call is-xml javascript
latency levenshtein llm-rubric meteor model-graded-closedqa model-graded-factuality moderation perplexity
perplexity-score pi python regex rouge-n ruby search-rubric similar similar:cosine similar:dot similar:euclidean
skill-used starts-with tool-call-f1 webhook word-count"""
_CELL = re.compile(rf"(not-)?({'|'.join(_KINDS.split())})(?:\((\d+(?:\.\d+)?)\))?(?::([\s\S]*))?")
_SCORED = frozenset(
    {"answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance", "levenshtein"}
    | {"rouge-n", "similar"}
)
_CODE = {"javascript:": "javascript", "fn:": "javascript", "eval:": "javascript", "python:": "python"}


def row_test(row: Mapping[str, str]) -> dict[str, Any]:
    """Return the test that a row stands for; a column without two underscores is a variable."""
    test: dict[str, Any] = {"vars": {}, "options": {}, "metadata": {}, "assert": []}
    thresholds: dict[int, float] = {}
    metric = None
    for column, cell in row.items():
        key = column.strip()
        if key.startswith("__expected"):
            test["assert"] += [cell_assertion(cell.strip())] if cell.strip() else []
        elif key in ("__prefix", "__suffix"):
            test["options"] |= {key[2:]: cell} if cell else {}
        elif key in ("__description", "__providerOutput"):
            test |= {key[2:]: cell} if cell else {}
        elif key == "__metric":
            metric = cell.strip() or None
        elif key == "__threshold":
            test |= {"threshold": cell.strip()} if cell.strip() else {}
        elif key.startswith("__metadata:"):
            name = key.removeprefix("__metadata:")
            if cell.strip():
                listed = [part.strip().replace("\\,", ",") for part in re.split(r"(?<!\\),", cell)]
                test["metadata"][name.removesuffix("[]")] = listed if name.endswith("[]") else cell
        elif found := re.fullmatch(r"__config:__expected(\d*):threshold", key):
            if (threshold := _number(cell)) is not None:
                thresholds[int(found[1] or 1) - 1] = threshold
        elif key.startswith("__"):
            test |= {f"column {key}": cell} if cell.strip() else {}
        else:
            test["vars"][key] = cell
    for index, assertion in enumerate(test["assert"]):
        assertion |= {"threshold": thresholds[index]} if index in thresholds else {}
        assertion |= {"metric": metric} if metric else {}
    return test


def cell_assertion(cell: str) -> dict[str, Any]:
    """Return the assertion in a cell: a kind with its value, or the text that the answer equals."""
    for prefix, kind in _CODE.items():
        if cell.startswith(prefix):
            return {"type": kind, "value": cell.removeprefix(prefix)}
    if cell.startswith("file://") and re.search(r"\.(py|[cm]?[jt]s)(:\w+)?$", cell):
        return {"type": "python" if ".py" in cell else "javascript", "value": cell}
    if cell.startswith("grade:"):
        return {"type": "llm-rubric", "value": cell.removeprefix("grade:")}
    found = _CELL.fullmatch(cell)
    if found is None:
        return {"type": "equals", "value": cell}
    inverse, kind, scale, value = found.groups()
    made: dict[str, Any] = {"type": f"{inverse or ''}{kind}", "value": value.strip() if value else value}
    if kind in ("contains-all", "contains-any", "icontains-all", "icontains-any"):
        made["value"] = separated(value or "")
    if kind in _SCORED:
        made["threshold"] = float(scale) if scale else 0.8 if kind == "similar" else 0.75
    return made


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
