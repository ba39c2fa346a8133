"""How runs over datasets are rendered, as far as no command shows it."""

from __future__ import annotations

import pytest

from pytest_recall.datasets.datasets_text import legend
from pytest_recall.datasets.membench import CategoryResult, MembenchSummary


def summary(clusters: int) -> MembenchSummary:
    """Return what 20 questions about so many conversations came to."""
    return MembenchSummary(20, CategoryResult(20, 0, 0, {}, clusters=clusters), {}, {}, 0, 0, 0)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([20], "mean (95 % interval)"),
        ([1], "mean (95 % interval for more questions about this one conversation)"),
        ([10, 10], "mean (95 % interval over 10 groups of questions that share a conversation)"),
        ([10, 1], "mean (95 % interval over 1 or 10 groups of questions that share a conversation)"),
    ],
)
def test_the_legend_says_over_how_many_conversations_intervals_are(counts: list[int], said: str) -> None:
    assert legend(map(summary, counts)) == said
