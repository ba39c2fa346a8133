"""Provenance: what a stranger wants to know of a run before its numbers: who judged, and how far it has got."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_recall.core.horizon.published import Run, Stop

_JUDGING = ("judgeModel", "appellateJudgeModel", "judgeMemoryWindow")


def facts(run: Run) -> Iterable[tuple[str, str]]:
    """Yield what a stranger wants to know of a run, as pairs of words."""
    about = run.about
    if about.get("synthesisModel"):
        yield "answered by", str(about["synthesisModel"])
    if about.get("embeddingModel"):
        yield "embeddings", str(about["embeddingModel"])
    if about.get("judgeModel"):
        window = about.get("judgeMemoryWindow")
        yield "judge", f"{about['judgeModel']}" + (f", with the days ±{window}" if window else "")
    if about.get("appellateJudgeModel"):
        yield "second judge", str(about["appellateJudgeModel"])
    if about.get("replayed"):
        yield "models", "not asked: their replies are from recordings"
    answers = sum(_scored(stop) for stop in run.stops)
    pairs = f", of {run.pairs:,} questions that there are" if run.pairs is not None else ""
    sample = about.get("sample")
    drawn = f", at most {sample:,} older ones at a checkpoint" if isinstance(sample, int) else ""
    yield "answers with points", f"{answers:,}{pairs}{drawn}"
    if told := unfinished(run):
        yield "not over", told + (f", since {about['stopped']}" if about.get("stopped") else "")


def unfinished(run: Run) -> str:
    """Return in words how far a run has got that has not reached all of its checkpoints; else, or if unknown, empty."""
    ranges = run.about.get("ranges")
    personas = {stop.persona for stop in run.stops}
    planned = len(ranges) * len(personas) if isinstance(ranges, list) else 0
    return f"{len(run.stops):,} of {planned:,} checkpoints were reached" if len(run.stops) < planned else ""


def judged_alike(first: Run, second: Run) -> bool:
    """Whether the same models have judged two runs, with the same prompts, and were shown as much.

    Published runs say no version of their prompts, which are not ours.
    """
    said = [
        (*(run.about.get(name) or None for name in _JUDGING), run.config.get("judgeVersion")) for run in (first, second)
    ]
    return said[0] == said[1]


def _scored(stop: Stop) -> int:
    if stop.evaluations:
        return sum(one.points is not None for one in stop.evaluations)
    written = (stop.written or {}).get("questionsEvaluated")
    return written if isinstance(written, int) else 0
