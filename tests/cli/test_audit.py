"""`recall judges audit`: verdicts for a second look, and what a run comes to after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.kept import after
from tests.helpers.project import Checkout, Project, case
from tests.helpers.screens import RUN, assert_screen
from tests.helpers.scripted import asks, judged

CASES = (
    asks("bad", "wrong"),
    asks("good", "right"),
    case("code", input="x", expected="y"),
    case(
        "turns", input=None, turns=["right", {"user": "right?", "assistant": "yes"}, "right"], judges=[{"rubric": "r"}]
    ),
)

AUDIT = ("judges", "audit", "latest")


@pytest.fixture(name="checkout")
def _checkout(pytester: pytest.Pytester) -> Checkout:
    """A project after a run with a fail by a model, one by a function, and passes."""

    def made() -> Checkout:
        agent = "@pytest.fixture\ndef agent():\n    return lambda asked: asked if isinstance(asked, str) else 'right'\n"
        checkout = judged(*CASES).with_agent(agent).at(pytester)
        checkout.run("eval")
        assert checkout.outcomes() == {"bad": "failed", "code": "failed", "good": "passed", "turns": "passed"}
        return checkout

    return after(pytester, "audited", made)


def exported(result: pytest.RunResult) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the head and the items that were printed."""
    head, *items = map(json.loads, result.outlines)
    return head, items


def grade(checkout: Checkout, *given: Any) -> pytest.RunResult:
    """Import these gradings, `(id, grade)` or whole lines."""
    lines = [
        one if isinstance(one, str) else json.dumps({"id": one[0], "grade": one[1], "why": "seen"}) for one in given
    ]
    (checkout.path / "graded.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return checkout.recall(*AUDIT, "--import", "graded.jsonl")


class TestExport:
    """What is returned to be graded."""

    def test_what_deserves_a_second_look_with_all_that_it_takes(self, checkout: Checkout) -> None:
        head, items = exported(checkout.recall_apart(*AUDIT))
        assert head["audit"] == checkout.artifacts.runs()[-1].name
        assert (head["items"], list(head["grades"])) == (
            3,
            ["agree", "judge_false_negative", "judge_false_positive", "system_failure", "case_defect"],
        )
        bad, good, turns = items
        assert (bad["id"], bad["chosen"], bad["outcome"]) == ("bad", ["rubric: a fail by a model"], "failed")
        assert (bad["question"], bad["expected"], bad["answer"]) == ("wrong", "it is right", "wrong")
        assert (bad["passages"], bad["grade"], bad["why"]) == ([], "", "")
        assert bad["verdicts"][0]["judgement"]["votes"][0]["passed"] is False
        assert good["chosen"] == turns["chosen"] == ["a drawn pass"]
        assert turns["question"] == "user: right\nuser: right?\nassistant: yes\nuser: right"

    @pytest.mark.parametrize(
        ("options", "wanted"),
        [
            (("--only", "disagreements"), []),
            (("--only", "fails"), ["bad"]),
            (("--only", "passes"), ["good", "turns"]),
            (("--only", "passes", "--sample", "0"), []),
            (("--sample", "0"), ["bad"]),
            (("--only", "all"), ["bad", "code", "good", "turns"]),
        ],
    )
    def test_only_some(self, checkout: Checkout, options: tuple[str, ...], wanted: list[str]) -> None:
        _, items = exported(checkout.recall(*AUDIT, *options))
        assert [item["id"] for item in items] == wanted

    def test_a_seed_draws_the_same_ones_again(self, checkout: Checkout) -> None:
        drawn = {
            seed: exported(checkout.recall(*AUDIT, "--only", "passes", "--sample", "1", "--seed", seed))[1]
            for seed in "123456"
        }
        again = exported(checkout.recall(*AUDIT, "--only", "passes", "--sample", "1", "--seed", "3"))[1]
        assert again == drawn["3"]
        assert len({items[0]["id"] for items in drawn.values()}) == 2

    def test_a_case_that_has_changed_since_has_no_question(self, checkout: Checkout) -> None:
        Project().with_cases(asks("bad", "something else")).at(checkout.pytester)
        _, items = exported(checkout.recall(*AUDIT))
        assert [item["question"] for item in items] == [None] * 3

    def test_into_a_file(self, checkout: Checkout) -> None:
        result = checkout.recall(*AUDIT, "--out", "x.jsonl")
        assert result.outlines == ["x.jsonl: 3 items to grade"]
        assert len((checkout.path / "x.jsonl").read_text().splitlines()) == 4

    def test_grades_that_stand_in_the_file_are_kept(self, checkout: Checkout) -> None:
        out = checkout.path / "x.jsonl"
        checkout.recall(*AUDIT, "--out", "x.jsonl")
        graded = out.read_text().replace('"grade": "", "why": ""', '"grade": "agree", "why": "seen"', 1)
        out.write_text(graded)
        assert checkout.recall(*AUDIT, "--out", "x.jsonl").outlines == ["x.jsonl: 3 items to grade"]
        assert out.read_text() == graded
        done = checkout.recall(*AUDIT, "--only", "passes", "--out", "x.jsonl")
        told = "x.jsonl: has grades of 1 case that would not be exported now, such as `bad`; import it first, or give"
        assert (done.ret, done.errlines) == (2, [f"recall: {told} another file"])
        assert out.read_text() == graded

    def test_another_file_is_left_alone(self, checkout: Checkout) -> None:
        before = (checkout.path / "eval/cases.yaml").read_text()
        done = checkout.recall(*AUDIT, "--out", "eval/cases.yaml")
        told = "eval/cases.yaml: is there already, and is no audit of a run; give another file, or delete it"
        assert (done.ret, done.errlines) == (2, [f"recall: {told}"])
        assert (checkout.path / "eval/cases.yaml").read_text() == before


class TestImport:
    """What comes back."""

    def test_both_numbers_everywhere_and_the_schedule_stays(self, checkout: Checkout) -> None:
        state, journal = checkout.state_text(), (checkout.artifacts.runs()[-1] / "trials.jsonl").read_bytes()
        result = grade(checkout, ("bad", "judge_false_negative"), ("good", "agree"), ("code", "case_defect"))
        assert result.ret == 0
        numbers = [
            "as judged: 2 of 4 passed",
            "as re-graded: 3 of 3 passed, 1 defective case out of the count; 3 of 4 *",
        ]
        result.stdout.fnmatch_lines(["graded.jsonl: 3 grades, 3 of them new", *numbers])
        result.stdout.fnmatch_lines(
            ["judge * right passes  false passes  right fails  false fails", "rubric, * 1 * 0 * 0 * 1"]
        )
        checkout.recall("score").stdout.fnmatch_lines(numbers)
        told = json.loads("\n".join(checkout.recall("score", "--json").outlines))["regraded"]
        assert told["as_judged"] == {"passed": 2, "failed": 2}
        assert told["as_regraded"] == {"passed": 3, "failed": 0, "case_defects": 1}
        for folder in (checkout.artifacts.folder, checkout.artifacts.runs()[-1]):
            assert json.loads((folder / "scorecard.json").read_text())["regraded"] == told
            assert "<summary>Looked at again</summary>" in (folder / "scorecard.md").read_text()
        assert checkout.state_text() == state
        assert (checkout.artifacts.runs()[-1] / "trials.jsonl").read_bytes() == journal

    def test_the_newest_grade_counts_and_none_is_lost(self, checkout: Checkout) -> None:
        grade(checkout, ("bad", "judge_false_negative"))
        grade(checkout, ("bad", "system_failure")).stdout.fnmatch_lines(["as re-graded: 2 of 4 passed; 1 of 4 *"])
        grade(checkout, ("bad", "system_failure")).stdout.fnmatch_lines(["graded.jsonl: 1 grade, 0 of them new"])
        lines = (checkout.artifacts.runs()[-1] / "grades.jsonl").read_text().splitlines()
        assert [json.loads(line)["grade"] for line in lines] == ["judge_false_negative", "system_failure"]
        _, items = exported(checkout.recall(*AUDIT, "--only", "fails"))
        assert (items[0]["grade"], items[0]["why"]) == ("system_failure", "seen")

    def test_what_the_system_is_at_fault_for_is_counted_by_its_place(self, checkout: Checkout) -> None:
        line = {"id": "bad", "grade": "system_failure", "why": "", "cause": "src/rank.py:88"}
        result = grade(checkout, json.dumps(line))
        result.stdout.fnmatch_lines(["src/rank.py:88: 1 answer to 1 question"])
        told = json.loads("\n".join(checkout.recall("score", "--json").outlines))["regraded"]
        assert told["causes"] == [{"cause": "src/rank.py:88", "answers": 1, "questions": 1}]
        assert "src/rank.py:88: 1 answer" in (checkout.artifacts.folder / "scorecard.md").read_text()
        _, items = exported(checkout.recall(*AUDIT, "--only", "fails"))
        assert items[0]["cause"] == "src/rank.py:88"

    def test_an_older_run_does_not_become_the_newest(self, checkout: Checkout) -> None:
        checkout.run("eval", "--recall-mode", "all")
        newest = (checkout.artifacts.folder / "scorecard.json").read_bytes()
        (checkout.path / "graded.jsonl").write_text(json.dumps({"id": "bad", "grade": "system_failure", "why": ""}))
        assert checkout.recall("judges", "audit", "previous", "--import", "graded.jsonl").ret == 0
        assert (checkout.artifacts.folder / "scorecard.json").read_bytes() == newest

    def test_an_export_that_nobody_filled_in_grades_nothing(self, checkout: Checkout) -> None:
        checkout.recall(*AUDIT, "--out", "x.jsonl")
        result = checkout.recall(*AUDIT, "--import", "x.jsonl")
        assert result.outlines == ["x.jsonl: 0 grades, 0 of them new", "nothing is graded yet"]

    def test_of_lines_with_a_mistake_nothing_is_taken(self, checkout: Checkout) -> None:
        lines: tuple[Any, ...] = (
            ("bda", "agree"),
            ("bda", ""),
            ("bad", "right"),
            ("bad", "judge_false_positive"),
            ("good", "agree"),
            '{"id": "bad", "grade": "", "why": "", "cause": "a.py:1"}',
            '{"id": "bad", "grade": "agree", "why": "", "cause": 1}',
            '{"id": "bad", "why": ""}',
            '{"grade": "agree", "why": ""}',
            "{",
            '{"audit": "other"}',
        )
        parts = []
        for line in lines:
            result = grade(checkout, ("good", "agree"), line)
            assert (result.ret, result.outlines) == (2, [])
            assert not (checkout.artifacts.runs()[-1] / "grades.jsonl").exists()
            (_, written) = (checkout.path / "graded.jsonl").read_text().splitlines()
            parts.append("\n".join([written, *result.errlines, ""]))
        assert_screen(Path(__file__).parent / "screens" / "audit-import.txt", RUN.sub("RUN", "\n".join(parts)))


class TestLabels:
    """From grades to a calibration."""

    def test_what_is_graded_calibrates_the_judge_that_judged(self, checkout: Checkout) -> None:
        grade(checkout, ("bad", "judge_false_negative"), ("good", "agree"), ("code", "system_failure"))
        result = checkout.recall(*AUDIT, "--to-labels", "labels.jsonl")
        assert result.outlines == [
            "labels.jsonl: 2 labels added",
            "1 graded case without a label: case at fault, edited since, or no judging model",
        ]
        again = checkout.recall(*AUDIT, "--to-labels", "labels.jsonl")
        assert again.outlines[0] == "labels.jsonl: 0 labels added, 2 were there"
        found = json.loads("\n".join(checkout.recall("judges", "calibrate", "labels.jsonl", "--json").outlines))
        (judge,) = found["judges"]
        (version,) = {v.version for trial in checkout.journal().trials for v in trial.verdicts if v.model}
        assert (judge["version"], judge["n"], judge["false_fails"]["count"]) == (version, 2, 1)

    def test_in_one_go_with_the_import(self, checkout: Checkout) -> None:
        (checkout.path / "g.jsonl").write_text(json.dumps({"id": "turns", "grade": "agree", "why": "y"}))
        result = checkout.recall(*AUDIT, "--import", "g.jsonl", "--to-labels", "l.jsonl")
        assert result.outlines[-1] == "l.jsonl: 1 label added"
        told = json.loads((checkout.path / "l.jsonl").read_text())
        assert (told["label"], told["judge"], told["arguments"], told["note"]) == (
            "pass",
            "rubric",
            {"expected": "r"},
            "y",
        )

    def test_of_several_judges_each_gets_its_own(self, pytester: pytest.Pytester) -> None:
        both = [{"rubric": "is right"}, "memory", "exact"]
        checkout = judged(case("a", input="right", judges=both)).at(pytester)
        checkout.run("eval")
        grade(checkout, ("a", "agree"))
        checkout.recall(*AUDIT, "--to-labels", "l.jsonl")
        told = [json.loads(line) for line in Path(checkout.path / "l.jsonl").read_text().splitlines()]
        assert [(one["id"].rpartition("/")[2], one["judge"]) for one in told] == [("1", "rubric"), ("2", "memory")]
