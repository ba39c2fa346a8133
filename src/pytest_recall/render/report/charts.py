"""Charts as numbers: what the page's script draws, and the tables that say the same to everybody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_recall.core.report.fold import Report
from pytest_recall.core.spend import Bill
from pytest_recall.render.cost import price
from pytest_recall.render.sentences import percent, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart: `kind` tells the script how to draw `points`; `head` and `rows` are its numbers as a table."""

    kind: str
    title: str
    told: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    points: list[dict[str, Any]]
    options: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return what the script draws, as plain JSON types."""
        return {"kind": self.kind, "title": self.title, "points": self.points, "options": self.options}


def charts(report: Report) -> list[Chart]:
    """Return the charts of a run that have something to show."""
    return [chart for make in (_changes, _rates, _boxes, _due, _spend) for chart in make(report)]


def _rates(report: Report) -> Iterator[Chart]:
    known = {name: rate for name, rate in report.rates.items() if rate.interval is not None}
    if not known:
        return
    rows, points = [], []
    for name, rate in known.items():
        assert rate.interval is not None
        (low, high), share = rate.interval, rate.passed / rate.verdicts
        rows.append((name, str(rate.passed), str(rate.verdicts), percent(share), f"{percent(low)} to {percent(high)}"))
        points.append({"name": name, "value": share, "low": low, "high": high})
    yield Chart(
        kind="rates",
        title="Pass rate by scenario",
        told="Of the verdicts of this run, with the 95 % interval (Wilson). Few verdicts make it wide.",
        head=("scenario", "passed", "verdicts", "share", "95 %"),
        rows=rows,
        points=points,
    )


def _changes(report: Report) -> Iterator[Chart]:
    found = report.against
    if found is None:
        return
    groups = found.by_scenario or {"all cases": found.overall}
    points = [
        {"name": name, "base": one.base / one.pairs, "head": one.head / one.pairs} for name, one in groups.items()
    ]
    yield Chart(
        kind="changes",
        title=f"Pass rate by scenario, {found.base.run} and {found.head.run}",
        told="Of the cases that both runs have judged: hollow before, filled now.",
        head=("scenario", "cases", "before", "now"),
        rows=[
            (name, str(one.pairs), percent(one.base / one.pairs), percent(one.head / one.pairs))
            for name, one in groups.items()
        ],
        points=points,
    )


def _boxes(report: Report) -> Iterator[Chart]:
    if report.standing is None:
        return
    counts = {f"box {box}": count for box, count in report.standing.boxes.items()}
    if report.standing.unseen:
        counts["never seen"] = report.standing.unseen
    if not any(counts.values()):
        return
    yield Chart(
        kind="bars",
        title="Boxes",
        told=f"All cases of the case files, as the state has them on {report.standing.today}.",
        head=("box", "cases"),
        rows=[(name, f"{count:,}") for name, count in counts.items()],
        points=[{"name": name, "value": count} for name, count in counts.items()],
        options={"unit": "cases"},
    )


def _due(report: Report) -> Iterator[Chart]:
    standing = report.standing
    if standing is None or not (standing.overdue or any(standing.due.values())):
        return
    counts = ({"overdue": standing.overdue} if standing.overdue else {}) | {
        day.isoformat(): count for day, count in standing.due.items()
    }
    yield Chart(
        kind="days",
        title="Due dates",
        told=f"How many cases fall due on each of the next {len(standing.due)} days.",
        head=("day", "cases"),
        rows=[(name, f"{count:,}") for name, count in counts.items() if count],
        points=[{"name": name, "value": count} for name, count in counts.items()],
        options={"unit": "cases due"},
    )


def _spend(report: Report) -> Iterator[Chart]:
    called = {name or "(none)": spend for name, spend in report.spends.items() if spend.calls}
    if not called:
        return
    priced = any(spend.recording.known is not None for spend in called.values())

    def size(bill: Bill) -> float:
        return bill.usd if priced else bill.calls

    unpriced = sum(spend.unpriced for spend in called.values())
    told = "At list price, in US dollars." if priced else "In calls, since none of them has a known price."
    if priced and unpriced:
        told += f" {plural(unpriced, 'call')} without a price {'is' if unpriced == 1 else 'are'} not in the bars."
    yield Chart(
        kind="spend",
        title="Spent, and saved by replays",
        told=told,
        head=("scenario", "live calls", "spent", "replayed calls", "saved"),
        rows=[
            (name, str(s.spent.calls), _price(s.spent), str(s.saved.calls), _price(s.saved))
            for name, s in called.items()
        ],
        points=[
            {"name": name, "kind": kind, "value": size(bill)}
            for name, spend in called.items()
            for kind, bill in (("spent", spend.spent), ("saved", spend.saved))
        ],
        options={"unit": "US dollars" if priced else "calls"},
    )


def _price(bill: Bill) -> str:
    return price(bill) if bill.calls else "–"
