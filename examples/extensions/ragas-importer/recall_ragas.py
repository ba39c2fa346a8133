"""Import testsets of Ragas: a table, or rows as JSON, with `user_input`, `reference` and `reference_contexts`."""

from __future__ import annotations

import json

from pytest_recall.ext import Document, ImportedSet, ImportedTest, Importer, ImportOptions, Node, RecallError, hookimpl


def convert(document: Document, options: ImportOptions) -> ImportedSet:
    """Return what becomes of the rows of a testset. Raises RecallError if it is none."""
    rows = list(document.root.each())
    if not rows or not all(isinstance(row.value, dict) and "user_input" in row.value for row in rows):
        raise RecallError(f"{document.name}:1: is no list of rows with `user_input`; --map names another column")
    into = ImportedSet(options, "ragas")
    for row in rows:
        into.add(test_of(row))
    return into


def test_of(row: Node) -> ImportedTest:
    """Return what becomes of a row."""
    question = row.text("user_input")
    test = ImportedTest(place=row.place, fields={"input": question}, names=[("user_input", question, "")], judged=False)
    if not question:
        test.drop("its `user_input` is empty", "write what is asked")
    if reference := row.text("reference"):
        test.fields["expected"] = reference
    contexts = row.value.get("reference_contexts")
    try:
        texts = json.loads(contexts) if isinstance(contexts, str) and contexts else contexts
    except ValueError:
        test.left("`reference_contexts` that are no JSON", "write them as `evidence`")
    else:
        test.fields["evidence"] = texts or []
    return test


@hookimpl
def pytest_recall_importers() -> list[Importer]:
    """Return the importer."""
    return [Importer("ragas", "testsets of Ragas (.csv, .json, .jsonl)", convert)]
