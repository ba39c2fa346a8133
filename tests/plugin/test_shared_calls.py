"""Calls that a process makes once, in whichever case, are in one cassette that all cases share."""

from __future__ import annotations

import pytest

from tests.helpers.project import Project
from tests.helpers.talking import CASSETTES, agent, asking, calls, cassette, sources, talking
from tests.helpers.upstream import Upstream

REPLAY = ("eval", "--replay", "--recall-mode=all")
ONCE = """\
import functools
import os


@functools.cache
def vocabulary():
    import httpx2
    if os.environ.get("WARM"):
        return "words"
    httpx2.{call}
    return "words"


"""
FETCH = "get(URL + '/.well-known/words')"


def project(upstream: Upstream, call: str = FETCH, body: str = "vocabulary()\nreturn httpx2_sync(question)") -> Project:
    return talking(upstream, ONCE.format(call=call) + agent(body)).with_cases(asking("a"), asking("b"))


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WARM", raising=False)


@pytest.mark.usefixtures("cold")
class TestOnce:
    """It is recorded by the first that makes it, and any case may make it or not."""

    def test_any_case_is_served_and_none_need_make_it(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = project(upstream).at(pytester)
        assert checkout.run("eval", "--record").ret == 0
        assert upstream.paths.count("/.well-known/words") == 1
        assert [len(calls(cassette(checkout, name))) for name in "ab"] == [1, 1]
        [shared] = (checkout.path / CASSETTES / "_fixtures").glob("*.ndjson")
        assert [call.request.url for call in calls(shared)] == [f"{upstream.url}/.well-known/words"]
        listed = checkout.recall("cassettes", "list")
        listed.stdout.fnmatch_lines(["*calls (shared fixture)*"])
        assert checkout.recall("cassettes", "verify").ret == 0
        upstream.close()
        for way in (("-n", "2"), ("--recall-concurrency=2",), ("-k", "b")):
            result = checkout.run(*REPLAY, *way)
            assert result.ret == 0
            assert set(sources(checkout).values()) == {"replayed"}
        monkeypatch.setenv("WARM", "1")
        assert checkout.run(*REPLAY).ret == 0

    def test_a_recording_that_does_not_make_it_keeps_it(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = project(upstream).at(pytester)
        assert checkout.run("eval", "--record", "-n", "2").ret == 0
        monkeypatch.setenv("WARM", "1")
        assert checkout.run("eval", "--record", "--recall-mode=all").ret == 0
        monkeypatch.delenv("WARM")
        upstream.close()
        assert checkout.run(*REPLAY).ret == 0

    def test_one_that_no_recording_has_finds_no_network(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = project(upstream).at(pytester)
        monkeypatch.setenv("WARM", "1")
        assert checkout.run("eval", "--record").ret == 0
        monkeypatch.delenv("WARM")
        result = checkout.run(*REPLAY)
        result.assert_outcomes(errors=2)
        result.stdout.fnmatch_lines(["2 calls shared by all cases were not sent, and no recording has them*words (2)"])

    def test_a_pattern_that_is_no_url_is_an_error(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        rubric = {"eval/rubric.yaml": "owner: us\nshared_urls: [example.com/data]\n"}
        result = project(upstream).with_files(rubric).at(pytester).run("eval")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        said = "ERROR: eval/rubric.yaml:2: shared_urls: `example.com/data` is not the pattern of a URL; write `https*"
        result.stderr.fnmatch_lines([said])


@pytest.mark.usefixtures("cold")
def test_a_token_what_a_rubric_names_and_what_an_import_fetches_are_shared(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    """A token is found whatever is signed, and not written."""
    token = "post(URL + '/oauth2/token', data=dict(assertion=os.urandom(8).hex()))"
    named = FETCH.replace(".well-known", "data")
    files = {
        "eval/fetching.py": f"import httpx2\nWORDS = httpx2.get({upstream.url!r} + '/.well-known/words').json()\n",
        "eval/rubric.yaml": f"owner: us\nshared_urls: ['{upstream.url}/data/*']\n",
    }
    body = "import fetching\nvocabulary()\nreturn httpx2_sync(question)"
    checkout = project(upstream, f"{token}\n    httpx2.{named}", body).with_files(files).at(pytester)
    assert checkout.run("eval", "--record").ret == 0
    upstream.close()
    assert checkout.run(*REPLAY).ret == 0
    shared = [call for path in (checkout.path / CASSETTES / "_fixtures").glob("*.ndjson") for call in calls(path)]
    found = {call.request.url.removeprefix(upstream.url): call.request.body for call in shared}
    assert found == dict.fromkeys(("/.well-known/words", "/oauth2/token", "/data/words"), b"")
    assert len(shared) == 3
    assert [len(calls(cassette(checkout, name))) for name in "ab"] == [1, 1]


@pytest.mark.usefixtures("cold")
def test_one_that_is_named_is_named_without_the_key_in_its_path(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "ghp_" + "Rk7Wq2Zx9Lm4Tb8Vn1Yc6Pd3Rk7Wq2Zx9Lm4"
    checkout = project(upstream, f"get(URL + '/.well-known/{key}')").at(pytester)
    monkeypatch.setenv("WARM", "1")
    assert checkout.run("eval", "--record").ret == 0
    monkeypatch.delenv("WARM")
    result = checkout.run(*REPLAY)
    [line] = [line for line in result.outlines if "shared by all cases" in line]
    assert line.endswith("/.well-known/[REDACTED] (2)")
