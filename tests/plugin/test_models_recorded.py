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

with resolve(selector) as model:
    return model.ask(Ask(messages=(Message("user", question),))).text"""


OPENAI, ANTHROPIC = "openai:m;{url}/v1", "anthropic:m;{url}"


def with_model(upstream: Upstream, selectors: dict[str, str]) -> Project:
    """Return a project whose agent is a model by its selector; each of these prompts is for another."""
    urls = {prompt: selector.format(url=upstream.url) for prompt, selector in selectors.items()}
    project = talking(upstream, agent(f"selector = {urls!r}[question]\n{ASK}"))
    return project.with_cases(*(asking(prompt.replace(" ", "-"), prompt) for prompt in selectors))


def test_what_a_model_replied_is_replayed_without_it(pytester: pytest.Pytester, upstream: Upstream) -> None:
    models = {"one": OPENAI, "two": OPENAI, "three": ANTHROPIC, "four": ANTHROPIC}
    checkout = with_model(upstream, models).at(pytester)
    checkout.run("-p", "recall", "eval", "--record").assert_outcomes(passed=4)
    recorded = answers(checkout)
    for name in ("one", "three"):
        (call,) = trial(checkout, name).calls
        assert (call.model, call.tokens and call.tokens.output) == ("m", 5)
    checkout.forget()
    upstream.close()
    checkout.run("-p", "recall", "eval", "--replay", "-n1").assert_outcomes(passed=4)
    assert answers(checkout) == recorded
    assert set(sources(checkout).values()) == {"replayed"}


def test_a_busy_model_is_recorded_as_it_was(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    jumps = no_wait(monkeypatch)
    checkout = with_model(upstream, {"busy now": OPENAI}).at(pytester)
    checkout.run("-p", "recall", "eval", "--record").assert_outcomes(passed=1)
    assert len(trial(checkout, "busy-now").calls) == 2
    assert sum(jumps) >= 3
    upstream.close()
    checkout.forget()
    checkout.run("-p", "recall", "eval", "--replay").assert_outcomes(passed=1)
    assert [call.source for call in trial(checkout, "busy-now").calls] == ["replayed"] * 2


def test_a_call_that_is_not_recorded_ends_its_case_at_once(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = with_model(upstream, {"one": OPENAI}).at(pytester)
    result = checkout.run("-p", "recall", "eval", "--replay")
    result.assert_outcomes(errors=1)
    assert upstream.count == 0
    assert "/v1/chat/completions is not recorded" in trial(checkout, "one").error
