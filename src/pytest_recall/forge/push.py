"""Apply a run to the newest state of a branch, commit it and push it, until no other push came first."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import CASSETTES, FOLDER, Place
from pytest_recall.files.git import Repository
from pytest_recall.files.wording import listed, one_line, plural
from pytest_recall.forge.host import Host
from pytest_recall.replay.cassette_file import read_header
from pytest_recall.replay.cassette_library import Library
from pytest_recall.replay.run_recordings import files_of_runs, library_of_runs, pack, without_secrets, write_packed
from pytest_recall.runs import finish
from pytest_recall.runs.base import default_branch
from pytest_recall.runs.evidence import RECORDINGS, REFS, RUNS, ref_of
from pytest_recall.runs.job import Job
from pytest_recall.schedule.boxes import OF_CHANGE
from pytest_recall.schedule.events import events_of
from pytest_recall.schedule.run_file import stem_of, write_run_file
from pytest_recall.trials.journal import NAME, Journal
from pytest_recall.trials.record import Record

AUTHOR = "eval-bot"
EMAIL = "eval-bot@users.noreply.github.com"
ROLES = ("AUTHOR", "COMMITTER")
DEPTH = 100
"""Commits of the branch that are looked at; a clone that is whole stays whole."""
SECONDS = 300
NO_ENVIRON: Mapping[str, str] = MappingProxyType({})


class GitError(RecallError):
    """git said no."""


class Remote:
    """The branch `branch` of `remote`, else the current one, seen from the repository around `folder`.

    Raises RecallError if there is none.

    A token of the `host` is handed to git in its environment, so that neither a command line nor a file has it.
    """

    def __init__(self, folder: Path, remote: str, branch: str | None, host: Host | None = None) -> None:
        self._folder, self._remote, self._token = folder, remote, "" if host is None else host.token
        # In the environment names come before those of any configuration.
        names = {f"GIT_{role}_{what}": value for role in ROLES for what, value in (("NAME", AUTHOR), ("EMAIL", EMAIL))}
        more = {
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            **names,
            **_credentials(host),
        }
        self._env = {**os.environ, **more}
        self.top = Path(self.git("rev-parse", "--show-toplevel"))
        is_shallow = self.git("rev-parse", "--is-shallow-repository") == "true"
        self._depth = (f"--depth={DEPTH}",) if is_shallow else ()
        self.branch = branch or self.git("branch", "--show-current")
        if not self.branch:
            raise RecallError("git: no branch is checked out; give --branch")

    def tip(self) -> str:
        """Fetch the branch and return its newest commit. Raises GitError, with what to do where there is no branch."""
        ref = f"refs/heads/{self.branch}"
        if not self._has(ref):
            raise GitError(
                f"git: {self._remote} has no branch `{self.branch}`; push it first, or name another with --branch"
            )
        self._fetch(ref, *self._depth)
        return self.git("rev-parse", "FETCH_HEAD")

    def _has(self, ref: str) -> bool:
        """Whether the remote has a ref of this name. Raises GitError if it cannot be asked."""
        return bool(self._ask("ls-remote", self._remote, ref))

    def _fetch(self, refs: str, *options: str) -> None:
        """Fetch what `refs` names. Raises GitError."""
        self._ask("fetch", "--quiet", "--no-tags", *options, self._remote, refs)

    def _ask(self, *arguments: str) -> str:
        """Return what a git command prints that asks the remote. Raises GitError."""
        try:
            return self.git(*arguments)
        except GitError as error:
            if self._remote in self.git("remote").split("\n"):
                raise
            why = f"`{self._remote}` is not the name of a remote of this clone; add it (`git remote add`)"
            raise GitError(f"{error}; {why}, or give --remote") from None

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

    def last_of_others(self, commit: str) -> str:
        """Return the newest commit, up to this one, whose author is not eval-bot; empty if that is too far back."""
        found = self.git("log", "--first-parent", f"--max-count={DEPTH}", "--format=%H %ae", commit)
        pairs = (line.split(" ", 1) for line in found.split("\n"))
        return next((other for other, author in pairs if author != EMAIL), "")

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
        self.git("commit", "--quiet", "--no-verify", "--no-gpg-sign", "--message", message, at=tree)
        return self.git("rev-parse", "HEAD", at=tree)

    def push(self, commit: str) -> None:
        """Make a commit the newest of the branch. Raises GitError if others were faster, or a rule forbids it."""
        self.git("push", "--quiet", "--no-verify", self._remote, f"{commit}:refs/heads/{self.branch}")

    def fetch_ref(self, ref: str) -> str:
        """Fetch a ref under its own name and return its commit; empty where the remote has none."""
        if not self._has(ref):
            return ""
        self._fetch(f"+{ref}:{ref}", *self._depth)
        return self.git("rev-parse", ref)

    def fetch_all(self, start: str) -> int:
        """Fetch all refs whose names begin so, and return how many there are."""
        self._fetch(f"+{start}*:{start}*", "--prune")
        return len(self.git("for-each-ref", "--format=%(refname)", start).split())

    def drop_refs(self, start: str, before: float) -> list[str]:
        """Delete the refs, here and at the remote, whose names begin so and whose commit is older than a time.

        `before` is that time in seconds since 1970. Returns their names. Raises GitError.
        """
        lines = self.git("for-each-ref", "--format=%(committerdate:unix) %(refname)", start).splitlines()
        old = [ref for when, ref in (line.split(" ", 1) for line in lines) if int(when) < before]
        if old:
            self.git("push", "--quiet", "--no-verify", self._remote, *(f":{ref}" for ref in old))
            for ref in old:
                self.git("update-ref", "-d", ref)
        return old

    def push_files(self, ref: str, files: Mapping[str, Path], message: str) -> str:
        """Add files, by their paths in the tree, to what a ref holds, and return the commit.

        Raises GitError if the remote does not take it, or others were faster each time.
        """
        blobs = self.git(
            "hash-object", "-w", "--no-filters", "--stdin-paths", stdin="\n".join(map(str, files.values()))
        )
        entries = [f"100644 {blob}\t{path}\n" for blob, path in zip(blobs.split(), files, strict=True)]
        for count in range(1, TRIES + 1):
            parent = self.fetch_ref(ref)
            with tempfile.TemporaryDirectory() as folder:
                index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
                if parent:
                    self.git("read-tree", parent, environ=index)
                self.git("update-index", "--add", "--index-info", stdin="".join(entries), environ=index)
                tree = self.git("write-tree", environ=index)
            commit = self.git("commit-tree", tree, *(("-p", parent) if parent else ()), "-m", message)
            try:
                self.git("push", "--quiet", "--no-verify", self._remote, f"{commit}:{ref}")
            except GitError:
                if count == TRIES or self.fetch_ref(ref) == parent:
                    raise
                continue
            break
        return commit

    def git(
        self, *arguments: str, at: Path | None = None, stdin: str | None = None, environ: Mapping[str, str] = NO_ENVIRON
    ) -> str:
        """Return what a git command prints. Raises GitError with the last line that it says."""
        try:
            done = subprocess.run(
                ["git", *arguments],
                cwd=at or self._folder,
                env={**self._env, **environ},
                input=stdin,
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
    return next(argument for argument in arguments if not argument.startswith("-"))


def _cause(said: str) -> str:
    """Return what of git's errors says why: the line that is marked as that, or else all of it."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("hint:")]
    telling = [line for line in lines if line.startswith(("remote: error:", "fatal:", "! [", "error:"))]
    return one_line(telling[0] if telling else " ".join(lines), 300)


def _credentials(host: Host | None) -> Mapping[str, str]:
    """Return git's environment with a header for the server, in place of one that a checkout has left."""
    if host is None or not host.token or not host.server.startswith(("http://", "https://")):
        return {}
    key = f"http.{host.server.rstrip('/')}/.extraheader"
    basic = base64.b64encode(f"{host.user}:{host.token}".encode()).decode("ascii")
    given = [(key, ""), (key, f"AUTHORIZATION: basic {basic}")]  # The empty one forgets those before it.
    settings = {f"GIT_CONFIG_KEY_{number}": name for number, (name, _) in enumerate(given)}
    settings |= {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(given)}
    return {"GIT_CONFIG_COUNT": str(len(given)), **settings}


KEPT_DAYS = 60
"""So long CI keeps what it has recorded for a pull request since the last run of that."""
TRIES = 8
TRAILER = "Recall-Run"


class Pushed(NamedTuple):
    """What came of it: the commit of the state if it is of this job, and a sentence."""

    commit: str | None
    said: str


def push(
    remote: Remote,
    place: Place,
    run: Path,
    record: Record,
    job: Job,
    *,
    once: bool = False,
    publishes: bool = True,
    dry: bool = False,
    sleep: Callable[[float], object] = time.sleep,
) -> Pushed:
    """Fold the run in the folder `run` into the state at the tip of the branch, and push that as eval-bot.

    The checkout at hand stays as it is. If someone else pushes first, the run is applied to what they pushed, so
    that nothing of either is lost. The commit says which trials are in it, and no trial is applied to a branch
    again. A run of the branch itself brings its recordings, if it `publishes` them. With `once`, nothing is done on top
    of a commit of eval-bot. Raises RecallError if the branch takes no push; the run is then as it was, and can be
    pushed later.
    """
    inside = place.eval_dir.resolve().relative_to(remote.top.resolve())
    line = f"{TRAILER}: {run.name} {_digest(run)} "
    recordings = _missing_of_main(place, record) if publishes else {}
    decided = [one.path.name for one in files_of_runs(place)] if publishes and _knows_main(record) else []
    default = default_branch(Repository(place.root), job) or remote.branch
    # A pull request is on another branch, also where nobody knows which is the default one.
    folds = job.number is None and remote.branch == default
    if not folds and recordings:
        held = library_of_runs(place)
        recordings = {
            name: path
            for name, path in recordings.items()
            if all(held.is_newer(path, layer.folder / name) for layer in held.layers)
        }
    seen = ""
    count = 0
    while True:
        count += 1
        tip = remote.tip()
        if once and (others := remote.last_of_others(tip)) != tip:
            # A job that runs again has no other commit to report on than the one that it has pushed before.
            own = tip if others == job.commit else None
            return Pushed(own, f"the newest commit of {remote.branch} is eval-bot's own; nothing was pushed")
        applied = max((int(number) for number in remote.lines(tip, line) if number.isdecimal()), default=0)
        if applied and applied >= len(record.trials) and record.waiver is None:
            return Pushed(None, f"{run.name}: already in the state of {remote.branch}")
        with remote.worktree(tip) as tree:
            there, folder = Place(tree, tree / inside), _folder_of_recordings(place)
            rows = _apply(there, run, record, job, applied, recordings, decided, recorded_in=folder, folds=folds)
            message = f"Update the eval schedule\n\n{_counts(record, rows)}\n\n{line}{len(record.trials)}"
            commit = remote.commit(tree, inside.as_posix(), FOLDER, message)
            if commit is None:
                return Pushed(None, f"{run.name}: no row of {remote.branch} changes; nothing was pushed")
            if dry:
                return Pushed(None, f"{run.name}: would change {plural(rows, 'row')} of {remote.branch}")
            try:
                remote.push(commit)
            except GitError:
                # The tip has not moved, and still has not a while later: this is no race.
                if tip == seen or count == TRIES:
                    raise
                seen = tip
                sleep(0.2 * count)
                continue
        # A run that another process is writing to, or that nobody can, was pushed all the same.
        with suppress(RecallError, OSError), Journal.continued(run) as journal:
            journal.pushed(commit)
        done = f"{plural(rows, 'row')} changed{_waived(record)}"
        return Pushed(commit, f"{run.name}: {done}; pushed {commit[:12]} to {remote.branch}")


def push_recordings(
    remote: Remote, place: Place, record: Record, run: str, number: int, scratch: Path, *, dry: bool = False
) -> str:
    """Add what the run of a pull request has left to the ref that no push to its branch drops; return a sentence.

    Those are its recordings and its verdicts; `run` names its folder there, and `scratch` is an
    empty folder. A recording in which a secret is found is left out, so that its case has no evidence later.
    """
    inside = place.eval_dir.resolve().relative_to(remote.top.resolve())
    recordings, secret = _recordings(place)
    files = {(inside / run / CASSETTES / name).as_posix(): path for name, path in recordings.items()}
    files |= {(inside / run / name).as_posix(): path for name, path in _events(record, scratch).items()}
    left = f"; left out, since a secret is in them: {listed(secret)}" if secret else ""
    count = plural(len(recordings), "recording")
    if dry:
        return f"{count} would be kept for #{number}{left}"
    commit = remote.push_files(ref_of(number), files, f"Recordings of {run}")
    return f"{count} kept for #{number} in {ref_of(number)} ({commit[:12]}){left}"


def drop_old_runs(remote: Remote, now: datetime) -> str:
    """Delete what runs of pull requests left that had no run for `KEPT_DAYS`; return a sentence, empty for none.

    The clone has to have fetched it. Raises GitError.
    """
    old = remote.drop_refs(REFS, (now - timedelta(days=KEPT_DAYS)).timestamp())
    return f"recordings of {plural(len(old), 'pull request')} deleted: no run for {KEPT_DAYS} days" if old else ""


def _recordings(place: Place) -> tuple[dict[str, Path], list[str]]:
    """Return what the newest run has recorded apart, by path, and the paths of those in which a secret is found."""
    folder = _folder_of_recordings(place)
    clean, secret = without_secrets(folder)
    return {path.relative_to(folder).as_posix(): path for path in clean}, secret


def _folder_of_recordings(place: Place) -> Path:
    return (place.artifacts.folder / RECORDINGS).resolve()


def _events(record: Record, scratch: Path) -> dict[str, Path]:
    """Write the run file of a run into a folder, if its events say anything; return it by its name in the ref."""
    events = events_of(record.header, record.trials, len(record.trials))
    before = {trial.case_id: trial.row for trial in record.trials if trial.row is not None and not trial.arm}
    written = [write_run_file(scratch / RUNS, events, before)] if events.says_anything else []
    return {f"{RUNS}/{path.name}": path.resolve() for path in written}


def _missing_of_main(place: Place, record: Record) -> dict[str, Path]:
    """Return what a run of the default branch has recorded of cases whose recording was missing or of other requests.

    A night asks others as well: their recordings are as good as they were, and stay.
    """
    header = record.header
    if header.mode not in ("main", "nightly"):
        return {}
    recordings = _recordings(place)[0]
    if header.mode == "main":
        return recordings
    missing = {case_id for case_id, reason in header.picks if reason in OF_CHANGE}
    return {name: path for name, path in recordings.items() if read_header(path, name).get("case") in missing}


def _knows_main(record: Record) -> bool:
    """Whether a run has found out which recordings are of what the default branch asks."""
    return record.header.mode == "main" and record.header.replayed is not None


def _digest(run: Path) -> str:
    """Return what tells runs of one name apart: two checkouts may have begun theirs in the same second."""
    with (run / NAME).open("rb") as file:
        return sha256(file.readline()).hexdigest()[:12]


def _apply(
    place: Place,
    run: Path,
    record: Record,
    job: Job,
    applied: int,
    recordings: Mapping[str, Path],
    decided: Collection[str],
    *,
    recorded_in: Path,
    folds: bool,
) -> int:
    """Apply a run to the state at `place`, which has the first `applied` trials, and return how many rows changed.

    What the run of the default branch has recorded takes its place among the cassettes, and the files of recordings go
    of which it has `decided` what is taken over. The run of any other branch, which does not `fold`, is written into a
    run file, and what it has recorded into one file beside that.
    """
    library = Library(place.cassettes)
    if folds:
        for name, path in sorted(recordings.items()):
            library.take_over(path, place.cassettes / name)
        for name in decided:
            (place.run_files / name).unlink(missing_ok=True)
    elif recordings:
        content = pack(recorded_in, recordings.values(), datetime.fromisoformat(record.header.started))
        write_packed(place.run_files, stem_of(events_of(record.header, (), 0)), content)
    return len(finish.apply(place, run, record, job=job, folds=folds, applied=applied, shared_at="HEAD") or ())


def _counts(record: Record, rows: int) -> str:
    header = record.header
    told = f"{header.mode} {header.date}: {plural(len(record.trials), 'trial')}, {plural(rows, 'row')} changed"
    told += _waived(record)
    return told if header.pr is None else f"{told}, for pull request {header.pr}"


def _waived(record: Record) -> str:
    return "" if record.waiver is None else f", {plural(len(record.waiver.cases), 'case')} waived"
