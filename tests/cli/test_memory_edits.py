"""A memory is edited, and the same command is run again in a new process: the figure is that of the edited memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from pytest_recall.trials.journal import read_header
from tests.datasets.files import write_few
from tests.helpers import programs
from tests.helpers.persona import write_persona

PYTHON = """
import json, os, pathlib, re
import helper
HERE = pathlib.Path(__file__).parent
TOP = lambda: {top}
class Memory:
    private = True
    def reset(self): self.kept = []
    def store(self, content, metadata): self.kept.append((content, metadata["id"]))
    def recall(self, query, limit, context):
        words = set(re.findall("[a-z]+", query.lower()))
        best = sorted(self.kept, key=lambda one: -len(words & set(re.findall("[a-z]+", one[0].lower()))))
        return [{{"text": text, "source": id}} for text, id in best[:TOP()]]
"""
PROGRAM = """
import json, os, re, sys
from pathlib import Path
from types import MappingProxyType
N = 10
args, db = sys.argv[1:], Path("db.json")
text = args[-1]
kept = json.loads(db.read_text()) if db.exists() else []
if args[0] == "reset":
    kept = []
elif args[0] == "store":
    kept.append(text)
else:
    words = set(re.findall("[a-z]+", text.lower()))
    kept.sort(key=lambda one: -len(words & set(re.findall("[a-z]+", one.lower()))))
    print(json.dumps([{"memory": {"content": one}} for one in kept[:N]]))
    sys.exit()
db.write_text(json.dumps(kept))
"""
SERVER = """
from mcp.server.mcpserver import MCPServer
N = 10
server, kept = MCPServer("memory"), []
@server.tool()
def reset() -> None: kept.clear()
@server.tool()
def store(content: str, metadata: dict) -> None: kept.append({"text": content, "source": metadata["id"]})
@server.tool()
def recall(query: str, limit: int) -> list:
    words = set(query.lower().split())
    return sorted(kept, key=lambda one: -len(words & set(one["text"].lower().split())))[:N]
server.run()
"""


class Edit(NamedTuple):
    """What is written before the first command, and what is another one before the second."""

    memory: str
    files: Mapping[str, str]
    edited: Mapping[str, str] = MappingProxyType({})
    environ: Mapping[str, str] = MappingProxyType({})
    asks_again: bool = False


def python(top: str, **more: Any) -> Edit:
    files = {"own/flat.py": PYTHON.format(top=top), "own/helper.py": "N = 10\n", **more.pop("files", {})}
    return Edit("python:own/flat.py:Memory", files, **more)


def program(memory: str, where: str, files: dict[str, str], edited: str = "") -> Edit:
    text = files.get(where, "")
    return Edit(memory, files, {where: edited or text.replace("N = 10", "N = 1")}, asks_again=True)


EDITS = {
    "a prompt file": python(
        "int((HERE / 'prompts/top.txt').read_text())",
        files={"own/prompts/top.txt": "10"},
        edited={"own/prompts/top.txt": "1"},
    ),
    "a variable": python("int(os.environ.get('TOP', 10))", environ={"TOP": "1"}),
    "JSON settings": python(
        "json.load(open('settings.json'))['top']",
        files={"settings.json": '{"top": 10}'},
        edited={"settings.json": '{"top": 1}'},
    ),
    "an imported module": python("helper.N", edited={"own/helper.py": "N = 1\n"}),
    "a file among those of a folder": python(
        "1 if any((HERE / 'prompts').glob('*.md')) else 10",
        files={"own/prompts/x.txt": ""},
        edited={"own/prompts/one.md": ""},
    ),
    "a program that a memory runs": python(
        "int(__import__('subprocess').check_output(['sh', 'top.sh']))",
        files={"top.sh": "echo 10"},
        edited={"top.sh": "echo 1"},
        asks_again=True,
    ),
    "command:python -m": program(
        f"command:{sys.executable} -m pkg", "pkg/__main__.py", {"pkg/__init__.py": "", "pkg/__main__.py": PROGRAM}
    ),
    "a shell wrapper": program(
        "command:sh wrapper.sh",
        "program.py",
        {"wrapper.sh": f'exec {sys.executable} program.py "$@"\n', "program.py": PROGRAM},
    ),
    "a program on PATH": program(
        "command:my-memory", "bin/my-memory", {"bin/my-memory": f"#!{sys.executable}\n{PROGRAM}"}
    ),
    "mcp:python -m": program(
        f"mcp:{sys.executable} -m pkg", "pkg/__main__.py", {"pkg/__init__.py": "", "pkg/__main__.py": SERVER}
    ),
}


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Callable[..., str]:
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def run(*command: str, environ: Mapping[str, str] | None = None) -> str:
        argv = programs.recall(*command)
        env = {**os.environ, **state, **(environ or {})}
        done = subprocess.run(argv, capture_output=True, text=True, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def figures(out: str) -> tuple[float, int]:
    """Return how many tokens were returned on average, and how many questions are kept."""
    plain = json.loads(out)
    return plain["all"]["metrics"]["tokens_read"]["value"], plain["kept"]["questions"]


@pytest.mark.parametrize("name", EDITS)
def test_after_an_edit_the_figure_is_the_true_one(tmp_path: Path, run: Callable[..., str], name: str) -> None:
    if name.startswith("mcp"):
        pytest.importorskip("mcp")
    edit = EDITS[name]
    write(tmp_path, edit.files)
    write_few(tmp_path)
    reset = () if edit.memory.startswith("python") else ("--memory-reset",)
    command = ("memory", "run", "few.json", "--memory", edit.memory, *reset, "--json", "--out")
    first, kept = figures(run(*command, "o"))
    assert kept == 0
    # Of what can be seen all is as it was; of what cannot, that is not known.
    assert figures(run(*command, "o")) == (first, 0 if edit.asks_again else 7)
    write(tmp_path, edit.edited)
    second = figures(run(*command, "o", environ=edit.environ))
    assert second == figures(run(*command, "new", environ=edit.environ))
    assert second[0] < first


@pytest.mark.parametrize("name", ["a prompt file", "a variable", "a program that a memory runs", "command:python -m"])
def test_so_it_is_in_a_long_horizon_run(tmp_path: Path, run: Callable[..., str], name: str) -> None:
    edit = EDITS[name]
    write(tmp_path, edit.files)
    write_persona(tmp_path, days=4)
    reset = () if edit.memory.startswith("python") else ("--memory-reset",)
    command = ("bench", "run", "--persona", "clerk", "--memory", edit.memory, "--ranges", "4", *reset, "--out")

    def asked(folder: str, **more: Any) -> tuple[str, str]:
        out = run(*command, folder, **more)
        head, rest = out.split("\n", 1)
        return rest.replace(f"written to {folder}\n", ""), head.partition(" asked")[2]

    first, kept = asked("o")
    assert kept == ""
    again = "" if edit.asks_again else f", kept from {read_header(tmp_path / 'o').date}"
    assert asked("o") == (first, again)
    write(tmp_path, edit.edited)
    second = asked("o", environ=edit.environ)
    assert second == asked("new", environ=edit.environ)
    assert second != (first, "")
