"""Journal of a membench: a header with the arguments and a line for each question; beside it, what models judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_recall.core.bench_compare import Asked
from pytest_recall.core.errors import RecallError
from pytest_recall.core.membench import FORMAT, Arguments, Judged, Line, differences, plain
from pytest_recall.store.lines import Appended, appended

NAME = "questions.jsonl"
JUDGED_NAME = "judged.jsonl"


def begun(folder: Path, arguments: Arguments) -> Iterator[Line]:
    """Yield the lines that are there from an earlier run with the same arguments.

    A last line that was cut off is left out. Raises RecallError where the arguments are others.
    """
    path = folder / NAME
    for number, record in appended(path):
        try:
            if number == 1:
                if record["format"] != FORMAT:
                    raise RecallError(f"{path}:1: format {record['format']} is unknown here; upgrade pytest-recall")
                changed = differences(record["arguments"], arguments)
                if changed:
                    raise RecallError(f"{path}: {'; '.join(changed)}; ask the same as before, or name another --out")
                continue
            yield Line.from_json(record)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise RecallError(f"{path}:{number}: is no line of a membench; delete the folder to begin anew") from None


def folder_of(named: str, *beside: Path) -> Path | None:
    """Return the folder of the journal that `named` means: itself, its file, or one of that name in `beside`."""
    path = Path(named)
    folders = (path.parent if path.name == NAME else path, *(folder / named for folder in beside))
    return next((folder for folder in folders if (folder / NAME).is_file()), None)


def read_asked(folder: Path, name: str) -> Asked:
    """Return what the journal in the folder holds, which messages call `name`. Raises RecallError."""
    begin: Any = next((record for number, record in appended(folder / NAME) if number == 1), None)
    try:
        kept = dict(begin["arguments"])
        head = Arguments(**{**kept, "categories": tuple(kept["categories"])})
    except (ValueError, KeyError, TypeError):
        raise RecallError(f"{folder / NAME}:1: is no head of a membench; name the folder of one") from None
    return Asked(name, kept, {line.id: line for line in begun(folder, head)}, tuple(judged(folder)))


def judged(folder: Path) -> Iterator[Judged]:
    """Yield what models said of the answers; of what was judged again the last one holds. Raises RecallError."""
    path = folder / JUDGED_NAME
    for number, record in appended(path):
        try:
            yield Judged.from_json(record)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise RecallError(
                f"{path}:{number}: is no judgement of a membench; delete the file to judge anew"
            ) from None


class Journal(Appended):
    """The journal of a run, begun or gone on with; a context manager. Raises OSError."""

    def __init__(self, folder: Path, arguments: Arguments) -> None:
        super().__init__(folder / NAME)
        if not self._file.tell():
            self.append({"format": FORMAT, "arguments": plain(arguments)})

    def add(self, line: Line) -> None:
        """Append a line."""
        self.append(line.to_json())


class Judgements(Appended):
    """The file of what models said of the answers; a context manager. Raises OSError."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / JUDGED_NAME)

    def add(self, one: Judged) -> None:
        """Append what was said of an answer."""
        self.append(one.to_json())
