"""A GitHub on the loopback device: comments, issues and statuses of one repository, as its REST API has them."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.helpers.loopback import Loopback

REPO = "museum/desk"
TOKEN = "ghs_0123456789abcdefSECRET"
BOT = {"login": "github-actions[bot]", "type": "Bot"}
Answer = tuple[int, Any, dict[str, str]]


class GitHub:
    """One repository, without ETags. `pages` items of a list come at once, whatever is asked for.

    `user` is whose the token is; an app's may not ask who it is. `read_only` is the token of a fork's pull request.
    `before` may answer a request itself: it gets the method and the path, and None lets it through.
    """

    def __init__(self) -> None:
        self.comments: dict[int, dict[int, dict[str, Any]]] = {}
        self.issues: dict[int, dict[str, Any]] = {}
        self.statuses: dict[str, list[dict[str, Any]]] = {}
        self.approvals: dict[str, list[dict[str, Any]]] = {}
        self.calls: list[tuple[str, str]] = []
        self.body: Any = {}
        self.tokens: set[str] = set()
        self.pages = 2
        self.user: dict[str, str] = BOT
        self.read_only = False
        self.labels_written = True
        self.before: Callable[[str, str], Answer | None] = lambda method, path: None
        self._next = 100
        self._lock = threading.RLock()
        self._kind = ""
        self._barrier: threading.Barrier | None = None
        self._server = Loopback(self._handle)
        self.url = self._server.url

    def meet(self, count: int, kind: str) -> None:
        """Let `count` runs look before any of them writes a first one of `kind`, "comments" or "issues"."""
        self._barrier, self._kind = threading.Barrier(count), kind

    def close(self) -> None:
        """Be gone: connections are refused from now on."""
        self._server.close()

    def env(self, **more: str) -> dict[str, str]:
        """Return what a job of this repository has in its environment."""
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": REPO,
            "GITHUB_API_URL": self.url,
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_REF": "refs/pull/7/merge",
            **more,
        }

    def says(self, number: int, body: str, user: dict[str, str] = BOT) -> int:
        """Put a comment there and return its id."""
        with self._lock:
            self._next += 1
            self.comments.setdefault(number, {})[self._next] = {"id": self._next, "body": body, "user": user}
            return self._next

    def bodies(self, number: int) -> list[str]:
        """Return the comments on an issue or a pull request, the oldest first."""
        return [one["body"] for _, one in sorted(self.comments.get(number, {}).items())]

    def approve(self, run: str, environment: str, login: str, comment: str = "", state: str = "approved") -> None:
        """Have a reviewer decide on a run of a workflow that waits for an environment."""
        about = {"state": state, "comment": comment, "environments": [{"name": environment}], "user": {"login": login}}
        self.approvals.setdefault(run, []).append(about)

    @property
    def writes(self) -> list[tuple[str, str]]:
        """The requests that were no reading."""
        return [call for call in self.calls if call[0] != "GET"]

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        data = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        method, path = handler.command, handler.path
        if method == "POST" and path.endswith(f"/{self._kind}") and self._barrier is not None:
            self._barrier.wait(10)
        with self._lock:
            self.calls.append((method, path))
            self.body = json.loads(data) if data else {}
            self.tokens.add(handler.headers.get("authorization", ""))
            status, content, headers = self.before(method, path) or self._reply(method, path, data)
        body = b"" if content is None else json.dumps(content).encode()
        handler.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def _reply(self, method: str, path: str, data: bytes) -> Answer:
        given = json.loads(data) if data else {}
        address = urlsplit(path)
        if path == "/user":
            return failed(403, "Resource not accessible by integration") if self.user is BOT else (200, self.user, {})
        if not address.path.startswith(f"/repos/{REPO}/"):
            return failed(404, "Not Found")
        if method != "GET" and self.read_only:
            return failed(403, "Resource not accessible by integration")
        rest = address.path.removeprefix(f"/repos/{REPO}/")
        if len(given.get("body") or "") > 65_536:
            return failed(422, "Validation Failed", {"message": "body is too long (maximum is 65536 characters)"})
        if found := re.fullmatch(r"issues/(\d+)/comments", rest):
            return self._of_issue(method, int(found[1]), given, path)
        if found := re.fullmatch(r"issues/comments/(\d+)", rest):
            return self._comment(method, int(found[1]), given)
        if rest == "issues":
            return self._list_issues(address.query, path) if method == "GET" else self._open(given)
        if found := re.fullmatch(r"issues/(\d+)", rest):
            self.issues[int(found[1])].update(given)
            return 200, self.issues[int(found[1])], {}
        if found := re.fullmatch(r"actions/runs/(\d+)/approvals", rest):
            return 200, self.approvals.get(found[1], []), {}
        if found := re.fullmatch(r"commits/(\w+)/statuses", rest):
            return self._page(self.statuses.get(found[1], [])[::-1], path)
        if found := re.fullmatch(r"statuses/(\w+)", rest):
            self.statuses.setdefault(found[1], []).append(given)
            return 201, given, {}
        return failed(404, "Not Found")

    def _of_issue(self, method: str, number: int, given: Any, path: str) -> Answer:
        if number == 404:
            return failed(404, "Not Found")
        if method == "GET":
            return self._page([one for _, one in sorted(self.comments.get(number, {}).items())], path)
        written = self.says(number, given["body"], self.user)
        return 201, self.comments[number][written], {}

    def _comment(self, method: str, comment: int, given: Any) -> Answer:
        for comments in self.comments.values():
            if comment in comments:
                if method == "DELETE":
                    del comments[comment]
                    return 204, None, {}
                comments[comment].update(given)
                return 200, comments[comment], {}
        return failed(404, "Not Found")

    def _list_issues(self, query: str, path: str) -> Answer:
        asked = parse_qs(query)
        assert asked["state"] == ["all"]
        wanted = asked["labels"][0]
        return self._page(
            [
                one
                for _, one in sorted(self.issues.items(), reverse=True)
                if wanted in {label["name"] for label in one["labels"]}
            ],
            path,
        )

    def _open(self, given: Any) -> Answer:
        self._next += 1
        labels = [{"name": name} for name in given["labels"]] if self.labels_written else []
        about = {"number": self._next, "state": "open", "state_reason": None, "user": self.user, "labels": labels}
        self.issues[self._next] = {"title": given["title"], "body": given["body"], **about}
        return 201, self.issues[self._next], {}

    def _page(self, items: list[Any], path: str) -> Answer:
        base, _, number = path.partition("&page=")
        page = int(number or 1)
        start = (page - 1) * self.pages
        headers = {}
        if start + self.pages < len(items):
            last = -(-len(items) // self.pages)
            headers["link"] = (
                f'<{self.url}{base}&page={page + 1}>; rel="next", <{self.url}{base}&page={last}>; rel="last"'
            )
        return 200, items[start : start + self.pages], headers


def failed(status: int, message: str, *errors: Any, **headers: str) -> Answer:
    """Return an answer that is not a success; `_` in the name of a header stands for `-`."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {"message": message, **({"errors": list(errors)} if errors else {})}, told


def first(answer: Answer, times: int = 1) -> Callable[[str, str], Answer | None]:
    """Return what answers so the first `times` writes, and lets everything else through."""
    left = [answer] * times
    return lambda method, path: left.pop() if left and method != "GET" else None


def soon() -> str:
    """Return the time of a reset that has been."""
    return str(int(time.time()) - 1)
