"""GitLab: what the environment of a job says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from pytest_recall.ext import Host, Job, hookimpl
from pytest_recall.extensions.hosts.variables import commit_hash, path_in, web_address

if TYPE_CHECKING:
    from pytest_recall.ext import HostClient


@hookimpl
def pytest_recall_host(environ: Mapping[str, str], repo: str | None) -> Host | None:
    """Return the host of a job of GitLab."""
    if repo is not None or not _is_gitlab(environ):
        return None
    api, project = environ.get("CI_API_V4_URL") or "https://gitlab.com/api/v4", environ.get("CI_PROJECT_ID") or ""
    # The job's own token may not write notes.
    token = environ.get("GITLAB_TOKEN") or ""

    def connect(patience: float) -> HostClient:
        from pytest_recall.extensions.hosts.gitlab_client import GitLab

        return GitLab(api, project, token, patience=patience)

    return Host(
        name="GitLab",
        job=_job(environ),
        repo=project,
        request_sign="!",
        token=token,
        token_variable="GITLAB_TOKEN",
        server=environ.get("CI_SERVER_URL") or "https://gitlab.com",
        user="oauth2",
        connect=connect,
    )


def _is_gitlab(environ: Mapping[str, str]) -> bool:
    """Whether variables are there that GitLab alone has: a container is often handed some of them."""
    has_some = any(name.startswith(("CI_MERGE_REQUEST_", "CI_PROJECT_")) for name in environ)
    return bool(environ.get("GITLAB_CI")) or (has_some and not environ.get("GITHUB_ACTIONS"))


def _job(environ: Mapping[str, str]) -> Job:
    number = environ.get("CI_MERGE_REQUEST_IID") or ""
    project = web_address(environ.get("CI_PROJECT_URL") or "") or ""
    base, sha = environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA"), environ.get("CI_COMMIT_SHA")
    source = environ.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID")
    return Job(
        number=int(number) if number.isdecimal() else None,
        commit=commit_hash(sha),
        branch=environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME") or environ.get("CI_COMMIT_BRANCH") or None,
        ref=environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME") or environ.get("CI_COMMIT_REF_NAME") or "",
        default_branch=environ.get("CI_DEFAULT_BRANCH") or "",
        base_refs=(base,) if base else (),
        is_scheduled=environ.get("CI_PIPELINE_SOURCE") == "schedule",
        fork=bool(source) and source != environ.get("CI_PROJECT_ID"),
        public=environ.get("CI_PROJECT_VISIBILITY") == "public",
        run=environ.get("CI_PIPELINE_ID") or "",
        url=web_address(environ.get("CI_PIPELINE_URL") or ""),
        files_url=f"{project}/-/blob/{quote(sha)}" if project and sha else "",
        commits_url=f"{project}/-/commit" if project else "",
        workspace=path_in(environ, "CI_PROJECT_DIR"),
    )
