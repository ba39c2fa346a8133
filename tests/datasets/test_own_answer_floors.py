"""What answers all questions alike, beside a memory that answers by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.datasets.own_answer_floors import ECHO, REFUSAL, REFUSED, answer_floors
from pytest_recall.trials.record import QuestionRecord

MEMORY = f"""
class Refuses:
    private = True
    said = {REFUSED!r}
    def reset(self): ...
    def store(self, content, metadata): ...
    def recall(self, query, limit, context): return []
    def answer(self, query, limit, context): return self.said

class Echoes(Refuses):
    def answer(self, query, limit, context): return query

class Passages(Refuses):
    answer = None
"""
WORDS = ("answer_contains", "answer_token_f1")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MEMORY)


def run(capsys: pytest.CaptureFixture[str], name: str, *more: str, dataset: str = "locomo") -> dict[str, Any]:
    command = ["memory", "run", "--dataset", dataset, "sample", "--memory", f"python:mine.py:{name}", "--json", *more]
    assert main(command) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(("name", "floor"), [("Refuses", REFUSAL), ("Echoes", ECHO)])
@pytest.mark.parametrize("dataset", ["locomo", "longmemeval"])
def test_a_memory_that_answers_like_a_floor_is_as_good_as_that(
    capsys: pytest.CaptureFixture[str], name: str, floor: str, dataset: str
) -> None:
    if dataset == "locomo":
        pytest.importorskip("nltk")
    found = run(capsys, name, dataset=dataset)
    for group in (found["all"], *found["categories"].values()):
        own = {metric: mean["value"] for metric, mean in group["metrics"].items()}
        known = group["answer_floors"][floor]
        assert {metric: own[metric] for metric in known} == pytest.approx(known)
    assert found["all"]["answers_discriminate"] is False


def test_a_constant_refusal_gets_the_share_of_the_questions_that_have_no_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("nltk")
    found = run(capsys, "Echoes")
    adversarial = found["categories"]["adversarial"]["n"]
    assert found["all"]["answer_floors"][REFUSAL]["locomo_f1"] == pytest.approx(adversarial / found["all"]["n"])


def test_the_table_says_so_also_of_several_memories(capsys: pytest.CaptureFixture[str]) -> None:
    command = ("memory", "run", "--dataset", "locomo", "sample", "--memory")
    assert main([*command, "python:mine.py:Refuses"]) == 0
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line]
    place = rows.index("answers")
    assert rows[place + 1 : place + 4] == ["memory", REFUSAL, ECHO]
    assert main([*command, "python:mine.py:Refuses,sqlite-fts"]) == 0
    notes = [line for line in capsys.readouterr().out.splitlines() if "does not discriminate" in line]
    assert any(line.startswith("python:mine.py:Refuses: ") for line in notes)


def test_passages_have_no_floors_of_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert "answer_floors" not in run(capsys, "Passages")["all"]


def test_only_what_was_measured_of_the_memory_is_measured_of_a_floor() -> None:
    asked = QuestionRecord(id="q", category="single-hop", question="Where is the boat?", reference="the old boat house")
    found = answer_floors(asked, WORDS)
    assert {name: set(values) for name, values in found.items()} == {REFUSAL: {*WORDS}, ECHO: {*WORDS}}
    assert found[REFUSAL]["answer_token_f1"] == 0 < found[ECHO]["answer_token_f1"]
    assert not answer_floors(asked, ("evidence_recall_at_k",))
