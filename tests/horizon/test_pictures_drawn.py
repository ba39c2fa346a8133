"""Pictures: drawn for any run, the same bytes each time, and without matplotlib one sentence."""

from __future__ import annotations

import struct
import sys
from dataclasses import replace

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.picture_data import Colors, heatmap, sizes
from pytest_recall.horizon.pictures import draw_heatmap, draw_sizes
from tests.helpers.horizon_runs import RIGHT, SMALL, Asked, Stops, run_of

pytest.importorskip("matplotlib")


def size(png: bytes) -> tuple[int, int]:
    """Return the width and the height of a PNG, in pixels."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


ONE: Stops = {10: [Asked(id="a", score=RIGHT)]}


@pytest.fixture(scope="module")
def bands() -> bytes:
    """The bands of a small run, as PNG."""
    return draw_sizes(sizes(run_of(SMALL)))


# A name may have what the font lacks, and what looks like a formula, and it may be long, or none.
@pytest.mark.parametrize(
    ("stops", "colors", "name"),
    [
        (ONE, "published", r"記憶 $x^2$ costs $5 $\nothing$" + "a_b" * 60),
        ({10: [Asked(id="a", score=None)]}, "published", ""),
        ({10: []}, "safe", "A memory"),
        # So many that a column is as narrow as it gets.
        (dict.fromkeys(range(1, 102), ONE[10]), "safe", "A memory"),
    ],
    ids=["one", "failed", "empty", "many"],
)
def test_any_run_is_drawn(stops: Stops, colors: Colors, name: str) -> None:
    run = replace(run_of(stops), adapter=name)
    fits(draw_heatmap(heatmap(run), colors), draw_sizes(sizes(run)))


def test_a_run_with_a_bit_of_everything_is_drawn(bands: bytes) -> None:
    fits(draw_heatmap(heatmap(run_of(SMALL)), "safe"), bands)


def fits(squares: bytes, bands: bytes) -> None:
    width, height = size(squares)
    assert 900 <= width <= 1700
    assert 500 <= height <= 900
    assert size(bands) == (920, 560)


@pytest.fixture(scope="module")
def measured() -> tuple[bytes, bytes]:
    """The two pictures of a small run, as text."""
    return draw_heatmap(heatmap(run_of(SMALL)), format="svg"), draw_sizes(sizes(run_of(SMALL)), "svg")


def test_what_was_not_measured_says_so(measured: tuple[bytes, bytes]) -> None:
    run = run_of(SMALL)
    run = replace(run, stops=tuple(replace(stop, measured=False) for stop in run.stops))
    for drawn, other in zip(
        (draw_heatmap(heatmap(run), format="svg"), draw_sizes(sizes(run), "svg")), measured, strict=True
    ):
        assert b"<!-- not measured -->" in drawn
        assert b"<!-- not measured -->" not in other


def test_a_floor_that_is_not_known_is_not_drawn_as_zero() -> None:
    found = sizes(run_of(SMALL))
    some = found.points[0]._replace(value=0.5)

    def drawn(*values: float | None) -> bytes:
        floor = tuple(some._replace(value=value) for value in values)
        return draw_sizes(found._replace(most=1, beside={"random": floor}), "svg")

    values: list[float | None] = [0.5] * (len(found.days) - 1)
    assert drawn(*values, None) != drawn(*values, 0.0)


def test_the_same_run_is_the_same_picture_whatever_the_settings_of_another(
    measured: tuple[bytes, bytes], bands: bytes
) -> None:
    import matplotlib

    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "savefig.dpi": 10}):
        assert draw_heatmap(heatmap(run_of(SMALL)), format="svg") == measured[0]
        assert draw_sizes(sizes(run_of(SMALL)), "png") == bands
        assert matplotlib.rcParams["font.size"] == 30


def test_the_squares_of_a_picture_are_in_its_text(measured: tuple[bytes, bytes]) -> None:
    svg = measured[0].decode()
    for told in ("factual-recall", "hallucination %", "days told to the memory", "of fewer than 5 answers"):
        assert f"<!-- {told} -->" in svg
    assert "<!-- no question is possible here -->" in svg
    assert "<!-- not asked here: the value before -->" not in svg
    assert "<!-- nothing, and no file says why -->" not in svg


def test_without_matplotlib_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(RecallError) as raised:
        draw_heatmap(heatmap(run_of(SMALL)))
    assert str(raised.value) == "pictures need matplotlib; run `pip install 'pytest-recall[pictures]'`"
