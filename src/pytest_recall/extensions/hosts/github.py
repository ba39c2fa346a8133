"""GitHub: what the environment of a job says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pytest_recall.ext import Host, Job, RecallError, hookimpl, read_text
from pytest_recall.extensions.hosts.variables import commit_hash, path_in, web_address

if TYPE_CHECKING:
    from pytest_recall.ext import HostClient

_REPO = re.compile(r"[\w.-]+/[\w.-]+")
_PULL = re.compile(
    r"refs/(?:pull/(?=\d+/(?:merge|head))|heads/gh-readonly-queue/.+/pr-)(\d+)(?:/(?:merge|head)|-[0-9a-f]+)"
)
"""The refs of a pull request, and of one in a merge queue."""
_QUEUE = re.compile(r"refs/heads/gh-readonly-queue/(.+)/pr-\d+-[0-9a-f]+")
_HEADS = "refs/heads/"


@hookimpl(trylast=True)
def pytest_recall_host(environ: Mapping[str, str], repo: str | None) -> Host | None:
    """Return the host of a job of GitHub, or of a repository that is named `owner/name`.

    Other systems set the same variables beside their own, so that it is asked last. Variables that cannot be meant are
    left out, of which the event alone is a fault of the job.
    """
    if repo is not None and not is_repository_name(repo):
        return None
    if repo is None and not any(name.startswith(("GITHUB_", "GH_")) for name in environ):
        return None
    api = environ.get("GITHUB_API_URL") or "https://api.github.com"
    token = environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN") or ""
    repository, server = repo or _repository(environ), _server(environ)

    def connect(patience: float) -> HostClient:
        from pytest_recall.extensions.hosts.github_client import GitHub

        return GitHub(api, repository, token, patience=patience)

    return Host(
        name="GitHub",
        job=_job(environ),
        repo=repository,
        files_url=f"{server}/{repository}/blob/",
        token=token,
        token_variable="GITHUB_TOKEN",
        server=server,
        user="x-access-token",
        connect=connect,
    )


def _job(environ: Mapping[str, str]) -> Job:
    event, fault = _event(environ)
    pull = event.get("pull_request")
    pull = pull if isinstance(pull, dict) else {}
    kind, ref_name = environ.get("GITHUB_EVENT_NAME"), environ.get("GITHUB_REF") or ""
    server, repository, sha = _server(environ), _repository(environ), environ.get("GITHUB_SHA")
    run = environ.get("GITHUB_RUN_ID") or ""
    ref = _PULL.fullmatch(ref_name)
    number = pull.get("number")
    pushed = ref_name.removeprefix(_HEADS) if kind == "push" and ref_name.startswith(_HEADS) else ""
    source = _text_at(pull, "head", "repo", "full_name")
    is_dependabot = environ.get("GITHUB_ACTOR") == "dependabot[bot]"
    return Job(
        number=number if isinstance(number, int) else int(ref[1]) if ref else None,
        commit=commit_hash(_text_at(pull, "head", "sha") or sha),
        branch=environ.get("GITHUB_HEAD_REF")
        or (environ.get("GITHUB_REF_NAME") if ref_name.startswith(_HEADS) else None),
        ref=environ.get("GITHUB_HEAD_REF") or environ.get("GITHUB_REF_NAME") or "",
        default_branch=_text_at(event, "repository", "default_branch") or "",
        base_refs=_base_refs(environ, event),
        pushed=pushed,
        before=_before(event) if pushed else "",
        is_scheduled=kind == "schedule",
        # A fork that was deleted meanwhile has no repository any more; Dependabot's jobs have the rights of a fork's.
        fork=is_dependabot or (bool(pull) and source != environ.get("GITHUB_REPOSITORY")),
        public=_is_public(event),
        run=run,
        url=web_address(f"{server}/{repository}/actions/runs/{run}") if run else None,
        files_url=f"{server}/{quote(repository)}/blob/{quote(sha)}" if repository and sha else "",
        commits_url=f"{server}/{quote(repository)}/commit" if repository else "",
        workspace=path_in(environ, "GITHUB_WORKSPACE"),
        keeps_recordings=True,
        summary=path_in(environ, "GITHUB_STEP_SUMMARY"),
        outputs=path_in(environ, "GITHUB_OUTPUT"),
        annotates=environ.get("GITHUB_ACTIONS") == "true",
        fault=fault,
    )


def _repository(environ: Mapping[str, str]) -> str:
    repository = environ.get("GITHUB_REPOSITORY") or ""
    return repository if is_repository_name(repository) else ""


def _server(environ: Mapping[str, str]) -> str:
    return (environ.get("GITHUB_SERVER_URL") or "https://github.com").rstrip("/")


def _base_refs(environ: Mapping[str, str], event: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a pull request of GitHub, or an entry of its merge queue, is to be merged into."""
    if branch := environ.get("GITHUB_BASE_REF"):
        return f"origin/{branch}", branch
    if environ.get("GITHUB_EVENT_NAME") != "merge_group":
        return ()
    commit = _text_at(event, "merge_group", "base_sha")
    queue = _QUEUE.fullmatch(environ.get("GITHUB_REF") or "")
    return (*((commit,) if commit else ()), *((f"origin/{queue[1]}", queue[1]) if queue else ()))


def _before(event: Mapping[str, Any]) -> str:
    """Return the commit that a branch was at before a push; empty for a new branch, of which GitHub writes zeros."""
    before = _text_at(event, "before") or ""
    return before if before.strip("0") else ""


def _event(environ: Mapping[str, str]) -> tuple[Mapping[str, Any], str]:
    """Return the event of GitHub, and what is wrong with its file."""
    path = environ.get("GITHUB_EVENT_PATH")
    if not path or not Path(path).is_file():
        return {}, ""
    try:
        event = json.loads(read_text(Path(path), "GITHUB_EVENT_PATH"))
    except RecallError as error:
        return {}, str(error)
    except (ValueError, RecursionError):
        return {}, "GITHUB_EVENT_PATH: the file is not JSON; write it again, or unset the variable"
    return event if isinstance(event, dict) else {}, ""


def is_repository_name(text: str) -> bool:
    """Whether a text is `owner/name`, as GitHub calls a repository."""
    return bool(_REPO.fullmatch(text))


def _is_public(event: Mapping[str, Any]) -> bool:
    repository = event.get("repository")
    return isinstance(repository, dict) and repository.get("private") is False


def _text_at(value: Any, *keys: str) -> str | None:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None
