"""A repository at GitHub with its pull requests, nights and merge queue, checked by the workflow that it has itself.

Each event runs the workflow as the commit that it is about has it: the steps that are shell are run with bash, in
checkouts as of `actions/checkout`, and the others are played. GitHub's API is on the loopback device.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from tests.gate.model import KEY, Call, ScriptedModel, item_of
from tests.gate.project import CALLED, CALLER, Change, Programs, case_id
from tests.gate.workflow import Job, Runner, Workflow
from tests.helpers.github import REPO, TOKEN, GitHub
from tests.helpers.remotes import ALONE, PERSON

Install = Callable[[Path], None]
"""Plays the step `Install` in a checkout."""
FORK = "mallory/desk"
FIRST_DAY = date(2026, 11, 22)
REQUIRED = "eval / result"
"""The check that branch rules require."""
_HOOK = """\
#!/bin/sh
while read -r old new ref; do
    while read -r pattern; do
        case "$ref" in $pattern) echo 'error: GH006: Protected branch update failed' >&2; exit 1;; esac
    done < "{rules}"
done
"""

NO_COMMIT = 40 * "0"
"""What GitHub names in the place of a commit where a branch was not there."""


class Verdict(StrEnum):
    """What a check says of a change."""

    GREEN = "green"
    RED = "red"
    WAITS = "waits for a reviewer"
    NOT_EVALUATED = "not evaluated"
    ENDED_EARLY = "the run did not come to its end"


@dataclass
class Pull:
    """A pull request: its branch, and the branch that it is to be merged into."""

    number: int
    branch: str
    base: str = "main"
    fork: bool = False


@dataclass
class Check:
    """A run of the workflow: for what, its jobs, what came to the model, and what people see of it."""

    event: str
    ref: str
    commit: str
    """The commit that is shown with the check: of a pull request the newest of its branch, not that of the merge."""
    jobs: dict[str, Job] = field(default_factory=dict)
    live: list[Call] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    scorecard: dict[str, Any] = field(default_factory=dict)
    pull: Pull | None = None
    attempt: Mapping[str, Any] = field(default_factory=dict)
    """What a job that runs again is given again."""
    runner: Runner | None = None
    """Has run the jobs, and those that wait are run by it later."""

    @property
    def verdict(self) -> Verdict:
        """What the required check says, and why if it is not green."""
        if self.jobs["result"].result == "success":
            return Verdict.GREEN
        if self.jobs["result"].waits:
            return Verdict.WAITS
        decided = self.jobs["run"].step("Decide")
        if decided is None:
            return Verdict.ENDED_EARLY
        return Verdict.RED if "regressed: " in decided.output else Verdict.NOT_EVALUATED

    @property
    def report(self) -> str:
        """What people read: the comments on the pull request, and the summaries of the jobs."""
        return "\n".join([*self.comments, *(job.summary for job in self.jobs.values())])

    @property
    def output(self) -> str:
        """What all jobs printed."""
        return "\n".join(job.output for job in self.jobs.values())

    @property
    def asked_cases(self) -> list[str]:
        """The ids of the cases about which the model was asked, sorted, each as often as it was."""
        return sorted(case_id(item_of(call.chat.question)) for call in self.live)

    def named(self, case_ids: Iterable[str]) -> list[str]:
        """Return which of the cases the report names, sorted."""
        return sorted(one for one in case_ids if one in self.report)

    def __str__(self) -> str:
        decided = self.jobs["run"].step("Decide")
        why = decided.output.strip() if decided else self.jobs["run"].output[-2000:]
        return f"{self.event} {self.ref}: {self.verdict}, {len(self.live)} live calls; {why}"


class World:
    """The repository of which `origin` is the bare one, and `dev` the clone of a developer."""

    def __init__(self, folder: Path, origin: Path, model: ScriptedModel, host: GitHub, programs: Programs) -> None:
        self.folder, self.origin, self.model, self.host, self.programs = folder, origin, model, host, programs
        self.day = FIRST_DAY
        self.variables: dict[str, str] = {}
        """Variables of every job, such as those of a runner of one's own."""
        self.repository: Mapping[str, Any] = {"full_name": REPO, "default_branch": "main"}
        """What each event says of the repository."""
        self.install: Install = lambda checkout: None
        self.pulls: dict[int, Pull] = {}
        self.environments: set[str] = set()
        """Environments with required reviewers."""
        self.checks: dict[str, Verdict] = {}
        """What the required check says, by the commit with which it is shown."""
        self._runs = 0
        self._number = 4
        self._rules = folder / "protected"
        self._rules.write_text("", encoding="utf-8")
        hook = origin / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(_HOOK.format(rules=self._rules), encoding="utf-8")
        hook.chmod(0o755)
        self.git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
        self.dev = folder / "dev"
        self.git(folder, "clone", "--quiet", origin.as_uri(), str(self.dev))

    # What developers do

    def git(self, folder: Path, *arguments: str) -> str:
        """Run git as a developer, at noon of the day, and return what it prints."""
        noon = f"{self.day}T12:00:00Z"
        dates = {"GIT_AUTHOR_DATE": noon, "GIT_COMMITTER_DATE": noon}
        env = {**os.environ, **PERSON, **ALONE, **dates}
        done = subprocess.run(["git", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout.strip("\n")

    def head(self, branch: str = "main") -> str:
        """Return the newest commit of a branch."""
        return self.git(self.origin, "rev-parse", f"refs/heads/{branch}")

    def text(self, path: str, ref: str = "main") -> str:
        """Return a file as a ref has it."""
        return self.git(self.origin, "show", f"{ref}:{path}")

    def archive(self, commit: str, path: str) -> bytes:
        """Return a folder of a commit as a tar file."""
        command = ["git", "archive", "--format=tar", commit, path]
        return subprocess.run(command, cwd=self.origin, stdout=subprocess.PIPE, check=True).stdout

    def protect(self, *patterns: str) -> None:
        """Let the refs of these shell patterns take no push from now on, and all others any."""
        self._rules.write_text("".join(f"{pattern}\n" for pattern in patterns), encoding="utf-8")

    def commit(
        self, branch: str, *changes: Change, start: str = "", message: str = "Change", force: bool = False
    ) -> str:
        """Commit some changes on a branch and push it; it begins at `start` instead of its own end, if that is inputs.

        Return the commit.
        """
        self.git(self.dev, "fetch", "--quiet", "--prune", "origin")
        self.git(self.dev, "switch", "--quiet", "--force-create", branch, start or f"origin/{branch}")
        for change in changes:
            change(self.dev)
        self.git(self.dev, "add", "--all")
        self.git(self.dev, "commit", "--quiet", "--allow-empty", "--message", message)
        self.push_dev(branch, force=force)
        return self.git(self.dev, "rev-parse", "HEAD")

    def push_dev(self, branch: str, *, force: bool = False) -> None:
        """Push what the developer has checked out, as that branch."""
        self.git(self.dev, "push", "--quiet", *(["--force"] if force else []), "origin", f"HEAD:refs/heads/{branch}")

    def open(self, branch: str, *changes: Change, base: str = "main", fork: bool = False) -> Pull:
        """Open a pull request with a commit on a new branch."""
        self._number += 1
        pull = self.pulls[self._number] = Pull(self._number, branch, base, fork)
        self.commit(branch, *changes, start=f"origin/{base}", message=f"Change for #{pull.number}")
        return pull

    def push(self, pull: Pull, *changes: Change, message: str = "More") -> None:
        """Push a further commit to a pull request."""
        self.commit(pull.branch, *changes, message=message)

    def force_push(self, pull: Pull, *changes: Change) -> None:
        """Push a commit on top of the base in the place of all that the branch has, so that it loses what CI pushed."""
        self.commit(pull.branch, *changes, start=f"origin/{pull.base}", force=True)

    def merge_base_into(self, pull: Pull) -> None:
        """Merge the base into the branch of a pull request."""
        self._on_branch(pull)
        self.git(self.dev, "merge", "--quiet", "--no-edit", f"origin/{pull.base}")
        self.push_dev(pull.branch)

    def rebase(self, pull: Pull) -> None:
        """Rebase the branch of a pull request onto its base, without what CI has committed to it."""
        self._on_branch(pull)
        since = f"origin/{pull.base}..HEAD"
        commits = self.git(self.dev, "log", "--reverse", "--no-merges", "--format=%H %ae", since).splitlines()
        self.git(self.dev, "reset", "--quiet", "--hard", f"origin/{pull.base}")
        for line in commits:
            commit, _, author = line.partition(" ")
            if not author.startswith("eval-bot@"):
                self.git(self.dev, "cherry-pick", "--allow-empty", commit)
        self.push_dev(pull.branch, force=True)

    def _on_branch(self, pull: Pull) -> None:
        self.git(self.dev, "fetch", "--quiet", "--prune", "origin")
        self.git(self.dev, "switch", "--quiet", "--force-create", pull.branch, f"origin/{pull.branch}")

    def squash(self, pull: Pull) -> str:
        """Merge a pull request as one commit, as the button does; return the commit."""
        base = self.head(pull.base)
        tree = self._merged_tree(base, self.head(pull.branch))
        assert tree, "it conflicts"
        commit = self.git(self.origin, "commit-tree", tree, "-p", base, "-m", f"{pull.branch} (#{pull.number})")
        self.git(self.origin, "update-ref", f"refs/heads/{pull.base}", commit, base)
        return commit

    def conflicts(self, pull: Pull) -> bool:
        """Whether a pull request cannot be merged as it is."""
        return not self._merged_tree(self.head(pull.base), self.head(pull.branch))

    def mergeable(self, pull: Pull) -> bool:
        """Whether the required check is green on the newest commit of a pull request, and it does not conflict."""
        return self.required(self.head(pull.branch)) is Verdict.GREEN and not self.conflicts(pull)

    def required(self, commit: str) -> Verdict | None:
        """Return what the required check says of a commit: that of a run, or the status that a job gave it."""
        states = [one["state"] for one in self.host.statuses.get(commit, []) if one["context"] == REQUIRED]
        if states:
            return {"success": Verdict.GREEN, "failure": Verdict.RED, "pending": Verdict.WAITS}[states[-1]]
        return self.checks.get(commit)

    def _merged_tree(self, base: str, head: str) -> str:
        """Return the tree of a merge; empty where it conflicts."""
        done = subprocess.run(
            ["git", "merge-tree", "--write-tree", base, head],
            cwd=self.origin, env={**os.environ, **ALONE}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 1), done.stderr
        return done.stdout.split()[0] if done.returncode == 0 else ""

    # What GitHub does

    def check(self, pull: Pull, action: str = "synchronize") -> Check:
        """Run the check of a pull request after an `action`: of the merge of its base with its newest commit."""
        head, base = self.head(pull.branch), self.head(pull.base)
        tree = self._merged_tree(base, head)
        assert tree, "no workflow runs for a pull request that conflicts"
        merge = self.git(self.origin, "commit-tree", tree, "-p", base, "-p", head, "-m", f"Merge {head} into {base}")
        self.git(self.origin, "update-ref", f"refs/pull/{pull.number}/merge", merge)
        source = FORK if pull.fork else REPO
        about = {"number": pull.number, "head": {"sha": head, "ref": pull.branch, "repo": {"full_name": source}}}
        about["base"] = {"sha": base, "ref": pull.base}
        variables = {
            "GITHUB_REF": f"refs/pull/{pull.number}/merge",
            "GITHUB_REF_NAME": f"{pull.number}/merge",
            "GITHUB_SHA": merge,
            "GITHUB_BASE_REF": pull.base,
            "GITHUB_HEAD_REF": pull.branch,
        }
        event = {"action": action, "number": pull.number, "pull_request": about}
        return self._begin("pull_request", variables, event, head, pull=pull, branch=pull.base)

    def pushed(self, branch: str = "main", before: str = NO_COMMIT) -> Check:
        """Run what a push to a branch starts, which was at the commit `before`."""
        content = {"ref": f"refs/heads/{branch}", "before": before}
        return self._begin("push", self._of_branch(branch), content, self.head(branch), branch=branch)

    def night(self) -> Check:
        """Let a night pass, and run what is scheduled."""
        self.day += timedelta(days=1)
        return self._begin("schedule", self._of_branch("main"), {"schedule": "17 3 * * *"}, self.head())

    def queued(self, pull: Pull) -> Check:
        """Put a pull request into the merge queue, and run its check there; `dequeue` merges it."""
        base = self.head(pull.base)
        tree = self._merged_tree(base, self.head(pull.branch))
        assert tree, "it conflicts"
        commit = self.git(self.origin, "commit-tree", tree, "-p", base, "-m", f"{pull.branch} (#{pull.number})")
        branch = f"gh-readonly-queue/{pull.base}/pr-{pull.number}-{base}"
        self.git(self.origin, "update-ref", f"refs/heads/{branch}", commit)
        of_queue = {"base_sha": base, "head_sha": commit, "base_ref": f"refs/heads/{pull.base}"}
        event = {"merge_group": {**of_queue, "head_ref": f"refs/heads/{branch}"}}
        return self._begin("merge_group", self._of_branch(branch), event, commit)

    def dequeue(self, check: Check) -> None:
        """Merge what the queue has checked."""
        base = check.ref.removeprefix("refs/heads/gh-readonly-queue/").rpartition("/pr-")[0]
        self.git(self.origin, "update-ref", f"refs/heads/{base}", check.commit)
        self.git(self.origin, "update-ref", "-d", check.ref)

    def again(self, check: Check) -> Check:
        """Run the jobs of a check again: of the same commit, with the same event."""
        return self._run(**check.attempt)

    def approve(self, check: Check, environment: str, login: str, comment: str = "") -> Check:
        """Have a reviewer approve the jobs of a check that wait for an environment, and run these."""
        self.host.approve(str(1000 + check.attempt["run"]), environment, login, comment)
        assert check.runner is not None
        return self._run_jobs(check.attempt, check.runner)

    def _of_branch(self, branch: str) -> dict[str, str]:
        variables = {"GITHUB_REF": f"refs/heads/{branch}", "GITHUB_REF_NAME": branch}
        return {**variables, "GITHUB_SHA": self.head(branch)}

    def _begin(
        self, event: str, variables: Mapping[str, str], content: Mapping[str, Any], shown: str,
        pull: Pull | None = None, branch: str = "main",
    ) -> Check:  # fmt: skip
        self._runs += 1
        workflow = self._workflow(variables["GITHUB_SHA"])
        assert workflow.starts(event, str(content.get("action", "")), branch), f"{event} starts no workflow"
        return self._run(event, variables, content, shown, pull, self._runs)

    def _workflow(self, commit: str) -> Workflow:
        return Workflow.read(self.text(CALLER, commit), self.text(CALLED, commit))

    def _run(
        self,
        event: str,
        variables: Mapping[str, str],
        content: Mapping[str, Any],
        shown: str,
        pull: Pull | None,
        run: int,
    ) -> Check:
        attempt = {"event": event, "variables": variables, "content": content, "shown": shown, "pull": pull, "run": run}
        folder = self.folder / f"run-{run}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "event.json").write_text(json.dumps({"repository": self.repository, **content}), encoding="utf-8")
        workflow = self._workflow(variables["GITHUB_SHA"])
        fork = pull is not None and pull.fork
        values = {"github.event_name": event, "github.token": TOKEN, "github.ref": variables["GITHUB_REF"]}
        values |= {"github.repository": REPO} if fork else {"github.repository": REPO, "secrets.OPENAI_API_KEY": KEY}
        values |= {"github.event.pull_request.head.repo.full_name": FORK if fork else REPO} if pull else {}
        env = self.programs.env(**{**self._env(event, variables, folder, run), **self.variables})
        play = partial(self._play, folder / "artifacts", variables)
        runner = Runner(folder, workflow.values(values), env, play, self.install, partial(self._is_approved, run))
        return self._run_jobs(attempt, runner)

    def _is_approved(self, run: int, environment: str) -> bool:
        given = self.host.approvals.get(str(1000 + run), ())
        return environment not in self.environments or any(one["state"] == "approved" for one in given)

    def _run_jobs(self, attempt: Mapping[str, Any], runner: Runner) -> Check:
        """Run the jobs that have not run yet."""
        variables, pull, shown = attempt["variables"], attempt["pull"], attempt["shown"]
        fork = pull is not None and pull.fork
        self.host.read_only, before = fork, len(self.model.calls)
        rules = self._rules.read_text(encoding="utf-8")
        if fork:
            self.protect("refs/*")
        try:
            for name, job in self._workflow(variables["GITHUB_SHA"]).jobs.items():
                if name not in runner.jobs or runner.jobs[name].waits:
                    runner.run(name, job)
        finally:
            self.host.read_only = False
            self._rules.write_text(rules, encoding="utf-8")
        check = Check(attempt["event"], variables["GITHUB_REF"], shown, {**runner.jobs}, self.model.calls[before:])
        check.pull, check.attempt, check.runner = pull, attempt, runner
        check.comments = self.host.bodies(pull.number) if pull else []
        if card := next(runner.folder.glob("artifacts/*/scorecard.json"), None):
            check.scorecard = json.loads(card.read_text(encoding="utf-8"))
        self.checks[shown] = check.verdict
        if check.verdict is not Verdict.WAITS:
            shutil.rmtree(runner.folder)
        return check

    def _env(self, event: str, variables: Mapping[str, str], folder: Path, run: int) -> dict[str, str]:
        noon = f"{self.day}T12:00:00Z"
        return {
            **variables,
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": REPO,
            "GITHUB_API_URL": self.host.url,
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_RUN_ID": str(1000 + run),
            "LLM_URL": self.model.url,
            "RECALL_DATE": str(self.day),
            "GIT_AUTHOR_DATE": noon,
            "GIT_COMMITTER_DATE": noon,
        }

    def _play(
        self, artifacts: Path, variables: Mapping[str, str], action: str, inputs: Mapping[str, str], folder: Path
    ) -> bool:
        """Do what an action does in the folder of a job; return whether it succeeded."""
        if action == "actions/setup-python":
            return True
        if action == "actions/checkout":
            self._check_out(folder, variables, inputs.get("fetch-depth", "1"))
            return True
        path, artifact = folder / inputs["path"], artifacts / inputs["name"]
        if action == "actions/upload-artifact":
            if path.is_dir():
                shutil.rmtree(artifact, ignore_errors=True)
                shutil.copytree(path, artifact, symlinks=False)
            return True
        assert action == "actions/download-artifact", action
        if not artifact.is_dir():
            return False
        shutil.copytree(artifact, path, dirs_exist_ok=True)
        return True

    def _check_out(self, folder: Path, variables: Mapping[str, str], depth: str) -> None:
        """Fetch a commit, or with the depth 0 all branches, and check the commit out as GitHub's action does."""
        ref = variables["GITHUB_REF"]
        branch = ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else ""
        tracked = f"refs/remotes/origin/{branch}" if branch else ref.replace("refs/", "refs/remotes/", 1)
        self.git(folder, "init", "--quiet", "--initial-branch=main")
        self.git(folder, "remote", "add", "origin", self.origin.as_uri())
        every = ["+refs/heads/*:refs/remotes/origin/*"] if depth == "0" else [f"--depth={depth}"]
        options = ["--quiet", "--no-tags", "--prune"]
        commit = f"+{variables['GITHUB_SHA']}:{tracked}"
        if depth == "0":
            self.git(folder, "fetch", *options, "origin", *every)
            self.git(folder, "fetch", *options, "origin", commit)
        else:
            self.git(folder, "fetch", *options, *every, "origin", commit)
        self.git(folder, "checkout", "--quiet", "--force", *(["-B", branch] if branch else []), tracked)
