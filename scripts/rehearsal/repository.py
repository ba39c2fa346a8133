"""Repository: an app with its eval set in git, and the commands that a team and its CI run in it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path

from pytest_recall.files.eval_directory import Place
from pytest_recall.schedule.run_file import run_files
from pytest_recall.schedule.state import current
from pytest_recall.schedule.state_file import read_state
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.record import Record
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Outcome, Row

AGENT = '''\
"""The agent: what the app's prompts make of a model."""

import http.client
import json
import os
import pathlib

import pytest

APP = pathlib.Path(__file__).parents[1] / "app"


@pytest.fixture(scope="session")
def agent():
    model = http.client.HTTPConnection("127.0.0.1", int(os.environ["UPSTREAM"]))

    def ask(question):
        part = APP / question.partition("-case-")[0]
        system = " ".join(path.read_text(encoding="utf-8") for path in sorted(part.glob("*.md")))
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        model.request("POST", "/v1/chat/completions", json.dumps({"model": "made-up", "messages": messages}))
        return json.load(model.getresponse())["choices"][0]["message"]["content"]

    yield ask
    model.close()
'''
# What would speak of another run than the one that is played.
_FOREIGN = ("CI", "GIT", "PYTEST", "RECALL")


class StepFailedError(Exception):
    """A command did not do what it has to, or not in the way in which it has to; the text has its output."""


class Repository:
    """A git repository in `folder`, whose agent asks the model at `port`."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.app = folder / "app"
        self.recordings = 0
        """Merges in which both sides had recorded a case."""
        self._place = Place(folder, folder / "eval")
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)},
            **{f"GIT_{who}_NAME": "eval bot" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "eval-bot@example.org" for who in ("AUTHOR", "COMMITTER")},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "UPSTREAM": str(port),
        }

    def begin(self, rubric: str, tags: Mapping[str, Sequence[str]]) -> None:
        """Make it: an app with a folder for each tag, and cases that are asked by their ids."""
        common = {"scenario": "app", "dimension": "correctness", "expected": "right", "judges": ["exact"]}
        cases = (
            json.dumps({"id": case_id, "tags": [tag], "input": case_id, **common}) + "\n"
            for tag, ids in tags.items()
            for case_id in ids
        )
        self.write("eval/rubric.yaml", rubric)
        self.write("eval/cases.jsonl", "".join(cases))
        self.write("eval/conftest.py", AGENT)
        self.write(".gitignore", "__pycache__/\n")
        for tag in tags:
            self.write(f"app/{tag}/prompt.md", f"You know all about {tag}.\n")
        self.git("init", "-q", "-b", "main")
        self.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")  # As a clone knows it.
        self.git("config", "gc.auto", "0")  # It would go on in the background, and outlive us.
        self.git("config", "maintenance.auto", "false")
        self.commit("Begin")

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def git(self, *args: str) -> None:
        """Run git. Raises StepFailedError."""
        self._run("git", *args)

    def pytest(self, today: date, *args: str) -> Record | None:
        """Run the eval set and return its journal, None if nothing was chosen. Cases may fail.

        Raises StepFailedError for all else that is no verdict.
        """
        dated = ("--recall-date", today.isoformat())
        command = (
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "recall",
            "-p",
            "no:cacheprovider",
            "eval",
            *dated,
            *args,
        )
        done = self._run(*command, ok=(0, 1))
        runs = self._place.artifacts.runs()
        if not runs:
            return None
        record = read_journal(runs[-1])
        folder, second = self._place.artifacts.folder, len("2026-01-31T120000")
        # Their names are kept: a run in the same second gets another, which sorts after all of them.
        names = [one.name for one in folder.iterdir() if one.name[:second] == runs[-1].name[:second]]
        shutil.rmtree(folder)
        for name in names:
            (folder / name).mkdir(parents=True)
        outcomes = {case_id: trial.outcome for case_id, trial in graded(record.trials).items()}
        # A case that a recorded answer decides was not chosen, and has a verdict as well.
        is_whole = outcomes.keys() >= {case_id for case_id, _ in record.header.picks}
        has_failed = Outcome.FAILED in outcomes.values()
        if not (is_whole and all(one.is_verdict for one in outcomes.values()) and (has_failed or not done.returncode)):
            raise StepFailedError(_told(command, done))
        return record

    def commit(self, message: str) -> None:
        """Commit all that has changed, if anything has. Raises StepFailedError."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def merge(self, branch: str, *, squash: bool = False) -> bool:
        """Merge a branch into main; return whether its state had no conflict. Raises StepFailedError.

        It is deleted then, unless it becomes one commit by `squash`. Of a state that conflicts main's is kept. Of a
        case that both sides have recorded the branch's recording is kept: that it does not fit what both have changed,
        a replay finds.
        """
        how = ("--squash",) if squash else ("--no-ff", "--no-edit")
        done = self._run("git", "merge", "-q", *how, branch, ok=(0, 1))
        is_whole = True
        if done.returncode:
            told = self._run("git", "diff", "--name-only", "--diff-filter=U", "-z").stdout.split("\0")
            recorded = [name for name in told if name.endswith(".ndjson")]
            if recorded:
                self.recordings += 1
                self._take(branch, recorded)
            if others := [name for name in told if name and name not in recorded]:
                is_whole = False
                self._take("main", others)
        if done.returncode or squash:
            self.commit(f"Merge {branch}")
        if not squash:
            self.git("branch", "-q", "-D", branch)
        return is_whole

    def _take(self, branch: str, names: Sequence[str]) -> None:
        """Take files that conflict as a branch has them; one that it lacks goes."""
        # A trial that was asked again to confirm a fail has a recording on one side alone.
        there = self._run("git", "ls-tree", "-r", "--name-only", "-z", branch, "--", *names).stdout.split("\0")
        if kept := [name for name in names if name in there]:
            self.git("checkout", "-q", branch, "--", *kept)
        if gone := [name for name in names if name not in there]:
            self.git("rm", "-q", "--", *gone)

    def rows(self) -> dict[str, Row]:
        """Return the state of the checkout, run files included. Raises RecallError."""
        return dict(current(self._place).rows)

    def run_files(self) -> list[str]:
        """Return the names of the run files of the checkout. Raises RecallError."""
        return list(run_files(self._place.run_files))

    def folded(self) -> set[str]:
        """Return the names of the runs that the rows of the checkout hold. Raises RecallError."""
        return set(read_state(self._place.state, "recall.yaml").folded)

    def _run(self, *command: str, ok: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
        # In a group of its own, so that anyone who stops us can end it with all that it has started.
        try:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                process_group=0,
            )
        except OSError as error:
            raise StepFailedError(f"`{' '.join(command)}` was not started: {error.strerror}") from None
        try:
            output, _ = process.communicate()
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        done = subprocess.CompletedProcess(command, process.returncode, output)
        if done.returncode not in ok:
            raise StepFailedError(_told(command, done))
        return done


def _told(command: Sequence[str], done: subprocess.CompletedProcess[str]) -> str:
    return f"`{' '.join(command)}` ended with {done.returncode}:\n{done.stdout}"
