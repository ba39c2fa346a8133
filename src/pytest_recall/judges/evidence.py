"""Evidence judge: `recall_at_k`, how much of what has to be retrieved is among the first passages."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_recall.core.case import Case
from pytest_recall.core.errors import ArgumentError, one_line
from pytest_recall.core.memory import Unit
from pytest_recall.core.trial import Answer, Passage, Verdict
from pytest_recall.judges.text import folded, texts


def recall_at_k(
    answer: Answer, case: Case, *, k: int | None = None, evidence: str | list[str] | None = None
) -> Verdict:
    """Score the fraction of the case's `evidence` that is found among the first `k` passages, 0..1.

    An id of what the case stores, of a fact, a turn or a session, is found by a passage with that source, or
    by one that contains the whole text of that fact or turn; for a session one turn is enough. Another id is
    found by a passage with that source. Any other text is found by a passage that contains it, white space
    collapsed and case ignored. k: how many passages count; without it, all. The threshold decides.
    """
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise ArgumentError(f"`k` is {k!r}; give a number of passages from 1 up")
    wanted = texts(evidence) if evidence is not None else list(case.evidence or ())
    if not wanted or not all(one.strip() for one in wanted):
        raise ArgumentError("needs `evidence`; list ids or texts in the case or as an argument")
    units = () if case.memory is None else case.memory.units
    first = answer.passages[:k]
    missing = [one for one in wanted if not _is_found(one, first, units)]
    score = (len(wanted) - len(missing)) / len(wanted)
    reason = f"{len(wanted) - len(missing)} of {len(wanted)} pieces of evidence in {len(first)} passages"
    if missing:
        reason += f", without “{one_line(missing[0], 80)}”"
    return Verdict(passed=None, score=score, reason=reason)


def _is_found(wanted: str, passages: Sequence[Passage], units: Sequence[Unit]) -> bool:
    known = {unit.id: unit.content for unit in units if wanted in (unit.id, unit.metadata.get("session"))}
    if known:
        wholes = [folded(content) for content in known.values()]
        return any(
            passage.source in known
            or passage.source == wanted
            or any(whole in folded(passage.text) for whole in wholes)
            for passage in passages
        )
    sought = folded(wanted)
    return any(passage.source == wanted or sought in folded(passage.text) for passage in passages)
