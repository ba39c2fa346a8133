"""Render tables of runs that stand beside one another as a self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_recall.files.sections import Section
from pytest_recall.results.report_page.data import Chart
from pytest_recall.results.report_page.frame import document


def page(
    title: str,
    subtitle: str,
    sections: Sequence[Section],
    closing: Sequence[str] = (),
    charts: Sequence[Chart] = (),
    stamp: str = "",
) -> str:
    """Return the page of these sections, with what is to be known of all of them `closing` it.

    `stamp` tells this page from a later one, where a server has both. Raises RecallError where Jinja is not installed.
    """
    return document(
        "tables.html",
        {"charts": [chart.to_json() for chart in charts]},
        lambda _: {},
        count=0,
        journal="",
        stamp=stamp,
        title=title,
        subtitle=subtitle,
        sections=sections,
        closing=closing,
        charts=charts,
    )
