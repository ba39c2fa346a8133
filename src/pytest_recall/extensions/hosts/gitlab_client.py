"""The client of GitLab's REST API."""

from __future__ import annotations

from urllib.parse import quote

from pytest_recall.ext import Comment, RestClient


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
