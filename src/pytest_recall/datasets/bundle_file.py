"""Read what is in a bundle of runs over a dataset."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_recall.datasets.bundle import (
    ABOUT,
    given_back,
    is_restored,
)
from pytest_recall.datasets.comparison import JournalContents
from pytest_recall.datasets.datasets_text import comparison_json, groups
from pytest_recall.datasets.membench import TOKENS, fold
from pytest_recall.datasets.several import against_first, memory_run
from pytest_recall.files.errors import RecallError, sentence_of
from pytest_recall.trials.texts_file import digest_of

VERSION = 1
MOST_BYTES = 2**30
MOST_FILES = 1000
_FOLDER = re.compile(r"runs/[0-9]+")


def figures_of(run: JournalContents, *further: JournalContents) -> dict[str, Any]:
    """Return what a run came to, or with the `further` ingests all of them together."""
    summary = fold(run.trials.values(), len(run.asked), run.asked, [one.trials.values() for one in further])
    ingest = {"units": summary.units, "tokens": summary.ingest_tokens, "seconds": summary.ingest_seconds}
    beside = {"latency": dict(summary.latency), "ingest": ingest, "readback": asdict(summary.readback)}
    return {**groups(summary), "measured": beside}


def paired_tests(runs: Sequence[JournalContents]) -> list[Any]:
    """Return the comparison of each further run with the first, or why there is none, as plain JSON types.

    Floors of readers are compared where there is one memory alone, as the table of several compares these.
    """
    memories = [one for one in runs if not str(one.arguments.get("code", "")).startswith(TOKENS)]
    tested = memories if len(memories) > 1 else runs
    measured = [memory_run(one) for one in tested]
    compared = against_first([one.named(one.arguments.title) for one in measured])
    return [one if isinstance(one, str) else comparison_json(one) for one in compared]


def restored(data: bytes, texts: Mapping[str, str], path: Path) -> tuple[bytes, bool]:
    """Return the lines of a journal with what `texts` gives back, and whether that is all of its passages."""
    try:
        lines = [given_back(json.loads(line), texts) for line in data.decode("utf-8").splitlines()]
    except (ValueError, RecursionError):
        raise RecallError(f"{path}: a line of its journal is no JSON; get it again from where it came from") from None
    whole = all(is_restored(line) for line in lines if isinstance(line, dict))
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode(), whole


def unpacked(path: Path) -> dict[str, bytes]:
    """Return the files of the archive by name. Raises RecallError for what is none, or too large."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_FILES or sum(one.file_size for one in entries) > MOST_BYTES:
                raise RecallError(f"{path}: is larger than a bundle of runs; it holds at most 1 GiB in 1,000 files")
            return {one.filename: _read(archive, one, path) for one in entries}
    except FileNotFoundError:
        raise RecallError(f"{path}: is not there; name a bundle of runs") from None
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise RecallError(f"{path}: cannot be read as a bundle ({sentence_of(error)}); get it again") from None


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> bytes:
    with archive.open(entry) as file:  # What it says of its size is not believed.
        data = file.read(entry.file_size + 1)
    if len(data) > entry.file_size:
        raise RecallError(f"{path}: {entry.filename} is larger than it says; get it again from where it came from")
    return data


def about_of(path: Path, contents: Mapping[str, bytes]) -> dict[str, Any]:
    try:
        about = json.loads(contents[ABOUT])
        runs = [dict(one) for one in about["runs"]]
        if about["version"] != VERSION:
            raise RecallError(f"{path}: version {about['version']} of bundles is not known here; upgrade pytest-recall")
        for one in runs:
            for key in ("folder", "memory", "sha256", "dataset"):
                str(one[key])
            if not _FOLDER.fullmatch(one["folder"]) or not isinstance(one["figures"], dict):
                raise ValueError(one["folder"])
        together, tests = about.get("together"), about.get("against_first")
        if together is not None and not (runs and isinstance(together, dict)):
            raise ValueError("together")
        if tests is not None and not isinstance(tests, list):
            raise ValueError("against_first")
        return {"texts": about["texts"] is True, "runs": runs, "together": together, "tests": tests}
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise RecallError(f"{path}: is not a bundle of runs ({error}); name another file") from None


def texts_by_digest(units: Iterable[str]) -> dict[str, str]:
    """Return texts by their digests."""
    return {digest_of(text): text for text in units}
