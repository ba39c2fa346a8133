"""Tests that fake the file system: what a run records and writes is on the disk."""

from __future__ import annotations

import pytest

from tests.helpers.project import BARE
from tests.helpers.talking import WITHOUT_SDKS, answers, asking, drafts, finished, sources, talking
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
    "threads": """
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
""",
    "fs_session": """
@pytest.fixture(scope="session", autouse=True)
def world(fs_session):
    return fs_session


@pytest.fixture
def agent():
    return asks
""",
}


CASE = ("agent", "call", "fixture", "function")
"""Those that fake the files of one case."""
EACH = (*CASE, "threads")
"""Those that can be beside one another in a run; the last fakes the files of a module, and records once for it."""


@pytest.mark.parametrize(
    ("forms", "workers"),
    [(EACH, ()), (("fs_session",), ("-n1",))],
    ids=["each in a run", "session n1"],
)
def test_a_recording_is_on_the_disk_and_replayed_from_it(
    pytester: pytest.Pytester, upstream: Upstream, forms: tuple[str, ...], workers: tuple[str, ...]
) -> None:
    plugins = ("-p", "pyfakefs.pytest_plugin")
    project, ids = BARE, set()
    for form in forms:
        conftest = talking(upstream, WITHOUT_SDKS + ASKS + FORMS[form]).files["eval/conftest.py"]
        folder = f"eval/{form}" if len(forms) > 1 else "eval"
        project = project.with_files({f"{folder}/conftest.py": conftest})
        # What is faked for several cases is met by the second one.
        names = [f"{form}-{name}" for name in ("a" if form in CASE else "ab")]
        project = project.with_cases(*map(asking, names), file=f"{folder}/{form}.cases.yaml")
        ids.update(names)
    checkout = project.at(pytester)
    result = checkout.run_apart("eval", "--record", "--recall-mode=all", "--budget=1", *plugins, *workers)
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    of_cases = {f"one/{case_id}.ndjson" for case_id in ids}
    assert of_cases <= finished(checkout).keys()
    assert len(finished(checkout)) - len(of_cases) == ("threads" in forms), "what the fixture `warm` asks, once"
    assert not drafts(checkout)
    before = answers(checkout)
    assert sources(checkout) == dict.fromkeys(ids, "live")
    assert set(checkout.state()) == ids
    assert checkout.scorecard()["run"] == checkout.journal().header.run
    files = finished(checkout)
    upstream.close()
    result = checkout.run_apart("eval", "--replay", "--recall-mode=all", *plugins)
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert answers(checkout) == before
    assert sources(checkout) == dict.fromkeys(ids, "replayed")
    assert finished(checkout) == files
