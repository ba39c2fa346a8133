"""Abstention: whether a system says that it does not know where it cannot, and only there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pytest_recall.metrics.mean import Mean, share_of


class Abstention(NamedTuple):
    """Precision is of those answers that abstained, recall of those questions that have no answer."""

    precision: Mean
    recall: Mean


def abstention(pairs: Iterable[tuple[bool | None, bool]], confidence: float = 0.95) -> Abstention:
    """Return precision and recall, 0..1 each, of `pairs`: whether it abstained, and whether it should have.

    A system that always abstains has recall 1, so that neither stands alone. None for
    the first is a failure: it neither answered nor abstained, which counts for recall.
    """
    seen = list(pairs)
    return Abstention(
        share_of((should for did, should in seen if did), confidence=confidence),
        share_of((did for did, should in seen if should), confidence=confidence),
    )
