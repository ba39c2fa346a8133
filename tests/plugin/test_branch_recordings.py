"""What is recorded on a branch, in real repositories and processes: in a file of the run's own, until main has it."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_recall.files.eval_directory import Place
from pytest_recall.replay.run_recordings import RECORDING, UNPACKED, cassettes_in, files_of_runs
from pytest_recall.schedule.changes import from_text
from tests.helpers import kept
from tests.helpers.project import Checkout, case, row, state_yaml
from tests.helpers.replaying import QUICK, changed, quick_run
from tests.helpers.repository import ENVIRONMENT, Repository
from tests.helpers.running import Running, wait_until
from tests.helpers.talking import agent, answers, finished, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx")

SHARED = "calls: {'http://127.0.0.1:*/.well-known/*': repeatable}\n"
RUBRIC = f"owner: us\nblocks: failure\n{SHARED}"
CASES = [case(name, judges=[{"regex": "."}]) for name in "abc"]
"""They pass with any answer."""
IGNORED = "eval/_artifacts\neval/cassettes/.drafts\n__pycache__\nrun-*\nasked.txt\npid\n.pytest_cache\n"
ALL = "--recall-mode=all"


def source(prompt: str = "say", more: str = "") -> str:
    """Return an agent that asks with a `prompt`."""
    return agent(f"{more}\nreturn plain_sync(f'{prompt} {{question}}')")


TWO_CALLS = "plain_sync(f'first {question}')"
"""A call that comes before, and stays the same whatever the prompt."""


def on_main(
    pytester: pytest.Pytester, upstream: Upstream, text: str = "", rubric: str = RUBRIC, trials: int = 1
) -> tuple[Checkout, Repository]:
    """Return a clone in which main has recorded all cases."""
    files = {"eval/rubric.yaml": rubric, ".gitignore": IGNORED, **QUICK}
    cases = [{**one, "trials": trials} for one in CASES] if trials > 1 else CASES
    checkout = kept.recorded(pytester, talking(upstream, text or source()).with_cases(*cases).with_files(files))
    repository = Repository.at(checkout.path)
    repository.commit("Main")
    # A cassette says in seconds when it was recorded, and no one records main and a branch in the same.
    next_second()
    return checkout, repository


def next_second() -> None:
    """Wait until another second has begun."""
    now = int(time.time())
    wait_until(lambda: int(time.time()) > now)


def on_branch(
    pytester: pytest.Pytester, upstream: Upstream, text: str = "", rubric: str = RUBRIC, trials: int = 1
) -> tuple[Checkout, Repository]:
    """Return the same on a branch."""
    checkout, repository = on_main(pytester, upstream, text, rubric, trials)
    repository.git("switch", "-qc", "feature")
    return checkout, repository


def asked_since(upstream: Upstream, before: int) -> list[str]:
    """Return what was asked after so many requests, sorted; empty texts for what has no messages."""
    return sorted(body["messages"][-1]["content"] if "messages" in body else "" for body in upstream.bodies[before:])


def asked_by(checkout: Checkout, upstream: Upstream, *options: str, only: str = "abc") -> list[str]:
    """Return what a run of all cases asks, or of those that are named `only`; they have to pass."""
    before = upstream.count
    paths = ["eval"] if only == "abc" else [f"eval/cases.yaml::{case_id}" for case_id in only]
    result = checkout.run_apart(*paths, ALL, *options)
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    result.assert_outcomes(passed=len(only))
    return asked_since(upstream, before)


def packed(checkout: Checkout) -> dict[str, list[str]]:
    """Return which cassettes are in the files of runs, by the names of these, the newest first."""
    place = Place(checkout.path, checkout.path / "eval")
    return {one.path.name: [name for name, _ in cassettes_in(one.path, one.path.name)] for one in files_of_runs(place)}


def yamls(checkout: Checkout) -> list[Path]:
    """Return the run files of the state."""
    return sorted(checkout.path.glob("eval/runs/*.yaml"))


def recording(checkout: Checkout) -> list[Path]:
    """Return what is left of runs that record."""
    return sorted(path for path in (checkout.artifacts.folder / RECORDING).rglob("*") if path.is_file())


EVERY = ["one/a.ndjson", "one/b.ndjson", "one/c.ndjson"]


@pytest.mark.parametrize("option", ["--record", "--record=missing"])
@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "n2"])
def test_a_branch_records_into_one_file_and_answers_itself_from_it(
    pytester: pytest.Pytester, lasting: Upstream, option: str, workers: tuple[str, ...]
) -> None:
    upstream = lasting
    checkout, repository = on_branch(pytester, upstream)
    before = finished(checkout)
    changed(checkout, upstream, source("tell"))
    assert asked_by(checkout, upstream, option, *workers) == ["tell a", "tell b", "tell c"]
    said = answers(checkout)
    assert finished(checkout) == before
    assert list(packed(checkout).values()) == [EVERY]
    assert len(yamls(checkout)) == 1
    assert recording(checkout) == []
    status = repository.git("status", "--porcelain", "--untracked-files=all", "eval/cassettes", "eval/runs")
    assert sorted(line[:2] for line in status.splitlines()) == ["??", "??"]
    assert asked_by(checkout, upstream, "--replay", *workers) == []
    assert answers(checkout) == said
    changed(checkout, upstream, source())
    assert asked_by(checkout, upstream, "--replay", *workers) == [], "what was recorded before fits the old prompt"
    assert {one.partition(" to ")[2] for one in answers(checkout).values()} == {"say a", "say b", "say c"}
    assert finished(checkout) == before


def test_a_branch_that_asks_nothing_new_records_nothing(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout, _ = on_branch(pytester, lasting)
    before = finished(checkout)
    assert asked_by(checkout, lasting, "--record=missing") == []
    assert (packed(checkout), recording(checkout), finished(checkout)) == ({}, [], before)


def test_what_is_missing_alone_is_asked_and_recorded(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout, _ = on_branch(pytester, lasting)
    before = finished(checkout)
    only_b = source("{verb}", "verb = 'tell' if question == 'b' else 'say'")
    changed(checkout, lasting, only_b)
    assert asked_by(checkout, lasting, "--record=missing") == ["tell b"]
    assert list(packed(checkout).values()) == [["one/b.ndjson"]]
    assert asked_by(checkout, lasting, "--record=missing") == [], "the branch has it by now"
    changed(checkout, lasting, only_b.replace("== 'b'", "in 'bc'"))
    assert asked_by(checkout, lasting, "--record=missing") == ["tell c"]
    assert list(packed(checkout).values()) == [["one/c.ndjson"], ["one/b.ndjson"]]
    assert asked_by(checkout, lasting, "--replay") == []
    assert finished(checkout) == before


def test_on_main_and_without_git_and_into_a_folder_all_is_as_before(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    checkout, repository = on_main(pytester, lasting)
    before = finished(checkout)
    changed(checkout, lasting, source("tell"))
    assert len(asked_by(checkout, lasting, "--record")) == 3
    assert finished(checkout).keys() == before.keys()
    assert all(finished(checkout)[name] != before[name] for name in before)
    assert packed(checkout) == {}
    repository.git("switch", "-qc", "feature")
    here = finished(checkout)
    assert len(asked_by(checkout, lasting, "--record=apart")) == 3
    assert finished(checkout, "apart").keys() == before.keys()
    assert (finished(checkout), packed(checkout)) == (here, {})
    (checkout.path / ".git").rename(checkout.path / "no-git")
    changed(checkout, lasting, source("shout"))
    assert len(asked_by(checkout, lasting, "--record=missing")) == 3
    assert all(finished(checkout)[name] != here[name] for name in before)
    assert packed(checkout) == {}


def test_two_branches_that_record_the_same_cases_merge_and_main_takes_over(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    checkout, repository = on_main(pytester, lasting)
    before, code = finished(checkout), checkout.path / "eval/conftest.py"
    for branch, prompt in (("first", "tell"), ("second", "shout")):
        repository.git("switch", "-qc", branch, "main")
        text = code.read_text(encoding="utf-8")
        changed(checkout, lasting, source(prompt))
        assert len(asked_by(checkout, lasting, "--record")) == 3
        if branch == "first":
            code.write_text(text, encoding="utf-8")  # Both keep the code of main, so that nothing else conflicts.
        repository.commit(branch)
        repository.git("branch", "-f", "old", "first")
        next_second()
    repository.git("switch", "-q", "main")
    assert repository.merge("first")
    assert repository.merge("second")
    assert [len(names) for names in packed(checkout).values()] == [3, 3]
    assert asked_by(checkout, lasting, "--replay") == []
    said = answers(checkout)
    assert {one.partition(" to ")[2] for one in said.values()} == {"shout a", "shout b", "shout c"}
    assert asked_by(checkout, lasting, "--record=missing") == []
    taken = finished(checkout)
    assert all(taken[name] != before[name] for name in before)
    assert packed(checkout) == {}, "the cassettes hold all of the one, and what was recorded later than the other"
    assert asked_by(checkout, lasting, "--replay") == []
    assert answers(checkout) == said
    repository.commit("Taken over")
    rows = checkout.state_text()
    files = repository.git("ls-tree", "-r", "--name-only", "old", "eval/runs/").split()
    repository.git("checkout", "old", "--", *files)
    assert len(packed(checkout)) == 1
    assert asked_by(checkout, lasting, "--replay") == []
    assert answers(checkout) == said
    assert asked_by(checkout, lasting, "--record=missing") == []
    assert (answers(checkout), finished(checkout), packed(checkout)) == (said, taken, {})
    assert rows is not None


def test_main_takes_over_what_it_asks_and_keeps_the_rest_of_a_file(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    """What answers another prompt than that of main is not lost."""
    checkout, repository = on_branch(pytester, lasting)
    changed(checkout, lasting, source("tell"))
    asked_by(checkout, lasting, "--record")
    changed(checkout, lasting, source())
    repository.commit("Back again, with its recordings")
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    before, files = finished(checkout), packed(checkout)
    assert asked_by(checkout, lasting, "--record=missing") == []
    assert (finished(checkout), packed(checkout)) == (before, files)
    changed(checkout, lasting, source("tell"))
    assert asked_by(checkout, lasting, "--record=missing", only="ab") == []
    assert packed(checkout) == files, "one case is not taken over"
    assert finished(checkout)["one/c.ndjson"] == before["one/c.ndjson"]
    assert asked_by(checkout, lasting, "--record=missing") == []
    assert packed(checkout) == {}
    assert asked_by(checkout, lasting, "--replay") == []


def test_a_file_whose_recordings_share_a_call_with_main_is_not_deleted_before_it_is_taken_over(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    """The first call is that of main, so that the recording of the branch is as old as that of main."""
    checkout, repository = on_branch(pytester, lasting, source("say", TWO_CALLS))
    changed(checkout, lasting, source("tell", TWO_CALLS))
    assert asked_by(checkout, lasting, "--record=missing") == ["tell a", "tell b", "tell c"]
    assert list(packed(checkout).values()) == [EVERY]
    repository.commit("Change")
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    assert asked_by(checkout, lasting, "--record=missing", only="a") == []
    assert asked_by(checkout, lasting, "--replay") == []


def test_recordings_with_a_call_of_main_in_them_count_on_their_branch(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    checkout, _ = on_branch(pytester, lasting, source("say", TWO_CALLS))
    changed(checkout, lasting, source("tell", TWO_CALLS))
    assert asked_by(checkout, lasting, "--record=missing") == ["tell a", "tell b", "tell c"]
    assert asked_by(checkout, lasting, "--replay") == []
    changed(checkout, lasting, source("shout", TWO_CALLS))
    assert asked_by(checkout, lasting, "--record=missing") == ["shout a", "shout b", "shout c"]
    assert asked_by(checkout, lasting, "--replay") == []


def test_a_prompt_that_is_reverted_behind_an_equal_call_is_asked_once_more(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    """The first request is in both recordings, so that the newest counts, and the second one is not in that."""
    checkout, _ = on_branch(pytester, lasting, source("say", TWO_CALLS))
    changed(checkout, lasting, source("tell", TWO_CALLS))
    asked_by(checkout, lasting, "--record=missing")
    changed(checkout, lasting, source("say", TWO_CALLS))
    assert asked_by(checkout, lasting, "--record=missing") == ["say a", "say b", "say c"]
    assert asked_by(checkout, lasting, "--replay") == []


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "n2"])
def test_the_series_of_a_branch_replaces_that_of_main(
    pytester: pytest.Pytester, lasting: Upstream, workers: tuple[str, ...]
) -> None:
    checkout, repository = on_branch(pytester, lasting, trials=3)
    assert len(finished(checkout)) == 9
    changed(checkout, lasting, source("tell"))
    assert len(asked_by(checkout, lasting, "--record", *workers)) == 9
    assert [len(names) for names in packed(checkout).values()] == [9]
    assert asked_by(checkout, lasting, "--replay", *workers) == []
    changed(checkout, lasting, source())
    assert asked_by(checkout, lasting, "--replay", *workers) == []
    texts = {trial.answer.text for trial in checkout.journal().trials if trial.answer is not None}
    assert len(texts) == 9
    changed(checkout, lasting, source("tell"))
    repository.commit("Change")
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    assert asked_by(checkout, lasting, "--record=missing", *workers) == []
    assert packed(checkout) == {}
    assert len(finished(checkout)) == 9
    assert asked_by(checkout, lasting, "--replay", *workers) == []


def replaced_trials(checkout: Checkout, before: str, after: str) -> None:
    """Have all cases asked another number of times."""
    path = checkout.path / "eval/cases.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(f"trials: {before}", f"trials: {after}"), encoding="utf-8")


@pytest.mark.parametrize("counts", [(3, 2), (2, 3)], ids=["shorter", "longer"])
def test_a_series_of_another_length_is_that_of_the_branch_alone(
    pytester: pytest.Pytester, lasting: Upstream, counts: tuple[int, int]
) -> None:
    """No trial of the series of main is among those of the branch, and none is left after it was taken over."""
    checkout, repository = on_branch(pytester, lasting, trials=counts[0])
    changed(checkout, lasting, source("tell"))
    replaced_trials(checkout, str(counts[0]), str(counts[1]))
    assert len(asked_by(checkout, lasting, "--record")) == 3 * counts[1]
    assert asked_by(checkout, lasting, "--replay") == []
    repository.commit("Change")
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    assert asked_by(checkout, lasting, "--record=missing") == []
    assert packed(checkout) == {}
    assert len(finished(checkout)) == 3 * counts[1]
    assert asked_by(checkout, lasting, "--replay") == []


def test_a_dry_run_replays_the_series_of_the_branch_and_no_trial_of_main(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    checkout, _ = on_branch(pytester, lasting, trials=3)
    changed(checkout, lasting, source("tell"))
    replaced_trials(checkout, "3", "2")
    assert len(asked_by(checkout, lasting, "--record")) == 6
    checkout.run_apart("eval", ALL, "--record=missing", "--recall-dry-run", "--recall-dry-run-file=dry.json")
    assert from_text((checkout.path / "dry.json").read_text(encoding="utf-8"), "dry.json").reasons == {}


def test_a_killed_recording_goes_on_and_asks_only_the_rest(pytester: pytest.Pytester, upstream: Upstream) -> None:
    """It dies in the second of two calls of a case: what is a draft by then is not asked again either."""
    hangs = f"{TWO_CALLS}\nif question == 'c' and not pathlib.Path('go').exists():\n    plain_sync('hang')"
    files = {"eval/rubric.yaml": RUBRIC, ".gitignore": IGNORED, **QUICK}
    running = Running(talking(upstream, source("tell", hangs)).with_cases(*CASES).with_files(files), pytester)
    checkout = running.checkout
    repository = Repository.at(checkout.path)
    repository.commit("Main")
    repository.git("switch", "-qc", "feature")
    begun = running.start("--record", ALL)
    wait_until(lambda: "hang" in upstream.prompts)
    assert running.end(begun, signal.SIGKILL).ret == -signal.SIGKILL
    assert (packed(checkout), finished(checkout)) == ({}, {})
    assert [path for path in recording(checkout) if path.suffix == ".ndjson"]
    (checkout.path / "go").touch()
    asked = asked_by(checkout, upstream, "--record=missing")
    assert asked == ["tell c"]
    assert list(packed(checkout).values()) == [EVERY]
    assert recording(checkout) == []
    assert finished(checkout) == {}
    assert asked_by(checkout, upstream, "--replay") == []


def test_a_recording_without_a_verdict_is_taken_up_by_the_next_run(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout, _ = on_branch(pytester, upstream)
    boom = f"{TWO_CALLS}\nif question == 'b':\n    raise RuntimeError('boom')"
    changed(checkout, upstream, source("tell", boom))
    result = checkout.run_apart("eval", ALL, "--record=missing")
    assert result.ret != pytest.ExitCode.OK
    assert list(packed(checkout).values()) == [["one/a.ndjson", "one/c.ndjson"]]
    assert recording(checkout), "its draft"
    changed(checkout, upstream, source("tell", TWO_CALLS))
    assert asked_by(checkout, upstream, "--record=missing") == ["tell b"]
    assert list(packed(checkout).values()) == [["one/b.ndjson"], ["one/a.ndjson", "one/c.ndjson"]]
    assert asked_by(checkout, upstream, "--replay") == []


# Recordings that are of no case alone

WITH_FIXTURE = """
@pytest.fixture(scope="session")
def index():
    return plain_sync("{prompt} the index")


@pytest.fixture
def agent(index):
    def answer(question):
        return plain_sync(f"{prompt} {{question}} of {{index}}")

    return answer
"""
"""An agent whose session fixture asks as well; what the cases ask depends on what it got."""
ONCE = """
import functools


@functools.cache
def words():
    import httpx
    return httpx.get(URL + "/.well-known/words-{version}").json()["number"]


"""
"""What any case may ask for, and one does."""


def with_fixture(prompt: str) -> str:
    """Return such an agent, with a `prompt`."""
    return WITH_FIXTURE.format(prompt=prompt)


def with_old_fixture(prompt: str) -> str:
    """Return such an agent whose cases have another `prompt` than its fixture."""
    return with_fixture(prompt).replace(f'"{prompt} the index"', '"say the index"')


def with_words(version: int) -> str:
    """Return an agent whose cases share a call."""
    return ONCE.format(version=version) + source("say", "words()")


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "n2"])
def test_the_recording_of_a_session_fixture_is_taken_over_too(
    pytester: pytest.Pytester, lasting: Upstream, workers: tuple[str, ...]
) -> None:
    checkout, repository = on_branch(pytester, lasting, with_fixture("say"))
    before = finished(checkout)
    changed(checkout, lasting, with_fixture("tell"))
    asked_by(checkout, lasting, "--record")
    assert finished(checkout) == before
    assert [len(names) for names in packed(checkout).values()] == [4]
    assert asked_by(checkout, lasting, "--replay", *workers) == []
    repository.commit("Change")
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    assert asked_by(checkout, lasting, "--record=missing", *workers) == []
    assert packed(checkout) == {}
    assert finished(checkout).keys() == before.keys()
    assert asked_by(checkout, lasting, "--replay", *workers) == []


def test_calls_that_all_cases_share_are_replayed_on_their_branch(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout, _ = on_branch(pytester, lasting, with_words(1))
    before = finished(checkout)
    changed(checkout, lasting, with_words(2))
    assert asked_by(checkout, lasting, "--record=missing") == [""]
    assert finished(checkout) == before
    assert [[name.partition("/")[0] for name in names] for names in packed(checkout).values()] == [["_fixtures", "one"]]
    assert asked_by(checkout, lasting, "--replay") == []


def test_calls_that_all_cases_share_are_taken_over(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout, repository = on_branch(pytester, lasting, with_words(1))
    changed(checkout, lasting, with_words(2))
    assert asked_by(checkout, lasting, "--record=missing") == [""]
    repository.commit("Change")
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    assert asked_by(checkout, lasting, "--record=missing") == []
    assert packed(checkout) == {}
    assert asked_by(checkout, lasting, "--replay") == []


# The check of a pull request

CHECKED = f"owner: us\nmax_due_cases: 0\nbox_1_cases: 0\nnew_traffic_sample: 0\n{SHARED}"
"""Nothing is asked but what the change affects."""
AT_MAIN = ("--recall-base", "main")
ANOTHER_PROMPT = (source(), source("tell"))
"""The agent of main, and the one of the branch."""


def checked(checkout: Checkout, upstream: Upstream) -> tuple[pytest.RunResult, list[str]]:
    """Return what the check of a push says, and what it has asked."""
    before = upstream.count
    result = quick_run(checkout, *AT_MAIN)
    return result, asked_since(upstream, before)


def proposed(
    pytester: pytest.Pytester,
    upstream: Upstream,
    rubric: str = CHECKED,
    agents: tuple[str, str] = ANOTHER_PROMPT,
    option: str = "--record",
) -> tuple[Checkout, Repository]:
    """Return a branch that has changed the prompt, and committed what it recorded."""
    checkout, repository = on_main(pytester, upstream, agents[0], rubric)
    rows = {name: row(3, 3, due="2026-04-01") for name in "abc"}
    (checkout.path / "eval/recall.yaml").write_text(state_yaml(**rows), encoding="utf-8")
    repository.commit("State")
    repository.git("switch", "-qc", "feature")
    changed(checkout, upstream, agents[1])
    assert len(asked_by(checkout, upstream, option)) == 3
    repository.commit("Change")
    return checkout, repository


def test_recordings_that_a_branch_brings_in_a_file_are_its_own(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout, _ = proposed(pytester, lasting)
    result, asked = checked(checkout, lasting)
    assert (result.ret, asked) == (pytest.ExitCode.OK, [])
    assert checkout.journal().header.own_recordings == 3


def test_recordings_of_a_branch_count_beside_that_of_a_fixture_which_main_has(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    """The fixture asks what it asked, so that the branch has not recorded it again."""
    agents = (with_fixture("say"), with_old_fixture("tell"))
    checkout, _ = proposed(pytester, lasting, agents=agents, option="--record=missing")
    assert list(packed(checkout).values()) == [EVERY]
    result, asked = checked(checkout, lasting)
    assert (result.ret, asked) == (pytest.ExitCode.OK, [])
    assert checkout.journal().header.own_recordings == 3


def test_recordings_in_a_file_decide_nothing_where_main_says_so(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout, repository = proposed(pytester, lasting, f"{CHECKED}recording: ci\n")
    (checkout.path / "eval/rubric.yaml").write_text(CHECKED, encoding="utf-8")  # Its own word does not count.
    repository.commit("Allow it")
    result, asked = checked(checkout, lasting)
    assert (result.ret, asked) == (pytest.ExitCode.OK, ["tell a", "tell b", "tell c"])
    assert checkout.journal().header.own_recordings == 0


def test_recordings_that_wait_at_the_base_are_those_of_the_base(pytester: pytest.Pytester, lasting: Upstream) -> None:
    """Also where the branch may decide nothing with its own."""
    checkout, repository = proposed(pytester, lasting, f"{CHECKED}recording: ci\n")
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    repository.git("switch", "-qc", "docs")
    (checkout.path / "README.md").write_text("new", encoding="utf-8")
    repository.commit("Docs")
    result, asked = checked(checkout, lasting)
    assert (result.ret, asked) == (pytest.ExitCode.OK, [])
    assert (checkout.journal().header.own_recordings, checkout.journal().header.unaffected) == (0, 3)


def test_a_file_of_the_base_that_a_branch_alters_is_not_the_bases_any_more(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    """With recordings of its own in it, they would be taken for those of the base."""
    checkout, repository = proposed(pytester, lasting, f"{CHECKED}recording: ci\n")
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    repository.git("switch", "-qc", "sly")
    changed(checkout, lasting, source("shout"))
    assert len(asked_by(checkout, lasting, "--record")) == 3
    new, old = (checkout.path / "eval/runs" / name for name in packed(checkout))
    new.replace(old)
    repository.commit("Sly")
    shutil.rmtree(checkout.artifacts.folder / UNPACKED)  # As in a new checkout.
    result, asked = checked(checkout, lasting)
    assert (result.ret, asked) == (pytest.ExitCode.OK, ["shout a", "shout b", "shout c"])
    assert checkout.journal().header.own_recordings == 0


def test_a_damaged_file_of_the_evidence_is_named_where_it_is_damaged(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    checkout, _ = proposed(pytester, lasting)
    place = Place(checkout.path, checkout.path / "eval")
    ((name, _),) = packed(checkout).items()
    recordings, run_file = place.run_files / name, yamls(checkout)[0]
    in_recordings = f"eval/runs/{name}: one/a.ndjson:1: "
    damages: list[tuple[Path, Callable[[bytes], bytes], str]] = [
        (place.state, lambda data: data[:-5], "eval/recall.yaml:"),
        (run_file, lambda data: data[: len(data) // 2], f"eval/runs/{run_file.name}:"),
        (recordings, lambda data: data[:-5], f"eval/runs/{name}:"),
        (recordings, lambda data: data.replace(b'"case":"a"', b'"case":"x"', 1), in_recordings),
    ]
    for path, damaged, start in damages:
        whole = path.read_bytes()
        path.write_bytes(damaged(whole))
        result, asked = checked(checkout, lasting)
        assert (result.ret, asked) == (pytest.ExitCode.USAGE_ERROR, [])
        (error,) = [line for line in result.errlines if line.startswith("ERROR: ")]
        assert error.startswith(f"ERROR: {start}")
        path.write_bytes(whole)


# The run of a push to main


def merged(pytester: pytest.Pytester, upstream: Upstream, first: str, second: str, asks: int | None = None) -> Checkout:
    """Return main after a merge of a branch whose agent has become another, with what it recorded.

    That is something of each case, unless it `asks` so often altogether.
    """
    checkout, repository = on_main(pytester, upstream, first, CHECKED)
    rows = {name: row(3, 3, due="2026-04-01") for name in "abc"}
    (checkout.path / "eval/recall.yaml").write_text(state_yaml(**rows), encoding="utf-8")
    repository.commit("State")
    repository.git("switch", "-qc", "feature")
    changed(checkout, upstream, second)
    asked = asked_by(checkout, upstream, "--record=missing")
    assert len(asked) >= 3 if asks is None else len(asked) == asks
    repository.commit("Change")
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    return checkout


def on_push(checkout: Checkout, upstream: Upstream) -> list[str]:
    """Return what the run of a push to main asks."""
    before = upstream.count
    result = quick_run(checkout, "--recall-mode=main")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    return asked_since(upstream, before)


def test_a_push_to_main_takes_the_recordings_of_a_merged_file(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout = merged(pytester, lasting, source(), source("tell"))
    ((name, _),) = packed(checkout).items()
    expected = dict(cassettes_in(checkout.path / "eval/runs" / name, name))
    before = finished(checkout)
    assert on_push(checkout, lasting) == []
    assert finished(checkout, "eval/_artifacts/recordings") == expected
    assert finished(checkout) == before, "`recall ci push` puts them into their place"


def test_a_push_to_main_takes_recordings_that_share_a_call_with_those_of_main(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    """The first call is that of main, so that they are as old as those of main."""
    checkout = merged(pytester, lasting, source("say", TWO_CALLS), source("tell", TWO_CALLS))
    assert on_push(checkout, lasting) == []
    assert len(finished(checkout, "eval/_artifacts/recordings")) == 3


def published(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Push main to a remote, and with `recall ci push` what the newest run has found; then pull it."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    repository = Repository(checkout.path)
    bare = checkout.path.parent / f"{checkout.path.name}.git"
    repository.git("clone", "-q", "--bare", str(checkout.path), str(bare))
    repository.git("remote", "add", "origin", str(bare))
    repository.git("fetch", "-q", "origin")
    done = checkout.recall_apart("ci", "push", "--branch", "main")
    assert done.ret == 0, (done.stdout.str(), done.stderr.str())
    repository.git("checkout", "-q", "-f", "main")
    repository.git("pull", "-q", "--ff-only", "origin", "main")


def test_what_a_push_to_main_has_taken_is_in_its_place_after_ci_push(
    pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = merged(pytester, lasting, source(), source("tell"))
    ((name, _),) = packed(checkout).items()
    expected = dict(cassettes_in(checkout.path / "eval/runs" / name, name))
    assert on_push(checkout, lasting) == []
    published(checkout, monkeypatch)
    assert (finished(checkout), packed(checkout)) == (expected, {})
    assert asked_by(checkout, lasting, "--replay") == []


def test_a_push_to_main_loses_no_recording_of_a_session_fixture(
    pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No case is asked, so that the fixture is not set up, and its recording has no case."""
    checkout = merged(pytester, lasting, with_fixture("say"), with_fixture("tell"))
    assert on_push(checkout, lasting) == []
    published(checkout, monkeypatch)
    assert asked_by(checkout, lasting, "--replay") == []


def test_a_push_to_main_loses_no_calls_that_all_cases_share(
    pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = merged(pytester, lasting, with_words(1), with_words(2), asks=1)
    assert on_push(checkout, lasting) == []
    published(checkout, monkeypatch)
    assert asked_by(checkout, lasting, "--replay") == []


MARKED = """
import httpx
import pytest


@pytest.mark.recall
def test_fee():
    body = dict(model="gpt-4o-mini", messages=[dict(role="user", content="{prompt} the fee")])
    assert httpx.post("{url}/v1/chat/completions", json=body, timeout=60).status_code == 200
"""
"""A marked test, which is a case without being in a case file."""


def test_a_push_to_main_loses_no_recording_of_a_marked_test(
    pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout, repository = on_main(pytester, lasting, source(), CHECKED)
    repository.git("switch", "-qc", "feature")
    test = checkout.path / "eval/test_fee.py"
    test.write_text(MARKED.format(prompt="say", url=lasting.url), encoding="utf-8")
    changed(checkout, lasting, source("tell"))
    checkout.run_apart("eval", ALL, "--record").assert_outcomes(passed=4)
    repository.commit("Change")
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    count = lasting.count
    checkout.run_apart("eval", ALL, "--replay").assert_outcomes(passed=4)
    on_push(checkout, lasting)
    published(checkout, monkeypatch)
    assert lasting.count == count
    checkout.run_apart("eval", ALL, "--replay").assert_outcomes(passed=4)
