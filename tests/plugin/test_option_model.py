"""`--model`: the model under test, for the state as a name and for agents as someone to ask."""

from __future__ import annotations

import pytest

from tests.helpers.project import BARE, ECHOING, IN, RECORDING, Project, case
from tests.helpers.talking import agent, asking, talking
from tests.helpers.upstream import Upstream

Workers = tuple[str, ...]
PLAIN = BARE.with_cases(case("a", input="echo a", expected="a"), case("b", turns=["echo b", "echo c"], expected="c"))
USING = """\
from pytest_recall.models.model import Ask, Message


@pytest.fixture
def agent(recall_model):
    def answer(question):
        if question == "ask":
            return recall_model.ask(Ask(messages=(Message("user", "echo asked"),), system="be brief")).text
        if question == "list":
            system = {"role": "system", "content": "be brief"}
            return recall_model([system, {"role": "user", "content": "echo listed"}])
        if question == "name":
            return recall_model.name
        return recall_model("echo said")

    return answer
"""


def without_input(project: Project) -> Project:
    """Return the project without the inputs of cases that have turns."""
    text = project.files["eval/cases.yaml"].replace('  input: "b"\n', "")
    return project.with_files({"eval/cases.yaml": text})


def test_cases_and_a_model_are_a_whole_eval(pytester: pytest.Pytester, upstream: Upstream) -> None:
    selector = f"openai:m;{upstream.url}/v1"
    checkout = without_input(PLAIN).at(pytester)
    result = checkout.run("eval", "--model", selector, "-n1", "-v")
    result.assert_outcomes(passed=2)
    assert upstream.count == 3
    assert {row.last_model for row in checkout.state().values()} == {"m"}
    result.stdout.fnmatch_lines(["*, model m"])
    result.stdout.no_fnmatch_line("warning: the replies are of*")
    trial = checkout.journal().trials[0]
    assert trial.answer is not None
    assert trial.answer.usage == {"input_tokens": 10, "output_tokens": 5}


def test_the_rubric_may_name_it(pytester: pytest.Pytester, upstream: Upstream) -> None:
    rubric = f"owner: me\nmodel_primary: openai:m;{upstream.url}/v1\n"
    checkout = without_input(PLAIN).with_files({"eval/rubric.yaml": rubric}).at(pytester)
    checkout.run("eval", "--record").assert_outcomes(passed=2)
    upstream.close()
    checkout.run("eval", "--recall-mode=all", "--replay").assert_outcomes(passed=2)


def test_an_agent_can_ask_it(pytester: pytest.Pytester, upstream: Upstream) -> None:
    selector = f"openai:m;{upstream.url}/v1"
    expected = {"ask": "asked", "list": "listed", "say": "said", "name": selector}
    checkout = BARE.with_agent(USING).with_cases(*(case(k, expected=v) for k, v in expected.items())).at(pytester)
    checkout.run("eval", "--model", selector).assert_outcomes(passed=4)
    systems = [body["messages"][0] for body in upstream.bodies if len(body["messages"]) == 2]
    assert systems == [{"role": "system", "content": "be brief"}] * 2


NO_MODEL = "no model is named; give --model SELECTOR, or `model_primary` in eval/rubric.yaml"
NO_SELECTOR = "'m-1': no model is selected like this; known: anthropic, azure, claude, codex, command, copilot, http"


@pytest.mark.parametrize(
    ("options", "said"), [((), NO_MODEL), (("--model=m-1",), NO_SELECTOR)], ids=["none", "no selector"]
)
def test_one_that_cannot_be_asked_is_refused_where_it_is_needed(
    pytester: pytest.Pytester, options: Workers, said: str
) -> None:
    checkout = BARE.with_agent(USING).with_cases(case("a"), case("b")).at(pytester)
    result = checkout.run("eval", *options)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert next(line for line in result.outlines if said in line).startswith("eval/cases.yaml:1: recall_model: ")
    assert "Traceback" not in result.stdout.str()
    assert checkout.run("eval", "--collect-only", *options).ret == 0


def test_where_no_call_is_seen_no_model_is_named(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a")).at(pytester)
    result = checkout.run("eval", "--model=m-1")
    result.assert_outcomes(passed=1)
    assert "m-1" not in result.stdout.str()
    assert checkout.state()["a"].last_model is None
    assert checkout.scorecard()["model"] is None


def test_the_model_is_the_one_that_the_replies_name(pytester: pytest.Pytester, upstream: Upstream) -> None:
    """An agent of one's own does not ask `recall_model`, so that `--model` changes nothing of what it asks."""
    source = agent("return plain_sync(f'echo {question}')")
    checkout = talking(upstream, source).with_cases(case("a")).at(pytester)
    result = checkout.run("eval", "--model", "gpt-4o", "-v")
    warning = "warning: the replies are of gpt-4o-mini, and `--model` or `model_primary` names gpt-4o"
    assert warning in result.outlines
    result.stdout.fnmatch_lines(["pull request, 2026-03-10, seed 2026-03-10, model gpt-4o-mini"])
    assert checkout.state()["a"].last_model == checkout.scorecard()["model"] == "gpt-4o-mini"
    page = (checkout.artifacts.folder / "scorecard.md").read_text(encoding="utf-8")
    assert r"seed 2026-03-10, model gpt-4o-mini." in page
    assert "- warning: the replies are of gpt-4o-mini, and `--model` or" in page
    # What is asked for now is compared with what replied at the last verdict.
    checkout.run("eval", "--model", "gpt-4o", day=IN[1])
    assert checkout.scorecard()["model_swapped"] == 1
    result = checkout.run("eval", "--model", "openai:gpt-4o-mini", day=IN[1])
    assert not any("another model" in line or "warning" in line for line in result.outlines)


def test_without_an_agent_a_name_that_is_no_selector_asks_nobody(pytester: pytest.Pytester) -> None:
    checkout = BARE.with_cases(case("a")).at(pytester)
    result = checkout.run("eval", "--model=m-1")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    said = f"eval/cases.yaml:1: no `agent` fixture, so that the model under test is asked: {NO_SELECTOR}"
    assert any(line.startswith(said) for line in result.outlines)


def test_a_mapping_is_not_put_into_words_for_anybody(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = BARE.with_cases(asking("a", input={"question": "x"})).at(pytester)
    result = checkout.run("eval", "--model", f"openai:m;{upstream.url}/v1")
    result.assert_outcomes(errors=1)
    assert "a model is asked in text, and the input is a mapping" in checkout.journal().trials[0].error
    assert upstream.count == 0


def test_an_ordinary_test_can_ask_it_too(pytester: pytest.Pytester, upstream: Upstream) -> None:
    test = f"""\
{RECORDING}
@pytest.mark.recall("marked")
def test_marked(recall_model):
    assert recall_model("echo yes").text == "yes"
"""
    checkout = BARE.with_files({"test_marked.py": test}).at(pytester)
    checkout.run("--model", f"openai:m;{upstream.url}/v1").assert_outcomes(passed=1)
    checkout.run("--recall-mode=all").assert_outcomes(errors=1)
