"""Configurations: whether a run goes on with another."""

from __future__ import annotations

import json
from typing import Any

from pytest_recall.horizon.profile import RunPart
from pytest_recall.horizon.result import MEMORY_CODE, MEMORY_SETTINGS, Configuration, differences
from pytest_recall.trials.earlier_run import RunDifference


def header(**more: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "memory": "sqlite-fts",
        "persona": "clerk",
        "arcs": "arcs-60d.yaml",
        "dates": "calendar",
        "run": RunPart(),
        "judge": "lexical",
        "judge_version": "1",
        "hashes": {"days": "a", "questions": "b"},
    }
    found: dict[str, Any] = json.loads(json.dumps(Configuration(**{**plain, **more}).header("now")))
    return found


def test_a_header_says_all_that_decides() -> None:
    plain = header(run=RunPart(sample=5), appellate="openai")
    assert plain["adapterName"] == "sqlite-fts"
    assert (plain["seed"], plain["sample"], plain["appellateJudgeModel"]) == (42, 5, "openai")
    assert plain["ranges"][0] == {"label": "30d", "days": 30}


def test_the_same_is_the_same_whenever_it_was_and_however_many_are_asked_at_once() -> None:
    assert [*differences(header(), {**header(run=RunPart(parallelism=8)), "timestamp": "later"})] == []
    assert [*differences(header(), header(labels={"synthesisModel": "x"}))] == []


def test_what_differs_is_named() -> None:
    other = header(
        run=RunPart.model_validate({"ranges": [30], "seed": 7, "timeout": 1500}), hashes={"days": "a", "questions": "c"}
    )
    assert [*differences(header(), other)] == [
        RunDifference("the questions have changed"),
        RunDifference("`ranges` was 30d, 90d, 6mo, 1y, full and is 30d"),
        RunDifference("`seed` was 42 and is 7"),
        RunDifference("`timeout` was 30s and is 1500ms"),
    ]


def test_the_code_of_a_memory_is_compared_where_both_runs_know_it() -> None:
    plain, made_of = header(hashes={"days": "a"}), header(hashes={"days": "a", MEMORY_CODE: "c"})
    assert [*differences(plain, made_of)] == []
    assert [*differences(made_of, plain)] == [RunDifference("its code has changed", asks_again=True)]
    assert [*differences(plain, header(hashes={"days": "a", MEMORY_SETTINGS: "s"}))] == [
        RunDifference("the settings of the memory have changed")
    ]
