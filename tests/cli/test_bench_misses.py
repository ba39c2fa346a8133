"""`recall bench misses`: relevant days that did not come back, and what came instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recall.cli import main
from tests.cli.test_bench_boundaries import FERRY, SILENT


@pytest.fixture(name="run", scope="module")
def _run(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("misses") / "run"
    given = ("--persona", str(FERRY), "--memory", "last-20", "--ranges", "30d", "--out", str(folder))
    assert main(["bench", "run", *given, "--no-heatmap-png"]) == 0
    return str(folder)


def test_what_did_not_come_back_is_shown_with_what_came(capsys: pytest.CaptureFixture[str], run: str) -> None:
    assert main(["bench", "misses", run, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    every = plain["missed"]
    assert (plain["answers"], len(every)) == (45, len({one["id"] for one in every}))
    for one in every:
        came = {passage["id"] for passage in one["instead"]}
        assert one["absentDays"] == [
            day for day in sorted(one["relevantDays"]) if not any(id.startswith(f"day-{day:04}/") for id in came)
        ]
        assert any(passage["relevant"] for passage in one["instead"]) is (one["absentDays"] != one["relevantDays"])
    assert main(["bench", "misses", run, "--limit", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{len(every)} of 45 answers without all of their relevant days\n")
    first = every[0]
    assert f"\n30d/{first['id']} ({first['category']}): {first['question'][:60]}" in out
    assert f"  absent: day {first['absentDays'][0]}" in out
    assert f"… and {len(every) - 1} more; --limit shows more of them, --json all" in out


def test_one_category_after_one_checkpoint(capsys: pytest.CaptureFixture[str], run: str) -> None:
    assert main(["bench", "misses", run, "--categories", "synthesis", "--checkpoint", "30d", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["answers"] == 5
    assert {one["category"] for one in plain["missed"]} == {"synthesis"}


def test_answers_without_passages_have_nothing_to_show(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("silent.py").write_text(SILENT)
    asked = ("--memory", "python:silent.py:Silent", "--ranges", "3d", "--out", "run", "--no-heatmap-png")
    assert main(["bench", "run", "--persona", str(FERRY), *asked]) == 0
    capsys.readouterr()
    assert main(["bench", "misses", "run"]) == 2
    assert (
        "recall: run: for no answer is it known what the memory returned: it answers by itself"
        in capsys.readouterr().err
    )


def test_the_command_for_datasets_names_this_one(capsys: pytest.CaptureFixture[str], run: str) -> None:
    assert main(["memory", "misses", run]) == 2
    assert f"`recall bench misses {run}`" in capsys.readouterr().err
