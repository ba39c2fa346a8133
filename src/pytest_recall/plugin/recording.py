"""Read `--record`, `--replay` and their options; record, and in a replay refuse calls, from the conftest files on."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_recall.files import clock
from pytest_recall.files.errors import nearest
from pytest_recall.files.eval_directory import SUFFIXES, find_case_files
from pytest_recall.plugin import options
from pytest_recall.plugin.stash import LATER, WATCH
from pytest_recall.replay.budget import dollars_of
from pytest_recall.replay.exchange import KINDS, CallKind
from pytest_recall.replay.record_option import check_record_option, record_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_recall.cases.settings import Settings
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.plugin.cassettes import CassetteManager
    from pytest_recall.replay.exchange import CallKind, Way
    from pytest_recall.replay.player import Player
    from pytest_recall.replay.redaction import Redactor
    from pytest_recall.replay.tape import CassetteMode, HeaderCheck, Tape
    from pytest_recall.trials.record import RecordingFacts


class Recording(NamedTuple):
    """How this session records or replays."""

    mode: CassetteMode
    folder: str
    """Where cassettes lie."""
    run: str
    """The name of the session in cassettes."""
    max_age: int | None
    trusted: bool
    budget: float | None = None
    """What its live calls may cost, in US dollars."""
    batch: bool = False
    """Whether live calls go through batch APIs."""
    dry: bool = False
    """Whether it is only to be found out which cases would ask something new."""
    ledger: str = ""
    """The file in which the processes of the session add up what their live calls cost."""
    early: str = ""
    """The file of trials that end before their turn."""
    live: tuple[CallKind, ...] = ()
    """The kinds of calls that are made over the network, whatever the rest does."""
    dry_file: str = ""
    """Where a dry run writes what it found, if a file was named."""
    of_change: bool = False
    """Whether the run of a change records what it asks, so that the next one need not."""
    of_branch: bool = False
    """Whether a run of a change on a branch records into a folder that becomes a file of its own."""
    requests: str = ""
    """The folder into which a dry run writes what was asked; empty for none."""
    base: str = ""
    """The folder of recordings that answer what an affected case asks as before the change; empty for none."""
    sends_nothing: bool = False
    """Whether no call is made live, of whatever kind."""

    @property
    def dry_run_file(self) -> Path | None:
        """The file for what a dry run finds; None for the usual one."""
        return Path(self.dry_file) if self.dry_file else None

    @property
    def header_check(self) -> HeaderCheck:
        """How headers are compared: what differs is not to be answered by a later run, nor to move a box."""
        if self.dry or self.mode == "missing":
            return "report"
        return "require" if self.trusted and self.mode == "replay" else "off"

    def facts(self, place: Place) -> RecordingFacts:
        """Return how the run records, as its journal says it."""
        from pytest_recall.trials.record import RECORDS_NOTHING, RecordingFacts

        if self.mode not in ("record", "missing"):
            return RECORDS_NOTHING
        return RecordingFacts(self.mode, self.folder and place.name(Path(self.folder)), self.live, self.trusted)

    def as_begun(self, facts: RecordingFacts, place: Place) -> Recording:
        """Return the same for a run that is resumed: it records as it did, where the command line does not say how."""
        if self.mode != "off" or not facts.recording:
            return self
        folder = str(place.root / facts.cassettes) if facts.cassettes else ""
        live = tuple(kind for kind in KINDS if kind in facts.live)
        mode: CassetteMode = "missing" if facts.recording == "missing" else "record"
        return self._replace(mode=mode, folder=folder, live=live, trusted=facts.trusts_replays, early="")

    def keeping(self, folder: Path, base: Path) -> Recording:
        """Return the same, recording into `folder` what a change has asked; as it is where it records or replays."""
        if self.mode != "off":
            return self
        return self._replace(mode="missing", folder=str(folder), of_change=True, early="", base=str(base))

    def sending_nothing(self, folder: Path) -> Recording:
        """Return the same for a job without keys: it replays from `folder`, where it would record or ask."""
        if self.mode == "replay":
            return self._replace(sends_nothing=True)
        return self._replace(
            mode="replay", folder=str(folder), of_change=True, batch=False, early="", sends_nothing=True
        )

    def on_branch(self, folder: Path) -> Recording:
        """Return the same, recording into `folder` what a run on a branch asks."""
        return self._replace(folder=str(folder), of_branch=True)

    def within(self, budget: float | None) -> Recording:
        """Return the same held to `budget` US dollars, where the command line names none; a replay spends nothing."""
        if budget is None or self.budget is not None or self.mode == "replay":
            return self
        return self._replace(budget=budget, ledger=f".spent-{self.run}")


def recording_options(config: pytest.Config) -> Recording:
    """Return what the command line asks for. Raises pytest.UsageError."""
    option = config.option
    record, replay = option.recall_record, option.recall_replay
    with options.usage_errors():
        check_record_option(record, config.invocation_params.dir)
    mode, given = record_option(record, replay)
    if (option.recall_replay_max_age or 0) < 0:
        raise pytest.UsageError("--recall-replay-max-age: give a number of days, 0 or more")
    if option.recall_dry_run:
        mode = "replay"
    folder = str(config.invocation_params.dir / given) if given else ""
    if folder:
        spelled = partial(options.spelled, config)
        _check_folder(Path(folder), spelled("record" if record is not None else "replay"), given or "")
        if replay is not None and not Path(folder).is_dir():
            raise pytest.UsageError(
                f"{spelled('replay')}={given}: no such directory; {spelled('record')}={given} records into it"
            )
    run, budget = f"{clock.now():%Y-%m-%dT%H%M%S.%f}-{os.getpid()}", _budget(config)
    return Recording(
        mode=mode,
        folder=folder,
        run=run,
        max_age=option.recall_replay_max_age,
        trusted=option.recall_trust_replays,
        budget=budget,
        batch=option.recall_batch,
        dry=option.recall_dry_run,
        ledger="" if budget is None else f".spent-{run}",
        early=f".early-{run}.jsonl" if mode == "off" and options.concurrency(config) > 1 else "",
        live=live_kinds(option.recall_live),
        dry_file=str(config.invocation_params.dir / dry_run_file)
        if (dry_run_file := option.recall_dry_run_file)
        else "",
        requests=str(config.invocation_params.dir / into) if (into := option.recall_dry_run_requests) else "",
    )


def dry_run_ids(config: pytest.Config) -> frozenset[str]:
    """Return which cases `--recall-dry-run-of` names. Raises pytest.UsageError."""
    from pytest_recall.files.disk import read_text
    from pytest_recall.schedule.changes import wanted_in

    name = config.option.recall_dry_run_of
    with options.usage_errors():
        return wanted_in(read_text(config.invocation_params.dir / name, name), name)


def live_later(config: pytest.Config) -> None:
    """Set the clock of this process as far ahead as `--recall-dry-run-later` says, once, until the session has ended.

    Raises pytest.UsageError where nothing that could is installed.
    """
    seconds = getattr(config.known_args_namespace, "recall_dry_run_later", None)
    if seconds is None or config.stash.get(LATER, False):
        return
    from pytest_recall.replay import other_date

    if not other_date.is_installed():
        raise pytest.UsageError(f"--recall-dry-run-later needs time-machine; {other_date.INSTALL} installs it")
    config.stash[LATER] = True
    config.add_cleanup(other_date.live_later(seconds))


def live_kinds(given: str | None) -> tuple[CallKind, ...]:
    """Return the kinds of calls that `--recall-live` names. Raises pytest.UsageError."""
    if given is None:
        return ()
    named = [name.strip() for name in given.split(",") if name.strip()]
    for name in named or [given]:
        if name not in KINDS:
            raise pytest.UsageError(f"--recall-live: {name!r} is not a kind of call{nearest(name, KINDS)}")
    return tuple(kind for kind in KINDS if kind in named)


def _budget(config: pytest.Config) -> float | None:
    given = config.option.recall_budget
    if given is None:
        return None
    try:
        return dollars_of(given)
    except ValueError as error:
        raise pytest.UsageError(f"{options.spelled(config, 'budget')}: {error}") from None


def _check_folder(folder: Path, option: str, given: str) -> None:
    """Refuse what was meant as a path of tests: an option with an optional value takes what follows it."""
    inside = folder.iterdir() if folder.is_dir() else ()
    tests = [path for path in inside if path.suffix == ".py" or (path.suffix in SUFFIXES and "cases" in path.stem)]
    # A folder of a service has its cases further below.
    if folder.is_file() or "::" in given or tests or any(find_case_files(folder)):
        raise pytest.UsageError(
            f"{option} takes `{given}` for the folder of cassettes; write `{given} {option}`, or {option}=DIR"
        )


def live_line(manager: CassetteManager) -> str:
    """Return what a run that records or replays makes over the network all the same; empty if it makes nothing."""
    if not manager.live:
        return ""
    return f"recall: live, over the network, and not recorded: calls of the kind {' and '.join(manager.live)}"


def check_writable(config: pytest.Config, folder: Path, name: str) -> None:
    """Refuse, before anything is paid for, to record where nothing can be written. Raises pytest.UsageError."""
    there = next(path for path in (folder, *folder.parents) if _exists(path))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        reason = "not a directory" if not there.is_dir() else "not writable"
        option = options.spelled(config, "record")
        raise pytest.UsageError(f"{option}: {name}: cannot be written, as `{there.name}` is {reason}; give another")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False  # Below a folder that must not be looked into.


@contextmanager
def guarded(config: pytest.Config) -> Iterator[None]:
    """Watch what is done within if this run records or replays, and go on watching.

    Raises pytest.UsageError for a call that is refused. Of what is called, only what may be repeated is recorded.
    """
    known = config.known_args_namespace
    live_later(config)
    if known.recall_dry_run:
        from pytest_recall.replay import files_read

        files_read.watch()
    mode, given = record_option(known.recall_record, known.recall_replay)
    if known.help or known.version or mode == "off":
        yield
        return
    mode = "replay" if known.recall_dry_run else mode
    from pytest_recall.cases.settings_file import read_settings
    from pytest_recall.plugin.options import place_of, usage_errors
    from pytest_recall.replay.player import Player
    from pytest_recall.replay.watch import Watch

    with usage_errors():
        place = place_of(seen(config))
        rubric = read_settings(place.rubric, place.name(place.rubric))
    redactor = rubric.redactor(os.environ)
    ways: dict[CallKind, Way] = dict.fromkeys(live_kinds(known.recall_live), "live")
    player = Player(mode, ways, **rubric.player_settings(redactor.redacted))
    player.hand(partial(ports_of_controller, config))
    folder = config.invocation_params.dir / given if given else None
    player.repeat(rubric.calls_that("repeatable"), partial(_shared_tape, player, place, rubric, redactor, folder))
    with usage_errors():
        watch = config.stash[WATCH] = Watch(player)
    config.add_cleanup(watch.close)
    try:
        yield
    finally:
        # Even if a conftest file or pytest made another error of it.
        if mode == "replay":
            refuse_strays(player)


def _shared_tape(player: Player, place: Place, rubric: Settings, redactor: Redactor, folder: Path | None) -> Tape:
    """Return a tape with what is recorded of the calls that all cases share, which writes nothing yet."""
    from pytest_recall.files.errors import RecallError, sentence_of
    from pytest_recall.replay.cassette_file import Cassette
    from pytest_recall.replay.cassette_library import Library
    from pytest_recall.replay.run_recordings import layers_from
    from pytest_recall.replay.tape import Tape

    rules = rubric.rules()
    try:
        library = Library(folder or place.cassettes, () if folder else layers_from(place, place.cassettes))
        sources = library.sources(library.shared) if player.mode != "record" else []
        cassette = Cassette(sources[0], library.name(sources[0]), rules) if sources else None
    except (RecallError, OSError) as error:
        raise player.refuse(sentence_of(error)) from None
    return Tape(library.shared.name, player.mode, rules, redactor, "", cassette)


def ports_of_controller(config: pytest.Config) -> Iterable[object]:
    """Return what a worker was given by its controller, ports of which plugins of both of them connect by."""
    given: Mapping[str, object] = getattr(config, "workerinput", {})
    return given.values()


def refuse_strays(player: Player) -> None:
    """Raise pytest.UsageError for calls that were refused before the session had begun."""
    if player.strays:
        raise pytest.UsageError(*dict.fromkeys(player.strays)) from None


def calls_before_the_session(player: Player) -> list[str]:
    """Return what to say of calls that a recording has let through so far, without which no replay begins."""
    calls, player.outside_calls = player.outside_calls, Counter()
    return [
        f"{call}: called before the session, as while a conftest file is imported, and was not recorded; a replay"
        " refuses it, and does not begin; let a fixture make the call"
        for call in calls
    ]


def seen(config: pytest.Config) -> Any:
    """Return what is known of the configuration before pytest has parsed all of its arguments."""
    known = config.known_args_namespace
    cwd = config.invocation_params.dir
    default = config.getini("testpaths") if cwd == config.rootpath else []
    return SimpleNamespace(
        option=known,
        args=known.file_or_dir or default or [str(cwd)],
        rootpath=config.rootpath,
        invocation_params=config.invocation_params,
        getini=config.getini,
        pluginmanager=config.pluginmanager,
        stash=config.stash,
    )
