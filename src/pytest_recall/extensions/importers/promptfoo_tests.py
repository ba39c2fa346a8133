"""Find the prompts and the tests of a promptfoo config: in itself, in files and in CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_recall.ext import Document, ImportedSet, ImportedTest, Node, RecallError
from pytest_recall.extensions.importers.promptfoo_assertions import separated
from pytest_recall.extensions.importers.templates import NotPlainError, fill, fill_all, parsed

FILE = "file://"
_SEPARATOR = re.compile(r"^[ \t]*---[ \t]*$", re.MULTILINE)
_TEXTS = (".txt", ".md", ".j2", ".json", ".yaml", ".yml")
AGENT = "the agent gets `input` as a mapping of the variables, and has to make the prompt"


@dataclass(frozen=True, kw_only=True)
class PromptTemplate:
    """A template of a prompt."""

    template: Any
    """Text or messages; None if it is not known here."""
    label: str
    """What tests call it."""
    place: str


def read_prompts(config: Node, into: ImportedSet) -> list[PromptTemplate]:
    """Return the prompts of a config, in their order; what cannot be read has no template, and a remark."""
    given = config.get("prompts")
    if given is None:
        return [PromptTemplate(template="{{prompt}}", label="", place=config.place)]
    nodes = list(given.each()) if isinstance(given.value, list) else [given]
    if isinstance(given.value, Mapping):
        nodes = [Node({"id": key, "label": node.value}, node.document, node.path) for key, node in given.items()]
    return [prompt for node in nodes for prompt in _prompts(node, into)]


def ask(
    draft: ImportedTest, prompt: PromptTemplate, given: Mapping[str, Any], prefix: str = "", suffix: str = ""
) -> str:
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
        draft.ask(messages)
        said = [one["content"] for one in messages if isinstance(one.get("content"), str)]
        return said[-1] if said else ""
    except NotPlainError:
        draft.fields["input"] = dict(given)
        if not given:
            draft.drop("has no variables, and no prompt that is known here", "write it by hand")
        draft.changed("a prompt that is more than `{{ name }}`", AGENT)
        return next((value for value in given.values() if isinstance(value, str)), "")


def _prompts(node: Node, into: ImportedSet) -> list[PromptTemplate]:
    value, label = node.value, ""
    if isinstance(value, Mapping):
        label = node.text("label")
        value = value.get("raw") or value.get("id")
        if "raw" not in node.value and isinstance(value, str) and not _names_file(value):
            into.remark(node.place, f"the prompt `{value[:40]}`", f"it is not in a file that is read; {AGENT}")
            return [PromptTemplate(template=None, label=label or value, place=node.place)]
    if not isinstance(value, str):
        into.remark(node.place, "a prompt that is not text", AGENT)
        return [PromptTemplate(template=None, label=label, place=node.place)]
    if not _names_file(value):
        return [PromptTemplate(template=messages_in(value), label=label or value, place=node.place)]
    path = value.removeprefix(FILE)
    try:
        if not path.endswith(_TEXTS):
            raise RecallError(f"{node.place}: `{value[:80]}` is code, or many files, and is not read")
        found = node.document.read(path)
        if FILE in json.dumps(found.value):
            raise RecallError(f"{node.place}: `{value[:80]}` refers to other files")
    except RecallError as error:
        into.remark(node.place, f"the prompt `{value[:80]}`", f"{_why(error)}; {AGENT}")
        return [PromptTemplate(template=None, label=label or value, place=node.place)]
    if isinstance(found.value, str):
        parts = [part.strip() for part in _SEPARATOR.split(found.value)] if path.endswith(".txt") else [found.value]
    else:
        parts = [json.dumps(found.value, ensure_ascii=False, separators=(",", ":"))]
    made = [part for part in parts if part]
    return [
        PromptTemplate(
            template=messages_in(part), label=label or value, place=f"{found.name}:1" if len(made) == 1 else node.place
        )
        for part in made
    ]


def messages_in(text: str) -> Any:
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


_READ = (".yaml", ".yml", ".json", ".jsonl", ".csv")


@dataclass(frozen=True, kw_only=True)
class Test:
    """A test: what it says, over what it inherits from its scenario, outermost first."""

    layers: tuple[Node, ...]
    place: str
    varied: Node | None = None
    """The data of its scenario, which tell it from others of the same description."""


def tests_of(node: Node | None, into: ImportedSet) -> Iterator[Test]:
    """Yield the tests of a list, of a file, or of a list of files; what cannot be read has a remark."""
    if node is None:
        return
    nodes = node.each() if isinstance(node.value, list) else (node,)
    for one in nodes:
        value = one.value
        if isinstance(value, Mapping) and isinstance(value.get("path"), str) and "vars" not in value:
            value = value["path"]
        if isinstance(value, str):
            yield from _file(value, one, into)
        else:
            yield Test(layers=(one,), place=one.place)


def listed(document: Document) -> Iterator[Test]:
    """Yield the tests of a file that holds nothing else."""
    for node in document.root.each():
        rows = document.name.endswith(".csv") and isinstance(node.value, Mapping)
        made = Node(row_test(node.value), document, node.path) if rows else node
        yield Test(layers=(made,), place=node.place)


def scenario_tests(config: Node, into: ImportedSet) -> Iterator[Test]:
    """Yield each test of each scenario, with each of its sets of data."""
    scenarios = config.get("scenarios")
    nodes = list(scenarios.each()) if scenarios else []
    if scenarios is not None and not isinstance(scenarios.value, list):
        nodes = [scenarios]
    for node in nodes:
        if not isinstance(node.value, Mapping):
            into.remark(node.place, "scenarios from a file", "write them into the config")
            continue
        for key in node.value.keys() - {"config", "tests"}:
            into.remark(node.place, f"`{key}` of a scenario", "write it into the cases, as `notes`")
        data = node.get("config")
        sets = list(data.each()) if data else []
        tests = list(tests_of(node.get("tests"), into))
        if not sets:
            into.remark(node.place, "a scenario without a list `config`", "promptfoo runs none of its tests")
        for given in sets:
            for test in tests or [Test(layers=(), place=given.place)]:
                yield Test(layers=(given, *test.layers), place=test.place, varied=given.get("vars"))


def _file(reference: str, node: Node, into: ImportedSet) -> Iterator[Test]:
    path = reference.removeprefix(FILE)
    what = f"the tests of `{reference[:80]}`"
    if "://" in path:
        into.remark(node.place, what, "nothing is fetched; save them as a CSV file, and name that")
        return
    if not path.endswith(_READ):
        into.remark(node.place, what, "code and sheets are not read; write them into YAML, JSON or CSV files")
        return
    try:
        document = node.document.read(path)
    except RecallError as error:
        into.remark(node.place, what, error.messages[0])
        return
    if "*" in path:
        for name in document.value:
            yield from _file(name, node, into)
        return
    if not isinstance(document.value, list):
        into.remark(node.place, what, "the file is not a list of tests; write one")
        return
    yield from listed(document)
