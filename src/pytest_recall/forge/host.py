"""Describe a code host: the job that runs there, and the client that writes comments, issues and statuses to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from pytest_recall.runs.job import Job


class Comment(NamedTuple):
    """A comment on a pull request or an issue."""

    id: int
    body: str
    author: str
    by_app: bool
    """Whether a program's account wrote it."""


class Issue(NamedTuple):
    """An issue of a repository."""

    number: int
    body: str
    author: str
    by_app: bool
    """Whether a program's account wrote it."""
    is_open: bool
    declined: bool
    """Whether it was closed as not planned."""


class HostClient(Protocol):
    """A repository at a code host. Every method raises what `RestClient.send` does."""

    def close(self) -> None:
        """Close the connections."""
        ...

    def login(self) -> str | None:
        """Return whose the token is; None if it is an app's, which is not told."""
        ...

    def comments(self, number: int) -> list[Comment]:
        """Return the comments on a pull request or an issue, the oldest first."""
        ...

    def add_comment(self, number: int, body: str) -> None:
        """Write a comment."""
        ...

    def edit_comment(self, number: int, comment: int, body: str) -> None:
        """Replace the text of a comment."""
        ...

    def delete_comment(self, number: int, comment: int) -> None:
        """Delete a comment."""
        ...


@runtime_checkable
class Tracker(HostClient, Protocol):
    """A repository with issues."""

    def issues(self, label: str) -> list[Issue]:
        """Return the issues with a label, open and closed, the oldest first."""
        ...

    def open_issue(self, title: str, body: str, label: str) -> int:
        """Open an issue and return its number. Raises RecallError if the label was not put on it."""
        ...

    def edit_issue(self, number: int, *, body: str | None = None, state: str | None = None) -> None:
        """Replace the text, and the state: "open", "completed" or "declined"."""
        ...


@runtime_checkable
class Statuses(HostClient, Protocol):
    """A repository whose commits have statuses."""

    def status(self, commit: str, context: str) -> tuple[str, str] | None:
        """Return the newest state and description of a commit under a name, None if there is none."""
        ...

    def set_status(self, commit: str, context: str, state: str, description: str, url: str | None) -> None:
        """Give a commit a status: `state` is "success", "failure" or "pending"."""
        ...


@runtime_checkable
class Approvals(HostClient, Protocol):
    """A repository whose jobs wait for reviewers."""

    def approvals(self, run: str, environment: str) -> list[tuple[str, str]]:
        """Return who has approved a run for an environment, the latest last, and what they wrote."""
        ...


@dataclass(frozen=True, kw_only=True)
class Host:
    """A code host, as one of its jobs reaches it."""

    name: str
    """What messages call it, such as `GitHub`."""
    job: Job
    """What the environment says of the job."""
    repo: str = ""
    """The repository, as the API calls it; empty where it is not said."""
    request_sign: str = "#"
    """What stands before the number of a pull or merge request."""
    files_url: str = ""
    """The address below which the files of the repository are shown at any commit; empty where it is not known."""
    token: str = ""
    """What git and the API are handed; it is in no message."""
    token_variable: str = ""
    """The environment variable that it is read from."""
    server: str = ""
    """Where git pushes."""
    user: str = ""
    """Whom the server expects beside the token."""
    connect: Callable[[float], HostClient] | None = None
    """Makes a client, which waits at the most so many seconds for the limits of the API; None where nothing can be
    written."""
