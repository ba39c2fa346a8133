"""Prompts of promptfoo: the templates that a config names, and the question that one makes of a test's variables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_recall.core.errors import RecallError
from pytest_recall.core.imports.carry import Draft, Import, asked
from pytest_recall.core.imports.document import Document, Node, parsed
from pytest_recall.core.imports.template import NotPlainError, fill, fill_all

Read = Callable[[str, Document], Document]
"""Reads a file that a document refers to, by its path from the config's folder. Raises RecallError."""
FILE = "file://"
_SEPARATOR = re.compile(r"^[ \t]*---[ \t]*$", re.MULTILINE)
_TEXTS = (".txt", ".md", ".j2", ".json", ".yaml", ".yml")
AGENT = "the agent gets `input` as a mapping of the variables, and has to make the prompt"


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A template, text or messages; None if it is not known here. `label` is what tests call it."""

    template: Any
    label: str
    place: str


def read_prompts(config: Node, read: Read, into: Import) -> list[Prompt]:
    """Return the prompts of a config, in their order; what cannot be read has no template, and a remark."""
    given = config.get("prompts")
    if given is None:
        return [Prompt(template="{{prompt}}", label="", place=config.place)]
    nodes = list(given.each()) if isinstance(given.value, list) else [given]
    if isinstance(given.value, Mapping):
        nodes = [Node({"id": key, "label": node.value}, node.document, node.path) for key, node in given.items()]
    return [prompt for node in nodes for prompt in _prompts(node, read, into)]


def ask(draft: Draft, prompt: Prompt, given: Mapping[str, Any], prefix: str = "", suffix: str = "") -> str:
    """Make the question of a draft, and return its text, as far as it has one."""
    template = prompt.template
    try:
        if template is None:
            raise NotPlainError
        if isinstance(template, str):
            text = fill(prefix, given) + fill(template, given) + fill(suffix, given)
            if not text.strip():
                draft.drop("asks nothing", "give it a prompt with some text")
            draft.fields["input"] = text
            return text
        if prefix or suffix:
            raise NotPlainError
        messages = fill_all(template, given)
        asked(draft, messages)
        said = [one["content"] for one in messages if isinstance(one.get("content"), str)]
        return said[-1] if said else ""
    except NotPlainError:
        draft.fields["input"] = dict(given)
        if not given:
            draft.drop("has no variables, and no prompt that is known here", "write it by hand")
        draft.changed("a prompt that is more than `{{ name }}`", AGENT)
        return next((value for value in given.values() if isinstance(value, str)), "")


def _prompts(node: Node, read: Read, into: Import) -> list[Prompt]:
    value, label = node.value, ""
    if isinstance(value, Mapping):
        label = node.text("label")
        value = value.get("raw") or value.get("id")
        if "raw" not in node.value and isinstance(value, str) and not _names_file(value):
            into.remark(node.place, f"the prompt `{value[:40]}`", f"it is not in a file that is read; {AGENT}")
            return [Prompt(template=None, label=label or value, place=node.place)]
    if not isinstance(value, str):
        into.remark(node.place, "a prompt that is no text", AGENT)
        return [Prompt(template=None, label=label, place=node.place)]
    if not _names_file(value):
        return [Prompt(template=_messages(value), label=label or value, place=node.place)]
    path = value.removeprefix(FILE)
    try:
        if not path.endswith(_TEXTS):
            raise RecallError(f"{node.place}: `{value[:80]}` is code, or many files, and is not read")
        found = read(path, node.document)
        if FILE in json.dumps(found.value):
            raise RecallError(f"{node.place}: `{value[:80]}` refers to other files")
    except RecallError as error:
        into.remark(node.place, f"the prompt `{value[:80]}`", f"{_why(error)}; {AGENT}")
        return [Prompt(template=None, label=label or value, place=node.place)]
    if isinstance(found.value, str):
        parts = [part.strip() for part in _SEPARATOR.split(found.value)] if path.endswith(".txt") else [found.value]
    else:
        parts = [json.dumps(found.value, ensure_ascii=False, separators=(",", ":"))]
    made = [part for part in parts if part]
    return [
        Prompt(
            template=_messages(part), label=label or value, place=f"{found.name}:1" if len(made) == 1 else node.place
        )
        for part in made
    ]


def _messages(text: str) -> Any:
    """Return the messages of a template that is JSON, or the text."""
    if not text.lstrip().startswith("["):
        return text
    value = parsed(text)
    fits = isinstance(value, list) and value and all(isinstance(one, Mapping) and "role" in one for one in value)
    return value if fits else text


def _names_file(text: str) -> bool:
    if text.startswith(FILE):
        return True
    return "\n" not in text and "{{" not in text and text.endswith((*_TEXTS, ".py", ".js", ".ts", ".mjs", ".cjs"))


def _why(error: RecallError) -> str:
    return error.messages[0].partition(": ")[2].partition(";")[0] or error.messages[0]
