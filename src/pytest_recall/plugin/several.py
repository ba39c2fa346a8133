"""Run pytest for each of several eval directories, each with its own state, and print one summary.

An eval directory has one rubric, one state and one journal a run, and its conftest files have the agent. So each is
run by a pytest of its own, one after the other, as if it had been named alone: ids may be equal across them, and no
fixture, cassette or setting of one is another's.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place, relative
from pytest_recall.plugin import files, options, recording
from pytest_recall.results.sentences import headline
from pytest_recall.runs import finish
from pytest_recall.trials.cost import of_run, total
from pytest_recall.trials.journal import read_journal

NOTHING = pytest.ExitCode.NO_TESTS_COLLECTED


class DirectoryRun(NamedTuple):
    """What one pytest runs: its eval directory, None for tests beside all of them, and its arguments."""

    folder: Path | None
    arguments: tuple[str, ...]


def main(config: pytest.Config) -> int:
    """Run each of the eval directories below pytest's arguments, and return the exit code of them all."""
    folders = files.owners(config)
    asked = recording.recording(config)
    _refuse(config, folders, asked)
    budget = asked.budget
    parts = list(_parts(config, folders))
    names = ", ".join(relative(folder, config.rootpath) for folder in folders)
    print(f"recall: {len(folders)} eval directories, one run each: {names}", flush=True)
    codes, reports = list[int](), list[Path]()
    before = {folder: _runs(config, folder) for folder in folders}
    with tempfile.TemporaryDirectory() as scratch:
        for number, part in enumerate(parts):
            if budget == 0:
                print("recall: the budget is spent", flush=True)
                break
            report = Path(scratch, f"{number}.xml") if getattr(config.option, "xmlpath", None) else None
            code, stopped = _run(config, part, budget, report)
            codes.append(code)
            reports += [report] if report is not None and report.exists() else []
            if budget is not None and part.folder is not None:
                spent = _spent(config, part.folder, before[part.folder])
                if spent is None:
                    print("recall: it is not known what is left of the budget", flush=True)
                    break
                budget = max(budget - spent, 0.0)
            if stopped:
                break
        if getattr(config.option, "xmlpath", None):
            _join(reports, config.invocation_params.dir / config.option.xmlpath)
    print(f"\n{' recall: all eval directories ':=^80}")
    for part, code in zip(parts, codes, strict=False):
        if part.folder is not None:
            print(f"{relative(part.folder, config.rootpath)}: {_told(config, part.folder, before[part.folder], code)}")
        elif code not in (0, NOTHING):
            print(f"tests beside them: pytest ended with {code}")
    for part in parts[len(codes) :]:
        print(f"{relative(part.folder, config.rootpath) if part.folder else 'tests beside them'}: not run")
    return combined(codes) if len(codes) == len(parts) else max(combined(codes), 2)


def combined(codes: Iterable[int]) -> int:
    """Return one exit code for several: the worst, and that of nothing only where all have it."""
    kept = [code for code in codes if code != NOTHING]
    return max(kept, default=int(NOTHING))


def _refuse(config: pytest.Config, folders: list[Path], asked: recording.Recording) -> None:
    """Raise pytest.UsageError for what is about one run alone."""
    names = " and ".join(f"`{relative(folder, config.rootpath)}`" for folder in folders[:2])
    one = {
        "--recall-resume": config.option.recall_resume is not None,
        "--recall-base-state": bool(config.option.recall_base_state),
        # Cases of two directories may have one id, and so one cassette.
        f"a folder for {'--replay' if asked.mode == 'replay' else '--record'}": bool(asked.folder),
        "--recall-dry-run-of": bool(config.option.recall_dry_run_of),
        "--recall-dry-run-file": bool(config.option.recall_dry_run_file),
    }
    if given := next((name for name, is_given in one.items() if is_given), None):
        raise pytest.UsageError(f"{given} is about one run, and {names} are run one by one; name one of them")
    if config.invocation_params.plugins:
        raise pytest.UsageError(f"{names} are run one by one, and not with plugins that a program has passed to pytest")


def _parts(config: pytest.Config, folders: list[Path]) -> Iterator[DirectoryRun]:
    """Yield what each pytest runs; an argument that belongs to one directory alone goes there as it is."""
    rest: list[str] = []
    own: dict[Path, list[str]] = {folder: [] for folder in folders}
    for argument in config.args:
        root = options.argument_path(config, argument)
        inside = [folder for folder in folders if root == folder or folder in root.parents or root in folder.parents]
        if len(inside) == 1:
            own[inside[0]].append(argument)
            continue
        rest.append(argument)
        for folder in inside:
            own[folder].append(str(_scope(folder, root, folders)))
    for folder in folders:
        # One may lie within another.
        nested = [other for other in folders if folder in other.parents]
        yield DirectoryRun(folder, (*own[folder], *(f"--ignore={other}" for other in nested)))
    if rest:
        ignored = sorted({argument for arguments in own.values() for argument in arguments})
        yield DirectoryRun(None, (*rest, *(f"--ignore={argument}" for argument in ignored)))


def _scope(folder: Path, root: Path, folders: Iterable[Path]) -> Path:
    """Return the largest folder below `root` that has no eval directory but this one: its tests are of it."""
    taken = {above for other in folders if other != folder for above in (other, *other.parents)}
    found = folder
    while (above := found.parent) != root and root in above.parents and above not in taken:
        found = above
    return found


def _run(config: pytest.Config, part: DirectoryRun, budget: float | None, report: Path | None) -> tuple[int, bool]:
    """Run pytest over a part, and return its exit code, and whether it was interrupted."""
    given = list(config.invocation_params.args)
    for argument in config.option.file_or_dir:
        if argument in given:  # It may be of `addopts`.
            given.remove(argument)
    # A path behind an option whose value may be left out, such as `--record`, would be taken for that value.
    command = [sys.executable, "-m", "pytest", *part.arguments, *map(str, given), f"--rootdir={config.rootpath}"]
    if config.inipath is not None:
        command += ["-c", str(config.inipath)]
    if part.folder is not None:
        command += [f"--recall-dir={part.folder}"]
    if budget is not None:
        command += [f"--recall-budget={budget}"]
    if report is not None:
        command += [f"--junitxml={report}"]
    name = "tests beside them" if part.folder is None else relative(part.folder, config.rootpath)
    print(f"\n{f' recall: {name} ':=^80}", flush=True)
    process = subprocess.Popen(command, cwd=config.invocation_params.dir)
    try:
        return process.wait(), False
    except KeyboardInterrupt:
        process.wait()  # It was sent the same signal, and writes down what it has.
        return int(pytest.ExitCode.INTERRUPTED), True


def _runs(config: pytest.Config, folder: Path) -> list[Path]:
    return Place(config.rootpath, folder).artifacts.runs()


def _new_run(config: pytest.Config, folder: Path, before: list[Path]) -> Path | None:
    news = [run for run in _runs(config, folder) if run not in before]
    return news[-1] if news else None


def _spent(config: pytest.Config, folder: Path, before: list[Path]) -> float | None:
    """Return the dollars that a run has spent; None if its journal cannot be read."""
    run = _new_run(config, folder, before)
    try:
        return 0.0 if run is None else total(of_run(read_journal(run))).spent.usd
    except RecallError:
        return None


def _told(config: pytest.Config, folder: Path, before: list[Path], code: int) -> str:
    """Return what a run came to, in one line."""
    run = _new_run(config, folder, before)
    if run is None:
        return f"no run; pytest ended with {code}"
    try:
        record = read_journal(run)
        card = finish.scorecard(record, Place(config.rootpath, folder), run)
    except RecallError as error:
        return error.messages[0]
    return headline(record.header, card)


def _join(reports: Iterable[Path], path: Path) -> None:
    """Write the suites of several JUnit reports as one."""
    suites = ElementTree.Element("testsuites", name="pytest tests")
    for report in reports:
        suites.extend(ElementTree.parse(report).getroot().iter("testsuite"))
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)
