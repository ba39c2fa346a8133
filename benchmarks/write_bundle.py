"""Write runs of `recall memory run` with their figures into one file, which `recall memory verify` computes again.

    python benchmarks/write_bundle.py table.zip RUN [RUN ...]

A RUN is a folder, and the order that of the table. Of one run with `--repeat` all ingests are in the file, and the
figures of all of them together.
"""

from __future__ import annotations

import argparse
import io
import json
import platform
import sys
import zipfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pytest_recall import __version__
from pytest_recall.datasets.bundle import ABOUT, MANIFEST
from pytest_recall.datasets.bundle_file import VERSION, figures_of, paired_tests
from pytest_recall.datasets.membench_run import read_asked
from pytest_recall.files.disk import check_replaced, write_bytes
from pytest_recall.files.errors import RecallError
from pytest_recall.trials.journal import NAME as JOURNAL
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.question_run import QuestionRun
from pytest_recall.trials.record import Record
from pytest_recall.trials.repeat_folders import begun_repeats
from pytest_recall.trials.texts_file import NAME as TEXTS
from pytest_recall.trials.texts_file import digest_of
from pytest_recall.trials.trial import Trial

LICENCES: Mapping[str, str] = {"locomo": "CC BY-NC 4.0"}
"""The datasets whose texts are left out, with the licence that says why."""
_TEXTS = frozenset({"text", "question", "reference", "error", "reason"})
"""The fields of a journal that quote the dataset, or answers about it."""
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_bundle(path: Path, folders: Sequence[Path], *, texts: bool) -> bool:
    """Write the runs in `folders`, or all ingests of the one that is there, and return whether their texts are in it.

    Those of a dataset with a licence against it are only there with `texts`. Raises RecallError, or OSError.
    """
    check_replaced(path, str(path), b"PK", "bundle of runs")
    if len(folders) == 1:
        folders = begun_repeats(folders[0]) or folders
        repeated = len(folders) > 1
    else:
        repeated = False
    read = [read_asked(folder, folder.name) for folder in folders]
    texts = texts or not any(str(run.arguments["dataset"]) in LICENCES for run in read)
    contents: dict[str, bytes] = {}
    runs = []
    for number, (folder, run) in enumerate(zip(folders, read, strict=True), start=1):
        name = f"runs/{number}"
        files = _files_of(read_journal(folder), run.trials, texts=texts)
        contents |= {f"{name}/{file}": data for file, data in files.items()}
        runs.append({"folder": name, **run.arguments, "figures": figures_of(run)})
    about = {
        "version": VERSION,
        "texts": texts,
        "made_by": {"pytest_recall": __version__, "python": platform.python_version(), "on": platform.system()},
        "runs": runs,
        **({"together": figures_of(*read)} if repeated else {}),
        **({"against_first": paired_tests(read)} if len(read) > 1 and not repeated else {}),
    }
    contents[ABOUT] = (json.dumps(about, indent=2, ensure_ascii=False) + "\n").encode()
    contents[MANIFEST] = manifest_of(contents).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), contents[name], zipfile.ZIP_DEFLATED)
    write_bytes(path, packed.getvalue())
    return texts


def manifest_of(contents: Mapping[str, bytes]) -> str:
    """Return the lines of the manifest."""
    return "".join(f"{sha256(contents[name]).hexdigest()}  {name}\n" for name in sorted(contents))


def _files_of(record: Record, trials: Mapping[str, Trial], *, texts: bool) -> dict[str, bytes]:
    """Return the journal of a run as a bundle has it: the newest trial of each question, in their order."""
    with TemporaryDirectory(prefix="recall-") as scratch:
        folder = Path(scratch)
        with QuestionRun(folder, record.header) as run:
            journal = run.begin()
            journal.asked(record.asked.values())
            for trial in trials.values():
                journal.append(trial)
            run.end(0)
        if texts:
            return {name: (folder / name).read_bytes() for name in (JOURNAL, TEXTS)}
        first, *_ = (folder / JOURNAL).read_text("utf-8").splitlines()
    lines = [{"kind": "question", **one.to_json()} for one in record.asked.values()]
    lines += [{"kind": "trial", **one.to_json()} for one in trials.values()]
    return {JOURNAL: "".join(f"{line}\n" for line in (first, *map(json.dumps, map(_without_texts, lines)))).encode()}


def _without_texts(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of a journal with digests in place of its texts; why a question was asked is none."""
    reason = {name: line[name] for name in ("reason",) if name in line}
    return {**_digested({name: one for name, one in line.items() if name not in reason}), **reason}


def _digested(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_digested(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    found: dict[str, Any] = {}
    for name, one in value.items():
        if name in _TEXTS and isinstance(one, str):
            found[name] = ""
            if one:
                found[name + "_at"] = digest_of(one)
        else:
            found[name] = _digested(one)
    return found


def main() -> int:
    """Write the bundle that is asked for, and return the exit code."""
    parser = argparse.ArgumentParser(
        description="Write runs with their figures into one file, for `recall memory verify`.",
        epilog="Of LoCoMo it has ids and digests in place of texts, since these may not be passed on.",
    )
    parser.add_argument("bundle", type=Path, metavar="FILE", help="the file to write")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument("--texts", action="store_true", help="include LoCoMo's texts, if its licence lets you")
    args = parser.parse_args()
    try:
        texts = write_bundle(args.bundle, args.runs, texts=args.texts)
    except (RecallError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{args.bundle}: written{'' if texts else ', without the texts of the dataset'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
