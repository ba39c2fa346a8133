"""The command that replays all cases: which arguments of a run it has as well, and what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.plugin import arguments, replay_first
from pytest_recall.plugin.switch import SHORT


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("-k a", "-k a"),
        ("--record -x", "-x"),
        ("--record missing", ""),
        ("--record=missing", ""),
        ("--replay folder", ""),
        ("--budget 2 --junitxml=report.xml", ""),
        ("-n4 --recall-batch", ""),
        ("-n 4 -v --recall-resume", "-v"),
        ("-v --budget", "-v"),
    ],
)
def test_what_is_kept(given: str, kept: str) -> None:
    assert (
        list(
            replay_first._carried_options(
                given.split(), lambda name: f"--{name}" if name in SHORT else f"--recall-{name}"
            )
        )
        == kept.split()
    )


def test_a_part_is_a_shard_without_coverage(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\n")
    config = pytester.parseconfig()
    config.option.no_cov = False
    cassettes = pytester.path / "cassettes"
    alone, second = (replay_first._command(config, cassettes, Path("/s"), shard) for shard in ((1, 1), (2, 3)))
    assert f"--recall-dry-run-cassettes={cassettes}" in alone
    assert "--recall-shard=2/3" in second
    assert "--recall-dry-run-file=/s/2.json" in second
    assert not any(one.startswith("--recall-shard") for one in alone)
    assert "--no-cov" in alone


def test_what_addopts_and_the_environment_add_is_left_out_as_well(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\naddopts = -p recall --budget=2 --color=no\n")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--record --durations=3")
    command = replay_first._command(pytester.parseconfig(), pytester.path / "cassettes", Path("/s"), (1, 1))
    assert [one for one in command if "budget" in one or one.startswith("addopts")] == ["addopts="]
    assert ("--record" in command, "--durations=3" in command, "--color=no" in command) == (False, True, True)
    assert "PYTEST_ADDOPTS" not in arguments.environ()
