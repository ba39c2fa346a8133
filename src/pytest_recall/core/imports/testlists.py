"""Test lists of promptfoo: where a config has its tests, in itself, in files, and in scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_recall.core.errors import RecallError
from pytest_recall.core.imports.carry import Import
from pytest_recall.core.imports.document import Document, Node
from pytest_recall.core.imports.prompts import FILE, Read
from pytest_recall.core.imports.rows import row_test

_READ = (".yaml", ".yml", ".json", ".jsonl", ".csv")


@dataclass(frozen=True, kw_only=True)
class Test:
    """A test: what it says, over what it inherits from its scenario, outermost first."""

    layers: tuple[Node, ...]
    place: str
    varied: Node | None = None
    """The data of its scenario, which tell it from others of the same description."""


def tests_of(node: Node | None, read: Read, into: Import) -> Iterator[Test]:
    """Yield the tests of a list, of a file, or of a list of files; what cannot be read has a remark."""
    if node is None:
        return
    nodes = node.each() if isinstance(node.value, list) else (node,)
    for one in nodes:
        value = one.value
        if isinstance(value, Mapping) and isinstance(value.get("path"), str) and "vars" not in value:
            value = value["path"]
        if isinstance(value, str):
            yield from _file(value, one, read, into)
        else:
            yield Test(layers=(one,), place=one.place)


def listed(document: Document) -> Iterator[Test]:
    """Yield the tests of a file that holds nothing else."""
    for node in document.root.each():
        rows = document.name.endswith(".csv") and isinstance(node.value, Mapping)
        made = Node(row_test(node.value), document, node.path) if rows else node
        yield Test(layers=(made,), place=node.place)


def scenario_tests(config: Node, read: Read, into: Import) -> Iterator[Test]:
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
        tests = list(tests_of(node.get("tests"), read, into))
        if not sets:
            into.remark(node.place, "a scenario without a list `config`", "promptfoo runs none of its tests")
        for given in sets:
            for test in tests or [Test(layers=(), place=given.place)]:
                yield Test(layers=(given, *test.layers), place=test.place, varied=given.get("vars"))


def _file(reference: str, node: Node, read: Read, into: Import) -> Iterator[Test]:
    path = reference.removeprefix(FILE)
    what = f"the tests of `{reference[:80]}`"
    if "://" in path:
        into.remark(node.place, what, "nothing is fetched; save them as a CSV file, and name that")
        return
    if not path.endswith(_READ) or "*" in path:
        into.remark(node.place, what, "code, sheets and patterns are not read; write them into YAML, JSON or CSV files")
        return
    try:
        document = read(path, node.document)
    except RecallError as error:
        into.remark(node.place, what, error.messages[0])
        return
    if not isinstance(document.value, list):
        into.remark(node.place, what, "the file is no list of tests; write one")
        return
    yield from listed(document)
