"""Tests that set the clock: what a run writes down has the dates and the seconds of the machine."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from pytest_recall.replay.cassette_file import read_header
from tests.helpers.project import BARE, Checkout
from tests.helpers.talking import WITHOUT_SDKS, asking, cassette, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx")

FAKED = {
    "freezegun": ("import freezegun", 'freezegun.freeze_time("2012-01-14")'),
    "time-machine": ("import time_machine", 'time_machine.travel("2012-01-14", tick=False)'),
}
ASKS = """
def asks(question):
    import time
    assert time.localtime().tm_year == 2012, "the agent has the clock that the test has set"
    return plain_sync(question)


"""
SCOPED = """
{imported}


@pytest.fixture(scope="{scope}", autouse=True)
def world():
    with {faked}:
        yield


@pytest.fixture
def agent(world):
    return asks
"""
FORMS = {
    "agent": """
{imported}


@pytest.fixture
def agent():
    with {faked}:
        yield asks
""",
    "call": """
{imported}


@pytest.fixture
def agent():
    def answer(question):
        with {faked}:
            return asks(question)

    return answer
""",
    "function": SCOPED.replace("{scope}", "function"),
    "session": SCOPED.replace("{scope}", "session"),
    "configure": """
{imported}

WORLD = {faked}


def pytest_configure():
    WORLD.__enter__()


def pytest_unconfigure():
    WORLD.__exit__(None, None, None)


@pytest.fixture
def agent():
    return asks
""",
}


EACH = ("agent", "call", "function")
"""Those that fake the clock of one case, and so can be beside one another in a run."""


def at_work(pytester: pytest.Pytester, upstream: Upstream, *faked: tuple[str, str]) -> Checkout:
    """Write a project with cases for each package and form: in folders, unless there is one, which is loaded early."""
    project, names = BARE, "a" if len(faked) > 1 else "ab"
    for package, form in faked:
        imported, fake = FAKED[package]
        form_source = FORMS[form].format(imported=imported, faked=fake)
        source = talking(upstream, WITHOUT_SDKS + ASKS + form_source).files["eval/conftest.py"]
        folder = f"eval/{package}-{form}" if len(faked) > 1 else "eval"
        project = project.with_files({f"{folder}/conftest.py": source}).with_cases(
            *(asking(f"{package}-{form}-{name}") for name in names), file=f"{folder}/{form}.cases.yaml"
        )
    return project.at(pytester)


def dated_today(checkout: Checkout, before: datetime) -> None:
    """Assert that the newest run says when it was, and took no longer than the test has."""
    days = {before.date().isoformat(), datetime.now(UTC).date().isoformat()}
    told = (checkout.artifacts.runs()[-1] / "trials.jsonl").read_text(encoding="utf-8")
    assert '"2012-' not in told
    record = checkout.journal()
    assert record.header.date in days
    assert record.header.started[:10] in days
    passed = (datetime.now(UTC) - before).total_seconds()
    assert record.seconds is not None
    assert 0 <= record.seconds <= passed
    assert all(trial.seconds is not None and 0 < trial.seconds <= passed for trial in record.trials)
    assert all(0 < call.seconds <= passed for trial in record.trials for call in trial.calls if trial.source == "live")


TOGETHER = tuple((package, form) for package in FAKED for form in EACH)


@pytest.mark.parametrize(
    ("faked", "workers"),
    [
        (TOGETHER, ()),
        ((("freezegun", "configure"),), ()),
        ((("time-machine", "configure"),), ()),
        ((("time-machine", "session"),), ("-n1",)),
    ],
    ids=["each in a run", "freezegun configure", "time-machine configure", "time-machine session n1"],
)
def test_what_is_written_has_the_dates_of_the_machine(
    pytester: pytest.Pytester, upstream: Upstream, faked: tuple[tuple[str, str], ...], workers: tuple[str, ...]
) -> None:
    checkout = at_work(pytester, upstream, *faked)
    before = datetime.now(UTC)
    result = checkout.run_apart("eval", "--record", "--recall-mode=all", *workers, day=None)
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    dated_today(checkout, before)
    assert len(checkout.state()) == max(2, len(faked))
    assert all(before.date() <= row.last_tested < row.next_due for row in checkout.state().values())
    for name in checkout.state():
        path = cassette(checkout, name)
        recorded = datetime.fromisoformat(read_header(path, path.name)["recorded_at"])
        assert before.replace(microsecond=0) <= recorded <= datetime.now(UTC)
        assert '"2012-' not in path.read_text(encoding="utf-8")
    if workers:
        return  # What is faked by `configure` is so for longer, and replayed.
    upstream.close()
    before = datetime.now(UTC)
    allowed = ("--recall-mode=all", "--recall-replay-max-age=1")
    result = checkout.run_apart("eval", "--replay", *allowed, day=None)
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    dated_today(checkout, before)


def test_a_lock_that_another_holds_is_waited_for_by_the_clock_of_the_machine(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    """By the clock of the test, which stands, the wait would never end."""
    checkout = at_work(pytester, upstream, ("freezegun", "session"))
    plugin = """
import pytest
from pytest_recall.files import disk


@pytest.fixture(scope="session", autouse=True)
def held():
    disk.LOCK_SECONDS = 0.1
    with disk.locked(DRAFTS / ".lock"):
        yield
"""
    drafts = checkout.path / "eval" / "cassettes" / ".drafts"
    (checkout.path / "conftest.py").write_text(
        f"from pathlib import Path\n\nDRAFTS = Path({json.dumps(str(drafts))})\n{plugin}", encoding="utf-8"
    )
    result = checkout.run_apart("eval", "--record", day=None)
    result.stdout.fnmatch_lines(["*another run has held the lock*"])
