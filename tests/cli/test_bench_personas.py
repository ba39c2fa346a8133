"""`recall bench run` over several personas: each in a folder of its own, within one budget, and with their mean."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from pytest_recall.cli import main
from pytest_recall.judges.judge_call import MAX_TOKENS
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.run_stop import RunStop
from tests.helpers.grader import Grader
from tests.helpers.persona import write_persona

RUN = ("bench", "run", "--data", "data", "--ranges", "3d", "--no-heatmap-png")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in ("clerk", "baker"):
        folder = write_persona(tmp_path / "data")
        file = folder / "persona.yaml"
        file.write_text(json.dumps({**json.loads(file.read_text()), "id": name}))
        folder.rename(tmp_path / "data" / f"{name}-")
    for name in ("clerk", "baker"):
        (tmp_path / "data" / f"{name}-").rename(tmp_path / "data" / name)


def test_all_in_the_folder_are_run_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--memory", "sqlite-fts", "--out", "out"]) == 0
    captured = capsys.readouterr()
    lines = [line.split() for line in captured.out.splitlines()]
    assert lines[-4:] == [
        ["persona", "answers", "recall", "%", "points", "of", "6"],
        ["baker", "3", "100.0", "–"],
        ["clerk", "3", "100.0", "–"],
        ["mean", "6", "100.0", "–"],
    ]
    assert sorted(path.name for path in Path("out").iterdir()) == ["baker", "clerk"]
    assert main([*RUN, "--memory", "null", "--personas", "clerk", "baker", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.index("null on clerk") < out.index("null on baker")


@pytest.mark.parametrize("named", [(), ("--personas", "clerk")])
def test_a_persona_is_found_by_its_id_and_not_by_the_name_of_its_folder(
    capsys: pytest.CaptureFixture[str], named: tuple[str, ...]
) -> None:
    Path("data/clerk").rename("data/another name")
    assert main([*RUN, "--memory", "null", *named, "--dry-run"]) == 0
    assert "null on clerk" in capsys.readouterr().out
    assert main([*RUN, "--memory", "null", "--personas", "another name", "--dry-run"]) == 2


def test_one_that_cannot_be_run_is_told_and_the_others_are_run(capsys: pytest.CaptureFixture[str]) -> None:
    Path("data/baker/arcs-60d.yaml").unlink()
    assert main([*RUN, "--memory", "null", "--out", "out"]) == 2
    captured = capsys.readouterr()
    assert "data/baker/arcs-1000d.yaml: is not there" in captured.err
    assert captured.err.endswith("recall: 1 persona without a result, as said above; correct it\n")
    assert captured.out.splitlines()[-1].split() == ["mean", "3", "0.0", "–"]


def test_the_budget_is_that_of_all_together(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    Path("eval").mkdir()
    # Each call of the judge writes five tokens, and costs a cent. It reserves those that it may write.
    rubric = {"owner": "us", "prices": {"grader": {"input": 0, "output": 2000}}}
    reserved = 0.002 * MAX_TOKENS
    Path("eval/rubric.yaml").write_text(json.dumps(rubric))
    with closing(Grader()) as served:
        command = [*RUN, "--memory", "sqlite-fts", "--judge", served.selector, "--skip-preflight", "--out", "out"]
        assert main([*command, "--budget", f"{reserved + 0.03}"]) == 2
        assert len(served.bodies) == 4
        stops = [read_journal(Path("out", name)).stop for name in ("baker", "clerk")]
        assert stops == [None, RunStop("budget", kind="no-room", usd=reserved + 0.03)]
        assert main([*command, "--budget", "9"]) == 0
        assert len(served.bodies) == 6
    assert capsys.readouterr().out.splitlines()[-1].split() == ["mean", "6", "100.0", "6.00"]
