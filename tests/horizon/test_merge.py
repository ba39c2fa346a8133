"""Merging: the parts of a run are the run."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.aggregates import result_json
from pytest_recall.horizon.merge import merge, progress
from pytest_recall.horizon.published import PublishedRun
from tests.helpers.horizon_runs import SMALL, Stops, any_stops, run_of


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
    with pytest.raises(RecallError, match="not parts of one run: the days differ; merge"):
        merge([run, other], "mine")


def test_times_add_up_where_all_are_known() -> None:
    run = run_of(SMALL, durationMs=5)
    assert merge([run, run], "mine").run.about["durationMs"] == 10
    assert "durationMs" not in merge([run, run_of(SMALL)], "mine").run.about


def test_lines_are_numbered_anew() -> None:
    run = run_of(SMALL)
    lines = progress(merge([part(run, "30d"), part(run, "10d")], "mine").run)
    found = [(one["checkpointIndex"], one["totalCheckpoints"], one["range"]["label"]) for one in lines[1:-1]]
    assert found == [(1, 2, "10d"), (2, 2, "30d")]
    assert [one["type"] for one in lines] == ["header", "checkpoint", "checkpoint", "summary"]
    assert json.loads(json.dumps(lines)) == lines
