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
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import CASSETTE_SUFFIX
from pytest_recall.files.wording import one_line, plural
from pytest_recall.plugin import arguments
from pytest_recall.runs.near import listed_changes
from pytest_recall.schedule.changes import Changes, Wanted, from_text

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.plugin.recording import Recording
    from pytest_recall.runs.context import Context, NearSources

ELSEWHERE = "RECALL_ELSEWHERE"
"""The variable with the folder of another checkout, of which a replay must not import anything."""
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
    ("allure_report_dir", "--alluredir"),
    *arguments.REPORT_FILES.items(),
)


def is_wanted(rubric: Settings, context: Context, asked: Recording, near: NearSources) -> bool:
    """Whether the slice of this run depends on a replay of all cases."""
    return (
        rubric.policy == "affected"
        and context.mode == "pr"
        and asked.mode != "replay"
        and not asked.dry
        and not near.asked.off
    )


def cassettes_of(place: Place, asked: Recording) -> Path:
    """Return the folder of the cassettes that are replayed."""
    return Path(asked.folder) if asked.folder else place.cassettes


def changes_of(
    config: pytest.Config, place: Place, asked: Recording, near: NearSources, paths: Iterable[Path]
) -> Changes | None:
    """Return what a replay of all cases finds, or what the files that `--recall-near` names say of one.

    None where nothing is recorded yet, and where cases or fixtures are only listed. Raises RecallError where it cannot
    be found out.
    """
    if (listed := listed_changes(near)) is not None:
        return listed
    option = config.option
    if option.collectonly or option.showfixtures or option.show_fixtures_per_test:
        return None
    folder = cassettes_of(place, asked)
    if not folder.is_dir() or not any(folder.rglob(f"*{CASSETTE_SUFFIX}")):
        return None
    from pytest_recall.cases.case_file import CaseFile

    count = sum(len(CaseFile(path, place.name(path)).lines) for path in paths)
    if config.invocation_params.plugins:
        raise RecallError(
            "`policy: affected` replays all cases in processes of their own, which plugins that a program has passed to"
            " pytest do not reach; give --recall-near off, or file:PATH of a dry run"
        )
    processes = max(1, min(len(os.sched_getaffinity(0)), count // EACH))
    say(
        config,
        f"replaying {plural(count, 'case')} in {plural(processes, 'process')} to see which the change affects;"
        " nothing is sent",
    )
    return replayed(config, Tree(config.invocation_params.dir, folder), processes)


class Tree(NamedTuple):
    """Where a replay runs: in the folder `cwd`, on the cassettes in `cassettes`.

    Of another commit than the one that is checked out, `moved` is the root of this checkout and where that commit's
    files are.
    """

    cwd: Path
    cassettes: Path
    moved: tuple[Path, Path] | None = None

    def path(self, given: str) -> str:
        """Return an absolute path, or the end of `--NAME=PATH`, as it is in this tree; anything else as it is."""
        name, equals, value = given.partition("=") if given.startswith("--") else ("", "", given)
        if self.moved is None or not Path(value).is_absolute() or not Path(value).is_relative_to(self.moved[0]):
            return given
        return f"{name}{equals}{self.moved[1] / Path(value).relative_to(self.moved[0])}"

    def environ(self) -> dict[str, str]:
        """Return the environment in which Python finds the modules of this tree first."""
        found = arguments.environ()
        if self.moved is None:
            return found
        top, there = self.moved
        roots = [Path(entry or self.cwd).absolute() for entry in sys.path]
        own = [there / root.relative_to(top) for root in roots if root.is_relative_to(top)]
        kept = dict.fromkeys(str(root) for root in (*own, there / "src", there) if root.is_dir())
        found["PYTHONPATH"] = os.pathsep.join([*kept, *filter(None, [found.get("PYTHONPATH")])])
        found[ELSEWHERE] = str(top)
        return found


def say(config: pytest.Config, line: str) -> None:
    """Print a line, unless pytest is quiet."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and config.get_verbosity() >= 0:
        reporter.write_line(f"recall: {line}")


def replayed(config: pytest.Config, tree: Tree, processes: int, wanted: Wanted | None = None) -> Changes:
    """Return what a replay in `tree` finds, of the `wanted` cases or of all. Raises RecallError if it finds nothing."""
    found = Changes()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        if wanted is not None:
            (scratch / "wanted.json").write_text(wanted.to_text(), encoding="utf-8")
        parts = range(1, processes + 1)
        running = []
        try:
            for part in parts:
                command = _command(config, tree, scratch, (part, processes))
                if wanted is not None:
                    command.append(f"--recall-dry-run-of={scratch / 'wanted.json'}")
                with (scratch / f"{part}.txt").open("wb") as output:
                    running.append(
                        subprocess.Popen(
                            command, cwd=tree.cwd, env=tree.environ(), stdout=output, stderr=subprocess.STDOUT
                        )
                    )
            codes = [process.wait() for process in running]
        except BaseException:
            for process in running:
                process.terminate()
                process.wait()
            raise
        for part, code in zip(parts, codes, strict=True):
            path = scratch / f"{part}.json"
            if not path.exists():
                said = (scratch / f"{part}.txt").read_text(encoding="utf-8", errors="replace")
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


def _command(config: pytest.Config, tree: Tree, scratch: Path, shard: tuple[int, int]) -> list[str]:
    """Return the command that replays a part of the cases; its options come last, and so take the place of others."""
    part, parts = shard
    # The paths come first: an option whose value may be left out would take one for its own.
    given = [*config.option.file_or_dir, *_kept(arguments.options_of(config))]
    command = [sys.executable, "-m", "pytest", *map(tree.path, given)]
    command += [f"--recall-record=missing:{tree.cassettes}", "--recall-dry-run", "--recall-mode=all"]
    command += [f"--recall-dry-run-file={scratch / f'{part}.json'}"]
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


def _kept(given: list[str]) -> Iterator[str]:
    """Yield the options that the replay has in common with this run."""
    rest = iter(range(len(given)))
    for place in rest:
        name, equals, _ = given[place].partition("=")
        has_value = not equals and place + 1 < len(given)
        if name in _VALUE:
            if has_value:
                next(rest, None)
        elif name in _OPTIONAL:
            if has_value and not given[place + 1].startswith("-"):
                next(rest, None)
        elif name not in _FLAGS and not (name.startswith("-n") and name[2:] and not name.startswith("--")):
            yield given[place]
