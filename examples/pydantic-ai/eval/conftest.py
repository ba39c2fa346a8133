"""The system under test, and the judge of its fields."""

from __future__ import annotations

import json
import os

import pytest
from pydantic_ai import UnexpectedModelBehavior
from triage import Shop, desk

from pytest_recall import Verdict

# The recordings are of this address. In a replay nothing is there, and nothing needs to be.
os.environ["OPENAI_BASE_URL"] = os.environ.get("MODEL_URL", "http://127.0.0.1:18080") + "/v1"
os.environ.setdefault("OPENAI_API_KEY", "none-needed")


@pytest.fixture(scope="session")
def agent():
    """The desk: a mail in, the ticket as JSON out."""
    sorter, shop = desk(), Shop(orders=frozenset({"A-1017", "A-1044", "B-2300"}))

    async def answer(mail):
        try:
            result = await sorter.run(mail, deps=shop)
        except UnexpectedModelBehavior as error:
            # The model never came to a valid ticket: its fault, and no outage. Anything else is raised.
            return {"text": json.dumps({"error": str(error)})}
        used = result.usage
        usage = {"input_tokens": used.input_tokens, "output_tokens": used.output_tokens, "requests": used.requests}
        return {"text": result.output.model_dump_json(), "usage": usage}

    return answer


@pytest.fixture(scope="session")
def judge_fields():
    """Score the share of the fields of `expected` that the ticket has with the same values."""

    def judge(answer, case, *, expected=None):
        wanted, got = expected or case.expected, json.loads(answer.text)
        wrong = [
            f"{name}: {got.get(name)!r}, not {value!r}" for name, value in wanted.items() if got.get(name) != value
        ]
        return Verdict(passed=None, score=1 - len(wrong) / len(wanted), reason="; ".join(wrong))

    return judge


@pytest.fixture(scope="session")
def judge_requests():
    """Pass if the ticket was there after at most `most` requests, so that retries do not go unseen."""

    def judge(answer, case, *, most=1):
        made = answer.usage.get("requests", float("inf"))
        return made <= most, f"{made} requests, more than {most}"

    return judge
