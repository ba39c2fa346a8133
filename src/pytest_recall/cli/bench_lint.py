"""`recall bench lint`: what is wrong with questions that can be seen without asking anybody."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recall.cli.common import Commands, placeless
from pytest_recall.horizon.commands.options import add_folders, corpus_of

if TYPE_CHECKING:
    from pytest_recall.horizon.check import PlacedFinding

DETAILS = """\
DIR is the persona's folder. Each question is held against the texts of its relevant days: whether they are there,
whether they have the values and dates of the reference and the names of the question, whether an expected refusal
tells what it must not, whether a belief that was corrected is asked as if it still held. No model is asked, and what
is put in other words is not understood: a warning is something to look at, an error something to correct.

  recall bench lint personas/assistant --arcs arcs-180d.yaml
  recall bench lint personas/assistant --arcs arcs-180d.yaml --dates legacy-dst --json

Exits with 1 if there are errors, and with 0 if there are warnings alone.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "lint", "look for what is wrong with questions, without a model", run, DETAILS)
    parser.add_argument("persona", type=Path, metavar="DIR", help="the persona's folder")
    add_folders(parser, "qa")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.files.errors import RecallError
    from pytest_recall.files.wording import plural
    from pytest_recall.horizon.check import lint_corpus
    from pytest_recall.horizon.corpus import QUESTIONS

    corpus = corpus_of(args)
    file = corpus.qa / QUESTIONS
    rows, found = lint_corpus(corpus)
    if not rows:
        raise RecallError(f"{file}: has no questions; `recall bench generate-qa` writes them")
    counts = Counter(one.finding.severity for one in found)
    if args.json:
        plain = {"version": 1, "file": str(file), "questions": rows, **_counts(counts)}
        print(json.dumps({**plain, "findings": [_plain(one) for one in found]}, indent=2, ensure_ascii=False))
        return int(counts["error"] > 0)
    for one in found:
        named = f"{one.id}: " if one.id else ""
        print(f"{file}:{one.line}: {one.finding.severity} {one.finding.code}: {named}{one.finding.message}")
    by_code = Counter(one.finding.code for one in found)
    told = ", ".join(f"{code} {number:,}" for code, number in by_code.most_common())
    of = f"{plural(counts['error'], 'error')}, {plural(counts['warning'], 'warning')}"
    print(f"{plural(rows, 'question')}: {of}", end="")
    print(f" ({told})" if told else "")
    return int(counts["error"] > 0)


def _counts(counts: Counter[Any]) -> dict[str, int]:
    return {"errors": counts["error"], "warnings": counts["warning"]}


def _plain(one: PlacedFinding) -> dict[str, Any]:
    finding = one.finding
    plain = {"line": one.line, "id": one.id, "severity": finding.severity, "code": finding.code}
    return {**plain, "field": finding.field, "message": finding.message}
