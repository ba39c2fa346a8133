"""What runs write down is facts: with each of our sentences changed, journals and scorecards are the same."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.project import DAY, Project, case, crashing, failing
from tests.helpers.repository import Repository
from tests.helpers.talking import agent, talking
from tests.helpers.upstream import Upstream

REWORDING = Path(__file__).parents[1] / "helpers/rewording"
RUBRIC = "owner: us\nmax_due_cases: 0\nbox_1_cases: 0\nnew_traffic_sample: 0\n"
PLUGINS = ("hypothesispytest", "rerunfailures", "asyncio")
OPTIONS = ("-p", "recall", "--recall-date", DAY, "--assert=plain", *(f"-pno:{one}" for one in PLUGINS))
STUB = """
from pytest_recall.models.model import Reply


class Stub:
    def ask(self, ask):
        return Reply(text='{"reasoning": "bad", "scores": {"requirement": 0}}')


model = Stub()
"""
"""A judging model."""
OF_A_RUN = {"run", "started", "seconds", "ended", "state", "ledger"}
"""Fields of what is another one in each run: its name, its times, and a digest of a file that has the former."""


class Shell:
    """A folder in which commands are run in processes of their own, in an environment of theirs."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.folder = folder
        own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        self.env = {**own, **env}
        self.commits: list[str] = []

    def write(self, project: Project) -> None:
        """Write the files of a project."""
        for name, text in project.files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def run(self, *command: str) -> str:
        """Run a module, and return what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        print(done.stdout, done.stderr)
        return done.stdout

    def eval(self, *options: str) -> str:
        """Run the eval set."""
        return self.run("pytest", *OPTIONS, "eval", *options)

    def stored(self) -> Iterator[tuple[str, Any]]:
        """Yield each journal and scorecard, in the order of the runs, without what is another one in each run."""
        for path in sorted((self.folder / "eval/_artifacts").glob("*/*.json*")):
            if path.name not in ("trials.jsonl", "scorecard.json"):
                continue
            text = path.read_text(encoding="utf-8")
            for number, commit in enumerate(self.commits):
                text = re.sub(rf"\b{commit[:7]}[0-9a-f]*\b", f"commit-{number}", text)
            lines = text.splitlines() if path.suffix == ".jsonl" else [text]
            yield path.name, [lasting(json.loads(line)) for line in lines]


History = Callable[[Shell, Upstream], None]


def lasting(value: Any) -> Any:
    """Return what JSON held, without what is another one in each run."""
    if isinstance(value, dict):
        return {name: lasting(inner) for name, inner in value.items() if name not in OF_A_RUN}
    return [lasting(one) for one in value] if isinstance(value, list) else value


def change(shell: Shell, upstream: Upstream) -> None:
    """A change of a branch that alters all requests, breaks a case, adds one that fails and takes one away."""

    def project(prompt: str, *more: dict[str, Any]) -> Project:
        cases = [case("a", judges=[{"regex": "say"}]), *(case(name, judges=[{"regex": "."}]) for name in "bc")]
        source = agent(f"\nreturn plain_sync(f'{prompt} {{question}}')")
        return talking(upstream, source).with_cases(*cases, *more)

    main = {"eval/rubric.yaml": RUBRIC, ".gitignore": "eval/_artifacts\n__pycache__\n"}
    shell.write(project("say", case("gone", judges=[{"regex": "."}])).with_files(main))
    repository = Repository.at(shell.folder)
    shell.eval("--record", "--recall-mode=all")
    shell.commits.append(repository.commit("Main"))
    repository.git("switch", "-qc", "feature")
    shell.eval("--recall-base", "main")
    shell.write(project("tell", case("new", judges=[{"regex": "nothing"}])).without("eval/rubric.yaml"))
    shell.commits.append(repository.commit("Change"))
    shell.eval("--recall-base", "main")
    shell.eval("--recall-base", "nowhere")
    shell.eval("--recall-base", "main", "--budget", "0.000001")
    shell.eval("--record=missing", "--recall-mode=all")


def outcomes(shell: Shell, upstream: Upstream) -> None:
    """Cases that pass, fail, crash, and that a judge without a calibration fails; quarantine, stops, shards."""
    source = agent("\nif question == 'crash':\n    raise RuntimeError('boom')\nreturn plain_sync(question)")
    files = {
        "eval/rubric.yaml": (
            "owner: us\nblocks: failure\n"
            "judge: {model: 'python:eval/stub.py:model', preflight: 'off', min_kappa: 0.9}\n"
        ),
        "eval/stub.py": STUB,
        "eval/test_other.py": "def test_one():\n    assert 0\n",
    }
    cases = [case("passes", judges=[{"regex": "."}]), failing("fails"), crashing("crashes")]
    judged = case("judged", judges=[{"rubric": "names the fee"}])
    shell.write(talking(upstream, source).with_cases(*cases, judged).with_files(files))
    shell.eval("--recall-mode=all", "--record")
    shell.run("pytest_recall", "state", "quarantine", "fails")
    shell.eval("--recall-mode=all", "-x")
    shell.eval("--recall-mode=all", "--replay")
    shell.eval("--recall-mode=all", "--budget", "0.000001")
    shell.eval("--recall-mode=all", "--recall-shard", "1/2")


MARKED = """
import pytest


@pytest.fixture
def missing():
    raise RuntimeError("no database")


@pytest.mark.recall("fixture")
def test_fixture(missing):
    pass


@pytest.mark.recall("expected")
@pytest.mark.xfail(reason="not yet")
def test_expected():
    assert 0


@pytest.mark.recall("parts")
def test_parts(subtests):
    for number in range(2):
        with subtests.test():
            assert number == 5
"""


def undecided(shell: Shell, upstream: Upstream) -> None:
    """A provider that fails, in one trial and in a series, a fixture that does, subtests, and a worker that dies."""
    source = agent("\nif question == 'dies':\n    import os\n    os._exit(3)\nreturn plain_sync(question)")
    names = ("broken", "dies")
    cases = [*(case(name, judges=[{"regex": "."}]) for name in names), case("series", input="broken", trials="2of3")]
    shell.write(talking(upstream, source).with_cases(*cases).with_files({"eval/test_marked.py": MARKED}))
    shell.eval("--recall-mode=all", "-k", "not dies")
    # With one worker, whose name is in the note.
    shell.eval("--recall-mode=all", "-n1", "-k", "dies")


def without_evidence(shell: Shell, upstream: Upstream) -> None:
    """A change of which a provider that fails, and an agent that asks no more, tell nothing."""

    def project(body: str) -> Project:
        return talking(upstream, agent(body)).with_cases(*(case(name, judges=[{"regex": "#"}]) for name in "ab"))

    shell.write(project("\nreturn plain_sync(f'say {question}')").with_files({"eval/rubric.yaml": RUBRIC}))
    repository = Repository.at(shell.folder)
    shell.eval("--record", "--recall-mode=all")
    shell.commits.append(repository.commit("Main"))
    repository.git("switch", "-qc", "feature")
    fails = "\ntry:\n    return plain_sync(f'broken {question}')\nexcept Exception:\n    return 'sorry'"
    shell.write(project(f"\nif question == 'a':\n    return '# of a cache'{fails}"))
    shell.commits.append(repository.commit("Change"))
    shell.eval("--recall-base", "main")


@pytest.mark.parametrize("history", [change, outcomes, undecided, without_evidence])
def test_sentences_may_change_and_what_is_stored_does_not(tmp_path: Path, upstream: Upstream, history: History) -> None:
    kept = []
    rewording = {"PYTHONPATH": str(REWORDING), "PYTHONPYCACHEPREFIX": str(tmp_path / "cache")}
    for name, env in ("plain", dict[str, str]()), ("reworded", rewording):
        upstream.bodies.clear()  # By whose number its answers are told apart.
        folder = tmp_path / "project"
        folder.mkdir()
        shell = Shell(folder, **env)
        history(shell, upstream)
        kept.append(list(shell.stored()))
        shutil.move(folder, tmp_path / name)
    assert len(kept[0]) >= 4
    for plain, reworded in zip(*kept, strict=True):
        assert _lines(reworded) == _lines(plain)


def _lines(stored: tuple[str, Any]) -> list[str]:
    return json.dumps(stored, indent=1).splitlines()
