"""Conditions: what is in a prompt and what is not, and a line of text that holds it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings
from pytest_recall.replay.exchange import Call, Request
from pytest_recall.replay.matching import Rules
from pytest_recall.trials.conditions import (
    KEPT,
    MOST,
    Conditions,
    Prompts,
    RecordedAnswer,
    conditions,
    kept_answer,
    prompts,
    taped_of,
    words_of,
)
from pytest_recall.trials.execution import Result
from pytest_recall.trials.trial import Answer, Judgement, Trial, Verdict, Vote
from tests.helpers.samples import costly, trial

URL = "https://api.openai.com/v1/chat/completions"
SYSTEM = {"role": "system", "content": "Be kind."}
INPUT = "When are you open?"


def sent(*bodies: dict[str, Any], url: str = URL) -> Prompts:
    """Return what these requests say, in a case that asks `INPUT`."""
    return prompts([Request("POST", url, (), json.dumps(body).encode()) for body in bodies], [INPUT], Rules())


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the body of a request."""
    return {"model": "small-1", "messages": [SYSTEM, *messages], **more}


def user(text: str) -> dict[str, Any]:
    """Return a message of the user's."""
    return {"role": "user", "content": text}


ONE = chat(user(INPUT))


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        (chat(user(INPUT), temperature=1), {"settings"}),
        (chat(user(INPUT), tools=[{"name": "search"}]), {"tools"}),
        (chat(user(f"A guest asks: {INPUT}")), {"dialogue"}),
        ({**ONE, "messages": [{"role": "system", "content": "Be curt."}, user(INPUT)]}, {"system"}),
        (chat(user(INPUT), model="large-2"), set()),
        (chat(user(INPUT), stream=True, user="anna", seed=7), set()),
    ],
)
def test_each_change_is_seen_in_its_part_and_the_model_in_none(changed: dict[str, Any], parts: set[str]) -> None:
    was, now = sent(ONE), sent(changed)
    assert {name for name in Prompts._fields if getattr(was, name) != getattr(now, name)} == parts


@pytest.mark.parametrize("other", ["And on Sunday?", "x"])
def test_the_cases_own_words_are_no_part_of_the_prompt(other: str) -> None:
    request = Request("POST", URL, (), json.dumps(chat(user(f"Answer: {other}"))).encode())
    assert prompts([request], [other], Rules()) == sent(chat(user(f"Answer: {INPUT}")))


def test_days_times_and_ids_in_a_prompt_are_no_change() -> None:
    first = "It is 2026-03-10T08:15:00Z, run 0b9c2c66-5d1e-4c8f-9a51-0f6f2f3d8a10."
    later = "It is 2026-04-11T09:45:30Z, run 7d1f1b1e-0000-4c8f-9a51-0f6f2f3d8a99."
    assert sent(chat(user(first))) == sent(chat(user(later)))


def test_what_a_model_or_a_tool_has_replied_is_no_prompt() -> None:
    def session(reply: str) -> Prompts:
        said = {"role": "assistant", "content": reply}
        return sent(ONE, chat(user(INPUT), said, user("Are you sure?")), chat(user(f"Check this: {reply}")))

    assert session("At ten.") == session("From ten to four, on each day of the week.")


def test_other_apis_have_their_prompts_elsewhere() -> None:
    anthropic = {"model": "c", "system": "Be kind.", "messages": [user(INPUT)], "max_tokens": 9}
    gemini = {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [{"role": "user", "parts": [{"text": INPUT}]}],
        "generationConfig": {"temperature": 0},
    }
    responses = {"model": "g", "instructions": "Be kind.", "input": INPUT, "temperature": 0}
    for body in (anthropic, gemini, responses):
        found = sent(body, url="https://api.example.org/v1/any")
        assert found.system
        assert found.settings
        assert found.dialogue
        curt = json.loads(json.dumps(body).replace("kind", "curt"))
        assert sent(curt, url="https://api.example.org/v1/any").system != found.system


def test_what_asks_no_model_is_passed_over() -> None:
    assert sent({"query": INPUT}, url="https://search.example.org") == Prompts()
    assert sent({"model": "e", "input": INPUT}, url="https://api.openai.com/v1/embeddings") == Prompts()
    assert prompts([Request("GET", URL), Request("POST", URL, (), b"\xff{")], [INPUT], Rules()) == Prompts()


def test_no_more_than_a_few_prompts_are_kept() -> None:
    many = [{**ONE, "messages": [{"role": "system", "content": f"You are agent {n}."}, user(INPUT)]} for n in range(9)]
    assert len(sent(*many).system) == MOST
    assert sent(*many, *many) == sent(*many)


def test_words_are_those_of_turns_and_of_mappings() -> None:
    assert list(words_of(["a", None, {"q": "b", "more": ["c", 3]}])) == ["a", "b", "c"]


def under(given: Trial, rubric: Settings = DEFAULT_SETTINGS, taped: RecordedAnswer | None = None) -> Conditions:
    """Return the conditions of a trial that sent nothing."""
    return conditions(Result.of(given), given.calls, Prompts(), rubric, (), fingerprint=given.fingerprint, taped=taped)


def judged(model: str = "m", version: str = "v1", **vote: Any) -> Trial:
    """Return a trial that a model judged."""
    said = Vote(model=model, passed=True, **vote)
    return trial(verdicts=(Verdict(passed=True, judge="rubric", version=version, judgement=Judgement((said,))),))


def test_a_judge_is_its_models_its_prompt_and_its_criteria_and_not_its_appeal() -> None:
    one = under(judged())
    criteria = Settings.model_validate({"owner": "us", "judge": {"criteria": {"tone": {"question": "Is it kind?"}}}})
    assert len({one, under(judged("n")), under(judged(version="v2")), under(judged(replied="m-2026"))}) == 4
    assert under(judged(), criteria) != one
    appealed = judged()
    (verdict,) = appealed.verdicts
    assert verdict.judgement is not None
    appeal = verdict.judgement._replace(appeal=Vote(model="z", passed=True))
    again = Verdict(passed=True, judge="rubric", version="v1", model="z", judgement=appeal)
    assert under(appealed._replace(verdicts=(again,))) == one


def test_a_judge_is_not_known_where_a_vote_is_missing() -> None:
    votes = tuple(Vote(model=model, passed=True) for model in ("m", "n"))
    assert panel(votes).judge
    assert not panel((votes[0], Vote(model="n", error="no reply within 60 s"))).judge
    appeal = Vote(model="z", passed=True)
    assert panel(votes, appeal) == panel(votes)


def panel(votes: tuple[Vote, ...], appeal: Vote | None = None) -> Conditions:
    """Return the conditions of a trial with these votes."""
    judgement = Judgement(votes, appeal)
    return under(trial(verdicts=(Verdict(passed=True, judge="rubric", version="v1", judgement=judgement),)))


def test_a_threshold_counts_where_the_case_has_none_of_its_own() -> None:
    scored = trial(verdicts=(Verdict(passed=True, score=0.8, judge="token_f1"),))
    rubric = Settings.model_validate({"owner": "us", "thresholds": {"token_f1": 0.5, "other": 0.1}})
    assert under(scored, rubric).threshold
    assert not under(scored).threshold
    assert not conditions(Result.of(scored), (), Prompts(), rubric, ["token_f1"]).threshold


def test_a_model_is_who_answered_well_and_trouble_what_was_not_overcome() -> None:
    calls = (
        Call("agent", "live", "small-1-0101"),
        Call("agent", "live", "small-1", trouble="http-500"),
        Call("agent", "live", "small-1", trouble="http-429", retried=True),
        Call("judge", "live", "judge-9", trouble="http-503"),
        Call("agent", "live", "a name, with spaces"),
    )
    found = under(trial(calls=calls))
    assert found.model[0] == "small-1-0101"
    assert found.model[1].startswith("~")
    assert found.trouble == ("http-500",)


def test_a_recording_says_whether_the_agent_makes_the_same_of_it() -> None:
    header = {"recorded_at": "2026-01-02T03:04:05+00:00", "answer": "ten", "outcome": "passed"}
    assert taped_of(header) == RecordedAnswer("2026-01-02", "ten", passed=True)
    assert taped_of({"answer": 3}) == RecordedAnswer("")
    answered = trial(answer=Answer(text="ten"))
    assert (under(answered, taped=taped_of(header)).taped, under(answered, taped=taped_of(header)).retold) == (
        ("2026-01-02",),
        ("same",),
    )
    assert under(trial(answer=Answer(text="four")), taped=taped_of(header)).retold == ("other",)
    assert under(answered, taped=RecordedAnswer("2026-01-02")).retold == ()
    long = "x" * (KEPT + 1)
    assert under(trial(answer=Answer(text=long)), taped=RecordedAnswer("2026-01-02", kept_answer(long))).retold == (
        "same",
    )


names = st.from_regex(r"[\w.@/:~-]{1,20}", fullmatch=True)
few = st.lists(names, max_size=3, unique=True).map(tuple)


@costly
@given(st.builds(Conditions, *[few] * len(Conditions._fields)))
def test_a_line_of_text_holds_them(found: Conditions) -> None:
    assert Conditions.parse(str(found)) == found
    assert "\n" not in str(found)
    assert '"' not in str(found)


def test_what_is_none_of_them_is_passed_over() -> None:
    assert Conditions.parse("case=aaaaaa later=9 nonsense =x case") == Conditions(case=("aaaaaa",))
    assert Conditions.parse(None) == Conditions.parse("") == Conditions()
