"""`--recall-batch`: calls of cases that run at once go through the batch APIs, at half price."""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

import pytest

from tests.cli.samples import recall
from tests.helpers.batching import NAMES, Service, batched, project, run, serving
from tests.helpers.project import Checkout
from tests.helpers.talking import agent, answers, asking, talking, trial
from tests.plugin.conftest import Once

pytest.importorskip("openai")
pytest.importorskip("anthropic")

SDKS = """\
if question == "c5":
    return str(openai_client().embeddings.create(input=question, model="small").data[0].embedding)
return [openai_sync, openai_async, legacy, anthropic_sync, anthropic_async][int(question[1])](question)
"""
TWO = NAMES[:2]
LOOP = """\
first = {way}(question)
return {way}(f"tell me more of {{first}}")
"""


class HalfPrice(NamedTuple):
    """A run of six cases by one batch, and what there was of it at the service."""

    checkout: Checkout
    result: pytest.RunResult
    service: Service


@pytest.fixture(scope="module")
def half_price(once: Once) -> HalfPrice:
    """See the class."""
    with once() as pytester, contextmanager(serving)() as service:
        checkout = project(service, "return openai_sync(question, timeout=0.01)").at(pytester)
        return HalfPrice(checkout, run(checkout), service)


def test_one_batch_answers_all_cases_at_half_price_and_no_timeout_of_a_client_ends_the_wait(
    half_price: HalfPrice,
) -> None:
    checkout, result, service = half_price
    result.assert_outcomes(passed=6)
    assert answers(checkout) == {name: f"re: {name}" for name in NAMES}
    assert service.sizes == [6]
    assert service.direct == {}
    assert service.keys == {"sk-none"}
    result.stdout.fnmatch_lines(["spent $3.00*", "batches: 6 calls at half price, 1 batch made"])
    assert all(call.batched and call.cost == 0.5 for name in NAMES for call in trial(checkout, name).calls)


def test_nothing_that_was_said_is_on_the_disk(half_price: HalfPrice) -> None:
    lines = (half_price.checkout.artifacts.folder / "batches.jsonl").read_text().splitlines()
    assert "sk-none" not in "".join(lines)
    assert "messages" not in "".join(lines)
    assert [line.partition(":")[0] for line in lines] == ['{"batch"', *['{"taken"'] * 6]


def test_an_estimate_after_it_knows_the_price_by_batch_and_without(half_price: HalfPrice) -> None:
    told = {
        options: recall(half_price.checkout.path, "schedule", "estimate", "--mode", "all", *options).out.splitlines()
        for options in ((), ("--batch",))
    }
    assert told[()][0].startswith("6 cases: about $6.00, at list price")
    assert told[()][1] == "the agent's time, one case after another: unknown"
    assert told[("--batch",)][0].startswith("6 cases: about $3.00 by batch, about $6.00 without, ")
    assert told[("--batch",)][1].startswith("from 1 earlier run: 6 cases by what it cost itself")


def test_each_client_of_an_sdk_waits_for_a_batch_of_its_endpoint(pytester: pytest.Pytester, service: Service) -> None:
    checkout = project(service, SDKS, files=batched(requests=3)).at(pytester)
    run(checkout).assert_outcomes(passed=6)
    assert answers(checkout) == {**{name: f"re: {name}" for name in NAMES}, "c5": "[0.5, 1.0]"}
    assert (sorted(service.sizes), service.direct) == ([1, 2, 3], {})
    assert {batch.path for batch in service.batches.values()} == {
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/embeddings",
    }


def test_each_worker_makes_its_own(pytester: pytest.Pytester, service: Service) -> None:
    checkout = project(service, "return plain_sync(question)", *NAMES[:4], files=batched()).at(pytester)
    result = run(checkout, "-n", "2")
    result.assert_outcomes(passed=4)
    assert sum(service.sizes) == 4
    # A worker is given its cases little by little.
    result.stdout.re_match_lines([rf"batches: 4 calls at half price, {len(service.sizes)} batch(es)? made$"])


def test_what_asks_for_another_model_or_by_another_api_is_in_another_batch(
    pytester: pytest.Pytester, service: Service
) -> None:
    body = """\
if question < "c2":
    return anthropic_sync(question)
if question < "c4":
    return openai_sync(question)
return openai_client().chat.completions.create(messages=said(question), model="gpt-5").choices[0].message.content
"""
    checkout = project(service, body, files=batched(requests=2, quiet=5)).at(pytester)
    run(checkout).assert_outcomes(passed=6)
    assert service.sizes == [2, 2, 2]


CLIENTS = """\
import json
import urllib.request
import aiohttp
import requests
chat = dict(messages=said(question), **GPT)
if question < "c2":
    done = requests.post(URL + "/v1/chat/completions", json=chat).json()
elif question < "c4":
    data = json.dumps(dict(messages=said(question), **CLAUDE)).encode()
    with urllib.request.urlopen(urllib.request.Request(URL + "/v1/messages", data)) as response:
        return json.load(response)["content"][0]["text"]
else:
    async def ask():
        async with aiohttp.ClientSession() as session:
            async with session.post(URL + "/v1/chat/completions", json=chat) as response:
                return await response.json()
    done = asyncio.run(ask())
return done["choices"][0]["message"]["content"]
"""


@pytest.mark.parametrize("options", [(), ("--record",)], ids=["live", "record"])
def test_other_clients_wait_as_well(pytester: pytest.Pytester, service: Service, options: tuple[str, ...]) -> None:
    for client in ("aiohttp", "requests"):
        pytest.importorskip(client)
    checkout = project(service, CLIENTS, files=batched(requests=2, quiet=5)).at(pytester)
    run(checkout, *options).assert_outcomes(passed=6)
    assert answers(checkout) == {name: f"re: {name}" for name in NAMES}
    assert (service.sizes, service.direct) == ([2, 2, 2], {})
    if options:
        checkout.run("eval", "--recall-mode=all", "--replay").assert_outcomes(passed=6)
        assert service.sizes == [2, 2, 2]


LATE = """\
@pytest.fixture(scope="session")
def agent():
    async def answer(question):
        import requests
        requests.post(URL + "/v1/chat/completions", json=dict(messages=said(question), **GPT))
        return await openai_async(question)

    return answer
"""
TOPIC = """\
@pytest.fixture
def topic():
    return plain_sync("topic")


@pytest.fixture
def agent(topic):
    return lambda question: openai_sync(f"{topic} {question}")
"""
STREAMS = """\
if question == "streams-0":
    return openai_stream(question)
if question == "streams-1":
    return httpx2_sync(question)
return openai_sync(question)
"""
DIRECTLY = {
    "alone": ("@pytest.fixture\ndef agent(recall_alone):\n    return plain_sync\n", 2),
    "loop": (LATE, 2),
    "streams": (agent(STREAMS), 4),
    "topic": (TOPIC, 2),
}
"""Agents that make calls which are not for a batch, and how many cases each has."""


def test_what_is_not_for_a_batch_goes_directly_and_the_end_says_why(
    pytester: pytest.Pytester, service: Service
) -> None:
    """Streams, other paths, a case that is alone, fixtures, and a client that would keep the loop waiting."""
    pytest.importorskip("requests")
    made = project(service, "return openai_sync(question)", *TWO, files=batched(requests=2, quiet=5))
    for name, (source, count) in DIRECTLY.items():
        conftest = talking(service, source, key="sk-none").files["eval/conftest.py"]
        cases = (asking(f"{name}-{number}") for number in range(count))
        made = made.with_files({f"eval/{name}/conftest.py": conftest})
        made = made.with_cases(*cases, file=f"eval/{name}/it.cases.yaml")
    checkout = made.at(pytester)
    result = run(checkout)
    result.assert_outcomes(passed=12)
    assert service.sizes == [2, 2, 2, 2]
    assert service.direct["topic"] == 2
    assert sum(service.direct.values()) == 8
    (told,) = [line for line in result.outlines if line.startswith("batches: ")]
    assert told.startswith("batches: 8 calls at half price, 4 batches made; 8 calls directly: ")
    assert sorted(told.partition("directly: ")[2].split("; ")) == [
        "1 that stream",
        "1 to an endpoint without batches",
        "2 by a client that would have kept its event loop waiting",
        "2 outside of the cases that run at once",
        "2 while fixtures were set up",
    ]
    calls = [call for number in range(4) for call in trial(checkout, f"streams-{number}").calls]
    assert [call.batched for call in calls] == [False, False, True, True]


def test_other_hosts_are_left_alone(pytester: pytest.Pytester, service: Service) -> None:
    files = {"eval/rubric.yaml": "owner: ana\n"}
    checkout = project(service, "return plain_sync(question)", *TWO, files=files).at(pytester)
    result = run(checkout)
    result.assert_outcomes(passed=2)
    assert service.sizes == []
    host = "2 to 127.0.0.1, which is not `batch` under `calls` in the rubric"
    result.stdout.fnmatch_lines([f"batches: 0 calls at half price, 0 batches made; 2 calls directly: {host}"])


def test_judging_models_are_asked_by_batch_and_the_known_answers_directly(
    pytester: pytest.Pytester, service: Service
) -> None:
    cases = [asking(name, judges=[{"rubric": "is polite"}]) for name in TWO]
    files = batched(requests=2, more=f"judge: {{model: '{service.url}/v1#gpt-4o-mini', preflight: warn}}\n")
    checkout = project(service, "return plain_sync(question)", files=files).with_cases(*cases).at(pytester)
    result = run(checkout)
    result.assert_outcomes(passed=2)
    assert service.sizes == [2, 2]
    # A judge that fails half of the known answers is asked no more.
    result.stdout.fnmatch_lines(["batches: 4 calls *; 4 calls directly: 4 known answers, put to a judge"])
    assert [call.kind for call in trial(checkout, "c1").calls if call.batched] == ["agent", "judge"]


def test_what_is_recorded_is_replayed_without_and_not_asked_again(pytester: pytest.Pytester, service: Service) -> None:
    loop = LOOP.format(way="anthropic_sync")
    checkout = project(service, loop, *TWO).at(pytester)
    run(checkout, "--record").assert_outcomes(passed=2)
    assert service.sizes == [2, 2], "a loop of two rounds makes two batches"
    asked = len(service.requests)
    checkout.run("eval", "--recall-mode=all", "--replay").assert_outcomes(passed=2)
    assert answers(checkout) == {name: f"re: tell me more of re: {name}" for name in TWO}
    assert len(service.requests) == asked
    checkout = project(service, loop, *NAMES[:4], files=batched(requests=2)).at(pytester)
    run(checkout, "--record=missing").assert_outcomes(passed=4)
    assert service.sizes == [2, 2, 2, 2]
    assert set(service.prompts.values()) == {1}


def test_calls_for_which_the_budget_has_no_room_wait_for_a_later_batch(
    pytester: pytest.Pytester, service: Service
) -> None:
    """Each may cost $26.80 before anything is known of an answer, so that $30.00 are enough for one at a time."""
    checkout = project(service, LOOP.format(way="plain_sync"), files=batched(requests=6)).at(pytester)
    result = run(checkout, "--budget=30")
    result.assert_outcomes(passed=6)
    assert service.sizes[0] == 1
    assert sum(service.sizes) == 12
    result.stdout.fnmatch_lines(["spent $6.00 of the budget of $30.00"])


def test_a_timeout_of_the_agents_own_does(pytester: pytest.Pytester, service: Service) -> None:
    source = """\
@pytest.fixture(scope="session")
def agent():
    async def answer(question):
        return await asyncio.wait_for(openai_async(question), 1)

    return answer
"""
    service.hold = 1
    files = batched(requests=2, quiet=5, poll=0.2)
    checkout = project(service, "", "c0", "c1", source=source, files=files).at(pytester)
    result = run(checkout)
    result.assert_outcomes(errors=2)
    assert "TimeoutError" in trial(checkout, "c0").error
    result.stdout.fnmatch_lines(["1 batch goes on, or has answers that no case has used (batch_1); the next run *"])


def test_a_case_that_is_asked_several_times_waits_once_and_then_asks_directly(
    pytester: pytest.Pytester, service: Service
) -> None:
    cases = [asking(name, trials="3of3") for name in NAMES[:3]]
    checkout = project(service, "return plain_sync(question)", *NAMES[:3]).with_cases(*cases).at(pytester)
    result = run(checkout)
    assert [trial.outcome.value for trial in checkout.journal().trials] == ["passed"] * 9
    assert service.sizes == [3]
    assert service.direct == dict.fromkeys(NAMES[:3], 2)
    assert "the next run" not in result.stdout.str()


@pytest.mark.usefixtures("every_plugin")
def test_what_was_begun_in_vain_and_is_begun_again_is_not_bought_twice(
    pytester: pytest.Pytester, service: Service
) -> None:
    source = """\
import collections

TIMES = collections.Counter()


@pytest.fixture
def agent(module):
    def answer(question):
        said = openai_sync(question)
        TIMES[question] += 1
        if question == "c0" and TIMES[question] == 1:
            raise RuntimeError("not yet")
        return said

    return answer


@pytest.fixture(scope="module")
def module():
    return 1
"""
    pytest.importorskip("pytest_rerunfailures")
    checkout = project(service, "", *TWO, source=source).at(pytester)
    run(checkout, "--reruns=1", "-p", "no:xdist").assert_outcomes(passed=2)
    assert service.sizes == [2]
    assert service.direct == {"c0": 1}


def test_progress_says_how_many_wait(pytester: pytest.Pytester, service: Service) -> None:
    made = project(service, "return plain_sync(question)", *TWO, files=batched(requests=2, quiet=5, poll=0.3))
    ini = made.files["pytest.ini"] + "recall_progress = 0.3\n"
    result = run(made.with_files({"pytest.ini": ini}).at(pytester))
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["recall: 0 of 2 cases, 2 calls wait in 1 batch"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--recall-concurrency=1",),
            "ERROR: --recall-batch would wait for a batch of one call at a time with --recall-concurrency 1; give more",
        ),
        (
            ("--setup-show", "-q"),
            "*ERROR: --recall-batch has no effect where cases run one by one, since fixtures are shown as they are set"
            " up; leave it out",
        ),
    ],
    ids=["one", "setup-show"],
)
def test_what_would_have_no_effect_is_refused(
    pytester: pytest.Pytester, service: Service, options: tuple[str, ...], said: str
) -> None:
    checkout = project(service, "return plain_sync(question)").at(pytester)
    result = run(checkout, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([said])
    assert service.requests == []


def test_a_host_that_is_none_is_refused(pytester: pytest.Pytester, service: Service) -> None:
    files = {"eval/rubric.yaml": "owner: ana\ncalls: {'https://example.org/v1': batch}\n"}
    result = run(project(service, "return plain_sync(question)", files=files).at(pytester))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: eval/rubric.yaml:2: calls: *is not a host; write `example.org`"])
