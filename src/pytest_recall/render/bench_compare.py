"""Comparison of two memories on a dataset, as terminal lines, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_recall.core.bench_compare import Asked, BenchComparison, Paired
from pytest_recall.core.change import Shown
from pytest_recall.core.errors import one_line
from pytest_recall.render.grid import grid, markdown_grid
from pytest_recall.render.markdown import cell
from pytest_recall.render.membench import SHOWN
from pytest_recall.render.sentences import listed, p_value, percent, plural


def terminal(found: BenchComparison) -> Iterator[str]:
    """Yield the comparison line by line, for a terminal."""
    yield from _titles(found)
    yield ""
    yield from grid(_head(found), _rows(found))
    yield ""
    yield verdict(found)
    yield from _notes(found)


def markdown(found: BenchComparison) -> str:
    """Return the comparison as a Markdown page."""
    lines = [f"# Recall comparison: {headline(found)}", "", *(f"- {cell(text)}" for text in _titles(found)), ""]
    lines += [*markdown_grid(_head(found), list(_rows(found))), "", cell(verdict(found)), ""]
    return "\n".join([*lines, *(f"- {cell(text)}" for text in _notes(found)), ""])


def headline(found: BenchComparison) -> str:
    """Return what is shown, in a few words."""
    for what in (Shown.DROP, Shown.RISE):
        if names := found.shown(what):
            return f"a {what} is shown ({listed(SHOWN[name] for name in names)})"
    return "nothing is shown"


def verdict(found: BenchComparison) -> str:
    """Return what the comparison shows."""
    told = [
        f"A {what} is shown in {listed(SHOWN[name] for name in names)}."
        for what in (Shown.DROP, Shown.RISE)
        if (names := found.shown(what))
    ]
    if told:
        return " ".join(told)
    moved = any(one.fell or one.rose for one in found.metrics.values())
    return "Could be chance." if moved else "No question differs."


def _titles(found: BenchComparison) -> Iterator[str]:
    for name, one in (("BASE", found.base), ("HEAD", found.head)):
        yield one_line(f"{name} {one.name}: {_asked(one.arguments)}")
    names = ("only in BASE", "only in HEAD", "failed in one of them")
    left = [f"{count:,} {name}" for name, count in zip(names, found.left, strict=True) if count]
    yield f"{plural(found.pairs, 'question')} in both" + (f"; not compared: {', '.join(left)}" if left else "")


def _asked(arguments: Mapping[str, Any]) -> str:
    asked = "all that it holds" if arguments.get("whole") else f"{arguments.get('k')} passages"
    on = f"{arguments.get('memory')} on {arguments.get('dataset')} ({arguments.get('file')})"
    return f"{on}, {asked}, stored by the {arguments.get('unit')}"


def _head(found: BenchComparison) -> tuple[str, ...]:
    level = percent(1 - found.alpha)
    return ("metric", "n", "BASE", "HEAD", f"difference ({level})", "lower", "higher", "p, Holm")


def _rows(found: BenchComparison) -> list[tuple[str, ...]]:
    return [(SHOWN[name], *_row(one)) for name, one in found.metrics.items()]


def _row(one: Paired) -> tuple[str, ...]:
    low, high = one.change.interval
    difference = f"{one.head - one.base:+.2f} ({low:+.2f} to {high:+.2f})"
    p = "too few" if one.change.adjusted is None else p_value(one.change.adjusted)
    means = (f"{one.change.pairs:,}", f"{one.base:.2f}", f"{one.head:.2f}")
    return (*means, difference, f"{len(one.fell):,}", f"{len(one.rose):,}", p)


def _notes(found: BenchComparison) -> Iterator[str]:
    tested = sum(one.change.adjusted is not None for one in found.metrics.values())
    if tested > 1:
        yield f"p of {tested} metrics, adjusted together: McNemar's exact test of yes and no, sign flips of scores"
    if found.judges:
        yield one_line(f"judged by {found.judges}")
    if found.unjudged:
        yield one_line(f"what models judged is not compared: {found.unjudged}")
    yield "questions about one conversation resemble each other, so that less is shown than it seems"


def as_json(found: BenchComparison) -> dict[str, Any]:
    """Return the comparison as plain JSON types; `p_holm` is null where so few questions cannot show anything."""
    return {
        "version": 1,
        "base": _run(found.base),
        "head": _run(found.head),
        "alpha": found.alpha,
        "pairs": found.pairs,
        "not_compared": found.left._asdict(),
        "judges": found.judges or None,
        "drops": found.shown(Shown.DROP),
        "rises": found.shown(Shown.RISE),
        "metrics": {name: _metric(one) for name, one in found.metrics.items()},
    }


def _run(one: Asked) -> dict[str, Any]:
    return {"journal": one.name, **one.arguments}


def _metric(one: Paired) -> dict[str, Any]:
    return {
        "n": one.change.pairs,
        "base": one.base,
        "head": one.head,
        "difference": one.head - one.base,
        "interval": list(one.change.interval),
        "test": "sign flips" if one.change.shares else "mcnemar",
        "p": one.change.p,
        "p_holm": one.change.adjusted,
        "shown": one.change.shown.value,
        "lower": list(one.fell),
        "higher": list(one.rose),
    }
