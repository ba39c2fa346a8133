"""What a forked process says, and where it is heard."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.player import Player
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.tape import CassetteMode, Tape

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def tape(name: str, mode: CassetteMode, tmp_path: Path) -> Tape:
    return Tape(name, mode, Rules(), Redactor({}), "record it", draft_path=tmp_path / name)


def in_a_child(*players: Player, times: int = 1) -> None:
    """Ask each player in a forked process, and wait for its end."""
    child = os.fork()
    if child == 0:
        try:
            for player in players:
                for _ in range(times):
                    assert player.ask(Request("POST", "http://127.0.0.1/any")).served is not None
        finally:
            os._exit(0)
    os.waitpid(child, 0)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
class TestForkNotes:
    def test_what_a_child_is_refused_is_one_of_the_tape_that_it_was_forked_with(self, tmp_path: Path) -> None:
        player = Player("replay")
        one, another = tape("one", "replay", tmp_path), tape("another", "replay", tmp_path)
        with player.playing(another), player.playing(one):
            in_a_child(player, times=3)
            assert one.misses == []
            player.hear_forked()
            player.hear_forked()
        assert (len(one.misses), another.misses) == (3, [])

    def test_of_a_tape_that_is_closed_it_is_one_of_any_that_is_open(self, tmp_path: Path) -> None:
        player = Player("replay")
        one, later = tape("one", "replay", tmp_path), tape("later", "replay", tmp_path)
        with player.playing(one):
            in_a_child(player)
        with player.playing(later):
            player.hear_forked()
        assert len(later.misses) == 1

    def test_without_a_tape_it_is_said_at_the_end(self) -> None:
        player = Player("replay")
        in_a_child(player)
        player.hear_forked()
        assert len(player.strays) == 1

    def test_each_player_hears_its_own(self, tmp_path: Path) -> None:
        outer, inner = Player("replay"), Player("replay")
        of_outer, of_inner = tape("outer", "replay", tmp_path), tape("inner", "replay", tmp_path)
        with outer.playing(of_outer), inner.playing(of_inner):
            in_a_child(inner)
            outer.hear_forked()
            inner.hear_forked()
        assert (of_outer.misses, len(of_inner.misses)) == ([], 1)

    def test_a_recording_says_what_it_lacks(self, tmp_path: Path) -> None:
        player = Player("record")
        one = tape("one", "record", tmp_path)
        with player.playing(one):
            child = os.fork()
            if child == 0:
                try:
                    player.ask(Request("POST", "http://127.0.0.1/any?key=secret"))
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            player.hear_forked()
        [problem] = one.problems
        assert "http://127.0.0.1/any was not recorded" in problem

    def test_a_child_is_answered_so_that_it_goes_on(self, tmp_path: Path) -> None:
        player = Player("replay")
        with player.playing(tape("one", "replay", tmp_path)):
            with pytest.raises(MissError):
                player.ask(Request("POST", "http://127.0.0.1/any"))
            in_a_child(player)
