"""Print the JSON Schemas of the files that people write, for editors."""

from __future__ import annotations

import json
from typing import Any

SCHEMAS = ("cases", "rubric", "dataset")
DETAILS = """\
For an editor with the YAML language server, keep the schema beside the cases
  recall check --schema cases > eval/cases.schema.json
and name it in the first line of eval/cases.yaml:
  # yaml-language-server: $schema=cases.schema.json
"""


def print_schema(what: str) -> None:
    """Print the schema of one of `SCHEMAS`."""
    print(json.dumps(schema_of(what), indent=2, ensure_ascii=False))


def schema_of(what: str) -> dict[str, Any]:
    """Return the schema of "cases", a list of them, of "rubric" or of "dataset"."""
    from pydantic import TypeAdapter

    from pytest_recall.cases.case import Case
    from pytest_recall.cases.settings import Rubric
    from pytest_recall.datasets.questions import BenchFile

    kinds: dict[str, Any] = {"cases": list[Case], "rubric": Rubric, "dataset": BenchFile}
    schema = TypeAdapter(kinds[what]).json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
