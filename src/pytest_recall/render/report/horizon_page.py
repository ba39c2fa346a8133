"""Horizon page: a long-horizon run for people to look at, or two side by side, as a self-contained HTML file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_recall.core.horizon.aggregates import usd
from pytest_recall.core.horizon.evaluation import MOST
from pytest_recall.core.horizon.history import NO_POINTS, Asked, History, histories
from pytest_recall.core.horizon.pictures import heatmap, sizes
from pytest_recall.core.horizon.provenance import facts, judged_alike, unfinished
from pytest_recall.core.horizon.published import Run, Stop
from pytest_recall.core.horizon.question import CATEGORIES
from pytest_recall.core.horizon.statistics import Report, Scores, pairing, report
from pytest_recall.render import horizon_report as told
from pytest_recall.render.report.frame import document
from pytest_recall.render.report.horizon_charts import charts
from pytest_recall.render.report.horizon_data import questions
from pytest_recall.render.report.run_page import EXCERPT, Facet
from pytest_recall.render.sentences import plural

_STRIP = 12
"""Up to so many checkpoints, their names stand above the points of a question."""
SYMBOLS = {"passing": "✓", "failing": "✗", NO_POINTS: "!"}
"""How an outcome looks, beside its name."""


def page(run: Run, journal: str, base: Run | None = None, stamp: str = "") -> str:
    """Return the page of a run that has answers, compared with `base` if that is given.

    `journal` is where its texts are whole, as messages name it; `stamp` tells this page from a later one, where a
    server has both. Raises RecallError where Jinja is not installed.
    """
    found, every = report(run), histories(run, base)
    drawn = charts(found, heatmap(run), sizes(run))
    labels = list(dict.fromkeys(stop.label for stop in sorted(run.stops, key=lambda stop: stop.days)))
    data: dict[str, Any] = {
        "charts": [chart.to_json() for chart in drawn],
        "journal": journal,
        "measured": run.measured,
        "judgeVersion": run.config.get("judgeVersion"),
    }
    return document(
        "horizon.html",
        data,
        lambda length: questions(every, labels, length),
        count=len(every),
        journal=journal,
        stamp=stamp,
        charts=drawn,
        **_values(run, found, every, labels, base),
    )


def verdict(found: Report) -> str:
    """Return what came of the run in a few words."""
    points = found.everything.points
    lost = sum(found.failures.values())
    without = f", {plural(lost, 'answer')} without points" if lost else ""
    if points.value is None:
        return f"No answer came to points{without}"
    interval = "" if points.low is None else f" (95 %: {points.low:.2f} to {points.high:.2f})"
    return f"{points.value:.2f} of {MOST} points{interval}{without}"


def _values(
    run: Run, found: Report, every: Sequence[History], labels: Sequence[str], base: Run | None
) -> dict[str, Any]:
    partial = unfinished(run)
    stopped = run.about.get("stopped")
    counts = Counter(asked.outcome for one in every for asked in one.asked)
    return {
        "title": f"{run.name}: {verdict(found)}",
        "verdict": verdict(found),
        "subtitle": ", ".join(filter(None, (run.name, found.adapter, " and ".join(run.personas)))),
        "partial": partial and f"Partial: {partial}" + (f", since {stopped}" if stopped else ""),
        "unmeasured": "" if found.measured else told.UNMEASURED,
        "lost": list(told.lost(found)),
        "facts": [(name, value) for name, value in facts(run) if name != "not over"],
        "counts": [(name, SYMBOLS[name], counts[name]) for name in SYMBOLS if counts[name]],
        "answers": f"{plural(sum(counts.values()), 'answer')} to {plural(len(every), 'question')}",
        "symbols": SYMBOLS,
        "head": told.HEAD,
        "table": told.table(found),
        "star": told.STAR if any(one.few for one in (found.everything, *found.categories.values())) else "",
        "by_question": told.BY_QUESTION,
        "findings": list(told.findings(found)),
        "checkpoints": [_checkpoint(stop, of) for stop, (*_, of) in zip(run.stops, found.stops, strict=True)],
        "third": [(one, asked) for one in every for asked in one.asked if asked.outcome == NO_POINTS],
        "leaks": [(name, _those(every, name)) for name in ("leaked", "refused")],
        "facets": list(_facets(every, labels)),
        "strip": labels if len(labels) <= _STRIP else [],
        "rows": [_row(one, labels) for one in every],
        "against": _against(run, base),
    }


def _checkpoint(stop: Stop, of: Scores) -> tuple[str, ...]:
    cost = usd(stop.evaluations)
    lost = sum(one.points is None for one in stop.evaluations)
    label, *rest = told.row(stop.label, of, stop.measured)
    price = "unknown" if cost is None or not stop.evaluations else f"${cost:,.4f}"
    return (label, f"{stop.days:,}", *rest, f"{lost:,}", price)


def _those(every: Iterable[History], kind: str) -> list[tuple[History, str]]:
    """Return the questions that count as something, with the checkpoints at which they do."""
    found = [(one, [asked.label for asked in one.asked if kind in asked.kinds]) for one in every]
    return [(one, ", ".join(labels)) for one, labels in found if labels]


def _facets(every: Sequence[History], labels: Sequence[str]) -> Iterator[Facet]:
    """Yield what tells these questions apart, with how many of them have it at one checkpoint at least."""
    found: dict[tuple[str, str], list[set[str]]] = {
        ("outcome", "Outcome"): [{kind for asked in one.asked for kind in asked.kinds} for one in every],
        ("change", "Change"): [{asked.change or "" for asked in one.asked} for one in every],
        ("checkpoint", "Checkpoint"): [{asked.label for asked in one.asked} for one in every],
        ("category", "Category"): [{one.question.category} for one in every],
        ("difficulty", "Difficulty"): [{one.question.difficulty} for one in every],
        ("judge", "Judge"): [{asked.judge for asked in one.asked} for one in every],
        ("persona", "Persona"): [{one.persona} for one in every],
    }
    order = [*labels, *CATEGORIES, "easy", "medium", "hard", *SYMBOLS]
    for (name, label), values in found.items():
        counts = Counter(value for some in values for value in some if value)
        if len(counts) > 1:
            yield Facet(name, label, sorted(counts.items(), key=lambda one: (_place(order, one[0]), one[0])))


def _place(order: Sequence[str], value: str) -> int:
    return order.index(value) if value in order else len(order)


def _row(one: History, labels: Sequence[str]) -> dict[str, Any]:
    at = {asked.label: asked for asked in one.asked}
    asked = one.question.question
    return {
        "id": one.id,
        "kind": one.last.outcome,
        "symbol": SYMBOLS[one.last.outcome],
        "asked": asked if len(asked) <= EXCERPT // 4 else f"{asked[: EXCERPT // 4]}…",
        "category": one.question.category,
        "days": ", ".join(map(str, one.question.relevant_days[:4])) + ("…" if one.question.relevant_days[4:] else ""),
        "points": [_points(at.get(label)) for label in labels],
        "change": ", ".join(dict.fromkeys(each.change for each in one.asked if each.change)),
    }


def _points(asked: Asked | None) -> tuple[str, str]:
    """Return points as a row shows them, and the class of how they look."""
    if asked is None:
        return "–", "muted"
    points = asked.evaluation.points
    return (SYMBOLS[NO_POINTS] if points is None else str(points.composite)), asked.outcome.replace(" ", "-")


def _against(run: Run, base: Run | None) -> dict[str, Any] | None:
    if base is None:
        return None
    both = pairing(base, run)
    return {"base": base.name, "head": run.name, "told": list(told.pairing(both, judged_alike(base, run)))}
