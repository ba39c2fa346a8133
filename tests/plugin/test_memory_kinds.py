"""Memories of a `conftest.py` and of plugins: `--memory NAME` selects them, and a fault of theirs is one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.project import BARE, WORKERS, Project, case

KIND = """\
from pytest_recall.ext import MemoryAdapter, MemoryForm, MemoryKind, Passage, hookimpl


class Shelf(MemoryAdapter):
    private = True

    def __init__(self, name):
        super().__init__(name)
        self.units = []

    def reset(self):
        self.units.clear()

    def store(self, content, metadata):
        self.units.append(Passage(text=content, source=metadata["id"]))

    def recall(self, query, limit, context):
        BROKEN
        return self.units[:limit]


def make(selector, context):
    return Shelf(selector.text)


@hookimpl
def pytest_recall_memories():
    return [MemoryKind(name="shelf", forms=(MemoryForm(about="the first texts"),), make=make)]
"""


def asking(case_id: str, **given: Any) -> dict[str, Any]:
    part = {"facts": ["Alice keeps bees"]}
    return case(case_id, memory=part, input="Who keeps bees?", expected="Alice", judges=["contains"], **given)


PROJECT = BARE.with_cases(asking("one"), asking("two"), asking("three"))


def with_kind(source: str = KIND.replace("        BROKEN\n", "")) -> Project:
    return PROJECT.with_files({"conftest.py": source})


@WORKERS
def test_a_memory_of_a_conftest_is_selected_by_its_name(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    checkout = with_kind().at(pytester)
    result = checkout.run("eval", "--memory", "shelf", *workers)
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert checkout.outcomes() == dict.fromkeys(("one", "two", "three"), "passed")
    lines = [line for line in result.outlines if line.startswith("memory shelf")]
    assert len(lines) == (2 if workers else 1)


@WORKERS
@pytest.mark.parametrize("where", [("-o", "testpaths=eval"), ("eval",)], ids=["testpaths", "argument"])
def test_the_conftest_may_be_beside_the_cases(
    pytester: pytest.Pytester, where: tuple[str, ...], workers: tuple[str, ...]
) -> None:
    checkout = PROJECT.with_files({"eval/conftest.py": KIND.replace("        BROKEN\n", "")}).at(pytester)
    result = checkout.run(*where, "--memory", "shelf", *workers)
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()


def test_the_rubric_names_it_as_well(pytester: pytest.Pytester) -> None:
    checkout = with_kind().with_files({"eval/rubric.yaml": "owner: us\nmemory: shelf\n"}).at(pytester)
    result = checkout.run("eval")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    result.stdout.fnmatch_lines(["memory shelf: stored *"])


def test_a_plugin_gives_one_as_well(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.with_files({"shelves.py": KIND.replace("        BROKEN\n", "")}).at(pytester)
    pytester.syspathinsert()
    result = checkout.run("eval", "-p", "shelves", "--memory", "shelf")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()


HOOK = "def pytest_recall_memories():\n    "
OF_CONFTEST = "the extension of *conftest.py is left out: `pytest_recall_memories` "


@WORKERS
@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (HOOK + "raise ValueError('x')", f"'shelf': no memory *; {OF_CONFTEST}has a fault (ValueError: x, *"),
        (HOOK + "yield 1 / 0", f"'shelf': no memory *; {OF_CONFTEST}has a fault (ZeroDivisionError: *"),
        (
            HOOK + "return 3",
            f"'shelf': no memory *; {OF_CONFTEST}has a fault (it returns int, and no *",
        ),
        (
            HOOK + "return ['shelf']",
            f"'shelf': no memory *; {OF_CONFTEST}has a fault (it lists str, and no *",
        ),
        (
            KIND.replace('name="shelf"', 'name="The shelf"'),
            f"'shelf': no memory *; {OF_CONFTEST}has a fault (*",
        ),
        (KIND.replace('"shelf", forms=(', '"shelf", forms=(3, '), f"'shelf': no memory *; {OF_CONFTEST}has a fault (*"),
        (KIND.replace("make=make", "make=make, options=('a',)"), f"'shelf': no memory *; {OF_CONFTEST}has a fault (*"),
        (
            KIND.replace("make=make", "make=make, read=lambda text: 3"),
            "the extension of *conftest.py: the memory `shelf` has a fault (`read` returns int, and no text)",
        ),
        (
            KIND.replace("return Shelf(selector.text)", "raise OSError('y')"),
            "the extension of *conftest.py: the memory `shelf` has a fault (OSError: y, *",
        ),
        (
            KIND.replace("return Shelf(selector.text)", "return 3"),
            "the extension of *conftest.py: the memory `shelf` has a fault (`make` returns int, and no MemoryAdapter)",
        ),
    ],
    ids=[
        "raises",
        "raises late",
        "no list",
        "no kinds",
        "name",
        "forms",
        "options",
        "read",
        "make raises",
        "make returns",
    ],
)
def test_a_fault_is_one_sentence_that_names_where_it_is(
    pytester: pytest.Pytester, source: str, sentence: str, workers: tuple[str, ...]
) -> None:
    checkout = with_kind(source).at(pytester)
    result = checkout.run("eval", "--memory", "shelf", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {sentence}"])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


def test_one_with_a_fault_takes_no_other_with_it(pytester: pytest.Pytester) -> None:
    checkout = with_kind(HOOK + "raise ValueError('x')").at(pytester)
    result = checkout.run("eval", "--memory", "sqlite-fts")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["the extension of *conftest.py is left out: `pytest_recall_memories` has a fault (*"])


@pytest.mark.parametrize("name", ["sqlite-fts", "bm25s", "https"])
def test_a_name_that_there_is_selects_neither(pytester: pytest.Pytester, name: str) -> None:
    checkout = with_kind(KIND.replace('"shelf"', f'"{name}"')).at(pytester)
    result = checkout.run("eval", "--memory", name)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = (line for line in result.errlines if line.startswith("ERROR: "))
    assert line.startswith(f"ERROR: `{name}` is a memory of ")
    assert all(package in line for package in ("pytest-recall", "conftest.py"))
    assert checkout.run("eval", "--memory", "last-3").ret == pytest.ExitCode.OK


def test_what_breaks_as_it_is_asked_is_an_error_of_the_case(pytester: pytest.Pytester) -> None:
    checkout = with_kind(KIND.replace("BROKEN", "raise KeyError('k')")).at(pytester)
    result = checkout.run("eval", "--memory", "shelf")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert set(checkout.outcomes().values()) == {"error"}
    assert "Traceback" not in result.stdout.str()
