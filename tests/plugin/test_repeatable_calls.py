"""Calls that a process makes once, in whichever case, are in one cassette that all cases share."""

from __future__ import annotations

import json

import pytest

from tests.helpers.project import Project
from tests.helpers.talking import CASSETTES, agent, asking, calls, cassette, sources, talking, trial
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
    rubric = {"eval/rubric.yaml": f"owner: us\ncalls: {{'{upstream.url}/.well-known/*': repeatable}}\n"}
    return (
        talking(upstream, ONCE.format(call=call) + agent(body)).with_files(rubric).with_cases(asking("a"), asking("b"))
    )


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
        assert [len(calls(cassette(checkout, name))) for name in "ab"] == [2, 1]
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
        assert checkout.run("eval", "--record").ret == 0
        monkeypatch.setenv("WARM", "1")
        assert checkout.run("eval", "--record", "--recall-mode=all").ret == 0
        monkeypatch.delenv("WARM")
        upstream.close()
        assert checkout.run(*REPLAY).ret == 0

    def test_one_that_no_recording_has_is_missed(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = project(upstream).at(pytester)
        monkeypatch.setenv("WARM", "1")
        assert checkout.run("eval", "--record").ret == 0
        monkeypatch.delenv("WARM")
        checkout.run(*REPLAY).assert_outcomes(errors=2)
        assert "/.well-known/words is not recorded" in trial(checkout, "a").error

    def test_one_that_has_several_answers_is_only_for_the_cases_that_have_it(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        """What is asked more often than it was recorded has the last answer of its own case."""
        body = "import httpx2\nasked = lambda: httpx2.get(URL + '/.well-known/counted').json()['number']\n"
        body += "return ' '.join(str(asked()) for _ in range(TIMES if question == 'a' else 1))"
        checkout = project(upstream, body="TIMES = 2\n" + body).at(pytester)
        assert checkout.run("eval", "--record").ret == 0
        answer = trial(checkout, "a").answer
        # Of another length: within a second, pytest tells two versions of a conftest file apart by that alone.
        checkout = project(upstream, body="TIMES = 2 + 1\n" + body).at(pytester)
        upstream.close()
        assert checkout.run(*REPLAY).ret == 0
        again = trial(checkout, "a").answer
        assert answer is not None
        assert again is not None
        assert again.text == f"{answer.text} {answer.text.split()[-1]}"
        cassette(checkout, "b").unlink()
        checkout.run(*REPLAY, "-k", "b").assert_outcomes(errors=1)

    def test_what_the_workers_of_one_run_were_answered_differently_is_for_no_other_case(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        """Whichever worker ends last; a later run counts in place of an earlier one."""
        checkout = project(upstream).with_cases(*(asking(name) for name in "abcd")).at(pytester)
        assert checkout.run("eval", "--record", "-n", "2").ret == 0
        assert upstream.paths.count("/.well-known/words") == 2
        ends = [checkout.run(*REPLAY, "-k", name).ret for name in "abcd"]
        assert [len(calls(cassette(checkout, name))) - 1 for name in "abcd"] == [end == 0 for end in ends]
        assert sum(end == 0 for end in ends) == 2
        assert checkout.run("eval", "--record", "--recall-mode=all").ret == 0
        upstream.close()
        assert [checkout.run(*REPLAY, "-k", name).ret for name in "abcd"] == [0, 0, 0, 0]

    def test_what_a_conftest_file_fetches_is_served_before_the_session(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        source = f"import httpx2\nWORDS = httpx2.{FETCH}.json()\n\n\n" + agent("return httpx2_sync(question)")
        files = {"eval/rubric.yaml": f"owner: us\ncalls: {{'{upstream.url}/.well-known/*': repeatable}}\n"}
        checkout = talking(upstream, source).with_files(files).with_cases(asking("a"), asking("b")).at(pytester)
        assert checkout.run("eval", "--record").ret == 0
        assert checkout.run("eval", "--record=missing", "--recall-mode=all").ret == 0
        assert upstream.paths.count("/.well-known/words") == 1
        [shared] = (checkout.path / CASSETTES / "_fixtures").glob("*.ndjson")
        assert [call.request.url for call in calls(shared)] == [f"{upstream.url}/.well-known/words"]
        upstream.close()
        for way in ((), ("-n", "2")):
            checkout.run(*REPLAY, *way).assert_outcomes(passed=2)
        shared.unlink()
        result = checkout.run(*REPLAY)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(
            [f"ERROR: GET {upstream.url}/.well-known/words: called outside of any case, and no*"]
        )
        shared.write_text("damaged\n")
        assert checkout.run(*REPLAY).ret == pytest.ExitCode.USAGE_ERROR

    def test_a_recording_says_which_calls_of_a_conftest_file_have_several_answers(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        """A replay refuses them, and another recording would be no better."""
        counted = f"{upstream.url}/.well-known/counted"
        source = f"import httpx2\nWORDS = [httpx2.get({counted!r}).json() for _ in 'ab']\n\n\n"
        files = {"eval/rubric.yaml": f"owner: us\ncalls: {{'{upstream.url}/.well-known/*': repeatable}}\n"}
        made = talking(upstream, source + agent("return httpx2_sync(question)")).with_files(files)
        checkout = made.with_cases(asking("a")).at(pytester)
        result = checkout.run("eval", "--record")
        assert result.ret == 0
        result.stdout.fnmatch_lines([f"GET {counted}: called outside of any case*"])
        result = checkout.run(*REPLAY)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        [line] = [line for line in result.errlines if line.startswith("ERROR: ")]
        assert "several answers" in line
        assert "--record" not in line

    def test_a_pattern_that_is_no_url_is_an_error(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        rubric = {"eval/rubric.yaml": "owner: us\ncalls: {example.com/data: repeatable}\n"}
        result = project(upstream).with_files(rubric).at(pytester).run("eval")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        said = "ERROR: eval/rubric.yaml:2: calls: `example.com/data` is not the pattern of a URL; write `https*"
        result.stderr.fnmatch_lines([said])


@pytest.mark.usefixtures("cold")
def test_a_token_and_what_an_import_fetches_are_shared_where_the_rubric_names_them(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    """Two clients are asked about by themselves."""
    token = "post(URL + '/oauth2/token', data=dict(grant_type='client_credentials', client_id='{}'))"
    both = "\n    httpx2.".join(token.format(name) for name in ("alice", "bob"))
    named = {f"{upstream.url}/{path}": "repeatable" for path in (".well-known/*", "oauth2/token")}
    files = {
        "eval/fetching.py": f"import httpx2\nWORDS = httpx2.get({upstream.url!r} + '/.well-known/words').json()\n",
        "eval/rubric.yaml": f"owner: us\ncalls: {json.dumps(named)}\n",
    }
    body = "import fetching\nvocabulary()\nreturn httpx2_sync(question)"
    checkout = project(upstream, both, body).with_files(files).at(pytester)
    assert checkout.run("eval", "--record").ret == 0
    upstream.close()
    assert checkout.run(*REPLAY).ret == 0
    assert checkout.run(*REPLAY, "-k", "b").ret == 0
    shared = [call for path in (checkout.path / CASSETTES / "_fixtures").glob("*.ndjson") for call in calls(path)]
    found = sorted(call.request.url.removeprefix(upstream.url) for call in shared)
    assert found == ["/.well-known/words", "/oauth2/token", "/oauth2/token"]
    assert [len(calls(cassette(checkout, name))) for name in "ab"] == [4, 1]


POLLED = """\
import httpx2
for _ in range(int(os.environ.get("POLLS", 2))):
    httpx2.get(URL + "/.well-known/counted")
return httpx2_sync(question)"""


def test_what_is_polled_within_a_case_is_asked_any_number_of_times(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = project(upstream, body=POLLED).at(pytester)
    assert checkout.run("eval", "--record").ret == 0
    upstream.close()
    for polls in ("0", "1", "5"):
        monkeypatch.setenv("POLLS", polls)
        assert checkout.run(*REPLAY).ret == 0
    (checkout.path / "eval/rubric.yaml").write_text("owner: us\n")
    for polls in ("1", "5"):
        monkeypatch.setenv("POLLS", polls)
        result = checkout.run(*REPLAY)
        result.assert_outcomes(errors=2)
        assert f"add `calls: {{'GET {upstream.url}/.well-known/counted': repeatable}}`" in result.stdout.str()
