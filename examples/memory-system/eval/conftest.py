"""A judge of our own. There is no agent: the memory that `rubric.yaml` names answers."""

from __future__ import annotations

import pytest

from pytest_recall import Verdict


@pytest.fixture(scope="session")
def judge_names():
    """Score the share of the notes retrieved that say by name whom they are about, `expected`."""

    def judge(answer, case, *, expected=None):
        notes = [passage.text for passage in answer.passages]
        nameless = [text for text in notes if expected not in text]
        score = 1 - len(nameless) / len(notes) if notes else 0.0
        return Verdict(passed=None, score=score, reason=f"no {expected} in {nameless or 'no notes'}")

    return judge
