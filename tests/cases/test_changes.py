"""What a change does to cases of its base beside their rows: the code of their judges, and that they are skipped."""

from __future__ import annotations

from pytest_recall.cases.case import Case, JudgeCall
from pytest_recall.cases.changes import Alteration, CaseChange, case_changes, with_judge_code, with_skipped


def case(case_id: str, *judges: str) -> Case:
    """Return a case with these judges."""
    return Case(
        id=case_id, scenario="s", dimension="d", input="?", judges=tuple(JudgeCall(name=name) for name in judges)
    )


def test_cases_with_an_altered_judge_are_listed_with_its_file() -> None:
    now = {one.id: one for one in (case("a", "own", "exact"), case("b", "exact"), case("c", "exact", "own", "other"))}
    found = with_judge_code([], now, {"own": "eval/conftest.py", "other": "judges.py"})
    assert [(one.case_id, one.now) for one in found] == [("a", "a"), ("c", "c")]
    own, other = ("own", "eval/conftest.py"), ("other", "judges.py")
    assert [one.judges for one in found] == [(own,), (own, other)]


def test_what_else_became_of_a_case_stays_said() -> None:
    changes = [CaseChange("old", "new"), CaseChange("gone")]
    found = with_judge_code(changes, {"new": case("new", "own")}, {"own": "conftest.py"})
    assert [one.case_id for one in found] == ["gone", "old"]
    assert found == [changes[1], changes[0]._replace(judges=(("own", "conftest.py"),))]


def test_skipped_cases_are_listed_beside_what_else_became_of_them() -> None:
    found = with_skipped([CaseChange("b", "b", (Alteration.JUDGES,))], ["c", "b"])
    assert found == [
        CaseChange("b", "b", (Alteration.JUDGES, Alteration.SKIPPED)),
        CaseChange("c", "c", (Alteration.SKIPPED,)),
    ]


def test_the_judges_with_other_code_are_facts_of_the_case() -> None:
    judges = {"own": "eval/conftest.py", "other": "a, b and c/judges.py"}
    changes = [CaseChange("old", "a"), CaseChange("b", "b", (Alteration.INPUT,))]
    now = {one.id: one for one in (case("a", "own", "exact"), case("b", "exact"), case("c", "own", "other"))}
    found = with_skipped(with_judge_code(changes, now, judges), ["c"])
    own, other = judges.items()
    assert {one.now: one.judges for one in found} == {"a": (own,), "b": (), "c": (own, other)}


def test_a_case_is_gone_renamed_or_altered_in_parts() -> None:
    before = {one.id: one for one in (case("a", "own"), case("b", "own"), case("c", "own"), case("d", "exact"))}
    before |= {name: before[name].model_copy(update={"input": name}) for name in ("a", "c")}
    now = {
        "b": before["b"].model_copy(
            update={"expected": "x", "judges": before["d"].judges, "threshold": 0.5, "trials": 3}
        ),
        "d": before["d"].model_copy(update={"input": "other"}),
        "new": before["a"].model_copy(update={"id": "new"}),
    }
    measures = (Alteration.EXPECTED, Alteration.JUDGES, Alteration.THRESHOLD, Alteration.TRIALS)
    assert case_changes(before, now) == [
        CaseChange("a", "new"),
        CaseChange("b", "b", measures),
        CaseChange("c"),
        CaseChange("d", "d", (Alteration.INPUT,)),
    ]
