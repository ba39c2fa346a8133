"""`recall accept`: an intended change is taken over in one step, or not at all; on any branch."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from pytest_recall.files.eval_directory import Place
from pytest_recall.schedule.state import current
from pytest_recall.trials.conditions import Conditions
from pytest_recall.trials.trial import Row
from tests.helpers.kept import after
from tests.helpers.project import BARE, DAY, IN, RUBRIC, Checkout, cases_yaml, failing, row, state_yaml
from tests.helpers.repository import Repository
from tests.helpers.talking import asks
from tests.helpers.upstream import Upstream, running

BRANCHES = pytest.mark.parametrize("branch", ["", "main", "feature"])
"""Where a run is made: without git, on the default branch, and on another."""
AGENT = """\
from pathlib import Path


@pytest.fixture
def agent():
    return lambda question: Path("replies", question).read_text()
"""
CASES = """\
# The hours of the desk.
- id: hours   # asked daily
  scenario: desk
  dimension: facts
  input: hours
  expected: '10 to 16'  # since May
  judges: [exact]

- {id: fees, scenario: desk, dimension: facts, input: fees, expected: 5, judges: [numeric]}

# Prose.
- id: rules
  scenario: house
  dimension: facts
  input: rules
  expected: >-
    no food,
    no dogs
  judges:
    - token_f1: {threshold: 0.9}
- id: tone
  scenario: house
  dimension: tone
  input: tone
  expected: welcome
  judges: [contains]   # part of the answer
"""
LINES = (
    '{"id": "pets", "expected": "no",  "scenario": "house", "dimension": "facts", "input": "pets",'
    ' "judges": ["exact"]}\n'
)
BEFORE = {"hours": "10 to 16", "fees": "It is 5.", "rules": "no food, no dogs", "tone": "welcome!", "pets": "no"}
AFTER = {"hours": "10 to 17: it's summer", "fees": "It is 6.", "rules": "no food\nno cats", "tone": "hi", "pets": "yes"}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A scripted model."""
    yield from running()


def begun(pytester: pytest.Pytester, branch: str = "", **replies: str) -> Checkout:
    """Return a project whose cases have passed in higher boxes, and have failed in a run since."""
    return after(pytester, f"to accept {branch} {replies}", lambda: _begun(pytester, branch, replies))


def _begun(pytester: pytest.Pytester, branch: str, replies: dict[str, str]) -> Checkout:
    files = {
        "eval/cases.yaml": CASES,
        "eval/more.cases.jsonl": LINES,
        RUBRIC: "owner: us\nblocks: failure\n",
        **{f"replies/{name}": text for name, text in {**AFTER, **replies}.items()},
    }
    state = {name: row(3, 3, touched=("12",)) for name in BEFORE}
    checkout = BARE.with_agent(AGENT).with_files(files).with_state(**state).at(pytester)
    if branch:
        repository = Repository.at(checkout.path)
        repository.commit()
        repository.git("switch", "-qC", branch)
    checkout.run("eval", "--recall-mode", "nightly")
    return checkout


def rows(checkout: Checkout) -> dict[str, Row]:
    """Return the state, with its run files."""
    return current(Place(checkout.path, checkout.path / "eval")).rows


def contents(checkout: Checkout, *besides: str) -> dict[str, bytes]:
    """Return all files that are in git."""
    found = (path for path in (checkout.path / "eval").rglob("*") if path.is_file() and "_artifacts" not in path.parts)
    return {path.name: path.read_bytes() for path in found if path.suffix != ".pyc" and path.name not in besides}


def accept(checkout: Checkout, *args: str, by: str = "Ana Lee") -> pytest.RunResult:
    """Run the command, as a person."""
    return checkout.recall("accept", *args, "--by", by)


@BRANCHES
def test_what_failed_is_taken_over_in_one_step(branch: str, pytester: pytest.Pytester) -> None:
    checkout = begun(pytester, branch)
    assert {case_id: (one.box, one.lapses, one.failing) for case_id, one in rows(checkout).items()} == dict.fromkeys(
        BEFORE, (1, 1, True)
    )
    before = contents(checkout)
    dry = accept(checkout, "latest", "--dry-run")
    assert contents(checkout) == before
    done = accept(checkout, "latest")
    # One case of five cannot be accepted by its answer, which is said with its place.
    assert (dry.ret, done.ret) == (2, 2)
    told = "which part of the answer `contains` looks for is unknown"
    place = "recall: eval/cases.yaml:21"
    assert done.errlines == [f"{place}: `tone` cannot be accepted by its answer: {told}; edit the case"]
    assert (checkout.path / "eval/cases.yaml").read_text() == CASES.replace(
        "'10 to 16'", "'10 to 17: it''s summer'"
    ).replace("expected: 5", "expected: 6").replace(">-\n    no food,\n    no dogs\n", "|-\n    no food\n    no cats\n")
    assert (checkout.path / "eval/more.cases.jsonl").read_text() == LINES.replace('"no",  ', '"yes",  ')
    # Their rows are those of a pass on the day of the run, as of a first one; the fail is taken back.
    after = rows(checkout)
    under = {case_id: Conditions.parse(one.passed_under).case for case_id, one in after.items()}
    accepted = Row(1, 1, date.fromisoformat(DAY), date.fromisoformat(IN[1]))
    today = after["hours"].accepted
    assert today is not None
    assert today.endswith(" Ana Lee")
    for case_id in ("hours", "fees", "rules", "pets"):
        assert after[case_id]._replace(passed_under=None) == accepted._replace(accepted=today)
    assert (after["tone"].failing, after["tone"].touched, after["tone"].accepted) == (True, ("12",), None)
    # What the dry run said is what was done.
    would, did = (
        [line for line in one.outlines if line[:1] in "+-" and not line.startswith("+run: ")] for one in (dry, done)
    )
    named = [[line for line in lines if "-accepted-" not in line] for lines in (would, did)]
    assert named[0] == named[1]
    assert "-  expected: '10 to 16'  # since May" in done.outlines
    assert "4 cases would be accepted by Ana Lee: hours, fees, rules, pets" in dry.outlines
    state = "runs/2026-03-10-accepted-" if branch == "feature" else "recall.yaml"
    assert f"changed: eval/cases.yaml, eval/more.cases.jsonl, eval/{state}" in done.outlines[-1]
    # The next run passes, and knows the case as it was accepted.
    checkout.run("eval", "--recall-mode", "nightly", day=IN[1])
    assert [one["id"] for one in checkout.scorecard()["failed"]] == ["tone"]
    again = rows(checkout)
    assert {case_id: again[case_id].box for case_id in under} == {**dict.fromkeys(under, 2), "tone": 1}
    assert {case_id: Conditions.parse(again[case_id].passed_under).case for case_id in under} == under
    assert again["hours"].accepted == today


@BRANCHES
def test_a_second_time_there_is_nothing_to_accept(branch: str, pytester: pytest.Pytester) -> None:
    checkout = begun(pytester, branch, tone="welcome")
    run = checkout.artifacts.runs()[-1].name
    assert accept(checkout, run).ret == 0
    before = contents(checkout)
    done = accept(checkout, run)
    assert (done.ret, done.outlines, done.errlines) == (1, [f"{run}: nothing to accept"], [])
    assert contents(checkout) == before
    # Nor does applying the run again take it back.
    checkout.recall("state", "apply", run)
    assert contents(checkout) == before


def test_cases_and_scenarios_are_chosen(pytester: pytest.Pytester) -> None:
    checkout = begun(pytester)
    assert accept(checkout, "latest", "--scenarios", "desk").outlines[-2] == "2 cases accepted by Ana Lee: hours, fees"
    assert accept(checkout, "latest", "pets").outlines[-2] == "1 case accepted by Ana Lee: pets"
    assert [case_id for case_id, one in rows(checkout).items() if one.failing] == ["rules", "tone"]
    wrong = accept(checkout, "latest", "tone", "rules")
    assert wrong.ret == 2
    assert "`tone` cannot be accepted by its answer" in wrong.errlines[0]
    assert rows(checkout)["rules"].failing
    unknown = accept(checkout, "latest", "rule")
    assert unknown.errlines == [
        f"recall: {checkout.artifacts.runs()[-1].name}: did not ask `rule`; did you mean `rules`?"
    ]


def test_who_accepts_is_gits_user(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = begun(pytester)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    done = checkout.recall("accept", "latest", "pets")
    assert (done.ret, done.errlines) == (
        2,
        ["recall: who accepts is not known: git has no user.name here; give --by NAME"],
    )
    subprocess.run(["git", "init", "-q"], cwd=checkout.path, check=True)
    subprocess.run(["git", "config", "user.name", 'Bo: "B" Öz'], cwd=checkout.path, check=True)
    assert checkout.recall("accept", "latest", "pets").outlines[-2] == '1 case accepted by Bo: "B" Öz: pets'
    assert str(rows(checkout)["pets"].accepted).endswith(' Bo: "B" Öz')


def refused(checkout: Checkout, run: str = "latest") -> list[str]:
    """Return why nothing is accepted, which has changed nothing."""
    before = contents(checkout)
    done = accept(checkout, run, "hours", "pets")
    assert (done.ret, done.outlines) == (2, [])
    assert contents(checkout) == before
    errors: list[str] = done.errlines
    return errors


@BRANCHES
def test_an_edited_case_is_refused_and_nothing_is_changed(branch: str, pytester: pytest.Pytester) -> None:
    checkout = begun(pytester, branch)
    run = checkout.artifacts.runs()[-1].name
    path = checkout.path / "eval/cases.yaml"
    path.write_text(CASES.replace("input: hours", "input: fees"))
    assert refused(checkout) == [
        f"recall: eval/cases.yaml:2: `hours` was edited since {run}; run it again, then accept that run"
    ]


@BRANCHES
def test_an_older_run_is_refused(branch: str, pytester: pytest.Pytester) -> None:
    checkout = begun(pytester, branch)
    first = checkout.artifacts.runs()[-1].name
    checkout.run("eval", "--recall-mode", "nightly", day=IN[1])
    newest = checkout.artifacts.runs()[-1].name
    assert [line.partition(": `")[2] for line in refused(checkout, first)] == [
        f"hours` has a newer verdict, of {newest}; accept that run",
        f"pets` has a newer verdict, of {newest}; accept that run",
    ]
    # As where the other run was on another machine.
    moved = (checkout.artifacts.folder / newest).rename(checkout.path / "elsewhere")
    assert refused(checkout, first)[0].endswith(f"in the state than {first} gave, of {IN[1]}; accept the newest run")
    assert accept(checkout, str(moved), "hours").ret == 0


def test_a_run_that_is_not_in_the_state_is_refused(pytester: pytest.Pytester) -> None:
    checkout = begun(pytester)
    run = checkout.artifacts.runs()[-1].name
    before = {name: row(3, 3, touched=("12",)) for name in BEFORE}
    (checkout.path / "eval/recall.yaml").write_text(state_yaml(**before))
    told = f"{run} is not in the state yet; run `recall state apply {run}`, or pull it"
    assert [line.rpartition("`: ")[2] for line in refused(checkout)] == [told, told]


def test_a_run_by_hand_needs_no_place_in_the_state(pytester: pytest.Pytester) -> None:
    checkout = begun(pytester)
    (checkout.path / "replies/pets").write_text("maybe")
    checkout.run("eval/more.cases.jsonl::pets", day=IN[1])
    assert not checkout.journal().header.writes
    assert accept(checkout, "latest").ret == 0
    assert (rows(checkout)["pets"].last_tested, rows(checkout)["pets"].lapses) == (date.fromisoformat(IN[1]), 1)
    assert '"expected": "maybe"' in (checkout.path / "eval/more.cases.jsonl").read_text()


def test_what_cannot_be_written_leaves_all_as_it_was(pytester: pytest.Pytester, tmp_path: Path) -> None:
    checkout = begun(pytester)
    state = checkout.path / "eval/recall.yaml"
    outside = tmp_path / "elsewhere.yaml"
    outside.write_bytes(state.read_bytes())
    state.unlink()
    state.symlink_to(outside)
    before = contents(checkout)
    done = accept(checkout, "latest")
    assert done.ret == 2
    assert done.errlines[-1].startswith(f"recall: {state}: is a link to ")
    assert contents(checkout) == before
    assert outside.read_bytes() == before["recall.yaml"]


def test_without_a_fail_there_is_nothing_to_accept(pytester: pytest.Pytester) -> None:
    checkout = begun(pytester, **BEFORE)
    run = checkout.artifacts.runs()[-1].name
    assert accept(checkout, "latest").outlines == [f"{run}: nothing to accept"]
    assert accept(checkout, "latest").ret == 1
    lost = accept(checkout, "latest", "--scenarios", "nope")
    assert (lost.ret, lost.errlines[0].partition("; ")[0]) == (2, "recall: --scenarios: 'nope' is in no case")
    told = "--cassettes: tapes is not a folder; give the one that the run was recorded into"
    assert accept(checkout, "latest", "--cassettes", "tapes").errlines == [f"recall: {told}"]


def test_an_error_is_no_answer(pytester: pytest.Pytester) -> None:
    checkout = begun(pytester)
    (checkout.path / "replies/pets").unlink()
    checkout.run("eval/more.cases.jsonl::pets", day=IN[1])
    run = checkout.artifacts.runs()[-1].name
    assert accept(checkout, "latest").outlines == [f"{run}: nothing to accept"]
    said = "`pets` came to no verdict, so that there is no answer to accept; run it again"
    assert accept(checkout, "latest", "pets").errlines == [f"recall: {run}: {said}"]


ASKED = cases_yaml(failing("recorded", input="echo right", expected="wrong"))


def test_a_replayed_answer_is_not_accepted_and_a_recorded_one_is_copied(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    pytest.importorskip("httpx2")
    checkout = asks(upstream, "httpx2_sync", "echo right").at(pytester)
    path = checkout.path / "eval/cases.yaml"
    path.write_text(ASKED)
    checkout.run("eval", "--record", "tapes", "--recall-update")
    checkout.run("eval", "--replay", "tapes")
    case_id = "recorded"
    left = accept(checkout, "latest")
    assert left.ret == 1
    assert f"`{case_id}` was answered from a recording, which is no news of the model; run it live" in left.errlines[0]
    assert accept(checkout, "previous", "--dry-run").errlines == [
        f"recall: {case_id}: has no recording in eval/cassettes; a replay will miss it"
    ]
    done = accept(checkout, "previous", "--cassettes", "tapes")
    assert (done.ret, done.errlines) == (0, [])
    taken = {file.name: file.read_bytes() for file in (checkout.path / "eval/cassettes").rglob("*.ndjson")}
    assert taken == {file.name: file.read_bytes() for file in (checkout.path / "tapes").rglob("*.ndjson")}
    assert len(taken) == 1
    checkout.run("eval", "--replay").assert_outcomes(passed=1)


def test_a_recording_of_another_answer_is_refused(pytester: pytest.Pytester, upstream: Upstream) -> None:
    pytest.importorskip("httpx2")
    checkout = asks(upstream, "httpx2_sync", "echo right").at(pytester)
    path = checkout.path / "eval/cases.yaml"
    path.write_text(ASKED)
    checkout.run("eval", "--record", "tapes")
    path.write_text(path.read_text().replace("echo right", "echo left"))
    checkout.run("eval", "--recall-update")
    done = accept(checkout, "latest", "--cassettes", "tapes")
    assert done.ret == 2
    assert "is the recording of another answer than" in done.errlines[0]
    assert not (checkout.path / "eval/cassettes").exists()


def test_judges_that_stand_beside(pytester: pytest.Pytester) -> None:
    """A case that its own judge, or a second one, decides is left."""
    cases = [
        failing("beside", judges=["exact", {"contains": {"absent": "x", "expected": "bes"}}]),
        failing("other", judges=["exact", {"contains": "nowhere"}]),
        failing("listed", expected=["x", "y"]),
        failing("literal", judges=[{"exact": "x"}]),
        failing("own", judges=["exact", "mine"]),
        failing("numbers", input="1 or 2", expected=3, judges=["numeric"]),
        failing("number", input="12", expected=3),
    ]
    own = "\n\n@pytest.fixture\ndef judge_mine():\n    return lambda answer, case: False\n"
    agent = "@pytest.fixture\ndef agent():\n    return lambda question: question\n"
    checkout = BARE.with_agent(agent + own).with_cases(*cases).at(pytester)
    checkout.run("eval", "--recall-mode", "all")
    done = accept(checkout, "latest")
    assert done.ret == 2
    assert [line.split("`")[1] for line in done.errlines] == ["other", "listed", "literal", "own", "numbers"]
    lines = (checkout.path / "eval/cases.yaml").read_text()
    cases[0] |= {"expected": "beside"}
    cases[-1] |= {"expected": 12}
    assert lines == cases_yaml(*cases)


def test_a_judge_that_only_has_the_name_is_no_built_in_one(pytester: pytest.Pytester) -> None:
    own = "@pytest.fixture\ndef judge_exact():\n    return lambda answer, case: answer.text == 'never'\n"
    agent = "@pytest.fixture\ndef agent():\n    return lambda question: question\n\n\n"
    case = failing("a", expected="a")
    checkout = BARE.with_agent(agent + own).with_cases(case, failing("b", expected=" b ")).at(pytester)
    checkout.run("eval")
    done = accept(checkout, "latest")
    assert done.ret == 1
    assert done.errlines[0].split("`")[1::2] == ["b", "exact"]


def test_trials_that_gave_different_answers(pytester: pytest.Pytester) -> None:
    agent = (
        "import itertools\n\nCOUNT = itertools.count()\n\n\n@pytest.fixture\ndef agent():\n"
        "    return lambda question: question + (str(next(COUNT)) if question == 'a' else '')\n"
    )
    cases = [failing("a", trials=2), failing("b", trials=2)]
    checkout = BARE.with_agent(agent).with_cases(*cases).at(pytester)
    checkout.run("eval")
    done = accept(checkout, "latest")
    assert [line.split("`")[1] for line in done.errlines] == ["a"]
    assert [case_id for case_id, one in rows(checkout).items() if one.accepted] == ["b"]


def test_as_a_process(pytester: pytest.Pytester) -> None:
    checkout = begun(pytester)
    done = checkout.recall_apart("accept", "latest", "pets", "--by", "Ana")
    assert (done.ret, done.errlines) == (0, [])
    assert json.loads((checkout.path / "eval/more.cases.jsonl").read_text())["expected"] == "yes"
