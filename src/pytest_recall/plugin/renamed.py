"""Name the recordings that a case may have left behind as it got another id: those of cases that no case file has."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from pytest_recall.cases.case_file import CaseFile
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import find_case_files
from pytest_recall.files.wording import listed, one_line
from pytest_recall.replay.cassette_file import read_header

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_recall.files.eval_directory import Place
    from pytest_recall.replay.cassette_library import Library

_MOST = 3


class RenamedCases:
    """What is recorded in `library` of cases that are in none of the case files, which fit `patterns`.

    Nor are they `declared`, as marked tests are, and cases in files elsewhere that the run has collected. Nothing is
    read before a miss of a case without a recording.
    """

    def __init__(self, place: Place, library: Library, patterns: Iterable[str], declared: Iterable[str]) -> None:
        self._place = place
        self._library = library
        self._patterns = tuple(patterns)
        self._declared = frozenset(declared)

    def remedy(self, case_id: str) -> str:
        """Return what to do if `case_id`, of which nothing is recorded, had another id; empty if that cannot be."""
        if not self._gone or case_id not in self._known:
            return ""
        verb = "is" if len(self._gone) == 1 else "are"
        return (
            f"if the case had another id, `recall cassettes move OLD {case_id}` keeps its recording; recorded, and in"
            f" no case file, {verb} {listed([f'`{one_line(one)}`' for one in self._gone], _MOST)}"
        )

    @cached_property
    def _known(self) -> frozenset[str]:
        """The ids in all case files; none where one of them cannot be read."""
        try:
            files = [CaseFile(path, path.name) for path in find_case_files(self._place.eval_dir, self._patterns)]
        except RecallError:
            return frozenset()
        return frozenset(case_id for file in files for case_id in file.lines)

    @cached_property
    def _gone(self) -> list[str]:
        """The ids of the cases that are recorded, and in no case file."""
        ids: set[str] = set()
        for path in self._library.files() if self._known else ():
            try:
                header = read_header(path, path.name)
            except RecallError:
                continue
            case_id = header.get("case")
            if isinstance(case_id, str) and header.get("scenario") and self._library.is_own(path):
                ids.add(case_id)
        return sorted(ids - self._known - self._declared)
