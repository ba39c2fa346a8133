"""Render a long-horizon run, or two side by side, as a self-contained HTML file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_recall.files.sections import Section, report_lines
from pytest_recall.files.wording import plural
from pytest_recall.horizon.evaluation import MOST, Points
from pytest_recall.horizon.picture_data import (
    FEW_CELL,
    Cell,
    CellState,
    Colors,
    Heatmap,
    SizeCurve,
    SquareRow,
    heatmap,
    sizes,
)
from pytest_recall.horizon.published import PublishedRun
from pytest_recall.horizon.question import CATEGORIES
from pytest_recall.horizon.report_text import pairing_section, run_sections, value
from pytest_recall.horizon.retrieval_text import INDISTINCT, lead
from pytest_recall.horizon.statistics import (
    NO_POINTS,
    AskedQuestion,
    QuestionHistory,
    RunStatistics,
    histories,
    report,
)
from pytest_recall.metrics.clustered import Clustered
from pytest_recall.metrics.floors import UNTELLING
from pytest_recall.results.report_page.data import Chart
from pytest_recall.results.report_page.frame import document, present, well_formed
from pytest_recall.results.report_page.run_page import EXCERPT, Facet

_EMPTY: Mapping[CellState, tuple[str, str]] = {
    "unsampled": ("○", "could be asked, and was not"),
    "impossible": ("–", "no question is possible here"),
    "unknown": ("?", "nothing, and no file says why"),
    "failed": ("×", "asked, and no answer got points"),
    "unmeasured": ("n/m", "not measured"),
}
"""What stands in a square without a number, and what it says."""
_RAMPS: Mapping[Colors, tuple[str, str, str, str]] = {
    "safe": ("blue", "yellow", "pale", "dark"),
    "published": ("red", "green", "green", "red"),
}
"""The ends of the colours of points, and of those of hallucination."""


def charts(report: RunStatistics, heatmap: Heatmap, sizes: SizeCurve) -> list[Chart]:
    """Return the charts of a run that have something to show."""
    return [*heatmap_charts(heatmap), *_sizes(sizes), *_categories(report), *_shares(report)]


def heatmap_charts(found: Heatmap, colors: Colors = "safe") -> Iterator[Chart]:
    """Yield the heatmap of a run, and beside points that of hallucination; nothing without a checkpoint.

    `colors` is the palette that its sentences name.
    """
    names = [label for label, _ in found.columns]
    if not names:
        return
    every = [*found.categories, found.overall, *found.beside]
    states = {cell.state for line in every for cell in line.cells}
    signs = [f"{sign} {meaning}" for state, (sign, meaning) in _EMPTY.items() if state in states]
    if "few" in states:
        signs.insert(0, f"a dot: of fewer than {FEW_CELL} answers")
    if "filled" in states:
        signs.insert(0, "striped: not asked here, the value before")
    if any(" *" in line.name for line in found.categories):
        signs.append(f"* {UNTELLING}: a floor finds about as much")
    if any("†" in line.name for line in found.categories):
        signs.append(f"† {INDISTINCT}")
    what = f"Mean {found.points}" if found.most > 1 else "Share of the relevant days that were found"
    top = MOST if found.most > 1 else "100 %"
    low, high, none, half = _RAMPS[colors]
    told = f"{what}, from {low} for 0 to {high} for {top}{'; ' if signs else ''}{'; '.join(signs)}."
    if found.left_out:
        told += f" Not asked, since {found.why}: {', '.join(found.left_out)}."
    if found.most == 1:
        yield _grid("Recall by category and checkpoint", told, "category", names, [*map(_in_hundreds, every)], 100)
    else:
        title = f"{found.points[0].upper()}{found.points[1:]} by category and checkpoint"
        yield _grid(title, told, "category", names, every, MOST)
    if found.boundaries:
        apart = f"Of 100 answers about what may be told where: from {none} for none to {half} for half of them or more."
        yield _grid("Leaks and over-refusals by checkpoint", apart, "", names, found.boundaries, 1)
    if found.most == 1:
        return
    made_up = f"Of 100 answers, those with something made up: from {none} for none to {half} for half of them or more."
    if all(cell.value is None for cell in found.hallucination.cells):
        return
    yield _grid("Hallucination by checkpoint", made_up, "", names, [found.hallucination], 1)


def _in_hundreds(line: SquareRow) -> SquareRow:
    cells = (cell if cell.value is None else cell._replace(value=100 * cell.value) for cell in line.cells)
    return line._replace(cells=tuple(cells))


def _grid(title: str, told: str, head: str, names: Sequence[str], lines: Sequence[SquareRow], most: int) -> Chart:
    return Chart(
        kind="heatmap",
        title=title,
        told=told,
        head=(head, *names),
        rows=[(line.name, *(_cell(cell, most) for cell in line.cells)) for line in lines],
        points=[
            {
                "name": line.name,
                "column": name,
                "value": cell.value,
                "state": cell.state,
                "told": _cell(cell, most),
                "sign": _EMPTY.get(cell.state, ("",))[0],
            }
            for line in lines
            for name, cell in zip(names, line.cells, strict=True)
        ],
        options={"most": most},
    )


def _cell(cell: Cell, most: int) -> str:
    """Return what a cell holds in words."""
    if cell.value is None:
        return _EMPTY[cell.state][1]
    number = f"{cell.value:.2f}" if most == MOST else f"{cell.value * 100 / most:.1f} %"
    if cell.state == "filled":
        return f"not asked here ({number} before)"
    return f"{number} of {plural(cell.n, 'answer')}"


def _sizes(found: SizeCurve) -> Iterator[Chart]:
    told = "After so many days, with 95 % intervals by question. Later checkpoints ask other questions: no trend."
    if found.points and found.most == 1:
        yield _line("Recall against days", told, found.days, found.points, 1)
    elif found.points:
        yield _line(
            f"{'Lexical points' if found.lexical else 'Points'} against days", told, found.days, found.points, MOST
        )
    if any(one.value is not None for one in found.hallucination):
        yield _line("Hallucination against days", told, found.days, found.hallucination, 1)


def _line(title: str, told: str, days: Sequence[int], values: Sequence[Clustered], most: int) -> Chart:
    unit, digits = (1, 2) if most > 1 else (100, 1)
    return Chart(
        kind="against",
        title=title,
        told=told,
        head=("days", f"points of {MOST}" if most > 1 else "%", "answers", "questions"),
        rows=[
            (f"{day:,}", value(one, unit, digits), f"{one.n:,}", f"{one.clusters:,}")
            for day, one in zip(days, values, strict=True)
        ],
        points=[{"name": f"day {day}", "day": day, **_interval(one)} for day, one in zip(days, values, strict=True)],
        options={"most": most, "unit": "days told to the memory"},
    )


def _categories(report: RunStatistics) -> Iterator[Chart]:
    if report.retrieval is not None and report.retrieval.n:
        rows = report.retrieval.everything.rows
        shares = {name: one.system.recall for name, one in report.retrieval.categories.items()}
        shares |= {name: one.recall for name, one in rows.items()}
        yield Chart(
            kind="rates",
            title="Recall by category, and of what does not search",
            told="Share of the relevant days found, at as many tokens, with the 95 % interval by question.",
            head=("category", "recall %", "answers", "questions"),
            rows=[(name, value(one, 100, 1), f"{one.n:,}", f"{one.clusters:,}") for name, one in shares.items()],
            points=[{"name": name, **_interval(one)} for name, one in shares.items()],
        )
    known = {name: one.points for name, one in report.categories.items() if one.points.value is not None}
    if known:
        yield Chart(
            kind="points",
            title="Points by category" if report.measured else "Lexical points by category",
            told=f"Mean of {MOST}, with the 95 % interval by question. Few questions make it wide.",
            head=("category", f"points of {MOST}", "answers", "questions"),
            rows=[(name, value(one, 1, 2), f"{one.n:,}", f"{one.clusters:,}") for name, one in known.items()],
            points=[{"name": name, **_interval(one)} for name, one in known.items()],
            options={"most": MOST},
        )


def _shares(report: RunStatistics) -> Iterator[Chart]:
    every = report.everything
    shares = {"all points": every.perfect, "failing": every.failing, "hallucination": every.hallucination}
    told = "With 95 % intervals by question."
    if report.disclosures is not None:
        told += " Leaks are of the questions to refuse, over-refusals, silence too, of those to answer."
        shares |= {"leaks": report.disclosures.leak, "over-refusals": report.disclosures.over_refusal}
    known = {name: one for name, one in shares.items() if one.value is not None}
    if known:
        yield Chart(
            kind="rates",
            title="Shares of answers",
            told=told,
            head=("share", "%", "answers", "questions"),
            rows=[(name, value(one, 100, 1), f"{one.n:,}", f"{one.clusters:,}") for name, one in known.items()],
            points=[{"name": name, **_interval(one)} for name, one in known.items()],
        )


def _interval(one: Clustered) -> dict[str, Any]:
    return {"value": one.value, "low": one.low, "high": one.high}


_BETWEEN = "\n\n"
_TEXTS = ("snippet", "text", "content")
"""What files call the text of a passage, and of what they call its source, the first that is there counts."""
_SOURCES = ("path", "source", "id")


class Texts:
    """Texts by number, and their paragraphs by number: what a memory finds again and again is there once.

    An entry of `entries` has the paragraphs of a text, and behind them a negative number where it is cut: how long
    it is.
    """

    def __init__(self, length: int | None) -> None:
        self._length = length
        self._paragraphs: dict[str, int] = {}
        self._entries: dict[tuple[int, ...], int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text, cut if it is longer than others may be."""
        cut = self._length is not None and len(text) > self._length
        kept = text[: self._length] if cut else text
        parts = [self._paragraphs.setdefault(one, len(self._paragraphs)) for one in kept.split(_BETWEEN)]
        return self._entries.setdefault((*parts, -len(text)) if cut else tuple(parts), len(self._entries))

    def to_json(self) -> dict[str, Any]:
        """Return both tables."""
        return {"paragraphs": list(self._paragraphs), "entries": [list(one) for one in self._entries]}


def questions(histories: Sequence[QuestionHistory], labels: Sequence[str], length: int | None = None) -> dict[str, Any]:
    """Return every question in the order given, with texts of at most `length` characters.

    `labels` are the names of all checkpoints. What is empty or unknown is left out.
    """
    texts = Texts(length)
    places = {label: place for place, label in enumerate(labels)}
    found = [_question(one, places, texts) for one in histories]
    return {"questions": found, "labels": list(labels), "texts": texts.to_json()}


def _question(one: QuestionHistory, places: Mapping[str, int], texts: Texts) -> dict[str, Any]:
    asked = one.question
    return present(
        {
            "id": well_formed(one.id),
            "persona": one.persona,
            "category": asked.category,
            "difficulty": asked.difficulty,
            "question": texts.number(asked.question),
            "reference": texts.number(asked.answer),
            "days": list(asked.relevant_days),
            "session": asked.query_session,
            "forbidden": list(asked.forbidden_sessions),
            "expected": asked.expected_disclosure,
            "until": asked.irrelevant_after,
            "asked": [_asked(each, places[each.label], texts) for each in one.asked],
        }
    )


def _asked(one: AskedQuestion, place: int, texts: Texts) -> dict[str, Any]:
    found = one.evaluation
    return present(
        {
            "at": place,
            "day": found.day,
            "kinds": list(one.kinds),
            "judge": one.judge,
            "points": _horizon_data_points(one.points),
            "reason": _text(one.points.reasoning if one.points else "", texts),
            "first": _horizon_data_points(found.primary),
            "firstReason": _text(found.primary.reasoning if found.primary else "", texts),
            "before": None if one.before is None else one.before.composite,
            "change": one.change,
            "answer": texts.number(found.answer),
            "by": found.answered_by,
            "error": _text(found.error, texts),
            "seconds": found.seconds,
            "usd": found.usd,
            "excerpts": found.context or None,
            "passages": [_passage(each, texts) for each in found.retrieval],
            "calls": [texts.number(_plain(each)) for each in found.tool_calls],
        }
    )


def _horizon_data_points(points: Points | None) -> list[int] | None:
    return None if points is None else [points.correctness, points.completeness, points.hallucination]


def _passage(plain: Mapping[str, Any], texts: Texts) -> list[Any]:
    """Return a passage: its text, what it is from, and its score, None where the memory gave none."""
    text = next((plain[name] for name in _TEXTS if isinstance(plain.get(name), str)), None)
    source = next((plain[name] for name in _SOURCES if isinstance(plain.get(name), str)), "")
    score = plain.get("score")
    return [texts.number(_plain(plain) if text is None else text), source, _number(score)]


def _number(value: Any) -> float | None:
    return round(value, 4) if isinstance(value, int | float) and abs(value) < 1e15 else None


def _plain(plain: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in plain.items())


def _text(text: str, texts: Texts) -> int | None:
    return texts.number(text) if text else None


_STRIP = 12
"""Up to so many checkpoints, their names stand above the points of a question."""
SYMBOLS = {"passing": "✓", "failing": "✗", NO_POINTS: "!"}
"""How an outcome looks, beside its name."""


def page(run: PublishedRun, journal: str, base: PublishedRun | None = None, stamp: str = "") -> str:
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


def lines(run: PublishedRun, base: PublishedRun | None = None) -> Iterator[str]:
    """Yield what the page says first of a run, for a terminal: how far it has come, and each checkpoint."""
    found = report(run)
    about, missing, *figures = run_sections(run, found)
    first = Section("", lines=[_subtitle(run, found), verdict(found), *missing.lines, *about.lines])
    checkpoints = [one for one in figures if one.key == "checkpoints"]
    yield from report_lines([first, *checkpoints, *_against(run, base)])


def verdict(found: RunStatistics) -> str:
    """Return what came of the run in a few words."""
    points = found.everything.points
    lost = sum(found.failures.values())
    without = f", {plural(lost, 'answer')} without points" if lost else ""
    if points.value is None and found.retrieval is not None:
        told_found = lead(found.retrieval)
        return f"{told_found[:1].upper()}{told_found[1:]}{without}"
    if points.value is None:
        return f"No answer has points{without}"
    interval = "" if points.low is None else f" (95 %: {points.low:.2f} to {points.high:.2f})"
    return f"{points.value:.2f} of {MOST} points{interval}{without}"


def _values(
    run: PublishedRun,
    found: RunStatistics,
    every: Sequence[QuestionHistory],
    labels: Sequence[str],
    base: PublishedRun | None,
) -> dict[str, Any]:
    about, missing, *figures = run_sections(run, found)
    counts = Counter(asked.outcome for one in every for asked in one.asked)
    return {
        "title": f"{run.name}: {verdict(found)}",
        "verdict": verdict(found),
        "subtitle": _subtitle(run, found),
        "about": about.lines,
        "missing": missing.lines,
        "counts": [(name, SYMBOLS[name], counts[name]) for name in SYMBOLS if counts[name]],
        "answers": f"{plural(sum(counts.values()), 'answer')} to {plural(len(every), 'question')}",
        "symbols": SYMBOLS,
        "sections": [one for one in figures if one.is_shown],
        "third": [(one, asked) for one in every for asked in one.asked if asked.evaluation.points is None],
        "leaks": [(name, _those(every, name)) for name in ("leaked", "withheld")],
        "facets": list(_facets(every, labels)),
        "strip": labels if len(labels) <= _STRIP else [],
        "rows": [_row(one, labels) for one in every],
        "against": _against(run, base),
    }


def _subtitle(run: PublishedRun, found: RunStatistics) -> str:
    return ", ".join(filter(None, (run.name, found.adapter, " and ".join(run.personas))))


def _those(every: Iterable[QuestionHistory], kind: str) -> list[tuple[QuestionHistory, str]]:
    """Return the questions that count as something, with the checkpoints at which they do."""
    found = [(one, [asked.label for asked in one.asked if kind in asked.kinds]) for one in every]
    return [(one, ", ".join(labels)) for one, labels in found if labels]


def _facets(every: Sequence[QuestionHistory], labels: Sequence[str]) -> Iterator[Facet]:
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


def _row(one: QuestionHistory, labels: Sequence[str]) -> dict[str, Any]:
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


def _points(asked: AskedQuestion | None) -> tuple[str, str]:
    """Return points as a row shows them, and the class of how they look."""
    if asked is None:
        return "–", "muted"
    points = asked.points
    if asked.recall is not None:
        return f"{100 * asked.recall:.0f} %", asked.outcome
    if asked.crossed is not None:
        return SYMBOLS[asked.outcome], asked.outcome
    return (SYMBOLS[NO_POINTS] if points is None else str(points.composite)), asked.outcome.replace(" ", "-")


def _against(run: PublishedRun, base: PublishedRun | None) -> list[Section]:
    return [] if base is None else [pairing_section(base, run)]
