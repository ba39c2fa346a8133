"""The script that holds judged replays of made-up revisions against full runs, and what it does not let pass."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pytest_recall.replay.differences import DifferenceKind, RequestDifference
from pytest_recall.schedule.changes import ReplayFinding, ReplayState
from tests.helpers import programs
from tests.helpers.scripts import loaded

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "check-judged-replay.py"
DIFFERENCES = (RequestDifference(DifferenceKind.CHANGED, "a", "x", "y"),)
SAME = ReplayFinding(ReplayState.UNAFFECTED, outcome="passed", before="passed")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, as a module."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return loaded(SCRIPT)


def of_a_prompt(script: ModuleType) -> Any:
    """Return the revision of a prompt, of an agent that makes calls."""
    return next(one for one in script.revisions(50, 1) if one.kinds == ("prompt",) and one.before.prompts)


def test_a_few_revisions_have_no_hole(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # To load all plugins that the tests have is half of each run.
    all_of = script.environment
    monkeypatch.setattr(script, "environment", lambda **told: all_of(**told, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"))
    monkeypatch.setattr(sys, "executable", str(programs.folder() / "python"))
    assert script.main([str(len(script.EDITS)), "--seed", "3"]) == 0
    out = capsys.readouterr().out
    assert f"0 holes in {len(script.EDITS)} revisions of seed 3" in out
    counted = {line.split("  ")[0]: line.split()[-6:] for line in out.splitlines()}
    # One of each, which is as recorded: it passes, or fails as it did.
    for kind in ("nothing", "comments"):
        assert sorted(counted[kind][:2]) == ["0", "1"]
        assert counted[kind][2:] == ["0"] * 4


def test_holes_are_told_and_end_it_with_a_code(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What each run of a round came to is said here: that runs come to it is in the test above."""
    new = ReplayFinding(ReplayState.NOT_RECORDED)
    full = iter([{"r0000": script.Came("passed", "x", 1)}, {"r0000": script.Came("passed", "X", 1)}])
    replays = iter([{"r0000": SAME, "new": new}, {"r0000": SAME, "new": new}, {"r0000": SAME, "old": new}])
    monkeypatch.setattr(script.Project, "recorded", lambda project: next(full))
    monkeypatch.setattr(script.Project, "replayed", lambda project: SimpleNamespace(findings=next(replays)))
    monkeypatch.setattr(script.Project, "pulled", lambda project: {"new": script.Came("passed", "x", 1)})
    revision = of_a_prompt(script)._replace(case_id="r0000")
    monkeypatch.setattr(script, "revisions", lambda count, seed: [revision])
    assert script.main(["1"]) == 1
    out = capsys.readouterr().out
    assert "r0000 (prompt) is as recorded, and answered 'x' and answers 'X'\n" in out
    assert "1 holes in 1 revisions" in out


@pytest.mark.parametrize(
    ("before", "after", "found", "pulled", "said"),
    [
        (("passed", "x"), ("passed", "x"), SAME, None, []),
        (("passed", "x"), ("failed", "x"), SAME, ("failed", "x"), ["is as recorded, and was passed and is failed"]),
        (("passed", "x"), ("passed", "y"), SAME, None, ["is as recorded, and answered 'x' and answers 'y'"]),
        (
            ("passed", "x"),
            ("failed", "y"),
            ReplayFinding(
                ReplayState.RECORDED,
                outcome="passed",
                before="failed",
                altered=True,
                trials=({"answer": {"text": "z"}},),
            ),
            ("passed", "z"),
            [
                "is recorded with the answer 'z', and answers 'y'",
                "is passed in the replay, and failed in full",
                "is passed in the pull request, and failed in full",
            ],
        ),
        (
            ("passed", "x"),
            ("failed", "y"),
            ReplayFinding(ReplayState.CHANGED),
            None,
            [
                "is changed, and the pull request has no trial of it",
                "was passed and is failed, and the pull request has no trial of it",
            ],
        ),
        (("passed", "x"), ("passed", "x"), None, None, ["was not replayed"]),
    ],
)
def test_what_a_replay_has_wrong_is_told(
    script: ModuleType, before: Any, after: Any, found: Any, pulled: Any, said: list[str]
) -> None:
    revision = of_a_prompt(script)
    ran = None if pulled is None else script.Came(*pulled, 1)
    told = script.holes(revision, script.Came(*before, 1), script.Came(*after, 1), found, SAME, ran, found)
    assert list(told) == said


def test_no_edit_and_a_revision_that_is_recorded_have_to_be_as_recorded(script: ModuleType) -> None:
    revision = next(one for one in script.revisions(50, 1) if one.kinds == ("nothing",) and one.before.calls)
    came, changed = script.Came("passed", "x", 1), ReplayFinding(ReplayState.CHANGED, differences=DIFFERENCES)
    assert list(script.holes(revision, came, came, changed, changed, came, changed)) == [
        "has no edit and is changed: a: “x” → “y”",
        "was recorded as it is, and is changed when it is replayed: a: “x” → “y”",
    ]


def test_what_is_as_recorded_is_so_when_the_change_is_taken_back(script: ModuleType) -> None:
    revision = next(one for one in script.revisions(50, 1) if one.kinds == ("prompt",) and one.before.calls)
    came, changed = script.Came("passed", "x", 1), ReplayFinding(ReplayState.CHANGED, differences=DIFFERENCES)
    said = "is unaffected, and changed when the change is taken back: a: “x” → “y”"
    assert list(script.holes(revision, came, came, SAME, SAME, came, changed)) == [said]
    error = script.Came("error", None, 1)
    assert list(script.holes(revision, error, error, SAME, SAME, error, changed)) == []


def test_revisions_are_those_of_their_seed_and_each_edit_is_one(script: ModuleType) -> None:
    every = list(script.revisions(200, 5))
    assert every == list(script.revisions(200, 5))
    assert every != list(script.revisions(200, 6))
    assert {kind for one in every for kind in one.kinds} == set(script.EDITS)
    assert all((one.before == one.after) is (one.kinds == ("nothing",)) for one in every if len(one.kinds) == 1)
    assert all(compile(one.after.source, one.case_id, "exec") for one in every)


def test_a_number_that_is_none_is_a_sentence(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        script.main(["0"])
    assert "0 is not a number of revisions; give 1 or more" in capsys.readouterr().err
