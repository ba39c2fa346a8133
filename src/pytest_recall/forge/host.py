"""Describe a code host: the job that runs there, and the client that writes comments, issues and statuses to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import NamedTuple, Protocol, get_args, get_origin, get_type_hints, runtime_checkable

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


def field_fault(host: Host) -> str:
    """Return which field of a host or of its job is of another type than it has to be; empty where none is."""
    if host.connect is not None and not callable(host.connect):
        return "`connect` of its Host cannot be called"
    for record in (host, host.job):
        for name, hint in get_type_hints(type(record)).items():
            value = getattr(record, name)
            kinds = tuple(
                get_origin(one) or one for one in (get_args(hint) if isinstance(hint, UnionType) else (hint,))
            )
            is_right = name == "connect" or (
                isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
            )
            if not is_right or (tuple in kinds and not all(isinstance(one, str) for one in value)):
                return f"`{name}` of its {type(record).__name__} is {type(value).__name__}"
    return "" if host.job.number is None or host.job.number > 0 else f"`number` of its Job is {host.job.number}"
