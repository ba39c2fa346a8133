"""The year of a team: pull requests, a merge queue and nights in a real repository, by the steps of the workflow.

The steps are those of `templates/recall.yml`, read from the file and run with bash, as GitHub does; the repository has
a bare remote and two services with an eval set each, of which nothing is recorded, so that a change may affect each
case. What is asserted at every step: no check is green without evidence, no row differs from a replay of the nights,
and no verdict of a healthy case is older than the nights are sized for.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

from pytest_recall.schedule.boxes import fold, quarantine_of
from pytest_recall.schedule.selection import LONGEST_REST
from pytest_recall.schedule.state_file import parse_state
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.record import Record
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Outcome, Row
from tests.helpers.github import REPO, GitHub
from tests.helpers.remotes import clone, git, with_remote
from tests.helpers.workflow import Job

SERVICES = ("billing", "search")
PARTS = 4
STALE = 6
"""Days after which a verdict is stale: nights are sized so that none gets there while the provider is up."""

CONFTEST = """\
import json
import os
import pathlib

import pytest

HERE = pathlib.Path(__file__).parent
SKIPPED = os.environ.get("YEAR_SKIPS", "").split()


@pytest.fixture
def agent(recall_case):
    def answer(question):
        if os.environ.get("YEAR_OUTAGE"):
            raise RuntimeError("401 invalid api key")
        if recall_case.id in SKIPPED:
            pytest.skip("its database is down")
        part = HERE.parent / "src" / f"{recall_case.tags[0]}.json"
        return "wrong" if recall_case.id in json.loads(part.read_text()) else question

    return answer
"""
MARKED = """\
import os

import pytest


@pytest.mark.recall("has-subtests")
def test_subtests(subtests):
    with subtests.test("one"):
        assert not os.environ.get("YEAR_SUBTEST")
"""
RUBRIC = """\
owner: team
nightly_cases: {night}
confirm: 2of3
no_verdict_allowed: {allowed}
"""


@dataclass
class Count:
    """What has happened, for the end of the play."""

    nights: int = 0
    pulls: int = 0
    red: int = 0
    outages: int = 0
    forks: int = 0
    oldest: int = 0
    by_merge: dict[str, int] = field(default_factory=dict)


class Year:
    """A team of `pulls` pull requests a day, from `first` on. All is drawn by `seed`."""

    def __init__(
        self, folder: Path, host: GitHub, first: date, *, seed: int = 1, cases: int = 20, pulls: int = 2
    ) -> None:
        self.folder, self.host, self.day = folder, host, first
        self.first = first
        self.draw = random.Random(seed)
        self.pulls = pulls
        self.ids = [f"case-{number:03}" for number in range(cases)]
        self.night = -(-(cases + 1) // (STALE - 2))
        self.rows: dict[str, dict[str, Row]] = {service: {} for service in SERVICES}
        self.down: dict[str, set[date]] = {service: set() for service in SERVICES}
        self.count = Count()
        self._number = 0
        self._jobs = 0
        work = folder / "work"
        for service in SERVICES:
            self._write(work / service, allowed=2 if service == "search" else 0)
        (work / ".gitignore").write_text("_artifacts/\n__pycache__/\n", encoding="utf-8")
        (work / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        self.bare = with_remote(work)

    def _write(self, service: Path, allowed: int) -> None:
        (service / "eval").mkdir(parents=True)
        (service / "src").mkdir()
        rows = []
        for number, case_id in enumerate(self.ids):
            row = {"id": case_id, "scenario": "all", "dimension": "facts", "input": case_id, "expected": case_id}
            rows.append({**row, "judges": ["exact"], "tags": [f"part-{number % PARTS}"]})
        for part in range(PARTS):
            (service / "src" / f"part-{part}.json").write_text("[]\n", encoding="utf-8")
        rubric = RUBRIC.format(night=self.night, allowed=allowed)
        (service / "eval" / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        (service / "eval" / "rubric.yaml").write_text(rubric, encoding="utf-8")
        (service / "eval" / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        (service / "eval" / "test_marked.py").write_text(MARKED, encoding="utf-8")

    # A day

    def play(self, days: int, *, outages: tuple[int, ...] = (), skips: int = 0) -> Iterator[str]:
        """Play so many days, and yield a line for each; `outages` are days on which the provider refuses the key.

        From the second day on `skips` cases of one service skip.
        """
        for day in range(days):
            down = day in outages
            world = {"YEAR_OUTAGE": "1"} if down else {}
            if skips and day:
                world["YEAR_SKIPS"] = " ".join(self.ids[:skips])
            if day % 5 == 2:
                world["YEAR_SUBTEST"] = "1"
            self.nights(world, down=down)
            for _ in range(self.pulls):
                self.pull(world, down=down)
            self._check_ages(skips if day else 0)
            yield (
                f"{self.day}: {'the provider is down, ' if down else ''}{self.count.pulls} pull requests,"
                f" {self.count.red} red checks, oldest verdict {self.count.oldest} days"
            )
            self.day += timedelta(days=1)

    def nights(self, world: Mapping[str, str], *, down: bool) -> None:
        """Run the night of both services, whose pushes race."""
        told = {"GITHUB_EVENT_NAME": "schedule", "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main"}
        reports: dict[str, tuple[Job, Record, int]] = {}
        for service in SERVICES:
            of_both = self._of(service, world)
            run, record, code = self._evaluated(service, "main", {**told, **of_both})
            self._check_evidence(service, record, code, down=down)
            reports[service] = (self._report(run, service, {**told, **of_both}), record, code)
        pushed: dict[str, subprocess.CompletedProcess[str]] = {}
        threads = [
            threading.Thread(target=lambda name=name: pushed.update({name: reports[name][0].step("Commit the state")}))
            for name in SERVICES
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for service, (report, record, code) in reports.items():
            assert pushed[service].returncode == 0, pushed[service].stderr
            self._check_rows(service, record)
            done = report.step("Keep the issue about what fails")
            assert done.returncode == 0, done.stderr
            if down and code:
                bodies = [str(one["body"]) for one in self.host.issues.values() if one.get("state") == "open"]
                assert any("without a verdict" in body for body in bodies), bodies
            self.count.nights += 1
            shutil.rmtree(report.folder)

    def pull(self, world: Mapping[str, str], *, down: bool) -> None:
        """Open a pull request that may break cases of a part; merge it in the queue once its check is green."""
        self._number += 1
        self.count.pulls += 1
        service = self.draw.choice(SERVICES)
        part, breaks, is_fork = self.draw.randrange(PARTS), self.draw.random() < 0.4, self.draw.random() < 0.3
        branch = f"change-{self._number}"
        work = clone(self.bare, branch)
        git(work, "switch", "--quiet", "--create", branch)
        file = work / service / "src" / f"part-{part}.json"
        broken = self.ids[part::PARTS] if breaks else []
        file.write_text(json.dumps(broken) + "\n" * (1 + self._number % 2), encoding="utf-8")
        if not git(work, "status", "--porcelain"):
            shutil.rmtree(work)
            return
        self._commit(work, "A change")
        code = self._checked(service, work, branch, world, is_fork=is_fork, down=down)
        if breaks and not down:
            rows = self.rows[service]
            if any(case_id in rows and not rows[case_id].failing for case_id in broken):
                assert code == 1, "cases of the part that have passed are broken, and the change touches it"
            file.write_text("[]\n\n\n", encoding="utf-8")
            self._commit(work, "Mend it")
            code = self._checked(service, work, branch, world, is_fork=is_fork, down=down)
        if code == 0:
            self._merge(work, branch, service, world)
        shutil.rmtree(work)

    def _checked(
        self, service: str, work: Path, branch: str, world: Mapping[str, str], *, is_fork: bool, down: bool
    ) -> int:
        """Run the check of a pull request's newest commit, and return its exit code."""
        git(work, "push", "--quiet", "--force", "origin", branch)
        before = git(self.bare, "rev-parse", branch)
        event = self.folder / f"event-{self._number}.json"
        source = "mallory/fork" if is_fork else REPO
        head = {"sha": before, "repo": {"full_name": source}}
        event.write_text(json.dumps({"pull_request": {"number": self._number, "head": head}}), encoding="utf-8")
        told = {
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_HEAD_REF": branch,
            "GITHUB_BASE_REF": "main",
            "GITHUB_REF": f"refs/pull/{self._number}/merge",
            "GITHUB_EVENT_PATH": str(event),
        }
        of_both = self._of(service, world)
        run, record, code = self._evaluated(service, branch, {**told, **of_both})
        self._check_evidence(service, record, code, down=down)
        self.host.read_only = is_fork
        report = self._report(run, service, {**told, **of_both})
        done = report.step("Comment on the pull request")
        assert done.returncode == 0, done.stderr
        self.host.read_only = False
        self.count.forks += is_fork
        assert bool(self.host.comments.get(self._number)) is not is_fork  # It has no right to write.
        # Nothing is committed to a pull request.
        assert git(self.bare, "rev-parse", branch) == before
        shutil.rmtree(report.folder)
        return code

    def _merge(self, work: Path, branch: str, service: str, world: Mapping[str, str]) -> None:
        """Merge as a queue does: onto the newest main, squashed, rebased, or as a merge whose own check is green."""
        how = self.draw.choice(("merge", "squash", "rebase"))
        git(work, "fetch", "--quiet", "origin", "main")
        if how == "rebase":
            git(work, "rebase", "--quiet", "origin/main")
        git(work, "switch", "--quiet", "--detach", "origin/main")
        if how == "squash":
            git(work, "merge", "--quiet", "--squash", branch)
            if git(work, "status", "--porcelain"):
                self._commit(work, f"{branch} (#{self._number})")
        else:
            git(work, "merge", "--quiet", *(["--no-ff", "--no-edit"] if how == "merge" else ["--ff-only"]), branch)
        if how == "merge":
            group = f"queue-{self._number}"
            git(work, "push", "--quiet", "origin", f"HEAD:refs/heads/{group}")
            told = {"GITHUB_EVENT_NAME": "merge_group", "GITHUB_REF": f"refs/heads/{group}", "GITHUB_REF_NAME": group}
            run, record, code = self._evaluated(service, group, {**told, **self._of(service, world)})
            self._check_evidence(service, record, code, down=False)
            shutil.rmtree(run.folder)
            assert code == 0, "main and the change are sound"
        git(work, "push", "--quiet", "origin", "HEAD:main")
        self.count.by_merge[how] = self.count.by_merge.get(how, 0) + 1

    def _of(self, service: str, world: Mapping[str, str]) -> Mapping[str, str]:
        """Return what is so for a service: the cases of one alone skip."""
        return world if service == "search" else {name: told for name, told in world.items() if name != "YEAR_SKIPS"}

    def _commit(self, work: Path, message: str) -> None:
        git(work, "add", "--all")
        git(work, "commit", "--quiet", "--message", message)

    def _evaluated(self, service: str, branch: str, env: Mapping[str, str]) -> tuple[Job, Record, int]:
        """Run the job with the cases in a checkout of its own; return it, its journal and the code of its check."""
        self._jobs += 1
        folder = clone(self.bare, f"job-{self._jobs}", "--branch", branch)
        git(folder, "checkout", "--quiet", "--detach")
        job = self._job("run", folder, service, env)
        assert job.step("Install").returncode == 0
        done = job.step("Run")
        assert done.returncode == 0, done.stdout + done.stderr
        (run,) = (folder / service / "eval" / "_artifacts").glob("*/trials.jsonl")
        decided = job.step("Decide").returncode
        self.count.red += decided != 0
        return job, read_journal(run.parent), decided

    def _report(self, run: Job, service: str, env: Mapping[str, str]) -> Job:
        """Return the job after it, in a shallow checkout with the artifact."""
        folder = clone(self.bare, f"{run.folder.name}-report", "--depth=1")
        git(folder, "checkout", "--quiet", "--detach")
        artifacts = Path(service, "eval", "_artifacts")
        shutil.copytree(run.folder / artifacts, folder / artifacts, ignore=shutil.ignore_patterns(".*"))
        shutil.rmtree(run.folder)
        return self._job("report", folder, service, env)

    def _job(self, name: str, folder: Path, service: str, env: Mapping[str, str]) -> Job:
        values = {
            "inputs.directory": f"{service}/eval",
            "inputs.name": service,
            "inputs.install": "true",
            "inputs.fail-on": "rubric",
            "inputs.arguments": "-q",
            **dict.fromkeys(("secrets.OPENAI_API_KEY", "secrets.ANTHROPIC_API_KEY"), ""),
            "secrets.push-token || github.token": "",
            "inputs.state": "nightly",
        }
        noon = f"{self.day}T12:00:00Z"
        dates = {"RECALL_DATE": str(self.day), "GIT_AUTHOR_DATE": noon, "GIT_COMMITTER_DATE": noon}
        return Job(name, folder, values, **self.host.env(GITHUB_RUN_ID=str(self._jobs), **dates, **env))

    # What has to hold

    def _check_evidence(self, service: str, record: Record, code: int, *, down: bool) -> None:
        """A green check has asked cases, and each has a verdict; at night but for those that the rubric allows."""
        outcomes = {case_id: trial.outcome for case_id, trial in graded(record.trials).items()}
        chosen = {case_id for case_id, _ in record.header.picks}
        missing = sum(not outcomes[case_id].is_verdict if case_id in outcomes else True for case_id in chosen)
        allowed = 2 if service == "search" and not record.header.knows_change else 0
        if code == 0:
            assert chosen, "green, and nothing was asked"
            assert missing <= allowed, f"green, and {missing} of {len(chosen)} cases have no verdict"
            for one in graded(record.trials).values():
                if one.outcome is Outcome.FAILED and one.row is not None and not one.row.quarantined:
                    assert one.row.failing, f"green, and {one.case_id} has regressed"
        if down:
            self.down[service].add(self.day)
            self.count.outages += 1
            asked = chosen - {"has-subtests"}
            assert not any(outcomes.get(case_id, Outcome.ERROR).is_verdict for case_id in asked), "it was down"
            assert code == 1 or missing <= allowed, "an outage is green"

    def _check_rows(self, service: str, record: Record) -> None:
        """The rows on main are those that the verdicts of all nights come to, one after the other."""
        rows = self.rows[service]
        rows |= fold(rows, record.trials, self.day, quarantine_of(record.header))
        text = git(self.bare, "show", f"main:{service}/eval/recall.yaml") + "\n"
        assert parse_state(text, service).rows == rows

    def _check_ages(self, skips: int) -> None:
        """No verdict of a case that answers is older than the nights are for, but for days on which nothing did."""
        for service in SERVICES:
            if (self.day - self.first).days < STALE:
                continue  # The set is being asked for the first time.
            lost = sum(day > self.day - timedelta(days=2 * STALE) for day in self.down[service])
            stuck = set(self.ids[:skips]) if service == "search" else set()
            healthy = {*self.ids, "has-subtests"} - stuck
            assert healthy <= self.rows[service].keys(), "a healthy case was never asked"
            ages = [(self.day - self.rows[service][case_id].last_tested).days for case_id in healthy]
            self.count.oldest = max([self.count.oldest, *ages])
            assert max(ages) <= STALE + 2 * lost + LONGEST_REST * bool(lost), (service, ages)
