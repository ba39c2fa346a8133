"""Baselines: what a name stands for, and which names are refused."""

from __future__ import annotations

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.trials.baselines import (
    SHIPPED,
    Baseline,
    baseline_of,
    case_and_baseline,
    check_names,
    fixture_of,
    item_name,
)

FIXTURES = ["agent", "agent_mine", "agent_url", "other"]


@pytest.mark.parametrize(
    ("name", "has_fixture", "kind", "fixture"),
    [
        ("mine", True, "fixture", "agent_mine"),
        ("my-own", True, "fixture", "agent_my_own"),
        ("raw", True, "fixture", "agent_raw"),
        ("raw", False, "shipped", "recall_model"),
        ("tail-window", False, "shipped", "recall_model"),
        ("claude", True, "fixture", "agent_claude"),
        ("claude", False, "model", ""),
        ("openai:m;http://127.0.0.1:1/v1", False, "model", ""),
    ],
)
def test_a_fixture_goes_before_what_is_shipped(name: str, has_fixture: bool, kind: str, fixture: str) -> None:
    found = baseline_of(name, has_fixture=has_fixture, fixtures=FIXTURES)
    assert found == Baseline(name, kind)  # type: ignore[arg-type]
    assert found.fixture == fixture


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("compacton", "did you mean `compaction`?"),
        ("min", "did you mean `mine`?"),
        ("zzz", f"known: {', '.join(sorted(['mine', 'url', *SHIPPED]))}"),
        ("azure", "which one?"),
    ],
)
def test_what_is_unknown_is_said_with_what_is_near(name: str, said: str) -> None:
    with pytest.raises(RecallError) as caught:
        baseline_of(name, has_fixture=False, fixtures=FIXTURES)
    assert said in str(caught.value)


def test_every_mistake_in_a_list_is_said() -> None:
    check_names(["raw", "claude", "openai:a", "openai:b", "a-b"], "here")
    with pytest.raises(RecallError) as caught:
        check_names(["raw", "a-b", "raw", "a_b", "opnai:x", "x\ny"], "here")
    assert caught.value.messages[:2] == (
        "here: the baseline `raw` is named twice; name it once",
        "here: the baseline `a_b` is named twice, as `a-b`; name it once",
    )
    assert caught.value.messages[2].startswith("here: 'opnai:x': no model is selected like this")
    assert caught.value.messages[3] == "here: 'x\\ny' is not a name for a baseline; write it in one line"


@pytest.mark.parametrize("name", ["raw", "openai:m;http://[::1]:80/v1", "x[1]"])
def test_the_name_of_an_item_tells_the_case_and_the_baseline(name: str) -> None:
    assert case_and_baseline(item_name("a/b:c", name)) == ("a/b:c", name)
    assert case_and_baseline("a/b:c") == ("a/b:c", "")
    assert fixture_of("my-own") == "agent_my_own"
