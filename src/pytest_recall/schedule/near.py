"""Near: which cases a change touches, as it is asked for, and by the paths that a rubric maps to tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.files.errors import RecallError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

OFF, REF, FILE = "off", "git:", "file:"
OPTION = "--recall-near"


class NearRequest(NamedTuple):
    """What the command line names: tags, files with ids, and git refs; `off` that no case is near."""

    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    off: bool = False


def parse(given: Iterable[str]) -> NearRequest:
    """Return what the values of the option ask for. Raises RecallError for one that asks for nothing.

    A value is `off`, `file:PATH`, `git:REF`, or tags with commas between them; no tag has a `:`.
    """
    tags: list[str] = []
    files: list[str] = []
    refs: list[str] = []
    values = [value.strip() for value in given]
    for value in values:
        named = [tag.strip() for tag in value.split(",") if tag.strip()]
        if value == OFF:
            continue
        if value.startswith(FILE) and value != FILE:
            files.append(value[len(FILE) :])
        elif value.startswith(REF) and value != REF:
            refs.append(value[len(REF) :])
        elif named and not value.startswith((FILE, REF, "@")):
            tags += named
        elif value.startswith("@"):
            raise RecallError(f"{OPTION}: write file:{value[1:]}; pytest itself reads arguments from what `@` names")
        else:
            raise RecallError(f"{OPTION}: {value!r} names nothing; give tags, file:PATH, git:REF, or off")
    if OFF in values and len(values) > 1:
        raise RecallError(f"{OPTION}: `{OFF}` is given together with what it would leave out; give one of them")
    return NearRequest(tuple(dict.fromkeys(tags)), tuple(files), tuple(refs), OFF in values)


def touched(globs: Mapping[str, Iterable[str]], paths: Iterable[str]) -> list[str]:
    """Return the tags to whose `globs` one of `paths` fits, sorted. Paths are from the root of the repository."""
    every = list(paths)
    return sorted(tag for tag, lines in globs.items() if any(_spec(lines).match_files(every)))


def unmatched(globs: Mapping[str, Iterable[str]], paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the tag and the glob of each that none of `paths` fits; one that begins with `!` takes away from others."""
    every = list(paths)
    for tag, lines in globs.items():
        for line in lines:
            if not any(_spec([line.removeprefix("!")]).match_files(every)):
                yield tag, line


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # Few runs have a change to look at.

    return GitIgnoreSpec.from_lines(lines)
