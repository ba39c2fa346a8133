"""`recall state show` and `recall state fold`: where the state is, and how it is moved from one layout to the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.schedule.state_file import parse_state
from tests.helpers.project import BARE, DAY, ECHOING, IN, Checkout, case, failing, row
from tests.helpers.repository import Repository
from tests.plugin.test_marks import HEAD

RUBRIC = "# ours\nowner: ana  # until June\nmax_due_cases: 9\n"


@pytest.fixture
def checkout(pytester: pytest.Pytester) -> Checkout:
    """A project whose runs change rows."""
    project = ECHOING.with_cases(case("a"), failing("b")).with_files({"eval/rubric.yaml": RUBRIC})
    return project.with_state(a=row(2, 2), b=row(3, 3)).at(pytester)


def rubric(checkout: Checkout) -> str:
    """Return the text of the rubric."""
    return (checkout.path / "eval/rubric.yaml").read_text(encoding="utf-8")


def events(checkout: Checkout) -> list[Path]:
    """Return the event files."""
    return sorted((checkout.path / "eval/events").glob("*"))


def test_one_line_of_the_rubric_changes_and_back(checkout: Checkout) -> None:
    assert checkout.recall("state", "layout", "events", "--dry-run").ret == 0
    assert rubric(checkout) == RUBRIC
    done = checkout.recall("state", "layout", "events")
    assert done.outlines[0] == "eval/rubric.yaml: has `state: events`"
    assert rubric(checkout) == RUBRIC + "state: events\n"
    assert checkout.recall("state", "layout", "rows").ret == 0
    assert rubric(checkout) == RUBRIC + "state: rows\n"
    done = checkout.recall("state", "layout", "rows")
    assert done.outlines == ["eval/rubric.yaml: `state: rows` holds already; nothing to do"]


def test_a_comment_behind_the_line_stays(checkout: Checkout) -> None:
    path = checkout.path / "eval/rubric.yaml"
    path.write_text("state: 'rows' # for now\nowner: ana\n", encoding="utf-8")
    assert checkout.recall("state", "layout", "events").ret == 0
    assert rubric(checkout) == "state: events # for now\nowner: ana\n"


@pytest.mark.parametrize("text", ["{owner: ana}\n", "owner: ana\nthresholds:\n  exact: 1\n..."])
def test_a_form_without_a_place_for_a_line_is_left(checkout: Checkout, text: str) -> None:
    (checkout.path / "eval/rubric.yaml").write_text(text, encoding="utf-8")
    done = checkout.recall("state", "layout", "events")
    assert done.ret == 2
    assert done.errlines == [
        "recall: eval/rubric.yaml: its form leaves no place for a line; write `state: events` into it yourself"
    ]
    assert rubric(checkout) == text


def test_without_a_rubric(checkout: Checkout) -> None:
    (checkout.path / "eval/rubric.yaml").unlink()
    done = checkout.recall("state", "layout", "events")
    assert done.ret == 2
    assert "write one with `owner: <who answers for it>` and `state: events`" in done.errlines[0]


def test_runs_write_events_and_everybody_sees_them(checkout: Checkout) -> None:
    before = checkout.state_text()
    checkout.recall("state", "layout", "events")
    result = checkout.run_apart("-q", "-p", "recall", "eval", "--recall-pr", "7", "-n", "2")
    result.stdout.fnmatch_lines(["eval/events: 2 rows changed"])
    assert checkout.state_text() == before
    assert len(events(checkout)) == 1
    assert checkout.recall("state", "show").outlines == [
        "layout: events",
        "eval/recall.yaml: 2 rows",
        "eval/events: 1 event file newer than it, 2 verdicts",
    ]
    assert "last verdict was a fail (1): b" in checkout.recall("status", "--date", "2026-03-11").outlines
    assert checkout.recall("check").ret == 0
    # `b` is in box 1 by an event alone; `a` was promoted by one, and is not due.
    assert checkout.recall("schedule", "select", "--date", "2026-03-11", "--ids").outlines == ["b"]
    assert checkout.recall("state", "fold", "--date", "2026-03-11").outlines == [
        "eval/events: 0 event files folded into eval/recall.yaml, 0 rows changed; 1 left"
    ]
    assert checkout.recall("state", "fold", "--date", "2026-03-11", "--keep-days", "0", "--dry-run").ret == 0
    assert checkout.recall("state", "fold", "--date", "2026-03-11", "--keep-days", "0").outlines == [
        "eval/events: 1 event file folded into eval/recall.yaml, 2 rows changed; 0 left"
    ]
    assert checkout.boxes() == {"a": 3, "b": 1}
    assert events(checkout) == []


def test_rows_and_events_are_not_mixed(checkout: Checkout) -> None:
    checkout.recall("state", "layout", "events")
    checkout.run("-p", "recall", "eval")
    done = checkout.recall("state", "layout", "rows")
    assert done.ret == 2
    assert done.errlines[0].startswith(
        "recall: eval/events: 1 event file is not in eval/recall.yaml yet; run `recall state fold"
    )
    (checkout.path / "eval/rubric.yaml").write_text(RUBRIC, encoding="utf-8")
    result = checkout.run("-p", "recall", "eval")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert checkout.recall("state", "quarantine", "a").ret == 2
    assert len(events(checkout)) == 1


def test_quarantine_is_an_event(checkout: Checkout) -> None:
    before = checkout.state_text()
    checkout.recall("state", "layout", "events")
    assert checkout.recall("state", "quarantine", "a", "--owner", "bo").ret == 0
    assert checkout.state_text() == before
    assert checkout.recall("state", "quarantine").outlines[-1] == "1 case of 2 in quarantine"
    assert checkout.recall("state", "quarantine", "a", "--release").ret == 0
    assert checkout.recall("state", "quarantine").outlines == ["0 cases of 2 in quarantine"]


def test_the_state_in_a_commit_is_the_sum(checkout: Checkout) -> None:
    repository = Repository.at(checkout.path)
    checkout.recall("state", "layout", "events")
    checkout.run("-p", "recall", "eval")
    (checkout.path / ".gitignore").write_text("_artifacts\n", encoding="utf-8")
    repository.commit()
    base = checkout.recall("state", "show", "--at", "main")
    assert (base.ret, base.errlines) == (0, [])
    at_main = parse_state("\n".join(base.outlines) + "\n", "main").rows
    assert {case_id: found.last_tested.isoformat() for case_id, found in at_main.items()}["a"] == DAY
    checkout.run("-p", "recall", "eval", day="2026-03-11")
    assert "\n".join(checkout.recall("state", "show", "--at", "main").outlines) == "\n".join(base.outlines)
    trial = next(one for one in checkout.journal().trials if one.case_id == "b")
    assert trial.row == at_main["b"], "a run is compared with what is committed"


def test_of_a_commit_without_a_state_it_has_no_row(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a")).at(pytester)
    Repository.at(checkout.path).commit()
    checkout.run("eval")
    base = checkout.recall("state", "show", "--at", "main")
    assert (base.ret, base.errlines, base.outlines[-2:]) == (0, [], ["rows: 0", "cases:"])
    checkout.run("eval", "--recall-base", "main", day="2026-03-11").assert_outcomes(passed=1)
    assert checkout.journal().trials[0].row is None, "at the base the case is new"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("state", "layout", "row"), "recall state layout: argument layout: 'row' is unknown; did you mean `rows`?"),
        (("state", "show", "--dry-run"), "recall state show: unknown option `--dry-run`; known: --at"),
        (("state", "show", "--at", "none"), "recall: none: git knows no such revision"),
        (("state", "show", "--at", "HEAD:eval"), "recall: HEAD:eval: git knows no such revision"),
    ],
)
def test_mistakes_are_one_sentence(checkout: Checkout, arguments: tuple[str, ...], said: str) -> None:
    Repository.at(checkout.path).commit()
    done = checkout.recall(*arguments)
    assert done.ret == 2
    (line,) = done.errlines
    assert line.startswith(said)


def test_fold_takes_days(checkout: Checkout) -> None:
    assert checkout.recall("state", "fold", "--keep-days", "x").ret == 2
    assert checkout.recall("state", "fold", "--date", "soon").ret == 2


# `recall state move`, `--move` and `--forget`: a renamed case keeps its history, and a row can be deleted


TEST = HEAD + '\n@pytest.mark.recall("{name}")\ndef test_{name}():\n    assert 1 + {number} > 0\n'


def test_a_renamed_case_keeps_its_history(pytester: pytest.Pytester) -> None:
    project = ECHOING.with_cases(case("a", input="one"), case("b", input="two"))
    checkout = project.at(pytester)
    for day in (IN[0], IN[1], IN[7]):
        checkout.run("eval", day=day)
    before = checkout.state()["a"]
    assert before.box == 3
    ECHOING.with_cases(case("late-fee", input="one"), case("b", input="two")).at(pytester)
    result = checkout.run("eval", day=IN[14])
    told = "renamed (same content, 1): a → late-fee; `recall state move` keeps their history"
    assert told in result.outlines
    assert "a → late-fee" in (checkout.artifacts.folder / "scorecard.md").read_text(encoding="utf-8")
    assert checkout.scorecard()["moved"] == [{"from": "a", "to": "late-fee"}]
    assert checkout.recall("state", "move", "--dry-run").outlines == ["a would be late-fee"]
    assert set(checkout.state()) == {"a", "b", "late-fee"}
    assert checkout.recall("state", "move").outlines == ["a is late-fee now, with its history"]
    state = checkout.state()
    assert set(state) == {"b", "late-fee"}
    # It was due, and passed under its new id.
    assert (state["late-fee"].box, state["late-fee"].pass_streak) == (4, before.pass_streak + 1)
    assert "rows: 2\n" in str(checkout.state_text())
    again = checkout.recall("state", "move")
    assert (again.ret, again.outlines) == (0, ["a → late-fee: no row is left under the old id; nothing to do"])


def test_so_does_a_marked_test(pytester: pytest.Pytester) -> None:
    files = {"eval/rubric.yaml": "owner: us\n", "tests/test_a.py": TEST.format(name="old", number=7)}
    checkout = BARE.with_files(files).at(pytester)
    checkout.run("tests")
    (checkout.path / "tests/test_a.py").unlink()
    (checkout.path / "tests/test_b.py").write_text(TEST.format(name="new", number=7), encoding="utf-8")
    result = checkout.run("tests", "-n", "2", day=IN[1])
    assert any("old → new" in line for line in result.outlines)
    assert checkout.recall("state", "move").ret == 0
    assert {name: found.box for name, found in checkout.state().items()} == {"new": 2}


def test_copies_are_no_renames(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a", input="one")).at(pytester)
    checkout.run("eval")
    ECHOING.with_cases(case("b", input="one"), case("c", input="one")).at(pytester)
    checkout.run("eval", day=IN[1])
    assert checkout.scorecard()["moved"] == []
    assert checkout.recall("state", "move").outlines == [
        "the newest run has found no case that was renamed; nothing to do"
    ]


def test_one_that_somebody_names(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("b")).with_state(a=row(4, 4), gone=row(2), other=row(1)).at(pytester)
    assert checkout.recall("state", "move", "a", "b").outlines == ["a is b now, with its history"]
    assert checkout.state() == {"b": row(4, 4), "gone": row(2), "other": row(1)}
    done = checkout.recall("state", "forget", "gone", "other")
    assert done.outlines == ["2 rows deleted: gone, other"]
    assert checkout.state() == {"b": row(4, 4)}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("move", "aa", "b"), "eval/recall.yaml: no row of `aa`; did you mean `a`?"),
        (("forget", "x"), "eval/recall.yaml: no row of `x`; known: a, gone"),
        (("move", "a", "b"), "eval/cases.yaml:1: `a` is still a case, and keeps its row; rename it there first"),
        (("move", "gone", "aa"), "no case has the id `aa`, to which the row would go; did you mean `a`?"),
        (("move", "a"), "give the id that a case had and the one that it has now, or neither for the newest run's"),
    ],
)
def test_mistakes_of_a_move_are_one_sentence(pytester: pytest.Pytester, options: tuple[str, ...], said: str) -> None:
    checkout = ECHOING.with_cases(case("a")).with_state(a=row(2), gone=row(3)).at(pytester)
    before = checkout.state_text()
    done = checkout.recall("state", *options)
    assert (done.ret, done.errlines) == (2, [f"recall: {said}"])
    assert checkout.state_text() == before
