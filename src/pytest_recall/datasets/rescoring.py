"""Compute the numbers of a run over a dataset again from its journal, at any k, and find what it has missed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pytest_recall.datasets.comparison import JournalContents
from pytest_recall.datasets.evidence_texts import evidence_texts
from pytest_recall.datasets.membench import BESIDE, RETRIEVED, has_failed
from pytest_recall.datasets.questions import retrieval_of
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import plural
from pytest_recall.metrics.measures import JUDGED
from pytest_recall.metrics.retrieval import MAX_K, OF_ANSWERS, Retrieval, measure
from pytest_recall.trials.execution import Result, with_result
from pytest_recall.trials.record import QuestionRecord
from pytest_recall.trials.trial import Passage, Trial

PASSAGES = 50
"""Passages of an answer that a journal keeps: a memory may return all that it was told, for every question."""
LONGEST = 20_000
"""Characters of each of them that it keeps."""
OF_TEXTS = frozenset({"contains", "token_f1", "contains_at_k", "tokens_read"})
"""The metrics that look at the texts of passages."""
_CLOSE = 1e-9


def ids_of(trial: Trial) -> tuple[str, ...] | None:
    """Return by rank what came back for a question, as evidence would name it; None where that is not known."""
    return next((tuple(map(str, one.data["ids"])) for one in trial.steps if one.kind == RETRIEVED), None)


def is_cut(trial: Trial, k: int) -> bool:
    """Return whether the journal may lack texts of the first `k` passages that came back: it keeps some of them."""
    kept = () if trial.answer is None else trial.answer.passages
    ids = ids_of(trial)
    # Where it is not known how many came back, there may have been more than are kept.
    came = len(ids) if ids is not None else len(kept) if len(kept) < PASSAGES else k
    return min(k, came) > len(kept) or any(len(one.text) >= LONGEST for one in kept[:k])


def limit_of(run: JournalContents) -> int:
    """Return how many ranks the run's numbers are over."""
    return MAX_K if run.arguments.get("whole") else int(run.arguments["k"])


def at_k(run: JournalContents, k: int, chosen: Collection[str]) -> JournalContents:
    """Return the run with the values over the first `k` of what came back, and with what models have judged.

    Values over texts are left out where the journal has not all of those that came back for each question; of fewer
    passages than a reader was shown, those of its answers.
    `chosen` are the metrics that can be computed here. Raises RecallError for a k beyond what the run has asked for,
    and for a journal that has no questions.
    """
    if not run.asked:
        raise RecallError(f"{run.name}: its journal has no questions, as an earlier version wrote it; run it again")
    if k > limit_of(run):
        raise RecallError(
            f"--k: the run {run.name} asked for {plural(limit_of(run), 'passage')}, and {k} is more; ask again"
        )
    found = {}
    if any(is_cut(trial, k) for trial in run.trials.values()):
        chosen = [name for name in chosen if name not in OF_TEXTS]
    for id, trial in run.trials.items():
        values = _values(run, trial, k, chosen)
        # Floors are of as many tokens as were returned, and fewer passages have fewer.
        steps = tuple(one for one in trial.steps if one.kind != BESIDE or k == limit_of(run))
        found[id] = trial if values is None else changed_trial(trial, measures=values, steps=steps)
    return run._replace(trials=found)


def changed_trial(trial: Trial, **changed: Any) -> Trial:
    """Return the trial with another part of its result."""
    return with_result(trial, Result.of(trial)._replace(**changed))


def _values(run: JournalContents, trial: Trial, k: int, chosen: Collection[str]) -> dict[str, float | None] | None:
    retrieval = retrieval_at(run, trial, k)
    if retrieval is None or trial.measures is None:
        return None
    had = {name for name in chosen if name in trial.measures}
    judged = {name: value for name, value in trial.measures.items() if name in JUDGED}
    if k < limit_of(run) and trial.answer is not None and trial.answer.by == "model":
        had -= OF_ANSWERS  # What it would have said of fewer passages is not known.
        judged = {}
    return judged | {name: None if one is None else float(one) for name, one in measure(retrieval, k, had).items()}


def retrieval_at(run: JournalContents, trial: Trial, k: int) -> Retrieval | None:
    """Return what came back for a question, as it would have been with this k."""
    asked = run.asked.get(trial.case_id)
    if asked is None or trial.answer is None or has_failed(trial):
        return None
    ids, answer = ids_of(trial), replace(trial.answer, passages=trial.answer.passages[:k])
    return retrieval_of(asked, answer, None if ids is None else ids[:k], str(run.arguments["dataset"]))


def altered(before: JournalContents, after: JournalContents) -> list[str]:
    """Return the questions, by id, of which a value is not what it was; what models have judged is not compared."""
    return [id for id, trial in before.trials.items() if _differ(trial, after.trials[id])]


def _differ(first: Trial, second: Trial) -> bool:
    one, other = first.measures or {}, second.measures or {}
    return any(not _equal(one[name], value) for name, value in other.items() if name in one and name not in JUDGED)


def _equal(first: float | None, second: float | None) -> bool:
    return first == second if first is None or second is None else abs(first - second) <= _CLOSE


class MissedEvidence(NamedTuple):
    """A question whose evidence is not all among the first k."""

    asked: QuestionRecord
    absent: Mapping[str, str]
    """What is not there, each id with its text; in the journal of an earlier version that is empty where no other
    question has brought it up."""
    instead: Sequence[tuple[str, Passage]]
    """What came, by rank."""


def missed(run: JournalContents, k: int) -> Iterator[MissedEvidence]:
    """Yield the questions whose evidence is not all among the first `k`, in the order of the dataset."""
    texts = _texts(run)
    for id, asked in run.asked.items():
        trial = run.trials.get(id)
        ids = None if trial is None else ids_of(trial)
        if trial is None or trial.answer is None or ids is None:
            continue
        absent = [one for one in asked.evidence if one not in ids[:k]]
        if absent:
            kept = evidence_texts(trial)
            told = {one: kept.get(one) or texts.get((asked.cluster, one), "") for one in absent}
            yield MissedEvidence(asked, told, tuple(zip(ids[:k], trial.answer.passages, strict=False)))


def _texts(run: JournalContents) -> dict[tuple[str, str], str]:
    """Return the texts that came back for any question, by the conversation and the id."""
    return {
        (run.asked[id].cluster, passage.source): passage.text
        for id, trial in run.trials.items()
        if id in run.asked and trial.answer is not None
        for passage in trial.answer.passages
        if passage.source
    }
