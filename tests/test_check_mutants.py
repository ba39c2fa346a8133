"""The script that changes code in small ways: what it changes, which changes no test notices, and its exit codes."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.helpers.repository import Repository
from tests.helpers.scripts import loaded

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "check-mutants.py"
SOURCE = '''\
"""A module."""

from __future__ import annotations


def fits(price: int, left: int) -> bool:
    """Whether a price fits."""
    return price <= left


class Shop:
    """It has a method."""

    def name(self, item: str) -> str:
        """Name an item."""
        if not item:
            return "nothing"
        return item


def asks(price: int) -> int:
    """Return a price, with what is asked on top."""
    return price + 1
'''
TESTS = """\
from toy.shop.prices import Shop, fits


def test_what_costs_less_fits_and_what_costs_more_does_not() -> None:
    assert fits(1, 2)
    assert not fits(3, 2)


def test_items_are_named() -> None:
    assert Shop().name("x") == "x"
"""
FILE = "src/toy/shop/prices.py"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, as a module, for a project of one module and its tests."""
    script = loaded(SCRIPT)
    for name, text in {
        FILE: SOURCE,
        "src/toy/__init__.py": "",
        "src/toy/shop/__init__.py": "",
        "tests/shop/test_prices.py": TESTS,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    Repository.at(tmp_path).commit()
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    return script


def test_what_no_test_notices_is_printed_with_its_line(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main([FILE, "--most", "60", "--jobs", "1"]) == 1
    assert (
        capsys.readouterr().out
        == f"""\
4 mutants of 1 module, for tests/shop

{FILE}:8
  - return price <= left
  + return price < left

{FILE}: none of these tests calls `asks` (2 mutants)

4 mutants: 3 survived (75.0%), 2 of them without a test.
Noticed: 0 by mypy, 1 by tests, 0 by the time limit.
"""
    )


def test_without_a_run_there_is_no_verdict(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(SystemExit, match="ended with exit code 1; the tests have to pass without a change"):
        script.main([FILE])


def test_each_mutant_is_a_change_of_one_line_and_not_of_a_string_alone(script: ModuleType) -> None:
    assert [(one.function, one.line, one.before, one.after) for one in script.mutants_of(Path(FILE), SOURCE)] == [
        ("fits", 8, ("    return price <= left",), ("    return price < left",)),
        ("Shop.name", 16, ("        if not item:",), ("        if item:",)),
        ("asks", 23, ("    return price + 1",), ("    return price - 1",)),
        ("asks", 23, ("    return price + 1",), ("    return price + 2",)),
    ]


def test_exit_codes_tell_what_survived_from_what_has_no_verdict(script: ModuleType) -> None:
    mutants = script.mutants_of(Path(FILE), SOURCE)
    statuses = {one.name: "killed" for one in mutants}
    assert script.report(mutants, statuses, 0) == 0
    survived = statuses | {mutants[0].name: "survived"}
    assert [script.report(mutants, survived, most) for most in (24, 25)] == [1, 0]
    assert script.report(mutants, statuses | {mutants[0].name: "segfault"}, 100) == 2


def test_a_draw_is_that_of_its_seed(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[list[str]] = []

    def run(folder: Path, files: object, tests: object, mutants: list[Any], jobs: object) -> dict[str, str]:
        drawn.append([one.name for one in mutants])
        return dict.fromkeys(drawn[-1], "killed")

    monkeypatch.setattr(script, "run", run)
    for seed in (1, 1, 2):
        assert script.main([FILE, "--sample", "2", "--seed", str(seed)]) == 0
    assert drawn[0] == drawn[1] != drawn[2]
    assert [len(names) for names in drawn] == [2, 2, 2]


@pytest.mark.parametrize("path", ["/", "src/toy/none.py", "src/toy/__init__.py"])
def test_a_path_with_nothing_to_change_is_a_usage_error(script: ModuleType, path: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        script.main([path])


def test_of_a_folder_the_modules_that_decide_are_changed() -> None:
    found = {path.name for path in loaded(SCRIPT).modules(SCRIPT.parent.parent / "src/pytest_recall/trials")}
    assert {"series.py", "detector.py"} < found
    assert not found & {"journal.py", "commands.py", "drive.py"}
