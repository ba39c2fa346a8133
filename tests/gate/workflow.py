"""Run the jobs of a GitHub workflow: its steps literally with bash, its expressions as far as ours have them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Value = Any
SHELL = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""What GitHub runs a step with where the shell is bash."""
_TOKEN = re.compile(r"\s*(?:('(?:[^']|'')*')|(&&|\|\||==|!=|[!(),])|([\w.-]+))")
_STATUS = re.compile(r"\b(always|success|failure|cancelled)\(\)")
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)


class Expression:
    """An expression of a workflow: names, strings, the four functions of status, `!`, `==`, `!=`, `&&` and `||`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = self._split(text)

    @staticmethod
    def _split(text: str) -> list[str]:
        tokens, place = [], 0
        text = text.strip()
        while place < len(text):
            token = _TOKEN.match(text, place)
            assert token is not None, f"this form of an expression is not known: {text[place:]!r}"
            tokens.append(token[0].strip())
            place = token.end()
        return tokens

    def value(self, values: Mapping[str, Value], ok: bool = True) -> Value:
        """Return what it comes to; a name that has no value is empty. `ok` says that nothing before has failed."""
        left = [*self._tokens]
        value = self._any(left, values, ok)
        assert not left, f"this form of an expression is not known: {self.text!r}"
        return value

    def _any(self, left: list[str], values: Mapping[str, Value], ok: bool) -> Value:
        value = self._all(left, values, ok)
        while left and left[0] == "||":
            left.pop(0)
            other = self._all(left, values, ok)
            value = value or other
        return value

    def _all(self, left: list[str], values: Mapping[str, Value], ok: bool) -> Value:
        value = self._compared(left, values, ok)
        while left and left[0] == "&&":
            left.pop(0)
            other = self._compared(left, values, ok)
            value = other if value else value
        return value

    def _compared(self, left: list[str], values: Mapping[str, Value], ok: bool) -> Value:
        value = self._one(left, values, ok)
        while left and left[0] in ("==", "!="):
            equal = left.pop(0) == "=="
            other = self._one(left, values, ok)
            value = (str(value).lower() == str(other).lower()) is equal
        return value

    def _one(self, left: list[str], values: Mapping[str, Value], ok: bool) -> Value:
        token = left.pop(0)
        if token == "!":
            return not self._one(left, values, ok)
        if token == "(":
            value = self._any(left, values, ok)
            assert left.pop(0) == ")"
            return value
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if left[:2] == ["(", ")"]:
            del left[:2]
            return {"always": True, "cancelled": False, "success": ok, "failure": not ok}[token]
        return values.get(token, "")


def holds(condition: str | None, values: Mapping[str, Value], *, ok: bool) -> bool:
    """Whether a job or a step with this `if:` runs; one that asks for no status runs as long as all is well."""
    if condition is None:
        return ok
    text = condition.strip()
    inner = _EXPRESSION.fullmatch(text)
    text = inner[1] if inner else text
    value = bool(Expression(text).value(values, ok))
    return value if _STATUS.search(text) else value and ok


def filled(text: Value, values: Mapping[str, Value]) -> str:
    """Return a text of a workflow with what its expressions come to."""
    if isinstance(text, bool):
        return str(text).lower()
    return _EXPRESSION.sub(lambda match: filled(Expression(match[1]).value(values), values), str(text))


class Step(NamedTuple):
    """What a step came to; `code` is its exit code, 0 of one that was played."""

    name: str
    code: int
    output: str


@dataclass
class Job:
    """A job that has run: its steps in their order, and the outputs of those that have an id.

    One that `waits` is to be approved by a reviewer of its environment.
    """

    name: str
    steps: list[Step] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    skipped: bool = False
    waits: bool = False
    summary: str = ""
    exported: dict[str, str] = field(default_factory=dict)

    @property
    def result(self) -> str:
        """`success`, `failure`, `skipped` or `waiting`."""
        if self.skipped or self.waits:
            return "skipped" if self.skipped else "waiting"
        return "failure" if any(step.code for step in self.steps) else "success"

    @property
    def output(self) -> str:
        """What all of its steps printed."""
        return "\n".join(step.output for step in self.steps)

    def step(self, name: str) -> Step | None:
        """Return the step of a name, None if it has not run."""
        return next((step for step in self.steps if step.name == name), None)


Played = Callable[[str, Mapping[str, str], Path], bool]
"""Plays a step that uses an action: its name, its inputs and the folder of the job; returns whether it succeeded."""


class Runner:
    """Runs jobs of a called workflow, each in a folder of its own below `folder`.

    `values` are what names in expressions come to, `env` is the environment of each job. `play` does what actions do,
    and `install`, which gets the folder of the job, what the step of that name does in the first job. A job of an
    environment runs once it is `approved`, which is asked with its name.
    """

    def __init__(
        self,
        folder: Path,
        values: Mapping[str, Value],
        env: Mapping[str, str],
        play: Played,
        install: Callable[[Path], None],
        approved: Callable[[str], bool] = lambda environment: True,
    ) -> None:
        self.folder, self.values, self.env, self._play, self._install = folder, dict(values), env, play, install
        self._approved = approved
        self.jobs: dict[str, Job] = {}

    def run(self, name: str, job: Mapping[str, Any]) -> Job:
        """Run a job after those that it needs; without their success it is skipped, unless its `if` says otherwise."""
        needs = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
        ran = self.jobs[name] = Job(name)
        if any(self.jobs[one].waits for one in needs):
            ran.waits = True
            return ran
        ok = all(self.jobs[one].result == "success" for one in needs)
        values = {**self.values, **{f"needs.{one}.result": self.jobs[one].result for one in needs}}
        for one in needs:
            values |= {f"needs.{one}.outputs.{key}": value for key, value in self.jobs[one].exported.items()}
        if not holds(job.get("if"), values, ok=ok):
            ran.skipped = True
            return ran
        if "environment" in job and not self._approved(filled(job["environment"], values)):
            ran.waits = True
            return ran
        folder = self.folder / name
        folder.mkdir(parents=True)
        for number, step in enumerate(job["steps"]):
            of_steps = {f"steps.{key}": value for key, value in ran.outputs.items()}
            self._step(ran, number, step, job.get("env", {}), {**values, **of_steps})
        of_steps = {f"steps.{key}": value for key, value in ran.outputs.items()}
        ran.exported = {key: filled(value, of_steps) for key, value in job.get("outputs", {}).items()}
        return ran

    def _step(self, job: Job, number: int, step: Mapping[str, Any], env: Mapping[str, str], values: Any) -> None:
        name = step.get("name") or step.get("uses", f"step {number}")
        if not holds(step.get("if"), values, ok=job.result == "success"):
            return
        folder = self.folder / job.name
        if name == "Install":
            if len(self.jobs) == 1:
                self._install(folder)
            return
        if action := step.get("uses"):
            inputs = {key: filled(value, values) for key, value in step.get("with", {}).items()}
            succeeded = self._play(action.partition("@")[0], inputs, folder)
            job.steps.append(Step(name, int(not succeeded), "" if succeeded else f"{action} failed"))
            return
        paths = {kind: self.folder / f"{job.name}-{number}.{kind}" for kind in ("sh", "output", "summary")}
        paths["sh"].write_text(step["run"], encoding="utf-8")
        files = {"GITHUB_OUTPUT": str(paths["output"]), "GITHUB_STEP_SUMMARY": str(paths["summary"])}
        variables = {key: filled(value, values) for key, value in {**env, **step.get("env", {})}.items()}
        done = subprocess.run(
            [*SHELL, str(paths["sh"])],
            cwd=folder,
            env={**self.env, **files, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        job.steps.append(Step(name, done.returncode, done.stdout))
        if paths["summary"].exists():
            job.summary += paths["summary"].read_text(encoding="utf-8")
        if "id" in step and paths["output"].exists():
            for line in paths["output"].read_text(encoding="utf-8").splitlines():
                key, _, value = line.partition("=")
                job.outputs[f"{step['id']}.outputs.{key}"] = value


@dataclass(frozen=True)
class Workflow:
    """A workflow that calls another one, as a commit has both."""

    caller: Mapping[Any, Any]
    called: Mapping[Any, Any]

    @classmethod
    def read(cls, caller: str, called: str) -> Workflow:
        """Return the workflow of the text of its files."""
        return cls(yaml.safe_load(caller), yaml.safe_load(called))

    @property
    def jobs(self) -> Mapping[str, Mapping[str, Any]]:
        """The jobs of the one that is called."""
        jobs: Mapping[str, Mapping[str, Any]] = self.called["jobs"]
        return jobs

    def starts(self, event: str, action: str = "", branch: str = "") -> bool:
        """Whether an event starts it; `branch` is that of a push, or the base of a pull request."""
        events = self.caller[True]  # YAML takes `on` for a boolean.
        if event not in events:
            return False
        wanted = events[event] or {}
        if event == "pull_request" and action not in wanted.get("types", ("opened", "synchronize", "reopened")):
            return False
        return event == "schedule" or "branches" not in wanted or branch in wanted["branches"]

    def values(self, known: Mapping[str, Value]) -> dict[str, Value]:
        """Return what the names of the called workflow come to where `known` are those of the caller's."""
        (job,) = self.caller["jobs"].values()
        declared = self.called[True]["workflow_call"]["inputs"]
        inputs = {name: about.get("default", "") for name, about in declared.items()}
        inputs |= {name: filled(value, known) for name, value in job.get("with", {}).items()}
        secrets = {f"secrets.{name}": filled(value, known) for name, value in job.get("secrets", {}).items()}
        public = {name: value for name, value in known.items() if not name.startswith("secrets.")}
        return {**public, **{f"inputs.{name}": value for name, value in inputs.items()}, **secrets}
