"""Run pytest for each of several eval directories, each with its own state, and print one summary.

An eval directory has one rubric, one state and one journal a run, and its conftest files have the agent. So each is
run by a pytest of its own, one after the other, as if it had been named alone: ids may be equal across them, and no
fixture, cassette or setting of one is another's.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from pytest_recall.cases.case_file import CaseFile
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place, find_place, relative
from pytest_recall.files.wording import plural
from pytest_recall.plugin import arguments, files, options, portion, recording
from pytest_recall.results.sentences import headline
from pytest_recall.runs import finish
from pytest_recall.trials.cost import of_run, total
from pytest_recall.trials.journal import read_journal

NOTHING = pytest.ExitCode.NO_TESTS_COLLECTED
PATIENCE = 5.0
"""Seconds that a run gets to end after Ctrl-C, before it is sent the signal: a terminal has sent it to both."""
_SIGNALLED = 128
"""What a shell adds to the number of the signal that has ended a process."""
_FIRST_ALONE = frozenset({"--cache-clear", "--clean-alluredir"})
"""Options that delete what the run before has written."""


class DirectoryRun(NamedTuple):
    """What one pytest runs: its eval directory, None for tests beside all of them, and its paths."""

    folder: Path | None
    paths: tuple[str, ...]
    place: Place
    """Where its run is written; for tests beside the directories, if one of them is marked."""

    @property
    def name(self) -> str:
        """How it is called in what is printed."""
        return "tests beside them" if self.folder is None else self.place.name(self.folder)


class Ended(NamedTuple):
    """How one pytest has ended: by its exit code, as a shell gives it, with its run if it made one.

    `failures` is the number of failed tests, where that is counted; `stopped` says that this process was sent a signal
    meanwhile, which is meant for all.
    """

    code: int
    run: Path | None
    stopped: bool
    failures: int = 0


def main(config: pytest.Config) -> int:
    """Run each of the eval directories below pytest's arguments, and return the exit code of them all."""
    folders = files.owners(config)
    asked = recording.recording(config)
    _refuse(config, folders, asked)
    common = arguments.options_of(config)
    budget, most = asked.budget, config.option.maxfail or 0
    parts = list(_parts(config, folders))
    elsewhere = _names_elsewhere(config)
    names = ", ".join(relative(folder, config.rootpath) for folder in folders)
    print(f"recall: {len(folders)} eval directories, one run each: {names}", flush=True)
    ended, reports, why = list[Ended](), list[Path](), ""
    with tempfile.TemporaryDirectory() as scratch:
        for number, part in enumerate(parts):
            if why:
                print(f"recall: {why}", flush=True)
                break
            failed = sum(one.failures for one in ended)
            counted = hasattr(config.option, "xmlpath") and (most or _report_path(config))
            report = Path(scratch, f"{number}.xml") if counted else None
            given = [one for one in common if number == 0 or one not in _FIRST_ALONE]
            given.append(f"--recall-one-of-several={elsewhere}")
            done = _run(config, part, [*given, *_own_options(config, number, budget, most - failed, report)])
            if report is not None and report.exists():
                reports.append(report)
                done = done._replace(failures=_failures(report))
            elif done.code == pytest.ExitCode.TESTS_FAILED:
                done = done._replace(failures=1)  # There may be more, but pytest writes no reports here.
            ended.append(done)
            if done.stopped:
                break
            if most and failed + done.failures >= most:
                why = f"stopped after {plural(most, 'failure')}"
            elif budget is not None and part.folder is not None:
                spent = _spent(done.run)
                budget = max(budget - (spent or 0.0), 0.0)
                why = "the rest of the budget is not known" if spent is None else why
                why = why or ("the budget is spent" if budget == 0 else "")
        if path := _report_path(config):
            _join(reports, config.invocation_params.dir / path)
    print(f"\n{' recall: all eval directories ':=^80}")
    for part, done in zip(parts, ended, strict=False):
        if line := _ended_line(part, done):
            print(f"{part.name}: {line}")
    for part in parts[len(ended) :]:
        print(f"{part.name}: not run")
    code = combined(done.code for done in ended)
    return int(pytest.ExitCode.INTERRUPTED) if len(ended) < len(parts) and code in (0, NOTHING) else code


def combined(codes: Iterable[int]) -> int:
    """Return one exit code for several: the worst, and that of nothing only where all have it."""
    kept = [code for code in codes if code != NOTHING]
    return max(kept, default=int(NOTHING))


def _refuse(config: pytest.Config, folders: list[Path], asked: recording.Recording) -> None:
    """Raise pytest.UsageError for what is about one run alone."""
    names = " and ".join(f"`{relative(folder, config.rootpath)}`" for folder in folders[:2])
    one = {
        "--recall-artifacts": config.option.recall_artifacts is not None,
        "--recall-resume": config.option.recall_resume is not None,
        # Cases of two directories may have one id, and so one cassette.
        f"a folder for {'--replay' if asked.mode == 'replay' else '--record'}": bool(asked.folder),
        "--recall-dry-run-of": bool(config.option.recall_dry_run_of),
        "--recall-dry-run-file": bool(config.option.recall_dry_run_file),
        "--stepwise": bool(getattr(config.option, "stepwise", False)),
        **{shown: bool(getattr(config.option, name, None)) for name, shown in arguments.REPORT_FILES.items()},
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
    roots = [options.argument_path(config, argument) for argument in rest]
    beside = find_place(config.rootpath, config.invocation_params.dir, roots)
    for folder in folders:
        # One may lie within another.
        ignored = [str(other) for other in folders if folder in other.parents]
        paths = own[folder]
        if rest and folder == beside.eval_dir:
            # Marked tests beside the directories are in the state of this one, and so in its run.
            ignored += (one for other in folders if other != folder for one in own[other])
            paths = [*rest, *(one for one in paths if not _is_below(options.argument_path(config, one), roots))]
        yield DirectoryRun(folder, (*paths, *_ignoring(ignored)), Place(config.rootpath, folder))
    if rest and beside.eval_dir not in folders:
        yield DirectoryRun(None, (*rest, *_ignoring(one for paths in own.values() for one in paths)), beside)


def _ignoring(paths: Iterable[str]) -> list[str]:
    return [f"--ignore={path}" for path in sorted(set(paths))]


def _is_below(path: Path, roots: Iterable[Path]) -> bool:
    return any(path == root or root in path.parents for root in roots)


def _scope(folder: Path, root: Path, folders: Iterable[Path]) -> Path:
    """Return the largest folder below `root` that has no eval directory but this one: its tests are of it."""
    taken = {above for other in folders if other != folder for above in (other, *other.parents)}
    found = folder
    while (above := found.parent) != root and root in above.parents and above not in taken:
        found = above
    return found


def _report_path(config: pytest.Config) -> str:
    """Return where the report for JUnit is to be, as pytest reads that; empty if none is asked for."""
    given = getattr(config.option, "xmlpath", None)
    return os.path.expanduser(os.path.expandvars(given)) if given else ""  # noqa: PTH111


def _own_options(
    config: pytest.Config, number: int, budget: float | None, failures: int, report: Path | None
) -> list[str]:
    """Return the options of the run with a number, from 0: what is left for it, and how it adds to a file."""
    found = list[str]()
    if budget is not None:
        found.append(f"--recall-budget={budget}")
    if failures > 0:
        found.append(f"--maxfail={failures}")
    if report is not None:
        found.append(f"--junitxml={report}")
    if number and hasattr(config.option, "log_file_mode"):
        found.append("--log-file-mode=a")
    if number and getattr(config.option, "cov_source", None):
        found.append("--cov-append")
    return found


def _names_elsewhere(config: pytest.Config) -> str:
    """Return, as JSON, which of the wanted scenarios and dimensions some case file has: not each has them all."""
    wanted = options.wanted(config)
    has = set[tuple[str, str]]()
    for path in files.case_files(config) if wanted.narrows else ():
        with suppress(RecallError):  # The run of its directory says what is wrong with it.
            for case in CaseFile(path, relative(path, config.rootpath)).cases():
                has |= {("--scenarios", case.scenario), ("--dimensions", case.dimension)}
    return json.dumps([one for one in wanted.names if one in has])


def _run(config: pytest.Config, part: DirectoryRun, given: list[str]) -> Ended:
    """Run pytest over a part."""
    # A path behind an option whose value may be left out, such as `--record`, would be taken for that value.
    command = [sys.executable, "-m", "pytest", *part.paths, *given]
    if part.folder is not None:
        command += [f"--recall-dir={part.folder}"]
    print(f"\n{f' recall: {part.name} ':=^80}", flush=True)
    before = part.place.artifacts.runs()
    process = subprocess.Popen(command, cwd=config.invocation_params.dir, env=arguments.environ())
    with _passed_on(process) as received:
        code, interrupted = _wait_for(process)
    news = [run for run in part.place.artifacts.runs() if run not in before]
    return Ended(code if code >= 0 else _SIGNALLED - code, news[-1] if news else None, interrupted or bool(received))


@contextmanager
def _passed_on(process: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Send the process each SIGTERM that this one is sent: it would go on, and ask models, alone."""
    received: list[int] = []

    def pass_on(number: int, _: object) -> None:
        received.append(number)
        process.send_signal(number)

    if threading.current_thread() is not threading.main_thread():
        yield received  # Only the main thread may handle signals.
        return
    before = signal.signal(signal.SIGTERM, pass_on)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def _wait_for(process: subprocess.Popen[bytes]) -> tuple[int, bool]:
    """Return the exit code of the process, and whether Ctrl-C was pressed, after which it writes down what it has."""
    seconds, interrupted = None, False
    while True:
        try:
            code = process.wait(seconds)
        except KeyboardInterrupt:
            seconds, interrupted = None if interrupted else PATIENCE, True
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # `kill -INT` reaches one process, and no terminal was there.
            seconds = None
        else:
            return int(pytest.ExitCode.INTERRUPTED) if interrupted else code, interrupted


def _spent(run: Path | None) -> float | None:
    """Return the dollars that a run has spent; None if its journal cannot be read."""
    try:
        return 0.0 if run is None else total(of_run(read_journal(run))).spent.usd
    except RecallError:
        return None


def _ended_line(part: DirectoryRun, done: Ended) -> str:
    """Return what a run came to, in one line; empty for tests without a run of which none failed."""
    ending = f"pytest ended with {done.code}"
    if done.code > _SIGNALLED:
        ending = f"pytest was ended by {_signal_name(done.code - _SIGNALLED)}"
    if done.run is None:
        if part.folder is None:
            return "" if done.code in (0, NOTHING) else ending
        return "nothing run" if done.code in (0, NOTHING) else f"no run; {ending}"
    try:
        record = read_journal(done.run)
        line = headline(record.header, finish.scorecard(record, part.place, done.run))
    except RecallError as error:
        line = error.messages[0]
    if done.code <= _SIGNALLED:
        return line
    return f"{line}; {ending}, and {portion.resuming_part(part.paths, part.folder)} asks the rest"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _failures(report: Path) -> int:
    """Return how many failures and errors a JUnit report has."""
    suites = ElementTree.parse(report).getroot().iter("testsuite")
    return sum(int(suite.get(name, 0)) for suite in suites for name in ("failures", "errors"))


def _join(reports: Iterable[Path], path: Path) -> None:
    """Write the suites of several JUnit reports as one."""
    suites = ElementTree.Element("testsuites", name="pytest tests")
    for report in reports:
        suites.extend(ElementTree.parse(report).getroot().iter("testsuite"))
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)
