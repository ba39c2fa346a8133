"""Rehearsal: a call that is not tried before the run is one in which nothing could have been found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.settings import Settings
from pytest_recall.judges.rehearsal import mistakes, rehearsal
from pytest_recall.trials.trial import Answer
from tests.helpers.samples import case

RUBRIC = Settings(owner="us")
JUDGES = {name: rehearsal(name, RUBRIC) for name in ("exact", "contains")}


@given(expected=st.text(), name=st.sampled_from(sorted(JUDGES)), threshold=st.none() | st.just(0.5))
def test_what_is_found_is_what_the_judge_says(expected: str, name: str, threshold: float | None) -> None:
    asked = case(expected=expected, judges=[name], threshold=threshold)
    try:
        JUDGES[name](Answer(text=""), asked)
        said = []
    except ValueError as error:
        said = [f"judges: {name}: {error}"]
    found = mistakes(asked, JUDGES, {})
    assert [one for one in found if one.startswith("judges: ")] == said
    assert len(found) == len(said) + (threshold is not None and not said)
