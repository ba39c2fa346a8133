"""What varies by itself is said by a command, and affects no case once the rubric has it; a word beside it does."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_recall.files import strict_yaml
from pytest_recall.replay import other_date
from tests.helpers.project import SETTINGS, Checkout, case
from tests.helpers.repository import Repository
from tests.helpers.talking import agent, agents, asking, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx")
pytest.importorskip("time_machine")

RUBRIC = "owner: us\nblocks: regression\n"
CASES = [asking("a"), asking("b")]
# A call of a thread, and one of an event loop that waits: both have the other date, and neither stands still.
TALK = """\
import datetime, httpx, time, uuid
with concurrent.futures.ThreadPoolExecutor(1) as pool:
    now = pool.submit(datetime.datetime.now).result()
    prompt = f"echo Session {uuid.uuid4()} at {now:%Y-%m-%d %H:%M:%S.%f} today. Be MANNER to {question}"
    pool.submit(plain_sync, prompt).result()

async def ask():
    await asyncio.sleep(0.01)
    body = dict(messages=said(f"echo {question}: the clock of {time.time():.0f} is right"), **GPT)
    async with httpx.AsyncClient() as client:
        await client.post(URL + "/v1/chat/completions", json=body)
    return "done"

return asyncio.run(ask())"""


def recall(checkout: Checkout, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process that starts from nothing."""
    return _run(checkout.path, "pytest_recall", *arguments)


def evaluated(checkout: Checkout, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest over the cases, as CI does for a pull request unless there are other arguments."""
    wanted = arguments or ("--recall-base=main", "--recall-pr=5")
    return _run(checkout.path, "pytest", "-p", "recall", "eval", *wanted)


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)  # pytest shows it of a test that fails.
    return done


def recorded(pytester: pytest.Pytester, upstream: Upstream, source: str, *cases: dict[str, object]) -> Checkout:
    """Return the checkout of a branch that has changed nothing since all was recorded on `main`."""
    project = talking(upstream, source).with_files({"eval/rubric.yaml": RUBRIC}).with_cases(*(cases or CASES))
    checkout = project.at(pytester)
    repository = Repository.at(checkout.path)
    done = evaluated(checkout, "--record", "--recall-mode=all")
    assert done.returncode == 0
    repository.commit()
    repository.git("switch", "-qc", "branch")
    upstream.bodies.clear()
    return checkout


def write(checkout: Checkout, upstream: Upstream, source: str) -> None:
    """Commit another agent."""
    talking(upstream, source).at(checkout.pytester)
    Repository(checkout.path).commit()


def test_the_line_is_printed_and_with_it_a_word_beside_the_date_alone_affects_a_case(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    source = agent(TALK)
    checkout = recorded(pytester, upstream, source)
    headline = "2 cases send something new each time (`recall cassettes varying` says what)"
    done = evaluated(checkout)
    assert any(headline in line for line in done.stdout.splitlines() if line.startswith("No regression: 2 "))
    assert checkout.journal().header.varying == 2
    assert checkout.journal().header.affected == ("a", "b")

    upstream.bodies.clear()
    done = recall(checkout, "cassettes", "varying")
    assert done.returncode == 1
    assert not upstream.bodies
    assert "messages[0].content: “Session " in done.stdout
    assert "  in 2 cases: a, b" in done.stdout
    # What the second call varies in shows itself once the first one is answered.
    assert "(round 3)" in done.stderr
    assert "3 places vary in the requests of 2 cases" in done.stdout
    printed = done.stdout.partition("under `volatile`:\n\n")[2].partition("\n\n")[0]
    assert len(strict_yaml.load(printed, "printed")["volatile"]) == 3

    repository = Repository(checkout.path)
    repository.git("switch", "-q", "main")
    (checkout.path / "eval/rubric.yaml").write_text(f"{RUBRIC}{printed}\n", encoding="utf-8")
    repository.commit()
    repository.git("switch", "-q", "branch")
    repository.git("checkout", "-q", "--", ".")
    repository.git("merge", "-q", "main", "--no-edit")
    done = recall(checkout, "cassettes", "varying", "--json")
    assert (done.returncode, json.loads(done.stdout)["varying"]) == (0, [])
    upstream.bodies.clear()
    evaluated(checkout)
    assert checkout.journal().header.affected == ()
    assert not upstream.bodies

    for word, other in (("MANNER", "kind"), ("Session", "Sitting")):
        write(checkout, upstream, source.replace(word, other))
        done = evaluated(checkout)
        assert checkout.journal().header.affected == ("a", "b"), word
        # Without the word that the line holds the text is new each time, as it was.
        assert (checkout.journal().header.varying == 0) is (word == "MANNER")


def test_what_no_setting_fits_is_said_and_what_does_not_vary_is_not(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    bodies = {
        "order": "return plain_sync('echo ' + ' '.join({'red', 'green', 'blue', 'white', 'black', 'pink', 'brown'}))",
        "seeded": "import random\nrandom.seed(4)\nreturn plain_sync(f'echo {random.random()}')",
        "fails": (
            "if time.time() > START + 9_000_000:\n    raise OSError('the cache is too old')\n"
            "return plain_sync('echo a')"
        ),
    }
    source = f"import time\n\nSTART = {time.time()}\n{agents(bodies)}"
    checkout = recorded(pytester, upstream, source, *(asking(name) for name in bodies))
    done = recall(checkout, "cassettes", "varying", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert [(one["cases"], one["volatile"]) for one in found["varying"]] == [(["order"], [])]
    assert found["undecided"]["fails"] == "compared up to an error of the agent or a judge"
    done = recall(checkout, "cassettes", "varying", "--case", "seeded")
    assert done.returncode == 0
    assert done.stdout == "nothing varies in the requests of 1 case\n"


def test_a_project_that_leaves_the_short_names_to_others(pytester: pytest.Pytester, upstream: Upstream) -> None:
    """The processes that are begun spell no option that the project has under another name."""
    source = "import uuid\nreturn plain_sync(f'echo {uuid.uuid4()}')"
    theirs = "\n\ndef pytest_addoption(parser):\n    parser.addoption('--record', action='store_true')\n"
    settings = {"pytest.ini": f"{SETTINGS.replace('--strict-config', '--record')}recall_short_options = false\n"}
    made = talking(upstream, agent(source) + theirs).with_files({"eval/rubric.yaml": RUBRIC, **settings})
    checkout = made.with_cases(*CASES).at(pytester)
    repository = Repository.at(checkout.path)
    assert evaluated(checkout, "--recall-record", "--recall-mode=all").returncode == 0
    repository.commit()
    repository.git("switch", "-qc", "branch")
    assert evaluated(checkout).returncode == 0
    assert checkout.journal().header.varying == 2
    done = recall(checkout, "cassettes", "varying", "--json")
    assert [one["cases"] for one in json.loads(done.stdout)["varying"]] == [["a", "b"]]


def test_workers_of_xdist_live_at_the_other_date_as_well(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xdist")
    checkout = recorded(
        pytester, upstream, agent("import datetime\nreturn plain_sync(f'echo It is {datetime.date.today()} now')")
    )
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p xdist -n1")
    done = recall(checkout, "cassettes", "varying")
    assert done.returncode == 1
    assert r"body.messages.*.content: \bis \d{4}-\d\d-\d\d now\b" in done.stdout


class TestMistakes:
    """Each is one sentence."""

    @pytest.fixture
    def checkout(self, pytester: pytest.Pytester, upstream: Upstream) -> Checkout:
        """A project of which nothing is recorded."""
        project = talking(upstream, agent("return plain_sync('echo a')")).with_cases(case("a"))
        return project.at(pytester)

    def test_nothing_is_recorded(self, checkout: Checkout) -> None:
        done = checkout.recall("cassettes", "varying")
        assert done.ret == 2
        assert done.errlines == [
            "recall: eval/cassettes: no case is recorded; `pytest -p recall eval --record` records them"
        ]

    def test_no_such_case(self, checkout: Checkout) -> None:
        checkout.run("eval", "--record", "--recall-mode=all")
        assert checkout.recall("cassettes", "varying", "--case", "b").errlines == [
            "recall: no recording of `b`; known: a"
        ]

    def test_nothing_sets_the_date(self, checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
        checkout.run("eval", "--record", "--recall-mode=all")
        monkeypatch.setattr(other_date, "is_installed", lambda: False)
        done = checkout.recall("cassettes", "varying")
        assert done.ret == 2
        assert done.errlines == [
            "recall: time-machine sets the other date, and is not installed; pip install 'pytest-recall[varying]'"
            " installs it"
        ]

    def test_a_conftest_file_is_broken(self, checkout: Checkout) -> None:
        checkout.run("eval", "--record", "--recall-mode=all")
        (checkout.path / "eval/conftest.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
        done = recall(checkout, "cassettes", "varying")
        assert done.returncode == 2
        assert "and found nothing (ModuleNotFoundError: No module named 'nothing_of_this_name')" in done.stderr
