"""Rehearsal: a call that is not tried before the run is one in which nothing could have been found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.imports import REFERRED
from pytest_recall.cases.settings import Settings
from pytest_recall.judges.built_in import TEXT_JUDGES
from pytest_recall.judges.rehearsal import BUILT_IN, mistakes, rehearsal
from pytest_recall.plugin import fixtures
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


def test_each_built_in_judge_has_a_fixture_and_a_rehearsal() -> None:
    assert {name.removeprefix("judge_") for name in vars(fixtures) if name.startswith("judge_")} == set(BUILT_IN)
    for name in BUILT_IN:
        assert callable(rehearsal(name, RUBRIC))


def test_an_import_knows_the_judges_of_text() -> None:
    assert set(TEXT_JUDGES) == REFERRED
