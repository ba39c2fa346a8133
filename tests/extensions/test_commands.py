"""Commands of other packages, in fresh processes: `recall NAME`, and what is wrong with one in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.extensions.test_entry_points import package, run

HEAD = "from pytest_recall.ext import Subcommand, RecallError, hookimpl\n\n\n"
COMMAND = """\
def add_arguments(parser):
    parser.add_argument("--run", type=int, default=1, help="how often")
    parser.add_argument("command")


def greet(args):
    BODY


@hookimpl
def pytest_recall_commands():
    return [Subcommand("NAME", "greet somebody, 100 %", add_arguments, greet)]
"""


def source(name: str = "greet", body: str = "print(args.command * args.run)\n    return 3") -> str:
    """Return the module of a package with a command."""
    return HEAD + COMMAND.replace("NAME", name).replace("BODY", body)


def test_a_command_of_a_package_is_one_of_recall(tmp_path: Path) -> None:
    package(tmp_path, "mine", source())
    assert run(tmp_path, "pytest_recall", "greet", "ho", "--run", "2") == (3, "hoho\n", "")
    code, out, error = run(tmp_path, "pytest_recall", "--help")
    assert (code, error) == (0, "")
    assert "greet somebody, 100 %" in out
    assert "how often" in run(tmp_path, "pytest_recall", "greet", "--help")[1]
    code, _, error = run(tmp_path, "pytest_recall", "gret", "ho")
    assert (code, "`greet`" in error) == (2, True)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (source("check"), "the command `check` of other is left out: pytest-recall has one of this name"),
        (source("greet"), "the command `greet` of other is left out: mine has one of this name"),
        (source("Greet it"), "the command `Greet it` of other is left out: its name is not of small letters"),
        (
            source("more").replace('"--run"', '"run", "x"'),
            "the command `more` of other is left out: ValueError: ",
        ),
        (
            HEAD + "@hookimpl\ndef pytest_recall_commands():\n    raise SystemExit(5)\n",
            "the extension of other is left out: `pytest_recall_commands` has a fault (SystemExit: 5, ",
        ),
        (
            HEAD + "@hookimpl\ndef pytest_recall_commands():\n    return ['x']\n",
            "the extension of other is left out: `pytest_recall_commands` has a fault (it lists str, and no Sub",
        ),
        ("import nothing_there", "the extension of other is left out: it cannot be loaded (ModuleNotFoundError"),
    ],
    ids=["built-in", "two", "name", "arguments", "raises", "returns", "import"],
)
def test_a_command_with_a_fault_takes_no_other_with_it(tmp_path: Path, other: str, sentence: str) -> None:
    package(tmp_path, "mine", source())
    package(tmp_path, "other", other)
    code, out, error = run(tmp_path, "pytest_recall", "greet", "ho")
    assert (code, out, error.count("\n")) == (3, "ho\n", 1)
    assert error.startswith(f"recall: {sentence}")
    assert run(tmp_path, "pytest_recall", "check", "--help")[0] == 0
    assert run(tmp_path, "pytest_recall", "--help")[0] == 0


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("raise RecallError('no', 'never')", "recall: no\nrecall: never\n"),
        ("raise SystemExit(0)", "recall: the command `greet` of mine has a fault (SystemExit: 0, "),
        ("open('not/there')", "recall: the command `greet` of mine has a fault (FileNotFoundError: "),
        ("return None", "recall: the command `greet` of mine has a fault (it returns NoneType, and no exit code)"),
    ],
    ids=["refusal", "exit", "within", "nothing"],
)
def test_a_fault_of_a_command_is_a_sentence(tmp_path: Path, body: str, sentence: str) -> None:
    package(tmp_path, "mine", source(body=body))
    code, out, error = run(tmp_path, "pytest_recall", "greet", "ho")
    assert (code, out) == (2, "")
    assert error.startswith(sentence)


def test_our_commands_load_no_extension(tmp_path: Path) -> None:
    package(tmp_path, "mine", "print('loaded')\n" + source())
    assert run(tmp_path, "pytest_recall", "--version")[1].startswith("pytest-recall")
    assert "loaded" not in run(tmp_path, "pytest_recall", "init", "--help")[1]
