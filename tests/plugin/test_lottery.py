"""A slice of a fixed size, near the change first: from the rubric to the scorecard, alone and on workers."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.helpers import kept
from tests.helpers.project import ECHOING, IN, Checkout, case, failing, row
from tests.helpers.repository import commit, git, write

RUBRIC = """\
owner: us
policy: lottery
slice_cases: 6
near: {fees: [src/fees/**], hours: "*.md"}
"""
NAMES = [f"fee-{n}" for n in range(4)] + [f"hour-{n}" for n in range(4)] + [f"bare-{n}" for n in range(12)]
TAGS = {"fee": ["fees"], "hour": ["hours"], "bare": []}
CASES = [case(name, tags=TAGS[name.partition("-")[0]]) for name in NAMES]
ROWS = {name.replace("-", "_"): row(4, 4, due=IN[7], tested="2026-03-05") for name in NAMES}
SET = (
    ECHOING.with_cases(*CASES)
    .with_state(**ROWS)
    .with_files({"eval/rubric.yaml": RUBRIC, "src/fees/a.py": "a", ".gitignore": "__pycache__\n*.pyc\nasked.txt\n"})
)
MARKED = """\
import pytest


@pytest.mark.recall("marked-1")
def test_one():
    pass


@pytest.mark.recall("marked-2")
def test_two():
    pass
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The set in a repository, on a branch that has edited a file of the fees."""
    path = tmp_path_factory.mktemp("repository")
    write(path, SET.files)
    commit(path, "Begin")
    git(path, "switch", "-qc", "feature")
    write(path, {"src/fees/a.py": "new"})
    commit(path)
    return path


@pytest.fixture
def branch(pytester: pytest.Pytester, repository: Path) -> Checkout:
    """A copy of that."""
    shutil.copytree(repository, pytester.path, dirs_exist_ok=True)
    return Checkout(pytester)


def reasons(checkout: Checkout) -> dict[str, int]:
    """Return how many cases the newest run has chosen for each reason."""
    return dict(Counter(checkout.slice().values()))


def test_a_slice_has_its_size_with_what_the_change_touches_first_as_the_command_chooses(
    branch: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = branch
    done = checkout.recall("schedule", "select", "--date", "2026-03-10", "--near", "git:main", "--seed", "7")
    assert done.errlines == [
        "recall: pr 2026-03-10, seed 7: 6 of 20 cases (4 near, 2 in turn); not run: 14 not drawn",
        "recall: near the change: 4 of 20 cases (4 tagged fees), by 1 file changed since main",
    ]
    commanded = checkout.slice()
    monkeypatch.setenv("GITHUB_BASE_REF", "main")  # CI is asked for the base.
    result = checkout.run("eval", "--recall-pr", "7")
    result.assert_outcomes(passed=6)
    assert checkout.slice() == commanded
    assert reasons(checkout) == {"near": 4, "in turn": 2}
    assert {name for name, reason in checkout.slice().items() if reason == "near"} == set(NAMES[:4])
    result.stdout.fnmatch_lines(
        [
            "recall: pr 2026-03-10, seed 7: 6 of 20 cases (4 near, 2 in turn); not run: 14 not drawn",
            "recall: near the change: 4 of 20 cases (4 tagged fees), by 1 file changed since origin/main",
            "*recall scorecard*",
            "in turn       2",
            "near          4",
            "near the change: 4 of 20 cases (4 tagged fees), by 1 file changed since origin/main",
        ]
    )
    card = checkout.scorecard()
    assert (card["policy"], card["near"]) == (
        "lottery",
        "4 of 20 cases (4 tagged fees), by 1 file changed since origin/main",
    )
    assert card["not_chosen"] == {"near": 0, "not_due": 14, "over_cap": 0, "unseen": 0}


def test_marked_tests_join_and_the_size_stays(branch: Checkout) -> None:
    checkout = branch
    write(checkout.path, {"eval/test_marked.py": MARKED, "list.txt": "marked-2\n"})
    result = checkout.run("eval", "--recall-near", "git:main", "--recall-near", "file:list.txt")
    assert result.ret == 0
    chosen = checkout.slice()
    assert len(chosen) == len(checkout.outcomes()) == 6
    assert chosen["marked-2"] == "near"
    assert chosen["marked-1"] == "new"
    assert reasons(checkout) == {"near": 5, "new": 1}


def test_marks_narrow_what_is_drawn_from(branch: Checkout) -> None:
    checkout = branch
    result = checkout.run("eval", "--recall-near", "git:main", "-m", "not hours", "--recall-seed", "1")
    assert result.ret == 0
    assert reasons(checkout) == {"near": 4, "in turn": 2}
    assert not any(name.startswith("hour") for name in checkout.slice())


def test_a_base_that_ci_names_and_that_is_not_there_is_told(branch: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = branch
    monkeypatch.setenv("GITHUB_BASE_REF", "gone")
    result = checkout.run("eval")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "recall: near the change: off, since `origin/gone` is no commit in this clone; correct it or fetch it"
            " (with actions/checkout: `fetch-depth: 0`)"
        ]
    )


def test_without_a_change_the_header_says_so(pytester: pytest.Pytester) -> None:
    checkout, result = kept.ran(pytester, SET, "eval")
    assert reasons(checkout) == {"in turn": 6}
    result.stdout.fnmatch_lines(["recall: near the change: off, since no base is known to compare with;*"])


@pytest.mark.parametrize(
    ("given", "said"),
    [("git:nowhere", "*--recall-near git:nowhere: `nowhere` is no commit in this clone*"), ("fes", "*mean `fees`?*")],
)
def test_a_change_that_cannot_be_known_is_one_sentence(branch: Checkout, given: str, said: str) -> None:
    result = branch.run("eval", "--recall-near", given)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {said}"])


NIGHT = {
    "box": row(1, 1, due=IN[1], tested="2026-03-09"),
    "due": row(3, 3, due="2026-03-09", tested="2026-03-06"),
    "old": row(5, 5, due=IN[14], tested="2026-03-01"),
    "calm": row(5, 5, due=IN[30], tested="2026-03-08"),
    "calmer": row(5, 5, due=IN[30], tested="2026-03-09"),
}
NIGHTLY = ECHOING.with_cases(*map(case, NIGHT), case("fresh")).with_state(**NIGHT)


@pytest.mark.parametrize(
    ("knobs", "chosen", "left"),
    [
        ("max_verdict_age: 7\n", {"old": "stale", "box": "box 1", "due": "due", "fresh": "new"}, "2 not due until *"),
        (
            "max_verdict_age: 7\nnightly_cases: 5\n",
            {"old": "stale", "box": "box 1", "due": "due", "fresh": "new", "calm": "in turn"},
            "1 not due until 2026-04-09",
        ),
        ("nightly_cases: 2\n", {"box": "box 1", "fresh": "new"}, "1 due beyond the size, 3 not due until 2026-03-24"),
    ],
)
def test_a_night_has_its_size_or_all_that_is_asked_for(
    pytester: pytest.Pytester, knobs: str, chosen: dict[str, str], left: str
) -> None:
    checkout = NIGHTLY.with_files({"eval/rubric.yaml": f"owner: us\npolicy: lottery\n{knobs}"}).at(pytester)
    result = checkout.run("eval", "--recall-mode", "nightly")
    assert checkout.slice() == chosen
    result.stdout.fnmatch_lines([f"recall: nightly 2026-03-10, seed 2026-03-10: * of 6 cases (*); not run: {left}"])


def test_a_night_that_is_too_small_for_its_promise_says_so(pytester: pytest.Pytester) -> None:
    rubric = "owner: us\npolicy: lottery\nnightly_cases: 1\nmax_verdict_age: 4\n"
    checkout = NIGHTLY.with_files({"eval/rubric.yaml": rubric}).at(pytester)
    result = checkout.run("eval", "--recall-mode", "nightly")
    assert checkout.slice() == {"old": "stale"}
    assert checkout.scorecard()["stale"] == 1
    result.stdout.fnmatch_lines(
        [
            "1 case left with a verdict as old as `max_verdict_age` or older, since the night is full;"
            " raise `nightly_cases`"
        ]
    )


# What the slice is worth


def test_observing_runs_everything_and_says_what_the_slice_would_have_missed(pytester: pytest.Pytester) -> None:
    broken = [failing(one["id"], tags=one["tags"]) if one["id"] in ("fee-1", "bare-3") else one for one in CASES]
    checkout = SET.with_cases(*broken).at(pytester)
    result = checkout.run("eval", "--recall-mode", "observe", "--recall-near", "fees", "--recall-seed", "1")
    result.assert_outcomes(passed=18, failed=2)
    assert reasons(checkout) == {"all": 20}
    assert checkout.boxes()["bare-3"] == checkout.boxes()["fee-1"] == 1
    header = checkout.journal().header
    assert (header.mode, len(header.observed), len(header.picks)) == ("observe", 6, 20)
    told = checkout.recall(
        "schedule", "select", "--date", "2026-03-10", "--near", "fees", "--seed", "1", "--mode", "pr"
    )
    assert told.ret == 0
    assert checkout.scorecard()["observed"] == {
        "run": header.run,
        "date": "2026-03-10",
        "policy": "lottery",
        "cases": 20,
        "slice": 6,
        "regressions": 2,
        "caught": ["fee-1"],
        "missed": ["bare-3"],
        "saved": {"usd": 0.0, "unpriced_calls": 0},
        "spent": {"usd": 0.0, "unpriced_calls": 0},
    }
    line = (
        "policy lottery: the slice would have run 6 of 20 cases and missed 1 of 2 regressions (bare-3);"
        " it would have saved 14 cases"
    )
    result.stdout.fnmatch_lines(["all cases, to observe the slice, 2026-03-10, seed 1", f"observed, {line}"])
    again = checkout.recall("score", "--observed")
    assert again.outlines[0] == f"{header.run}: {line}"
    assert again.ret == 0


def test_observed_runs_add_up(pytester: pytest.Pytester) -> None:
    checkout, _ = kept.ran(pytester, SET, "eval")
    checkout.run("eval", "--recall-mode", "observe", day="2026-03-10")
    checkout.run("eval", "--recall-mode", "observe", day="2026-03-11")
    told = checkout.recall("score", "--observed").outlines
    assert len(told) == 4
    assert told[2] == (
        "together, 2 runs: policy lottery: the slice would have run 12 of 40 cases, and there was no regression to"
        " miss; it would have saved 28 cases"
    )


def test_nothing_observed_is_one_sentence(pytester: pytest.Pytester) -> None:
    checkout, _ = kept.ran(pytester, SET, "eval")
    done = checkout.recall("score", "--observed")
    assert (done.ret, done.errlines) == (
        2,
        ["recall: eval/_artifacts: no whole run with `--recall-mode observe`; make one first"],
    )
    assert checkout.recall("score", "--observed", "--fail-on", "failure").ret == 2


# The rubric


@pytest.mark.usefixtures("quick_collections")
def test_check_names_tags_of_no_case(pytester: pytest.Pytester) -> None:
    checkout = SET.with_files({"eval/rubric.yaml": "owner: us\npolicy: lottery\nnear: {fee: [src/]}\n"}).at(pytester)
    done = checkout.recall("check")
    assert (done.ret, done.errlines) == (
        2,
        ["recall: eval/rubric.yaml: near: `fee` is the tag of no case; did you mean `fees`?"],
    )


@pytest.mark.usefixtures("quick_collections")
def test_check_names_paths_of_no_file(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = SET.at(pytester)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(checkout.path.parent))
    done = checkout.recall("check")
    assert done.ret == 0
    assert done.errlines[0].startswith("recall: eval/rubric.yaml: near: its paths were not looked for, since git says:")
    commit(checkout.path)
    done = checkout.recall("check")
    assert (done.ret, done.errlines) == (
        0,
        ["recall: eval/rubric.yaml: near: hours: `*.md` fits no file of the repository"],
    )


@pytest.mark.parametrize(
    ("rubric", "said"),
    [
        (
            "policy: lottery\nmax_due_cases: 3\nnew_traffic_sample: 1\n",
            "rubric.yaml:3: max_due_cases: has no effect under `policy: lottery`: `slice_cases` is the size of its"
            " slice; nor has `new_traffic_sample`: new cases are within `slice_cases`; remove it",
        ),
        (
            "slice_cases: 3\nnear: {a: b}\n",
            "rubric.yaml:2: slice_cases: has no effect without `policy: lottery` or `affected`, nor has `near`;"
            " give both, or neither",
        ),
    ],
)
def test_settings_without_effect_are_refused(pytester: pytest.Pytester, rubric: str, said: str) -> None:
    result = SET.with_files({"eval/rubric.yaml": f"owner: us\n{rubric}"}).at(pytester).run("eval")
    assert result.ret == 4
    assert said in result.stderr.str()


def test_the_first_run_of_a_large_set_says_how_to_warm_up(pytester: pytest.Pytester) -> None:
    rubric = "owner: us\npolicy: lottery\nslice_cases: 2\nnightly_cases: 10\n"
    more = [case(f"more-{number}") for number in range(20)]
    project = ECHOING.with_cases(*CASES, *more).with_files({"eval/rubric.yaml": rubric})
    checkout = project.at(pytester)
    result = checkout.run("eval")
    (told,) = [line for line in result.outlines if "to warm up" in line]
    assert told == (
        "recall: 40 of 40 cases have no verdict yet, and the schedule holds once they have: pull requests alone ask"
        " them in 20 runs, nights alone in 4 nights, until 2026-03-14; to warm up, run `pytest -p recall eval"
        " --recall-mode all --budget USD` by night, and then with --recall-resume until all are asked"
    )
    project.with_state(**dict.fromkeys((one["id"] for one in (*CASES, *more)), row(1))).at(pytester)
    assert not [line for line in checkout.run("eval").outlines if "to warm up" in line]
