"""GitLab: what a job's environment says, and the client of its REST API."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from pytest_recall.ext import Comment, Host, Job, RestClient, hookimpl
from pytest_recall.extensions.hosts.variables import commit_hash, path_in, web_address


@hookimpl
def pytest_recall_host(environ: Mapping[str, str], repo: str | None) -> Host | None:
    """Return the host of a job of GitLab."""
    if repo is not None or not _is_gitlab(environ):
        return None
    api, project = environ.get("CI_API_V4_URL") or "https://gitlab.com/api/v4", environ.get("CI_PROJECT_ID") or ""
    # The job's own token may not write notes.
    token = environ.get("GITLAB_TOKEN") or ""

    def connect(patience: float) -> GitLab:
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


class GitLab:
    """The project `project`, an id or a path, with the API at `url`. Close it."""

    def __init__(self, url: str, project: str, token: str, *, patience: float) -> None:
        headers = {"private-token": token, "user-agent": "pytest-recall"}
        self._client = RestClient(url, headers, token, "CI_API_V4_URL", patience=patience)
        self._project = f"/projects/{quote(project, safe='')}"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def login(self) -> str | None:
        """Return whose the token is; that of a project is a user's too."""
        return self._client.account("username")

    def comments(self, number: int) -> list[Comment]:
        """Return the notes on a merge request, the oldest first, without those that GitLab writes itself."""
        found = self._client.pages(f"{self._notes(number)}?per_page=100")
        with self._client.documented(f"GET {self._notes(number)}"):
            return sorted(
                Comment(
                    int(one["id"]), str(one["body"] or ""), str((one.get("author") or {}).get("username", "")), False
                )
                for one in found
                if not one.get("system")
            )

    def add_comment(self, number: int, body: str) -> None:
        """Write a note."""
        self._client.send("POST", self._notes(number), {"body": body})

    def edit_comment(self, number: int, comment: int, body: str) -> None:
        """Replace the text of a note."""
        self._client.send("PUT", f"{self._notes(number)}/{comment}", {"body": body})

    def delete_comment(self, number: int, comment: int) -> None:
        """Delete a note."""
        self._client.send("DELETE", f"{self._notes(number)}/{comment}")

    def _notes(self, number: int) -> str:
        return f"{self._project}/merge_requests/{number}/notes"
