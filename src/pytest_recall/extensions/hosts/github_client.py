"""The client of GitHub's REST API."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from pytest_recall.ext import Comment, Issue, RecallError, RefusedError, RestClient

VERSION = "2022-11-28"
"""Of the API."""


class GitHub:
    """The repository `repo`, `owner/name`, with the API at `url`. Close it."""

    def __init__(self, url: str, repo: str, token: str, *, patience: float) -> None:
        headers = {
            "accept": "application/vnd.github+json",
            "authorization": f"Bearer {token}",
            "user-agent": "pytest-recall",
            "x-github-api-version": VERSION,
        }
        self._client = RestClient(url, headers, token, "GITHUB_API_URL", patience=patience)
        self._repo = f"/repos/{quote(repo)}"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def login(self) -> str | None:
        """Return whose the token is; None if it is an app's, as a workflow's is, since those may not ask."""
        try:
            return self._client.account("login")
        except RefusedError as error:
            if error.status == 403:
                return None
            raise

    def comments(self, number: int) -> list[Comment]:
        """Return the comments on a pull request or an issue, the oldest first."""
        path = f"{self._repo}/issues/{number}/comments"
        found = self._client.pages(f"{path}?per_page=100")
        with self._client.documented(f"GET {path}"):
            return sorted(Comment(int(one["id"]), str(one["body"] or ""), *_author(one)) for one in found)

    def add_comment(self, number: int, body: str) -> None:
        """Write a comment."""
        self._client.send("POST", f"{self._repo}/issues/{number}/comments", {"body": body})

    def edit_comment(self, number: int, comment: int, body: str) -> None:
        """Replace the text of a comment."""
        self._client.send("PATCH", f"{self._repo}/issues/comments/{comment}", {"body": body})

    def delete_comment(self, number: int, comment: int) -> None:
        """Delete a comment."""
        self._client.send("DELETE", f"{self._repo}/issues/comments/{comment}")

    def issues(self, label: str) -> list[Issue]:
        """Return the issues with a label, open and closed, the oldest first."""
        found = self._client.pages(f"{self._repo}/issues?state=all&labels={quote(label, safe='')}&per_page=100")
        with self._client.documented(f"GET {self._repo}/issues"):
            return sorted(
                Issue(
                    int(one["number"]),
                    str(one["body"] or ""),
                    *_author(one),
                    is_open=one["state"] == "open",
                    declined=one["state"] == "closed" and one.get("state_reason") == "not_planned",
                )
                for one in found
                if "pull_request" not in one  # To this API a pull request is an issue.
            )

    def open_issue(self, title: str, body: str, label: str) -> int:
        """Open an issue and return its number. Raises RecallError if the label was not put on it."""
        made = self._client.send("POST", f"{self._repo}/issues", {"title": title, "body": body, "labels": [label]})
        with self._client.documented(f"POST {self._repo}/issues"):
            number, labels = int(made["number"]), [str(one["name"]).lower() for one in made["labels"]]
        if label.lower() not in labels:
            # GitHub drops what the token may not do, in silence; the next run would then open another one.
            raise RecallError(f"issue {number}: it has no label `{label}`; give the token the right to write it")
        return number

    def edit_issue(self, number: int, *, body: str | None = None, state: str | None = None) -> None:
        """Replace the text, and the state: "open", "completed" or "declined"."""
        change: dict[str, Any] = {} if body is None else {"body": body}
        if state is not None:
            reason = {"open": "reopened", "completed": "completed", "declined": "not_planned"}[state]
            change |= {"state": "open" if state == "open" else "closed", "state_reason": reason}
        self._client.send("PATCH", f"{self._repo}/issues/{number}", change)

    def approvals(self, run: str, environment: str) -> list[tuple[str, str]]:
        """Return who has approved a run of a workflow for an environment, the latest last, and what they wrote."""
        path = f"{self._repo}/actions/runs/{quote(run)}/approvals"
        found = self._client.send("GET", path)
        with self._client.documented(f"GET {path}"):
            return [
                (str(one["user"]["login"]), str(one["comment"] or ""))
                for one in found
                if one["state"] == "approved" and environment in {about["name"] for about in one["environments"]}
            ]

    def status(self, commit: str, context: str) -> tuple[str, str] | None:
        """Return the newest state and description of a commit under a name, None if there is none."""
        path = f"{self._repo}/commits/{quote(commit)}/statuses"
        with self._client.documented(f"GET {path}"):
            for one in self._client.pages(f"{path}?per_page=100"):
                if one["context"] == context:
                    return str(one["state"]), str(one["description"] or "")
        return None

    def set_status(self, commit: str, context: str, state: str, description: str, url: str | None) -> None:
        """Give a commit a status: `state` is "success", "failure" or "pending"."""
        body = {"context": context, "state": state, "description": description, "target_url": url}
        self._client.send("POST", f"{self._repo}/statuses/{quote(commit)}", body)


def _author(one: Any) -> tuple[str, bool]:
    user = one.get("user") or {}  # Accounts that are gone are null.
    return str(user.get("login", "")), user.get("type") == "Bot"
