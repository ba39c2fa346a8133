"""Tests that fake the file system: what a run records and writes is on the disk."""

from __future__ import annotations

import pytest

from tests.helpers.talking import answers, asking, drafts, finished, sources, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx")

ASKS = """
import pathlib
from pyfakefs.fake_filesystem_unittest import Patcher


def asks(question):
    place = pathlib.Path("/made-by-a-test")
    assert not place.exists(), "the agent has the files of the test"
    place.write_text(question)
    assert place.read_text() == question
    place.unlink()
    return plain_sync(question)


"""
SCOPED = """
@pytest.fixture(scope="{scope}", autouse=True)
def world():
    with Patcher():
        yield


@pytest.fixture
def agent(world):
    return asks
"""
FORMS = {
    "agent": """
@pytest.fixture
def agent():
    with Patcher():
        yield asks
""",
    "call": """
@pytest.fixture
def agent():
    def answer(question):
        with Patcher():
            return asks(question)

    return answer
""",
    "fixture": """
@pytest.fixture
def agent(fs):
    return asks
""",
    "function": SCOPED.replace("{scope}", "function"),
    "session": SCOPED.replace("{scope}", "session"),
    "fs_session": """
@pytest.fixture(scope="session", autouse=True)
def world(fs_session):
    return fs_session


@pytest.fixture
def agent():
    return asks
""",
}


@pytest.mark.parametrize(
    ("form", "workers"),
    [*((form, ()) for form in FORMS), ("call", ("-n", "2")), ("fs_session", ("-n", "2"))],
    ids=str,
)
def test_a_recording_is_on_the_disk_and_replayed_from_it(
    pytester: pytest.Pytester, upstream: Upstream, form: str, workers: tuple[str, ...]
) -> None:
    plugins = ("-p", "pyfakefs.pytest_plugin", *workers)
    checkout = talking(upstream, ASKS + FORMS[form]).with_cases(asking("a"), asking("b")).at(pytester)
    result = checkout.run_apart("eval", "--record", "--budget=1", *plugins)
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert set(finished(checkout)) == {"one/a.ndjson", "one/b.ndjson"}
    assert not drafts(checkout)
    before = answers(checkout)
    assert sources(checkout) == {"a": "live", "b": "live"}
    assert set(checkout.state()) == {"a", "b"}
    assert checkout.scorecard()["run"] == checkout.journal().header.run
    files = finished(checkout)
    upstream.close()
    result = checkout.run_apart("eval", "--replay", "--recall-mode=all", *plugins)
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert answers(checkout) == before
    assert sources(checkout) == {"a": "replayed", "b": "replayed"}
    assert finished(checkout) == files


def test_what_several_fixtures_and_threads_record_is_on_the_disk(pytester: pytest.Pytester, upstream: Upstream) -> None:
    source = """
@pytest.fixture(scope="module")
def warm(world):
    return plain_sync("warm")


@pytest.fixture(scope="module")
def world():
    with Patcher():
        yield


@pytest.fixture
def agent(warm):
    def answer(question):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return "|".join([warm, *pool.map(plain_sync, (f"{question} 1", f"{question} 2"))])

    return answer
"""
    checkout = talking(upstream, ASKS + source).with_cases(asking("a"), asking("b")).at(pytester)
    result = checkout.run_apart("eval", "--record", "-p", "pyfakefs.pytest_plugin")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    before = answers(checkout)
    assert len(finished(checkout)) == 3
    upstream.close()
    result = checkout.run_apart("eval", "--replay", "--recall-mode=all", "-p", "pyfakefs.pytest_plugin")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert answers(checkout) == before
