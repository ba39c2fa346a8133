"""Read the environment of a CI job: its pull request and commit; and append to the summary of its step."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError

_REPO = re.compile(r"[\w.-]+/[\w.-]+")
_URL = re.compile(r"https?://[^\s<>()\[\]\"'`]+")
_PULL = re.compile(
    r"refs/(?:pull/(?=\d+/(?:merge|head))|heads/gh-readonly-queue/.+/pr-)(\d+)(?:/(?:merge|head)|-[0-9a-f]+)"
)
"""The refs of a pull request, and of one in a merge queue."""
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class CiJob(NamedTuple):
    """A job of a CI system; None and empty where it does not say."""

    host: str
    """`github` or `gitlab`."""
    api: str
    repo: str
    token: str
    number: int | None = None
    commit: str | None = None
    branch: str | None = None
    """What a state is committed to."""
    default_branch: str = ""
    """What changes are merged into."""
    fork: bool = False
    """Whether the job may not write, since the pull request comes from another repository."""
    public: bool = False
    """Whether anyone may read the repository."""
    run: str = ""
    """What tells runs of the workflow apart."""
    url: str | None = None
    """Where this run is shown."""
    server: str = ""
    """Where git pushes."""
    summary: Path | None = None
    """A file of GitHub's for the step."""
    outputs: Path | None = None
    """A file of GitHub's for the step."""


def job_of(env: Mapping[str, str], repo: str | None = None, number: int | None = None) -> CiJob:
    """Return the job that `env` is of; `repo` and `number` come before what it says.

    Outside of a job it is GitHub's. Raises RecallError for what cannot be meant.
    """
    return _gitlab(env, repo, number) if env.get("GITLAB_CI") and not repo else _github(env, repo, number)


def _github(env: Mapping[str, str], repo: str | None, number: int | None) -> CiJob:
    event = _event(env)
    pull = event.get("pull_request")
    pull = pull if isinstance(pull, dict) else {}
    repo = repo or env.get("GITHUB_REPOSITORY") or ""
    if repo and not _REPO.fullmatch(repo):
        raise RecallError(f"repository: {repo!r} is not of the form owner/name; correct it")
    server = env.get("GITHUB_SERVER_URL") or "https://github.com"
    run = env.get("GITHUB_RUN_ID") or ""
    ref = _PULL.fullmatch(env.get("GITHUB_REF") or "")
    told = pull.get("number")
    found = told if isinstance(told, int) else int(ref[1]) if ref else None
    source = _named(pull, "head", "repo", "full_name")
    branch = env.get("GITHUB_HEAD_REF") or (
        env.get("GITHUB_REF_NAME") if (env.get("GITHUB_REF") or "").startswith("refs/heads/") else None
    )
    return CiJob(
        host="github",
        api=env.get("GITHUB_API_URL") or "https://api.github.com",
        repo=repo,
        token=env.get("GITHUB_TOKEN") or env.get("GH_TOKEN") or "",
        number=number or found,
        commit=_commit(_named(pull, "head", "sha") or env.get("GITHUB_SHA")),
        branch=branch,
        default_branch=_named(event, "repository", "default_branch") or "",
        # A fork that was deleted meanwhile has no repository any more; Dependabot's jobs have the rights of a fork's.
        fork=env.get("GITHUB_ACTOR") == "dependabot[bot]" or (bool(pull) and source != env.get("GITHUB_REPOSITORY")),
        public=_is_public(event),
        run=run,
        url=_url(f"{server}/{env.get('GITHUB_REPOSITORY')}/actions/runs/{run}") if run else None,
        server=server,
        summary=_path(env, "GITHUB_STEP_SUMMARY"),
        outputs=_path(env, "GITHUB_OUTPUT"),
    )


def _gitlab(env: Mapping[str, str], repo: str | None, number: int | None) -> CiJob:
    told = env.get("CI_MERGE_REQUEST_IID") or ""
    source = env.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID")
    return CiJob(
        host="gitlab",
        api=env.get("CI_API_V4_URL") or "https://gitlab.com/api/v4",
        repo=repo or env.get("CI_PROJECT_ID") or "",
        # The job's own token may not write notes.
        token=env.get("GITLAB_TOKEN") or "",
        number=number or (int(told) if told.isdecimal() else None),
        commit=_commit(env.get("CI_COMMIT_SHA")),
        branch=env.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME") or env.get("CI_COMMIT_BRANCH") or None,
        default_branch=env.get("CI_DEFAULT_BRANCH") or "",
        fork=bool(source) and source != env.get("CI_PROJECT_ID"),
        public=env.get("CI_PROJECT_VISIBILITY") == "public",
        run=env.get("CI_PIPELINE_ID") or "",
        url=_url(env.get("CI_PIPELINE_URL") or ""),
        server=env.get("CI_SERVER_URL") or "https://gitlab.com",
    )


def _event(env: Mapping[str, str]) -> Mapping[str, Any]:
    path = env.get("GITHUB_EVENT_PATH")
    if not path or not Path(path).is_file():
        return {}
    try:
        event = json.loads(read_text(Path(path), "GITHUB_EVENT_PATH"))
    except (ValueError, RecursionError):
        raise RecallError("GITHUB_EVENT_PATH: the file is not JSON; give --pr in its place") from None
    return event if isinstance(event, dict) else {}


def commit_in_event(env: Mapping[str, str], *keys: str) -> str:
    """Return the commit that the event of GitHub has under these keys; empty where it names none."""
    try:
        found = _named(_event(env), *keys) or ""
    except RecallError:
        return ""
    return found if found.strip("0") else ""


def _is_public(event: Mapping[str, Any]) -> bool:
    repository = event.get("repository")
    return isinstance(repository, dict) and repository.get("private") is False


def _named(value: Any, *keys: str) -> str | None:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def _path(env: Mapping[str, str], name: str) -> Path | None:
    return Path(env[name]) if env.get(name) else None


def _url(text: str) -> str | None:
    return text if _URL.fullmatch(text) else None


def _commit(text: str | None) -> str | None:
    return text if text and _COMMIT.fullmatch(text) else None


LIMIT = 2**20
"""Bytes that the summary of a step may have; GitHub shows nothing of a longer one."""
_REST = "\n\n… cut off: the whole of it is in `scorecard.md` of the run.\n"


def append_summary(path: Path, text: str) -> None:
    """Append `text` to the summary at `path`, or as much of it as there is room for. Raises OSError."""
    there = path.stat().st_size if path.exists() else 0
    room = LIMIT - there - 1
    data = f"{text}\n".encode("utf-8", "replace")
    if len(data) > room:
        kept = data[: max(0, room - len(_REST.encode()))].decode("utf-8", "ignore")
        if not kept:
            return
        whole, _, _ = kept.rpartition("\n")
        # What was open is closed, so that the last sentence is seen.
        closing = "\n</details>" if whole.count("<details>") > whole.count("</details>") else ""
        data = f"{whole[: max(0, len(whole) - len(closing))]}{closing}{_REST}".encode()
    with path.open("ab") as file:
        file.write(data)
