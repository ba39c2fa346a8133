"""`recall state`: where the state is, what waits in run files, and how cases are renamed, forgotten and set apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_recall.schedule.state_file import parse_state, read_state
from tests.helpers.project import BARE, DAY, ECHOING, IN, Checkout, case, failing, row
from tests.helpers.repository import Repository
from tests.plugin.test_marks import HEAD


@pytest.fixture
def checkout(pytester: pytest.Pytester) -> Checkout:
    """A project on a branch, whose runs write run files."""
    project = ECHOING.with_cases(case("a"), failing("b")).with_files({".gitignore": "_artifacts\n"})
    checkout = project.with_state(a=row(2, 2), b=row(3, 3)).at(pytester)
    repository = Repository.at(checkout.path)
    repository.commit()
    repository.git("switch", "-qc", "feature")
    return checkout


def waiting(checkout: Checkout) -> list[Path]:
    """Return the run files."""
    return sorted((checkout.path / "eval/runs").glob("*"))


def folded(checkout: Checkout) -> tuple[str, ...]:
    """Return the names of the runs that the rows hold."""
    return read_state(checkout.path / "eval/recall.yaml", "recall.yaml").folded


def test_a_run_on_a_branch_writes_a_file_and_everybody_sees_it(checkout: Checkout) -> None:
    before = checkout.state_text()
    result = checkout.run_apart("-q", "-p", "recall", "eval", "--recall-pr", "7", "-n", "2")
    result.stdout.fnmatch_lines(["eval/runs: 2 rows changed"])
    assert checkout.state_text() == before
    [path] = waiting(checkout)
    assert path.name.startswith(f"{DAY}-pr7-")
    assert checkout.recall("state", "show").outlines == [
        "eval/recall.yaml: 2 rows",
        "eval/runs: 1 run file newer than it, 2 verdicts",
    ]
    assert "last verdict was a fail (1): b" in checkout.recall("status", "--date", "2026-03-11").outlines
    assert checkout.recall("check").ret == 0
    # `b` is in box 1 by the file alone; `a` was promoted by it, and is not due.
    assert checkout.recall("schedule", "select", "--date", "2026-03-11", "--ids").outlines == ["b"]


def test_the_default_branch_folds_it(checkout: Checkout) -> None:
    checkout.run("-p", "recall", "eval")
    repository = Repository(checkout.path)
    repository.commit()
    told = "eval/runs: 1 run file; a run or `recall state apply` on the default branch folds them"
    assert checkout.recall("state", "apply").outlines == [told]
    assert len(waiting(checkout)) == 1
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    before = checkout.state_text()
    dry = checkout.recall("state", "apply", "--dry-run")
    assert (dry.ret, dry.outlines) == (0, ["eval/runs: 1 run file would be folded into eval/recall.yaml"])
    assert (checkout.state_text(), len(waiting(checkout))) == (before, 1)
    done = checkout.recall("state", "apply")
    assert (done.ret, done.outlines) == (0, ["eval/runs: 1 run file folded into eval/recall.yaml"])
    assert checkout.boxes() == {"a": 3, "b": 1}
    # It is named, and stays until that is committed; a second time there is nothing to fold.
    [file] = waiting(checkout)
    assert folded(checkout) == (file.stem,)
    after = checkout.state_text()
    assert checkout.recall("state", "apply").outlines == [
        "eval/recall.yaml: lacks no run of this checkout; nothing to do"
    ]
    assert (checkout.state_text(), waiting(checkout)) == (after, [file])
    assert checkout.recall("state", "show").outlines == ["eval/recall.yaml: 2 rows"]
    repository.commit()
    checkout.run("-p", "recall", "eval", day="2026-03-11")
    assert waiting(checkout) == []
    assert file.stem in folded(checkout)
    assert (checkout.boxes(), checkout.state()["b"].lapses) == ({"a": 3, "b": 1}, 1)


def test_a_dry_run_writes_nothing_at_all(checkout: Checkout) -> None:
    checkout.run("-p", "recall", "eval")
    repository = Repository(checkout.path)
    repository.commit()
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    shutil.rmtree(checkout.path / "eval/_artifacts")
    (checkout.path / "eval/.recall.lock").unlink(missing_ok=True)
    before = tree(checkout.path / "eval")
    assert checkout.recall("state", "apply", "--dry-run").ret == 0
    assert tree(checkout.path / "eval") == before


def tree(folder: Path) -> dict[Path, bytes | None]:
    """Return all that is in a folder, with the bytes of files."""
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_an_empty_state_in_a_commit_is_refused(checkout: Checkout) -> None:
    (checkout.path / "eval/recall.yaml").write_text("\n", encoding="utf-8")
    Repository(checkout.path).commit()
    done = checkout.recall("state", "show", "--at", "feature")
    assert (done.ret, done.outlines) == (2, [])
    assert [line for line in done.errlines if "feature:eval/recall.yaml" in line] == done.errlines != []
    assert checkout.recall("state", "show", "--at", "main").ret == 0


def test_a_run_on_the_default_branch_folds_it_as_well(checkout: Checkout) -> None:
    checkout.run("-p", "recall", "eval")
    repository = Repository(checkout.path)
    repository.commit()
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    [file] = waiting(checkout)
    checkout.run("-p", "recall", "eval", day="2026-03-11")
    assert waiting(checkout) == [file]
    assert file.stem in folded(checkout)
    assert checkout.boxes() == {"a": 3, "b": 1}
    assert checkout.state()["b"].lapses == 1
    repository.commit()
    checkout.run("-p", "recall", "eval", day="2026-03-12")
    assert waiting(checkout) == []
    assert len(folded(checkout)) == 3
    assert (checkout.boxes(), checkout.state()["b"].lapses) == ({"a": 3, "b": 1}, 1)


def test_quarantine_waits_in_a_file_on_a_branch(checkout: Checkout) -> None:
    before = checkout.state_text()
    assert checkout.recall("state", "quarantine", "a", "--owner", "bo").ret == 0
    assert checkout.state_text() == before
    assert len(waiting(checkout)) == 1
    assert checkout.recall("state", "quarantine").outlines[-1] == "1 case of 2 in quarantine"
    repository = Repository(checkout.path)
    repository.commit()
    repository.git("switch", "-q", "main")
    repository.git("merge", "-q", "feature")
    [file] = waiting(checkout)
    assert checkout.recall("state", "quarantine", "b", "--owner", "bo").ret == 0
    assert waiting(checkout) == [file]
    assert file.stem in folded(checkout)
    assert {case_id: found.owner for case_id, found in checkout.state().items()} == {"a": "bo", "b": "bo"}
    Repository(checkout.path).commit()
    assert checkout.recall("state", "quarantine", "a", "--release").ret == 0
    assert waiting(checkout) == []
    assert checkout.recall("state", "quarantine").outlines[-1] == "1 case of 2 in quarantine"


def test_the_state_in_a_commit_is_the_sum(checkout: Checkout) -> None:
    checkout.run("-p", "recall", "eval")
    Repository(checkout.path).commit()
    base = checkout.recall("state", "show", "--at", "feature")
    assert (base.ret, base.errlines) == (0, [])
    at_main = parse_state("\n".join(base.outlines) + "\n", "main").rows
    assert {case_id: found.last_tested.isoformat() for case_id, found in at_main.items()}["a"] == DAY
    checkout.run("-p", "recall", "eval", "--recall-base", "feature", day="2026-03-11")
    assert "\n".join(checkout.recall("state", "show", "--at", "feature").outlines) == "\n".join(base.outlines)
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


@pytest.mark.parametrize("revision", ["none", "HEAD:eval"])
def test_of_what_is_no_revision_there_is_no_state(checkout: Checkout, revision: str) -> None:
    done = checkout.recall("state", "show", "--at", revision)
    assert (done.ret, done.outlines, [revision in line for line in done.errlines]) == (2, [], [True])


# `recall state move` and `recall state forget`: a renamed case keeps its history, and a row can be deleted


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
