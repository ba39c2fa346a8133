"""Replay all recorded cases with their judges, in processes of their own, before the slice of a pull request is chosen.

Each process is pytest again with the same arguments and `--recall-dry-run`, over a part of the cases: what an agent
does to its module or its environment in a replay does not reach the cases that are asked afterwards.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError, one_line
from pytest_recall.files.wording import plural
from pytest_recall.schedule.changes import Changes, from_text

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.plugin.recording import Recording
    from pytest_recall.runs.context import Context, NearSources

EACH = 150
"""Cases for which one more process is worth its start."""
_OWN_VALUE = frozenset(
    f"--{prefix}{name}"
    for prefix in ("recall-", "")
    for name in ("near", "mode", "budget", "baselines", "shard", "concurrency", "live", "base-state", "replay-max-age")
)
_VALUE = _OWN_VALUE | {"-n", "--numprocesses", "--dist", "--maxprocesses", "--tx", "--junitxml", "--junit-xml"}
_OPTIONAL = frozenset({"--recall-record", "--record", "--recall-replay", "--replay", "--recall-resume"})
_FLAGS = frozenset({"--recall-batch", "--batch", "--recall-update", "--recall-trust-replays", "--pdb", "--trace"})
# Options of plugins that write files: each is led elsewhere, where the plugin is there and was asked to write.
_REPORTS = (
    ("xmlpath", "--junitxml"),
    ("htmlpath", "--html"),
    ("json_report_file", "--json-report-file"),
    ("report_log", "--report-log"),
    ("allure_report_dir", "--alluredir"),
    ("mdpath", "--md"),
)


def is_wanted(config: pytest.Config, rubric: Settings, context: Context, asked: Recording, near: NearSources) -> bool:
    """Whether the slice of this run depends on a replay of all cases."""
    option = config.option
    lists = option.collectonly or option.showfixtures or option.show_fixtures_per_test
    return (
        rubric.policy == "affected"
        and context.mode == "pr"
        and asked.mode != "replay"
        and not asked.dry
        and not near.asked.off
        and not lists
    )


def changes_of(
    config: pytest.Config, place: Place, asked: Recording, near: NearSources, paths: Iterable[Path]
) -> Changes | None:
    """Return what a replay of all cases finds, or what the files that `--recall-near` names say of one.

    None where nothing is recorded yet. Raises RecallError where it cannot be found out.
    """
    if near.asked.files:
        found = Changes()
        for name in near.asked.files:
            found = found.joined(from_text(read_text(near.folder / name, name), name))
        return found
    folder = Path(asked.folder) if asked.folder else place.cassettes
    if not folder.is_dir() or not any(folder.rglob("*.ndjson")):
        return None
    from pytest_recall.cases.case_file import CaseFile

    count = sum(len(CaseFile(path, place.name(path)).lines) for path in paths)
    if config.invocation_params.plugins:
        raise RecallError(
            "`policy: affected` replays all cases in processes of their own, which plugins that a program has passed to"
            " pytest do not reach; give --recall-near off, or file:PATH of a dry run"
        )
    return _replayed(config, folder, max(1, min(len(os.sched_getaffinity(0)), count // EACH)), count)


def _replayed(config: pytest.Config, folder: Path, processes: int, count: int) -> Changes:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and config.get_verbosity() >= 0:
        reporter.write_line(
            f"recall: replaying {plural(count, 'case')} in {plural(processes, 'process')} to see which the change"
            " affects; nothing is sent"
        )
    found = Changes()
    with tempfile.TemporaryDirectory() as scratch:
        commands = [_command(config, folder, Path(scratch), part, processes) for part in range(1, processes + 1)]
        running = []
        try:
            for number, command in enumerate(commands):
                with Path(scratch, f"{number}.txt").open("wb") as output:
                    running.append(
                        subprocess.Popen(
                            command, cwd=config.invocation_params.dir, stdout=output, stderr=subprocess.STDOUT
                        )
                    )
            codes = [process.wait() for process in running]
        except BaseException:
            for process in running:
                process.terminate()
                process.wait()
            raise
        for number, code in enumerate(codes):
            path = Path(scratch, f"{number}.json")
            if not path.exists():
                said = Path(scratch, f"{number}.txt").read_text(encoding="utf-8", errors="replace")
                raise RecallError(_failed(code, said))
            found = found.joined(from_text(read_text(path), "the replay of all cases"))
    return found


def _failed(code: int, output: str) -> str:
    said = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in said if line.startswith(("ERROR", "E  ", "INTERNALERROR"))]
    last = one_line((errors or said or ["it printed nothing"])[-1], 300)
    return (
        f"the replay of all cases ended with exit code {code} and found nothing ({last});"
        " `pytest -p recall --record=missing --recall-dry-run` runs it by itself, --recall-near off leaves it out"
    )


def _command(config: pytest.Config, folder: Path, scratch: Path, part: int, parts: int) -> list[str]:
    """Return the command that replays one of `parts`; its options come last, and so take the place of others."""
    given = [str(argument) for argument in config.invocation_params.args]
    command = [sys.executable, "-m", "pytest", *_kept(given, set(map(str, config.option.file_or_dir)))]
    command += [f"--recall-record=missing:{folder}", "--recall-dry-run", "--recall-mode=all"]
    command += [f"--recall-dry-run-file={scratch / f'{part - 1}.json'}"]
    command += ["--maxfail=0", "--tb=line", "-p", "no:cacheprovider"]
    if parts > 1:
        command.append(f"--recall-shard={part}/{parts}")
    if config.pluginmanager.hasplugin("xdist"):
        command += ["-n0", "--dist=no"]
    if hasattr(config.option, "no_cov"):
        command.append("--no-cov")
    command += [
        f"{name}={scratch / f'report-{part}-{place}'}"
        for place, (option, name) in enumerate(_REPORTS)
        if getattr(config.option, option, None)
    ]
    return command


def _kept(given: list[str], positional: set[str]) -> Iterator[str]:
    """Yield the arguments that the replay has in common with this run."""
    rest = iter(range(len(given)))
    for place in rest:
        name, equals, _ = given[place].partition("=")
        following = given[place + 1] if place + 1 < len(given) else None
        if name in _VALUE:
            if not equals and following is not None:
                next(rest, None)
        elif name in _OPTIONAL:
            if not equals and following is not None and not following.startswith("-") and following not in positional:
                next(rest, None)
        elif name not in _FLAGS and not (name.startswith("-n") and name[2:] and not name.startswith("--")):
            yield given[place]


def told(changes: Changes | None) -> str:
    """Return what the replay found in one line for the header of a session; that nothing is recorded without one."""
    if changes is None:
        return "nothing is recorded, so that no replay can tell what the change affects; --record records"
    return changes.told
