"""What a memory found of the relevant days, beside floors and ceiling, as a section of a report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_recall.files.sections import Section, TextTable
from pytest_recall.files.wording import listed, plural
from pytest_recall.horizon.retrieval import ROWS, RetrievalMeans, RetrievalReport, WithFloors
from pytest_recall.metrics.clustered import Clustered
from pytest_recall.metrics.floors import FLOORS, LAST, ORACLE, RANDOM, UNTELLING

_BESIDE = (RANDOM, LAST, ORACLE)
CATEGORY_HEAD = ("category", "n", "questions", "recall %", "MRR", "nDCG", *(f"{name} %" for name in _BESIDE))
STOP_HEAD = ("checkpoint", "days", *CATEGORY_HEAD[1:], "tokens")
FLOOR_HEAD = ("at as many tokens", "recall %", "MRR", "nDCG", "nDCG (LongMemEval)", "passages", "tokens")
INDISTINCT = "where these questions cannot separate the evidence from a floor of ten texts"
"""Why a category is left out of the second figure, whichever memory is asked."""
LEXICAL = "points are not shown: no model judged, and passages alone have the words of nearly every reference by chance"


def unpointed(count: int) -> str:
    """Return what to say of answers that are in no points, since leaks and over-refusals count in their place."""
    return f"in no points, since to refuse everything would get many: {plural(count, 'answer')} about what may be told"


def lead(found: RetrievalReport) -> str:
    """Return what a memory found in all answers in a few words, with what floors find of the same."""
    return beside_floors(found.everything) if found.n else "retrieval not measurable"


def beside_floors(one: WithFloors) -> str:
    """Return what a memory found in some answers in a few words, with what floors find of the same."""
    recall = one.system.recall
    floors = " and ".join(f"{name} {100 * share:.1f} %" for name, share in one.floors.items())
    about = ", about what a floor finds" if one.discriminates is False else ""
    told = f"{about} ({floors})" if about else f", {floors}"
    return f"{_percent(recall)} of the relevant days found{told if floors else ''}, in {plural(recall.n, 'answer')}"


def headline(found: RetrievalReport) -> str:
    """Return what a memory found in one sentence."""
    if not found.n:
        return lead(found)
    means = found.everything.system
    questions = plural(means.recall.clusters, "question")
    return f"retrieval: {lead(found)} to {questions}; MRR {_number(means.mrr)}, nDCG {_number(means.ndcg)}"


def found_facts(found: RetrievalReport) -> Iterator[tuple[str, str]]:
    """Yield what a memory found as pairs of words, for the head of a picture."""
    for name, one in (("", found.everything), (" without †", found.without(found.untelling))):
        if one is not None and one.system.recall.n:
            recall = one.system.recall
            asked = f"{plural(recall.n, 'answer')} to {plural(recall.clusters, 'question')}"
            floors = "".join(f"; {floor} {100 * share:.1f} %" for floor, share in one.floors.items())
            yield f"relevant days found{name}", f"{_percent(recall)}, in {asked}{floors}"


def category_rows(found: RetrievalReport) -> list[tuple[str, ...]]:
    """Return the rows below `CATEGORY_HEAD`: each category, and all of them."""
    rows = [
        _row(name if one.discriminates is not False else f"{name}: {UNTELLING}", one)
        for name, one in found.categories.items()
    ]
    return [*rows, _row("all", found.everything)]


def stop_rows(found: RetrievalReport) -> list[tuple[str, ...]]:
    """Return the rows below `STOP_HEAD`, one for each checkpoint."""
    return [(label, f"{days:,}", *_row("", one)[1:], _count(one.system.tokens, 0)) for label, days, one in found.stops]


def floor_rows(found: RetrievalReport) -> list[tuple[str, ...]]:
    """Return the rows below `FLOOR_HEAD`: the memory, and what returns as many tokens without searching."""
    return [
        (
            name if one.recall.n == found.n else f"{name} (n {one.recall.n:,})",
            _percent(one.recall, ""),
            _number(one.mrr),
            _number(one.ndcg),
            _number(one.ndcg_longmemeval),
            _count(one.passages, 1),
            _count(one.tokens, 0),
        )
        for name in ROWS
        if (one := found.everything.rows.get(name)) is not None
    ]


def remarks(found: RetrievalReport) -> Iterator[str]:
    """Yield what has to be known beside the tables, one sentence each."""
    if (session := found.everything.system.session).value is not None:
        yield f"of the session that a question names, {_percent(session)} of the relevant days found (n {session.n:,})"
    if found.untelling and (others := found.without(found.untelling)) is not None:
        questions = plural(others.system.recall.clusters, "question")
        yield f"without {listed(found.untelling)}, {INDISTINCT}: {beside_floors(others)} to {questions}"
    elif found.untelling:
        yield f"of each category: {INDISTINCT}"
    if not any(name in found.everything.rows for name in FLOORS) and found.n:
        yield "floors are not known: the files of the run do not say what was told, or how many tokens were returned"
    if found.unmeasurable:
        yield f"not measurable, since a passage does not say its day: {plural(found.unmeasurable, 'answer')}"
    if found.closed:
        yield f"left out, as they are about what may be told to whom: {plural(found.closed, 'answer')}"
    if found.unknown:
        yield f"left out, since no file says all that was returned: {plural(found.unknown, 'answer')}"


def retrieval_section(found: RetrievalReport | None) -> Section:
    """Return what a memory found in a run; None is of one that returns no passages."""
    title, key = "What the memory found", "retrieval"
    if found is None:
        return Section(title, key=key)
    tables = [
        TextTable("", CATEGORY_HEAD, category_rows(found)),
        TextTable("", FLOOR_HEAD, floor_rows(found)),
        TextTable("", STOP_HEAD, stop_rows(found)),
    ]
    others = found.without(found.untelling)
    plain = {
        "measurable": bool(found.n),
        "headline": _beside(found.everything) if found.n else None,
        "without": {"categories": list(found.untelling), **({} if others is None else _beside(others))},
        "all": _beside(found.everything),
        "categories": {name: _beside(one) for name, one in found.categories.items()},
        "checkpoints": [{"label": label, "days": days, **_beside(one)} for label, days, one in found.stops],
        "unmeasurable": found.unmeasurable,
        "closed": found.closed,
        "unknown": found.unknown,
    }
    shown = tables if found.n else []
    return Section(title, shown, list(remarks(found)), lines=[headline(found)], key=key, facts=plain)


def _beside(one: WithFloors) -> dict[str, Any]:
    rows = {name: {key: value._asdict() for key, value in _named(means)} for name, means in one.rows.items()}
    return {"discriminates": one.discriminates, "rows": rows}


def _named(means: RetrievalMeans) -> Iterator[tuple[str, Clustered]]:
    for name, value in means._asdict().items():
        yield {"ndcg_longmemeval": "ndcgLongMemEval"}.get(name, name), value


def _row(name: str, one: WithFloors) -> tuple[str, ...]:
    means = one.system
    return (
        name,
        f"{means.recall.n:,}",
        f"{means.recall.clusters:,}",
        _percent(means.recall, ""),
        _number(means.mrr),
        _number(means.ndcg),
        *(_plain(one.rows[floor].recall) if floor in one.rows else "–" for floor in _BESIDE),
    )


def _percent(one: Clustered, unit: str = " %") -> str:
    if one.low is None or one.high is None:
        return f"{_plain(one)}{unit}"
    return f"{_plain(one)}{unit} ({100 * one.low:.1f}–{100 * one.high:.1f})"


def _plain(one: Clustered) -> str:
    return "–" if one.value is None else f"{100 * one.value:.1f}"


def _number(one: Clustered) -> str:
    return "–" if one.value is None else f"{one.value:.3f}"


def _count(one: Clustered, digits: int) -> str:
    return "–" if one.value is None else f"{one.value:,.{digits}f}"
