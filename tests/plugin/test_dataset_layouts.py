"""A dataset of a project's own: the layout that a hook returns reads the file that cases name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.project import BARE, WORKERS, Project

LAYOUT = """\
from pathlib import Path

from pytest_recall.ext import Conversation, DatasetLayout, DatasetRow, Question, Sample, Session, Utterance, hookimpl


def sample(given, file, number):
    row = DatasetRow(file, number)
    fields = row.mapping(given)
    turns = tuple(Utterance(f"t{n}", "me", text) for n, text in enumerate(row.items(fields.get("lines"), "lines")))
    talk = Conversation(f"talk-{number}", (Session("s", turns),))
    question = Question(id=f"talk-{number}-1", text=row.text(fields.get("asks"), "asks"), answer="twelve",
                        category="count", evidence=("t1",))
    return Sample(number, talk, (question,))


@hookimpl
def pytest_recall_datasets():
    return RETURNED


def layout(name):
    return DatasetLayout(name, "Mine", True, frozenset({"lines", "asks"}), sample, Path("talks.jsonl"))
"""
TALK = {"lines": ["I went out.", "I bought twelve plants."], "asks": "How many plants did I buy?"}
FILE = "eval/mine.dataset.yaml"


def having(returned: str) -> Project:
    """Return a project whose conftest.py returns that, with a file that asks a talk."""
    return BARE.with_files(
        {
            "conftest.py": LAYOUT.replace("RETURNED", returned),
            "eval/rubric.yaml": "owner: us\n",
            "talks.jsonl": json.dumps(TALK) + "\n",
            FILE: "path: ../talks.jsonl\n",
        }
    )


@WORKERS
def test_a_layout_of_a_conftest_reads_the_file(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    checkout = having("[layout('mine')]").at(pytester)
    assert checkout.run(FILE, *workers).ret == 0
    (trial,) = checkout.journal().trials
    assert trial.answer is not None
    assert (trial.case_id, trial.outcome.value) == ("talk-1-1", "passed")
    assert trial.answer.passages[0].text.endswith("I bought twelve plants.")


def test_without_it_the_file_is_of_no_known_dataset(pytester: pytest.Pytester) -> None:
    checkout = having("None").at(pytester)
    (checkout.path / "conftest.py").unlink()
    assert checkout.run(FILE).ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(
    ("returned", "fault"),
    [
        ("[layout('locomo')]", "`locomo`"),
        ("['mine']", "it lists str, and no Data"),
        ("1 / 0", "conftest.py:18"),
        ("[layout('auto')]", "`auto` is taken"),
    ],
)
def test_a_fault_is_named_with_its_file(pytester: pytest.Pytester, returned: str, fault: str) -> None:
    checkout = having(returned).at(pytester)
    result = checkout.run(FILE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = [line for line in (*result.errlines, *result.outlines) if fault in line]
    assert any("conftest.py" in line for line in said), result.errlines


@WORKERS
@pytest.mark.parametrize("body", ["given['gone']", "None"])
def test_a_fault_of_read_is_named_with_the_row(pytester: pytest.Pytester, body: str, workers: tuple[str, ...]) -> None:
    checkout = having("[layout('mine')]").at(pytester)
    source = LAYOUT.replace("RETURNED", "[layout('mine')]").replace(
        "return Sample(number, talk, (question,))", f"return {body}"
    )
    Path(checkout.path, "conftest.py").write_text(source, encoding="utf-8")
    result = checkout.run(FILE, *workers)
    assert result.ret != pytest.ExitCode.INTERNAL_ERROR
    said = [*result.errlines, *result.outlines]
    assert any("talks.jsonl: row 1: " in line for line in said), said
    assert not any("INTERNALERROR" in line or "Traceback" in line for line in said)


def test_the_sample_of_a_layout_is_asked_for_by_its_name(pytester: pytest.Pytester) -> None:
    checkout = having("[layout('mine')]").at(pytester)
    Path(checkout.path, FILE).write_text("dataset: mine\npath: sample\n", encoding="utf-8")
    assert checkout.run(FILE).ret == 0
    assert [trial.case_id for trial in checkout.journal().trials] == ["talk-1-1"]
