"""The systems under test, the Fernhill handbook assistants, and the judge that is ours alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pytest_recall import Answer, Case, Verdict

sys.path.insert(0, str(Path(__file__).parent))
from assistant import Assistant, Handbook
from llm import AnthropicReader, OpenAIReader

Reader = TypeVar("Reader", OpenAIReader, AnthropicReader)


@pytest.fixture(scope="session")
def retriever() -> Iterator[Assistant]:
    """The assistant that only retrieves, over an index that is built once for the session."""
    with closing(Handbook(Path(__file__).parent / "knowledge")) as handbook:
        yield Assistant(handbook)


@pytest.fixture(scope="session")
def openai_reader(retriever: Assistant) -> OpenAIReader:
    """The assistant that reads with a model in OpenAI's wire format."""
    return _with_sdk(OpenAIReader, retriever)


@pytest.fixture(scope="session")
def anthropic_reader(retriever: Assistant) -> AnthropicReader:
    """The assistant that reads with a model in Anthropic's wire format."""
    return _with_sdk(AnthropicReader, retriever)


@pytest.fixture
def agent(request: pytest.FixtureRequest, recall_case: Case, retriever: Assistant) -> Callable[[Any], Any]:
    """The assistant of the case: its scenario or a tag names the wire format of a model, `streamed` how it answers.

    Any other case is answered by the retriever alone, and no client is built for it.
    """
    for wire in ("openai", "anthropic"):
        if recall_case.scenario == f"answer-{wire}" or wire in recall_case.tags:
            reader: OpenAIReader | AnthropicReader = request.getfixturevalue(f"{wire}_reader")
            return reader.streamed if "streamed" in recall_case.tags else reader.whole
    return retriever


def _with_sdk(kind: Callable[[Assistant], Reader], retriever: Assistant) -> Reader:
    try:
        return kind(retriever)
    except ModuleNotFoundError as error:
        pytest.fail(f"{error.name} is not installed; run: pip install 'pytest-recall[llm]'", pytrace=False)


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
