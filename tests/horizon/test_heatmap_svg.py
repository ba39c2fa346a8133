"""The heatmap as SVG without a library: well-formed for any run, and what is absent is no zero."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

from hypothesis import given

from pytest_recall.horizon.heatmap_svg import heatmap_svg
from pytest_recall.horizon.picture_data import heatmap
from pytest_recall.horizon.published import PublishedRun
from tests.helpers.horizon_runs import RIGHT, SMALL, WRONG, Asked, Stops, any_stops, run_of
from tests.helpers.reports import HOSTILE
from tests.helpers.samples import unhurried

SVG = "{http://www.w3.org/2000/svg}"


def squares(run: PublishedRun) -> dict[str, tuple[list[str], str]]:
    """Return the texts and the colour of each square, by what is said of it."""
    root = ElementTree.fromstring(heatmap_svg(heatmap(run)))
    return {
        group.findtext(f"{SVG}title", ""): (
            [one.text or "" for one in group.iter(f"{SVG}text")],
            next(group.iter(f"{SVG}rect")).get("fill", ""),
        )
        for group in root.findall(f"{SVG}g")
    }


@unhurried
@given(any_stops())
def test_any_run_has_a_square_for_each_category_and_checkpoint(stops: Stops) -> None:
    found = heatmap(run_of(stops))
    drawn = squares(run_of(stops))
    measured = any(cell.value is not None for cell in found.hallucination.cells)
    assert len(drawn) == len(found.columns) * (len(found.categories) + 1 + measured)
    for told, (texts, fill) in drawn.items():
        coloured = re.fullmatch(r"rgb\(\d+,\d+,\d+\)", fill) is not None
        assert coloured == bool(re.search(r": \d[\d.]*( %)? of | before\)$", told))
        assert coloured or texts in (["○"], ["–"], ["?"], ["×"], ["n/m"])


def test_numbers_and_what_is_absent() -> None:
    drawn = squares(run_of(SMALL))
    assert drawn["factual-recall, 10d: 6.00 of 1 answer"] == (["6.0"], "rgb(254,232,56)")
    assert drawn["negative-recall, 20d: asked, and no answer got points"] == (["×"], "#f1f1f1")
    assert drawn["temporal-reasoning, 10d: no question is possible here"] == (["–"], "#f1f1f1")
    nothing = squares(run_of({10: [Asked(id="a", score=(0, 0, 0))]}))
    assert nothing["factual-recall, 10d: 0.00 of 1 answer"] == (["0.0"], "rgb(0,34,78)")
    assert nothing["hallucination, 10d: 100.0 % of 1 answer"] == (["100"], "rgb(103,0,31)")


def test_a_value_that_was_not_asked_for_is_paler_and_has_no_number() -> None:
    one = Asked(id="a", score=RIGHT)
    run = run_of({10: [one], 20: [Asked(id="b", score=WRONG, category="synthesis")]})
    later = replace(run.stops[1], eligible={**(run.stops[1].eligible or {}), "factual-recall": 1})
    root = ElementTree.fromstring(heatmap_svg(heatmap(replace(run, stops=(run.stops[0], later)))))
    (group,) = (
        one
        for one in root.findall(f"{SVG}g")
        if one.findtext(f"{SVG}title") == "factual-recall, 20d: not asked here (6.00 before)"
    )
    assert [one.get("opacity") for one in group.findall(f"{SVG}g")] == ["0.45"]
    assert group.findall(f".//{SVG}text") == []


def test_memory_persona_and_story_are_named_whatever_they_hold() -> None:
    run = replace(run_of(SMALL), adapter=HOSTILE, config={"arcs": "arcs-60d.yaml"})
    root = ElementTree.fromstring(heatmap_svg(heatmap(run)))
    told = [one.text or "" for one in root.findall(f"{SVG}text")]
    assert told[0].startswith("<img src=x onerror=")
    assert "persona: someone (arcs-60d.yaml)" in told
    assert "Points by category and checkpoint" in told
    assert list(root.iter("{*}script")) == list(root.iter("{*}img")) == []
    assert heatmap_svg(heatmap(run)) == heatmap_svg(heatmap(run))
