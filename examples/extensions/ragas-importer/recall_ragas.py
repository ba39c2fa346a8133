"""Import testsets of Ragas: a table, or rows as JSON, with `user_input`, `reference` and `reference_contexts`."""

from __future__ import annotations

import json

from pytest_recall.ext import Document, ImportedSet, ImportedTest, Importer, ImportOptions, RecallError, hookimpl, word


def convert(document: Document, options: ImportOptions) -> ImportedSet:
    """Return what becomes of the rows of a testset. Raises RecallError if it is none."""
    if not isinstance(document.value, list):
        raise RecallError(f"{document.name}:1: is no list of rows; save the testset with `to_csv` or `to_jsonl`")
    into = ImportedSet(options, "ragas")
    for row in document.root.each():
        test = ImportedTest(place=row.place, judged=False)
        question = row.text("user_input")
        if question:
            test.fields["input"] = question
            test.names = [("user_input", question, "")]
        else:
            test.drop("has no `user_input`", f"say with --map which column holds it{row.keys}")
        if reference := row.text("reference"):
            test.fields["expected"] = reference
        if contexts := row.value.get("reference_contexts"):
            test.fields["evidence"] = json.loads(contexts) if isinstance(contexts, str) else contexts
        if synthesizer := word(row.text("synthesizer_name")):
            test.tags = [synthesizer]
        into.add(test)
    return into


@hookimpl
def pytest_recall_importers() -> list[Importer]:
    """Return the importer."""
    return [Importer("ragas", "testsets of Ragas (.csv, .json, .jsonl)", convert)]
