"""Links: the address of a checkout's files at the commit of a build."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.runs.finish import commit_page, links
from tests.helpers.jobs import job_of

BUILD = {"GITHUB_REPOSITORY": "a/b", "GITHUB_SHA": "c0ffee"}


def test_the_address_names_repository_and_commit(tmp_path: Path) -> None:
    assert links(job_of(BUILD), tmp_path) == "https://github.com/a/b/blob/c0ffee"
    own = {**BUILD, "GITHUB_SERVER_URL": "https://git.example.org/"}
    assert links(job_of(own), tmp_path) == "https://git.example.org/a/b/blob/c0ffee"


def test_a_project_within_a_repository_has_its_folder_in_the_address(tmp_path: Path) -> None:
    below = tmp_path / "agents" / "my bot"
    below.mkdir(parents=True)
    env = {**BUILD, "GITHUB_WORKSPACE": str(tmp_path)}
    assert links(job_of(env), below) == "https://github.com/a/b/blob/c0ffee/agents/my%20bot"
    assert links(job_of(env), tmp_path) == links(job_of(BUILD), tmp_path)


def test_without_a_build_there_is_none(tmp_path: Path) -> None:
    assert links(job_of({}), tmp_path) == links(job_of({"GITHUB_SHA": "c0ffee"}), tmp_path) == ""


@pytest.mark.parametrize(
    ("env", "address"),
    [
        ({"GITHUB_REPOSITORY": "a/b"}, "https://github.com/a/b/commit/c0ffee"),
        (
            {"GITHUB_REPOSITORY": "a/b", "GITHUB_SERVER_URL": "https://git.example.org/"},
            "https://git.example.org/a/b/commit/c0ffee",
        ),
        ({"GITLAB_CI": "true", "CI_PROJECT_URL": "https://gitlab.com/a/b"}, "https://gitlab.com/a/b/-/commit/c0ffee"),
        ({"GITLAB_CI": "true", "CI_PROJECT_URL": "javascript:alert(1)"}, ""),
        ({}, ""),
    ],
)
def test_the_page_of_a_commit_is_that_of_the_host_of_the_job(env: dict[str, str], address: str) -> None:
    assert commit_page(job_of(env), "c0ffee") == address
    assert commit_page(job_of(env), "") == ""
