"""Remote: a branch of another repository, checked out apart from the work at hand, and pushed to."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pytest_recall.core.errors import RecallError, one_line

AUTHOR = "eval-bot"
EMAIL = "eval-bot@users.noreply.github.com"
ROLES = ("AUTHOR", "COMMITTER")
DEPTH = 100
"""Commits of the branch that are looked at; a clone that is whole stays whole."""
SECONDS = 300


class GitError(RecallError):
    """git said no."""


class Remote:
    """The branch `branch` of `remote`, else the current one, seen from the repository around `folder`.

    Raises RecallError if there is none.

    A `token` for `server` is given to git in its environment, so that neither a command line nor a file has it;
    `user` is whom the server expects beside it.
    """

    def __init__(
        self, folder: Path, remote: str, branch: str | None, token: str = "", server: str = "", user: str = ""
    ) -> None:
        self._folder, self._remote, self._token = folder, remote, token
        # In the environment names come before those of any configuration.
        names = {f"GIT_{role}_{what}": value for role in ROLES for what, value in (("NAME", AUTHOR), ("EMAIL", EMAIL))}
        more = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **names, **_credentials(token, server, user)}
        self._env = {**os.environ, **more}
        self.top = Path(self.git("rev-parse", "--show-toplevel"))
        self._shallow = self.git("rev-parse", "--is-shallow-repository") == "true"
        self.branch = branch or self.git("branch", "--show-current")
        if not self.branch:
            raise RecallError("git: no branch is checked out; give --branch")

    def tip(self) -> str:
        """Fetch the branch and return its newest commit."""
        depth = [f"--depth={DEPTH}"] if self._shallow else []
        try:
            self.git("fetch", "--quiet", "--no-tags", *depth, self._remote, f"refs/heads/{self.branch}")
        except GitError as error:
            raise GitError(self._advice(str(error))) from None
        return self.git("rev-parse", "FETCH_HEAD")

    def _advice(self, said: str) -> str:
        """Return what to do about a fetch that failed, where git's words are known; else these words."""
        if "couldn't find remote ref" in said:
            return f"git: {self._remote} has no branch `{self.branch}`; push it first, or name another with --branch"
        if "does not appear to be a git repository" in said:
            return f"git: `{self._remote}` is no remote of this clone; add it (`git remote add`), or give --remote"
        return said

    @contextmanager
    def worktree(self, commit: str) -> Iterator[Path]:
        """Check a commit out into a folder of its own, as long as it is needed."""
        folder = Path(tempfile.mkdtemp(prefix="recall-push-"))
        try:
            self.git("worktree", "add", "--quiet", "--detach", "--force", str(folder / "tree"), commit)
            yield folder / "tree"
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            self.git("worktree", "prune")

    def author(self, commit: str) -> str:
        """Return the e-mail address of a commit's author."""
        return self.git("log", "-1", "--format=%ae", commit)

    def lines(self, commit: str, start: str) -> list[str]:
        """Return the rest of the lines in the messages of a commit, and of those before it, that begin so."""
        found = self.git("log", f"--max-count={DEPTH}", "--format=%B", commit)
        return [line.removeprefix(start) for line in found.split("\n") if line.startswith(start)]

    def commit(self, tree: Path, folder: str, but: str, message: str) -> str | None:
        """Commit what has changed in a folder of a worktree as eval-bot; return the commit, None if nothing has.

        What lies in its folder `but` is left out, and so is what the repository ignores.
        """
        asked = ("ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard", "--", folder)
        listed = dict.fromkeys(self.git("--literal-pathspecs", *asked, at=tree).split("\0"))
        changed = [path for path in listed if path and not path.startswith(f"{folder}/{but}/")]
        if not changed:
            return None
        # A folder that is left out by a pathspec would be an error wherever .gitignore names it.
        self.git("--literal-pathspecs", "add", "--all", "--", *changed, at=tree)
        if not self.git("diff", "--cached", "--name-only", at=tree):
            return None
        self.git("-c", "commit.gpgsign=false", "commit", "--quiet", "--no-verify", "--message", message, at=tree)
        return self.git("rev-parse", "HEAD", at=tree)

    def push(self, commit: str) -> None:
        """Make a commit the newest of the branch. Raises GitError if others were faster, or a rule forbids it."""
        self.git("push", "--quiet", "--no-verify", self._remote, f"{commit}:refs/heads/{self.branch}")

    def git(self, *arguments: str, at: Path | None = None) -> str:
        """Return what a git command prints. Raises GitError with the last line that it says."""
        try:
            done = subprocess.run(
                ["git", *arguments],
                cwd=at or self._folder,
                env=self._env,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise RecallError("git: is not installed; install it") from None
        except subprocess.TimeoutExpired:
            raise GitError(f"git {_verb(arguments)}: no end after {SECONDS} s; look at the connection") from None
        if done.returncode:
            said = done.stderr.replace(self._token, "***") if self._token else done.stderr
            raise GitError(f"git {_verb(arguments)}: {_cause(said) or f'exit code {done.returncode}'}")
        return done.stdout.strip("\n")


def _verb(arguments: tuple[str, ...]) -> str:
    rest = iter(arguments)
    for argument in rest:
        if argument == "-c":
            next(rest)
        elif not argument.startswith("-"):
            return argument
    return ""


def _cause(said: str) -> str:
    """Return what of git's errors says why: the line that is marked as that, or else all of it."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("hint:")]
    telling = [line for line in lines if line.startswith(("remote: error:", "fatal:", "! [", "error:"))]
    return one_line(telling[0] if telling else " ".join(lines), 300)


def _credentials(token: str, server: str, user: str) -> Mapping[str, str]:
    """Return git's environment with a header for the server, in place of one that a checkout has left."""
    if not token or not server.startswith(("http://", "https://")):
        return {}
    key = f"http.{server.rstrip('/')}/.extraheader"
    basic = base64.b64encode(f"{user}:{token}".encode()).decode("ascii")
    given = [(key, ""), (key, f"AUTHORIZATION: basic {basic}")]  # The empty one forgets those before it.
    settings = {f"GIT_CONFIG_KEY_{number}": name for number, (name, _) in enumerate(given)}
    settings |= {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(given)}
    return {"GIT_CONFIG_COUNT": str(len(given)), **settings}
