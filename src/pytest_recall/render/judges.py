"""Judges as terminal lines, Markdown and JSON: which models judged, how far they are to be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_recall.core.calibration import JudgeKey, Panels, Reviews
from pytest_recall.render.markdown import cell
from pytest_recall.render.sentences import percent, plural


def lines(panels: Panels) -> Iterator[str]:
    """Yield what models judged, a line for each judge and for what happened; nothing if no model did."""
    if not panels.total:
        return
    yield f"judged by models: {plural(panels.total, 'verdict')}, {_uncalibrated(panels)}"
    for key, count in panels.verdicts.items():
        yield f"  {key.judge}, {key.model}, version {key.version}: {count}, {_standing(panels, key)}"
    yield from (f"  {sentence}" for sentence in _happened(panels))


def markdown(panels: Panels) -> list[str]:
    """Return the same as lines of Markdown."""
    if not panels.total:
        return []
    rows = [
        f"| {cell(key.judge)} | {cell(key.model)} | {cell(key.version)} | {count} | {_standing(panels, key)} |"
        for key, count in panels.verdicts.items()
    ]
    return [
        f"{plural(panels.total, 'verdict')}, {_uncalibrated(panels)}.",
        "",
        "| judge | model | version | verdicts | calibration |",
        "| --- | --- | --- | ---: | --- |",
        *rows,
        "",
        *(f"- {cell(sentence)}" for sentence in _happened(panels)),
    ]


def as_json(panels: Panels) -> dict[str, Any] | None:
    """Return the same as plain JSON types; None if no model judged."""
    if not panels.total:
        return None
    calibrations = panels.calibrations
    return {
        "verdicts": panels.total,
        "uncalibrated_share": panels.uncalibrated / panels.total,
        "judges": [
            {
                **key._asdict(),
                "verdicts": count,
                "calibration": calibrations[key]._asdict() if key in calibrations else None,
            }
            for key, count in panels.verdicts.items()
        ],
        "appeals": panels.appeals._asdict(),
        "audited_passes": panels.audits._asdict(),
        "retried": panels.retried,
        "split_votes": panels.split,
        "comparisons": panels.compared,
        "position_flips": panels.flips,
        "preflights": [
            {"judge": judge, "model": model, **result._asdict()} for (judge, model), result in panels.preflights.items()
        ],
    }


def _uncalibrated(panels: Panels) -> str:
    if not panels.uncalibrated:
        return "all of them by judges that are calibrated"
    share = percent(panels.uncalibrated / panels.total)
    return f"{panels.uncalibrated} of them ({share}) by judges that nobody has calibrated"


def _standing(panels: Panels, key: JudgeKey) -> str:
    found = panels.calibrations.get(key)
    return "not calibrated" if found is None else f"kappa {found.kappa:.2f} over {plural(found.n, 'answer')}"


def _happened(panels: Panels) -> Iterator[str]:
    flown = panels.preflights.values()
    if flown:
        asked, wrong = sum(one.asked for one in flown), sum(one.wrong for one in flown)
        yield f"preflight: {asked - wrong} of {plural(asked, 'known answer')} judged right"
    for (judge, model), one in panels.preflights.items():
        if one.wrong > one.allowed:
            yield f"{judge}, {model}: {one.wrong} of them wrong, and {one.allowed} may be: trust its verdicts little"
    if panels.appeals.asked:
        yield f"appeals: {_reviews(panels.appeals)}"
    if panels.audits.asked:
        yield f"audited passes: {_reviews(panels.audits)}; an overturned one was a false pass"
    if panels.split:
        yield f"votes differed on {plural(panels.split, 'verdict')}"
    if panels.compared:
        yield f"{panels.flips} of {plural(panels.compared, 'comparison')} followed the position"
    if panels.retried:
        yield f"replies that could not be used, so that another was asked for: {panels.retried}"


def _reviews(reviews: Reviews) -> str:
    unheard = f", {reviews.unheard} came to nothing" if reviews.unheard else ""
    return f"{reviews.asked} asked, {reviews.overturned} overturned{unheard}"
