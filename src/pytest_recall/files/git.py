"""Run git: read files of other commits, and find what a change touches."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pytest_recall.files.context_values import assigned
from pytest_recall.files.disk import MAX_BYTES, exists
from pytest_recall.files.errors import RecallError
from pytest_recall.files.own_programs import OWN
from pytest_recall.files.wording import one_line

NO_GIT = "git: not found; install it, or put it on the PATH"


def _git(folder: Path, *arguments: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    try:
        with assigned(OWN, True):
            return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False, input=stdin)
    except OSError:
        raise RecallError(NO_GIT) from None


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return one_line(done.stderr.decode("utf-8", "replace")) or f"exit code {done.returncode}"


def committed(folder: Path, revision: str, paths: Sequence[str], suffix: str) -> dict[str, str]:
    """Return the texts of the files with a `suffix` at or below `paths` of `folder` in a commit, by path from there.

    Raises RecallError for a revision that git does not know, or that is no commit.
    """
    listed = _git(folder, "ls-tree", "-rz", f"{revision}^{{commit}}", "--", *paths)
    if listed.returncode:
        raise RecallError(f"{revision}: git knows no such revision ({_said(listed)})")
    names: dict[str, bytes] = {}
    for entry in listed.stdout.split(b"\0")[:-1]:
        about, _, name = entry.partition(b"\t")
        if name.endswith(suffix.encode()):
            names[name.decode("utf-8", "replace")] = about.split()[2]
    return dict(zip(names, _blobs(folder, names, revision), strict=True)) if names else {}


def _blobs(folder: Path, names: Mapping[str, bytes], revision: str) -> Iterator[str]:
    """Yield the texts of objects by path, which one process of git prints one after the other."""
    done = _git(folder, "cat-file", "--batch", stdin=b"\n".join(names.values()) + b"\n")
    if done.returncode:
        raise RecallError(f"{revision}: git cannot read it ({_said(done)})")
    place = 0
    for name in names:
        end = done.stdout.index(b"\n", place)
        about = done.stdout[place:end].split()
        if len(about) != 3:
            raise RecallError(f"{revision}:{name}: git cannot read it ({b' '.join(about).decode()})")
        size = int(about[2])
        data = done.stdout[end + 1 : end + 1 + size]
        try:
            yield data.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            raise RecallError(f"{revision}:{name}: is not UTF-8; restore it from git") from None
        place = end + 1 + size + 1


def user_name(folder: Path) -> str:
    """Return the name that git gives to commits made in `folder`; empty where there is none, or no git."""
    try:
        done = _git(folder, "config", "--get", "user.name")
    except RecallError:
        return ""
    return done.stdout.decode("utf-8", "replace").strip()


NOTHING: Mapping[str, str] = MappingProxyType({})
SECONDS = 30.0
"""How long one command of git may take."""
_QUIET = {
    # Nothing is fetched, asked for or written: not what a partial clone lacks, no password, no index.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


def is_repository(folder: Path) -> bool:
    """Whether there is a repository around a folder.

    Git is not started to say that there is none: a short run has nothing that takes longer.
    """
    here = folder.absolute()
    return "GIT_DIR" in os.environ or any(exists(above / ".git") for above in (here, *here.parents))


def checked_out(folder: Path) -> tuple[str, str]:
    """Return the commit that is checked out in a folder, and its branch; empty where git does not say."""
    if not is_repository(folder):
        return "", ""
    try:
        with assigned(OWN, True):
            done = subprocess.run(
                ["git", "rev-parse", "HEAD", "--abbrev-ref", "HEAD"],
                cwd=folder,
                env={**os.environ, **_QUIET},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
    except OSError:
        return "", ""
    commit, _, branch = done.stdout.decode("utf-8", "replace").strip().partition("\n")
    if done.returncode or not commit:
        return "", ""
    return commit, "" if branch == "HEAD" else branch


def subject_of(folder: Path, commit: str) -> str:
    """Return the subject of a commit; empty where the repository around a folder does not have it, or there is none."""
    try:
        return Repository(folder).subject(commit) if _COMMIT.fullmatch(commit) else ""
    except RecallError:
        return ""


_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_HEADS, _ORIGIN = "refs/heads/", "refs/remotes/origin/"
_DERIVED = ":(exclude,top,glob)**/__pycache__/**"
"""What Python writes beside the source that it reads."""
_MAX_COMPARED = 2**20
"""Bytes up to which an edited file is compared by its content; a larger one is by its size and its time."""


class NoBaseError(RecallError):
    """This checkout left no `ref`: that is no commit in this clone, or a commit (`is_commit`) without one in common."""

    def __init__(self, ref: str, *, is_commit: bool) -> None:
        super().__init__(ref)
        self.ref, self.is_commit = ref, is_commit


class Repository:
    """The git repository that a folder is in; `top` is its root. Raises RecallError if there is none."""

    def __init__(self, folder: Path) -> None:
        self.top = folder
        self.top = Path(self._line("rev-parse", "--show-toplevel"))

    def base_of(self, refs: Sequence[str]) -> str:
        """Return the commit at which this checkout left the first of `refs` that is there.

        Raises NoBaseError where there is none, and RecallError where git fails.
        """
        ref = self.first_of(refs)
        if not ref:
            raise NoBaseError(refs[0], is_commit=False)
        done = self._git("merge-base", "--", self._commit(ref), "HEAD")
        if done.returncode == 1:
            raise NoBaseError(ref, is_commit=True)
        return self._checked(done).decode().strip()

    def first_of(self, refs: Sequence[str]) -> str:
        """Return the first of `refs` that is a commit here; empty if none is."""
        return next((ref for ref in refs if self._commit(ref)), "")

    def refs(self, start: str) -> list[str]:
        """Return the refs of the clone whose names begin so. Raises RecallError."""
        return os.fsdecode(self._checked(self._git("for-each-ref", "--format=%(refname)", start))).split()

    def head(self) -> str:
        """Return the commit that is checked out; empty before the first one."""
        return self._commit("HEAD")

    def branch(self) -> str:
        """Return the branch that is checked out; empty for a commit alone."""
        done = self._git("symbolic-ref", "--quiet", "--short", "HEAD")
        return os.fsdecode(done.stdout).strip() if done.returncode == 0 else ""

    def is_ancestor(self, commit: str, of: str) -> bool:
        """Whether `commit` is `of`, or in its history; False as well where this clone does not have one of them."""
        if not _COMMIT.fullmatch(commit) or not _COMMIT.fullmatch(of):
            return False
        return self._git("merge-base", "--is-ancestor", commit, of).returncode == 0

    def subject(self, commit: str) -> str:
        """Return the subject of a commit. Raises RecallError if it is not there."""
        return self._line("show", "--no-patch", "--no-show-signature", "--format=%s", commit, "--")

    def commits_between(self, base: str, head: str) -> int:
        """Return how many commits `head` has that are not in `base`. Raises RecallError."""
        return int(self._line("rev-list", "--count", f"{base}..{head}"))

    def uncommitted(self, excluded: Iterable[Path] = (), *, untracked: bool = True) -> str:
        """Return a digest of what differs from HEAD, in the index or beside it; empty where nothing does.

        Files below `excluded` do not count, and with `untracked` those do that git does not know and does not ignore.
        Raises RecallError.
        """
        apart = [f":(exclude,top,literal){name}" for path in excluded if (name := self.path_of(path))]
        listed = self._paths(
            *("status", "--porcelain", "-z", "--no-renames", f"--untracked-files={'all' if untracked else 'no'}"),
            *("--", ":(top)", _DERIVED, *apart),
        )
        states = [f"{entry} {_content(self.top / entry[3:])}" for entry in listed]
        return hashlib.sha256("\0".join(states).encode("utf-8", "surrogateescape")).hexdigest()[:16] if states else ""

    def tracked(self, path: Path) -> set[str]:
        """Return the names of the files in the folder `path` that git knows. Raises RecallError."""
        return {Path(name).name for name in self._paths("ls-files", "-z", "--", self.path_of(path) or ".")}

    def files(self, path: Path) -> list[Path]:
        """Return the files below the folder `path` that git knows. Raises RecallError."""
        return [self.top / name for name in self._paths("ls-files", "-z", "--", self.path_of(path) or ".")]

    def default_branch(self) -> str:
        """Return the branch that the clone has on record as the default one of `origin`; empty where it has none."""
        done = self._git("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
        return os.fsdecode(done.stdout).strip().removeprefix(_ORIGIN) if done.returncode == 0 else ""

    def branches(self) -> set[str]:
        """Return the names of the branches here and, as far as they were fetched, at `origin`. Raises RecallError."""
        here = {ref.removeprefix(_HEADS) for ref in self.refs(_HEADS)}
        return here | {ref.removeprefix(_ORIGIN) for ref in self.refs(_ORIGIN)} - {"HEAD"}

    def has_remote(self) -> bool:
        """Whether the clone knows another repository. Raises RecallError."""
        return bool(self._line("remote"))

    def _commit(self, ref: str) -> str:
        done = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        return done.stdout.decode().strip() if done.returncode == 0 else ""

    def path_of(self, path: Path) -> str:
        """Return `path` from the root of the repository; empty for one that is elsewhere."""
        real, root = path.resolve(), self.top.resolve()
        return real.relative_to(root).as_posix() if real.is_relative_to(root) else ""

    def changed(self, commit: str, path: Path | None = None) -> list[str]:
        """Return the paths, from the root, that are not as they were in `commit`: committed, not yet, or untracked.

        Those below `path`, or all; a file that was moved is there by its old and by its new name.
        """
        name = "." if path is None else self.path_of(path) or "."
        differing = self._paths("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", commit, "--", name)
        return sorted({*differing, *self._paths("ls-files", "-z", "--others", "--exclude-standard", "--", name)})

    def check_out(self, commit: str, path: Path, folder: Path, index: Path) -> bool:
        """Write the files of `commit` below `path` into `folder`, by way of the file `index`; False if there are none.

        The clone stays as it is. Raises RecallError.
        """
        environ = {"GIT_INDEX_FILE": str(index)}
        tree = f"{commit}:{self.path_of(path)}"
        if self._git("rev-parse", "--verify", "--quiet", "--end-of-options", tree).returncode:
            return False
        self._checked(self._git("read-tree", tree, environ=environ))
        self._checked(self._git("checkout-index", "--all", "--quiet", f"--prefix={folder}/", environ=environ))
        return True

    def text_at(self, commit: str, path: str) -> str | None:
        """Return the text of the file at `path` in `commit`; None if it was not there, is not text or too large."""
        name = f"{commit}:{path}"
        size = self._git("cat-file", "-s", name)
        if size.returncode or int(size.stdout) > MAX_BYTES:
            return None
        try:
            return self._checked(self._git("cat-file", "blob", name)).decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            return None

    def text_beside(self, commit: str, path: Path) -> str | None:
        """Return the text of a file of this checkout as it was in `commit`, as `text_at` does."""
        name = self.path_of(path)
        return self.text_at(commit, name) if name else None

    def _paths(self, *command: str) -> list[str]:
        out = self._checked(self._git(*command))
        return [os.fsdecode(path) for path in out.split(b"\0") if path]

    def _line(self, *command: str) -> str:
        return os.fsdecode(self._checked(self._git(*command))).rstrip("\n")

    def _checked(self, done: subprocess.CompletedProcess[bytes]) -> bytes:
        if done.returncode:
            said = one_line(done.stderr.decode("utf-8", "replace").removeprefix("fatal: "))
            raise RecallError(f"git says: {said or f'nothing, and ends with {done.returncode}'}")
        return done.stdout

    def _git(self, *command: str, environ: Mapping[str, str] = NOTHING) -> subprocess.CompletedProcess[bytes]:
        try:
            with assigned(OWN, True):
                return subprocess.run(
                    ["git", "-c", "core.fsmonitor=false", *command],
                    cwd=self.top,
                    env={**os.environ, **_QUIET, **environ},
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=SECONDS,
                    check=False,
                )
        except FileNotFoundError:
            raise RecallError("there is no git here, which knows what changed; install it") from None
        except OSError as error:
            raise RecallError(f"git cannot be run ({error.strerror})") from None
        except subprocess.TimeoutExpired:
            raise RecallError(f"git took longer than {SECONDS:.0f} s for `git {command[0]}`") from None


def _content(path: Path) -> str:
    """Return what tells an edited file from any other edit of it; empty for one that is gone."""
    try:
        about = path.lstat()
        if path.is_file() and not path.is_symlink() and about.st_size <= _MAX_COMPARED:
            return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
    return f"{about.st_size} {about.st_mtime_ns}"
