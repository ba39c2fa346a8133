"""Folders of long-horizon runs, written as published ones are, by arithmetic of their own."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from pytest_recall.horizon.published import PublishedRun, Stop, evaluation_of

CATEGORIES = (
    *("factual-recall", "temporal-reasoning", "decision-tracking", "contradiction-resolution", "cross-reference"),
    *("recency-bias-resistance", "synthesis", "negative-recall", "group-session-attribution", "information-boundary"),
)
Score = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question that was asked; a `score` of None failed. `primary` is what a first judge gave."""

    id: str
    score: Score | None
    category: str = "factual-recall"
    difficulty: str = "easy"
    primary: Score | None = None
    answer: str = "It was 42."
    failure: str = "timeout"
    disclosure: str | None = None

    def qa(self, answer: str) -> dict[str, Any]:
        """Return it as files have it, with the name that they have for the reference."""
        plain: dict[str, Any] = {
            "id": self.id,
            "question": f"What of {self.id}?",
            answer: f"The reference of {self.id}.",
            "category": self.category,
            "difficulty": self.difficulty,
            "relevantDays": [1],
        }
        return plain if self.disclosure is None else {**plain, "expectedDisclosure": self.disclosure}


Stops = Mapping[int, Sequence[Asked]]
"""The questions by the days that are told when they are asked."""


def run_of(stops: Stops, **about: Any) -> PublishedRun:
    """Return a run in memory; other arguments are what is known about it."""
    return PublishedRun(
        name="mine",
        adapter="A memory",
        timestamp="2026-01-01T00:00:00.000Z",
        stops=tuple(
            Stop(
                persona="someone",
                label=f"{days}d",
                days=days,
                evaluations=tuple(evaluation_of(result(one), "someone", f"{days}d", days) for one in asked),
                eligible={name: sum(one.category == name for one in asked) for name in CATEGORIES},
                finished=f"2026-01-01T{place:02}:30:00.000Z",
            )
            for place, (days, asked) in enumerate(stops.items(), start=1)
        ),
        about={"groupsEnabled": False, **about},
        config={"judgeModel": "azure:small"},
        pairs=99,
    )


def score(points: Score) -> dict[str, Any]:
    """Return points as files have them."""
    return dict(zip(("correctness", "completeness", "hallucination"), points, strict=True))


def write_run(folder: Path, stops: Stops, *, questions: bool = True, labelled: bool = True, **header: Any) -> Path:
    """Write a run; `labelled` questions say their checkpoint. Other arguments are of its header."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {"sample": 50, "groupsEnabled": False, "judgeModel": "azure:small", "appellateJudgeModel": "azure:large"}
    about |= {"seed": 42, **header}
    adapter = about.pop("adapterName", "A memory")
    ranges = [{"label": f"{days}d", "days": days} for days in stops]
    top: dict[str, Any] = {"type": "header", "timestamp": "2026-01-01T00:00:00.000Z", "adapterName": adapter}
    progress: list[dict[str, Any]] = [{**top, "ranges": ranges, **about}]
    lines: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    heatmap: list[dict[str, Any]] = []
    for place, (days, asked) in enumerate(stops.items(), start=1):
        label, found = f"{days}d", aggregates(asked)
        heatmap += [
            {
                "range": label,
                "category": row["category"],
                "score": row["meanScore"],
                "questionCount": row["questionCount"],
                "eligibleCount": row["eligibleCount"],
            }
            for row in found["categoryScores"]
        ]
        for number, one in enumerate(asked):
            at = {"timestamp": f"2026-01-01T{place:02}:00:{number:02}.000Z", "personaId": "someone"}
            where = {"checkpoint": label, "day": days} if labelled else {}
            lines.append({**at, **where, "qa": one.qa("referenceAnswer"), **told(one), **appeal(one)})
            if one.primary is not None and one.score is not None:
                verdicts = {"primaryScore": score(one.primary), "appellateScore": score(one.score)}
                failures.append({**at, "qa": one.qa("referenceAnswer"), "systemAnswer": one.answer, **verdicts})
        results.append(
            {
                "range": {"label": label, "days": days},
                "daysIngested": days,
                **found,
                "questionResults": [result(one) for one in asked if one.score is not None],
            }
        )
        if lost := [result(one) for one in asked if one.score is None]:
            results[-1]["questionFailures"] = lost
        rows = [{name: value for name, value in row.items() if name != "scores"} for row in found["categoryScores"]]
        progress.append(
            {
                "type": "checkpoint",
                "timestamp": f"2026-01-01T{place:02}:30:00.000Z",
                "personaId": "someone",
                "checkpointIndex": place,
                "totalCheckpoints": len(stops),
                "range": {"label": label, "days": days},
                "daysIngested": days,
                **found,
                "categoryScores": rows,
                "ingestMs": 10,
                "queryMs": 20,
            }
        )
    every = [one for asked in stops.values() for one in asked]
    counts = {
        "durationMs": 1000,
        "totalEvalsRun": sum(one.score is not None for one in every),
        "uniqueQAPairCount": 99,
        "appellateInvocations": sum(one.primary is not None for one in every),
    }
    progress.append({"type": "summary", "timestamp": "2026-01-02T00:00:00.000Z", **counts})
    persona = {
        "personaId": "someone",
        "adapterName": adapter,
        "rangeResults": results,
        "heatmap": heatmap,
        "totalIngestionMs": 10 * len(stops),
        "totalQueryMs": 20 * len(stops),
        "uniqueQAPairCount": 99,
        "totalEvalsRun": counts["totalEvalsRun"],
    }
    whole = {"timestamp": top["timestamp"], "adapterName": adapter, "ranges": ranges, "personas": [persona]}
    whole |= {"heatmap": heatmap, "metadata": {**about, **counts}}
    (folder / "result.json").write_text(json.dumps(whole, indent=2), encoding="utf-8")
    write_lines(folder / "progress.jsonl", progress)
    if questions:
        write_lines(folder / "questions.jsonl", lines)
    write_lines(folder / "failures.jsonl", failures)
    return folder


def told(one: Asked) -> dict[str, Any]:
    """Return the answer and its points as a line of questions has them."""
    plain = {"systemAnswer": one.answer, "latencyMs": 5, "retrieval": [{"path": "day-0001.md", "snippet": "It was."}]}
    if one.score is None:
        return {**plain, "failure": one.failure, "error": "it broke"}
    return {**plain, "score": score(one.score), "composite": sum(one.score)}


def appeal(one: Asked) -> dict[str, Any]:
    """Return what a line says of a second judge."""
    if one.primary is None:
        return {"usedAppellate": False}
    return {"usedAppellate": True, "primaryScore": score(one.primary)}


def result(one: Asked) -> dict[str, Any]:
    """Return an answer as a result has it."""
    plain: dict[str, Any] = {"qa": one.qa("answer"), "systemAnswer": one.answer, "latencyMs": 5}
    if one.score is None:
        return {**plain, "failure": one.failure, "error": "it broke"}
    plain |= {"score": score(one.score), "compositeScore": sum(one.score)}
    return plain if one.primary is None else {**plain, "primaryScore": score(one.primary)}


def aggregates(asked: Sequence[Asked]) -> dict[str, Any]:
    """Return what a checkpoint comes to, by arithmetic of its own."""

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values) if values else 0

    points = [one.score for one in asked if one.score is not None]
    rows = []
    for name in CATEGORIES:
        values = [sum(one.score) for one in asked if one.score is not None and one.category == name]
        eligible = sum(one.category == name for one in asked)
        row = {"category": name, "meanScore": mean(values), "questionCount": len(values), "scores": values}
        rows.append({**row, "eligibleCount": eligible})
    by_difficulty = {}
    for name in ("easy", "medium", "hard"):
        values = [sum(one.score) for one in asked if one.score is not None and one.difficulty == name]
        by_difficulty[name] = {"mean": mean(values), "count": len(values)}
    return {
        "questionsEvaluated": len(points),
        "overallScore": mean([sum(one) for one in points]),
        "categoryScores": rows,
        "difficultyScores": by_difficulty,
        "hallucinationRate": 100 * mean([1 - one[2] for one in points]),
    }


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


RIGHT, CLOSE, WRONG, MADE_UP = (3, 2, 1), (2, 1, 1), (0, 0, 1), (1, 1, 0)
SMALL: Stops = {
    10: [
        Asked(id="q001", score=RIGHT),
        Asked(id="q002", score=CLOSE, category="synthesis", difficulty="hard"),
        Asked(id="q003", score=WRONG, primary=MADE_UP, category="negative-recall"),
    ],
    20: [
        Asked(id="q001", score=CLOSE),
        Asked(id="q002", score=CLOSE, category="synthesis", difficulty="hard"),
        Asked(id="q003", score=None, category="negative-recall"),
        Asked(id="q004", score=RIGHT, difficulty="medium"),
    ],
    30: [
        Asked(id="q001", score=MADE_UP, primary=(0, 0, 0)),
        Asked(id="q003", score=RIGHT, primary=MADE_UP, category="negative-recall", answer="Nothing was said."),
        Asked(id="q004", score=RIGHT, difficulty="medium"),
        Asked(id="q005", score=RIGHT, category="temporal-reasoning"),
    ],
}
"""A run with a bit of everything."""

_SCORES = (None, *itertools.product(range(4), range(3), range(2)))
_ASKED: dict[str, tuple[Any, ...]] = {
    "score": _SCORES,
    "category": CATEGORIES[:8],
    "difficulty": ("easy", "medium", "hard"),
    "primary": _SCORES,
    "answer": ("It was 42.", "No one knows.", "été ☕"),
}
"""What an evaluation may have; one drawn number stands for a choice from each, since each draw costs as much."""


def _asked(number: int, drawn: int) -> Asked:
    given: dict[str, Any] = {}
    for name, choices in _ASKED.items():
        drawn, place = divmod(drawn, len(choices))
        given[name] = choices[place]
    if given["score"] is None:
        given["primary"] = None
    return Asked(id=f"q{number:03}", **given)


_ANY_ASKED = st.integers(0, math.prod(map(len, _ASKED.values())) - 1)
_ANY_STOPS: st.SearchStrategy[Stops] = st.dictionaries(
    st.integers(1, 60), st.dictionaries(st.integers(0, 12), _ANY_ASKED, max_size=5), min_size=1, max_size=3
).map(lambda stops: {days: [_asked(*one) for one in sorted(drawn.items())] for days, drawn in sorted(stops.items())})


def any_stops() -> st.SearchStrategy[Stops]:
    """Return any checkpoints."""
    return _ANY_STOPS
