"""Decide what a copy of the dataset gives back to a bundle of runs, and whether its figures hold.

A bundle lets a third party compute the figures of a table again without asking a memory. For data that may not be
passed on, its lines hold ids and digests in place of texts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from pytest_recall.datasets.comparison import JournalContents
from pytest_recall.datasets.rescoring import OF_TEXTS
from pytest_recall.metrics.measures import JUDGED
from pytest_recall.trials.trial import ANSWERED, Trial

MANIFEST = "MANIFEST.sha256"
"""The file with the SHA-256 of each other one, as `sha256sum` writes and checks it."""
ABOUT = "bundle.json"
"""The file that says what the bundle is of, and has the figures that it has to come to."""
_AT = "_at"
_OF_RANKS = ("evidence_", "reciprocal_", "ndcg_")


def given_back(value: Any, texts: Mapping[str, str]) -> Any:
    """Return a line in which each digest of a text that is among `texts` has that text again."""
    if isinstance(value, list):
        return [given_back(one, texts) for one in value]
    if not isinstance(value, Mapping):
        return value
    found = {name: given_back(one, texts) for name, one in value.items()}
    for name, digest in value.items():
        if name.endswith(_AT) and isinstance(digest, str) and digest in texts:
            found[name.removesuffix(_AT)] = texts[digest]
    return found


def is_restored(plain: Any) -> bool:
    """Whether all passages of a line have their texts, after `given_back`."""
    answer = plain.get("answer") or {}
    return all(one.get("text") or "text" + _AT not in one for one in answer.get("passages", ()))


def checkable(run: JournalContents, chosen: Collection[str], *, passages: bool, answers: bool) -> frozenset[str]:
    """Return the metrics that can be computed again: of texts only where those of passages and answers are there."""
    found = frozenset(chosen)
    if not passages:
        found -= OF_TEXTS
    if not answers and any(_answered(one) for one in run.trials.values()):
        found = frozenset(name for name in found if name in OF_TEXTS or name.startswith(_OF_RANKS))
    return found


def _answered(trial: Trial) -> bool:
    return trial.answer is not None and bool(trial.answer.usage.get(ANSWERED))


def overruled(trials: Iterable[Trial]) -> Iterator[str]:
    """Yield the questions, by id, whose judged value is not what the verdict in the same line says."""
    for trial in trials:
        for name in JUDGED.keys() & (trial.measures or {}).keys():
            said = [one.passed for one in trial.verdicts if one.panel]
            value = (trial.measures or {})[name]
            if not said or value != (None if said[-1] is None else float(said[-1])):
                yield trial.case_id


def manifest_problems(manifest: str, contents: Mapping[str, bytes]) -> list[str]:
    """Return what differs between a manifest and the files beside it, a sentence each."""
    entries = [line.partition("  ") for line in manifest.splitlines()]
    listed = {name: digest for digest, _, name in entries}
    found = [f"{name} is not in the bundle" for name in sorted(listed.keys() - contents.keys())]
    found += [f"{name} is not in {MANIFEST}" for name in sorted(contents.keys() - listed.keys())]
    both = sorted(listed.keys() & contents.keys())
    return found + [f"{name} has changed since" for name in both if sha256(contents[name]).hexdigest() != listed[name]]


def figure_problems(told: Any, computed: Any, where: str = "") -> list[str]:
    """Return where figures that a bundle tells are not those that its journals come to, a sentence each.

    What was not computed is passed over.
    """
    if isinstance(told, list) and isinstance(computed, list) and len(told) == len(computed):
        told, computed = ({str(place): one for place, one in enumerate(each, start=1)} for each in (told, computed))
    if isinstance(told, Mapping) and isinstance(computed, Mapping):
        both = [name for name in told if name in computed]
        return [one for name in both for one in figure_problems(told[name], computed[name], f"{where} {name}".strip())]
    numbers = all(isinstance(one, int | float) for one in (told, computed))
    if told == computed or (numbers and abs(told - computed) <= 1e-9):
        return []
    return [f"{where} is told as {told!r}, and comes to {computed!r}"]
