"""Merging and rebuilding: the parts of a run are the run, and so are whole folders of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.aggregates import result_json
from pytest_recall.horizon.merging import merge, merge_folders, progress, rebuild_result
from pytest_recall.horizon.published import PublishedRun
from pytest_recall.horizon.rescore import rescore
from pytest_recall.horizon.run_file import read_lines, write_result
from pytest_recall.horizon.runs import read_run
from tests.helpers.horizon_runs import SMALL, Stops, any_stops, run_of, write_run
from tests.helpers.horizon_runs import read_lines as rows_of

OFTEN = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12, deadline=None)


def steady(plain: Any) -> Any:
    """Return a result without what a rebuilt one has beside it."""
    if isinstance(plain, dict):
        passed = ("reconstructed", "reconstructedCheckpoints", "reconstructedComplete", "thirdOutcomes")
        return {name: steady(value) for name, value in plain.items() if name not in (*passed, "requiresSynthesis")}
    return [steady(one) for one in plain] if isinstance(plain, list) else plain


@OFTEN
@given(any_stops())
def test_a_rebuilt_result_is_the_result(tmp_path: Path, stops: Stops) -> None:
    folder = write_run(tmp_path / "run", stops)
    written = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    (folder / "result.json").unlink()
    found, plain = rebuild_result(folder)
    assert found.orphans == 0
    assert steady(json.loads(json.dumps(plain))) == steady(written)
    assert plain["metadata"]["reconstructedComplete"] is True


@OFTEN
@given(any_stops())
def test_published_lines_are_told_apart_by_their_times(tmp_path: Path, stops: Stops) -> None:
    folder = write_run(tmp_path / "run", stops, labelled=False)
    written = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert steady(json.loads(json.dumps(rebuild_result(folder)[1]))) == steady(written)


@pytest.mark.parametrize("labelled", [True, False])
def test_answers_after_the_last_checkpoint_are_left_out(tmp_path: Path, labelled: bool) -> None:
    folder = write_run(tmp_path, SMALL, labelled=labelled)
    lines = (folder / "progress.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "progress.jsonl").write_text("\n".join(lines[:3]) + "\n", encoding="utf-8")
    found, plain = rebuild_result(folder)
    assert (found.orphans, len(found.run.evaluations)) == (4, 7)
    assert plain["metadata"]["reconstructedCheckpoints"] == 2
    assert plain["metadata"]["reconstructedComplete"] is False
    assert "uniqueQAPairCount" not in plain["metadata"]  # The summary, which says it, was never written.


def test_what_cannot_be_rebuilt_is_told(tmp_path: Path) -> None:
    folder = write_run(tmp_path, SMALL, questions=False)
    with pytest.raises(RecallError, match=r"questions\.jsonl: is not there, and progress\.jsonl holds no answers"):
        rebuild_result(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecallError, match="holds no checkpoint"):
        rebuild_result(tmp_path / "empty")
    with pytest.raises(RecallError, match="nowhere: no such directory; name the folder of a run"):
        rebuild_result(tmp_path / "nowhere")


@OFTEN
@given(any_stops())
def test_the_parts_of_a_run_are_the_run_again(tmp_path: Path, stops: Stops) -> None:
    whole = read_run(write_run(tmp_path / "whole", stops))
    days = list(stops)
    first = write_run(tmp_path / "first", {day: stops[day] for day in days[:1]})
    second = write_run(tmp_path / "second", {day: stops[day] for day in days[1:] or days})
    out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
    merge_folders([first, second], out)
    run, lines = read_run(out), read_lines(out)
    assert [stop.summary() for stop in run.stops] == [stop.summary() for stop in whole.stops]
    assert [one.question for one in run.evaluations] == [one.question for one in whole.evaluations]
    found = rescore(run, [*lines.checkpoints, lines.summary], lines.questions)
    assert found.differences == ()
    write_result(out / "again.json", rebuild_result(out)[1])


def test_merged_lines_say_their_checkpoint(tmp_path: Path) -> None:
    first = write_run(tmp_path / "first", {10: SMALL[10]}, labelled=False)
    second = write_run(tmp_path / "second", {20: SMALL[20], 30: SMALL[30]})
    merged = merge_folders([first, second], tmp_path / "out")
    assert (merged.sources, merged.replaced) == ((0, 1, 1), ())
    labels = [line["checkpoint"] for line in rows_of(tmp_path / "out" / "questions.jsonl")]
    assert labels == ["10d"] * 3 + ["20d"] * 4 + ["30d"] * 4
    assert len(rows_of(tmp_path / "out" / "failures.jsonl")) == 3
    assert json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))["metadata"]["seed"] == 42


def test_lines_of_questions_are_written_where_all_have_them(tmp_path: Path) -> None:
    first = write_run(tmp_path / "first", {10: SMALL[10]}, questions=False)
    second = write_run(tmp_path / "second", {20: SMALL[20]})
    merge_folders([first, second], tmp_path / "out")
    assert not (tmp_path / "out" / "questions.jsonl").exists()
    assert len(read_run(tmp_path / "out").evaluations) == 7


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", SMALL)
    with pytest.raises(RecallError, match="is there already; name a folder that is new"):
        merge_folders([folder, folder], folder)


def test_parts_without_answers_are_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", SMALL, questions=False)
    (folder / "result.json").unlink()
    with pytest.raises(RecallError, match="no file holds the answers of 10d, 20d, 30d; it cannot"):
        merge_folders([folder, folder], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_parts_without_a_checkpoint_are_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "a", SMALL)
    write_run(tmp_path / "b", {})
    with pytest.raises(RecallError, match="b: has reached no checkpoint, so that there is nothing to merge"):
        merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "whole")


def part(run: PublishedRun, *labels: str) -> PublishedRun:
    """Return the part of a run with these checkpoints."""
    return replace(run, stops=tuple(stop for stop in run.stops if stop.label in labels))


@given(any_stops())
def test_the_parts_of_a_run_are_the_run(stops: Stops) -> None:
    run = run_of(stops)
    labels = [stop.label for stop in run.stops]
    merged = merge([part(run, *labels[1:]), part(run, *labels[:1])], "mine")
    assert result_json(merged.run) == result_json(run)
    assert progress(merged.run)[1:] == progress(run)[1:]


def test_of_a_checkpoint_that_two_have_the_last_counts() -> None:
    run = run_of(SMALL)
    again = run_of({20: SMALL[10]})
    merged = merge([run, again], "mine")
    assert (merged.sources, merged.replaced) == ((0, 1, 0), ("20d",))
    assert merged.run.stops[1].evaluations == again.stops[0].evaluations


def test_runs_of_different_configurations_are_refused() -> None:
    run = run_of(SMALL)
    other = replace(run, name="theirs", config={"judgeModel": "openai:x", "seed": 1}, pairs=7)
    with pytest.raises(RecallError) as raised:
        merge([run, other], "mine")
    assert str(raised.value) == (
        "mine and theirs are not parts of one run: `judgeModel` is 'azure:small' and 'openai:x'; `seed` is None and 1;"
        " there are 99 questions and 7; merge runs of one configuration, and compare others with `recall bench report`"
    )


def test_of_files_that_differ_the_names_are_told() -> None:
    run = replace(run_of(SMALL), config={"hashes": {"days": "a", "story": "b"}})
    other = replace(run, name="theirs", config={"hashes": {"days": "c", "story": "b"}})
    with pytest.raises(RecallError, match="not parts of one run: different days; merge"):
        merge([run, other], "mine")


def test_times_add_up_where_all_are_known() -> None:
    run = run_of(SMALL, durationMs=5)
    assert merge([run, run], "mine").run.about["durationMs"] == 10
    assert "durationMs" not in merge([run, run_of(SMALL)], "mine").run.about


def test_lines_are_numbered_again() -> None:
    run = run_of(SMALL)
    lines = progress(merge([part(run, "30d"), part(run, "10d")], "mine").run)
    found = [(one["checkpointIndex"], one["totalCheckpoints"], one["range"]["label"]) for one in lines[1:-1]]
    assert found == [(1, 2, "10d"), (2, 2, "30d")]
    assert [one["type"] for one in lines] == ["header", "checkpoint", "checkpoint", "summary"]
    assert json.loads(json.dumps(lines)) == lines
