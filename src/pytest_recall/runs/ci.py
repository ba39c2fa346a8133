"""Read the environment of a CI job: nothing else knows its variables. Append to the summary of its step."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError

_REPO = re.compile(r"[\w.-]+/[\w.-]+")
_URL = re.compile(r"https?://[^\s<>()\[\]\"'`]+")
_PULL = re.compile(
    r"refs/(?:pull/(?=\d+/(?:merge|head))|heads/gh-readonly-queue/.+/pr-)(\d+)(?:/(?:merge|head)|-[0-9a-f]+)"
)
"""The refs of a pull request, and of one in a merge queue."""
_QUEUE = re.compile(r"refs/heads/gh-readonly-queue/(.+)/pr-\d+-[0-9a-f]+")
_HEADS = "refs/heads/"
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
    ref: str = ""
    """The branch or tag that it is of, which git does not say where a commit alone is checked out."""
    default_branch: str = ""
    """What changes are merged into."""
    base_refs: tuple[str, ...] = ()
    """What its change is to be merged into: the first of these refs that a clone has counts."""
    pushed: str = ""
    """The branch that a push has changed, if one has begun the job."""
    before: str = ""
    """The commit of that branch before the push; empty for a new one."""
    is_scheduled: bool = False
    """Whether a clock has begun it."""
    fork: bool = False
    """Whether the job may not write, since the pull request comes from another repository."""
    public: bool = False
    """Whether anyone may read the repository."""
    run: str = ""
    """What tells runs of the workflow apart."""
    url: str | None = None
    """Where this run is shown."""
    files_url: str = ""
    """The address below which the files of the checkout are shown, without a slash at its end."""
    commits_url: str = ""
    """The address below which commits are shown, without a slash at its end."""
    server: str = ""
    """Where git pushes."""
    workspace: Path | None = None
    """The folder of the checkout."""
    summary: Path | None = None
    """A file of GitHub's for the step."""
    outputs: Path | None = None
    """A file of GitHub's for the step."""
    annotates: bool = False
    """Whether lines of its log that are commands become annotations."""
    fault: str = ""
    """What is wrong with the event of the job, so that it is not known what it is of; empty where nothing is."""


def job_of(env: Mapping[str, str], repo: str | None = None, number: int | None = None) -> CiJob:
    """Return the job that `env` is of; `repo` and `number` come before what it says.

    Outside of a job it is GitHub's. Variables that cannot be meant are left out, of which the event alone is a `fault`.
    """
    return _gitlab(env, number) if _is_gitlab(env) and not repo else _github(env, repo, number)


def known_job(env: Mapping[str, str], repo: str | None = None, number: int | None = None) -> CiJob:
    """Return the same, for who has to know what it is of. Raises RecallError for an event that cannot be read."""
    job = job_of(env, repo, number)
    if job.fault:
        raise RecallError(job.fault)
    return job


def _is_gitlab(env: Mapping[str, str]) -> bool:
    """Whether variables are there that GitLab alone has: a container is often handed some of them."""
    own = any(name.startswith(("CI_MERGE_REQUEST_", "CI_PROJECT_")) for name in env)
    return bool(env.get("GITLAB_CI")) or (own and not env.get("GITHUB_ACTIONS"))


def _github(env: Mapping[str, str], repo: str | None, number: int | None) -> CiJob:
    event, fault = _event(env)
    pull = event.get("pull_request")
    pull = pull if isinstance(pull, dict) else {}
    server = (env.get("GITHUB_SERVER_URL") or "https://github.com").rstrip("/")
    kind, ref_name = env.get("GITHUB_EVENT_NAME"), env.get("GITHUB_REF") or ""
    here, sha = env.get("GITHUB_REPOSITORY") or "", env.get("GITHUB_SHA")
    here = here if is_repository_name(here) else ""
    run = env.get("GITHUB_RUN_ID") or ""
    ref = _PULL.fullmatch(ref_name)
    in_event = pull.get("number")
    found = in_event if isinstance(in_event, int) else int(ref[1]) if ref else None
    pushed = ref_name.removeprefix(_HEADS) if kind == "push" and ref_name.startswith(_HEADS) else ""
    source = _named(pull, "head", "repo", "full_name")
    branch = env.get("GITHUB_HEAD_REF") or (env.get("GITHUB_REF_NAME") if ref_name.startswith(_HEADS) else None)
    return CiJob(
        host="github",
        api=env.get("GITHUB_API_URL") or "https://api.github.com",
        repo=repo or here,
        token=env.get("GITHUB_TOKEN") or env.get("GH_TOKEN") or "",
        number=number or found,
        commit=_commit(_named(pull, "head", "sha") or env.get("GITHUB_SHA")),
        branch=branch,
        ref=env.get("GITHUB_HEAD_REF") or env.get("GITHUB_REF_NAME") or "",
        default_branch=_named(event, "repository", "default_branch") or "",
        base_refs=_base_refs(env, event),
        pushed=pushed,
        before=_before(event) if pushed else "",
        is_scheduled=kind == "schedule",
        # A fork that was deleted meanwhile has no repository any more; Dependabot's jobs have the rights of a fork's.
        fork=env.get("GITHUB_ACTOR") == "dependabot[bot]" or (bool(pull) and source != env.get("GITHUB_REPOSITORY")),
        public=_is_public(event),
        run=run,
        url=_url(f"{server}/{here}/actions/runs/{run}") if run else None,
        files_url=f"{server}/{quote(here)}/blob/{quote(sha)}" if here and sha else "",
        commits_url=f"{server}/{quote(here)}/commit" if here else "",
        server=server,
        workspace=_path(env, "GITHUB_WORKSPACE"),
        summary=_path(env, "GITHUB_STEP_SUMMARY"),
        outputs=_path(env, "GITHUB_OUTPUT"),
        annotates=env.get("GITHUB_ACTIONS") == "true",
        fault=fault,
    )


def _base_refs(env: Mapping[str, str], event: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a pull request of GitHub, or an entry of its merge queue, is to be merged into."""
    if branch := env.get("GITHUB_BASE_REF"):
        return f"origin/{branch}", branch
    if env.get("GITHUB_EVENT_NAME") != "merge_group":
        return ()
    commit = _named(event, "merge_group", "base_sha")
    queue = _QUEUE.fullmatch(env.get("GITHUB_REF") or "")
    return (*((commit,) if commit else ()), *((f"origin/{queue[1]}", queue[1]) if queue else ()))


def _before(event: Mapping[str, Any]) -> str:
    """Return the commit that a branch was at before a push; empty for a new branch, of which GitHub writes zeros."""
    before = _named(event, "before") or ""
    return before if before.strip("0") else ""


def _gitlab(env: Mapping[str, str], number: int | None) -> CiJob:
    number_of = env.get("CI_MERGE_REQUEST_IID") or ""
    project = _url(env.get("CI_PROJECT_URL") or "") or ""
    base, sha = env.get("CI_MERGE_REQUEST_DIFF_BASE_SHA"), env.get("CI_COMMIT_SHA")
    source = env.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID")
    return CiJob(
        host="gitlab",
        api=env.get("CI_API_V4_URL") or "https://gitlab.com/api/v4",
        repo=env.get("CI_PROJECT_ID") or "",
        # The job's own token may not write notes.
        token=env.get("GITLAB_TOKEN") or "",
        number=number or (int(number_of) if number_of.isdecimal() else None),
        commit=_commit(sha),
        branch=env.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME") or env.get("CI_COMMIT_BRANCH") or None,
        ref=env.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME") or env.get("CI_COMMIT_REF_NAME") or "",
        default_branch=env.get("CI_DEFAULT_BRANCH") or "",
        base_refs=(base,) if base else (),
        is_scheduled=env.get("CI_PIPELINE_SOURCE") == "schedule",
        fork=bool(source) and source != env.get("CI_PROJECT_ID"),
        public=env.get("CI_PROJECT_VISIBILITY") == "public",
        run=env.get("CI_PIPELINE_ID") or "",
        url=_url(env.get("CI_PIPELINE_URL") or ""),
        files_url=f"{project}/-/blob/{quote(sha)}" if project and sha else "",
        commits_url=f"{project}/-/commit" if project else "",
        server=env.get("CI_SERVER_URL") or "https://gitlab.com",
        workspace=_path(env, "CI_PROJECT_DIR"),
    )


def _event(env: Mapping[str, str]) -> tuple[Mapping[str, Any], str]:
    """Return the event of GitHub, and what is wrong with its file."""
    path = env.get("GITHUB_EVENT_PATH")
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
