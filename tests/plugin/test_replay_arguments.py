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
        ("-k a", "-k a"),
        ("--record -x", "-x"),
        ("--record missing", ""),
        ("--record=missing", ""),
        ("--replay folder", ""),
        ("--budget 2 --junitxml=report.xml", ""),
        ("-n4 --batch", ""),
        ("-n 4 -v --recall-resume", "-v"),
        ("-v --budget", "-v"),
    ],
)
def test_what_is_kept(given: str, kept: str) -> None:
    assert list(replay_first._kept(given.split())) == kept.split()


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


def test_what_addopts_and_the_environment_add_is_left_out_as_well(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\naddopts = -p recall --recall-budget=2 --color=no\n")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--recall-record --durations=3")
    tree = Tree(pytester.path, pytester.path / "cassettes")
    command = replay_first._command(pytester.parseconfig(), tree, Path("/s"), (1, 1))
    assert [one for one in command if "budget" in one or one.startswith("addopts")] == ["addopts="]
    assert ("--recall-record" in command, "--durations=3" in command, "--color=no" in command) == (False, True, True)
    assert "PYTEST_ADDOPTS" not in tree.environ()


def test_without_a_base_nothing_is_taken_off(pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    config, found = pytester.parseconfigure(), Changes()
    place, tree = Place(pytester.path, pytester.path / "eval"), Tree(pytester.path, pytester.path / "cassettes")
    git(pytester.path, "init", "-q")
    assert replay_base.without_varying(config, place, tree, ["main"], found, {}) is found
    assert "recall: the base is not replayed, since " in capsys.readouterr().out
