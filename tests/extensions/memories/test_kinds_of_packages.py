"""Memories of other packages, which commands find by their entry points, in fresh processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.extensions.test_entry_points import package, run

KIND = """\
from pytest_recall.ext import TIMEOUT_OPTION, MemoryAdapter, MemoryForm, MemoryKind, MemoryOption, Passage, hookimpl


class Shelf(MemoryAdapter):
    private = True

    def __init__(self, selector, context):
        super().__init__(selector.text)
        self.units = []

    def reset(self):
        self.units.clear()

    def store(self, content, metadata):
        self.units.append(Passage(text=content, source=metadata["id"]))

    def recall(self, query, limit, context):
        return self.units[:limit]


@hookimpl
def pytest_recall_memories():
    forms = (MemoryForm(about="the first texts"), MemoryForm(about="the same, sorted", target="ORDER", models="here"))
    odd = MemoryOption(name="odd", check=lambda value: 1 / 0)
    yield MemoryKind(name="NAME", forms=forms, options=(TIMEOUT_OPTION, odd), make=Shelf)
"""


def kind(name: str) -> str:
    return KIND.replace("NAME", name)


def recall(folder: Path, *command: str) -> tuple[int, str, str]:
    return run(folder, "pytest_recall", *command)


def test_a_memory_of_another_package_is_one_like_those_that_are_shipped(tmp_path: Path) -> None:
    package(tmp_path, "mine", kind("shelf"))
    code, out, error = recall(tmp_path, "memory", "check", "shelf", "--json")
    assert (code, error, json.loads(out)["same"]) == (0, "", 3)
    code, out, _ = recall(tmp_path, "memory", "list")
    lines = out.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("shelf:ORDER "))
    shown = [line.strip() for line in lines[at : at + 2]]
    assert (code, shown[0].endswith(" the same, sorted"), shown[1]) == (0, True, "options: ;timeout=, ;odd=")


def test_a_benchmark_asks_it_beside_another(tmp_path: Path) -> None:
    package(tmp_path, "mine", kind("shelf"))
    asked = ("memory", "run", "sample", "--dataset", "locomo", "--memory", "shelf:newest,last-3", "--json")
    code, out, _ = recall(tmp_path, *asked)
    assert code == 0
    found = json.loads(out)
    assert [one["memory"] for one in found["memories"]] == ["shelf:newest", "last-3"]
    assert [one["models"]["called"] for one in found["memories"]] == ["here", "none"]


def test_the_rubric_may_name_it(tmp_path: Path) -> None:
    package(tmp_path, "mine", kind("shelf"))
    assert recall(tmp_path, "init")[0] == 0
    rubric = tmp_path / "eval" / "rubric.yaml"
    rubric.write_text(rubric.read_text(encoding="utf-8") + "\nmemory: shelf\n", encoding="utf-8")
    assert recall(tmp_path, "check")[0] == 0
    rubric.write_text(rubric.read_text(encoding="utf-8").replace(": shelf", ": shelv"), encoding="utf-8")
    code, _, error = recall(tmp_path, "check")
    assert (code, "memory: 'shelv': no memory is selected like this; did you mean `shelf`?" in error) == (1, True)


@pytest.mark.parametrize(
    ("selector", "sentence"),
    [
        ("shelv", "'shelv': no memory is selected like this; did you mean `shelf`?"),
        ("shelf:", "'shelf:': there is nothing after the colon; write `shelf:ORDER`"),
        ("shelf;timeout=0", "'shelf;timeout=0': '0' is not a number of seconds above 0, or a time like 90s or 500ms"),
        ("shelf;oddly=1", "'shelf;oddly=1': unknown option `oddly`; did you mean `odd`?"),
    ],
)
def test_its_selectors_are_checked_by_what_it_says(tmp_path: Path, selector: str, sentence: str) -> None:
    package(tmp_path, "mine", kind("shelf"))
    assert recall(tmp_path, "memory", "check", selector) == (2, "", f"recall: {sentence}\n")


@pytest.mark.parametrize(
    ("source", "selector", "sentence"),
    [
        (kind("shelf"), "shelf;odd=1", "the extension of mine: the memory `shelf` has a fault (ZeroDivisionError: "),
        (kind("shelf").replace("yield", "return"), "shelf", ""),
        ("import nothing", "shelf", "the extension of mine is left out: it cannot be loaded (ModuleNotFoundError: "),
        (kind("last"), "last-3", "`last` is a memory of pytest-recall and of mine; remove one of them"),
    ],
    ids=["check", "one", "import", "name"],
)
def test_a_fault_names_the_package(tmp_path: Path, source: str, selector: str, sentence: str) -> None:
    package(tmp_path, "mine", source)
    code, _, error = recall(tmp_path, "memory", "check", selector)
    assert (code, error.count("\n"), sentence in error) == ((2, 1, True) if sentence else (0, 0, True))


def test_one_with_a_fault_is_named_and_takes_no_other_with_it(tmp_path: Path) -> None:
    package(tmp_path, "mine", "raise ValueError('x')")
    code, _, error = recall(tmp_path, "memory", "check", "last-3")
    assert (code, error.count("\n")) == (0, 1)
    assert error.startswith("recall: the extension of mine is left out: it cannot be loaded (ValueError: x, ")


def test_a_name_of_two_packages_selects_neither_and_both_are_named(tmp_path: Path) -> None:
    package(tmp_path, "mine", kind("shelf"))
    package(tmp_path, "theirs", kind("shelf"))
    sentence = "recall: `shelf` is a memory of mine and of theirs; remove one of them\n"
    assert recall(tmp_path, "memory", "check", "shelf") == (2, "", sentence)
    code, out, error = recall(tmp_path, "memory", "list")
    assert (code, "shelf" in out, error) == (0, False, sentence)
