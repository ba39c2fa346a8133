"""Programs that are asked as models: recorded once, replayed without being started, refused where nothing fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.models.model import ModelError
from pytest_recall.models.rate import Rate, Target
from pytest_recall.models.rate_limiter import RateLimits, RateTurn
from pytest_recall.models.resolve import through
from pytest_recall.replay.cassette_file import Cassette, write_cassette
from pytest_recall.replay.exchange import Request, Response
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.player import Player
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.tape import CassetteMode, Tape

RULES = Rules()
ASKED = Request("RUN", "command:///claude", (), b"How long is a loan?")
WEEK = Response(200, "", (), (b"One week.",))


def tape(mode: CassetteMode, path: Path, cassette: Cassette | None = None) -> Tape:
    """Return a tape whose draft is at `path`."""
    return Tape("a.ndjson", mode, RULES, Redactor({}), "record it", cassette=cassette, draft_path=path)


def recorded(folder: Path, response: Response | Exception) -> Cassette:
    """Return the cassette of one call that ended like this."""
    player, made = Player("record"), tape("record", folder / "draft.ndjson")

    def call() -> Response:
        if isinstance(response, Exception):
            raise response
        return response

    with player.playing(made):
        if isinstance(response, Exception):
            with pytest.raises(type(response)):
                through(player)(ASKED, call)
        else:
            assert through(player)(ASKED, call) == response
    made.close()
    write_cassette(folder / "a.ndjson", {}, made.recorded(), RULES)
    return Cassette(folder / "a.ndjson", "a.ndjson", RULES)


def never() -> Response:
    """Stand for a program that must not be started."""
    raise AssertionError("started")


def test_a_recorded_program_is_not_started_again(tmp_path: Path) -> None:
    player = Player("replay")
    with player.playing(tape("replay", tmp_path / "none", recorded(tmp_path, WEEK))):
        served = through(player)(ASKED, never)
    assert (served.status, served.body) == (200, b"One week.")


def test_a_failure_is_replayed_in_its_words(tmp_path: Path) -> None:
    player = Player("replay")
    with (
        player.playing(tape("replay", tmp_path / "none", recorded(tmp_path, ModelError("it came to no end")))),
        pytest.raises(ModelError, match="it came to no end"),
    ):
        through(player)(ASKED, never)


def test_another_prompt_is_a_miss(tmp_path: Path) -> None:
    player = Player("replay")
    with (
        player.playing(tape("replay", tmp_path / "none", recorded(tmp_path, WEEK))),
        pytest.raises(MissError, match="command:///claude is not recorded"),
    ):
        through(player)(ASKED._replace(body=b"Why?"), never)


def test_a_kind_that_is_forbidden_is_not_started(tmp_path: Path) -> None:
    player = Player("off", {"agent": "forbidden"})
    with player.playing(tape("off", tmp_path / "none")), pytest.raises(MissError, match="forbidden"):
        through(player)(ASKED, never)


def test_without_a_tape_it_is_run() -> None:
    assert through(Player("off"))(ASKED, lambda: WEEK) == WEEK


@pytest.mark.parametrize("mode", ["off", "record"])
def test_it_is_started_when_its_turn_has_come(
    tmp_path: Path, mode: CassetteMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(RateTurn, "wait", lambda self: done.append("waited"))

    def call() -> Response:
        done.append("started")
        return WEEK

    player = Player(mode)
    player.limits = RateLimits({Target("claude"): Rate(requests=1)})
    with player.playing(tape(mode, tmp_path / "draft.ndjson")) as made:
        through(player)(ASKED, call)
    made.close()
    assert done == ["waited", "started"]


def test_what_is_replayed_waits_for_no_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RateTurn, "wait", lambda self: never())
    player = Player("replay")
    player.limits = RateLimits({Target("claude"): Rate(requests=1)})
    with player.playing(tape("replay", tmp_path / "none", recorded(tmp_path, WEEK))):
        assert through(player)(ASKED, never).body == b"One week."
