"""The system under test, the Fernhill handbook assistant, and the judge that is ours alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pytest_recall import Answer, Case, Verdict

sys.path.insert(0, str(Path(__file__).parent))
from assistant import Assistant, Handbook


@pytest.fixture(scope="session")
def agent() -> Iterator[Assistant]:
    """The handbook assistant, over an index that is built once for the session."""
    with closing(Handbook(Path(__file__).parent / "knowledge")) as handbook:
        yield Assistant(handbook)


@pytest.fixture(scope="session")
def judge_cites() -> Callable[..., Verdict]:
    """Pass if the article `source` (one, or one of a list) is among the first `top` passages of the answer.

    `{cites: late-fees}` or `{cites: {source: late-fees, top: 1}}`.
    """

    def judge(
        answer: Answer, case: Case, *, expected: str | list[str] = "", source: str | list[str] = "", top: int = 5
    ) -> Verdict:
        wanted = source or expected
        accepted = [wanted] if isinstance(wanted, str) else wanted
        cited = [passage.source for passage in answer.passages[:top]]
        if any(article in cited for article in accepted):
            return Verdict(passed=True, score=1.0)
        return Verdict(passed=False, score=0.0, reason=f"cites {cited or 'nothing'}, not {' or '.join(accepted)}")

    return judge
