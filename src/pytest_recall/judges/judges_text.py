"""Report judges, calibrations and audits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pytest_recall.files.sections import Report, Section, TextTable
from pytest_recall.files.wording import listed, one_line, percent, plural
from pytest_recall.metrics.intervals import Interval
from pytest_recall.trials import cost_text
from pytest_recall.trials.cost import Spend
from pytest_recall.trials.record import NOTHING_LET_THROUGH, LetThrough

if TYPE_CHECKING:  # Most runs have no judging model, and need no statistics for one.
    from pytest_recall.judges.audit import FailureCause, Regraded
    from pytest_recall.judges.calibration import Agreement, Calibration, JudgeKey, Opinion, Panels, Reviews, Share
    from pytest_recall.judges.judged_rates import JudgedRate

MAX_SHOWN = 50
MAX_RATES = 3
"""Judges whose pass rates are told one by one; a set with many criteria has a version for each shape of them."""


def left_line(left: Sequence[str], why: str) -> str:
    """Return which answers were not judged, and `why`."""
    more = f" and {len(left) - MAX_SHOWN} more" if len(left) > MAX_SHOWN else ""
    return f"not judged ({len(left)}): {', '.join(left[:MAX_SHOWN])}{more}; {why}"


def calibration_report(
    agreements: Iterable[Agreement],
    spend: Spend,
    left: Sequence[str] = (),
    why: str = "",
    let_through: LetThrough = NOTHING_LET_THROUGH,
) -> Report:
    """Return how far judges agree with people; the answers `left` were not judged, and `why` says the reason.

    What was `let_through` is in no cost.
    """
    every = list(agreements)
    rows = [
        (
            *map(one_line, one.key),
            _kappa(one),
            f"{one.n:,}",
            _agreed(one),
            _share(one.false_passes),
            _share(one.false_fails),
        )
        for one in every
    ]
    head = ("judge", "model", "version", "kappa (95 %)", "answers", "agreement", "false passes", "false fails")
    notes = [f"{one.name}: {sentence}" for one in every for sentence in _rest(one)]
    closing = [one_line(left_line(left, why), 10_000)] if left else []
    cost, *advice = _calls_lines(spend, let_through)
    sections = [
        Section("", [TextTable("", head, rows, texts=4)] if rows else [], notes),
        *(_mistakes_section(one) for one in every),
        Section("", lines=[*closing, cost], snippet=advice),
    ]
    facts = {
        "version": 1,
        "judges": [
            {
                **one.key._asdict(),
                "role": one.role,
                "n": one.n,
                "agreement": one.percent,
                "kappa": one.kappa and one.kappa.value,
                "interval": one.kappa and one.kappa.interval,
                "false_passes": _counted(one.false_passes),
                "false_fails": _counted(one.false_fails),
                "score_distance": one.distance,
                "wrong": [_opinion(each) for each in one.wrong],
                "unjudged": [_opinion(each) for each in one.unjudged],
            }
            for one in every
        ],
        "not_judged": list(left),
        "cost": cost_text.cost_json({"": spend})["total"],
        "let_through": let_through.to_json(),
    }
    return Report("Judges compared with people", sections, facts)


def _mistakes_section(one: Agreement) -> Section:
    tables, notes = [], []
    for what, opinions in _lists(one):
        rows = [(one_line(each.id), one_line(each.reason, 140)) for each in opinions[:MAX_SHOWN]]
        tables.append(TextTable(f"{what} ({len(opinions)})", ("answer", "why"), rows, texts=2))
        if len(opinions) > MAX_SHOWN:
            notes.append(f"{what}: {len(opinions) - MAX_SHOWN} more, which --json lists")
    return Section(one.name, tables, notes)


def _calls_lines(spend: Spend, let_through: LetThrough) -> list[str]:
    """Return what the calls of a calibration cost, or what else was called; there is a line also without any."""
    none = cost_text.let_through_words(let_through) or "no calls were made: every reply was kept from before"
    return cost_text.cost_lines({"": spend}, let_through) or [none]


def _agreed(one: Agreement) -> str:
    return "undefined" if one.percent is None else percent(one.percent)


def _kappa(one: Agreement) -> str:
    if one.kappa is None:
        return "undefined, as both always said the same" if one.n else "undefined"
    interval = one.kappa.interval
    told = f"{interval[0]:.2f} to {interval[1]:.2f}" if interval else "interval unknown, as one always said the same"
    return f"{one.kappa.value:.2f} ({told})"


def _share(share: Share) -> str:
    if share.interval is None:
        return "none could be: no such label"
    low, high = share.interval
    return f"{share.times} of {share.of} ({percent(low)} to {percent(high)})"


def _rest(one: Agreement) -> Iterator[str]:
    if one.distance is not None:
        yield f"scores are {one.distance:.2f} apart in the mean"
    if one.role == "whole":
        yield "the judges together; a verdict names the judge that decided it"


def _lists(one: Agreement) -> list[tuple[str, list[Opinion]]]:
    lists = [
        ("false passes", [each for each in one.wrong if each.passed]),
        ("false fails", [each for each in one.wrong if not each.passed]),
        ("no judgement, which counts for nothing", list(one.unjudged)),
    ]
    return [(what, opinions) for what, opinions in lists if opinions]


def _counted(share: Share) -> dict[str, Any]:
    interval: Interval | None = share.interval
    return {"count": share.times, "of": share.of, "interval": interval}


def _opinion(one: Opinion) -> dict[str, Any]:
    return {"id": one.id, "label": one.label, "passed": one.passed, "score": one.score, "reason": one.reason}


def panels_section(panels: Panels) -> Section:
    """Return what models judged: a row for each judge, and what happened."""
    calibrations = panels.calibrations
    rows = [
        (one_line(key.judge), one_line(key.model), key.version, _standing(panels, key), f"{count:,}")
        for key, count in panels.verdicts.items()
    ]
    facts = {
        "verdicts": panels.total,
        "uncalibrated_share": panels.uncalibrated / panels.total,
        "judges": [
            {
                **key._asdict(),
                "verdicts": count,
                "calibration": _calibration(calibrations[key]) if key in calibrations else None,
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
    return Section(
        "Judged by models",
        [TextTable("", ("judge", "model", "version", "calibration", "verdicts"), rows, texts=4)],
        list(_happened(panels)),
        lines=[f"judged by models: {plural(panels.total, 'verdict')}, {_uncalibrated(panels)}"],
        key="judged_by_models",
        facts=facts,
        brief=True,
    )


def _calibration(found: Calibration) -> dict[str, Any]:
    return {"kappa": found.kappa, "n": found.n, "low": found.low}


def rates_lines(rates: Sequence[JudgedRate], level: str = "95 %") -> Iterator[str]:
    """Yield how many answers pass by each judge, with its errors taken out, and of which judges that is not done."""
    yield from rectified_lines(rates, level)
    yield from not_rectified_line(rates)


def rectified_lines(rates: Sequence[JudgedRate], level: str = "95 %") -> Iterator[str]:
    """Yield how many answers pass by each judge whose errors are taken out; `level` is that of the intervals."""
    corrected = [one for one in rates if one.rectified is not None]
    yield from (_rectified(one, level) for one in corrected[:MAX_RATES])
    if len(corrected) > MAX_RATES:
        yield f"{len(corrected) - MAX_RATES} more judges have such a rate, which --json lists"


def not_rectified_line(rates: Iterable[JudgedRate]) -> Iterator[str]:
    """Yield which judges' errors are in the rates, and why, in one line; nothing if there are none."""
    # Without versions, which stand above: a set with many criteria has one for each shape of them.
    left = (one for one in rates if one.rectified is None)
    others = dict.fromkeys(f"{one.judge.judge}, {one.judge.model} ({one.why})" for one in left)
    if others:
        yield f"not corrected for a judge's errors: {listed(others, MAX_RATES)}"


def rates_section(rates: Sequence[JudgedRate]) -> Section:
    """Return how many answers pass by judging models."""
    lines = list(rates_lines(rates))
    return Section("Passed by judging models", lines=lines, key="judged_rates", facts=rates_json(rates))


def rates_json(rates: Iterable[JudgedRate]) -> list[dict[str, Any]]:
    """Return the same as plain JSON types; what is not corrected has nulls, and says why."""
    return [
        {
            **one.judge._asdict(),
            "answers": one.answers,
            "groups": one.groups,
            "passed": one.passed,
            "rate": one.rate,
            "corrected": None if one.rectified is None else one.rectified.value,
            "interval": None if one.rectified is None else list(one.rectified.interval),
            "labels": None if one.labels is None else {"n": one.labels.n, **one.labels._asdict()},
            "not_corrected": one.why or None,
            "labels_differ": one.differs,
        }
        for one in rates
    ]


def _rectified(one: JudgedRate, level: str) -> str:
    found, labels = one.rectified, one.labels
    assert found is not None
    assert labels is not None
    low, high = (f"{100 * bound:.1f}" for bound in found.interval)
    by = f", cluster-robust over {plural(one.groups, 'group')}" if one.groups else ""
    told = (
        f"judge {_name(one.judge)} passes {percent(one.rate)} of {plural(one.answers, 'answer')}; with its errors taken"
        f" out {percent(found.value)} ({level}: {low} to {high} %{by}), from {plural(labels.n, 'label')}"
    )
    if not one.differs:
        return told
    share = (labels.right_passes + labels.false_passes) / labels.n
    return f"{told}; of the labelled answers it passes {percent(share)}, so they may not represent these"


def _uncalibrated(panels: Panels) -> str:
    if not panels.uncalibrated:
        return "all of them by judges that are calibrated"
    share = percent(panels.uncalibrated / panels.total)
    return f"{panels.uncalibrated} of them ({share}) by judges that are not calibrated"


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


def regraded_section(regraded: Regraded) -> Section:
    """Return both numbers, a row for each judge, and each cause."""
    count = regraded.verdicts - regraded.defects
    rows = [
        (
            _name(key),
            *(f"{number:,}" for number in (one.right_passes, one.false_passes, one.right_fails, one.false_fails)),
        )
        for key, one in regraded.confusions.items()
    ]
    facts = {
        "as_judged": {"passed": regraded.judged, "failed": regraded.verdicts - regraded.judged},
        "as_regraded": {
            "passed": regraded.passed,
            "failed": count - regraded.passed,
            "case_defects": regraded.defects,
        },
        "grades": dict(regraded.grades),
        "judges": [{**key._asdict(), **confusion._asdict()} for key, confusion in regraded.confusions.items()],
        "causes": [one._asdict() for one in regraded.causes],
    }
    head = ("judge", "right passes", "false passes", "right fails", "false fails")
    return Section(
        "Looked at again",
        [TextTable("", head, rows)] if rows else [],
        [_cause(one) for one in regraded.causes],
        lines=list(_numbers(regraded)),
        key="regraded",
        facts=facts,
    )


def _cause(one: FailureCause) -> str:
    return f"{one_line(one.cause, 160)}: {plural(one.answers, 'answer')} to {plural(one.questions, 'question')}"


def _numbers(found: Regraded) -> Iterator[str]:
    count = found.verdicts - found.defects
    graded = sum(found.grades.values())
    out = f", {plural(found.defects, 'defective case')} out of the count" if found.defects else ""
    yield f"as judged: {found.judged} of {found.verdicts} passed"
    yield f"as re-graded: {found.passed} of {count} passed{out}; {graded} of {found.verdicts} verdicts looked at again"


def _name(key: JudgeKey) -> str:
    return f"{key.judge}, {key.model}, version {key.version}" if key.model else key.judge
