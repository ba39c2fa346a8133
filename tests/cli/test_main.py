"""The command line as a whole: help, exit codes, and never a traceback."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_recall import __version__
from pytest_recall.cli import COMMANDS, add_commands, main
from pytest_recall.cli.arguments import Parser
from tests.cli.conftest import Recall
from tests.cli.samples import environment, recall


def options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """Yield each option of each command, with the command's words."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from options(inner)
        elif action.option_strings:
            yield parser.prog, action


def test_help_leads_through_the_commands(tmp_path: Path, inside: Recall) -> None:
    done = inside(tmp_path, "--help")
    assert (done.code, done.err) == (0, "")
    told = [line.split()[0] for line in done.out.splitlines() if line.startswith("    ") and line[4] != " "]
    assert [name for name in COMMANDS if name not in told] == []
    assert len(COMMANDS) <= 16
    assert "pytest -p recall eval" in done.out
    assert "exit codes: 0 success" in done.out
    assert inside(tmp_path, "--help", "state").out == done.out, "the word behind it is not looked at"


def test_no_command_shows_the_help_and_is_a_mistake(tmp_path: Path, inside: Recall) -> None:
    done = inside(tmp_path)
    assert done.code == 2
    assert done.out == inside(tmp_path, "--help").out


def test_version(tmp_path: Path) -> None:
    assert recall(tmp_path, "--version") == (0, f"pytest-recall {__version__}\n", "")


def test_the_version_needs_no_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("pytest_recall.cli.add_commands", None)
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"pytest-recall {__version__}\n"


def test_installed_command_is_the_module(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("recall")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == f"pytest-recall {__version__}\n"


def test_a_command_alone_that_takes_something_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["state"], ["bench"], ["compare"], ["state", "forget"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
        assert capsys.readouterr().out.startswith(f"usage: recall {' '.join(words)} ")


def test_options_that_mean_the_same_have_one_name() -> None:
    parser = Parser(prog="recall")
    add_commands(parser.add_subparsers())
    found = [(command, one.option_strings, one.help or "") for command, one in options(parser)]
    assert len(found) > 300
    for command, names, help_ in found:
        if help_.startswith("print JSON"):
            assert names == ["--json"], command
        if help_.startswith("print Markdown"):
            assert names == ["--markdown"], command
        if "-o" in names or "--out" in names:
            assert names == ["-o", "--out"], command
        if "at once" in help_:
            assert names == ["--concurrency"], command


def test_ctrl_c_is_one_sentence(project: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_recall.schedule.commands.place_of", stop)
    said = "recall: stopped; files that were written are complete; run the same command again\n"
    assert inside(project, "status") == (130, "", said)


def test_nothing_is_looked_for_below_very_many_folders(
    project: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "eval").rename(project / "evals")
    (project / "evals" / "rubric.yaml").touch()
    assert inside(project, "status").code == 0
    monkeypatch.setattr("pytest_recall.files.eval_directory.MOST_FOLDERS", 1)
    assert inside(project, "status").code == 2


@pytest.mark.parametrize("command", [("schedule", "select"), ("status",), ("check",)])
def test_a_link_to_itself_in_place_of_a_file(project: Path, command: tuple[str, ...], inside: Recall) -> None:
    path = project / "eval" / "cases.yaml"
    path.unlink()
    path.symlink_to(path)
    done = inside(project, *command)
    assert (done.code, done.out) == (1 if command == ("check",) else 2, "")
    assert done.err.startswith("recall: eval/cases.yaml: cannot be read (Too many levels of symbolic links)")


@pytest.mark.parametrize("name", ["rubric.yaml", "recall.yaml"])
@pytest.mark.parametrize("command", [("schedule", "select"), ("status",), ("check",)])
def test_a_directory_in_place_of_a_file(project: Path, command: tuple[str, ...], name: str, inside: Recall) -> None:
    (project / "eval" / name).unlink()
    (project / "eval" / name).mkdir()
    done = inside(project, *command)
    message = f"recall: eval/{name}: cannot be read (Is a directory); check that it is there and readable\n"
    assert done == (1 if command == ("check",) else 2, "", message)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["cases.yaml", "rubric.yaml", "recall.yaml"])
def test_no_permission(project: Path, name: str) -> None:
    (project / "eval" / name).chmod(0)
    done = recall(project, "check")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"recall: eval/{name}: cannot be read (Permission denied)")


BROKEN = (b"<<<<<<< ours\n", b"\x00\x01\xff", b"a: \x00", b"[" * 5_000, b"- !!python/none x\n")


@pytest.mark.parametrize("name", ["cases.yaml", "rubric.yaml", "recall.yaml"])
@pytest.mark.parametrize(
    ("command", "content"),
    [*((("check",), content) for content in BROKEN), (("schedule", "select"), BROKEN[0]), (("status",), BROKEN[0])],
)
def test_broken_files(project: Path, command: tuple[str, ...], name: str, content: bytes, inside: Recall) -> None:
    (project / "eval" / name).write_bytes(content)
    done = inside(project, *command)
    assert done.code == (1 if command == ("check",) else 2)
    assert done.out == ""
    assert all(line.startswith(f"recall: eval/{name}") for line in done.err.splitlines())


@pytest.mark.parametrize("arguments", [["schedule", "select"], ["check", "--schema", "cases"]])
def test_a_reader_that_has_seen_enough(ran: Path, arguments: list[str]) -> None:
    """As under `| head -1`: no one reads the output any more."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "pytest_recall", *arguments],
        cwd=ran,
        env=environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if not line.startswith("recall: pr ")] == []


@pytest.mark.parametrize(("arguments", "code"), [(["status"], 0), (["state", "show", "--at", "none"], 2)])
def test_streams_that_are_closed(ran: Path, arguments: list[str], code: int) -> None:
    command = shlex.join([sys.executable, "-m", "pytest_recall", *arguments])
    done = subprocess.run(
        ["sh", "-c", f"{command} >&-"], cwd=ran, env=environment(), stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert subprocess.run(["sh", "-c", f"{command} >&- 2>&-"], cwd=ran, env=environment()).returncode == code


@pytest.mark.parametrize(("encoding", "arguments"), [("ascii", ["status"]), ("cp1252", ["score", "--markdown"])])
def test_output_that_is_not_utf_8(
    ran: Path, encoding: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ran)
    # As a process has its streams with PYTHONIOENCODING.
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    for stream in (out, err):
        stream.seek(0)
    # There is a regression, which `score` says on standard error.
    assert code == int("score" in arguments)
    assert err.read().startswith("recall: this run blocks: ") == ("score" in arguments)
    assert "?" in out.read(), "what the encoding does not have"


@pytest.mark.parametrize("command", [("schedule", "select"), ("status",), ("check",)])
def test_other_case_files(project: Path, command: tuple[str, ...], inside: Recall) -> None:
    (project / "eval" / "more.yml").write_text("- id: more\n", encoding="utf-8")
    assert inside(project, *command).code == 0
    done = inside(project, *command, "--files", "*.yml")
    assert (done.code, done.out) == (1 if command == ("check",) else 2, "")
    assert done.err.startswith("recall: eval/more.yml:1: judges: is missing; add it\n")
