"""`recall schema`: the JSON Schemas of what people write, for editors."""

from __future__ import annotations

import argparse
import json
from typing import Any

from pytest_recall.cli.common import Commands

DETAILS = """\
For an editor with the YAML language server, keep the schema beside the cases
  recall schema cases > eval/cases.schema.json
and name it in the first line of eval/cases.yaml:
  # yaml-language-server: $schema=cases.schema.json
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "schema",
        help="print the JSON Schema of case files, of the rubric or of files that name datasets",
        description="Print the JSON Schema (2020-12) of case files, of the rubric or of files that name datasets.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("cases", "rubric", "dataset"), help="which file")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    print(json.dumps(schema_of(args.what), indent=2, ensure_ascii=False))
    return 0


def schema_of(what: str) -> dict[str, Any]:
    """Return the schema of "cases", a list of them, of "rubric" or of "dataset"."""
    from pydantic import TypeAdapter

    from pytest_recall.cases.case import Case
    from pytest_recall.cases.settings import Rubric
    from pytest_recall.datasets.questions import BenchFile

    kinds: dict[str, Any] = {"cases": list[Case], "rubric": Rubric, "dataset": BenchFile}
    schema = TypeAdapter(kinds[what]).json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
