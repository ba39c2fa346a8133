"""Convert a promptfoo config with its prompts, tests and scenarios to cases."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_recall.ext import (
    MAX_CASES,
    MAX_TRIALS,
    Document,
    ImportedSet,
    ImportedTest,
    ImportOptions,
    Node,
    RecallError,
    slug,
    word,
)
from pytest_recall.extensions.importers.promptfoo_assertions import Assertion, mapped
from pytest_recall.extensions.importers.promptfoo_tests import (
    FILE,
    PromptTemplate,
    Test,
    ask,
    messages_in,
    read_prompts,
    scenario_tests,
    tests_of,
)
from pytest_recall.extensions.importers.templates import NotPlainError, fill, fill_all, is_template, parsed

_KNOWN = frozenset({"prompts", "tests", "scenarios", "defaultTest", "description", "evaluateOptions", "$schema"})
_ANSWERS = ("providers", "targets")
_PASSIVE = frozenset({"sharing", "outputPath", "tags", "env", "commandLineOptions", "assertionTemplates", "author"})
_VALUES = (".txt", ".md", ".j2", ".yaml", ".yml")
_GRADING = {"provider", "rubricPrompt", "factuality"}
_OPTIONS = {"prefix", "suffix", "disableVarExpansion", "disableDefaultAsserts"}
_TEST = {"description", "vars", "assert", "options", "threshold", "metadata", "prompts"}
_ASSERTION = {"type", "value", "threshold", "weight", "metric", "assert", "$ref"}
_SENT = "prompt_as_it_was_sent"
_JUDGED_BY = "the judging model is named by the rubric or by pytest's --judge"


def convert(document: Document, options: ImportOptions) -> ImportedSet:
    """Return what becomes of a config. Raises RecallError if it is none."""
    config = document.root
    if (results := _results(config)) is not None:
        return _of_results(config, results, options)
    if not isinstance(config.value, Mapping) or not {"tests", "scenarios", "prompts"} & config.value.keys():
        raise RecallError(
            f"{document.name}:1: is neither a promptfoo config, which has `prompts`, and `tests` or `scenarios`, nor"
            " results of one as JSON"
        )
    into = ImportedSet(options, word(config.text("description")) or "promptfoo")
    trials = _config(config, into)
    prompts = read_prompts(config, into)
    default = _default(config, into)
    found = itertools.chain(tests_of(config.get("tests"), into), scenario_tests(config, into))
    for test in found:
        _Maker(test, default, config, into, trials).add(prompts)
    return into


def _results(root: Node) -> Node | None:
    """Return the list of results in a file that `promptfoo eval -o results.json` has written; None for another file."""
    found = root.get("results")
    inner = found.get("results") if found is not None and isinstance(found.value, Mapping) else found
    return inner if inner is not None and isinstance(inner.value, list) else None


def _of_results(root: Node, results: Node, options: ImportOptions) -> ImportedSet:
    """Return what becomes of results: a case for each prompt that was sent, whichever providers answered it."""
    config = root.get("config")
    into = ImportedSet(options, word(config.text("description") if config else "") or "promptfoo")
    into.remark(
        root.place, "answers and scores of the results", "`agent` answers again, and judges score again", left=False
    )
    seen: set[str] = set()
    for node in results.each():
        test, prompt = node.get("testCase"), node.get("prompt")
        raw = "" if prompt is None else prompt.text("raw")
        key = json.dumps([raw, None if test is None else test.value], sort_keys=True)
        if test is None or not isinstance(test.value, Mapping) or not raw:
            into.remark(node.place, "a result without its `testCase` or `prompt.raw`", "write it by hand")
        elif key not in seen:
            seen.add(key)
            layers = [test]
            template = messages_in(raw)
            if is_template(raw):  # What was sent is none any more, and what is in a variable stays as it is.
                layers.append(Node({"vars": {_SENT: raw}}, test.document, test.path))
                template = f"{{{{{_SENT}}}}}"
            made = PromptTemplate(template=template, label="", place=node.place)
            _Maker(Test(layers=tuple(layers), place=node.place), None, root, into, 1).add([made])
    return into


def _config(config: Node, into: ImportedSet) -> int:
    """Note what of the config as a whole is not carried over; return how often each case is asked."""
    for key, node in config.items():
        if key in _ANSWERS:
            into.remark(
                node.place, f"`{key}`", "the fixture `agent` answers; put your own into conftest.py", left=False
            )
        elif key in _PASSIVE:
            into.remark(node.place, f"`{key}`", "says nothing about a test", left=False)
        elif key not in _KNOWN:
            into.remark(node.place, f"`{key}`", "there is nothing like it in a case file")
    options = config.get("evaluateOptions")
    repeat = options.get("repeat") if options else None
    for key, node in options.items() if options else ():
        if key != "repeat":
            into.remark(node.place, f"`evaluateOptions.{key}`", "is an option of a run here", left=False)
    if repeat is None:
        return 1
    if type(repeat.value) is int and 1 <= repeat.value <= MAX_TRIALS:
        return repeat.value
    into.remark(repeat.place, "`evaluateOptions.repeat`", "write `trials` into the cases")
    return 1


def _default(config: Node, into: ImportedSet) -> Node | None:
    node = config.get("defaultTest")
    if node is None or isinstance(node.value, Mapping):
        return node
    try:
        if isinstance(node.value, str) and node.value.startswith(FILE):
            found = node.document.read(node.value.removeprefix(FILE)).root
            if isinstance(found.value, Mapping):
                return found
        raise RecallError(f"{node.place}: is not a mapping")
    except RecallError as error:
        into.remark(node.place, "`defaultTest`", error.messages[0])
        return None


@dataclass
class _Maker:
    """One test, with what it inherits, on its way to a case for each prompt and each combination of variables."""

    test: Test
    default: Node | None
    config: Node
    into: ImportedSet
    trials: int

    def add(self, prompts: list[PromptTemplate]) -> None:
        """Add its cases."""
        layers = [layer for layer in (self.default, *self.test.layers) if layer is not None]
        whole = ImportedTest(place=self.test.place)
        if not all(isinstance(layer.value, Mapping) for layer in layers):
            whole.drop("is not a mapping", "write `vars` and `assert` for it")
            self.into.add(whole)
            return
        given: dict[str, Node] = {}
        options: dict[str, Node] = {}
        metadata: dict[str, Node] = {}
        for layer in layers:
            for part, merged in (("vars", given), ("options", options), ("metadata", metadata)):
                found = layer.get(part)
                if found is not None and not isinstance(found.value, Mapping):
                    whole.drop(f"`{part}` that are not a mapping", "write them out")
                merged.update(found.items() if found else ())
        if whole.dropped:
            self.into.add(whole)
            return
        own = [layer for layer in layers if layer is not self.default]
        plain = options.get("disableDefaultAsserts")
        asserting = own if plain is not None and plain.value is True else layers
        known = {key: node for layer in layers for key, node in layer.items()}
        chosen = self._chosen(prompts, known)
        combinations = list(self._combinations(given, options))
        for prompt, (values, suffix) in itertools.product(chosen, combinations):
            draft = ImportedTest(place=self.test.place)
            self._carry(draft, known, options, metadata)
            prefix, ending = (options[key].value if key in options else "" for key in ("prefix", "suffix"))
            text = ask(draft, prompt, values, _text(prefix), _text(ending))
            for key, value in values.items():
                if isinstance(value, str) and value.startswith(FILE):
                    draft.drop(f"the variable `{key}` is in a file that is not read", "write its value out")
            self._judge(draft, asserting, values)
            description = known["description"].value if "description" in known else ""
            label = slug(prompt.label, 30) if len(chosen) > 1 else ""
            told = "-".join(part for part in (self._data(), suffix, label) if part)
            draft.names = [("description", _text(description), told)]
            draft.names += [("variables", self._own(own, values), label), ("input", text, "")]
            draft.notes = [*([description.strip()] if isinstance(description, str) else []), *draft.notes]
            if self.trials > 1:
                draft.fields["trials"] = self.trials
            self.into.add(draft)

    def _data(self) -> str:
        values = self.test.varied.items() if self.test.varied else ()
        return "-".join(part for _, node in values if (part := slug(_text(node.value), 20)))

    def _own(self, own: list[Node], values: Mapping[str, Any]) -> str:
        """Return the texts of the variables that are not those of all tests."""
        names = {key for layer in own if (found := layer.get("vars")) for key, _ in found.items()}
        try:
            return " ".join(
                fill(values[key], values) for key in values if key in names and isinstance(values[key], str)
            )
        except NotPlainError:
            return ""

    def _chosen(self, prompts: list[PromptTemplate], known: Mapping[str, Node]) -> list[PromptTemplate]:
        wanted = known.get("prompts")
        if wanted is None:
            return prompts
        listed = wanted.value if isinstance(wanted.value, list) else [wanted.value]
        names = [name for name in listed if isinstance(name, str)]
        fits = [prompt for prompt in prompts if any(_refers(name, prompt.label) for name in names)]
        return fits or [PromptTemplate(template=None, label="", place=wanted.place)]

    def _combinations(
        self, given: Mapping[str, Node], options: Mapping[str, Node]
    ) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield the values of each combination of variables, and what it is called beside the others."""
        off = options.get("disableVarExpansion")
        several: dict[str, list[Any]] = {}
        for key, node in given.items():
            value = node.value
            expands = (
                isinstance(value, list) and value and isinstance(value[0], str) and not (off and off.value is True)
            )
            several[key] = value if expands else [self._value(node)]
        count = math.prod(map(len, several.values()))
        if count > MAX_CASES:
            raise RecallError(f"{self.test.place}: makes {count:,} cases of its variables; import it in parts")
        for values in itertools.product(*several.values()):
            made = dict(zip(several, values, strict=True))
            suffix = "-".join(slug(str(made[key]), 20) for key in several if len(several[key]) > 1)
            yield {key: v.removesuffix("\n") if isinstance(v, str) else v for key, v in made.items()}, suffix

    def _value(self, node: Node) -> Any:
        value = node.value
        # Of other kinds promptfoo takes the text as it stands in the file, runs it, or makes data of it.
        if not isinstance(value, str) or not value.startswith(FILE) or not value.endswith(_VALUES):
            return value
        try:
            found = node.document.read(value.removeprefix(FILE)).value
        except RecallError:
            return value  # It stays, and is said of each case.
        return found.strip() if isinstance(found, str) else json.dumps(found, ensure_ascii=False, separators=(",", ":"))

    def _carry(
        self, draft: ImportedTest, known: Mapping[str, Node], options: Mapping[str, Node], metadata: Mapping[str, Node]
    ) -> None:
        for key, node in known.items():
            if key == "threshold":
                draft.left(
                    "`threshold` of a test", "a weighted mean decides there; here every judge must pass", node.place
                )
            elif key not in _TEST:
                draft.left(f"`{key}` of a test", "there is nothing like it in a case", node.place)
        for key, node in options.items():
            if key == "transformVars":
                draft.drop("`options.transformVars`, which is code", "write out what the agent is asked")
            elif key in _GRADING:
                draft.left(f"`options.{key}`", _JUDGED_BY, node.place)
            elif key not in _OPTIONS:
                draft.left(f"`options.{key}`", "let the agent do it", node.place)
        draft.describe({key: node.value for key, node in metadata.items()})

    # Assertions

    def _judge(self, draft: ImportedTest, layers: list[Node], values: Mapping[str, Any]) -> None:
        metrics: set[str] = set()
        references: list[str] = []
        draft.judged = False
        for layer in layers:
            found = layer.get("assert")
            for node in found.each() if found else ():
                draft.judged = True
                self._assertion(draft, node, values, metrics, references)
            if found is not None and not isinstance(found.value, list):
                draft.left("`assert` that is not a list", "write a list", found.place)
        if len(set(references)) == 1:
            draft.fields["expected"] = references[0]
        names = {word(metric) for metric in metrics}
        if len(names) == 1 and "" not in names:
            draft.fields.setdefault("dimension", names.pop())
        elif names:
            draft.left("names of `metric`", "a case has one `dimension`, which is a word; split it, or choose one")

    def _assertion(
        self,
        draft: ImportedTest,
        node: Node,
        values: Mapping[str, Any],
        metrics: set[str],
        references: list[str],
        depth: int = 0,
    ) -> None:
        node = self._resolved(node)
        kind = node.text("type")
        if not kind or depth > 5:
            draft.left("an assertion without a `type`", "correct it first", node.place)
            return
        shown = f"the assertion `{kind}`"
        if isinstance(metric := node.value.get("metric"), str):
            metrics.add(metric)
        weight = node.value.get("weight")
        if weight == 0 and kind != "assert-set":  # A set that fails fails its test there, whatever its weight is.
            draft.left(f"{shown} of weight 0", "it decides nothing there; measure it elsewhere", node.place)
            return
        for key in node.value.keys() - _ASSERTION:
            if key in ("provider", "rubricPrompt"):
                draft.left(f"`{key}` of an assertion", _JUDGED_BY, node.place)
            else:
                draft.left(f"{shown} with `{key}`", "judges see the answer as it is; write one of your own", node.place)
                return
        if kind == "assert-set":
            self._set(draft, node, values, metrics, references, depth)
            return
        if weight not in (None, 1):
            draft.changed("`weight`", "it is of no account, since every judge must pass", node.place)
        made = self._made(node, kind, values)
        if isinstance(made, str):
            draft.left(shown, made, node.place)
            return
        result = mapped(made)
        if result.missing:
            draft.left(shown, result.missing, node.place)
            return
        if result.differs:
            draft.changed(shown, result.differs, node.place)
        draft.judges += list(result.judges)
        references += [] if result.reference is None else [result.reference]

    def _set(
        self,
        draft: ImportedTest,
        node: Node,
        values: Mapping[str, Any],
        metrics: set[str],
        references: list[str],
        depth: int,
    ) -> None:
        if node.value.get("threshold") not in (None, 1):
            draft.left(
                "an `assert-set` with a threshold", "there some of it is enough; here every judge must pass", node.place
            )
            return
        inner = node.get("assert")
        for one in inner.each() if inner else ():
            self._assertion(draft, one, values, metrics, references, depth + 1)

    def _made(self, node: Node, kind: str, values: Mapping[str, Any]) -> Assertion | str:
        value = node.value.get("value")
        inverse = kind.startswith("not-")
        kind = kind.removeprefix("not-")
        if isinstance(value, str) and value.startswith(FILE) and kind not in ("javascript", "python", "ruby"):
            try:
                value = node.document.read(value.removeprefix(FILE)).value
            except RecallError as error:
                return f"its file is not read: {error.messages[0]}"
            value = value.strip() if isinstance(value, str) else value
        try:
            value = value if kind in ("javascript", "python", "ruby") else fill_all(value, values)
        except NotPlainError:
            return "its value is a template that does more than name a variable; write it out"
        if kind == "is-json" and isinstance(value, str) and value.strip():
            value = parsed(value)
        threshold = node.value.get("threshold")
        bounded = threshold is not None and kind not in ("cost", "latency")
        if bounded and (type(threshold) not in (int, float) or not 0 <= threshold <= 1):
            return "its threshold is not from 0 to 1; correct it first"
        return Assertion(kind=kind, value=value, inverse=inverse, threshold=threshold)

    def _resolved(self, node: Node) -> Node:
        """Return what `$ref: '#/a/b'` stands for."""
        for _ in range(5):
            reference = node.text("$ref")
            if not reference.startswith("#/"):
                break
            found: Node | None = self.config
            for part in reference[2:].split("/"):
                found = found.get(part) if found else None
            if found is None:
                break
            extra = {key: value for key, value in node.value.items() if key != "$ref"}
            node = (
                Node({**found.value, **extra}, node.document, node.path) if isinstance(found.value, Mapping) else found
            )
        return node


def _refers(name: str, label: str) -> bool:
    return label == name or label.startswith(f"{name}:") or (name.endswith("*") and label.startswith(name[:-1]))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
