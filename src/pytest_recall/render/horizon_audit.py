"""Audited runs: items to read, the operator's notes, and what the audit comes to, as lines and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_recall.core.horizon.evaluation import MOST
from pytest_recall.core.horizon.provenance import facts
from pytest_recall.core.horizon.published import Run
from pytest_recall.core.horizon.regrade import ESCALATE, VERDICTS, Audited, Level, Logged
from pytest_recall.render.grid import markdown_grid
from pytest_recall.render.markdown import cell, code
from pytest_recall.render.sentences import listed, percent, plural

BEGIN = "<!-- recall bench audit --apply writes this part, and replaces it -->"
END = "<!-- end -->"
ANALYSIS = "## Analysis"
_CAPITAL = re.compile(r"[A-Z]")
_HASH = re.compile(r"[0-9a-f]{40,}")
_PLACE = re.compile(r"\S\.\w+:[1-9]\d*")


def page(title: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the items of a checkpoint as a text to read beside the lines that are filled in."""
    lines = [f"# {cell(title)}: {plural(len(rows), 'answer')} to look at again", ""]
    lines += ["Verdicts are written into the lines of the same name beside this page:", ""]
    lines += [f"- `{name}`: {meaning}" for name, meaning in VERDICTS.items()]
    for row in rows:
        score = row["score"]
        lines += ["", f"## {code(row['questionId'])}: {row['composite']} of {MOST}, {row['why']}", ""]
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


def lines(found: Audited, waiting: int, defects: int) -> Iterator[str]:
    """Yield what an audit comes to."""
    yield f"as judged: {_level(found.judged)}"
    out = f"; left out, since nobody knows what is right: {plural(found.left_out, 'answer')}" if found.left_out else ""
    yield f"as audited: {_level(found.audited)}{out}"
    if found.estimated is not None:
        yield f"if answers that nobody looked at are as wrong as those looked at: {found.estimated:.3f} of {MOST}"
    verdicts = ", ".join(f"{count:,} {name}" for name, count in found.verdicts.items() if count)
    yield f"looked at again: {plural(found.looked_at, 'answer')} ({verdicts or 'no verdicts'}), {waiting:,} waiting"
    if defects:
        yield f"defective questions: {defects:,}"
    for one in found.causes:
        yield f"  {one.cause}: {plural(one.answers, 'answer')} to {plural(one.questions, 'question')}"
    yield advice(found)


def advice(found: Audited) -> str:
    """Return how often the judge is wrong, and what to do about it."""
    error = found.judge_error
    if error.value is None or error.low is None or error.high is None:
        return "judge error: unknown until some answers below 6 and some perfect ones have a verdict"
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


def notes(before: str, run: Run, found: Audited, waiting: int, defects: int) -> str:
    """Return `notes.md` with our part of it written anew; the operator's own words stay."""
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


def _ours(run: Run, found: Audited, waiting: int, defects: int) -> Iterator[str]:
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
    yield from (f"- {cell(line.strip())}" for line in lines(found, waiting, defects))
    yield ""
    yield "## Checkpoints"
    yield ""
    head = (
        "checkpoint",
        "judged %",
        "audited %",
        "perfect",
        "looked at",
        "false neg.",
        "false pos.",
        "defects",
        "real",
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
    verdicts = one.verdicts
    return (
        one.label,
        _percent(one.judged),
        _percent(one.audited),
        f"{one.perfect:,} of {total:,}",
        f"{one.looked_at:,}",
        f"{verdicts['judge-false-negative']:,}",
        f"{verdicts['judge-false-positive']:,}",
        f"{verdicts['qa-defect']:,}",
        f"{verdicts['system-failure']:,}",
    )


def _percent(one: Level) -> str:
    return "–" if one.mean is None else f"{100 * one.mean / MOST:.1f}"


def _level(one: Level) -> str:
    if one.mean is None:
        return "no answers"
    made_up = "not measured" if one.hallucination is None else percent(one.hallucination)
    return f"{one.mean:.3f} of {MOST}, hallucination {made_up}, {plural(one.n, 'answer')}"


def as_json(found: Audited, waiting: int, defects: int) -> dict[str, Any]:
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
        "verdicts": dict(found.verdicts),
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
                "verdicts": dict(one.verdicts),
                "defects": list(one.defects),
                "causes": dict(one.causes),
            }
            for one in found.checkpoints
        ],
    }


def exported(done: Sequence[tuple[str, int, int, int]]) -> Iterator[str]:
    """Yield what was written: of each file its name, its items, its verdicts, and how many became stale."""
    for name, count, verdicts, _ in done:
        yield f"{name}: {plural(count, 'answer')} to look at again" + (
            f", {verdicts:,} have a verdict" if verdicts else ""
        )
    if stale := [name for name, *_, count in done if count]:
        yield f"of another answer than the run has now, and put aside in stale.jsonl: verdicts of {listed(stale)}"
