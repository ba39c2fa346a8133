"""Jobs of the workflow that `recall init` writes: their steps, read from the file and run with bash as GitHub does."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

import pytest_recall
from tests.cli.samples import environment
from tests.gate.workflow import Expression
from tests.helpers import programs
from tests.helpers.remotes import ALONE

TEMPLATES = Path(pytest_recall.__file__).parent / "templates"
SHELL = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
"""What GitHub runs a step with where the shell is bash."""


@functools.cache
def loaded(path: Path) -> Any:
    """Return the content of a YAML file, which is read once: to parse one takes as long as a step."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


class Job:
    """A job of the called workflow, in a checkout of its own; `values` are what its expressions come to.

    Those that begin with `github.` and are no value come to what `env` and its event say.
    """

    def __init__(self, name: str, folder: Path, values: Mapping[str, str], **env: str) -> None:
        self.job = loaded(TEMPLATES / "recall.yml")["jobs"][name]
        self.folder = folder
        self.values = {"inputs.directory": "eval", "inputs.name": "recall", "github.token": "ghs_1", **values}
        self.env = {
            **environment(),
            **ALONE,
            **env,
            "PATH": os.pathsep.join([str(programs.folder()), str(Path(sys.executable).parent), os.environ["PATH"]]),
            # What else is installed shows in no run.
            "PYTEST_PLUGINS": "few_plugins",
            "GITHUB_STEP_SUMMARY": str(folder.parent / f"{folder.name}-summary.md"),
            "GITHUB_OUTPUT": str(folder.parent / f"{folder.name}-output"),
        }

    def step(self, name: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a step as GitHub does."""
        (step,) = (step for step in self.job["steps"] if step.get("name") == name)
        given = {**self.job.get("env", {}), **step.get("env", {})}
        env = {key: self._filled(value, more) for key, value in given.items()}
        script = self.folder.parent / f"{self.folder.name}.sh"
        script.write_text(step["run"], encoding="utf-8")
        return subprocess.run(
            [*SHELL, script], cwd=self.folder, env={**self.env, **env}, capture_output=True, text=True, check=False
        )

    def _filled(self, text: str, more: Mapping[str, str]) -> str:
        values = {**self.values, **more}
        return re.sub(r"\$\{\{ (.+?) \}\}", lambda found: self._value(found[1], values), text)

    def _value(self, expression: str, values: Mapping[str, str]) -> str:
        if expression in values:
            return values[expression]
        known = {f"github.{name}": self.env.get(f"GITHUB_{name.upper()}", "") for name in ("actor", "repository")}
        known["github.event_name"] = self.env.get("GITHUB_EVENT_NAME", "")
        event = Path(self.env.get("GITHUB_EVENT_PATH", ""))
        pull = json.loads(event.read_text(encoding="utf-8")).get("pull_request") if event.is_file() else None
        if pull:
            known["github.event.pull_request.head.repo.full_name"] = pull["head"]["repo"]["full_name"]
        value = Expression(expression).value({**known, **values})
        return str(value).lower() if isinstance(value, bool) else str(value)

    @property
    def outputs(self) -> dict[str, str]:
        text = Path(self.env["GITHUB_OUTPUT"]).read_text(encoding="utf-8")
        return dict(line.split("=", 1) for line in text.splitlines())
