"""Configuration: what decides the outcome of a run; a run is gone on with by one that has the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_recall.core.horizon.profile import RunPart

LABELS = ("synthesisModel", "embeddingProvider", "embeddingModel")
"""Published names of what a person may say of a memory, for display alone."""
LEXICAL = "lexical"
"""Stands for a model that judges: the points come from the reference's words, and what is made up is not measured."""
VERSION = 1
"""The version of our keys in a run's files."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """A run's persona, memory, models and settings. Models and the memory are selectors.

    `judge` is `lexical` where no model judges, and `judge_version` tells its prompts apart. `hashes` are SHA-256
    of what was read, by name. `labels` are published names that a profile gives for display, and decide nothing.
    `replayed` says that the models were not asked: their replies are from recordings.
    """

    memory: str
    persona: str
    arcs: str
    dates: str
    run: RunPart
    judge: str
    judge_version: str
    appellate: str | None = None
    answer: str | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    replayed: bool = False

    @property
    def measured(self) -> bool:
        """Whether somebody looks for what is made up."""
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
        told = json.dumps([self.memory, self.arcs, self.judge, self.appellate, self.answer])
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
            "unit": self.run.unit,
            "k": self.run.k,
            "answerModel": self.answer,
            "judgeVersion": self.judge_version,
            "hashes": dict(self.hashes),
        }


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return what two headers differ in, in words.

    When it was, labels for display, and what follows from the judge make no difference.
    """
    passed = {"timestamp", "version", "type", "hallucinationMeasured", *LABELS}
    found = []
    for name in sorted({*before, *after} - passed):
        was, is_ = before.get(name), after.get(name)
        if was == is_:
            continue
        if name == "hashes" and isinstance(was, Mapping) and isinstance(is_, Mapping):
            found += [f"the {one} have changed" for one in sorted({*was, *is_}) if was.get(one) != is_.get(one)]
        elif name == "ranges" and isinstance(was, list) and isinstance(is_, list):
            found.append(f"`ranges` was {_labels(was)} and is {_labels(is_)}")
        else:
            found.append(f"`{name}` was {was!r} and is {is_!r}")
    return found


def _labels(ranges: list[Any]) -> str:
    shown = [str(one.get("label") if isinstance(one, Mapping) else one) for one in ranges]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:3], "…", shown[-1]])
