"""Sum up figures of several draws, and show them as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from pytest_recall.files.wording import markdown_grid
from pytest_recall.metrics.intervals import Mean, mean_of

NOT_KNOWN = "—"


class Column(NamedTuple):
    """A column of a table: the field of the figures, its heading, and how a number of it is written."""

    field: str
    heading: str
    form: str = "{:.2f}"


def mean_figures(draws: Sequence[Any]) -> dict[str, Mean]:
    """Return the mean of each field of named tuples over the draws, with its 95 % interval.

    A field that is None in a draw is not in the mean.
    """
    return {
        field: mean_of([value for draw in draws if (value := getattr(draw, field)) is not None], within=(0, inf))
        for field in draws[0]._fields
    }


def written(mean: Mean, form: str) -> str:
    """Return a mean with its interval in brackets, where it has one."""
    if mean.value is None:
        return NOT_KNOWN
    if mean.low is None or mean.high is None:
        return form.format(mean.value)
    return f"{form.format(mean.value)} ({form.format(mean.low)}–{form.format(mean.high)})"


def table(first: str, rows: Mapping[str, Mapping[str, Mean]], columns: Sequence[Column]) -> str:
    """Return a Markdown table with a row for each name in `rows`, under the heading `first`."""
    cells = [[name, *(written(row[column.field], column.form) for column in columns)] for name, row in rows.items()]
    return "\n".join(markdown_grid([first, *(column.heading for column in columns)], cells))


def as_json(rows: Mapping[str, Mapping[str, Mean]]) -> dict[str, Any]:
    """Return the same as plain JSON types; what is not known is null."""
    return {name: {field: mean._asdict() for field, mean in row.items()} for name, row in rows.items()}
