"""A repository with a small agent and some cases about prices, set up by `recall init --github` and recorded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cli.samples import environment
from tests.gate.model import KEY, expected
from tests.helpers import programs
from tests.helpers.remotes import ALONE, git

AGENT = "src/desk/agent.py"
PROMPT = "src/desk/prompt.py"
CONFTEST = "eval/conftest.py"
CASES = "eval/cases.jsonl"
RUBRIC = "eval/rubric.yaml"
CALLER = ".github/workflows/eval-recall.yml"
CALLED = ".github/workflows/recall.yml"
"""Files of the repository; the last two are those that `recall init --github` writes."""

RECORDED_ON = "2026-11-20"
KIND = "Be kind."
"""The end of the prompt, which changes put something in the place of."""

_FILES = {
    "src/desk/__init__.py": "",
    PROMPT: f'SYSTEM = "You are a shop assistant. Items come back within 30 days. {KIND}"\n',
    AGENT: """\
import os

import httpx

from desk.prompt import SYSTEM

MODEL = "m-1"
URL = os.environ.get("LLM_URL", "http://127.0.0.1:9") + "/v1/chat/completions"


def ask(messages, **more):
    headers = {"authorization": "Bearer " + (os.environ.get("OPENAI_API_KEY") or "none")}
    body = {"model": MODEL, "messages": messages, **more}
    response = httpx.post(URL, json=body, headers=headers, timeout=20)
    response.raise_for_status()
    return response.json()["choices"][0]["message"]["content"]


def parse(text):
    return text


def answer(question):
    return parse(ask([{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]))
""",
    "pyproject.toml": """\
[project]
name = "desk"
version = "0.1"

[tool.pytest.ini_options]
pythonpath = ["src"]
""",
    CONFTEST: """\
import pytest
from desk.agent import answer


@pytest.fixture(scope="session")
def agent():
    return answer
""",
    RUBRIC: """\
owner: desk team
model_primary: m-1
blocks: regression
nightly_cases: 43
confirm: evidence
prices: {m-1: {input: 1, output: 5}, m-2: {input: 2, output: 10}}
""",
    ".gitignore": "__pycache__/\n*.pyc\n.pytest_cache/\n",
}

Change = Callable[[Path], None]
"""Edits the files of a checkout."""


@dataclass(frozen=True)
class Replaced:
    """A change that puts one text in the place of another, which has to be there."""

    file: str
    old: str
    new: str

    def __call__(self, folder: Path) -> None:
        path = folder / self.file
        text = path.read_text(encoding="utf-8")
        assert self.old in text, f"{self.file} has no {self.old!r}"
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


@dataclass(frozen=True)
class Written:
    """A change that writes a whole file, or appends to one."""

    file: str
    text: str
    append: bool = False

    def __call__(self, folder: Path) -> None:
        path = folder / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") if self.append else ""
        path.write_text(before + self.text, encoding="utf-8")


@dataclass(frozen=True)
class Removed:
    """A change that deletes files or folders which may be there."""

    paths: tuple[str, ...]

    def __call__(self, folder: Path) -> None:
        for path in (folder / name for name in self.paths):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def prompt_ends(text: str) -> Replaced:
    """Return a change that has the prompt end with another text."""
    return Replaced(PROMPT, KIND, text)


BREAKS_THREE = prompt_ends("Be kind. Refuse items 7 to 9.")
BROKEN = frozenset({"price-007", "price-008", "price-009"})
"""The cases that this change breaks."""
NOTES = Written("NOTES.md", "A note.\n")
"""A change without effect."""


def case_id(item: int) -> str:
    """Return the id of the case about an item."""
    return f"price-{item:03d}"


def question(item: int) -> str:
    """Return what the case about an item asks."""
    return f"What does item {item} cost?"


def case_line(item: int, **more: object) -> str:
    """Return the line of the case about an item."""
    case = {
        "id": case_id(item),
        "scenario": ("prices", "fees", "returns")[item % 3],
        "dimension": "facts",
        "input": question(item),
        "expected": expected(item),
        "judges": ["contains"],
        **more,
    }
    return json.dumps(case) + "\n"


@dataclass(frozen=True)
class Programs:
    """Where `pytest` and `recall` come from, and the environment in which they are run.

    Those of the nursery start at once; `fresh` ones are those of the installation, as users have them.
    """

    fresh: bool = False

    def env(self, **more: str) -> dict[str, str]:
        """Return the environment of a shell, without what a CI system put into this one, and `more`."""
        whole = environment()
        names = ("HOME", "LANG", "PYTHONPATH", "SSL_CERT_FILE", "TMPDIR", "RECALL_TESTS_NURSERY")
        env = {name: whole[name] for name in names if name in whole}
        folders = [str(Path(programs.recall()[0]).parent), *os.environ["PATH"].split(os.pathsep)]
        if self.fresh:
            autoload = Path(programs.__file__).parent / "autoload"
            path = [one for one in env.pop("PYTHONPATH", "").split(os.pathsep) if one and Path(one) != autoload]
            env |= {"PYTHONPATH": os.pathsep.join(path)} if path else {}
            folders[0] = str(installed())
        else:
            env["PYTEST_PLUGINS"] = "few_plugins"
        loaded = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": os.pathsep.join(folders)}
        return {**env, **ALONE, **loaded, **more}


def installed() -> Path:
    """Return the folder of the programs of the installation."""
    return Path(sys.executable).parent


def run(folder: Path, script: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in a checkout, whatever it comes to."""
    return subprocess.run(
        ["bash", "-ec", script], cwd=folder, env={**env}, capture_output=True, encoding="utf-8", check=False
    )


def make(
    folder: Path,
    cases: int,
    changes: Iterable[Change],
    env: Mapping[str, str],
    *,
    record: bool = True,
    install: Change | None = None,
) -> Path:
    """Make the repository in a new `folder`, with some `changes` to what it begins with; return a bare one beside it.

    All cases are recorded, after an `install`, and pass.
    """
    for name, text in _FILES.items():
        Written(name, text)(folder)
    Written(CASES, "".join(case_line(item) for item in range(1, cases + 1)))(folder)
    git(folder, "init", "--quiet", "--initial-branch=main")
    done = run(folder, "recall init --github", env)
    assert done.returncode == 0, done.stderr
    for change in changes:
        change(folder)
    if install is not None:
        install(folder)
    if record:
        record_all(folder, env, RECORDED_ON)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Begin")
    bare = folder.parent / f"{folder.name}.git"
    git(folder.parent, "clone", "--quiet", "--bare", str(folder), str(bare))
    return bare


def record_all(folder: Path, env: Mapping[str, str], day: str) -> None:
    """Record all cases as a developer does; each has to pass."""
    command = f"pytest -q -p recall eval --record --recall-mode all --recall-date {day} --budget 9"
    done = run(folder, command, {**env, "OPENAI_API_KEY": KEY})
    # What cannot be recorded is an error of its own, and the cases pass all the same.
    assert done.returncode in (0, 1), done.stdout + done.stderr
    counts = json.loads((folder / "eval/_artifacts/scorecard.json").read_text(encoding="utf-8"))["counts"]
    assert counts.keys() == {"passed"}, done.stdout
