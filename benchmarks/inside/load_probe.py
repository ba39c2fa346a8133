"""Time reading and checking a case file, ours and the obvious way; prints seconds as JSON.

load_probe.py FILE ROUNDS COUNT
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import yaml

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile


def whole(path: Path) -> list[Case]:
    """Read with pytest-recall, every row."""
    return CaseFile(path, path.name).cases()


def slice_of(path: Path) -> list[Case]:
    """Read with pytest-recall, 25 rows."""
    file = CaseFile(path, path.name)
    return file.cases(list(file.lines)[:: max(1, len(file.lines) // 25)][:25])


def obvious(path: Path) -> list[Case]:
    """Read with the parser as it comes, and the same models."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [Case.model_validate(json.loads(line)) for line in text.splitlines()]
    return [Case.model_validate(row) for row in yaml.load(text, yaml.CSafeLoader)]


def main(path: Path, rounds: int, count: int) -> None:
    sides: dict[str, Callable[[Path], list[Case]]] = {"recall": whole, "slice": slice_of, "obvious": obvious}
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, read in sides.items():
            begin = perf_counter()
            found = read(path)
            if number:
                seconds[name].append(perf_counter() - begin)
            if len(found) != (25 if name == "slice" else count):
                raise SystemExit(f"{name}: {len(found)} cases")
            del found
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
