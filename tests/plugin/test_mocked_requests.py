"""Requests that a mock answers: neither missed nor recorded nor counted, in tests that are cases and in others."""

from __future__ import annotations

import pytest

from tests.helpers.project import BARE, Checkout, Project
from tests.helpers.upstream import Upstream

for _name in ("httpx", "requests", "respx", "responses"):
    pytest.importorskip(_name)

Workers = tuple[str, ...]

HEAD = """\
import asyncio

import httpx
import pytest
import requests
import respx
import responses

URL = {url!r}
FAKE = "http://fake.invalid/v1"


def ask(url, client=httpx):
    return client.post(url, json={{"prompt": "plain"}}).text


async def ask_async(url):
    async with httpx.AsyncClient() as client:
        return (await client.post(url, json={{"prompt": "plain"}})).text


@pytest.fixture
def faked():
    with respx.mock:
        respx.post(FAKE).respond(text="mocked")
        yield


@pytest.fixture
def transports(monkeypatch):
    # As pytest-httpx does.
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda self, request: httpx.Response(200, text="mocked"))


@pytest.fixture
def passing():
    with respx.mock as router:
        router.route(host="127.0.0.1").pass_through()
        yield


"""
ANSWERED = """\
def test_fixture(faked):
    assert ask(FAKE) == "mocked"


@respx.mock
def test_decorator():
    respx.post(FAKE).respond(text="mocked")
    assert ask(FAKE) == "mocked"


def test_context():
    with respx.mock(using="httpx") as router:
        router.post(FAKE).respond(text="mocked")
        assert ask(FAKE) == "mocked"


def test_async(faked):
    assert asyncio.run(ask_async(FAKE)) == "mocked"


def test_transports(transports):
    assert ask(FAKE) == "mocked"


@responses.activate
def test_requests():
    responses.post(FAKE, body="mocked")
    assert ask(FAKE, requests) == "mocked"


def test_application():
    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"mocked"})

    async def get():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(application)) as client:
            return (await client.get(FAKE)).text

    assert asyncio.run(get()) == "mocked"
"""
PASSED = """\
def test_httpx(passing):
    assert ask(URL)


def test_async(passing):
    assert asyncio.run(ask_async(URL))


def test_requests():
    with responses.RequestsMock() as mock:
        mock.add_passthru(URL)
        assert ask(URL, requests)
"""
NAMES = ("fixture", "decorator", "context", "async", "transports", "requests", "application")
MARKED = "pytestmark = pytest.mark.recall\n\n\n"


def project(upstream: Upstream, **modules: str) -> Project:
    """Return a project with these test modules, each below the head."""
    head = HEAD.format(url=f"{upstream.url}/any")
    files = {f"eval/test_{name}.py": head + source for name, source in modules.items()}
    return BARE.with_files({"eval/rubric.yaml": "owner: us\nblocks: failure\n", **files})


def counts(checkout: Checkout) -> dict[str, int]:
    """Return how many calls each case made."""
    return {trial.case_id: len(trial.calls) for trial in checkout.journal().trials}


@pytest.mark.parametrize("options", [(), ("--replay",), ("--record",)], ids=["live", "replay", "record"])
def test_what_a_mock_answers_is_no_call(pytester: pytest.Pytester, upstream: Upstream, options: Workers) -> None:
    checkout = project(upstream, plain=ANSWERED, marked=MARKED + ANSWERED).at(pytester)
    checkout.run("eval", "--recall-mode=all", *options).assert_outcomes(passed=2 * len(NAMES))
    assert counts(checkout) == {f"eval/test_marked.py::test_{name}": 0 for name in NAMES}
    assert upstream.count == 0
    assert list((checkout.path / "eval").rglob("*.ndjson")) == []


def test_what_a_mock_passes_through_is_recorded_and_replayed(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = project(upstream, passed=MARKED + PASSED).at(pytester)
    run = ("eval", "--recall-mode=all")
    checkout.run(*run, "--record").assert_outcomes(passed=3)
    names = {f"eval/test_passed.py::test_{which}" for which in ("httpx", "async", "requests")}
    assert counts(checkout) == dict.fromkeys(names, 1)
    assert upstream.count == 3
    checkout.run(*run, "--replay").assert_outcomes(passed=3)
    assert counts(checkout) == dict.fromkeys(names, 1)
    assert upstream.count == 3


def test_what_a_mock_passes_through_outside_of_a_case_is_missed(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = project(upstream, passed=PASSED).at(pytester)
    result = checkout.run("eval", "--replay")
    result.assert_outcomes(failed=3)
    assert upstream.count == 0
    assert result.stdout.str().count("called outside of any case, and nothing is sent in a replay") >= 3


def test_a_mock_that_a_conftest_starts_is_asked_first(pytester: pytest.Pytester, upstream: Upstream) -> None:
    """In a recording it is there before the session begins."""
    started = (
        "import respx\n\nROUTER = respx.mock(assert_all_called=False)\nROUTER.start()\n"
        "ROUTER.post('http://fake.invalid/v1').respond(text='mocked')\nROUTER.route(host='127.0.0.1').pass_through()\n\n\n"
        "def pytest_unconfigure():\n    ROUTER.stop()\n"
    )
    source = (
        f"import httpx\nimport pytest\n\nURLS = ('http://fake.invalid/v1', {upstream.url + '/any'!r})\n\n\n"
        "@pytest.mark.recall('a')\ndef test_a():\n"
        "    fake, passed = [httpx.post(url, json={'prompt': 'plain'}).text for url in URLS]\n"
        "    assert fake == 'mocked'\n    assert passed\n"
    )
    files = {"eval/conftest.py": started, "eval/test_mocked.py": source}
    checkout = project(upstream).with_files(files).at(pytester)
    for option in ("--record", "--replay"):
        checkout.run("eval", "--recall-mode=all", option).assert_outcomes(passed=1)
        assert counts(checkout) == {"a": 1}
        assert upstream.count == 1


def test_pytest_httpx(pytester: pytest.Pytester, upstream: Upstream) -> None:
    pytest.importorskip("pytest_httpx")
    body = """\
@pytest.mark.httpx_mock(should_mock=lambda request: request.url.host != "127.0.0.1")
@pytest.mark.recall("a")
def test_a(httpx_mock):
    httpx_mock.add_response(text="mocked")
    assert ask(FAKE) == "mocked"
    assert ask(URL)
"""
    checkout = project(upstream, mocked=body).at(pytester)
    for option in ("--record", "--replay"):
        run = ("-p", "pytest_httpx", "eval", "--recall-mode=all", option)
        checkout.run_apart(*run).assert_outcomes(passed=1)
        assert counts(checkout) == {"a": 1}
        assert upstream.count == 1
