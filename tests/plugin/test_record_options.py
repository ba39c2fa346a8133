"""Options and rubric: what may differ, what may not be said together, what is never written."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from pytest_recall.replay.cassette_file import Cassette, write_cassette
from pytest_recall.replay.cassette_library import AGAIN
from pytest_recall.replay.matching import Rules
from pytest_recall.trials.record import LetThrough
from tests.helpers import kept
from tests.helpers.project import Checkout, Project
from tests.helpers.talking import (
    agent,
    agents,
    asking,
    asks,
    calls,
    cassette,
    drafts,
    finished,
    sources,
    talking,
    trial,
)
from tests.helpers.upstream import Upstream

pytest.importorskip("openai")
pytest.importorskip("anthropic")

RUBRIC = "owner: me\n"


def recorded(pytester: pytest.Pytester, project: Project, *args: str) -> Checkout:
    """Return the project after its recording."""
    checkout = project.at(pytester)
    checkout.run("eval", "--record", *args).assert_outcomes(passed=1)
    return checkout


def one_recorded(pytester: pytest.Pytester, lasting: Upstream) -> Checkout:
    """Return a project with a recording of its one case, which is made once for all tests that begin so."""
    return kept.recorded(pytester, asks(lasting, "httpx2_sync", "a").with_files({"eval/rubric.yaml": RUBRIC}))


class TestAge:
    """A replay of what is too old fails, and records nothing."""

    @staticmethod
    def recorded(pytester: pytest.Pytester, lasting: Upstream) -> Checkout:
        """Return a project whose cassette was recorded eight days before the day of the runs."""
        checkout = one_recorded(pytester, lasting)
        path = cassette(checkout, "a")
        found = Cassette(path, "a", Rules())
        header = {name: value for name, value in found.header.items() if name not in ("crc", "cassette", "rules")}
        write_cassette(path, {**header, "recorded_at": "2026-03-02T10:00:00+00:00"}, found.exchanges(), Rules())
        return checkout

    def test_by_the_option(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = self.recorded(pytester, lasting)
        before = finished(checkout)
        rows: tuple[tuple[tuple[str, ...], str], ...] = (
            (("--recall-replay-max-age=8",), ""),
            ((), ""),
            (("--recall-replay-max-age=7",), "7"),
            (("--recall-replay-max-age=0",), "0"),
        )
        for option, days in rows:
            checkout.run("eval", "--replay", *option, "--recall-mode=all")
            assert checkout.outcomes() == {"a": "error" if days else "passed"}
            assert finished(checkout) == before
            if days:
                assert trial(checkout, "a").error == (
                    f"eval/cassettes/one/a.ndjson: recorded 8 days ago, more than the {days} allowed;"
                    " record it again with --record"
                )


class TestRubric:
    """Fields that may differ, and hosts that are not an upstream."""

    def test_a_volatile_field_may_differ(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        bodies = {
            "volatile": "import httpx2\nask = dict(prompt=question, trace=dict(id={}))\n"
            "httpx2.post(URL + '/any', json=ask)\nreturn 'x'",
            "caller": "with openai_client() as client:\n"
            "    client.chat.completions.create(messages=said(question), {}, **GPT)\nreturn 'x'",
        }

        def project(number: int, caller: str) -> Project:
            told = {"volatile": str(number), "caller": caller}
            source = agents({name: body.format(told[name]) for name, body in bodies.items()})
            return talking(upstream, source).with_cases(*map(asking, bodies))

        rubric = {"eval/rubric.yaml": f"{RUBRIC}volatile: [body.trace.id, body.user, body.metadata]\n"}
        checkout = project(1, "user='me'").with_files(rubric).at(pytester)
        checkout.run("eval", "--record").assert_outcomes(passed=2)
        upstream.close()
        # A cassette holds no header that it need not.
        lines = [json.loads(line) for line in cassette(checkout, "caller").read_text(encoding="utf-8").splitlines()]
        [call] = [line for line in lines if "call" in line]
        assert sorted(map(str.lower, call["request"]["headers"])) == ["accept", "content-type"]
        assert sorted(map(str.lower, call["response"]["headers"])) == ["content-type", "x-request-id"]
        project(2, "metadata=dict(a='2')").with_files(rubric).at(pytester)
        checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(passed=2)
        assert sources(checkout) == dict.fromkeys(bodies, "replayed")
        (checkout.path / "eval/rubric.yaml").write_text(RUBRIC, encoding="utf-8")
        checkout.run("eval", "--replay", "--recall-mode=all")
        assert checkout.outcomes() == dict.fromkeys(bodies, "error")

    def test_an_ignored_host_is_neither_recorded_nor_refused(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        named = upstream.url.removeprefix("http://")
        rubric = {"eval/rubric.yaml": f"{RUBRIC}calls: {{'{named}': ignore}}\n"}
        checkout = recorded(pytester, asks(upstream, "httpx2_sync", "a").with_files(rubric))
        assert finished(checkout) == {}
        checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(passed=1)
        assert upstream.count == 2
        assert sources(checkout) == {"a": "mixed"}
        assert trial(checkout, "a").calls == ()

    @pytest.mark.parametrize("option", ["--record", "--replay", "--replay -n2", "--replay --recall-concurrency=2"])
    def test_what_is_asked_of_an_ignored_host_is_said_and_counted_beside_the_cost(
        self, pytester: pytest.Pytester, lasting: Upstream, upstream: Upstream, option: str
    ) -> None:
        other = upstream.url.removeprefix("http://")
        body = f"import httpx2\nhttpx2.post({upstream.url!r} + '/any', json=dict(prompt=question))\n"
        body += f"import socket\nsocket.create_connection({tuple(other.split(':'))!r}).close()\n"
        rubric = {"eval/rubric.yaml": f"{RUBRIC}calls: {{'{other}': ignore}}\n"}
        project = talking(lasting, agent(f"{body}return plain_sync(question)")).with_files(rubric)
        checkout = kept.recorded(pytester, project.with_cases(asking("a"), asking("b")))
        before = upstream.count
        result = checkout.run("eval", *option.split(), "--recall-mode=all")
        result.assert_outcomes(passed=2)
        host, _, _ = other.partition(":")
        assert upstream.count == before + 2
        assert checkout.journal().let_through == LetThrough({host: 2}, (other,))
        assert checkout.scorecard()["let_through"] == {"calls": {host: 2}, "places": [other], "programs": []}
        [_] = [line for line in result.outlines if "eval/rubric.yaml:2" in line and line.startswith("2 calls ")]
        assert not [line for line in result.outlines if "spent" in line and "that is counted" not in line]

    def test_a_dry_run_says_it_as_well(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        named = upstream.url.removeprefix("http://")
        checkout = recorded(pytester, asks(upstream, "httpx2_sync", "a"))
        rubric = f"{RUBRIC}calls: {{'{named}': ignore}}\n"
        (checkout.path / "eval/rubric.yaml").write_text(rubric, encoding="utf-8")
        result = checkout.run("eval", "--record=missing", "--recall-dry-run", "--recall-mode=all")
        assert upstream.count == 2
        result.stdout.fnmatch_lines(["*; nothing was written to the state", "1 call went live to *"])

    def test_the_replay_before_a_run_is_counted_as_well(
        self, pytester: pytest.Pytester, lasting: Upstream, upstream: Upstream
    ) -> None:
        named = upstream.url.removeprefix("http://")
        rubric = {"eval/rubric.yaml": f"{RUBRIC}calls: {{'{named}': ignore}}\n"}
        body = f"import httpx2\nhttpx2.post({upstream.url!r} + '/any', json=dict(prompt=question))\n"
        body += "return plain_sync(question)"
        checkout = recorded(pytester, talking(lasting, agent(body)).with_cases(asking("a")).with_files(rubric))
        before = upstream.count
        result = checkout.run_afresh("-p", "recall", "eval")
        assert result.ret == pytest.ExitCode.OK
        # The run itself, which asks what is due, is live as a whole.
        assert [upstream.count - before, trial(checkout, "a").source] == [2, "live"]
        assert checkout.journal().let_through.calls == {named.partition(":")[0]: 1}

    @pytest.mark.parametrize("way", ["ignore", "telemetry"])
    def test_what_is_recorded_of_a_host_that_is_named_later_is_not_missed(
        self, pytester: pytest.Pytester, lasting: Upstream, upstream: Upstream, way: str
    ) -> None:
        body = f"import httpx2\nhttpx2.post({upstream.url!r} + '/any', json=dict(prompt=question))\n"
        body += "return plain_sync(question)"
        checkout = recorded(pytester, talking(lasting, agent(body)).with_cases(asking("a")))
        named = f"{RUBRIC}calls: {{'{upstream.url.removeprefix('http://')}': {way}}}\n"
        (checkout.path / "eval/rubric.yaml").write_text(named, encoding="utf-8")
        assert checkout.run_afresh("eval", "--replay", "--recall-mode=all").ret == pytest.ExitCode.OK

    def test_a_verdict_on_what_it_answers_moves_no_box_in_a_replay(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        checkout = recorded(pytester, asks(upstream, "httpx2_sync", "a"))
        rubric = f"{RUBRIC}calls: {{'{upstream.url.removeprefix('http://')}': ignore}}\n"
        (checkout.path / "eval/rubric.yaml").write_text(rubric, encoding="utf-8")
        before = checkout.state_text()
        result = checkout.run("eval", "--replay", "--recall-mode=all", day="2026-04-10")
        result.assert_outcomes(passed=1)
        assert checkout.state_text() == before

    def test_no_budget_holds_it(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        named = upstream.url.removeprefix("http://")
        rubric = {"eval/rubric.yaml": f"{RUBRIC}calls: {{'{named}': ignore}}\n"}
        checkout = asks(upstream, "httpx2_sync", "a").with_files(rubric).at(pytester)
        result = checkout.run("eval", "--budget", "1")
        result.stdout.fnmatch_lines(["spent $0.00 of the budget of $1.00, without what the rubric lets through"])

    def test_what_is_not_recorded_takes_the_recording_of_its_case_not_away(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        """Of whichever kind it is, and of no other case."""
        connects = "import socket\nsocket.create_connection(({!r}, {})).close()\nreturn question"
        with socket.create_server(("127.0.0.1", 0)) as server:
            host, _, port = upstream.url.removeprefix("http://").partition(":")
            bodies = {
                "ignored": "return httpx2_sync(question)",
                "connected": connects.format(host, int(port)),
                "stray": connects.format(*server.getsockname()),
                "program": "import subprocess\nreturn subprocess.run(['true']).args[0]",
                "silent": "return question",
            }
            anything = [{"regex": "."}]
            cases = [asking(name, judges=anything) for name in bodies]
            recording = dict.fromkeys(bodies, "return httpx2_sync(question)")
            checkout = kept.recorded(pytester, talking(upstream, agents(recording)).with_cases(*cases))
            again = cassette(checkout, "ignored").with_name(f"ignored{AGAIN}2.ndjson")
            again.write_bytes(cassette(checkout, "ignored").read_bytes())
            before = finished(checkout)
            rubric = {"eval/rubric.yaml": f"{RUBRIC}calls: {{'{host}:{port}': ignore}}\n"}
            talking(upstream, agents(bodies)).with_files(rubric).at(pytester)
            result = checkout.run("eval", "--record", "--recall-mode=all")
        result.assert_outcomes(passed=len(bodies))
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert before.keys() - finished(checkout).keys() == {"one/silent.ndjson"}
        assert finished(checkout).items() <= before.items()


SECRET = "sk-proj-" + "Zq8vT3mKx9Lw2Rb7Nc4Yd1Pf6Hg0Js5"
OTHER = "ant-9fK2mQx7Vb4Lt8Zr1Wd6Yc3Np5"
SIGNS = (SECRET[8:], OTHER[4:])


PLACES = {
    "header": "return openai_sync(question, api_key=SECRET)",
    "authorization": "return anthropic_sync(question, auth_token=OTHER, api_key=None)",
    "query": "return httpx2_sync(question, path='/any?tag=' + SECRET + '&key=' + OTHER)",
    "prompt": "openai_sync('the key is ' + SECRET)\nreturn anthropic_sync('and ' + OTHER)",
    "response": "return str(len(openai_sync('echo the key is ' + SECRET)))",
    "stream": "return str(len(anthropic_stream('echo the key is ' + SECRET)))",
    "error body": "try:\n    openai_sync('broken ' + SECRET, max_retries=0)\nexcept Exception:\n"
    "    return openai_sync('x')",
    "error text": "import httpx2\ntry:\n    httpx2.post('http://127.0.0.1:1/' + SECRET, json=dict(prompt='x'))\n"
    "except httpx2.ConnectError:\n    return 'x'",
}
"""Where a secret may come from, and an agent that puts it there."""


class TestSecrets:
    """The values of known variables are in no file of the project."""

    @pytest.fixture(autouse=True)
    def _secrets(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        monkeypatch.setenv("ANTHROPIC_API_KEY", OTHER)

    def leaks(self, folder: Path) -> list[str]:
        """Return the files below `folder` in which a secret stands."""
        files = [path for path in folder.rglob("*") if path.is_file()]
        return sorted(
            path.relative_to(folder).as_posix()
            for path in files
            if any(sign.encode() in path.read_bytes() for sign in SIGNS)
        )

    def test_they_are_not_recorded(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        source = (
            "import os\nSECRET, OTHER = os.environ['OPENAI_API_KEY'], os.environ['ANTHROPIC_API_KEY']\n"
            "def openai_client(cls='OpenAI', api_key=KEY, **more):\n"
            "    import openai\n    return getattr(openai, cls)(base_url=URL + '/v1', api_key=api_key, **more)\n"
            "def anthropic_client(cls='Anthropic', **more):\n"
            "    import anthropic\n"
            "    return getattr(anthropic, cls)(base_url=URL, **dict(dict(api_key=KEY), **more))\n"
        )
        bodies = {place.replace(" ", "-"): body for place, body in PLACES.items()}
        checkout = talking(upstream, source + agents(bodies)).with_cases(*map(asking, bodies)).at(pytester)
        result = checkout.run("eval", "--record", "--recall-mode=all")
        assert result.ret == pytest.ExitCode.OK, result.stdout.str()
        upstream.close()
        assert all(calls(cassette(checkout, name)) for name in bodies)
        assert self.leaks(checkout.path) == []
        checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(passed=len(bodies))
        assert self.leaks(checkout.path) == []
        assert sources(checkout) == dict.fromkeys(bodies, "replayed")

    def test_an_answer_that_holds_one_is_not_written_into_the_journal_and_the_rubric_may_name_others(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CUSTOMER", "Wolfgang Quentin Zorn")
        rubric = {"eval/rubric.yaml": f"{RUBRIC}secrets: [CUSTOMER]\n"}
        bodies = {
            "answer": "return openai_sync('echo ' + os.environ['OPENAI_API_KEY'])",
            "error": "raise ValueError(os.environ['OPENAI_API_KEY'])",
            "named": "return str(len(httpx2_sync('echo ' + os.environ['CUSTOMER'])))",
        }
        cases = [asking("answer", judges=[{"regex": "no such text"}]), asking("error"), asking("named")]
        project = talking(upstream, "import os\n" + agents(bodies)).with_files(rubric).with_cases(*cases)
        checkout = project.at(pytester)
        checkout.run("eval", "--record").assert_outcomes(passed=1, xfailed=1, errors=1)
        assert self.leaks(checkout.path) == []
        text = cassette(checkout, "named").read_text(encoding="utf-8")
        assert "Quentin" not in text
        assert text.count("[CUSTOMER]") == 2

    def test_what_looks_like_a_key_is_refused_and_the_old_recording_stays(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        body = "return str(len(httpx2_sync('one'))) + str(len(httpx2_sync('{}')))"
        checkout = recorded(pytester, talking(upstream, agent(body.format("two"))).with_cases(asking("a")))
        before = finished(checkout)
        unknown = "sk-ant-" + "api03-Rk7Wq2Zx9Lm4Tb8Vn1Yc6Pd3"
        talking(upstream, agent(body.format(unknown))).at(pytester)
        result = checkout.run("eval", "--record", "--recall-mode=all")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["eval/cassettes/one/a.ndjson: a call to * was not recorded, since it holds*"])
        assert "sk-ant" not in result.stdout.str()
        assert trial(checkout, "a").unrecorded == "secret"
        assert finished(checkout) == before
        assert not any(unknown.encode() in path.read_bytes() for path in drafts(checkout))

    def test_a_cassette_does_not_keep_an_answer_that_holds_what_looks_like_a_key(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        unknown = "sk-ant-" + "api03-Rk7Wq2Zx9Lm4Tb8Vn1Yc6Pd3"
        checkout = (
            talking(upstream, agent(f"return httpx2_sync('one') + ' {unknown}'")).with_cases(asking("a")).at(pytester)
        )
        checkout.run("eval", "--record").assert_outcomes(passed=1)
        text = cassette(checkout, "a").read_text(encoding="utf-8")
        assert unknown not in text
        assert '"digest"' in text
        checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(passed=1)


def test_a_cassette_of_another_case_is_refused(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout = one_recorded(pytester, lasting)
    cassette(checkout, "a").rename(cassette(checkout, "b"))
    asks(lasting, "httpx2_sync", "b").at(pytester)
    result = checkout.run("eval", "--replay")
    result.assert_outcomes(errors=1)
    assert trial(checkout, "b").error == ("eval/cassettes/one/b.ndjson: is the recording of `a`; record this one again")
    assert result.stdout.str().count("is the recording of `a`") == 1


def test_cases_of_which_nothing_was_recorded_are_named(pytester: pytest.Pytester, upstream: Upstream) -> None:
    bodies = {
        "a": "return httpx2_sync(question)",
        "b": "return 'the answer to ' + question",
        # Its call is open when the case has its verdict.
        "c": "import httpx2\nclient = httpx2.Client()\nrequest = client.build_request('GET', URL + '/any')\n"
        "OPEN.extend((client.send(request, stream=True), client))\nreturn 'an answer'",
    }
    closing = """\
OPEN = []

@pytest.fixture(scope="session", autouse=True)
def closing():
    yield
    for one in OPEN:
        one.close()

"""
    project = talking(upstream, closing + agents(bodies)).with_cases(*map(asking, bodies))
    checkout = project.at(pytester)
    result = checkout.run("eval", "--record")
    assert len(calls(cassette(checkout, "c"))) == 1
    result.stdout.fnmatch_lines(
        ["nothing was recorded of 1 case, which made no call that is seen (b); if one of them*"]
    )
    assert "nothing was recorded" not in checkout.run("eval", "--replay").stdout.str()


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "n2"])
@pytest.mark.parametrize(
    ("body", "rubric", "seen"),
    [
        ("return question", "", ""),
        ("return httpx2_sync(question)", "calls: {{'{}': ignore}}\n", "calls to ignored hosts: 127.0.0.1 (2)"),
        ("return httpx2_sync(question)", "calls: {{'{}': telemetry}}\n", "telemetry: 127.0.0.1 (2)"),
        ("import subprocess\nreturn subprocess.run(['true']).args[0]", "", "programs: true"),
    ],
    ids=["nothing", "ignored", "telemetry", "program"],
)
def test_a_recording_of_nothing_ends_with_1_and_says_why(
    pytester: pytest.Pytester, upstream: Upstream, body: str, rubric: str, seen: str, workers: tuple[str, ...]
) -> None:
    settings = {"eval/rubric.yaml": RUBRIC + rubric.format(upstream.url.removeprefix("http://"))}
    cases = [asking(name, judges=[{"regex": "."}]) for name in ("a", "b")]
    checkout = talking(upstream, agent(body)).with_cases(*cases).with_files(settings).at(pytester)
    result = checkout.run_apart("eval", "--record", *workers)
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    [line] = [line for line in result.outlines if "--record has no call to replay" in line]
    assert line.partition("; seen were ")[2] == seen
    assert finished(checkout) == {}
