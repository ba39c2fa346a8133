"""Host: what code hosts have in common, in our words."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Comment(NamedTuple):
    """A comment on a pull request or an issue. `by_app` if a program's account wrote it."""

    id: int
    body: str
    author: str
    by_app: bool


class Issue(NamedTuple):
    """An issue; `declined` if it was closed as not planned."""

    number: int
    body: str
    author: str
    by_app: bool
    is_open: bool
    declined: bool


class Host(Protocol):
    """A repository at a code host. Every method raises what `Client.send` does."""

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


class Tracker(Host, Protocol):
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
