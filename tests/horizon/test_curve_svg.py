"""Points against days as SVG: well-formed for any run, and with no more than is known."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from hypothesis import given

from pytest_recall.horizon.curve_svg import sizes_svg
from pytest_recall.horizon.picture_data import SizeCurve, sizes
from pytest_recall.metrics.clustered import Clustered
from tests.helpers.horizon_runs import RIGHT, SMALL, Asked, Stops, any_stops, run_of
from tests.helpers.reports import HOSTILE
from tests.helpers.samples import unhurried

SVG = "{http://www.w3.org/2000/svg}"


def parts(svg: str) -> tuple[list[str], list[str], list[ElementTree.Element]]:
    """Return the texts of a picture, the titles of what it shows, and its lines and bands."""
    root = ElementTree.fromstring(svg)
    texts = [one.text or "" for one in root.iter(f"{SVG}text")]
    return texts, [one.text or "" for one in root.iter(f"{SVG}title")], root.findall(f"{SVG}path")


def bands(svg: str) -> list[ElementTree.Element]:
    return [one for one in parts(svg)[2] if one.get("fill-opacity")]


@unhurried
@given(any_stops())
def test_any_run_has_a_dot_for_each_mean(stops: Stops) -> None:
    found = sizes(run_of(stops))
    svg = sizes_svg(found)
    assert len(parts(svg)[1]) == len(found.points) + sum(one.value is not None for one in found.hallucination)
    assert "nan" not in svg
    assert "None" not in svg


def test_dots_say_what_they_show() -> None:
    found = sizes(run_of(SMALL))
    texts, titles, _ = parts(sizes_svg(found))
    assert titles[0] == "day 10: 3.67 points (95 %: 0.00 to 6.00), 3 answers"
    _, low, high, *_ = found.hallucination[-1]
    assert low is not None
    assert high is not None
    between = f"(95 %: {100 * low:.2f} to {100 * high:.2f})"
    assert titles[-1] == f"day 30: 25.00 % with something made up {between}, 4 answers"
    assert texts[0] == "A memory"
    assert texts[1:9] == ["0", "1", "2", "3", "4", "5", "6", "mean points of 6"]
    assert texts[9:18] == ["0", "20", "40", "60", "80", "hallucination, %", "10", "20", "30"]
    assert "not measured" not in texts


def test_where_nothing_shows_how_far_a_mean_may_be_off_there_is_no_band() -> None:
    one = {10: [Asked(id="a", score=RIGHT)]}
    assert [band.get("fill") for band in bands(sizes_svg(sizes(run_of(one))))] == ["#a8246c"]
    assert len(bands(sizes_svg(sizes(run_of(SMALL))))) == 2


def test_what_was_not_measured_says_so_and_has_no_line() -> None:
    run = run_of(SMALL)
    run = replace(run, stops=tuple(replace(stop, measured=False) for stop in run.stops))
    texts, titles, _ = parts(sizes_svg(sizes(run)))
    assert "not measured" in texts
    assert len(titles) == 3


def test_what_was_found_stands_beside_floors_and_ceiling() -> None:
    def share(value: float | None) -> Clustered:
        return Clustered(value, None, None, 9, 9)

    beside = {"last": (share(0.25), share(None)), "oracle": (share(1), share(1))}
    found = SizeCurve("m", (10, 20), (share(0.5), share(1)), (), beside, 1)
    texts, titles, paths = parts(sizes_svg(found))
    assert titles[0] == "day 10: 50.00 % of the relevant days, 9 answers"
    assert {"relevant days found, %", "last", "oracle", "not measured"} <= set(texts)
    lines = [one.get("d", "") for one in paths if one.get("stroke-dasharray")]
    assert [line.count("L") for line in lines] == [0, 1, 1, 1]


def test_names_are_shown_whatever_they_hold() -> None:
    root = ElementTree.fromstring(sizes_svg(sizes(replace(run_of(SMALL), adapter=HOSTILE))))
    assert list(root.iter("{*}script")) == list(root.iter("{*}img")) == []
