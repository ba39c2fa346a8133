"""A provider that is down or refuses: one line for each case, and an end to asking after five in a row."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.helpers.project import BARE, Project, case, row
from tests.helpers.upstream import Upstream
from tests.models.endpoint import Answer, endpoint, failure

NAMES = [f"c{number}" for number in range(14)]
ASKING = """\
import os


@pytest.fixture
def agent():
    import httpx

    def answer(question):
        asked(question)
        if question == "own":
            raise TypeError("a bug")
        reply = httpx.post(os.environ["URL"], json={"question": question})
        reply.raise_for_status()
        return reply.json()

    return answer
"""

GOING_ON = """\
import os


@pytest.fixture
def agent():
    import httpx

    def answer(question):
        for _ in range(2):
            try:
                said = [{"role": "user", "content": question}]
                httpx.post(os.environ["URL"], json={"model": "m", "messages": said}).raise_for_status()
                break
            except httpx.HTTPError:
                pass
        return question

    return answer
"""


def project(*names: str, **rubric: object) -> Project:
    """Return a project whose agent asks the server at URL, and for `own` raises an error of its own."""
    text = "".join(f"{name}: {value}\n" for name, value in {"owner": "us", **rubric}.items())
    made = BARE.with_files({"eval/rubric.yaml": text}).with_agent(ASKING)
    return made.with_cases(*(case(name, input=name.partition("-")[0]) for name in names))


@pytest.fixture
def down(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The server that the agent asks is gone, and no other takes its port."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        monkeypatch.setenv("URL", f"http://127.0.0.1:{bound.getsockname()[1]}")
        yield


@pytest.mark.usefixtures("down")
@pytest.mark.parametrize(
    ("arguments", "most"),
    [(("-n2",), 10), (("--recall-concurrency=3",), 8)],
    ids=["n2", "at-once"],
)
def test_a_provider_that_is_down(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], most: int
) -> None:
    checkout = project(*NAMES).with_state(c0=row(3), c13=row(2)).at(pytester)
    result = checkout.run("eval", "--recall-mode=all", *arguments)
    count = len(checkout.asked())
    assert 5 <= count <= most
    result.assert_outcomes(errors=count, skipped=14 - count)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    (told,) = [line for line in result.outlines if line.startswith("  error: ")]
    assert ": agent: 127.0.0.1:" in told
    assert " cannot be reached ([Errno 111]" in told
    result.stdout.fnmatch_lines([f"      the same of {count - 1} more: *"])
    why = "5 trials in a row ended alike: 127.0.0.1:* cannot be reached (*)"
    result.stdout.fnmatch_lines(
        [
            f"partial: {14 - count} of 14 chosen cases not run: {why.replace('[', '[[]')}",
            "to resume: correct that, then run the same command with --recall-resume; it asks what has no verdict yet",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert checkout.boxes() == {"c0": 3, "c13": 2}
    assert {(one.outcome.value, one.ended_by) for one in checkout.journal().trials} == {("error", "outage")}
    assert not list(checkout.artifacts.folder.glob(".outage*"))
    with endpoint(lambda asked: Answer(body=asked.body["question"])) as server:
        monkeypatch.setenv("URL", server.url)
        checkout.run("eval", "--recall-mode=all", "--recall-resume").assert_outcomes(passed=14)


def test_the_sdk_of_a_provider_that_refuses_the_key(pytester: pytest.Pytester) -> None:
    source = """
@pytest.fixture
def agent():
    import openai

    def answer(question):
        with openai.OpenAI(base_url={url!r}, api_key="wrong") as client:
            client.chat.completions.create(messages=[{{"role": "user", "content": question}}], model="gpt-4o-mini")

    return answer
"""
    with endpoint(failure(401, "no such key")) as refusing:
        made = BARE.with_agent(source.format(url=f"{refusing.url}/v1")).with_cases(*map(case, NAMES[:7]))
        result = made.at(pytester).run("eval", "--recall-mode=all")
        result.assert_outcomes(errors=5, skipped=2)
        result.stdout.fnmatch_lines(
            ["  error: c0: eval/cases.yaml:1: agent: 127.0.0.1:* refuses the key (401: no such key)"]
        )
        assert len(refusing.asked) == 5


def test_what_is_not_alike_or_not_in_a_row_goes_on(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's own error may be due to the question, and never ends a run."""
    names = ["a1", "a2", "a3", "a4", "own-1", "b1", "b2", "b3", "b4", "fine-1", *(f"own-{n}" for n in range(2, 9))]
    with endpoint(lambda asked: Answer(body="fine") if asked.body["question"] == "fine" else failure(503)) as server:
        monkeypatch.setenv("URL", server.url)
        checkout = project(*names).at(pytester)
        checkout.run("eval", "--recall-mode=all").assert_outcomes(errors=16, passed=1)


@pytest.mark.usefixtures("down")
@pytest.mark.parametrize("arguments", [(), ("--recall-concurrency=2",)], ids=["alone", "at-once"])
def test_a_series_ends_where_nothing_is_asked(pytester: pytest.Pytester, arguments: tuple[str, ...]) -> None:
    made = project().with_cases(*(case(name, trials=9) for name in NAMES[:4]))
    checkout = made.at(pytester)
    result = checkout.run("eval", "--recall-mode=all", *arguments)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    count = len(checkout.asked())
    assert 5 <= count <= 6
    assert result.parseoutcomes()["rerun"] == count
    result.stdout.fnmatch_lines(["no verdict after * (pass 9of9): 5 trials in a row ended alike: 127.0.0.1:*"])


@pytest.mark.usefixtures("down")
def test_a_baseline_that_cannot_be_asked_is_left_out_alone(pytester: pytest.Pytester) -> None:
    made = project(*NAMES[:7])
    source = made.files["eval/conftest.py"].replace("def agent()", "def agent_other()")
    echo = "\n\n@pytest.fixture\ndef agent():\n    return lambda question: question\n"
    checkout = made.with_files({"eval/conftest.py": source + echo}).at(pytester)
    result = checkout.run("eval", "--recall-mode=all", "--baselines=other")
    assert result.ret == 0
    result.assert_outcomes(passed=7, skipped=2)
    assert len(checkout.asked()) == 5
    result.stdout.fnmatch_lines(["*5 trials of the baseline `other` in a row ended alike: *"])


@pytest.mark.usefixtures("down")
def test_marked_tests_are_counted_as_well_and_all_others_run(pytester: pytest.Pytester) -> None:
    source = """
import os

import httpx
import pytest


@pytest.mark.parametrize("number", range(7))
@pytest.mark.recall("asks")
def test_asks(number):
    httpx.get(os.environ["URL"])


def test_other():
    pass
"""
    files = {"eval/rubric.yaml": "owner: us\n", "eval/test_marked.py": source}
    result = BARE.with_files(files).at(pytester).run("eval", "--recall-mode=all")
    result.assert_outcomes(passed=1, errors=5, skipped=2)
    result.stdout.fnmatch_lines(["  error: asks?0?: eval/test_marked.py:*: 127.0.0.1:* cannot be reached (*)"])


@pytest.mark.usefixtures("down")
def test_the_traceback_is_there_for_whoever_wants_it(pytester: pytest.Pytester) -> None:
    result = project("a").at(pytester).run("eval", "--recall-mode=all", "--tb=long")
    result.stdout.fnmatch_lines(["*E *ConnectError: *"])


@pytest.mark.parametrize(("word", "said"), [("broken", True), ("busy", False), ("fine", False)])
def test_a_verdict_without_the_answer_of_the_provider_is_said_by_the_run_that_asks(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, word: str, said: bool
) -> None:
    monkeypatch.setenv("URL", f"{upstream.url}/any")
    checkout = BARE.with_agent(GOING_ON).with_cases(case("a", input=word)).at(pytester)
    recorded = checkout.run("eval", "--recall-mode=all", "--record")
    recorded.assert_outcomes(passed=1)
    assert ("the provider did not answer" in recorded.stdout.str()) is said
    replayed = checkout.run("eval", "--recall-mode=all", "--replay")
    replayed.assert_outcomes(passed=1)
    assert "the provider did not answer" not in replayed.stdout.str()
