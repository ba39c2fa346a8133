"""What a change does to cases of its base beside their rows: the code of their judges, and that they are skipped."""

from __future__ import annotations

from pytest_recall.cases.case import Case, JudgeCall
from pytest_recall.cases.changes import CaseChange, with_judge_code, with_skipped


def case(case_id: str, *judges: str) -> Case:
    """Return a case with these judges."""
    return Case(
        id=case_id, scenario="s", dimension="d", input="?", judges=tuple(JudgeCall(name=name) for name in judges)
    )


def test_cases_with_an_altered_judge_are_listed_with_its_file() -> None:
    now = {one.id: one for one in (case("a", "own", "exact"), case("b", "exact"), case("c", "exact", "own", "other"))}
    found = with_judge_code([], now, {"own": "eval/conftest.py", "other": "judges.py"})
    assert [(one.case_id, one.now) for one in found] == [("a", "a"), ("c", "c")]
    assert found[0].how == "code of judge own altered in eval/conftest.py"
    assert "own" in found[1].how
    assert "other altered in judges.py" in found[1].how


def test_what_else_became_of_a_case_stays_said() -> None:
    changes = [CaseChange("old", "renamed to new", "new"), CaseChange("gone", "missing")]
    found = with_judge_code(changes, {"new": case("new", "own")}, {"own": "conftest.py"})
    assert [one.case_id for one in found] == ["gone", "old"]
    assert found[1].how.startswith("renamed to new, ")
    assert found[0] == changes[1]


def test_skipped_cases_are_listed_beside_what_else_became_of_them() -> None:
    found = with_skipped([CaseChange("b", "judges altered", "b")], ["c", "b"])
    assert found == [CaseChange("b", "judges altered, skipped", "b"), CaseChange("c", "skipped", "c")]


def test_the_judges_with_other_code_are_facts_of_the_case() -> None:
    judges = {"own": "eval/conftest.py", "other": "a, b and c/judges.py"}
    changes = [CaseChange("old", "renamed to a", "a"), CaseChange("b", "input and threshold altered", "b")]
    now = {one.id: one for one in (case("a", "own", "exact"), case("b", "exact"), case("c", "own", "other"))}
    found = with_skipped(with_judge_code(changes, now, judges), ["c"])
    own, other = judges.items()
    assert {one.now: one.judges for one in found} == {"a": (own,), "b": (), "c": (own, other)}
