"""Find where a change begins, and what was known there: the state, the settings and the recordings of its base."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile
from pytest_recall.cases.judge_code import altered_judges
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_file import parse_settings
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError, sentence_of
from pytest_recall.files.eval_directory import Place, is_case_file
from pytest_recall.files.git import NoBaseError, Repository, is_repository
from pytest_recall.runs.job import Job
from pytest_recall.schedule.state import committed_state
from pytest_recall.trials.record import NotCompared
from pytest_recall.trials.trial import Row

HELD = (
    *("blocks", "budget", "no_verdict_allowed", "recording", "replay"),
    *("volatile", "match_headers", "calls"),
)
"""The settings that a change has from its base, so that it does not judge itself: what blocks, what may be spent, and
what counts as an equal request. All others are its own."""


def default_branch(repository: Repository, job: Job) -> str:
    """Return the name of the branch that changes are merged into; empty where nothing says which it is.

    A job says so; else the remote does, whose branch a clone has as `origin/HEAD`.
    """
    return job.default_branch or repository.default_branch()


def lacks_default(folder: Path, job: Job) -> bool:
    """Whether nothing says which of the branches around `folder` is the default one, so that a run counts as one of it.

    A job of a pull request is on another, whichever that is.
    """
    if job.number is not None or not is_repository(folder):
        return False
    try:
        repository = Repository(folder)
        return _lacks(repository, default_branch(repository, job), job)
    except RecallError:  # Without git there is no branch.
        return False


def _lacks(repository: Repository, default: str, job: Job) -> bool:
    return not default and job.number is None and len(repository.branches()) > 1


class Base(NamedTuple):
    """The commit at which a checkout left the branch that it is to be merged into."""

    name: str = ""
    """That branch, or what names the commit."""
    commit: str = ""
    """Empty where there is none: no git, or no change that is known."""
    not_compared: NotCompared | None = None
    """Why a commit that has to be there cannot be found."""
    is_change: bool = False
    """Whether the checkout is a change of `name`, and not that branch itself."""
    rows: Mapping[str, Row] | None = None
    """The state at the commit; None where there is no state."""
    behind: Mapping[str, str] = MappingProxyType({})
    """What the state says of cases that are not recorded there as they are asked."""
    settings: Settings | None = None
    """Those of the rubric at the commit; None where it has none."""
    unreadable: str = ""
    """What is wrong with that rubric."""
    held_settings: tuple[str, ...] = ()
    """The names of those of the settings that apply in place of what the change says."""
    lacks_default: bool = False
    """What the function of that name says of the checkout."""


NO_BASE = Base()


def targets(given: str | None, job: Job) -> tuple[str, ...]:
    """Return the refs that a change is to be merged into, the first that is there counts; none where nothing says so.

    That is what the command line has `given`, else what the job says.
    """
    return (given, f"origin/{given}") if given else job.base_refs


def base_of(place: Place, refs: tuple[str, ...], job: Job) -> Base:
    """Return the base of the checkout around `place`: where it left the first of `refs` that is there.

    Without `refs` it is the default branch, and HEAD itself on that, and where nothing says which it is. A push to
    another branch, of a job that says so, is a change of what that branch was before: it has no base where that is not
    known, and the settings that it brings apply. A ref that was named and cannot be found is `not_compared`; without
    git, without a commit, and where the clone lacks the default branch there is no base. Raises RecallError for a state
    or a rubric at the base that cannot be read.
    """
    if not is_repository(place.root):
        return Base(refs[0], not_compared=NotCompared("no-repository")) if refs else NO_BASE
    try:
        repository = Repository(place.root)
        name = default_branch(repository, job)
        lacks_default = _lacks(repository, name, job)
    except RecallError as error:
        return Base(refs[0], not_compared=NotCompared("git", str(error)), is_change=True) if refs else NO_BASE
    return _base_in(repository, place, refs, name, job)._replace(lacks_default=lacks_default)


def _base_in(repository: Repository, place: Place, refs: tuple[str, ...], name: str, job: Job) -> Base:
    """Return the base in a repository whose default branch is `name`."""
    named = bool(refs)
    try:
        if not named:
            head, here = repository.head(), repository.branch()
            if head and name in (here, ""):
                return _read(repository, place, Base(here, head))
            default = repository.first_of((f"origin/{name}", name))
            if not head or not default:
                return NO_BASE
            if here and job.pushed == here:
                if not job.before:
                    return NO_BASE
                # It is read as no change, whose settings would be those of the base.
                base = _read(repository, place, Base(job.before, repository.base_of((job.before,))))
                return base._replace(is_change=base.commit != head)
            refs = (default,)
        commit = repository.base_of(refs)
    except NoBaseError as error:
        cause = "no-common-commit" if error.is_commit else "no-commit"
        return Base(refs[0], not_compared=NotCompared(cause, error.ref), is_change=True) if named else NO_BASE
    except RecallError as error:
        return Base(refs[0], not_compared=NotCompared("git", str(error)), is_change=True) if named else NO_BASE
    return _read(repository, place, Base(refs[0], commit, is_change=named or commit != repository.head()))


def _read(repository: Repository, place: Place, base: Base) -> Base:
    """Return the base with what was known there. Raises RecallError for a state that cannot be read."""
    state = committed_state(place, base.commit)
    if state is not None:
        base = base._replace(rows=state.rows, behind=state.behind)
    if not base.is_change or (text := repository.text_beside(base.commit, place.rubric)) is None:
        return base
    try:
        return base._replace(settings=parse_settings(text, f"{base.name}:{place.name(place.rubric)}"))
    except RecallError as error:
        # A change that mends it could never be merged, if this were an error.
        return base._replace(unreadable=sentence_of(error))


def cases_of(place: Place, base: Base, patterns: Iterable[str]) -> dict[str, Case]:
    """Return the cases of the case files at a base, by id; a file that cannot be read there has none.

    None of them is read where the change has left the case files alone.
    """
    if not base.is_change or not base.commit:
        return {}
    repository = Repository(place.root)
    found: dict[str, Case] = {}
    for path in repository.changed(base.commit, place.eval_dir):
        text = repository.text_at(base.commit, path) if is_case_file(Path(path), patterns) else None
        if text is None:
            continue
        with suppress(RecallError):  # What was no case file then has no cases to compare with.
            found |= {case.id: case for case in CaseFile(Path(path), path, text).cases()}
    return found


def judges_altered(place: Place, base: Base) -> dict[str, str]:
    """Return the judges whose code a change alters, each with the file that has it, as a path from the repository."""
    if not base.is_change or not base.commit:
        return {}
    repository = Repository(place.root)
    found: dict[str, str] = {}
    for path in repository.changed(base.commit, place.root):
        if path.endswith(".py"):
            now = repository.top / path
            after = ""
            with suppress(RecallError):  # What is no UTF-8 is not looked at, here and at the base.
                after = read_text(now, path) if now.is_file() else ""
            found |= dict.fromkeys(altered_judges(repository.text_at(base.commit, path) or "", after), path)
    return found


def held_to(rubric: Settings, base: Base) -> tuple[Settings, Base]:
    """Return the settings of a change, which does not judge itself, and its base with the names of those it alters.

    What is no matter of the answers is that of the base's rubric: what blocks, what may be spent, what counts as an
    equal request.
    """
    if not base.is_change or base.settings is None:
        return rubric, base
    altered = tuple(name for name in HELD if getattr(rubric, name) != getattr(base.settings, name))
    settings = rubric.model_copy(update={name: getattr(base.settings, name) for name in altered})
    return settings, base._replace(held_settings=altered)
