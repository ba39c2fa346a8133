"""Render a long-horizon run for the terminal: what it will take, what it came to, and what changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_recall.datasets.reading import MAX_TOKENS
from pytest_recall.files.wording import cell, code, grid, listed, markdown_grid, one_line, percent, plural
from pytest_recall.horizon.answering import SYSTEM
from pytest_recall.horizon.day import pieces_of
from pytest_recall.horizon.disclosure import HitRate, boundaries, without_crossings
from pytest_recall.horizon.evaluation import FAILURES, MOST, Points, summarize
from pytest_recall.horizon.judge import PanelJudge
from pytest_recall.horizon.parts import Parts
from pytest_recall.horizon.published import PublishedRun
from pytest_recall.horizon.question import Checkpoint
from pytest_recall.horizon.regrade import ESCALATE, FORMER, GRADES, Audited, Level, Logged, Rescored
from pytest_recall.horizon.result import Reached, facts
from pytest_recall.horizon.retrieval import RetrievalReport
from pytest_recall.horizon.retrieval_text import (
    CATEGORY_HEAD,
    FLOOR_HEAD,
    LEXICAL,
    STOP_HEAD,
    category_rows,
    floor_rows,
    headline,
    remarks,
    stop_rows,
    unpointed,
)
from pytest_recall.metrics.answers import estimated_tokens
from pytest_recall.replay.exchange import Tokens

BEGIN = "<!-- recall bench audit --apply writes this part, and replaces it -->"
END = "<!-- end -->"
ANALYSIS = "## Analysis"
_CAPITAL = re.compile(r"[A-Z]")
_HASH = re.compile(r"[0-9a-f]{40,}")
_PLACE = re.compile(r"\S\.\w+:[1-9]\d*")


def page(title: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the items of a checkpoint as a text to read beside the lines that are filled in."""
    lines = [f"# {cell(title)}: {plural(len(rows), 'answer')} to look at again", ""]
    lines += ["Grades are written into the lines of the file of the same name beside this page:", ""]
    lines += [f"- `{name}`: {meaning}" for name, meaning in GRADES.items()]
    for row in rows:
        score = row["score"]
        lines += ["", f"## {code(row['questionId'])}: {row['composite']} of {MOST}, {', '.join(row['chosen'])}", ""]
        days = ", ".join(map(str, row["relevantDays"]))
        lines += [f"{row['category']}, {row['difficulty']}, days {days}. Correctness {score['correctness']} of 3,"]
        lines += [f"completeness {score['completeness']} of 2, hallucination {score['hallucination']} of 1."]
        for name, text in (
            ("Question", row["question"]),
            ("Reference", row["referenceAnswer"]),
            ("Answer", row["systemAnswer"]),
            ("The judge", score.get("reasoning", "")),
        ):
            lines += ["", f"{name}:", "", *_fenced(text)] if text else []
        for one in row.get("evidence", ()):
            lines += ["", f"Day {one['day']}:", "", *_fenced(one["text"])]
        if row.get("retrieval"):
            lines += ["", "Found by the memory:", ""]
            lines += [
                f"- {code(str(one.get('path', '?')))} {cell(str(one.get('snippet', '')))}" for one in row["retrieval"]
            ]
    return "\n".join(lines) + "\n"


def _fenced(text: str) -> list[str]:
    """Return a text from outside as a block that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *text.strip().splitlines(), fence]


def audit_lines(found: Audited, waiting: int, defects: int) -> Iterator[str]:
    """Yield what an audit comes to."""
    yield f"as judged: {_level(found.judged)}"
    out = f"; left out, since the right answer is unknown: {plural(found.left_out, 'answer')}" if found.left_out else ""
    yield f"as re-graded: {_level(found.audited)}{out}"
    if found.estimated is not None:
        yield f"if answers that were not looked at are as wrong as those looked at: {found.estimated:.3f} of {MOST}"
    grades = ", ".join(f"{count:,} {name}" for name, count in found.grades.items() if count)
    looked_at = plural(found.looked_at, "answer")
    yield f"looked at again: {looked_at} ({grades or 'no grades'}), {waiting:,} without a grade yet"
    if defects:
        yield f"defective questions: {defects:,}"
    for one in found.causes:
        yield f"  {one.cause}: {plural(one.answers, 'answer')} to {plural(one.questions, 'question')}"
    yield advice(found)


def advice(found: Audited) -> str:
    """Return how often the judge is wrong, and what to do about it."""
    error = found.judge_error
    if error.value is None or error.low is None or error.high is None:
        return "judge error: unknown until some answers below 6 and some perfect ones have a grade"
    told = f"judge error: {percent(error.value)} of answers ({percent(error.low)} to {percent(error.high)})"
    if error.low > ESCALATE:
        return f"{told}, above {percent(ESCALATE)}: take a stronger judge, or a clearer rubric, and judge again"
    if error.value > ESCALATE:
        return f"{told}, likely above {percent(ESCALATE)}: look at more answers, or take a stronger judge"
    if error.high > ESCALATE:
        return f"{told}: not shown to be above {percent(ESCALATE)}, and not shown to be below; look at more answers"
    return f"{told}, below {percent(ESCALATE)}"


def escalates(found: Audited) -> bool:
    """Whether the judge is wrong too often, by what was looked at."""
    return found.judge_error.value is not None and found.judge_error.value > ESCALATE


def notes(before: str, run: PublishedRun, found: Audited, waiting: int, defects: int) -> str:
    """Return `notes.md` with our part of it written again; the operator's own words stay."""
    ours = "\n".join([BEGIN, "", *_ours(run, found, waiting, defects), "", END])
    start, end = before.find(BEGIN), before.find(END)
    if 0 <= start < end:
        return before[:start] + ours + before[end + len(END) :]
    if before.strip():
        return f"{before.rstrip()}\n\n{ours}\n"
    return f"# Notes on {cell(run.name)}\n\n{ours}\n\n{ANALYSIS}\n\n"


def is_done(text: str) -> bool:
    """Whether the operator has written an analysis that names a place in the code."""
    return bool(_PLACE.search(text.partition(ANALYSIS)[2]))


def _ours(run: PublishedRun, found: Audited, waiting: int, defects: int) -> Iterator[str]:
    yield "## Configuration"
    yield ""
    yield f"- memory: {cell(run.adapter or 'unknown')}"
    yield from (f"- {name}: {cell(value)}" for name, value in facts(run))
    told = {"adapterName", "judgeModel", "appellateJudgeModel", "synthesisModel", "embeddingModel", "sample"}
    for name, value in run.config.items():
        if name not in told:
            words = _CAPITAL.sub(lambda match: f" {match[0].lower()}", name)
            yield from (f"- {words}: {cell(text)}" for text in _read(value))
    yield ""
    yield "## Result"
    yield ""
    yield from (f"- {cell(line.strip())}" for line in audit_lines(found, waiting, defects))
    yield ""
    yield "## Checkpoints"
    yield ""
    head = (
        "checkpoint",
        "judged %",
        "re-graded %",
        "perfect",
        "looked at",
        "judge false neg.",
        "judge false pos.",
        "case defects",
        "system failures",
    )
    yield from markdown_grid(head, [_row(one) for one in found.checkpoints])
    details = [one for one in found.checkpoints if one.defects or one.causes]
    if details:
        yield ""
    for one in details:
        told_defects = f"defects {', '.join(map(code, one.defects))}" if one.defects else ""
        causes = ", ".join(f"{code(name)} {count:,}" for name, count in one.causes.items())
        parts = (told_defects, f"failures {causes}" if causes else "")
        yield f"- {cell(one.label)}: {'; '.join(filter(None, parts))}"


def _read(value: Any) -> Iterator[str]:
    """Yield a value of a configuration as people read it; nothing for one that is absent."""
    if isinstance(value, Mapping):
        if inner := [f"{name} {text}" for name, part in value.items() for text in _read(part)]:
            yield ", ".join(inner)
    elif isinstance(value, list | tuple):
        if rows := [text for part in value for text in _read(part)]:
            yield ", ".join(rows)
    elif isinstance(value, bool):
        yield "yes" if value else "no"
    elif isinstance(value, str) and _HASH.fullmatch(value):
        yield f"{value[:12]}…"
    elif value is not None and value != "":
        yield str(value)


def _row(one: Logged) -> tuple[str, ...]:
    total = one.perfect + one.below
    grades = one.grades
    return (
        one.label,
        _percent(one.judged),
        _percent(one.audited),
        f"{one.perfect:,} of {total:,}",
        f"{one.looked_at:,}",
        f"{grades['judge_false_negative']:,}",
        f"{grades['judge_false_positive']:,}",
        f"{grades['case_defect']:,}",
        f"{grades['system_failure']:,}",
    )


def _percent(one: Level) -> str:
    return "–" if one.mean is None else f"{100 * one.mean / MOST:.1f}"


def _level(one: Level) -> str:
    if one.mean is None:
        return "no answers"
    made_up = "not measured" if one.hallucination is None else percent(one.hallucination)
    return f"{one.mean:.3f} of {MOST}, hallucination {made_up}, {plural(one.n, 'answer')}"


def audit_json(found: Audited, waiting: int, defects: int) -> dict[str, Any]:
    """Return what an audit comes to as plain JSON types."""
    return {
        "version": 1,
        "judged": found.judged._asdict(),
        "audited": found.audited._asdict(),
        "estimated": found.estimated,
        "leftOut": found.left_out,
        "lookedAt": found.looked_at,
        "waiting": waiting,
        "defects": defects,
        "grades": dict(found.grades),
        "verdicts": _former(found.grades),
        "judgeError": found.judge_error._asdict(),
        "causes": [one._asdict() for one in found.causes],
        "checkpoints": [
            {
                "personaId": one.persona,
                "label": one.label,
                "days": one.days,
                "judged": one.judged._asdict(),
                "audited": one.audited._asdict(),
                "perfect": one.perfect,
                "below": one.below,
                "lookedAt": one.looked_at,
                "grades": dict(one.grades),
                "verdicts": _former(one.grades),
                "defects": list(one.defects),
                "causes": dict(one.causes),
            }
            for one in found.checkpoints
        ],
    }


def _former(grades: Mapping[str, int]) -> dict[str, int]:
    """Return the grades by the names that programs knew before they had those of `recall judges audit`."""
    return {FORMER.get(name, name.replace("_", "-")): count for name, count in grades.items()}


def exported(done: Sequence[tuple[str, int, int, int]]) -> Iterator[str]:
    """Yield what was written: of each file its name, its items, its grades, and how many became stale."""
    for name, count, grades, _ in done:
        yield f"{name}: {plural(count, 'answer')} to look at again" + (f", {grades:,} have a grade" if grades else "")
    if stale := [name for name, *_, count in done if count]:
        yield f"of another answer than the run has now, and moved to stale.jsonl: grades of {listed(stale)}"


def run_lines(
    name: str,
    reached: Sequence[Reached],
    folder: str,
    *,
    lexical: bool,
    found: RetrievalReport | None = None,
    own: Iterable[str] = (),
    kept: str = "",
) -> Iterator[str]:
    """Yield the lines for a terminal: what was found, each checkpoint, each category, and what went wrong.

    Points of the reference's words are those of answers alone: where the memory gave passages, what it `found` counts.
    `own` are the lines on the models of the memory itself, and `kept` says which answers are.
    """
    every = [one for _, evaluations in reached for one in evaluations]
    whole = summarize(every, measured=not lexical)
    yield f"{name}: {plural(len(reached), 'checkpoint')}, {plural(len(every), 'question')} asked{kept and f', {kept}'}"
    yield ""
    if found is not None:
        yield headline(found)
        yield ""
        if found.n:
            yield from grid(STOP_HEAD, stop_rows(found))
            yield ""
            yield from grid(CATEGORY_HEAD, category_rows(found))
            yield ""
            yield from grid(FLOOR_HEAD, floor_rows(found))
            yield ""
        yield from remarks(found)
    alone = [one for one in every if one.answered_by == "passages"]
    if found is None or not lexical or any(one.points is not None and one not in alone for one in every):
        yield from _points_lines(reached, lexical=lexical)
    else:
        yield LEXICAL
    if (found_out := boundaries(every, measured=not lexical)) is not None:
        yield f"boundaries: leaks {_rate(found_out.leaks)}, over-refusals {_rate(found_out.over_refusals)}"
    if lost := [f"{whole.failures[kind]:,} {kind}" for kind in FAILURES if whole.failures[kind]]:
        yield f"no points, and in no mean: {', '.join(lost)}"
    if some := sum(bool(one.answer.strip()) for one in alone):
        what = "answer is" if some == 1 else "answers are"
        yield f"{some:,} {what} the passages of the memory, which gave no answer of its own"
    if empty := len(alone) - some:
        yield f"for {plural(empty, 'question')} the memory found nothing, so that the answer is empty"
    yield from own
    yield f"written to {folder}"


def _points_lines(reached: Sequence[Reached], *, lexical: bool) -> Iterator[str]:
    apart = [one for _, every in reached for one in every]
    pointed = without_crossings(apart)
    whole = summarize(pointed, measured=not lexical)
    points = "lexical points" if lexical else "points"
    rows = []
    for checkpoint, every in reached:
        evaluations = without_crossings(every)
        found = summarize(evaluations)
        rows.append(
            (
                checkpoint.range.label,
                f"{checkpoint.days:,}",
                f"{found.scored:,}",
                f"{len(evaluations) - found.scored:,}",
                _points(found.mean),
                "not measured" if lexical else _share(found.hallucination),
                f"{found.appealed:,}",
            )
        )
    yield from grid(("checkpoint", "days", "n", "no points", points, "made up", "appealed"), rows)
    yield ""
    categories = [(one.category, f"{len(one.scores):,}", _points(one.mean)) for one in whole.categories if one.scores]
    overall = ("all", f"{whole.scored:,}", _points(whole.mean))
    yield from grid(("category", "n", points), [*categories, overall])
    yield ""
    if lexical:
        least = Points(0, 0, 1, "").composite  # As nothing made up is seen in any answer.
        told = f"lexical points are of {MOST}, for the reference's words, and an answer without any of them has {least}"
        yield f"{told}; what is made up is not measured"
    else:
        yield f"points are of {MOST}; made up is the share of answers with something that is not so"
    if len(pointed) < len(apart):
        yield unpointed(len(apart) - len(pointed))


def unasked(count: int, beside: int, folder: str) -> Iterator[str]:
    """Yield what to say of a run that could not be paid for to its end."""
    if beside:
        yield f"{plural(beside, 'answer')} of the next checkpoint, which is not whole, will count with its others"
    told = f"{plural(count, 'question')} were not asked" if count > 1 else "1 question was not asked"
    yield f"{told}; run the same command with --resume {folder} and a new --budget to resume"


def preview(name: str, checkpoints: Sequence[Checkpoint], need: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a run will ask, and what its models will take, about."""
    yield f"{name}: {plural(len(checkpoints), 'checkpoint')}, {plural(need['questions'], 'question')}"
    yield ""
    rows = [
        (one.range.label, f"{one.days:,}", f"{len(one.asked):,}", f"{one.fresh:,}", f"{one.sampled:,}")
        for one in checkpoints
    ]
    yield from grid(("checkpoint", "days", "questions", "new", "older"), rows)
    yield ""
    yield f"memory: {plural(need['questions'], 'question')} after {plural(need['days'], 'day')}"
    for one in need["models"]:
        cost = "price unknown" if one["usd"] is None else f"about ${one['usd']:.2f}"
        most = " at most, where answers fall short" if one["role"] == "appellate" else ""
        tokens = f"{one['inputTokens']:,} tokens in and {one['outputTokens']:,} out"
        yield f"{one['role']} {one['model']}: {plural(one['calls'], 'call')}{most}, about {tokens}, {cost}"
    if not need["models"]:
        yield "no model is asked"


def _points(mean: float | None) -> str:
    return "–" if mean is None else f"{mean:.2f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _rate(rate: HitRate) -> str:
    if rate.value is None:
        return f"unknown ({plural(rate.unknown, 'answer')} without a verdict)" if rate.unknown else "of no question"
    unknown = f"; {rate.unknown:,} unknown" if rate.unknown else ""
    return f"{rate.value:.0%} ({rate.hits} of {rate.n}{unknown})"


SHOWN = 50


def rescore_lines(name: str, found: Rescored) -> Iterator[str]:
    """Yield a line for each number that differs, the first 50 of them, and how many were compared."""
    for one in found.differences[:SHOWN]:
        yield f"{one.place}: written {_told(one.written)}, but the answers come to {_told(one.computed)}"
    if (more := len(found.differences) - SHOWN) > 0:
        yield f"and {more:,} more"
    if found.hollow:
        yield f"no file holds the answers of {plural(len(found.hollow), 'checkpoint')}: {listed(found.hollow)}"
    same = "all are what the answers come to" if not found.differences else f"{len(found.differences):,} differ"
    yield f"{name}: {plural(found.compared, 'number')} compared, {same}"


def rescore_json(name: str, found: Rescored) -> dict[str, Any]:
    """Return the same as plain JSON types."""
    return {
        "version": 1,
        "run": name,
        "compared": found.compared,
        "hollow": list(found.hollow),
        "differences": [one._asdict() for one in found.differences],
    }


def _told(value: Any) -> str:
    return "nothing" if value is None else one_line(repr(value))


JUDGED = 200
"""Tokens of a judgement, about."""
ANSWERED = 150
"""Tokens of an answer, about."""
SEEN = 20
"""Days and questions that stand for the others."""


class _Size(NamedTuple):
    calls: int
    input: int
    output: int


def need_of(parts: Parts) -> dict[str, Any]:
    """Return the questions, the days, and for each model its calls and tokens; `usd` is None if not known.

    Tokens are estimated from characters, of some days and questions that stand for the others.
    """
    settings = parts.settings
    asked = [(question, one.days) for one in parts.checkpoints for question in one.asked]
    models = []
    if settings.answer is not None:
        models.append(_estimate_told(parts, "answer", settings.answer, _answering(parts, len(asked))))
    if isinstance(parts.judge, PanelJudge):
        shown = asked[:: max(1, len(asked) // SEEN)]
        prompts = [parts.judge.inquiry(question, question.answer, day) for question, day in shown]
        texts = (text for one in prompts for text in (one.system, *(part.text for part in one.parts)))
        each = estimated_tokens(texts) // len(prompts)
        size = _Size(len(asked), len(asked) * each, len(asked) * JUDGED)
        models.append(_estimate_told(parts, "judge", settings.judge or "", size))
        if settings.appellate is not None:
            models.append(_estimate_told(parts, "appellate", settings.appellate, size))
    return {
        "questions": len(asked),
        "days": sum(day <= parts.checkpoints[-1].days for day in parts.days),
        "models": models,
    }


def _answering(parts: Parts, count: int) -> _Size:
    run = parts.settings.run
    days = parts.days[:: max(1, len(parts.days) // SEEN)]
    units = [part.text for day in days for part in pieces_of(parts.corpus.text(day), run.unit)]
    each = estimated_tokens([SYSTEM]) + run.k * estimated_tokens(units) // max(1, len(units))
    return _Size(count, count * each, count * min(ANSWERED, MAX_TOKENS))


def _estimate_told(parts: Parts, role: str, selector: str, size: _Size) -> dict[str, Any]:
    model = next(one for one in parts.models if one.name == selector)
    return {
        "role": role,
        "model": selector,
        "calls": size.calls,
        "inputTokens": size.input,
        "outputTokens": size.output,
        "usd": parts.calls.price(model, Tokens(size.input, size.output)),
    }
