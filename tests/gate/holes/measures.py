"""Holes by the measure: cases, judges, settings and what is collected."""

from __future__ import annotations

from pathlib import Path

from tests.gate.holes.hole import ALL, OWN_WORKFLOW, Hole
from tests.gate.model import Mode
from tests.gate.project import (
    BREAKS_THREE,
    BROKEN,
    CALLER,
    CASES,
    CONFTEST,
    RUBRIC,
    Removed,
    Replaced,
    Written,
    case_id,
    prompt_ends,
)

OWN_JUDGE = (
    Written(
        CONFTEST,
        "\n\n@pytest.fixture\ndef judge_own():\n"
        '    return lambda answer, case: (case.expected in answer.text, "is not in it")\n',
        append=True,
    ),
    Replaced(CASES, '["contains"]', '["own"]'),
)
ADDOPTS = 'pythonpath = ["src"]\n'


def with_options(options: str) -> Replaced:
    """Return a change that gives pytest more options."""
    return Replaced("pyproject.toml", ADDOPTS, f"{ADDOPTS}addopts = '''{options}'''\n")


def case_removed(folder: Path) -> None:
    """Delete the cases that the change breaks."""
    path = folder / CASES
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not any(one in line for one in BROKEN)), encoding="utf-8")


def expectations_loosened(folder: Path) -> None:
    """Expect nothing of the cases that the change breaks."""
    for item in (7, 8, 9):
        Replaced(CASES, f'"expected": "${item * 5}"', '"expected": "I"')(folder)


def questions_altered(folder: Path) -> None:
    """Ask something easier in the cases that the change breaks."""
    for item in (7, 8, 9):
        Replaced(
            CASES,
            f'"input": "What does item {item} cost?", "expected": "${item * 5}"',
            '"input": "What does item 1 cost?", "expected": "$5"',
        )(folder)


MEASURES = [
    Hole(
        "stricter-judge",
        (Replaced(CONFTEST, "case.expected in answer.text", "case.expected == answer.text"),),
        ALL,
        setup=OWN_JUDGE,
    ),
    Hole(
        "laxer-judge",
        (BREAKS_THREE, Replaced(CONFTEST, "case.expected in answer.text", "True")),
        setup=OWN_JUDGE,
        says="code of judge own altered in eval/conftest.py",
    ),
    Hole(
        "built-in-judge-is-overridden",
        (
            BREAKS_THREE,
            Written(
                CONFTEST, "\n\n@pytest.fixture\ndef judge_contains():\n    return lambda *_: (True, '')\n", append=True
            ),
        ),
        says="code of judge contains altered in eval/conftest.py",
    ),
    Hole("loosened-expectations", (BREAKS_THREE, expectations_loosened), says="expected answer altered"),
    Hole("deleted-cases", (BREAKS_THREE, case_removed), says="missing"),
    Hole("no-cases", (BREAKS_THREE, Removed((CASES,))), ends_early=True),
    Hole("other-questions", (BREAKS_THREE, questions_altered), says="input and expected answer altered"),
    Hole(
        "recording-that-is-edited",
        (BREAKS_THREE,),
        recorded_as=("I cannot say.", "The price is $35, $40 or $45."),
        ends_early=True,
    ),
    Hole(
        "recording-of-a-lucky-day",
        (BREAKS_THREE,),
        says="recordings that CI did not make",
        recorded_on=Mode(lucky=True),
    ),
    Hole(
        "judges-loosened",
        (BREAKS_THREE, Replaced(CASES, '"judges": ["contains"]', '"judges": [{"contains": "I"}]')),
        says="judges altered",
    ),
    Hole(
        "skip-in-the-fixture",
        (
            BREAKS_THREE,
            Replaced(CONFTEST, "def agent():\n", 'def agent():\n    pytest.skip("the service is down")\n'),
        ),
        quick=True,
    ),
    Hole(
        "skip-of-three",
        (
            BREAKS_THREE,
            Written(
                CONFTEST,
                "\n\n@pytest.fixture(autouse=True)\ndef _skipped(recall_case):\n"
                '    if recall_case.id in ("price-007", "price-008", "price-009"):\n        pytest.skip("flaky")\n',
                append=True,
            ),
        ),
    ),
    Hole(
        "deselected-by-options",
        (BREAKS_THREE, with_options("-k 'not price-007 and not price-008 and not price-009'")),
    ),
    Hole(
        "deselected-by-id",
        (BREAKS_THREE, with_options("".join(f" --deselect eval/cases.jsonl::{one}" for one in sorted(BROKEN)))),
    ),
    Hole(
        "deselected-by-the-workflow",
        (BREAKS_THREE, Replaced(CALLER, "state: always", "state: always\n      arguments: -k price-001")),
    ),
    Hole(
        "deselected-by-a-hook",
        (
            BREAKS_THREE,
            Written(
                CONFTEST,
                "\n\ndef pytest_collection_modifyitems(items):\n"
                '    items[:] = [one for one in items if not any(n in one.name for n in ("007", "008", "009"))]\n',
                append=True,
            ),
        ),
    ),
    *(
        Hole(f"options{options.replace(' ', '')}", (BREAKS_THREE, with_options(options)))
        for options in (
            "--collect-only",
            "-p no:recall",
            "--recall-mode=observe",
            "--recall-mode=all",
            "--recall-mode=main",
            "--maxfail=1",
            "--lf",
            "-n 2",
            "--budget=0.000001",
            "--recall-pr=77",
            "--record=missing --recall-dry-run",
            "--replay --recall-trust-replays",
            "--recall-seed=1",
            "--model=other",
        )
    ),
    *(
        Hole(f"options{options.replace(' ', '')}", (BREAKS_THREE, with_options(options)), ends_early=True)
        for options in ("--ignore=eval/cases.jsonl", "--recall-dry-run", "--recall-resume", "--dimensions=tone")
    ),
    Hole(
        "options--scenarios=prices",
        (prompt_ends("Be kind. Refuse items 7 to 7."), with_options("--scenarios=prices")),
        frozenset({case_id(7)}),
    ),
    Hole("options--recall-shard=1/12", (BREAKS_THREE, with_options("--recall-shard=1/12"))),
    Hole("replay-by-options", (BREAKS_THREE, with_options("--replay"))),
    Hole("mode-by-options", (BREAKS_THREE, with_options("--recall-mode=nightly"))),
    Hole("no-state-by-options", (BREAKS_THREE, with_options("--recall-date=2026-11-21"))),
    Hole("base-by-options", (BREAKS_THREE, with_options("--recall-base=HEAD"))),
    Hole("rubric-blocks-never", (BREAKS_THREE, Replaced(RUBRIC, "blocks: regression", "blocks: never"))),
    Hole(
        "rubric-ignores-the-prompt",
        (
            BREAKS_THREE,
            Written(RUBRIC, "volatile: [{body.messages.*.content: 'You are.*'}]\n", append=True),
        ),
    ),
    Hole("rubric-records-nothing", (BREAKS_THREE, Written(RUBRIC, "recording: 'off'\n", append=True))),
    Hole(
        "rubric-of-another-confirm", (BREAKS_THREE, Replaced(RUBRIC, "confirm: evidence\n", "confirm: evidence:1000\n"))
    ),
    Hole("rubric-quarantines-all", (BREAKS_THREE, Written(RUBRIC, "quarantine_lapses: 1\n", append=True))),
    Hole("budget-of-the-base", (BREAKS_THREE,), setup=(Written(RUBRIC, "budget: 0.004\n", append=True),), quick=True),
    Hole("budget-of-the-change", (BREAKS_THREE, Written(RUBRIC, "budget: 0.000001\n", append=True))),
    Hole(
        "fail-on-never",
        (BREAKS_THREE, Replaced(CALLER, "state: always", "state: always\n      fail-on: never")),
        known=OWN_WORKFLOW,
    ),
    Hole("rows-that-fail-already", (BREAKS_THREE, Removed(("eval/runs", "eval/recall.yaml")))),
]
