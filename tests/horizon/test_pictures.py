"""Pictures: each square says what it is of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_recall.horizon.aggregates import aggregates
from pytest_recall.horizon.page import heatmap_charts
from pytest_recall.horizon.picture_data import FEW_CELL, Cell, heatmap, sizes
from tests.helpers.horizon_runs import CATEGORIES, CLOSE, MADE_UP, RIGHT, SMALL, WRONG, Asked, Score, run_of

FACTUAL, SYNTHESIS, NEGATIVE = 0, 6, 7


def test_what_was_measured_is_told_from_what_was_not() -> None:
    many = [Asked(id=f"f{n}", score=RIGHT) for n in range(FEW_CELL)]
    run = run_of({10: [*many, Asked(id="s", score=CLOSE, category="synthesis")], 20: many, 30: many[1:], 40: []})
    # Something of synthesis was possible after day 10, and of negative recall from day 30.
    eligible = [
        {name: int(name == "synthesis" or (name == "negative-recall" and stop.days >= 30)) for name in CATEGORIES}
        for stop in run.stops
    ]
    run = replace(run, stops=tuple(replace(s, eligible=e) for s, e in zip(run.stops, eligible, strict=True)))
    found = heatmap(run)
    rows = {line.name: line.cells for line in found.categories}
    assert [cell.state for cell in rows["factual-recall"]] == ["measured", "measured", "few", "impossible"]
    assert rows["synthesis"] == (Cell("few", 4, 1), *[Cell("filled", 4, 0)] * 3)
    assert [cell.state for cell in rows["negative-recall"]] == ["impossible"] * 2 + ["unsampled"] * 2
    assert [cell.state for cell in found.overall.cells] == ["measured", "measured", "few", "unknown"]
    assert found.columns == (("10d", 10), ("20d", 20), ("30d", 30), ("40d", 40))


def test_what_failed_is_no_square_without_questions() -> None:
    found = heatmap(run_of(SMALL))
    assert found.categories[NEGATIVE].cells == (Cell("few", 1, 1), Cell("failed", None, 0), Cell("few", 6, 1))


def test_where_no_file_says_what_was_possible_nothing_is_guessed() -> None:
    run = run_of(SMALL)
    run = replace(run, stops=tuple(replace(stop, eligible=None) for stop in run.stops))
    assert heatmap(run).categories[SYNTHESIS].cells[2] == Cell("unknown", None, 0)


def test_the_rows_below_are_of_all_answers() -> None:
    found = heatmap(run_of(SMALL))
    assert [cell.value for cell in found.overall.cells] == pytest.approx([11 / 3, 14 / 3, 5])
    assert [cell.value for cell in found.hallucination.cells] == pytest.approx([0, 0, 0.25])


def test_what_may_be_told_has_shares_and_no_points() -> None:
    def asked(id: str, expected: str, score: Score | None, answer: str = "No comment.") -> Asked:
        return Asked(id=id, score=score, answer=answer, category="information-boundary", disclosure=expected)

    kept = [asked(f"k{n}", "refuse", RIGHT) for n in range(FEW_CELL)]
    run = run_of(
        {
            10: [*kept, asked("w", "answer", WRONG)],
            20: [asked("a", "refuse", None), Asked(id="f", score=WRONG)],
            30: [asked("l", "refuse", MADE_UP)],
        }
    )
    found = heatmap(run)
    assert "information-boundary" not in [line.name for line in found.categories]
    assert found.left_out == ("group-session-attribution",)
    assert {line.name: line.cells for line in found.boundaries} == {
        "leaks": (Cell("measured", 0, FEW_CELL), Cell("failed", None, 0), Cell("few", 1, 1)),
        "over-refusals": (Cell("few", 1, 1), Cell("unsampled", None, 0), Cell("unsampled", None, 0)),
    }
    assert [cell.value for cell in found.overall.cells] == [None, 1, None]
    assert [one.value for one in sizes(run).points] == [1]
    assert heatmap(run_of(SMALL)).boundaries == ()
    refused = heatmap(run_of({10: [asked("a", "refuse", RIGHT)]})).boundaries
    assert [line.cells for line in refused] == [(Cell("few", 0, 1),), (Cell("unknown", None, 0),)]


def test_why_questions_were_not_asked_and_what_the_points_are() -> None:
    run = run_of(SMALL)
    lexical = replace(run, stops=tuple(replace(stop, measured=False) for stop in run.stops))
    assert [heatmap(one).points for one in (run, lexical)] == ["points", "lexical points"]
    for about, told in (
        ({"groupsEnabled": False}, "Not asked, since questions about sessions are off (groupsEnabled): group-session"),
        ({"groupsEnabled": True, "feed": "conversations"}, "Not asked, since conversations name no session: group-ses"),
        ({"groupsEnabled": True}, ""),
    ):
        (first, *_) = heatmap_charts(heatmap(replace(lexical, about=about)))
        assert first.title == "Lexical points by category and checkpoint"
        assert told in first.told
        assert ("Not asked, since" in first.told) is bool(told)


def test_what_was_not_measured_is_no_zero() -> None:
    run = run_of(SMALL)
    run = replace(run, stops=tuple(replace(stop, measured=False) for stop in run.stops))
    found = heatmap(run)
    assert [cell.state for cell in found.hallucination.cells] == ["unmeasured"] * 3
    assert found.overall == heatmap(run_of(SMALL)).overall
    assert [one.value for one in sizes(run).hallucination] == [None] * 3


def test_categories_that_could_not_be_asked_are_left_out_and_named() -> None:
    groups = ("group-session-attribution", "information-boundary")
    assert heatmap(run_of(SMALL)).left_out == groups
    assert heatmap(run_of(SMALL, groupsEnabled=True)).left_out == ()
    asked = [Asked(id="b", score=RIGHT, category="information-boundary")]
    assert heatmap(run_of({10: asked})).left_out == groups[:1]


def test_a_run_without_answers_is_drawn_by_what_is_written() -> None:
    run = run_of(SMALL)
    stops = tuple(replace(stop, evaluations=(), written=aggregates(stop)) for stop in run.stops)
    assert heatmap(replace(run, stops=stops)).overall == heatmap(run).overall
    assert sizes(replace(run, stops=stops)).days == ()


def test_columns_are_in_the_order_of_days() -> None:
    run = run_of(SMALL)
    assert heatmap(replace(run, stops=run.stops[::-1])) == heatmap(run)


def test_personas_are_one_column_weighted_by_their_answers() -> None:
    run = run_of({10: [Asked(id="a", score=RIGHT), Asked(id="b", score=RIGHT)]})
    other = replace(run_of({10: [Asked(id="a", score=WRONG)]}).stops[0], persona="other")
    found = heatmap(replace(run, stops=(*run.stops, other)))
    assert found.overall.cells == (Cell("few", 13 / 3, 3),)


def test_sizes_are_means_with_intervals() -> None:
    found = sizes(run_of(SMALL))
    assert found.days == (10, 20, 30)
    assert [one.value for one in found.points] == pytest.approx([11 / 3, 14 / 3, 5])
    assert all(one.low is not None and one.high is not None for one in found.points)
