"""Convert goldens of deepeval, saved as JSON, JSON Lines or CSV, to cases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_recall.ext import Document, ImportedSet, ImportedTest, ImportOptions, Node, RecallError, nearest, word
from pytest_recall.extensions.importers.promptfoo_assertions import GRADED
from pytest_recall.extensions.importers.templates import parsed

_RECORDED = {
    "actual_output": "an answer of an earlier day; the agent answers again",
    "retrieval_context": "what was looked up on an earlier day; the agent looks it up again",
    "tools_called": "what was called on an earlier day; the agent calls again",
    "token_cost": "what an earlier answer cost; `recall cassettes cost` says what the new ones do",
    "input_token_count": "what an earlier answer cost; `recall cassettes cost` says what the new ones do",
    "output_token_count": "what an earlier answer cost; `recall cassettes cost` says what the new ones do",
    "expected_tools": "no judge sees calls of tools; write one of your own",
    "expected_labels": "no judge knows labels; write one of your own",
    "images_mapping": "a case is text",
    "user_description": "no model plays the user; write his turns",
    "persona": "no model plays the user; write his turns",
}
_CAMEL = {
    "actualOutput": "actual_output",
    "expectedOutput": "expected_output",
    "retrievalContext": "retrieval_context",
    "toolsCalled": "tools_called",
    "expectedTools": "expected_tools",
    "tokenCost": "token_cost",
    "inputTokenCount": "input_token_count",
    "outputTokenCount": "output_token_count",
    "sourceFile": "source_file",
    "additionalMetadata": "additional_metadata",
    "customColumnKeyValues": "custom_column_key_values",
    "expectedOutcome": "expected_outcome",
    "userDescription": "user_description",
    "expectedLabels": "expected_labels",
    "imagesMapping": "images_mapping",
}
_LISTS = ("context", "retrieval_context")
_JSON = ("turns", "tools_called", "expected_tools", "additional_metadata", "custom_column_key_values", "expectations")
_NOTED = ("comments", "source_file", "additional_metadata", "custom_column_key_values")
_CARRIED = {
    "input",
    "expected_output",
    "expected_outcome",
    "context",
    "name",
    "scenario",
    "turns",
    "expectations",
    "id",
}


def convert(document: Document, options: ImportOptions) -> ImportedSet:
    """Return what becomes of a list of goldens. Raises RecallError if it is none."""
    if not isinstance(document.value, list):
        raise RecallError(f"{document.name}:1: is not a list of goldens; save the dataset with `save_as` of deepeval")
    into = ImportedSet(options, word(document.name.rpartition("/")[2].rpartition(".")[0]) or "deepeval")
    for node in document.root.each():
        into.add(_draft(node))
    return into


def _draft(node: Node) -> ImportedTest:
    draft = ImportedTest(place=node.place, judged=False)
    if not isinstance(node.value, Mapping) or not {"input", "scenario"} & node.value.keys():
        draft.drop("has neither `input` nor `scenario`", f"say with --map which key holds it{node.keys}")
        return draft
    golden = {_CAMEL.get(str(key), str(key)): _value(str(key), value) for key, value in node.value.items()}
    golden = {key: value for key, value in golden.items() if value not in (None, "", [], {})}
    name = golden.get("name") or golden.get("id")
    draft.names = [("name", name, "")] if isinstance(name, str) else []
    if "scenario" in golden:
        _conversation(draft, golden)
    else:
        _question(draft, golden)
    reference = golden.get("expected_output") or golden.get("expected_outcome")
    if reference is not None:
        draft.fields["expected"] = reference
    context = golden.get("context")
    if isinstance(context, list) and all(isinstance(text, str) and text for text in context):
        draft.fields["evidence"] = context
    elif context is not None:
        draft.left("`context` that is not a list of texts", "write it as `evidence`")
    _expectations(draft, golden.get("expectations"))
    for key in _NOTED:
        if key in golden:
            value = golden[key]
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            draft.notes.append(f"{key}: {shown}")
    for key in golden:
        if key in _RECORDED:
            if key != "user_description" or "persona" not in golden:
                draft.left(f"`{key}`", _RECORDED[key])
        elif key not in _CARRIED and key not in _NOTED:
            draft.left(f"`{key}`", f"no golden has it; say with --map what it is{nearest(key, _CARRIED)}")
    return draft


def _question(draft: ImportedTest, golden: Mapping[str, Any]) -> None:
    question = golden.get("input")
    if not isinstance(question, str):
        draft.drop("has no `input`", "write what is asked")
        return
    if "[DEEPEVAL:" in question:
        draft.drop("asks about an image or a PDF", "a case is text")
    draft.fields["input"] = question
    draft.names.append(("input", question, ""))


def _conversation(draft: ImportedTest, golden: Mapping[str, Any]) -> None:
    scenario = str(golden["scenario"])
    draft.names.append(("scenario", scenario, ""))
    draft.notes.append(f"scenario: {scenario}")
    turns = golden.get("turns")
    if not isinstance(turns, list) or not turns:
        draft.drop("has a scenario and no turns", "no model plays the user; write his turns")
        return
    if not all(isinstance(turn, Mapping) and isinstance(turn.get("content"), str) for turn in turns):
        draft.drop("has turns without `content`", "write the turns")
        return
    said = [{"role": turn.get("role"), "content": turn["content"]} for turn in turns]
    if said[-1]["role"] == "assistant" and len(said) > 1:
        said.pop()
        draft.left("the last reply", "an answer of an earlier day; the agent answers the last turn again")
    if any(value for turn in turns for key, value in turn.items() if key not in ("role", "content")):
        draft.left("tools, passages and metadata of turns", "a scripted turn is text")
    draft.ask(said)


def _expectations(draft: ImportedTest, given: Any) -> None:
    if not isinstance(given, Mapping):
        return
    unwanted = given.get("must_not") or given.get("mustNot") or []
    wanted = given.get("must") or []
    if not all(isinstance(texts, list) and all(isinstance(t, str) for t in texts) for texts in (wanted, unwanted)):
        draft.left("`expectations` that are not lists of texts", "write them for the judge `rubric`")
        return
    texts = [*wanted, *(f"It does not do this: {text}" for text in unwanted)]
    if texts:
        draft.judges.append({"rubric": texts if len(texts) > 1 else texts[0]})
        draft.changed("`expectations`", GRADED)
    if given.get("model") or given.get("eval_mode"):
        draft.left(
            "the model or mode of `expectations`", "the judging model is named by the rubric or by pytest's --judge"
        )


def _value(key: str, value: Any) -> Any:
    """Return a value of JSON as it is, and one of CSV as what it was."""
    if not isinstance(value, str):
        return value
    if _CAMEL.get(key, key) in _LISTS:
        return [part for part in value.split("|") if part]
    if _CAMEL.get(key, key) in _JSON and value.strip():
        return parsed(value)
    return value
