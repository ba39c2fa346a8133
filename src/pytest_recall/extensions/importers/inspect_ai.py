"""Convert samples of an inspect_ai dataset, or of a log with its scorers, to cases."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_recall.ext import MAX_TRIALS, Document, ImportedSet, ImportedTest, ImportOptions, Node, RecallError, word
from pytest_recall.extensions.importers import promptfoo_assertions
from pytest_recall.extensions.importers.promptfoo_assertions import GRADED
from pytest_recall.extensions.importers.templates import number, parsed

_ENVIRONMENT = ("sandbox", "files", "setup", "checkpoint")
_SAMPLE = {"input", "target", "choices", "id", "metadata", "description", *_ENVIRONMENT}
_AGREES = "It agrees with the REFERENCE."
_AT_LEAST = re.compile(r"at_least_(\d+)")


def convert(document: Document, options: ImportOptions) -> ImportedSet:
    """Return what becomes of samples. Raises RecallError if there are none."""
    root = document.root
    is_log = isinstance(root.value, Mapping) and isinstance(root.value.get("eval"), Mapping)
    stem = document.name.rpartition("/")[2].rpartition(".")[0]
    if is_log:
        evaluated = root.get("eval")
        assert evaluated is not None
        into = ImportedSet(options, word(evaluated.text("task").rpartition("/")[2]) or word(stem) or "inspect")
        _log(root, evaluated, into)
        return into
    if not isinstance(root.value, list):
        raise RecallError(f"{document.name}:1: is neither a list of samples nor a log; give a dataset or a log in JSON")
    into = ImportedSet(options, word(stem) or "inspect")
    for node in root.each():
        into.add(_draft(node, []))
    return into


def _log(root: Node, evaluated: Node, into: ImportedSet) -> None:
    samples = root.get("samples")
    if samples is None or not isinstance(samples.value, list):
        raise RecallError(f"{root.document.name}:1: is a log without samples; write it with samples")
    into.remark(
        root.place, "answers and scores of the log", "`agent` answers again, and judges score again", left=False
    )
    into.remark(evaluated.place, "the solver and the model", "put your own agent into conftest.py", left=False)
    scorers = evaluated.get("scorers")
    config = evaluated.get("config")
    seen: set[str] = set()
    for node in samples.each():
        if isinstance(node.value, Mapping):
            key = json.dumps(node.value.get("id"))
            if key in seen and node.value.get("epoch", 1) != 1:
                continue  # The same sample once more.
            seen.add(key)
        draft = _draft(node, list(scorers.each()) if scorers else [])
        if config is not None:
            _epochs(draft, config)
        into.add(draft)


def _epochs(draft: ImportedTest, config: Node) -> None:
    epochs = config.value.get("epochs") if isinstance(config.value, Mapping) else None
    if type(epochs) is not int or not 1 < epochs <= MAX_TRIALS:
        return
    reducers = config.value.get("epochs_reducer")
    first = reducers[0] if isinstance(reducers, list) and reducers else "mean"
    found = _AT_LEAST.fullmatch(first) if isinstance(first, str) else None
    if found and 1 <= int(found[1]) <= epochs:
        draft.fields["trials"] = f"{found[1]}of{epochs}"
        return
    draft.fields["trials"] = epochs
    draft.changed(f"epochs with the reducer `{first}`", "all `trials` must pass; write `4of5` for some", config.place)


def _draft(node: Node, scorers: list[Node]) -> ImportedTest:
    draft = ImportedTest(place=node.place, judged=bool(scorers))
    sample = node.value
    if not isinstance(sample, Mapping) or sample.get("input") in (None, "", []):
        draft.drop("has no `input`", f"say with --map which field of `Sample` is which{node.keys}")
        return draft
    case_id = sample.get("id")
    if isinstance(case_id, str | int) and not isinstance(case_id, bool) and str(case_id):
        draft.names.append(("id", str(case_id), ""))
    _question(draft, sample)
    target = _target(sample.get("target"))
    if target:
        draft.fields["expected"] = target
    _noted(draft, sample)
    for key in _ENVIRONMENT:
        if sample.get(key):
            draft.left(f"`{key}`", "let the agent or a fixture prepare what it needs")
    if not scorers:
        for key in sample.keys() - _SAMPLE:
            if sample[key] not in (None, ""):
                draft.left(f"the field `{key}`", "put it into `metadata`, or say with --map what it is in `Sample`")
    for scorer in scorers:
        _score(draft, scorer, target)
    return draft


def _question(draft: ImportedTest, sample: Mapping[str, Any]) -> None:
    question = sample["input"]
    attachments = sample.get("attachments")
    if isinstance(attachments, Mapping):
        question = _attached(question, attachments)
    if isinstance(question, list) and all(isinstance(message, Mapping) for message in question):
        kept = ("role", "content", "tool_calls", "tool_call_id", "function")
        messages = [{key: one[key] for key in kept if one.get(key) is not None} for one in question]
        draft.ask(messages)
        texts = [one["content"] for one in messages if isinstance(one.get("content"), str)]
    elif isinstance(question, str):
        draft.fields["input"] = question
        texts = [question]
    else:
        draft.drop("has an `input` that is neither text nor messages", "write what is asked")
        return
    draft.names += [("input", text, "") for text in texts[-1:]]
    choices = sample.get("choices")
    if isinstance(choices, str):
        parts = choices.split(",") if "," in choices else choices.split()
        choices = [part.strip() for part in parts if part.strip()]
    if isinstance(choices, list) and choices:
        known = draft.fields.pop("input", None)
        if known is None:
            draft.left("`choices` of a conversation", "write them into the last turn")
            return
        asks = known if isinstance(known, Mapping) else {"question": known}
        draft.fields["input"] = {**asks, "choices": choices}
        draft.changed("`choices`", "the agent gets `input` as a mapping with `choices`; `expected` is a letter")


def _attached(value: Any, attachments: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith("attachment://"):
        return attachments.get(value.removeprefix("attachment://"), value)
    if isinstance(value, list):
        return [_attached(one, attachments) for one in value]
    if isinstance(value, Mapping):
        return {key: _attached(one, attachments) if key == "content" else one for key, one in value.items()}
    return value


def _target(given: Any) -> str | list[str]:
    if isinstance(given, list):
        texts = [text for one in given if (text := _target(one)) and isinstance(text, str)]
        return texts if len(texts) > 1 else "".join(texts)
    if isinstance(given, str):
        return given
    return "" if given is None else number(given) if isinstance(given, bool | int | float) else str(given)


def _noted(draft: ImportedTest, sample: Mapping[str, Any]) -> None:
    if isinstance(sample.get("description"), str) and sample["description"]:
        draft.notes.append(sample["description"])
    metadata = sample.get("metadata")
    if isinstance(metadata, str):
        metadata = parsed(metadata.strip())
    if isinstance(metadata, Mapping):
        draft.describe(metadata)
    elif metadata not in (None, "", []):
        shown = metadata if isinstance(metadata, str) else json.dumps(metadata, ensure_ascii=False)
        draft.notes.append(f"metadata: {shown}")


def _score(draft: ImportedTest, scorer: Node, target: str | list[str]) -> None:
    name = scorer.text("name").removeprefix("inspect_ai/")
    options = scorer.value.get("options") if isinstance(scorer.value, Mapping) else None
    given = options if isinstance(options, Mapping) else {}
    shown = f"the scorer `{name}`"
    texts = [target] if isinstance(target, str) else target
    if name == "includes" and all(texts) and given.keys() <= {"ignore_case"}:
        folds = given.get("ignore_case", True) is not False
        draft.judges += promptfoo_assertions.present(texts, every=False, ignore_case=folds)
    elif name in ("model_graded_qa", "model_graded_fact") and all(texts):
        draft.judges.append({"rubric": _AGREES})
        draft.changed(shown, GRADED, scorer.place)
    else:
        near = {"exact": "exact", "f1": "token_f1", "match": "contains"}.get(name)
        advice = f"it compares otherwise than any judge here; --default-judge {near} is near" if near else ""
        draft.left(shown, advice or "no judge is like it; write one of your own", scorer.place)
