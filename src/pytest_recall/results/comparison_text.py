"""Report the comparison of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_recall.files.sections import Report, Section, TextTable
from pytest_recall.files.wording import listed, one_line, p_value, percent, plural
from pytest_recall.judges import judges_text
from pytest_recall.metrics.change import Change, ChangeSummary
from pytest_recall.metrics.intervals import Interval
from pytest_recall.models.reply_names import joined
from pytest_recall.results import sentences
from pytest_recall.results.comparison import Comparison, Pair
from pytest_recall.results.ending_text import explanation
from pytest_recall.results.measures import number_text
from pytest_recall.schedule.boxes import DATASET, PROFILE, UNSCHEDULED
from pytest_recall.trials import cost_text
from pytest_recall.trials.cost import Spend
from pytest_recall.trials.record import Header

COLUMNS = ("cases", "BASE", "HEAD", "difference", "p, Holm", "drop it can show")
MAX_SHOWN = 100
"""Cases that flipped in one way that are listed."""
MAX_JUDGES = 3
"""Judges of a run that are named; a set with many criteria has a version for each shape of them."""
LEFT = {
    "only_base": "only in BASE",
    "only_head": "only in HEAD",
    "no_verdict": "without a verdict in one of them",
    "changed": "whose text or judges changed",
    "unproven": "failed only by judges that have not been shown to agree with people",
}


def comparison_report(found: Comparison) -> Report:
    """Return the comparison: what it came to, the cases that flipped, and what to know of it."""
    return Report(f"Recall comparison: {headline(found)}", comparison_sections(found), _facts(found))


def comparison_sections(found: Comparison, *, flips: bool = True) -> list[Section]:
    """Return the sections of the comparison, with the cases that flipped or without them."""
    compared = [*_titles(found), _paired(found), *_judged_otherwise(found)]
    sections = [
        Section("", lines=compared),
        Section("", lines=[*_overall(found), *_rectified(found), verdict(found)]),
        *(_flip_section(name, pairs) for name, pairs in (_flips(found) if flips else ())),
    ]
    if grouped := [TextTable("", (name, *COLUMNS), rows) for name, rows in _tables(found)]:
        sections.append(Section("by scenario and dimension", grouped, [_family(found)]))
    return [
        *sections,
        Section("beside the verdicts", lines=list(_beside(found))),
        Section("what to know", lines=list(_notes(found))),
    ]


def _flip_section(name: str, pairs: Sequence[Pair]) -> Section:
    rows = [
        (f"{one_line(pair.case_id)}{_times(pair)}", one_line(_note(pair), 140), pair.head.where)
        for pair in pairs[:MAX_SHOWN]
    ]
    more = [f"{len(pairs) - MAX_SHOWN} more with --json"] if len(pairs) > MAX_SHOWN else []
    return Section(f"{name} ({len(pairs)})", [TextTable("", ("case", "why", "where"), rows, texts=3)], more)


# Sentences


def headline(found: Comparison) -> str:
    """Return what is shown, in a few words."""
    by = " by different judges" if found.other_judges else ""
    if found.drops:
        return f"a drop is shown{by} ({listed(found.drops)})"
    return f"a rise is shown{by}" if found.shown is ChangeSummary.RISE else "nothing is shown"


def verdict(found: Comparison) -> str:
    """Return what the comparison shows over all cases, and if it shows nothing, what it could have shown."""
    told = _verdict(found)
    if found.other_judges is None or found.chosen_after:
        return told
    return f"{told} The judges are not the same in both, so that the difference may be theirs."


def _verdict(found: Comparison) -> str:
    cases = plural(found.overall.pairs, "case")
    if found.chosen_after:
        return (
            "The rates of both runs are not compared: the schedule chose the cases of the later run when it knew the"
            f" verdicts of the earlier one, and left out {plural(len(found.chosen_after), 'case')}. What failed by"
            " chance comes back sooner, and looks better then. Run all cases in both: --recall-mode all."
        )
    part = listed(one_line(name) for name in found.drops if name != "all cases")
    if found.shown is not ChangeSummary.NOTHING:
        return (
            f"A {found.shown} is shown: had nothing changed, {cases} would look so different in at most"
            f" {_share(found.alpha)} of all comparisons."
        ) + (f" A drop is shown in {part}." if part else "")
    if part:
        return f"Over all cases it could be chance, but a drop is shown in {part}."
    smallest = found.overall.smallest
    start = "Could be chance" if found.overall.fell or found.overall.rose else "No case flipped"
    if smallest is None:
        return f"{start}: {cases} cannot show even that all of them fail; at this level it takes more."
    return (
        f"{start}: with as many flips, {cases} can show a drop of {_points(smallest)} or more"
        f" (80 % power, level {_share(found.alpha)})."
    )


def _titles(found: Comparison) -> Iterator[str]:
    runs = zip(("BASE", "HEAD"), (found.base, found.head), found.models, found.cut_off, strict=True)
    for name, header, models, cut in runs:
        title = sentences.title(header, models)
        yield one_line(f"{name} {header.run}: {title}{' (cut off before its end)' if cut else ''}")


def _paired(found: Comparison) -> str:
    left = [f"{len(ids)} {LEFT[name]}" for name, ids in found.left._asdict().items() if ids]
    told = f"{plural(found.overall.pairs, 'case')} with a verdict in both"
    return f"{told}; not compared: {', '.join(left)}" if left else told


def _judged_otherwise(found: Comparison) -> Iterator[str]:
    """Yield that the runs had different judges, and which, before any figure of theirs."""
    apart = found.other_judges
    if apart is None:
        return
    pairs = found.overall.pairs
    who = "The runs" if apart.cases == pairs else f"{apart.cases:,} of {plural(pairs, 'case')}"
    base, head = (one_line("; ".join(names[:MAX_JUDGES]) + _more(names), 400) for names in (apart.base, apart.head))
    yield f"{who} were judged by different judges: in BASE {base}, and in HEAD {head}. The difference may be theirs."


def _more(names: Sequence[str]) -> str:
    return f"; and {len(names) - MAX_JUDGES} more" if len(names) > MAX_JUDGES else ""


def _rectified(found: Comparison) -> Iterator[str]:
    """Yield the rates of judging models with their errors taken out, and of which that is not done."""
    level = _share(1 - found.alpha)
    for name, rates in zip(("BASE", "HEAD"), found.rates, strict=True):
        yield from (f"{name}  {line}" for line in judges_text.rectified_lines(rates, level))
    yield from judges_text.not_rectified_line([one for rates in found.rates for one in rates])


def _overall(found: Comparison) -> Iterator[str]:
    one = found.overall
    level = _share(1 - found.alpha)
    for name, passed, interval in zip(("BASE", "HEAD"), (one.base, one.head), one.rates, strict=True):
        rate = percent(passed / one.pairs)
        told = f"{passed:,.1f}" if one.shares else f"{passed:,}"
        yield f"{name}  {told} of {one.pairs:,} passed: {rate} ({level}: {_range(interval)} %)"
    groups = len(one.counts.clusters)
    by = f"p by sign flips of {groups:,} {_units(found)}" if groups else "McNemar's exact p"
    if one.shares:
        by = by if groups else "p by sign flips"
        flips = f"{one.fell:,} pass less often now, {one.rose:,} more often, {by} {p_value(one.p)}"
    else:
        flips = f"{one.fell:,} passed and fail now, {one.rose:,} failed and pass now, {by} {p_value(one.p)}"
    yield f"difference {_signed(one.difference)} points ({level}: {_range(one.interval, signed=True)}), {flips}"


def _units(found: Comparison) -> str:
    """Return what the cases are grouped by, in the plural."""
    kinds = {pair.head.reason for pair in found.pairs if pair.head.reason in UNSCHEDULED}
    return "questions" if kinds == {PROFILE} else "conversations" if kinds == {DATASET} else "groups"


def _flips(found: Comparison) -> list[tuple[str, list[Pair]]]:
    flips = [
        ("passed in BASE, fails in HEAD", found.lost),
        ("failed in BASE, passes in HEAD", found.gained),
        ("passes less often in HEAD", found.fell),
        ("passes more often in HEAD", found.rose),
    ]
    return [(name, pairs) for name, pairs in flips if pairs]


def _note(pair: Pair) -> str:
    return explanation(pair.base) or explanation(pair.head)


def _times(pair: Pair) -> str:
    return "" if pair.tried is None else f" ({pair.tried[0]} → {pair.tried[1]} of {pair.tried[2]})"


def _tables(found: Comparison) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return what it came to by scenario and by dimension, as rows under `COLUMNS`, where there are several."""
    named = (("scenario", found.by_scenario), ("dimension", found.by_dimension))
    return [(name, [_row(*item, found) for item in groups.items()]) for name, groups in named if groups]


def _row(name: str, one: Change, found: Comparison) -> tuple[str, ...]:
    smallest = None if one.adjusted is None else one.smallest
    shown = found.shown_by(one)
    return (
        one_line(name) or "(none)",
        f"{one.pairs:,}",
        percent(one.base / one.pairs),
        percent(one.head / one.pairs),
        _signed(one.difference),
        ("too few" if one.adjusted is None else p_value(one.adjusted))
        + (f" {shown}" if shown is not ChangeSummary.NOTHING else ""),
        "none" if smallest is None else _points(smallest),
    )


def _family(found: Comparison) -> str:
    groups = [*found.by_scenario.values(), *found.by_dimension.values()]
    tested = sum(one.adjusted is not None for one in groups)
    return f"p is adjusted for {plural(tested, 'test')}, of the scenarios and dimensions together (Holm)."


def _beside(found: Comparison) -> Iterator[str]:
    level = _share(1 - found.alpha)
    for judge, scores in found.scores.items():
        interval = scores.interval
        by = "cluster-robust" if scores.clusters else "bootstrap"
        within = f" ({level}: {interval[0]:+z.3f} to {interval[1]:+z.3f}, {by})" if interval else ""
        yield (
            f"mean score of {one_line(judge) or '(none)'}: {scores.base:.3f} → {scores.head:.3f},"
            f" {scores.head - scores.base:+z.3f}{within}, {plural(scores.pairs, 'case')}"
        )
    for name, means in found.measures.items():
        within = f" ({level}: {means.interval[0]:+.3g} to {means.interval[1]:+.3g})" if means.interval else ""
        yield (
            f"mean of {name}: {number_text(means.base)} → {number_text(means.head)},"
            f" {means.head - means.base:+.3g}{within}, {plural(means.pairs, 'case')}"
        )
    if found.seconds:
        yield (
            f"median time of the agent: {found.seconds.base:.2f} s → {found.seconds.head:.2f} s,"
            f" {plural(found.seconds.pairs, 'case')} live in both"
        )
    if any(spend.calls for spend in found.spent):
        yield f"cost of these cases at list price: {' → '.join(map(_price, found.spent))}"


def _price(spend: Spend) -> str:
    # No call was seen: an agent whose calls no one listens to may still have made some.
    return f"{cost_text.price(spend.recording)} ({plural(spend.calls, 'call')})" if spend.calls else cost_text.UNKNOWN


def _notes(found: Comparison) -> Iterator[str]:
    pairs = found.overall.pairs
    if found.replays == pairs:
        yield "Every pair is of two replayed answers: they compare the code around the model, and nothing of the model."
    elif found.replays:
        yield (
            f"{found.replays:,} of {plural(pairs, 'pair')} are of two replayed answers, which compare the code around"
            " the model and nothing of the model."
        )
    if groups := len(found.overall.counts.clusters):
        yield (
            f"{plural(pairs, 'case')} are of {groups:,} {_units(found)}: those of one resemble each other, and count as"
            " one in intervals, tests and the drop that can be shown."
        )
    if found.half:
        yield f"{found.half:,} of {plural(pairs, 'pair')} are of a replayed answer and one that is not."
    if found.overall.shares:
        times = sum(pair.tried is not None for pair in found.pairs)
        yield (
            f"{times:,} of {plural(pairs, 'pair')} are compared by how often they passed, on as many trials of both"
            " runs, the first ones."
        )
    if found.left.unproven:
        yield (
            f"A fail by a judge below `min_kappa` is no verdict: {listed(found.left.unproven)};"
            " `recall judges calibrate` shows how far it agrees with people."
        )
    if found.left.changed:
        yield (
            f"Changed between the runs, and so not the same question: {listed(found.left.changed)};"
            " --include-changed compares them."
        )


# Numbers


def _share(share: float) -> str:
    return f"{100 * share:.10g} %"


def _signed(share: float) -> str:
    return f"{100 * share:+z.1f}"


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"


def _range(interval: Interval, *, signed: bool = False) -> str:
    low, high = (f"{100 * bound:{'+' if signed else ''}z.1f}" for bound in interval)
    return f"{low} to {high}"


def _facts(found: Comparison) -> dict[str, Any]:
    """Return the comparison as plain JSON types; what is unknown is null, and shares lie in 0..1."""
    return {
        "version": 1,
        "base": _run(found.base, found.models[0], cut_off=found.cut_off[0]),
        "head": _run(found.head, found.models[1], cut_off=found.cut_off[1]),
        "alpha": found.alpha,
        "shown": found.shown.value,
        "drops": found.drops,
        "overall": _change(found, found.overall),
        "by_scenario": {name: _change(found, one) for name, one in found.by_scenario.items()},
        "by_dimension": {name: _change(found, one) for name, one in found.by_dimension.items()},
        "lost": [_flip(pair) for pair in found.lost],
        "gained": [_flip(pair) for pair in found.gained],
        "fell": [_flip(pair) for pair in found.fell],
        "rose": [_flip(pair) for pair in found.rose],
        "not_compared": {name: list(ids) for name, ids in found.left._asdict().items()},
        "measures": {name: means._asdict() for name, means in found.measures.items()},
        "scores": {judge: scores._asdict() for judge, scores in found.scores.items()},
        "seconds": found.seconds._asdict() if found.seconds else None,
        "cost": {"base": _cost(found.spent[0]), "head": _cost(found.spent[1])},
        "replayed_in_both": found.replays,
        "replayed_in_one": found.half,
        "chosen_after": list(found.chosen_after),
        "other_judges": found.other_judges and found.other_judges._asdict(),
        "judged_rates": {
            name: judges_text.rates_json(rates) for name, rates in zip(("base", "head"), found.rates, strict=True)
        },
    }


def _run(header: Header, models: Sequence[str], *, cut_off: bool) -> dict[str, Any]:
    return {
        "run": header.run,
        "date": header.date,
        "mode": header.mode,
        "seed": header.seed,
        "pr": header.pr,
        "model": joined(models),
        "cut_off": cut_off,
    }


def _change(found: Comparison, one: Change) -> dict[str, Any]:
    base, head = one.rates
    return {
        "pairs": one.pairs,
        "base": {"passed": one.base, "rate": one.base / one.pairs, "interval": base},
        "head": {"passed": one.head, "rate": one.head / one.pairs, "interval": head},
        "test": one.test,
        "clusters": len(one.counts.clusters) or None,
        "lost": one.lost,
        "gained": one.gained,
        "fell": one.fell,
        "rose": one.rose,
        "difference": one.difference,
        "interval": one.interval,
        "p": one.p,
        "p_adjusted": one.adjusted,
        "shown": found.shown_by(one).value,
        "smallest_drop": one.smallest,
    }


def _flip(pair: Pair) -> dict[str, Any]:
    return {
        "id": pair.case_id,
        "scenario": pair.head.scenario,
        "dimension": pair.head.dimension,
        "base": pair.base.outcome.value,
        "head": pair.head.outcome.value,
        "tried": pair.tried and {"base": pair.tried[0], "head": pair.tried[1], "of": pair.tried[2]},
        "note": pair.base.note or pair.head.note,
        "where": pair.head.where or None,
    }


def _cost(spend: Spend) -> Mapping[str, Any] | None:
    return cost_text.cost_json({"": spend})["total"] if spend.calls else None
