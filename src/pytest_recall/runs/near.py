"""Find the cases that a change touches: by tags and paths, by their own rows, and by a list."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pytest_recall.cases.case_file import CaseFile
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import SUFFIXES
from pytest_recall.files.wording import listed, plural
from pytest_recall.runs.context import NearSources
from pytest_recall.schedule.selection import OPTION, NearRequest, touched

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.files.git import Repository
    from pytest_recall.runs.context import Context
    from pytest_recall.schedule.changes import Changes


class Near(NamedTuple):
    """The ids of the cases that the change touches, and in words how that is known; empty where not asked for."""

    ids: frozenset[str] = frozenset()
    told: str = ""


NOTHING = Near()


class Planned(Protocol):
    """What a plan tells here; it is a protocol, since the plan itself asks which cases are near."""

    @property
    def place(self) -> Place:
        """The eval directory."""

    @property
    def context(self) -> Context:
        """Its date, seed and mode."""

    @property
    def rubric(self) -> Settings:
        """The settings."""

    @property
    def declared(self) -> frozenset[str]:
        """The ids of all cases that are known."""

    @property
    def complete(self) -> bool:
        """Whether these are all that there are."""

    @property
    def unscheduled(self) -> Mapping[str, str]:
        """The cases that are on no schedule, with the reason."""


def near_cases(wanted: NearSources, plan: Planned, files: Iterable[CaseFile], kept: Collection[str]) -> Near:
    """Return which of the `kept` cases of `files` are near the change, where the slice depends on it.

    Raises RecallError for what is wrong with what was asked for, and where that has no effect.
    """
    asked = wanted.asked
    if plan.rubric.policy == "literal":
        if asked != NearRequest():
            raise RecallError(
                f"{OPTION} has no effect without `policy: lottery` or `affected` in rubric.yaml; leave it out"
            )
        return NOTHING
    if plan.context.mode not in ("pr", "observe"):
        if asked != NearRequest():
            raise RecallError(f"{OPTION} is about pull requests, and this is mode {plan.context.mode}; leave it out")
        return NOTHING
    if asked.off:
        return Near(told=f"off, by {OPTION}")
    if plan.rubric.policy == "affected":
        asked = asked._replace(files=())  # They say what a replay found, which is more than what is near.
        if not asked.tags and not plan.rubric.near:
            # The base is there for the replay, which needs it for some changes only.
            from pytest_recall.files.git import Repository

            for ref in asked.refs:
                with _about(ref):
                    Repository(plan.place.root).base_of((ref,))
            return NOTHING
    search = _Search(plan, [file for file in files if not file.reason], wanted.folder)
    if asked != NearRequest():
        for ref in asked.refs:
            with _about(ref):
                search.by_git((ref,))
        search.by_tags(asked.tags)
        for name in asked.files:
            search.by_list(name)
    elif wanted.bases:
        try:
            search.by_git(wanted.bases)
        except RecallError as error:
            # A shallow clone is no reason not to run; that it sees nothing is said.
            return Near(told=f"off, since {error}")
    else:
        return Near(told=f"off, since no base is known to compare with; {OPTION} names one, tags or cases")
    return search.found(frozenset(kept) - plan.unscheduled.keys())


@contextmanager
def _about(ref: str) -> Iterator[None]:
    """Name a ref that was asked for in what is wrong with it."""
    try:
        yield
    except RecallError as error:
        raise RecallError(f"{OPTION} git:{ref}: {error}") from None


def listed_changes(wanted: NearSources) -> Changes | None:
    """Return what the files that were asked for say of a replay of all cases; None without one. Raises RecallError."""
    from pytest_recall.schedule.changes import Changes, from_text

    found = Changes()
    for name in wanted.asked.files:
        found = found.joined(from_text(read_text(wanted.folder / name, name), name))
    return found if wanted.asked.files else None


class _Search:
    """What was found so far: ids by what found them, in words."""

    def __init__(self, plan: Planned, files: list[CaseFile], folder: Path) -> None:
        self._plan = plan
        self._files = files
        self._folder = folder
        self._parts: dict[str, set[str]] = {}
        self._known_by: list[str] = []
        self._notes: list[str] = []

    def by_tags(self, tags: Collection[str]) -> None:
        """Take in the cases with one of `tags`, which someone has named."""
        if not tags:
            return
        known = self._tags()
        for tag in tags:
            if tag not in known:
                ref = f"; for a git ref write git:{tag}" if known else ""
                raise RecallError(f"{OPTION}: `{tag}` is the tag of no case{nearest(tag, known)}{ref}")
        self._add(f"tagged {', '.join(tags)}", (case_id for tag in tags for case_id in known[tag]))

    def by_git(self, refs: tuple[str, ...]) -> None:
        """Take in the cases that differ from where this checkout left the first of `refs` that is there."""
        from pytest_recall.files.git import Repository

        repository = Repository(self._plan.place.root)
        base = repository.base_of(refs)
        paths = repository.changed(base)
        self._known_by.append(f"by {plural(len(paths), 'file')} changed since {refs[0]}")
        globs = self._plan.rubric.near
        if not globs:
            self._notes.append("`near` in rubric.yaml maps no path to a tag")
        if tags := touched(globs, paths):
            known = self._tags()
            if self._plan.complete and (lost := [tag for tag in tags if tag not in known]):
                self._notes.append(f"`near` in rubric.yaml names tags of no case: {listed(lost)}")
            found = (case_id for tag in tags for case_id in known.get(tag, ()))
            self._add(f"tagged {listed(tags)}", found)
        self._add("with an edited row", _edited(repository, base, paths, self._files))

    def by_list(self, name: str) -> None:
        """Take in the cases whose ids the file `name` lists."""
        ids, note = _ids(self._folder / name, name)
        self._notes += note
        unknown = ids - self._plan.declared
        if unknown and self._plan.complete:
            self._notes.append(f"{name} lists ids that no case file has: {listed(sorted(unknown))}")
        self._add(f"listed in {name}", ids)

    def found(self, kept: frozenset[str]) -> Near:
        """Return what was found, of the cases that this run chooses from."""
        ids = frozenset(case_id for some in self._parts.values() for case_id in some)
        there = ids & kept
        parts = [f"{len(some & kept)} {what}" for what, some in self._parts.items() if some & kept]
        of = plural(len(kept), "case")
        told = f"{len(there)} of {of}" + (f" ({'; '.join(parts)})" if parts else "")
        told = ", ".join([told, *self._known_by])
        size = self._plan.rubric.slice_cases
        if there and there == kept and size < len(kept):
            told += f"; the change touches all {of}: a slice of {size} is a sample"
        # A marked test that a file lists is known by its id before it is collected.
        return Near(ids, "; ".join([told, *self._notes]))

    def _add(self, what: str, ids: Iterable[str]) -> None:
        self._parts.setdefault(what, set()).update(ids)

    def _tags(self) -> dict[str, set[str]]:
        known: dict[str, set[str]] = {}
        for file in self._files:
            for case in file.cases():
                for tag in case.tags:
                    known.setdefault(tag, set()).add(case.id)
        return known


def _edited(repository: Repository, base: str, paths: Collection[str], files: Iterable[CaseFile]) -> set[str]:
    """Return the cases of `files` whose rows are not what some case file had at `base`."""
    changed = set(paths)
    top = repository.top.resolve()
    named = [(file, _from(top, file.path)) for file in files]
    now = [file for file, path in named if path in changed]
    if not now:
        return set()
    # A row that has moved from one file to another is the same row.
    gone = [path for path in paths if path.endswith(SUFFIXES) and "cases" in path and not (top / path).exists()]
    before: list[CaseFile] = []
    for path in [*(path for _, path in named if path in changed), *gone]:
        text = repository.text_at(base, path)
        if text is not None and (file := _readable(Path(path), text)):
            before.append(file)
    edited = set().union(*(file.lines for file in now))
    for file in now:
        for old in before:
            edited -= file.same_as(old)
    return edited


def _readable(path: Path, text: str) -> CaseFile | None:
    try:
        return CaseFile(path, path.as_posix(), text)
    except RecallError:
        return None  # What was no case file then has no rows to compare with.


def _from(top: Path, path: Path) -> str:
    """Return `path` from the root of the repository; empty for one that is elsewhere."""
    real = path.resolve()
    return real.relative_to(top).as_posix() if real.is_relative_to(top) else ""


def _ids(path: Path, name: str) -> tuple[set[str], list[str]]:
    """Return the ids that a file lists, and what is to be said of it.

    They are those `changed` or `unjudged` of what a dry run wrote; else there is one in each line.
    """
    text = read_text(path, name)
    if path.suffix != ".json":
        return {line.strip() for line in text.splitlines() if line.strip()}, []
    try:
        plain = json.loads(text)
        found = [*plain["changed"], *plain.get("unjudged", ())]
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise TypeError
        untold = len(plain.get("unknown", ())) + len(plain.get("not_recorded", ()))
        left = int(plain.get("of", 0)) - int(plain.get("cases", 0)) + untold
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RecallError(
            f"{name}: has no list `changed` of ids; write it by `pytest -p recall --record=missing --recall-dry-run`"
        ) from None
    return set(found), [f"{name} cannot tell of {plural(left, 'case')}"] if left > 0 else []
