"""Taped: one cassette around a command's work, recorded or replayed as those of cases are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pytest_recall.core.call import Kind, Way
from pytest_recall.core.errors import MissError, RecallError
from pytest_recall.core.matching import Rules
from pytest_recall.core.redact import Redactor
from pytest_recall.core.rubric import Rubric
from pytest_recall.core.secrets import secret_names
from pytest_recall.replay.limits import Limits
from pytest_recall.replay.meter import Meter
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import Mode, Tape
from pytest_recall.replay.watch import Watch
from pytest_recall.run.place import Place
from pytest_recall.run.price import call_of
from pytest_recall.store.cassette import Cassette
from pytest_recall.store.ledger import Ledger
from pytest_recall.store.library import Library

FOLDER = "_calibration"
"""Beside the scenarios, for calibrations; none is called so, as their names begin with a letter."""
BENCHES = "_membench"
"""The same for answers of a membench."""


def player_of(rubric: Rubric, mode: Mode) -> Player:
    """Return a player by whom the calls of judges go by a cassette, whatever they do in runs."""
    ways: dict[Kind, Way] = {**rubric.cassette_kinds, "judge": "cassette"}
    player = Player(mode, ways, ignored=rubric.ignore_hosts, redact=_redactor(rubric).text)
    if rubric.rate_limits:
        player.limits = Limits(rubric.rates())
    return player


def _redactor(rubric: Rubric) -> Redactor:
    return Redactor(secret_names(os.environ, rubric.secrets))


@contextmanager
def taped(
    player: Player, place: Place, rubric: Rubric, folder: Path, name: str, scenario: str = FOLDER
) -> Iterator[Tape]:
    """Record or replay the calls of judges that are made in this block, in `folder/<scenario>/<name>.ndjson`.

    `player` is one of `player_of`, which says whether it is a recording or a replay. A recording
    takes its place when the block ends in order; until then there is a draft. Raises RecallError
    for a call that is not recorded, or one that cannot be.
    """
    library = Library(folder)
    path = library.of_case(name, scenario)
    shown = place.name(path)
    rules = Rules(rubric.volatile_fields)
    redactor = _redactor(rubric)
    mode = player.mode
    if mode == "replay" and not path.exists():
        raise RecallError(f"{shown}: no such recording; make it with --record")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    tape = Tape(
        name=shown,
        mode=mode,
        rules=rules,
        redactor=redactor,
        hint="the same command with --record records it",
        cassette=Cassette(path, shown, rules) if mode == "replay" else None,
        draft_path=library.new_draft(path) if mode == "record" else None,
        header={"case": name, "scenario": scenario, "run": f"{scenario.strip('_')} {now}", "recorded_at": now},
    )
    try:
        with _watched(player, tape):
            yield tape
    except MissError as error:
        raise RecallError(str(error)) from None
    if tape.misses or tape.problems:
        raise RecallError(*tape.misses, *tape.problems)
    if tape.draft_path is not None:
        library.finish(path, tape.header, tape.kept(), rules)
        tape.draft_path.unlink(missing_ok=True)


@contextmanager
def untaped(player: Player, rubric: Rubric) -> Iterator[None]:
    """Listen to the calls of judges that are made in this block, for the budget and the rates. None is recorded.

    Raises MissError for a call that must not begin.
    """
    with _watched(player, Tape("", "off", Rules(rubric.volatile_fields), _redactor(rubric), "")):
        yield


@contextmanager
def _watched(player: Player, tape: Tape) -> Iterator[None]:
    watch = Watch(player)
    try:
        with player.playing(tape), player.asking("judge"):
            yield
    finally:
        tape.close()
        watch.close()


def limit(player: Player, place: Place, rubric: Rubric, budget: float) -> Meter:
    """Let no call begin once those of `player` have cost `budget` US dollars, and return what counts them."""
    ledger = Ledger(place.artifacts.folder / f".spent-{datetime.now(UTC):%Y-%m-%dT%H%M%S.%f}-{os.getpid()}")
    player.meter = Meter(budget, ledger, lambda exchange: call_of(exchange, exchange.kind, "live", rubric.prices))
    return player.meter
