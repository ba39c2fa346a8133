"""List the figures of other systems in papers, each with its place; none was measured here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Reported(NamedTuple):
    """A figure that others have published; it was not measured here."""

    dataset: str
    system: str
    model: str
    """What wrote the answers."""
    metric: str
    """The one of ours that comes nearest to the figure."""
    category: str
    """Empty for all questions."""
    value: float
    """From 0 to 1."""
    about: str
    """What the figure is where it was published."""
    source: str
    """Where it stands."""


_MEMGPT = "MemGPT, arXiv 2310.08560, its table on deep memory retrieval"
_ZEP = "Zep, arXiv 2501.13956, whose judge has a wording of its own"
_A_MEM = "the table of the A-MEM paper, which has it for a system of others"
_SAID_CORRECT = "correct by GPT-4"
_SAID_CORRECT_BY_ZEP = "correct by a model"
_ROUGE = "recall of ROUGE-L"


def _memgpt(system: str, model: str, correct: float, rouge: float) -> tuple[Reported, Reported]:
    return (
        Reported("dmr", system, model, "dmr_judge", "", correct, _SAID_CORRECT, _MEMGPT),
        Reported("dmr", system, model, "rouge_l_recall", "", rouge, _ROUGE, _MEMGPT),
    )


REPORTED: tuple[Reported, ...] = (
    *_memgpt("no memory", "GPT-3.5 Turbo", 0.387, 0.394),
    *_memgpt("MemGPT", "GPT-3.5 Turbo", 0.669, 0.629),
    *_memgpt("no memory", "GPT-4", 0.321, 0.296),
    *_memgpt("MemGPT", "GPT-4", 0.925, 0.814),
    *_memgpt("no memory", "GPT-4 Turbo", 0.353, 0.359),
    *_memgpt("MemGPT", "GPT-4 Turbo", 0.934, 0.827),
    Reported("dmr", "Zep", "GPT-4 Turbo", "dmr_judge", "", 0.948, _SAID_CORRECT_BY_ZEP, _ZEP),
    *(
        Reported("locomo", "MemGPT", "gpt-4o-mini", "locomo_f1", category, value, "F1 of its own", _A_MEM)
        for category, value in (
            ("multi-hop", 0.2665),
            ("temporal", 0.2552),
            ("open-domain", 0.0915),
            ("single-hop", 0.4104),
            ("adversarial", 0.4329),
        )
    ),
)
"""Figures whose source is known. Many more are quoted without one, and are not here."""


def reported_on(dataset: str) -> Sequence[Reported]:
    """Return what others report on the dataset."""
    return [one for one in REPORTED if one.dataset == dataset]
