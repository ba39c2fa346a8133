"""Record or replay the calls of a command in one cassette, as those of cases are."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_file import place_of_setting
from pytest_recall.files import clock
from pytest_recall.files.errors import MissError, RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.wording import listed, same_command
from pytest_recall.models.prices import pricing
from pytest_recall.models.rate_limiter import RateLimits
from pytest_recall.replay.budget import Ledger, Meter
from pytest_recall.replay.cassette_file import Cassette
from pytest_recall.replay.cassette_library import Library
from pytest_recall.replay.exchange import CallKind, Way
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import CassetteMode, Tape
from pytest_recall.replay.watch import Watch
from pytest_recall.trials.cost_text import let_through_lines
from pytest_recall.trials.record import LetThrough

FOLDER = "_calibration"
"""Beside the scenarios, for calibrations; none is called so, as their names begin with a letter."""
BENCHES = "_membench"
"""The same for answers of a membench."""


def player_of(rubric: Settings, mode: CassetteMode, ways: Mapping[CallKind, Way] = MappingProxyType({})) -> Player:
    """Return a player by whom the calls of judges go by a cassette, whatever they do in runs.

    `ways` are those of other kinds of calls.
    """
    every: dict[CallKind, Way] = {"judge": "cassette", **ways}
    player = Player(mode, every, **rubric.player_settings(rubric.redactor(os.environ).redacted))
    if rubric.rate_limits:
        player.limits = RateLimits(rubric.rates())
    return player


@dataclass(frozen=True, kw_only=True)
class CommandCassettes:
    """The cassettes `folder/<scenario>/<name>.ndjson` of a command, recorded or replayed as `player` says.

    Each `repeat` of all that it does has its own, as each trial of a series has.
    """

    player: Player
    place: Place
    rubric: Settings
    folder: Path
    scenario: str
    repeat: int = 1

    def path(self, name: str) -> Path:
        """Return where a cassette is."""
        return Library(self.folder).of_case(name, self.scenario, self.repeat)

    def tape(self, name: str) -> Tape:
        """Return the tape of a cassette; in a replay it answers nothing if there is none. Raises RecallError."""
        path, mode = self.path(name), self.player.mode
        shown = self.place.name(path)
        rules = self.rubric.rules()
        now = clock.now().isoformat(timespec="seconds")
        run = f"{self.scenario.strip('_')} {now}"
        known = mode in ("replay", "missing") and path.exists()
        again = {"repeat": self.repeat} if self.repeat > 1 else {}
        return Tape(
            name=shown,
            mode=mode,
            rules=rules,
            redactor=self.rubric.redactor(os.environ),
            hint=same_command("record", options="with --record"),
            cassette=Cassette(path, shown, rules) if known else None,
            draft_path=Library(self.folder).new_draft(path) if mode in ("record", "missing") else None,
            header={"case": name, "scenario": self.scenario, "run": run, "recorded_at": now, **again},
        )

    def finish(self, tape: Tape, name: str) -> None:
        """Let what was recorded take its place; what was served stays in it. Raises RecallError and OSError.

        Where an earlier recording stays, the tape has that as a problem.
        """
        if tape.draft_path is None:
            return
        news = tape.recorded()
        if tape.mode == "record" and (why := tape.stays(news)) and self.path(name).exists():
            tape.problems.append(why)
        elif news or tape.mode == "record":
            calls = [*tape.served(), *news]
            Library(self.folder).finish(self.path(name), tape.header, calls, tape.known_rules)
        tape.draft_path.unlink(missing_ok=True)


def let_through_of(player: Player, tape: Tape) -> LetThrough:
    """Return what the rubric lets through by a player that has played this tape alone."""
    programs = tuple(tape.started) if player.mode == "replay" else ()
    return LetThrough(Counter(player.ignored_calls), tuple(player.ignored_places), programs)


def answered_itself(names: Iterable[str], *, replays: bool) -> str:
    """Return what a recording or a replay means for models of these names that have called no upstream, in words."""
    made = f"{listed(list(names))}: made no call that can be recorded"
    if replays:
        return f"{made}, and was asked as always, since a replay has nothing to answer from"
    return f"{made}, so that a replay will have nothing to answer from"


@contextmanager
def taped(
    player: Player,
    place: Place,
    rubric: Settings,
    folder: Path,
    name: str,
    *,
    judges: Sequence[str],
    tell: Callable[[str], None],
) -> Iterator[Tape]:
    """Record or replay the calls of these `judges` that are made in this block, in a cassette of `CommandCassettes`.

    `player` is one of `player_of`, which says whether it is a recording or a replay. A recording
    takes its place when the block ends in order; until then there is a draft. Raises RecallError
    for a call that is not recorded, or one that cannot be.
    """
    cassettes = CommandCassettes(player=player, place=place, rubric=rubric, folder=folder, scenario=FOLDER, repeat=1)
    path = cassettes.path(name)
    if player.mode == "replay" and not path.exists():
        raise RecallError(f"{place.name(path)}: no such recording; make it with --record{or_without(judges)}")
    tape = cassettes.tape(name)
    try:
        with _watched(player, tape):
            yield tape
    except MissError as error:
        raise RecallError(str(error)) from None
    if tape.misses or tape.problems:
        raise RecallError(*tape.misses, *tape.problems)
    cassettes.finish(tape, name)
    setting = place_of_setting(place.rubric, place.name(place.rubric), "calls")
    for line in let_through_lines(let_through_of(player, tape), setting):
        tell(line)
    if tape.problems:
        raise RecallError(*tape.problems)
    if player.mode == "record" and not tape.made:
        tell(answered_itself(judges, replays=False))


def or_without(models: Sequence[str]) -> str:
    """Return what else is to be done about a recording that is not there, for objects that the user wrote."""
    own = [one for one in models if one.startswith("python:")]
    return f", or leave out --replay if {listed(own)} makes no call that can be recorded" if own else ""


@contextmanager
def untaped(player: Player, rubric: Settings) -> Iterator[Tape]:
    """Listen to the calls of judges that are made in this block, for the budget and the rates. None is recorded.

    Raises MissError for a call that must not begin.
    """
    tape = open_tape(rubric)
    with _watched(player, tape):
        yield tape


def open_tape(rubric: Settings) -> Tape:
    """Return a tape that records nothing, for calls that are listened to."""
    return Tape("", "off", rubric.rules(), rubric.redactor(os.environ), "")


@contextmanager
def _watched(player: Player, tape: Tape) -> Iterator[None]:
    watch = Watch(player)
    try:
        with player.playing(tape), player.asking("judge"):
            yield
    finally:
        tape.close()
        watch.close()


def meter_of(place: Place, rubric: Settings, budget: float) -> Meter:
    """Return what keeps calls within `budget` US dollars: a player with it begins none that may cost more."""
    ledger = Ledger(place.artifacts.folder / f".spent-{clock.now():%Y-%m-%dT%H%M%S.%f}-{os.getpid()}")
    return Meter(budget, ledger, pricing(rubric.prices))
