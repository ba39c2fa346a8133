"""Suites: the folders that are measured, with their cases and states, and pytest's command in them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

from measure import MeasureError

from pytest_recall.schedule.state_head import HEADER

INSIDE = Path(__file__).parent / "inside"
TODAY = "2026-03-02"
_INI = "[pytest]\naddopts = -q -p no:cacheprovider\n"


def case_rows(count: int) -> Iterator[dict[str, object]]:
    """Yield `count` trivial cases: an agent that repeats its input passes them all."""
    for number in range(count):
        yield {
            "id": f"case-{number:06}",
            "scenario": f"scenario-{number % 6}",
            "dimension": f"dimension-{number % 4}",
            "input": f"What is the answer to question number {number}?",
            "expected": f"What is the answer to question number {number}?",
            "judges": ["exact"],
        }


def write_cases(path: Path, count: int) -> None:
    """Write `count` trivial cases as YAML or JSON Lines, by the suffix of `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for row in case_rows(count):
            if path.suffix == ".jsonl":
                file.write(json.dumps(row) + "\n")
            else:
                fields = (f"{name}: [exact]" if name == "judges" else f"{name}: {row[name]}" for name in row)
                file.write("- " + "\n  ".join(fields) + "\n")


def write_state(path: Path, count: int, *, due: int) -> None:
    """Write a state of `count` rows of which `due` are due on `TODAY`.

    Rows that ran together share their dates and pull request, as in a state that grew.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    every = max(1, count // due)
    with path.open("w", encoding="utf-8") as file:
        file.write(HEADER.replace("cases:\n", f"rows: {count}\ncases:\n"))
        for number in range(count):
            is_due = number % every == 0 and number // every < due
            fields = [
                "box: 3",
                "pass_streak: 3",
                f"last_tested: {'2026-02-20' if is_due else '2026-02-27'}",
                f"next_due: {'2026-02-27' if is_due else '2026-03-06'}",
                f"last_pr: {100 + number % 40}",
                "last_model: echo",
            ]
            if number % 50 == 0:
                fields.append(f'failure_note: "exact: the answer to number {number} is not what was expected"')
            file.write(f"  case-{number:06}:\n    {{{', '.join(fields)}}}\n")


def recall_suite(folder: Path, count: int, suffix: str = ".yaml") -> Path:
    """Make a folder in which pytest-recall runs `count` cases with an agent that repeats its input."""
    write_cases(folder / "eval" / f"cases{suffix}", count)
    (folder / "pytest.ini").write_text(_INI, encoding="utf-8")
    (folder / "eval" / "rubric.yaml").write_text("owner: us\n", encoding="utf-8")
    shutil.copy(INSIDE / "echo_conftest.py", folder / "eval" / "conftest.py")
    return folder


def judged_suite(folder: Path, count: int) -> Path:
    """Make a folder of `count` cases with an exact judge and the judge `graded`, run by what a change affects."""
    path = folder / "eval" / "cases.jsonl"
    path.parent.mkdir(parents=True)
    rows = ({**row, "judges": ["exact", "graded"]} for row in case_rows(count))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (folder / "pytest.ini").write_text(_INI, encoding="utf-8")
    (folder / "eval" / "rubric.yaml").write_text(
        "owner: us\nmax_due_cases: 0\nbox_1_cases: 1\nnew_traffic_sample: 0\n", encoding="utf-8"
    )
    return folder


def sdk_suites(folder: Path, count: int) -> tuple[Path, Path]:
    """Make folders with the same `count` cases through the SDK of OpenAI, for pytest-recall and as plain tests."""
    recall, plain = recall_suite(folder / "recall", count, ".jsonl"), folder / "plain"
    path = recall / "eval" / "cases.jsonl"
    rows = ({**row, "expected": f"> {row['input']}"} for row in case_rows(count))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    shutil.copy(INSIDE / "sdk_conftest.py", recall / "eval" / "conftest.py")
    plain.mkdir()
    (plain / "pytest.ini").write_text(_INI, encoding="utf-8")
    shutil.copy(INSIDE / "sdk_plain.py", plain / "test_sdk.py")
    return recall, plain


def bare_suite(folder: Path, count: int) -> Path:
    """Make a folder in which the barest collector runs the same cases."""
    write_cases(folder / "eval" / "cases.yaml", count)
    (folder / "pytest.ini").write_text(_INI, encoding="utf-8")
    shutil.copy(INSIDE / "bare_conftest.py", folder / "eval" / "conftest.py")
    return folder


def plain_suite(folder: Path) -> Path:
    """Make a folder with one test that has nothing to do with evals."""
    folder.mkdir(parents=True)
    (folder / "pytest.ini").write_text(_INI, encoding="utf-8")
    (folder / "test_one.py").write_text("def test_one():\n    assert 1 + 1 == 2\n", encoding="utf-8")
    return folder


def pytest_command(*arguments: str, plugins: tuple[str, ...] = (), on: bool = True) -> list[str]:
    """Return pytest's command with these installed `plugins` and no other one; ours is `on`, or only installed.

    They are blocked by name, so that both sides look through the same entry points.
    """
    installed = dict.fromkeys(point.name for point in entry_points(group="pytest11"))
    blocked = [part for name in installed if name not in plugins for part in ("-p", f"no:{name}")]
    switch = ["-p", "recall"] if on and "recall" in plugins else []
    return [sys.executable, "-m", "pytest", *blocked, *switch, *arguments]


def forget(folder: Path, state: Path | None = None) -> None:
    """Take a suite back to where no run has been, or to a copy of `state`."""
    shutil.rmtree(folder / "eval" / "_artifacts", ignore_errors=True)
    target = folder / "eval" / "recall.yaml"
    target.unlink(missing_ok=True)
    if state is not None:
        shutil.copy(state, target)


def expect(text: str, *parts: str) -> None:
    """Raise MeasureError unless every part is in `text`: a run that did less than it should is no measure."""
    for part in parts:
        if part not in text:
            raise MeasureError(f"{part!r} is not in what the run said:\n{text[-4000:]}")
