"""The command that replays all cases: which arguments of a run it has as well, and what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.files.eval_directory import Place
from pytest_recall.plugin import replay_base, replay_first
from pytest_recall.plugin.replay_first import Tree
from pytest_recall.schedule.changes import Changes
from tests.helpers.repository import git


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("eval -k a", "eval -k a"),
        ("--record eval -x", "eval -x"),
        ("--record missing eval", "eval"),
        ("--record=missing eval", "eval"),
        ("--replay folder eval", "eval"),
        ("--budget 2 --junitxml=report.xml eval", "eval"),
        ("-n4 --batch eval", "eval"),
        ("-n 4 eval --recall-resume", "eval"),
        ("eval --budget", "eval"),
    ],
)
def test_what_is_kept(given: str, kept: str) -> None:
    assert list(replay_first._kept(given.split(), {"eval"})) == kept.split()


def test_a_part_is_a_shard_without_coverage(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\n")
    config = pytester.parseconfig()
    config.option.no_cov = False
    tree = Tree(pytester.path, pytester.path / "cassettes")
    alone, second = (replay_first._command(config, tree, Path("/s"), shard) for shard in ((1, 1), (2, 3)))
    assert "--recall-shard=2/3" in second
    assert "--recall-dry-run-file=/s/2.json" in second
    assert not any(one.startswith("--recall-shard") for one in alone)
    assert "--no-cov" in alone


def test_without_a_base_nothing_is_taken_off(pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    config, found = pytester.parseconfigure(), Changes()
    place, tree = Place(pytester.path, pytester.path / "eval"), Tree(pytester.path, pytester.path / "cassettes")
    git(pytester.path, "init", "-q")
    assert replay_base.without_varying(config, place, tree, ["main"], found, {}) is found
    assert "recall: the base is not replayed, since " in capsys.readouterr().out
