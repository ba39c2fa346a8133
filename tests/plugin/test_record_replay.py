"""`--record` and `--replay`: every client, and what a recording is good for without its upstream."""

from __future__ import annotations

import pytest

from pytest_recall.trials.journal import read_journal
from tests.helpers import kept
from tests.helpers.project import Checkout, Project
from tests.helpers.talking import (
    FORGETTING,
    WAYS,
    agent,
    agents,
    answers,
    asking,
    asks,
    calls,
    cassette,
    drafts,
    finished,
    no_sleep,
    no_sockets,
    sources,
    talking,
    trial,
)
from tests.helpers.upstream import Upstream, numbers

pytest.importorskip("openai")
pytest.importorskip("anthropic")
pytest.importorskip("httpx")


def recorded(pytester: pytest.Pytester, upstream: Upstream, project: Project) -> Checkout:
    """Return the project after its recording, with its upstream gone."""
    checkout = project.at(pytester)
    result = checkout.run("eval", "--record", "--recall-mode=all")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    upstream.close()
    return checkout


def replayed(checkout: Checkout, *args: str) -> None:
    """Replay everything, and assert that it passes."""
    result = checkout.run("eval", "--replay", "--recall-mode=all", *args)
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()


def test_each_client_is_recorded_and_replayed_without_a_socket(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {way: f"{way} hello {way}" for way in WAYS}
    source = agent("way, _, prompt = question.partition(' ')\nreturn globals()[way](prompt)")
    cases = [asking(name, question) for name, question in asked.items()]
    checkout = recorded(pytester, upstream, talking(upstream, source).with_cases(*cases))
    before = answers(checkout)
    assert upstream.prompts == sorted(question.partition(" ")[2] for question in asked.values())
    assert sources(checkout) == dict.fromkeys(asked, "live")
    told = {name: text.replace("|", "") for name, text in before.items()}
    assert sorted(number for text in told.values() for number in numbers(text)) == list(range(1, len(asked) + 1))
    assert {name for name, text in told.items() if asked[name].partition(" ")[2] in text} == asked.keys()
    files = finished(checkout)
    assert not drafts(checkout)
    met = no_sockets(monkeypatch)
    replayed(checkout)
    assert met == []
    assert answers(checkout) == before
    assert sources(checkout) == dict.fromkeys(asked, "replayed")
    assert finished(checkout) == files
    assert upstream.count == len(asked)


def test_a_case_that_was_renamed_is_replayed_from_its_recording(pytester: pytest.Pytester, upstream: Upstream) -> None:
    project = talking(upstream, agent("return httpx_sync(question)"))
    recorded(pytester, upstream, project.with_cases(asking("before", "hello")))
    checkout = project.with_cases(asking("after", "hello", scenario="other")).at(pytester)
    assert checkout.run("eval", "--replay", "--recall-mode=all").ret == pytest.ExitCode.TESTS_FAILED
    assert checkout.recall("cassettes", "move", "before", "after").ret == 0
    replayed(checkout)
    assert sources(checkout) == {"after": "replayed"}


def test_a_fail_is_asked_again_in_a_replay_if_that_is_recorded(pytester: pytest.Pytester, upstream: Upstream) -> None:
    """A case that was recorded before `confirm` fails at once: to miss the second trial would be no verdict."""
    wrong = {"judges": [{"regex": "never said"}]}
    once = talking(upstream, agent("return httpx_sync(question)")).with_cases(asking("a", "hello", **wrong))
    checkout = once.at(pytester)
    checkout.run("eval", "--record").assert_outcomes(failed=1)
    rubric = checkout.path / "eval" / "rubric.yaml"
    rubric.write_text(rubric.read_text(encoding="utf-8") + "confirm: 2of3\n", encoding="utf-8")
    checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(failed=1)
    assert [trial.rule for trial in checkout.journal().trials] == [""]
    assert checkout.outcomes() == {"a": "failed"}
    assert sources(checkout) == {"a": "replayed"}
    checkout.forget()  # A case that is known to fail has nothing to confirm.
    checkout.run("eval", "--record", "--recall-mode=all").assert_outcomes(failed=1)
    checkout.forget()
    upstream.close()
    checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(failed=1)
    assert [trial.repeat for trial in checkout.journal().trials] == [1, 2]


ASK_ALL = 'prompts = [f"{question} {number}" for number in range(8)]\n'
SEVERAL = {
    "together": (
        f"{ASK_ALL}"
        "async def one(client, prompt):\n"
        "    done = await client.chat.completions.create(messages=said(prompt), **GPT)\n"
        "    return done.choices[0].message.content\n"
        "async def together():\n"
        "    async with openai_client('AsyncOpenAI') as client:\n"
        "        return ' & '.join(await asyncio.gather(*(one(client, prompt) for prompt in prompts)))\n"
        "return together()"
    ),
    "threads": (
        f"{ASK_ALL}def one(prompt):\n"
        "    message = client.messages.create(messages=said(prompt), **CLAUDE)\n"
        "    return message.content[0].text\n"
        "with anthropic_client() as client, concurrent.futures.ThreadPoolExecutor(8) as pool:\n"
        "    return ' & '.join(pool.map(one, prompts))"
    ),
    "loop": (
        "messages = said(question)\n"
        "for turn in range(4):\n"
        "    way = anthropic_sync if turn % 2 else openai_sync\n"
        "    messages = [*messages, dict(role='assistant', content=way(messages)),"
        " dict(role='user', content=f'turn {turn}')]\n"
        "return ' & '.join(message['content'] for message in messages)"
    ),
    "identical": "return ' & '.join(openai_sync(question) for _ in range(3))",
}


class TestSeveralCalls:
    """One case, many calls, in whatever order."""

    @pytest.fixture
    def checkout(self, pytester: pytest.Pytester, lasting: Upstream) -> Checkout:
        """A project with a case for each of `SEVERAL` after its recording and its replay."""

        def begin() -> Checkout:
            checkout = kept.recorded(pytester, talking(lasting, agents(SEVERAL)).with_cases(*map(asking, SEVERAL)))
            asked = lasting.count
            replayed(checkout)
            assert lasting.count == asked
            return checkout

        return kept.after(pytester, f"several calls of {lasting.url}", begin)

    def same(self, checkout: Checkout, name: str) -> list[int]:
        """Return the numbers of the answers in a case, which are those of its recording."""
        first, second = (read_journal(run).trials for run in checkout.artifacts.runs())
        texts = [one.answer.text for one in (*first, *second) if one.case_id == name and one.answer]
        assert len(texts) == 2
        assert texts[0] == texts[1]
        assert {call.source for call in trial(checkout, name).calls} == {"replayed"}
        return numbers(texts[0].replace("|", ""))

    @pytest.mark.parametrize("way", ["together", "threads"])
    def test_each_of_eight_that_run_at_once_gets_its_own_answer(self, checkout: Checkout, way: str) -> None:
        found = self.same(checkout, way)
        assert len(set(found)) == len(found) == len(calls(cassette(checkout, way))) == 8

    def test_a_loop_in_which_each_call_depends_on_the_last_answer(self, checkout: Checkout) -> None:
        found = self.same(checkout, "loop")
        assert found == list(range(found[0], found[0] + 4))
        assert [exchange.seq for exchange in calls(cassette(checkout, "loop"))] == [0, 1, 2, 3]

    def test_the_kth_identical_request_gets_the_kth_answer(self, checkout: Checkout) -> None:
        found = self.same(checkout, "identical")
        assert found == list(range(found[0], found[0] + 3))

    def test_a_scripted_reply_is_taken_from_the_script(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        turns = [
            {"user": "one", "assistant": "scripted"},
            {"user": "two"},
            {"user": "three"},
        ]
        told = {"id": "a", "scenario": "one", "dimension": "facts", "turns": turns, "judges": [{"regex": "."}]}
        checkout = recorded(
            pytester, upstream, talking(upstream, agent("return openai_sync(question)")).with_cases(told)
        )
        asked = [[message["content"] for message in body["messages"]] for body in upstream.bodies]
        assert asked == [["one", "scripted", "two"], ["one", "scripted", "two", "#0001 to two", "three"]]
        replayed(checkout)
        assert answers(checkout) == {"a": "#0002 to three"}


class TestRetries:
    """A refusal and what came after it are recorded, and no caller waits for it again."""

    def test_no_replay_waits_as_long_as_the_server_had_asked_for_and_an_error_after_all_attempts_is_the_same(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slept = no_sleep(monkeypatch)
        ways = ("openai_sync", "openai_async", "anthropic_sync", "anthropic_async_stream")
        broken = (
            "try:\n    openai_sync('broken x')\nexcept Exception as error:\n"
            "    return f'{type(error).__name__} {error.status_code} {error.message}'"
        )
        bodies = {**{way: f"return {way}('busy {way}')" for way in ways}, "broken": broken}
        project = talking(upstream, agents(bodies)).with_cases(*map(asking, bodies))
        checkout = recorded(pytester, upstream, project)
        told = [seconds for seconds in slept if seconds >= 0.1]
        assert told[: len(ways)] == [3.0] * len(ways)
        assert len(told) == len(ways) + 2, "the broken one waits as long as the client likes"
        before = answers(checkout)
        assert before["broken"].startswith("InternalServerError 500")
        assert upstream.count == 2 * len(ways) + 3
        slept.clear()
        replayed(checkout)
        assert answers(checkout) == before
        for way in ways:
            assert [call.source for call in trial(checkout, way).calls] == ["replayed", "replayed"]
        assert len(trial(checkout, "broken").calls) == 3
        assert [seconds for seconds in slept if seconds >= 0.1] == []


class TestWhatIsRecorded:
    """One cassette for each case, written when the case has its verdict."""

    def test_recording_into_a_folder_of_ones_own_renews_what_was_recorded(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        checkout = asks(upstream, "openai_sync", "a").at(pytester)
        for number in (1, 2):
            checkout.run("eval", "--record=tapes", "--recall-mode=all").assert_outcomes(passed=1)
            assert numbers(answers(checkout)["a"]) == [number]
        upstream.close()
        assert list(finished(checkout, "tapes")) == ["one/a.ndjson"]
        assert finished(checkout) == {}
        checkout.run("eval", "--replay", "tapes", "--recall-mode=all").assert_outcomes(passed=1)
        assert sources(checkout) == {"a": "replayed"}
        assert numbers(answers(checkout)["a"]) == [2]

    def test_workers_replay_what_each_case_has_asked_and_one_that_calls_no_more_loses_its_cassette(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        """Cases that differ in a sign have cassettes of their own; one without calls has none and needs none."""
        names = ["a/b", "a:b", "a-b", "A-b"]
        cases = [asking(name) for name in (*names, "quiet")]
        source = agent("return question if question == 'quiet' else openai_sync(question)")
        checkout = recorded(pytester, upstream, talking(upstream, source).with_cases(*cases))
        before = answers(checkout)
        assert len(finished(checkout)) == len({before[name] for name in names}) == 4
        replayed(checkout, "-n2")
        assert answers(checkout) == before
        assert sources(checkout) == {**dict.fromkeys(names, "replayed"), "quiet": "live"}
        talking(upstream, agent("return question")).at(pytester)
        checkout.run("eval", "--record", "--recall-mode=all").assert_outcomes(passed=5)
        assert finished(checkout) == {}


class TestMarkedTests:
    """`@pytest.mark.recall`: an ordinary test with a cassette."""

    SOURCE = (
        "import pytest\nfrom conftest import openai_sync\n\n\n"
        '@pytest.mark.recall("m", scenario="marked")\ndef test_it():\n    {body}\n'
    )

    def project(self, upstream: Upstream, body: str) -> Project:
        """Return a project with one marked test of this body."""
        return talking(upstream, agent("return ''")).with_files({"eval/test_marked.py": self.SOURCE.format(body=body)})

    TWO = 'assert openai_sync("one").endswith(" to one"); assert {}; openai_sync("two")'
    PLAIN = 'from conftest import openai_sync\n\n\ndef test_it():\n    openai_sync("hello")\n'

    @pytest.fixture
    def checkout(self, pytester: pytest.Pytester, lasting: Upstream) -> Checkout:
        """A project with a recording of a test that asks twice, beside one without the mark."""
        project = self.project(lasting, self.TWO.format(True)).with_files({"eval/test_plain.py": self.PLAIN})
        return kept.recorded(pytester, project)

    def test_they_are_recorded_and_replayed_and_one_without_the_mark_is_left_alone(
        self, checkout: Checkout, lasting: Upstream
    ) -> None:
        assert list(finished(checkout)) == ["marked/m.ndjson"]
        asked = lasting.count
        result = checkout.run("eval/test_marked.py", "--replay", "--recall-mode=all")
        assert result.ret == pytest.ExitCode.OK, result.stdout.str()
        assert sources(checkout) == {"m": "replayed"}
        assert lasting.count == asked

    def test_what_they_leave_unasked_fails_them(self, checkout: Checkout, lasting: Upstream) -> None:
        self.project(lasting, 'openai_sync("one")').at(checkout.pytester)
        result = checkout.run("eval/test_marked.py", "--replay", "--recall-mode=all")
        assert checkout.outcomes() == {"m": "error"}
        result.stdout.fnmatch_lines(["*recorded call 2 was not asked for*"])

    def test_missing_keeps_what_a_failing_one_did_not_come_to(self, checkout: Checkout, lasting: Upstream) -> None:
        whole = finished(checkout)
        self.project(lasting, self.TWO.format(False)).at(checkout.pytester)
        checkout.run("eval/test_marked.py", "--record=missing", "--recall-mode=all").assert_outcomes(failed=1)
        assert finished(checkout) == whole


class TestAliased:
    """Where `httpx` is `httpx2`, each class is replaced once."""

    def test_a_call_is_recorded_once(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        project = asks(upstream, "httpx_sync", "a")
        files = {"eval/conftest.py": "import httpx2\nhttpx2.alias_httpx()\n" + project.files["eval/conftest.py"]}
        checkout = project.with_files({**files, **FORGETTING}).at(pytester)
        for how in ("--record", "--replay"):
            # In a process of its own: the alias stays, and has to be there first.
            assert checkout.run_apart("eval", "-p", "forgetting", how).ret == 0
        assert upstream.count == len(calls(cassette(checkout, "a"))) == 1
        assert sources(checkout) == {"a": "replayed"}


def test_a_recording_says_which_fixture_two_workers_have_answered_differently(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    source = """\
@pytest.fixture(scope="session")
def warm():
    return httpx2_sync("warm")


@pytest.fixture
def agent(warm):
    return httpx2_sync
"""
    checkout = talking(upstream, source).with_cases(*map(asking, "abcd")).at(pytester)
    result = checkout.run("eval", "--record", "-n2")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["fixture `warm`: answered differently*"])
    asked = upstream.count
    checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(passed=2, errors=2)
    assert upstream.count == asked
    assert checkout.run("eval", "--record=missing", "--recall-mode=all").ret == 0
    assert checkout.run("eval", "--replay", "--recall-mode=all").ret == 0
    assert "fixture `warm`" not in checkout.run("eval", "--record", "--recall-mode=all").stdout.str()
