"""`recall state move`, `--move` and `--forget`: a renamed case keeps its history, and a row can be deleted."""

from __future__ import annotations

import pytest

from tests.helpers.project import BARE, ECHOING, IN, case, row
from tests.plugin.test_marks import HEAD

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
    told = "renamed, by what they do (1): a → late-fee; `recall state move` has them keep their history"
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
        (("forget", "x"), "eval/recall.yaml: no row of `x`; known: a"),
        (("move", "a"), "give the id that a case had and the one that it has now, or neither for the newest run's"),
    ],
)
def test_mistakes_are_one_sentence(pytester: pytest.Pytester, options: tuple[str, ...], said: str) -> None:
    checkout = ECHOING.with_cases(case("a")).with_state(a=row(2)).at(pytester)
    before = checkout.state_text()
    done = checkout.recall("state", *options)
    assert (done.ret, done.errlines) == (2, [f"recall: {said}"])
    assert checkout.state_text() == before
