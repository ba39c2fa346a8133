"""Write bundles of runs over a dataset, and verify them."""

from __future__ import annotations

import io
import json
import platform
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from pytest_recall import __version__
from pytest_recall.datasets.bundle import (
    ABOUT,
    MANIFEST,
    checkable,
    figure_problems,
    given_back,
    is_restored,
    manifest_of,
    manifest_problems,
    overruled,
    withheld,
)
from pytest_recall.datasets.cases import metrics_of
from pytest_recall.datasets.comparison import JournalContents
from pytest_recall.datasets.datasets_text import groups
from pytest_recall.datasets.membench import BESIDE, Arguments, fold
from pytest_recall.datasets.membench_run import read_asked
from pytest_recall.datasets.rescoring import altered, at_k, limit_of
from pytest_recall.files.disk import write_bytes
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import listed, plural
from pytest_recall.trials.journal import NAME as JOURNAL
from pytest_recall.trials.journal import journal_of, read_journal
from pytest_recall.trials.record import Record
from pytest_recall.trials.texts_file import NAME as TEXTS
from pytest_recall.trials.texts_file import digest_of
from pytest_recall.trials.trial import Trial

VERSION = 1
LICENCES: Mapping[str, str] = {"locomo": "CC BY-NC 4.0"}
"""The datasets whose texts are left out of a bundle, with the licence that says why."""
MOST_BYTES = 2**30
MOST_FILES = 1000
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_bundle(path: Path, folders: Sequence[Path], *, texts: bool, repeated: bool = False) -> None:
    """Write the runs in `folders` into a bundle, with their texts or without. Raises RecallError, or OSError.

    Where these are the ingests of one `repeated` run, it has the figures of all of them together as well.
    """
    contents: dict[str, bytes] = {}
    runs = []
    read = []
    for number, folder in enumerate(folders, start=1):
        record = read_journal(folder)
        name = f"runs/{number}"
        run = read_asked(folder, folder.name)
        read.append(run)
        contents |= {f"{name}/{file}": data for file, data in _files_of(record, run.trials, texts).items()}
        runs.append({"folder": name, **run.arguments, "figures": _figures(run)})
    about = {
        "version": VERSION,
        "texts": texts,
        "made_by": {"pytest_recall": __version__, "python": platform.python_version(), "on": platform.platform()},
        "runs": runs,
        **({"together": _figures(*read)} if repeated else {}),
    }
    contents[ABOUT] = (json.dumps(about, indent=2, ensure_ascii=False) + "\n").encode()
    contents[MANIFEST] = manifest_of(contents).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), contents[name], zipfile.ZIP_DEFLATED)
    write_bytes(path, packed.getvalue())


def _figures(run: JournalContents, *further: JournalContents) -> dict[str, Any]:
    """Return what a run came to, or with the `further` ingests all of them together."""
    return groups(fold(run.trials.values(), len(run.asked), run.asked, [one.trials.values() for one in further]))


def _files_of(record: Record, trials: Mapping[str, Trial], texts: bool) -> dict[str, bytes]:
    """Return the journal of a run as a bundle has it: the newest trial of each question, in their order."""
    with TemporaryDirectory(prefix="recall-") as scratch:
        folder = Path(scratch)
        with journal_of(folder, record.header) as journal:
            journal.asked(record.asked.values())
            for trial in trials.values():
                journal.append(trial)
            journal.end(0)
        if texts:
            return {name: (folder / name).read_bytes() for name in (JOURNAL, TEXTS)}
        first, *_ = (folder / JOURNAL).read_text("utf-8").splitlines()
    lines = [first, *(json.dumps(withheld({"kind": "question", **one.to_json()})) for one in record.asked.values())]
    lines += [json.dumps(withheld({"kind": "trial", **one.to_json()})) for one in trials.values()]
    return {JOURNAL: "".join(f"{line}\n" for line in lines).encode()}


class Verified(NamedTuple):
    """What came of verifying a bundle: a sentence for each run, what does not hold, and what could not be verified."""

    runs: tuple[str, ...]
    problems: tuple[str, ...]
    left: tuple[str, ...]


class _Computed(NamedTuple):
    """What came of verifying a run, and its journal with the values as they were computed again."""

    verified: Verified
    run: JournalContents


def verify(path: Path, texts_of: Mapping[str, str] | None, sha256: str = "") -> Verified:
    """Hash and compute again what the bundle at `path` holds.

    `texts_of` are the texts of the reader's own copy of the dataset by their digests, None without one, and `sha256`
    is that of its file. Raises RecallError for what is not a bundle.
    """
    contents = _unpacked(path)
    manifest = contents.pop(MANIFEST, b"").decode("utf-8", "replace")
    problems = manifest_problems(manifest, contents)
    about = _about(path, contents)
    runs: list[str] = []
    left: list[str] = []
    computed: list[JournalContents] = []
    with TemporaryDirectory(prefix="recall-") as scratch:
        for number, run in enumerate(about["runs"], start=1):
            if sha256 and run["sha256"] != sha256:
                raise RecallError(f"{path}: its runs are over another file than --data; name the one that was asked")
            folder = Path(scratch, str(number))
            folder.mkdir()
            restored = True
            for name in (JOURNAL, TEXTS):
                data = contents.get(f"{run['folder']}/{name}")
                if data is not None and name == JOURNAL and not about["texts"]:
                    data, restored = _restored(data, texts_of or {}, path)
                if data is not None:
                    (folder / name).write_bytes(data)
            try:
                one, again = _verified(run, folder, passages=restored, answers=about["texts"])
            except RecallError as error:
                # Of the folder that it was unpacked into there is nothing to say.
                told = (message.replace(f"{folder}", f"{path}: {run['folder']}") for message in error.messages)
                raise RecallError(*told) from None
            computed.append(again)
            runs += one.runs
            problems += one.problems
            left += one.left
    if about["together"] is not None:
        told = about["together"]
        problems += [f"all ingests together: {one}" for one in figure_problems(told, _figures(*computed))]
        runs.append(f"all ingests together: {plural(len(computed), 'run')}")
    return Verified(tuple(runs), tuple(problems), tuple(left))


def _verified(told: Mapping[str, Any], folder: Path, *, passages: bool, answers: bool) -> _Computed:
    name = f"{told['folder']} ({told['memory']})"
    run = read_asked(folder, name)
    chosen, missing = metrics_of(str(run.arguments["dataset"]), bool(run.arguments["whole"]))
    known = checkable(run, chosen, passages=passages, answers=answers)
    computed = at_k(run, limit_of(run), known)
    problems = [f"{name}: {one}" for one in figure_problems(told["figures"], _figures(computed))]
    before = {**Arguments._field_defaults, **told}  # What an earlier version did not know is as it was then.
    changed = [key for key, one in run.arguments.items() if one != before.get(key)]
    problems += [f"{name}: {key} was {before.get(key)!r}" for key in changed]
    if ids := altered(run, computed):
        problems.append(f"{name}: {plural(len(ids), 'question')} with values that it does not come to: {listed(ids)}")
    if ids := list(overruled(run.trials.values())):
        problems.append(f"{name}: {plural(len(ids), 'question')} judged otherwise than its verdict: {listed(ids)}")
    had, done = _metrics(run) & set(chosen), _metrics(computed) & known
    said = f"{name}: {len(run.trials):,} questions, {plural(len(done), 'metric')} computed again"
    left = listed(sorted(had - done), 20)
    unseen = [f"{name}: not computed again, as texts are missing: {left}"] if left else []
    if any(step.kind == BESIDE for trial in run.trials.values() for step in trial.steps):
        unseen.append(f"{name}: floors not computed again, as a bundle has not all that the memory was told")
    verified = Verified((said,), tuple(problems), (*unseen, *([f"{name}: {missing}"] if missing else [])))
    return _Computed(verified, computed)


def _metrics(run: JournalContents) -> set[str]:
    return {metric for trial in run.trials.values() for metric in trial.measures or {}}


def _restored(data: bytes, texts: Mapping[str, str], path: Path) -> tuple[bytes, bool]:
    """Return the lines of a journal with what `texts` gives back, and whether that is all of its passages."""
    try:
        lines = [given_back(json.loads(line), texts) for line in data.decode("utf-8").splitlines()]
    except (ValueError, RecursionError):
        raise RecallError(f"{path}: a line of its journal is no JSON; get it again from where it came from") from None
    whole = all(is_restored(line) for line in lines if isinstance(line, dict))
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode(), whole


def _unpacked(path: Path) -> dict[str, bytes]:
    """Return the files of the archive by name. Raises RecallError for what is none, or too large."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_FILES or sum(one.file_size for one in entries) > MOST_BYTES:
                raise RecallError(f"{path}: is larger than a bundle of runs; it holds at most 1 GiB in 1,000 files")
            return {one.filename: _read(archive, one, path) for one in entries}
    except FileNotFoundError:
        raise RecallError(f"{path}: is not there; name the file that --bundle has written") from None
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise RecallError(f"{path}: cannot be read as a bundle ({error}); get it again") from None


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> bytes:
    with archive.open(entry) as file:  # What it says of its size is not believed.
        data = file.read(entry.file_size + 1)
    if len(data) > entry.file_size:
        raise RecallError(f"{path}: {entry.filename} is larger than it says; get it again from where it came from")
    return data


def _about(path: Path, contents: Mapping[str, bytes]) -> dict[str, Any]:
    try:
        about = json.loads(contents[ABOUT])
        runs = [dict(one) for one in about["runs"]]
        if about["version"] != VERSION:
            raise RecallError(f"{path}: version {about['version']} of bundles is not known here; upgrade pytest-recall")
        for one in runs:
            for key in ("folder", "memory", "sha256", "dataset"):
                str(one[key])
            if f"{one['folder']}/{JOURNAL}" not in contents or not isinstance(one["figures"], dict):
                raise ValueError(one["folder"])
        together = about.get("together")
        if together is not None and not (runs and isinstance(together, dict)):
            raise ValueError("together")
        return {"texts": about["texts"] is True, "runs": runs, "together": together}
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise RecallError(f"{path}: is not a bundle of runs ({error}); name a file that --bundle has written") from None


def texts_by_digest(units: Iterable[str]) -> dict[str, str]:
    """Return texts by their digests."""
    return {digest_of(text): text for text in units}
