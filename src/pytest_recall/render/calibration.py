"""Calibration as terminal lines, Markdown and JSON: how far judges agree with people, and where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_recall.core.agreement import Agreement, Opinion, Share
from pytest_recall.core.errors import one_line
from pytest_recall.core.spend import Spend
from pytest_recall.metrics.binomial import Interval
from pytest_recall.render import cost
from pytest_recall.render.markdown import cell, code
from pytest_recall.render.sentences import percent, plural

MAX_SHOWN = 50


def left_line(left: Sequence[str], why: str) -> str:
    """Return which answers were not judged, and `why`."""
    more = f" and {len(left) - MAX_SHOWN} more" if len(left) > MAX_SHOWN else ""
    return f"not judged ({len(left)}): {', '.join(left[:MAX_SHOWN])}{more}; {why}"


def terminal(found: Iterable[Agreement], spend: Spend, left: Sequence[str] = (), why: str = "") -> Iterator[str]:
    """Yield the report line by line; the answers `left` were not judged, and `why` says the reason."""
    for one in found:
        yield one.name
        yield f"  {_figures(one)}"
        yield f"  {_mistakes(one)}"
        yield from (f"  {sentence}" for sentence in _rest(one))
        for what, opinions in _lists(one):
            yield f"  {what} ({len(opinions)}):"
            yield from (f"    {each.id}: {one_line(each.reason, 140)}" for each in opinions[:MAX_SHOWN])
            if len(opinions) > MAX_SHOWN:
                yield f"    and {len(opinions) - MAX_SHOWN} more, which --json lists"
    if left:
        yield one_line(left_line(left, why), 10_000)
    yield from cost.lines({"": spend}) or ["no calls were made: every reply was kept from before"]


def markdown(found: Iterable[Agreement], spend: Spend, left: Sequence[str] = (), why: str = "") -> str:
    """Return the report as Markdown."""
    every = list(found)
    lines = ["# Judges beside people", ""]
    lines += ["| judge | model | version | answers | agreement | kappa (95 %) | false passes | false fails |"]
    lines += ["| --- | --- | --- | ---: | ---: | --- | --- | --- |"]
    for one in every:
        cells = (*map(cell, one.key), str(one.n), _agreed(one), cell(_kappa(one)), _share(one.false_passes))
        lines.append(f"| {' | '.join(cells)} | {_share(one.false_fails)} |")
    for one in every:
        if listed := _lists(one):
            lines += ["", f"## {cell(one.name)}", ""]
            for what, opinions in listed:
                lines += [f"{what[0].upper()}{what[1:]}:", ""]
                lines += [f"- {code(each.id)}: {cell(each.reason)}" for each in opinions[:MAX_SHOWN]]
                lines += [f"- and {len(opinions) - MAX_SHOWN} more"] if len(opinions) > MAX_SHOWN else []
                lines += [""]
    if left:
        lines += ["", cell(left_line(left, why))]
    return "\n".join([*lines, "", *cost.lines({"": spend})]).rstrip("\n")


def as_json(found: Iterable[Agreement], spend: Spend, left: Sequence[str] = ()) -> dict[str, Any]:
    """Return the report as plain JSON types; what is undefined or unknown is null."""
    return {
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
            for one in found
        ],
        "not_judged": list(left),
        "cost": cost.as_json({"": spend})["total"],
    }


def _figures(one: Agreement) -> str:
    """Return how far the judge agrees, in one line."""
    return f"{plural(one.n, 'answer')}, agreement {_agreed(one)}, kappa {_kappa(one)}"


def _mistakes(one: Agreement) -> str:
    """Return how often the judge was wrong each way, in one line."""
    return f"false passes {_share(one.false_passes)}; false fails {_share(one.false_fails)}"


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
        yield "what the judges come to together; a verdict names the one whose word stands"


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
