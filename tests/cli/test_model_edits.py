"""A model of the user's is edited, and the same command is run again in a new process: that one counts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from pytest_recall.trials.journal import read_header, read_journal
from tests.helpers import programs
from tests.helpers.persona import write_persona
from tests.helpers.upstream import Upstream

READER = """
import json, os, pathlib
import words
HERE = pathlib.Path(__file__).parent
def model(prompt):
    with open(HERE / "asked.txt", "a") as log:
        log.write("reader\\n")
    return {answer}
"""
JUDGE = """
import json, os, pathlib
import words
HERE = pathlib.Path(__file__).parent
def model(prompt):
    with open(HERE / "asked.txt", "a") as log:
        log.write("judge\\n")
    return json.dumps({{"reasoning": "none", "label": {answer}}})
"""
PROGRAM = """
import sys
sys.stdin.read()
print("ONE")
"""
WORDS = 'WORD = "ONE"\n'
OTHER_SIZE = "  # edited\n"
"""Makes an edited module another one for Python as well, which may have compiled it in the same second."""


class Edit(NamedTuple):
    """What is written before the first command, and what is another one before the second."""

    model: str
    files: Mapping[str, str]
    edited: Mapping[str, str] = MappingProxyType({})
    environ: Mapping[str, str] = MappingProxyType({})
    asks_again: bool = False
    module: str = READER


def python(answer: str, **more: Any) -> Edit:
    files = {"own/reader.py": READER.format(answer=answer), "own/words.py": WORDS, **more.pop("files", {})}
    return Edit("python:own/reader.py:model", files, **more)


EDITS = {
    "its own file": python("'ONE'", edited={"own/reader.py": READER.format(answer=f"'TWO'{OTHER_SIZE}")}),
    "a module that it imports": python("words.WORD", edited={"own/words.py": f'WORD = "TWO"{OTHER_SIZE}'}),
    "a prompt file": python(
        "(HERE / 'prompts/word.txt').read_text()",
        files={"own/prompts/word.txt": "ONE"},
        edited={"own/prompts/word.txt": "TWO"},
    ),
    "a variable": python("os.environ.get('WORD', 'ONE')", environ={"WORD": "TWO"}),
    "a module by its name": Edit(
        "python:pack.reader:model",
        {"pack/__init__.py": "", "pack/reader.py": "def model(prompt): return 'ONE'\n"},
        {"pack/reader.py": f"def model(prompt): return 'TWO'{OTHER_SIZE}"},
    ),
    "what a program that it starts prints": python(
        "__import__('subprocess').check_output(['sh', 'word.sh'], text=True).strip()",
        files={"word.sh": "echo ONE\n"},
        edited={"word.sh": "echo TWO\n"},
        asks_again=True,
    ),
    "a program": Edit(
        f"command:{sys.executable} program.py",
        {"program.py": PROGRAM},
        {"program.py": PROGRAM.replace("ONE", "TWO")},
        asks_again=True,
    ),
}


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Done(NamedTuple):
    """What a command has printed."""

    out: str
    told: str


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Callable[..., Done]:
    def run(*command: str, environ: Mapping[str, str] | None = None, code: int = 0) -> Done:
        env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), **(environ or {})}
        done = subprocess.run(programs.recall(*command), capture_output=True, text=True, cwd=tmp_path, env=env)
        assert done.returncode == code, done.stderr
        return Done(done.stdout, done.stderr)

    return run


def asked(folder: Path) -> list[str]:
    """Return who was asked since this was called last."""
    path = folder / "own" / "asked.txt"
    found = path.read_text().split() if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def words(folder: Path) -> set[str]:
    """Return what the answers in a journal are."""
    return {trial.answer.text for trial in read_journal(folder).trials if trial.answer is not None}


SAMPLE = ("memory", "run", "sample", "--dataset", "locomo", "--sample", "6")


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_reader_is_another_one(tmp_path: Path, run: Callable[..., Done], name: str) -> None:
    edit = EDITS[name]
    write(tmp_path, edit.files)
    command = (*SAMPLE, "--reader", edit.model, "--json", "--out", "o")

    def kept() -> int:
        found: int = json.loads(run(*command, environ=environ).out)["kept"]["questions"]
        return found

    environ: Mapping[str, str] = {}
    assert (kept(), words(tmp_path / "o")) == (0, {"ONE"})
    # Of what can be seen all is as it was; of what cannot, that is not known.
    assert kept() == (0 if edit.asks_again else 6)
    write(tmp_path, edit.edited)
    environ = edit.environ
    assert (kept(), words(tmp_path / "o")) == (0, {"TWO"})
    assert kept() == (0 if edit.asks_again else 6)


def test_answers_of_an_edited_reader_are_not_mixed_with_those_of_a_stopped_command(
    tmp_path: Path, run: Callable[..., Done]
) -> None:
    counted = "'ONE' if len((HERE / 'asked.txt').read_text().split()) < 4 else os._exit(9)"
    write(tmp_path, {"own/reader.py": READER.format(answer=counted), "own/words.py": WORDS})
    command = (*SAMPLE, "--reader", "python:own/reader.py:model", "--out", "o")
    run(*command, code=9)
    assert words(tmp_path / "o") == {"ONE"}
    write(tmp_path, {"own/reader.py": READER.format(answer="'TWO'")})
    run(*command)
    assert words(tmp_path / "o") == {"TWO"}
    assert len(read_journal(tmp_path / "o").trials) == 6


def test_a_stopped_command_goes_on_with_a_program_of_which_no_change_is_seen(
    tmp_path: Path, run: Callable[..., Done]
) -> None:
    stops = 'import os, pathlib\nseen = pathlib.Path("seen")\nseen.touch()\nsize = seen.stat().st_size\n'
    stops += 'seen.write_text("x" * (size + 1))\nif size == 3: os.kill(os.getppid(), 9)\n'
    write(tmp_path, {"program.py": stops + PROGRAM})
    command = (*SAMPLE, "--reader", f"command:{sys.executable} program.py", "--json", "--out", "o")
    run(*command, code=-9)
    assert json.loads(run(*command).out)["kept"]["questions"] == 3


def test_answers_from_floors_are_of_the_edited_reader(tmp_path: Path, run: Callable[..., Done]) -> None:
    write(tmp_path, EDITS["a prompt file"].files)
    command = (*SAMPLE, "--reader", "python:own/reader.py:model", "--floors", "--out", "o")
    run(*command)
    calls = len(asked(tmp_path))
    run(*command)
    assert asked(tmp_path) == []
    write(tmp_path, EDITS["a prompt file"].edited)
    run(*command)
    assert len(asked(tmp_path)) == calls
    floors = [path.parent for path in (tmp_path / "o").glob("*/trials.jsonl") if "earlier" not in path.parent.name]
    assert floors
    assert {word for one in floors for word in words(one)} == {"TWO"}


MODEL = """
import json, pathlib
def model(prompt):
    WORD = int((pathlib.Path(__file__).parent / "word.txt").read_text())
    scores = {"correctness": WORD, "completeness": WORD, "hallucination": 1}
    return json.dumps({"reasoning": "none", "scores": scores})
"""
JUDGES = {
    "its own file": ("'correct'", {"own/judge.py": JUDGE.format(answer="'wrong'")}),
    "a module that it imports": ("words.WORD", {"own/words.py": 'WORD = "wrong"\n'}),
    "a prompt file": ("(HERE / 'word.txt').read_text()", {"own/word.txt": "wrong"}),
}
JUDGED = ("--reader", "python:own/reader.py:model", "--judge", "python:own/judge.py:model", "--json", "--out", "o")


def judged(done: Done) -> tuple[float, int]:
    """Return the share of answers that were judged correct, and how many questions are kept."""
    plain = json.loads(done.out)
    return plain["all"]["metrics"]["locomo_judge"]["value"], plain["kept"]["questions"]


def write_judge(folder: Path, answer: str) -> None:
    files = {"own/judge.py": JUDGE.format(answer=answer), "own/words.py": 'WORD = "correct"\n'}
    write(folder, {**files, "own/word.txt": "correct", "own/reader.py": "def model(prompt): return 'ONE'\n"})
    (folder / "eval").mkdir()
    (folder / "eval" / "rubric.yaml").write_text("judge: {preflight: off}\n")


@pytest.mark.parametrize("name", JUDGES)
def test_after_an_edit_of_the_judge_the_same_answers_are_judged_again(
    tmp_path: Path, run: Callable[..., Done], name: str
) -> None:
    answer, edited = JUDGES[name]
    write_judge(tmp_path, answer)
    assert judged(run(*SAMPLE, *JUDGED)) == (1.0, 0)
    count = len(asked(tmp_path))
    assert judged(run(*SAMPLE, *JUDGED)) == (1.0, 6)
    assert asked(tmp_path) == []
    write(tmp_path, edited)
    assert judged(run(*SAMPLE, *JUDGED)) == (0.0, 6)
    assert asked(tmp_path) == ["judge"] * count
    assert judged(run(*SAMPLE, *JUDGED)) == (0.0, 6)
    assert asked(tmp_path) == []


def test_verdicts_of_before_are_in_no_report_of_a_judging_that_was_stopped(
    tmp_path: Path, run: Callable[..., Done]
) -> None:
    write_judge(tmp_path, "'correct'")
    run(*SAMPLE, *JUDGED)
    asked(tmp_path)
    counted = "'wrong' if len((HERE / 'asked.txt').read_text().split()) < 3 else os._exit(9)"
    write(tmp_path, {"own/judge.py": JUDGE.format(answer=counted)})
    run(*SAMPLE, *JUDGED, code=9)
    newest = {trial.case_id: trial for trial in read_journal(tmp_path / "o").trials}
    values = [(trial.measures or {}).get("locomo_judge") for trial in newest.values()]
    assert values.count(1.0) == 0
    assert values.count(0.0) == 2


@pytest.mark.parametrize(
    ("role", "option"), [("answer", "--answer"), ("judge", "--judge"), ("appellate judge", "--appellate-judge")]
)
@pytest.mark.parametrize("edited", ["own/model.py", "own/word.txt"])
def test_an_edited_model_of_a_long_horizon_run_is_another_one(
    tmp_path: Path, run: Callable[..., Done], role: str, option: str, edited: str
) -> None:
    write(tmp_path, {"own/model.py": MODEL, "own/judge.py": MODEL, "own/word.txt": "2"})
    if role == "appellate judge":  # It is asked about fails alone.
        write(tmp_path, {"own/judge.py": MODEL.replace("WORD,", "0,")})
    write_persona(tmp_path, days=4)
    others = {"--judge": "python:own/judge.py:model"} if role != "judge" else {}
    models = [part for pair in {**others, option: "python:own/model.py:model"}.items() for part in pair]
    asks = ("--persona", "clerk", "--memory", "sqlite-fts", "--ranges", "4", "--skip-preflight")
    command = ("bench", "run", *asks, *models, "--out", "o")
    assert " kept from " not in run(*command).out
    assert f" kept from {read_header(tmp_path / 'o').date}" in run(*command).out
    write(tmp_path, {edited: "1" if edited.endswith("txt") else f"{MODEL}\n# edited\n"})
    done = run(*command)
    assert " kept from " not in done.out
    assert (tmp_path / "o" / "earlier-1").is_dir()
    assert (role if edited.endswith("py") else "word.txt") in done.told


def test_replies_of_an_edited_judge_are_not_those_of_a_calibration(tmp_path: Path, run: Callable[..., Done]) -> None:
    answer = "json.loads((HERE / 'word.txt').read_text())"
    write_judge(tmp_path, "'correct'")
    label = {
        "id": "1",
        "question": "Who?",
        "expected": "Ann",
        "answer": "Ann",
        "label": "pass",
        "arguments": {"dataset": "locomo"},
    }
    write(tmp_path, {"labels.jsonl": f"{json.dumps(label)}\n"})
    command = ("judges", "calibrate", "labels.jsonl", "--judge", "python:own/judge.py:model", "--kind", "paper")

    def calls() -> str:
        found = re.search(r"1 answer: (\d+) call", run(*command, "--dry-run").out)
        assert found is not None
        return found[1]

    assert calls() == "1"
    run(*command)
    assert calls() == "0"
    write(tmp_path, {"own/judge.py": JUDGE.format(answer=answer), "own/word.txt": '"correct"'})
    assert calls() == "1"
    run(*command)
    assert calls() == "0"
    write(tmp_path, {"own/word.txt": '"wrong"'})
    assert calls() == "1"


def test_a_judge_that_is_a_program_judges_again_after_a_finished_command(
    tmp_path: Path, run: Callable[..., Done]
) -> None:
    program = 'import json, sys\nsys.stdin.read()\nprint(json.dumps({"reasoning": "none", "label": "correct"}))\n'
    write_judge(tmp_path, "'correct'")
    write(tmp_path, {"judge.py": program})
    command = (*SAMPLE, *JUDGED[:2], "--judge", f"command:{sys.executable} judge.py", "--json", "--out", "o")
    assert judged(run(*command)) == (1.0, 0)
    lines = len(read_journal(tmp_path / "o").trials)
    done = run(*command)
    assert judged(done) == (1.0, 6)
    assert "it is a program" in done.told
    assert len(read_journal(tmp_path / "o").trials) > lines


@pytest.fixture(name="upstream")
def _upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


@pytest.mark.parametrize(("path", "kept"), [("/v1/chat/completions", 6), ("/mine", 0)])
def test_a_model_that_a_reader_calls_is_no_service_that_may_be_another_one(
    tmp_path: Path, run: Callable[..., Done], upstream: Upstream, path: str, kept: int
) -> None:
    asks = 'json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}]}).encode()'
    request = f'urllib.request.Request("{upstream.url}{path}", {asks}, {{"content-type": "application/json"}})'
    body = f"    urllib.request.urlopen({request}).read()\n    return 'ONE'\n"
    write(tmp_path, {"reader.py": f"import json, urllib.request\ndef model(prompt):\n{body}"})
    command = (*SAMPLE, "--reader", "python:reader.py:model", "--json", "--out", "o")
    run(*command)
    assert json.loads(run(*command).out)["kept"]["questions"] == kept


def test_a_replay_runs_no_program_so_that_its_edit_changes_nothing(tmp_path: Path, run: Callable[..., Done]) -> None:
    write(tmp_path, {"program.py": PROGRAM})
    reader = ("--reader", f"command:{sys.executable} program.py")
    run(*SAMPLE, *reader, "--record", "--out", "o")
    write(tmp_path, {"program.py": PROGRAM.replace("ONE", "TWO")})
    for kept in (0, 6):
        done = run(*SAMPLE, *reader, "--replay", "--json", "--out", "new")
        assert json.loads(done.out)["kept"]["questions"] == kept
    assert words(tmp_path / "new") == {"ONE"}


def test_of_several_memories_and_ingests_each_is_read_again(tmp_path: Path, run: Callable[..., Done]) -> None:
    write(tmp_path, EDITS["its own file"].files)
    reader = ("--reader", "python:own/reader.py:model")
    commands = (
        (*SAMPLE, *reader, "--memory", "sqlite-fts,full", "--out", "several"),
        (*SAMPLE, *reader, "--repeat", "2", "--out", "repeated"),
    )
    for command in commands:
        run(*command)
    write(tmp_path, EDITS["its own file"].edited)
    for command in commands:
        run(*command)
    folders = [path.parent for path in tmp_path.rglob("trials.jsonl") if "earlier" not in str(path)]
    assert len(folders) == 4
    assert {word for one in folders for word in words(one)} == {"TWO"}
