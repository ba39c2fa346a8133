"""Models by selector in a run: their calls are recorded, replayed and counted as those of any agent."""

from __future__ import annotations

import pytest

from tests.helpers.project import Project
from tests.helpers.talking import agent, answers, asking, sources, talking, trial
from tests.helpers.upstream import Upstream
from tests.helpers.waiting import no_wait

for _sdk in ("openai", "anthropic"):
    pytest.importorskip(_sdk)

ASK = """\
from pytest_recall.models.model import Ask, Message
from pytest_recall.models.resolve import resolve

with resolve({selector!r}) as model:
    return model.ask(Ask(messages=(Message("user", question),))).text"""


def with_model(upstream: Upstream, selector: str, *prompts: str) -> Project:
    """Return a project whose agent is a model by its selector."""
    project = talking(upstream, agent(ASK.format(selector=selector)))
    return project.with_cases(*(asking(prompt.replace(" ", "-"), prompt) for prompt in prompts))


@pytest.mark.parametrize(
    ("form", "workers"),
    [("openai:m;{url}/v1", ("-n1",)), ("anthropic:m;{url}", ())],
    ids=["openai-n1", "anthropic"],
)
def test_what_a_model_replied_is_replayed_without_it(
    pytester: pytest.Pytester, upstream: Upstream, form: str, workers: tuple[str, ...]
) -> None:
    checkout = with_model(upstream, form.format(url=upstream.url), "one", "two").at(pytester)
    checkout.run("-p", "recall", "eval", "--record").assert_outcomes(passed=2)
    recorded = answers(checkout)
    (call,) = trial(checkout, "one").calls
    assert (call.model, call.tokens and call.tokens.output) == ("m", 5)
    checkout.forget()
    upstream.close()
    checkout.run("-p", "recall", "eval", "--replay", *workers).assert_outcomes(passed=2)
    assert answers(checkout) == recorded
    assert set(sources(checkout).values()) == {"replayed"}


def test_a_busy_model_is_recorded_as_it_was(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    jumps = no_wait(monkeypatch)
    checkout = with_model(upstream, f"openai:m;{upstream.url}/v1", "busy now").at(pytester)
    checkout.run("-p", "recall", "eval", "--record").assert_outcomes(passed=1)
    assert len(trial(checkout, "busy-now").calls) == 2
    assert sum(jumps) >= 3
    upstream.close()
    checkout.forget()
    checkout.run("-p", "recall", "eval", "--replay").assert_outcomes(passed=1)
    assert [call.source for call in trial(checkout, "busy-now").calls] == ["replayed"] * 2


def test_a_call_that_is_not_recorded_ends_its_case_at_once(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = with_model(upstream, f"openai:m;{upstream.url}/v1", "one").at(pytester)
    result = checkout.run("-p", "recall", "eval", "--replay")
    result.assert_outcomes(errors=1)
    assert upstream.count == 0
    assert "/v1/chat/completions is not recorded" in trial(checkout, "one").error
