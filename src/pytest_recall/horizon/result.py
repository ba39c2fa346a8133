"""Put together `result.json`: the configuration of a run, its judges, and its aggregates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from pytest_recall.datasets.model_usage import ModelUsage
from pytest_recall.files.duration import show_duration
from pytest_recall.files.wording import plural
from pytest_recall.horizon.aggregates import result_json
from pytest_recall.horizon.evaluation import CheckpointTrial
from pytest_recall.horizon.profile import RunPart
from pytest_recall.horizon.published import PublishedRun, Stop
from pytest_recall.horizon.question import Checkpoint
from pytest_recall.memory.selector import DISPLAYED
from pytest_recall.results.stop_text import stop_text
from pytest_recall.trials.earlier_run import RunDifference
from pytest_recall.trials.record import settings_of
from pytest_recall.trials.run_stop import RunStop

"""Published names of what a person may say of a memory, for display alone."""
LEXICAL = "lexical"
"""Stands for a model that judges: the points come from the reference's words, and what is made up is not measured."""
VERSION = 1
"""The version of our keys in a run's files."""


MEMORY_CODE, MEMORY_SETTINGS = "code of the memory", "settings of the memory"
"""Hashes of what a memory is made of, and made with."""
MODEL_CODE = {role: f"code of the {role} model" for role in ("answer", "judge", "appellate judge")}
"""Hashes of the models that are code of the user, by their roles."""
_CODE = (MEMORY_CODE, *MODEL_CODE.values())
_SINGULAR = (*_CODE, "story")


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """A run's persona, memory, models and settings; models and the memory are selectors."""

    memory: str
    persona: str
    arcs: str
    dates: str
    run: RunPart
    judge: str
    """`lexical` where no model judges."""
    judge_version: str
    """Tells the judge's prompts apart."""
    appellate: str | None = None
    answer: str | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of what was read, by name."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Published names that a profile gives for display; they decide nothing."""
    replayed: bool = False
    """Whether the models were not asked: their replies are from recordings."""

    @property
    def measured(self) -> bool:
        """Whether made-up facts are looked for."""
        return self.judge != LEXICAL

    @property
    def metadata(self) -> dict[str, Any]:
        """Return what headers and results say of it by the published names."""
        plain: dict[str, Any] = {}
        if self.run.sample is not None:
            plain["sample"] = self.run.sample
        if self.run.judge_memory_window:
            plain["judgeMemoryWindow"] = self.run.judge_memory_window
        plain |= {"groupsEnabled": self.run.groups_enabled, **self.labels, "judgeModel": self.judge}
        if not self.measured:
            plain["hallucinationMeasured"] = False
        if self.appellate is not None:
            plain["appellateJudgeModel"] = self.appellate
        if self.replayed:
            plain["replayed"] = True
        return plain

    @property
    def recordings(self) -> str:
        """Return what tells the recordings of such runs apart from those of others: who is asked, and about whom."""
        made_with = [self.hashes[MEMORY_SETTINGS]] if MEMORY_SETTINGS in self.hashes else []
        feed = [] if self.run.feed == "days" else [self.run.feed]
        told = json.dumps([self.memory, self.arcs, self.judge, self.appellate, self.answer, *made_with, *feed])
        return f"{self.persona}-{hashlib.sha256(told.encode()).hexdigest()[:8]}"

    def header(self, timestamp: str) -> dict[str, Any]:
        """Return the first line of `progress.jsonl`."""
        return {
            "type": "header",
            "timestamp": timestamp,
            "adapterName": self.memory,
            "ranges": [one._asdict() for one in self.run.ranges],
            **self.metadata,
            "version": VERSION,
            "personaId": self.persona,
            "arcs": self.arcs,
            "dates": self.dates,
            "seed": self.run.seed,
            "sampler": self.run.sampler,
            "timeout": self.run.timeout,
            **({} if self.run.feed == "days" else {"feed": self.run.feed}),
            "unit": self.run.unit,
            "k": self.run.k,
            "answerModel": self.answer,
            "judgeVersion": self.judge_version,
            "hashes": dict(self.hashes),
        }

    @property
    def settings(self) -> dict[str, Any]:
        """Return what the header of a journal says of it: all that decides an outcome, named as in `progress.jsonl`."""
        plain = self.header("")
        return settings_of(**{name: value for name, value in plain.items() if name not in ("type", "timestamp")})


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[RunDifference]:
    """Yield what two headers differ in.

    When it was, labels for display, and what follows from the judge make no difference.
    """
    passed = {"timestamp", "version", "type", "hallucinationMeasured", *DISPLAYED}
    # A run that is told the days does not write that down.
    before, after = {"feed": "days", **before}, {"feed": "days", **after}
    for name in sorted({*before, *after} - passed):
        was, is_ = before.get(name), after.get(name)
        if was == is_:
            continue
        if name == "hashes" and isinstance(was, Mapping) and isinstance(is_, Mapping):
            # What the memory and the models were made of is not known of a run of an earlier version.
            names = sorted({*was, *is_} - ({*_CODE} - was.keys()))
            changed = [one for one in names if was.get(one) != is_.get(one)]
            for one in changed:
                what = "its code" if one == MEMORY_CODE else f"the {one}"
                have = "has" if one in _SINGULAR else "have"
                yield RunDifference(f"{what} {have} changed", asks_again=one in _CODE)
        elif name == "ranges" and isinstance(was, list) and isinstance(is_, list):
            yield RunDifference(f"`ranges` was {_labels(was)} and is {_labels(is_)}")
        elif name == "timeout" and isinstance(was, int) and isinstance(is_, int):
            yield RunDifference(f"`timeout` was {show_duration(was)} and is {show_duration(is_)}")
        else:
            yield RunDifference(f"`{name}` was {was!r} and is {is_!r}")


def _labels(ranges: list[Any]) -> str:
    shown = [str(one.get("label") if isinstance(one, Mapping) else one) for one in ranges]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:3], "…", shown[-1]])


class Reached(NamedTuple):
    """A checkpoint all of whose questions were asked, and what came of each, in the order in which they are asked."""

    checkpoint: Checkpoint
    evaluations: Sequence[CheckpointTrial]


def result(
    configuration: Configuration,
    reached: Sequence[Reached],
    *,
    timestamp: str,
    pairs: int,
    ingest_ms: Mapping[str, float | None],
    duration_ms: float,
    unasked: int = 0,
    stop: RunStop | None = None,
) -> dict[str, Any]:
    """Return the result of the checkpoints that were `reached`; `pairs` counts all questions of the persona.

    `ingest_ms` is how long it took to tell the days of each, by label, None where that is not known any more.
    `unasked` questions were not asked, and `stop` is what keeps the run from asking them.
    """
    stops = tuple(
        Stop(
            persona=configuration.persona,
            label=checkpoint.range.label,
            days=checkpoint.days,
            evaluations=tuple(evaluations),
            eligible=checkpoint.eligible,
            written={
                "range": checkpoint.range._asdict(),
                "ingestMs": ingest_ms.get(checkpoint.range.label),
                "queryMs": query_ms(evaluations),
            },
            measured=configuration.measured,
        )
        for checkpoint, evaluations in reached
    )
    about = {
        "ranges": [one._asdict() for one in configuration.run.ranges],
        "durationMs": duration_ms,
        **configuration.metadata,
        "version": VERSION,
        "seed": configuration.run.seed,
        **({} if configuration.run.feed == "days" else {"feed": configuration.run.feed}),
        "unit": configuration.run.unit,
        "k": configuration.run.k,
        "answerModel": configuration.answer,
    }
    if unasked:
        about["unasked"] = unasked
    if stop is not None:
        about["stop"] = stop.to_json()
    memory = configuration.memory
    run = PublishedRun(name="", adapter=memory, timestamp=timestamp, stops=stops, about=about, config={}, pairs=pairs)
    return result_json(run)


def query_ms(evaluations: Sequence[CheckpointTrial]) -> float:
    """Return how long the memory took for all of them, in milliseconds."""
    return round(1000 * sum(one.seconds or 0 for one in evaluations), 3)


def duration(starts: Sequence[str], stamps: Sequence[str]) -> float:
    """Return the milliseconds that a run took, without those between a stop and the next start.

    `starts` are the times at which it was begun and gone on with, `stamps` those of its evaluations.
    """
    begins, ends = sorted(map(datetime.fromisoformat, starts)), sorted(map(datetime.fromisoformat, stamps))
    found = 0.0
    for begin, following in zip(begins, [*begins[1:], None], strict=True):
        within = [end for end in ends if end >= begin and (following is None or end < following)]
        if within:
            found += (within[-1] - begin).total_seconds() * 1000
    return round(found, 3)


JUDGING = ("judgeModel", "appellateJudgeModel", "judgeMemoryWindow")
"""What a run says of who judged it, and of what that was shown."""


def facts(run: PublishedRun) -> Iterable[tuple[str, str]]:
    """Yield what a stranger wants to know of a run, as pairs of words."""
    about = run.about
    personas = ", ".join(dict.fromkeys(stop.persona for stop in run.stops))
    arcs = run.config.get("arcs")
    yield "persona", f"{personas} ({arcs})" if arcs else personas
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
    there = (
        "" if run.pairs is None else f"{plural(run.pairs, 'question')} that there {'is' if run.pairs == 1 else 'are'}"
    )
    pairs = f", of {there}" if there else ""
    sample = about.get("sample")
    drawn = f", at most {sample:,} older ones at a checkpoint" if isinstance(sample, int) else ""
    yield "answers with points", f"{answers:,}{pairs}{drawn}"
    if told := unfinished(run):
        yield "not over", told + since(run)


def since(run: PublishedRun) -> str:
    """Return in words why a run was stopped, to go on a line with; empty where no file says it."""
    plain = run.about.get("stop")
    return f", since {stop_text(RunStop.from_json(plain))}" if isinstance(plain, dict) else ""


def unfinished(run: PublishedRun) -> str:
    """Return in words how far a run has got that has not reached all of its checkpoints; else, or if unknown, empty."""
    ranges = run.about.get("ranges")
    personas = {stop.persona for stop in run.stops}
    planned = len(ranges) * len(personas) if isinstance(ranges, list) else 0
    if len(run.stops) >= planned:
        return ""
    return ", ".join(
        [
            f"{len(run.stops):,} of {plural(planned, 'checkpoint')} {'was' if planned == 1 else 'were'} reached",
            *_left(run),
        ]
    )


def _left(run: PublishedRun) -> Iterable[str]:
    """Yield how much is to be asked yet, how long that takes at the pace so far, and what was spent; what is known."""
    answers, planned, milliseconds = len(run.evaluations), run.about.get("planned"), run.about.get("durationMs")
    if isinstance(planned, int) and planned > answers:
        left = planned - answers
        told = f"{left:,} of {plural(planned, 'question')} {'is' if left == 1 else 'are'} to be asked yet"
        if answers and isinstance(milliseconds, int | float) and milliseconds > 0:
            minutes = milliseconds / answers * (planned - answers) / 60_000
            pace = f"{max(minutes, 1):,.0f} min" if minutes < 90 else f"{minutes / 60:,.1f} h"
            told += f", {pace} at the pace so far"
        yield told
    spent = [one.usd for one in run.evaluations if one.usd]
    if spent:
        yield f"${sum(spent):,.2f} was spent on what is known"


def judged_alike(first: PublishedRun, second: PublishedRun) -> bool:
    """Whether the same models have judged two runs, with the same prompts, and were shown as much.

    Published runs say no version of their prompts, which are not ours.
    """
    said = [
        (*(run.about.get(name) or None for name in JUDGING), run.config.get("judgeVersion")) for run in (first, second)
    ]
    return said[0] == said[1]


def _scored(stop: Stop) -> int:
    if stop.evaluations:
        return sum(one.points is not None for one in stop.evaluations)
    written = (stop.written or {}).get("questionsEvaluated")
    return written if isinstance(written, int) else 0


def usage_json(one: ModelUsage) -> dict[str, float | None]:
    """Return what models of the memory took, in tokens and US dollars, by the keys of `result.json`."""
    return dict(zip(("calls", "inputTokens", "outputTokens", "usd"), one, strict=True))
