"""The script that seeds faults and holds the causes that are named against them, and what it does not let pass."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.helpers import programs
from tests.helpers.scripts import loaded

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "check-causes.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, as a module."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return loaded(SCRIPT)


def test_a_prompt_that_a_merged_pull_request_has_changed_is_named(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # What else is installed here has nothing to do with it, and is half of each run.
    all_of = script.environment
    monkeypatch.setattr(script, "environment", lambda **told: all_of(**told, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"))
    monkeypatch.setattr(sys, "executable", str(programs.folder() / "python"))
    assert script.main(["1"]) == 0
    assert "1 of 1 causes are right (100%)" in capsys.readouterr().out


def test_faults_are_those_of_their_seed_and_each_kind_has_its_share(script: ModuleType) -> None:
    every = script.corpus(60, 5)
    assert every == script.corpus(60, 5)
    assert every != script.corpus(60, 6)
    assert {kind: sum(one.kind == kind for one in every) for kind in script.KINDS} == dict.fromkeys(script.KINDS, 10)
    merged = [one for one in every if one.pr]
    assert {one.kind for one in merged} == set(script.MERGED)
    assert [one.pr for one in merged] == sorted({one.pr for one in merged})
    plain = script.Program("f000")
    assert all(one.edited(plain).source != plain.source for one in merged)
    assert all(compile(one.edited(plain).source, one.case_id, "exec") for one in merged)


@pytest.mark.parametrize(
    ("kind", "pr", "label", "suspects", "is_right"),
    [
        ("prompt", "101", "prompt", ("101",), True),
        ("prompt", "101", "prompt", ("101", "102"), False),
        ("prompt", "101", "prompt", ("102",), False),
        ("prompt", "101", "prompt", None, False),
        ("prompt", "101", "code", ("101",), False),
        ("model", "", "provider", (), True),
        ("model", "", "provider", ("101",), False),
        ("model", "", "outside", (), True),
        ("flake", "", "chance", (), True),
        ("flake", "", "provider", (), False),
    ],
)
def test_a_cause_is_right_if_it_names_the_change_alone_and_nothing_that_is_not_so(
    script: ModuleType, kind: str, pr: str, label: str, suspects: tuple[str, ...] | None, is_right: bool
) -> None:
    fault = script.Fault("f000", kind, 1, pr)
    assert script.right(fault, script.Named(label, "", suspects, "night 1")) is is_right
    assert not script.right(fault, None)


def test_a_number_that_is_none_is_a_sentence(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        script.main(["0"])
    assert "0 is not a number of faults; give 1 or more" in capsys.readouterr().err
