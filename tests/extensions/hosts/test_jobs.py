"""CI: what the environment of a job says, and what it cannot say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.registry import registry
from pytest_recall.runs.job import NO_JOB
from tests.helpers.jobs import host_of, job_of

SHA = "a" * 40
HEAD = "b" * 40
GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_REPOSITORY": "museum/desk",
    "GITHUB_SERVER_URL": "https://github.example",
    "GITHUB_API_URL": "https://github.example/api/v3",
    "GITHUB_RUN_ID": "12",
    "GITHUB_SHA": SHA,
    "GITHUB_TOKEN": "secret",
}


def pull(tmp_path: Path, source: Any = "museum/desk", **more: str) -> dict[str, str]:
    """Return the environment of a pull request from the repository `source`."""
    head = {"sha": HEAD, "repo": source and {"full_name": source}}
    path = tmp_path / "event.json"
    path.write_text(json.dumps({"pull_request": {"number": 7, "head": head}}), encoding="utf-8")
    told = {"GITHUB_EVENT_PATH": str(path), "GITHUB_REF": "refs/pull/8/merge", "GITHUB_HEAD_REF": "feature"}
    return {**GITHUB, **told, **more}


def test_a_pull_request(tmp_path: Path) -> None:
    host = host_of(pull(tmp_path, GITHUB_STEP_SUMMARY="summary.md", GITHUB_OUTPUT="outputs"))
    job = host.job
    assert (host.name, host.repo, host.token, job.number, job.commit) == ("GitHub", "museum/desk", "secret", 7, HEAD)
    assert (job.branch, job.fork, job.run) == ("feature", False, "12")
    assert host.server == "https://github.example"
    assert job.url == "https://github.example/museum/desk/actions/runs/12"
    assert (job.summary, job.outputs) == (Path("summary.md"), Path("outputs"))


@pytest.mark.parametrize("source", ["mallory/desk", None])
def test_a_fork(tmp_path: Path, source: str | None) -> None:
    assert job_of(pull(tmp_path, source)).fork


def test_dependabot_has_the_rights_of_a_fork(tmp_path: Path) -> None:
    assert job_of(pull(tmp_path, GITHUB_ACTOR="dependabot[bot]")).fork


def test_a_night() -> None:
    job = job_of({**GITHUB, "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main"})
    assert (job.number, job.commit, job.branch, job.fork) == (None, SHA, "main", False)


def test_a_tag_is_no_branch() -> None:
    assert job_of({**GITHUB, "GITHUB_REF": "refs/tags/v1", "GITHUB_REF_NAME": "v1"}).branch is None


def test_what_is_given_comes_first(tmp_path: Path) -> None:
    host = host_of(pull(tmp_path, GH_TOKEN="other"), "museum/shop")
    assert (host.repo, host.token) == ("museum/shop", "secret")


def test_outside_of_a_job() -> None:
    host = host_of({"GH_TOKEN": "secret"}, "museum/desk")
    assert (host.token, host.job.url, host.job.run) == ("secret", None, "")
    assert job_of({}) == NO_JOB


@pytest.mark.parametrize("repo", ["desk", "a/b/c", "a/b?x"])
def test_a_repository_that_is_none_is_left_out(repo: str) -> None:
    host = host_of({**GITHUB, "GITHUB_REPOSITORY": repo})
    assert (host.repo, host.job.files_url, host.job.commits_url) == ("", "", "")
    assert registry().host({}, repo) is None


@pytest.mark.parametrize(
    ("env", "host"),
    [
        ({"CI_MERGE_REQUEST_DIFF_BASE_SHA": "abc"}, "GitLab"),
        ({"CI_PROJECT_URL": "https://gitlab.com/a/b"}, "GitLab"),
        ({"CI_PROJECT_URL": "https://gitlab.com/a/b", "GITHUB_ACTIONS": "true"}, "GitHub"),
    ],
)
def test_a_container_is_handed_some_variables_of_gitlab(env: dict[str, str], host: str) -> None:
    assert host_of(env).name == host


@pytest.mark.parametrize(("event", "number"), [("{", None), ("[]", 8), ('{"pull_request": 3}', 8), ("{}", 8)])
def test_an_event_that_says_nothing(tmp_path: Path, event: str, number: int | None) -> None:
    env = pull(tmp_path)
    Path(env["GITHUB_EVENT_PATH"]).write_text(event, encoding="utf-8")
    if number is None:
        assert job_of(env).fault
        with pytest.raises(RecallError, match="GITHUB_EVENT_PATH: the file is not JSON"):
            _ = job_of(env).intact
    else:
        assert job_of(env).number == number


def test_nothing_from_outside_gets_into_the_links(tmp_path: Path) -> None:
    env = {**GITHUB, "GITHUB_SERVER_URL": "https://a.example/)[x](https://b.example", "GITHUB_SHA": "x y"}
    assert (job_of(env).url, job_of(env).commit) == (None, None)


def test_gitlab() -> None:
    env = {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": "https://gitlab.example/api/v4",
        "CI_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "feature",
        "CI_COMMIT_SHA": SHA,
        "CI_PIPELINE_ID": "12",
        "CI_PIPELINE_URL": "https://gitlab.example/museum/desk/-/pipelines/12",
        "CI_SERVER_URL": "https://gitlab.example",
        "GITLAB_TOKEN": "secret",
        "GITHUB_TOKEN": "other",
    }
    host = host_of(env)
    job = host.job
    assert (host.name, host.server, host.repo, host.token) == ("GitLab", "https://gitlab.example", "3", "secret")
    assert (job.number, job.branch, job.fork, job.run, job.commit) == (7, "feature", False, "12", SHA)
    assert job.url == "https://gitlab.example/museum/desk/-/pipelines/12"
    assert job_of({**env, "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "4"}).fork
