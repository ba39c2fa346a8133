"""Ask git what is checked out: the commit, what is not committed, and which changes are in its history."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.git import Repository, checked_out, committed, is_repository
from pytest_recall.runs.base import Base, default_branch
from pytest_recall.runs.job import Job
from pytest_recall.schedule.events import Events
from pytest_recall.schedule.run_file import SUFFIX, runs_not_held
from pytest_recall.schedule.state import committed_state, day_of, is_remembered
from pytest_recall.schedule.state_file import parse_state
from pytest_recall.schedule.suspects import is_pull_request, last_commit
from pytest_recall.trials.record import Header
from pytest_recall.trials.trial import Row


class Checkout(NamedTuple):
    """What is checked out; the fields are those of `Header`, and stay as they are here where git does not say."""

    commit: str = ""
    branch: str = ""
    uncommitted: str | None = None
    commits: int = 0
    in_history: tuple[str, ...] = ()

    def differs_from(self, header: Header) -> bool:
        """Whether the run of `header` began at another commit, or with other edits; not where git did not say."""
        known = self.commit and header.commit and None not in (self.uncommitted, header.uncommitted)
        return bool(known) and (self.commit, self.uncommitted) != (header.commit, header.uncommitted)


UNKNOWN = Checkout()


def head_of(folder: Path, job: Job) -> tuple[str, str]:
    """Return the commit that is checked out in a folder, and its branch; empty where that is not known.

    A job often has a commit alone, and says of which branch or tag it is.
    """
    commit, branch = checked_out(folder)
    return commit, branch or (job.ref if commit else "")


def folds_here(place: Place, job: Job) -> bool:
    """Whether a run in this checkout is folded into the rows of the state, and writes no run file.

    So on the default branch, without git, and where one cannot tell the branch, or which is the default one. A job of a
    pull request is on another branch, whatever is checked out.
    """
    if not is_repository(place.root):
        return True
    if job.intact.number is not None:
        return False
    branch = head_of(place.root, job)[1]
    default = default_branch(Repository(place.root), job)
    return not branch or not default or branch == default


def of_this_branch(place: Place, waiting: Mapping[str, Events]) -> dict[str, Events]:
    """Return those of the run files that a fold takes: those that git knows, so that a merge has brought them.

    A file that git does not know came along from another branch that was checked out before.
    """
    if not waiting or not is_repository(place.root):
        return dict(waiting)
    try:
        known = Repository(place.root).tracked(place.run_files)
    except RecallError:
        return dict(waiting)
    return {name: one for name, one in waiting.items() if f"{name}{SUFFIX}" in known}


def check_state(place: Place) -> None:
    """Raise RecallError for a state that is gone from the working tree, though the commit has it."""
    if place.state.exists() or not is_repository(place.root):
        return
    try:
        known = committed(place.eval_dir, "HEAD", (place.state.name,), place.state.suffix)
    except RecallError:  # There is no commit yet.
        return
    if known:
        name = place.name(place.state)
        raise RecallError(
            f"{name}: is gone, and every case would be new; restore it with `git checkout HEAD -- {name}`, or commit"
            " that it is deleted"
        )


def lost_names(place: Place, known: Collection[str]) -> list[str]:
    """Return the runs that the state of the commit, or of one before a merge, holds, and that are not `known`."""
    found: set[str] = set()
    for ref in ("HEAD", "HEAD^1", "HEAD^2") if is_repository(place.root) else ():
        with suppress(RecallError):
            files = committed(place.eval_dir, ref, (place.state.name,), place.state.suffix)
            found.update(parse_state(files.get(place.state.name, ""), ref).folded)
    return [name for name in runs_not_held(sorted(found), known) if is_remembered(day_of(name), known)]


def shared_names(place: Place, job: Job, ref: str = "") -> tuple[str, ...] | None:
    """Return the names of the runs in the state that everyone has: at `ref`, else at the remote's default branch.

    Without a remote it is the one that is committed, and None without git. Where nothing says which is the default
    branch of a remote, nobody is known to have any.
    """
    if not is_repository(place.root):
        return None
    try:
        repository = Repository(place.root)
        default = default_branch(repository, job)
        if not ref and not default and repository.has_remote():
            return ()
        ref = ref or repository.first_of((f"origin/{default}", "HEAD"))
        files = committed(place.eval_dir, ref, (place.state.name,), place.state.suffix) if ref else {}
        return parse_state(files.get(place.state.name, ""), place.name(place.state)).folded
    except RecallError:
        return ()


def checkout_of(place: Place, base: Base, rows: Iterable[Row], job: Job, *, untracked: bool = True) -> Checkout:
    """Return what is checked out around `place`, and which of the changes that `rows` name are in its history.

    What runs write is no edit, and neither is a file that git does not know, unless `untracked`: in CI builds and
    caches leave those.
    """
    commit, branch = head_of(place.root, job)
    if not commit or not is_repository(place.root):
        return UNKNOWN
    known = Checkout(commit, branch)
    try:
        repository = Repository(place.root)
        written = (place.state, place.run_files, place.cassettes, place.artifacts.folder)
        known = known._replace(uncommitted=repository.uncommitted(written, untracked=untracked))
        if base.commit and base.commit != commit:
            known = known._replace(commits=repository.commits_between(base.commit, commit))
        named = dict.fromkeys(change for row in rows for change in row.touched)
        return known._replace(in_history=_in_history(repository, place, commit, base, named))
    except RecallError:
        return known


def _in_history(repository: Repository, place: Place, commit: str, base: Base, named: Iterable[str]) -> tuple[str, ...]:
    """Return those of the `named` changes that are in the history of `commit`.

    A pull request has no commit of its own there if it was squashed or rebased. It is in the history if a state of the
    history names it: that was committed on its branch, and came with its merge.
    """
    changes = list(named)
    merged: set[str] = set()
    if any(map(is_pull_request, changes)):
        state = None if base.rows is not None else committed_state(place, commit)
        rows = base.rows if base.rows is not None else {} if state is None else state.rows
        merged = {change for row in rows.values() for change in row.touched}
    return tuple(
        change
        for change in changes
        if (change in merged if is_pull_request(change) else repository.is_ancestor(last_commit(change), commit))
    )
