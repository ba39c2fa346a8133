"""The questions of a profile as cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recall.cases.case import Case
from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.items import ProfileCases
from pytest_recall.trials.trial import Answer, Passage
from tests.helpers.persona import amount, profile, questions, write_persona, write_project
from tests.helpers.scripted import Scripted


@pytest.fixture
def found(tmp_path: Path) -> ProfileCases:
    write_project(tmp_path)
    return ProfileCases(tmp_path / "clerk.profile.yaml", "clerk.profile.yaml")


def case_of(found: ProfileCases, id: str) -> Case:
    (case,) = found.cases([id])
    return case


def test_a_case_asks_in_its_session_at_its_checkpoint(found: ProfileCases) -> None:
    case = case_of(found, "6d/q001")
    assert (case.scenario, case.dimension, case.limit) == ("clerk", "factual-recall", 10)
    assert case.context is not None
    assert case.context.context.to_json() == {"session": "principal", "date": "2024-03-06", "checkpoint": "6d"}
    assert len(found.cases()) == len(found.lines) == 40
    assert found.reason == "profile"


def test_what_is_told_grows_with_the_checkpoints(found: ProfileCases) -> None:
    three, six = (case_of(found, f"{label}/q001").memory for label in ("3d", "6d"))
    assert three is not None
    assert six is not None
    assert [stage.key for stage in six.stages][:1] == [stage.key for stage in three.stages]
    assert [unit.id for unit in six.units][:4] == [unit.id for unit in three.units]
    assert len(six.units) == 8
    assert case_of(found, "6d/q002").fingerprint != case_of(found, "3d/q002").fingerprint


def test_a_changed_day_is_another_case(found: ProfileCases, tmp_path: Path) -> None:
    before = case_of(found, "3d/q001").fingerprint
    (tmp_path / "clerk/memories-60d/day-0001.md").write_text("# session: principal\n\nOther.\n")
    again = ProfileCases(tmp_path / "clerk.profile.yaml", "clerk.profile.yaml")
    assert case_of(again, "3d/q001").fingerprint != before


def test_the_memorys_own_answer_stands_and_passages_are_read_by_a_model(found: ProfileCases) -> None:
    case = case_of(found, "3d/q001")
    own = Answer(text="1037", usage={"memory_answered": 1})
    assert found.answered(case, own, None) is own
    passages = (Passage(text=f"It is {amount(1)}.", source="day-0001/principal"),)
    bare = Answer(text="all of it", passages=passages, usage={"memory_answered": 0})
    assert found.answered(case, bare, None).text == "# session: principal\n\nIt is 1037."
    reader = Scripted("1037 [day-0001/principal]")
    assert found.answered(case, bare, reader).text == "1037 [day-0001/principal]"
    assert "Today: 2024-03-03" in reader.asks[0].messages[0].content


def test_ids_that_would_be_the_same_are_refused(tmp_path: Path) -> None:
    write_persona(tmp_path)
    rows = questions([1, 2])
    rows[0]["id"], rows[1]["id"] = "a b", "a?b"
    (tmp_path / "clerk/qa-60d/questions.yaml").write_text(json.dumps(rows))
    (tmp_path / "x.profile.yaml").write_text(profile())
    with pytest.raises(RecallError, match="x: '3d/a-b' is asked twice"):
        ProfileCases(tmp_path / "x.profile.yaml", "x")
