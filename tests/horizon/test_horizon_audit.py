"""Audited runs: pages to read, notes that keep what the operator wrote, and the advice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_recall.horizon.regrade import ESCALATE, Audited, Level, Regrade, audited
from pytest_recall.horizon.run_text import ANALYSIS, BEGIN, END, advice, escalates, is_done, notes, page
from pytest_recall.metrics.clustered import Clustered
from tests.helpers.horizon_runs import SMALL, run_of

ROW = {
    "questionId": "q`1",
    "composite": 1,
    "chosen": ["failure"],
    "category": "synthesis",
    "difficulty": "hard",
    "relevantDays": [1, 2],
    "question": "What?",
    "referenceAnswer": "This.",
    "systemAnswer": "```\n# Not a heading\n```",
    "score": {"correctness": 0, "completeness": 0, "hallucination": 1, "reasoning": "No."},
    "evidence": [{"day": 1, "text": "# session: principal\n````"}],
    "retrieval": [{"path": "a.md", "snippet": "<b>"}],
}


def test_nothing_in_an_answer_ends_its_block() -> None:
    text = page("10d", [ROW])
    assert "````text\n```\n# Not a heading\n```\n````" in text
    assert "`````text\n# session: principal\n````\n`````" in text
    assert "- `a.md` &lt;b&gt;" in text
    assert "## `q'1`: 1 of 6, failure" in text


def test_notes_keep_what_the_operator_wrote() -> None:
    run = run_of(SMALL)
    first = notes("", run, audited(run, []), 3, 0)
    assert first.startswith("# Notes on mine\n")
    assert first.count(BEGIN) == first.count(END) == 1
    own = first.replace(ANALYSIS, f"Mine.\n\n{ANALYSIS}\n\nIt is src/rank.py:88.")
    found = audited(run, [Regrade(run.evaluations[2], "system_failure", "src/rank.py:88")])
    second = notes(own, run, found, 2, 0)
    assert "Mine." in second
    assert "It is src/rank.py:88." in second
    assert "failures `src/rank.py:88` 1" in second
    assert notes(second, run, found, 2, 0) == second


def test_a_configuration_reads_like_words_and_without_what_is_absent() -> None:
    hashes = {"story": "a" * 64, "days": "b" * 64}
    config: dict[str, Any] = {"groupsEnabled": False, "answerModel": None, "hashes": hashes, "k": 10, "odd": []}
    text = notes("", replace(run_of(SMALL), config=config), audited(run_of(SMALL), []), 0, 0)
    part = text.partition("questions that there are")[2].partition("## Result")[0].strip().splitlines()
    hashed = f"- hashes: story {12 * 'a'}…, days {12 * 'b'}…"
    assert part[-3:] == ["- groups enabled: no", hashed, "- k: 10"]
    assert "None" not in text
    assert "{" not in text


def test_notes_without_our_part_get_it_at_the_end() -> None:
    run = run_of(SMALL)
    text = notes("# Mine\n\nFirst thoughts.\n", run, audited(run, []), 3, 0)
    assert text.startswith(f"# Mine\n\nFirst thoughts.\n\n{BEGIN}")


def test_the_log_has_a_row_for_each_checkpoint() -> None:
    run = run_of(SMALL)
    text = notes("", run, audited(run, [Regrade(run.evaluations[1], "case_defect")]), 0, 1)
    assert "| 10d | 61.1 | 58.3 | 1 of 3 | 1 | 0 | 0 | 1 | 0 |" in text
    assert "- 10d: defects `q002`" in text


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("", False),
        (f"{ANALYSIS}\n\nAll fine.", False),
        (f"rank.py:8\n{ANALYSIS}\n", False),
        (f"{ANALYSIS}\nrank.py:8", True),
    ],
)
def test_an_analysis_names_a_place(text: str, done: bool) -> None:
    assert is_done(text) is done


@pytest.mark.parametrize(
    ("error", "told", "above"),
    [
        (Clustered(None, None, None, 0, 2), "unknown until some answers below 6", False),
        (Clustered(0.1, 0.08, 0.2, 9, 2), "above 5.0 %: take a stronger judge, or a clearer rubric", True),
        (Clustered(0.06, 0.01, 0.2, 9, 2), "likely above 5.0 %: look at more answers", True),
        (Clustered(0.01, 0.0, 0.2, 9, 2), "not shown to be above 5.0 %, and not shown to be below", False),
        (Clustered(0.01, 0.0, 0.02, 9, 2), "(0.0 % to 2.0 %), below 5.0 %", False),
    ],
)
def test_the_advice_is_by_the_interval(error: Clustered, told: str, above: bool) -> None:
    level = Level(5.0, 0.1, 9)
    found = Audited(level, level, None, 0, 0, {}, {}, error, (), ())
    assert told in advice(found)
    assert escalates(found) is above
    assert ESCALATE == 0.05
