"""Say which cassettes cannot be relied on: damaged, cut off, of another version, or in the place of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.wording import one_line
from pytest_recall.replay.cassette_file import Cassette
from pytest_recall.replay.cassette_library import Layer, Library
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.run_recordings import damaged, layers_of


class CheckedCassettes(NamedTuple):
    """What reading cassettes to their ends has shown."""

    cassettes: int = 0
    """How many were read."""
    calls: int = 0
    """How many calls those have that are whole."""
    unreliable: int = 0
    """How many cassettes have a problem."""
    problems: tuple[str, ...] = ()
    """A sentence for each."""


def checked(library: Library, paths: Sequence[Path], place: Place, rules: Rules) -> CheckedCassettes:
    """Return what is wrong with the cassettes `paths` of a library."""
    calls = unreliable = 0
    problems: list[str] = []
    for path in paths:
        name = library.name(path)
        found: tuple[str, ...] = ()
        try:
            cassette = Cassette(path, name, rules)
            cassette.verify()
            calls += len(cassette)
            if not library.fits(path, cassette.header):
                found = (f"{name}:1: {_misnamed(library, cassette, place)}",)
        except RecallError as error:
            found = error.messages
        unreliable += bool(found)
        problems += found
    return CheckedCassettes(len(paths), calls, unreliable, tuple(problems))


def check_files_of_runs(place: Place, rules: Rules) -> None:
    """Raise RecallError for each file of recordings that is damaged, and each cassette in one that is."""
    broken = damaged(place)
    own = Layer(place.cassettes, place.name(place.cassettes))
    library = Library(own.folder, (*layers_of(place, broken), own))
    of_runs = [path for path in library.files() if not library.is_own(path)]
    problems = checked(library, of_runs, place, rules).problems
    if broken or problems:
        raise RecallError(*broken.values(), *problems)


def _misnamed(library: Library, cassette: Cassette, place: Place) -> str:
    header: Mapping[str, Any] = cassette.header
    own = library.of_header(header)
    if own is not None:
        case_id = one_line(header["case"])
        return f"is the recording of `{case_id}`, which belongs in {place.name(own)}; move it there, or record it again"
    if isinstance(header.get("fixture"), str):
        return f"is not named after its fixture `{one_line(header['fixture'])}`; record it again"
    return "does not say whose recording it is; record it again"
