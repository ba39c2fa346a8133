"""Replay all recorded cases with their judges, in processes of their own, before the slice of a pull request is chosen.

Each process is pytest again with the same arguments and `--recall-dry-run`, over a part of the cases: what an agent
does to its module or its environment in a replay does not reach the cases that are asked afterwards.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import CASSETTE_SUFFIX
from pytest_recall.files.git import Repository
from pytest_recall.files.wording import plural
from pytest_recall.plugin import arguments
from pytest_recall.plugin.options import spelled
from pytest_recall.replay import other_date
from pytest_recall.replay.cassette_file import Cassette
from pytest_recall.replay.cassette_library import DRAFTS, Layer, Library
from pytest_recall.replay.dry_runs import DryRunProcess, run_together
from pytest_recall.replay.run_recordings import layers_of
from pytest_recall.runs.evidence import REFS, runs_of_all
from pytest_recall.schedule.changes import Changes, Origin, ReplayFinding, ReplayState, from_text, wanted_text
from pytest_recall.schedule.spread import in_turns

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.plugin.known_change import KnownChange
    from pytest_recall.plugin.recording import Recording
    from pytest_recall.runs.base import Base
    from pytest_recall.runs.context import Context

EACH = 150
"""Cases for which one more process is worth its start."""
TWICE = 20
"""Cases that are replayed a second time at most, to see which of them send something new each time."""
# Options that a replay leaves out, those of the plugin without the prefix that they have in a project.
_OWN_VALUE = ("mode", "budget", "baselines", "shard", "concurrency", "live", "replay-max-age")
_VALUE = ("-n", "--numprocesses", "--dist", "--maxprocesses", "--tx", "--junitxml", "--junit-xml")
_OWN_OPTIONAL = ("record", "replay", "resume")
_OWN_FLAGS = ("batch", "update", "trust-replays")
_FLAGS = ("--pdb", "--trace")
# Options of plugins that write files: each is led elsewhere, where the plugin is there and was asked to write.
_REPORTS = (
    ("xmlpath", "--junitxml"),
    ("allure_report_dir", "--alluredir"),
    *arguments.REPORT_FILES.items(),
)


def cassettes_of(place: Place, recording: Recording) -> Path:
    """Return the folder of the cassettes that are replayed; what a run of a change records is no part of it."""
    own = recording.folder and not recording.of_change
    return Path(recording.folder) if own else place.cassettes


def changes_of(
    config: pytest.Config, place: Place, context: Context, change: KnownChange, paths: Iterable[Path]
) -> Changes | None:
    """Return what a replay of all cases finds: of the recordings of the base, then of those that came with the change.

    None where there is no change and nothing is recorded, or a program has passed plugins to pytest, and where cases or
    fixtures are only listed. Raises RecallError where it cannot be found out.
    """
    option, base, recording = config.option, change.base, change.recording
    if option.collectonly or option.showfixtures or option.show_fixtures_per_test:
        return None
    from pytest_recall.cases.case_file import CaseFile

    ids = [case_id for path in paths for case_id in CaseFile(path, place.name(path)).lines]
    nothing = Changes(dict.fromkeys(ids, ReplayFinding(ReplayState.NOT_RECORDED)), len(ids))
    with tempfile.TemporaryDirectory() as scratch:
        first, *rest = _sources(place, context, change, Path(scratch))
        if not any(_holds_any(source.folder) for source in (first, *rest)):
            return nothing if base.is_change else None
        if config.invocation_params.plugins and not base.is_change:
            return None
        if config.invocation_params.plugins:
            raise RecallError(
                "all cases are replayed in processes of their own, to see which the change affects, and plugins that a"
                " program has passed to pytest do not reach these; give --recall-mode all, or choose the cases"
            )
        processes = max(1, min(len(os.sched_getaffinity(0)), len(ids) // EACH))
        say(
            config,
            f"replaying {plural(len(ids), 'case')} in {plural(processes, 'process')} to see which the change affects",
        )
        found = replayed(config, first.folder, processes, base) if _holds_any(first.folder) else nothing
        if base.is_change:
            found = found.complete(ids)
            of_base = [source for source in (first, *rest) if source.origin == "base"]
            recorded = {case_id for source in of_base for case_id in _recorded_in(source, ids)}
            found = found.beside_base(base.behind)
            found = found._replace(behind=tuple(sorted((base.rows or {}).keys() & set(ids) - recorded)))
        for source in rest:
            if left := _replayable(source, first, found.reasons, ids):
                decided = replayed(config, _whole(source, Path(scratch)), processes, base, left)
                found = found.completed(decided, source.origin)
                if context.mode == "main" and recording.of_change:
                    # The newest recording of what the default branch asks takes its place among the cassettes.
                    ids_decided = decided.asking_broken().ids(ReplayState.UNAFFECTED, ReplayState.RECORDED)
                    _copy(source, ids_decided, Path(recording.folder), fixtures=True)
        if base.is_change and _holds_any(first.folder):
            found = _compared(config, first.folder, base, found, context.seed)
        if base.is_change and base.commit:
            altered = _altered(place, base)
            found = found.checked_live(altered, context.seed).beside_files(altered, place.name(place.rubric))
            if found.live:
                found = _with_price(found, first, base, change.rubric, context)
        if context.mode != "pr":
            found = found.asking_broken()
        if recording.of_change:
            _seed(found, [first, *rest], Path(recording.folder))
            if context.mode == "pr":
                _begin(found, [first, *rest], Path(recording.base))
        return found


def _with_price(found: Changes, source: _Source, base: Base, rubric: Settings, context: Context) -> Changes:
    """Return `found` with what the recording of the case that is checked live has cost."""
    from pytest_recall.plugin.dry import priced

    library, row = source.library, (base.rows or {}).get(found.live)
    path = next((path for path, header in library.headers() if header.get("case") == found.live), None)
    if path is None:
        return found
    cassette = Cassette(library.source(path), library.name(path), rubric.rules())
    exchanges = [cassette.exchange(place) for place in cassette.calls]
    last_model = None if row is None else row.last_model
    one = priced(found.findings[found.live], exchanges, rubric.prices, context.model, last_model)
    return found._replace(findings={**found.findings, found.live: one})


def _compared(config: pytest.Config, cassettes: Path, base: Base, found: Changes, seed: str) -> Changes:
    """Return `found` with what a second replay says of cases that ask something else: which vary by themselves.

    Of each difference one is replayed before a second.
    """
    differences = {case_id: found.findings[case_id].key for case_id in found.ids(ReplayState.CHANGED)}
    case_ids = in_turns(differences, seed)[:TWICE]
    if not case_ids:
        return found
    try:
        return found.compared(replayed(config, cassettes, 1, base, case_ids, later=True))
    except RecallError as error:  # It decides nothing.
        say(config, f"which cases send something new each time is not known: {error}")
        return found


class _Source(NamedTuple):
    """A folder with recordings, and whose they are."""

    folder: Path
    name: str
    """What messages call the folder."""
    origin: Origin = "base"
    below: Path | None = None
    """The folder from which what this one lacks of fixtures is read."""
    is_newer: bool = False
    """Whether it takes the place of other cassettes of the same requests."""

    @property
    def layer(self) -> Layer:
        """Its folder, as a library reads it."""
        return Layer(self.folder, self.name)

    @property
    def library(self) -> Library:
        """Its recordings alone."""
        return Library(self.folder, (self.layer,))


def _sources(place: Place, context: Context, change: KnownChange, scratch: Path) -> Iterator[_Source]:
    """Yield where recordings are, the most trusted first: of the base, of CI for this pull request, of its branch.

    The default branch takes those of pull requests, whose requests may be its own by now.
    """
    own, base = cassettes_of(place, change.recording), change.base
    ours = place.name(own)
    if context.mode != "pr":
        yield _Source(own, ours)
        if context.mode == "main":
            for layer in reversed(layers_of(place)):  # The newest one last, so that it is what is left.
                yield _Source(*layer, below=own, is_newer=True)
            for folder in runs_of_all(place, scratch).recordings:
                yield _Source(folder, _name_in_ci(folder), "ci", below=own)
        return
    there = _of_base(place, own, base, scratch)
    yield _Source(there, ours if there == own else f"{base.commit[:7]}:{ours}")
    layers = layers_of(place) if own == place.cassettes and not change.job.fork else ()
    altered = set(_altered(place, base)) if layers and base.commit else set()
    of_branch = [layer for layer in layers if layer.name in altered]
    for layer in layers:
        if layer not in of_branch:
            yield _Source(*layer, below=there)
    for folder in change.earlier.recordings:
        yield _Source(folder, _name_in_ci(folder), "ci", below=there)
    if change.rubric.recording == "on" and not change.job.fork:
        for layer in of_branch:
            yield _Source(*layer, "branch", below=own)
        if there != own:
            yield _Source(own, ours, "branch")


def _name_in_ci(folder: Path) -> str:
    """Return what messages call a folder with what CI has recorded in a run of a pull request."""
    return f"{REFS}*:{folder.parent.name}/{folder.name}"


def _altered(place: Place, base: Base) -> list[str]:
    """Return the paths that the change alters, from the root of the project."""
    repository = Repository(place.root)
    inside = repository.path_of(place.root)
    prefix = f"{inside}/" if inside not in ("", ".") else ""
    return [path.removeprefix(prefix) for path in repository.changed(base.commit) if path.startswith(prefix)]


def _recorded_in(source: _Source, case_ids: Container[str]) -> list[str]:
    """Return those of the cases that a source has recorded. Raises RecallError for a recording that is damaged."""
    recorded = {str(header.get("case")) for _, header in source.library.headers()}
    return sorted(case_id for case_id in recorded if case_id in case_ids)


def _replayable(source: _Source, base: _Source, open_: Container[str], case_ids: Iterable[str]) -> list[str]:
    """Return the cases of which a source may decide something: those that are `open_`, and those that it has newer.

    What a fixture has recorded may decide any of them. Raises RecallError for a recording that is damaged.
    """
    headers = list(source.library.headers())
    own = {str(header["case"]): path for path, header in headers if "case" in header}
    wide = any("case" not in header for _, header in headers)
    found = {case_id for case_id in case_ids if case_id in open_ and (wide or case_id in own)}
    if source.is_newer:
        both = Library(base.folder, (base.layer, source.layer))
        found |= {
            one for one in case_ids if one in own and both.is_newer(own[one], base.folder / _inside(own[one], source))
        }
    return sorted(found)


def _inside(path: Path, source: _Source) -> Path:
    return path.relative_to(source.folder)


def _whole(source: _Source, scratch: Path) -> Path:
    """Return a folder with the recordings of a source, and below them what else a replay of its cases may need."""
    if source.below is None or not source.below.is_dir():
        return source.folder
    whole = Path(tempfile.mkdtemp(dir=scratch))
    shutil.copytree(source.below, whole, ignore=shutil.ignore_patterns(DRAFTS), dirs_exist_ok=True)
    library = Library(whole)
    for path in source.library.files():
        library.take_over(path, whole / _inside(path, source))
    return whole


def _seed(found: Changes, sources: Sequence[_Source], folder: Path) -> None:
    """Copy into `folder` the recordings of the cases of which only the judges ask something else.

    Their agents are then answered by these, and the judges alone are asked.
    """
    wanted = set(found.ids(ReplayState.UNJUDGED))
    for source in sources if wanted else ():
        _copy(source, wanted, folder)


def _begin(found: Changes, sources: Iterable[_Source], folder: Path) -> None:
    """Copy into `folder` what the base has recorded last of the first trial of each case that asks something else.

    It answers what the case asks before that.
    """
    wanted = set(found.beginning_as_recorded)
    for source in sources if wanted else ():
        for path, header in source.library.headers() if source.origin == "base" else ():
            there = folder / _inside(path, source)
            if (
                header.get("case") in wanted
                and not {"repeat", "baseline"} & header.keys()
                and source.library.is_newer(path, there)
            ):
                Library(folder).take_over(path, there)


def _copy(source: _Source, case_ids: Collection[str], folder: Path, *, fixtures: bool = False) -> None:
    """Copy the recordings of some cases from below one folder to below another, and those of fixtures beside them."""
    for path, header in source.library.headers():
        if header.get("case") in case_ids or (fixtures and case_ids and "case" not in header):
            Library(folder).take_over(path, folder / _inside(path, source))


def _of_base(place: Place, own: Path, base: Base, scratch: Path) -> Path:
    """Return a folder with the recordings of the base: that of the checkout, unless the change has altered it."""
    if not base.is_change or not base.commit:
        return own
    repository = Repository(place.root)
    if not repository.path_of(own) or not repository.changed(base.commit, own):
        return own
    there = scratch / "base"
    repository.check_out(base.commit, own, there, scratch / "index")
    return there


def _holds_any(folder: Path) -> bool:
    return folder.is_dir() and any(folder.rglob(f"*{CASSETTE_SUFFIX}"))


def say(config: pytest.Config, line: str) -> None:
    """Print a line, unless pytest is quiet."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and config.get_verbosity() >= 0:
        reporter.write_line(f"recall: {line}")


def replayed(
    config: pytest.Config,
    cassettes: Path,
    processes: int,
    base: Base,
    wanted: Iterable[str] | None = None,
    *,
    later: bool = False,
) -> Changes:
    """Return what a replay of the recordings in `cassettes` finds, of the `wanted` cases or of all.

    With `later` it has other hashes, and another date where a package that sets one is installed. Raises RecallError if
    it finds nothing.
    """
    env = arguments.environ() | ({"PYTHONHASHSEED": _OTHER_HASHES} if later else {})
    found = Changes()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        if wanted is not None:
            (scratch / "wanted.json").write_text(wanted_text(wanted), encoding="utf-8")
        runs = []
        for part in range(1, processes + 1):
            command = _command(config, cassettes, scratch, (part, processes))
            if base.is_change and base.commit:
                command.append(f"--recall-base={base.commit}")
            if wanted is not None:
                command.append(f"--recall-dry-run-of={scratch / 'wanted.json'}")
            if later and other_date.is_installed():
                command.append(f"--recall-dry-run-later={other_date.LATER.total_seconds():.0f}")
            runs.append(DryRunProcess(command, scratch / f"{part}.json", scratch / f"{part}.txt", env))
        run_together(runs, "the replay of all cases", config.invocation_params.dir)
        for run in runs:
            found = found.joined(from_text(read_text(run.findings), "the replay of all cases"))
    return found


_OTHER_HASHES = "271828"


def _command(config: pytest.Config, cassettes: Path, scratch: Path, shard: tuple[int, int]) -> list[str]:
    """Return the command that replays a part of the cases; its options come last, and so take the place of others."""
    part, parts = shard
    # The paths come first: an option whose value may be left out would take one for its own.
    given = [*config.option.file_or_dir, *_carried_options(arguments.options_of(config), partial(spelled, config))]
    command = [sys.executable, "-m", "pytest", *given]
    command += [f"--recall-dry-run-cassettes={cassettes}", "--recall-dry-run", "--recall-mode=all"]
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


def _carried_options(given: list[str], spelled: Callable[[str], str]) -> Iterator[str]:
    """Yield the options that the replay has in common with this run."""
    values = {*_VALUE, *map(spelled, _OWN_VALUE)}
    optional = {*map(spelled, _OWN_OPTIONAL)}
    flags = {*_FLAGS, *map(spelled, _OWN_FLAGS)}
    rest = iter(range(len(given)))
    for place in rest:
        name, equals, _ = given[place].partition("=")
        has_value = not equals and place + 1 < len(given)
        if name in values:
            if has_value:
                next(rest, None)
        elif name in optional:
            if has_value and not given[place + 1].startswith("-"):
                next(rest, None)
        elif name not in flags and not (name.startswith("-n") and name[2:] and not name.startswith("--")):
            yield given[place]
