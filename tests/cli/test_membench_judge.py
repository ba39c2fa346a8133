"""`recall memory run --judge`: answers judged by a model, once, beside what words say of them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.trials.journal import Journal, read_journal
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.trial import Outcome, Trial
from tests.cli.test_judge_calibrate import REMOTE
from tests.helpers.scripted import JUDGE
from tests.helpers.upstream import Upstream, running

MEMORY = """
class Kept:
    private = True

    def reset(self):
        self.kept = []

    def store(self, content, metadata):
        self.kept.append(content)

    def recall(self, query, limit, context):
        return []

    def answer(self, query, limit, context):
        return ("right, " if len(query) % 2 else "no, ") + query
"""
# A run of pytest in this process forgets what it was the first to import, and some of it would be there twice.
importlib.import_module("pytest_recall.datasets.judged")

RUN = ("memory", "run", "--dataset", "longmemeval", "sample", "--memory", "python:client.py:Kept", "--out", "o")
ORACLE = ("--judge", "python:judge.py:oracle")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "client.py").write_text(MEMORY)
    (tmp_path / "judge.py").write_text(JUDGE + REMOTE)


@pytest.fixture(name="upstream")
def _upstream() -> Iterator[Upstream]:
    yield from running()


def found(capsys: pytest.CaptureFixture[str], *more: str, run: tuple[str, ...] = RUN, code: int = 0) -> dict[str, Any]:
    assert main([*run, *more, "--json"]) == code
    plain: dict[str, Any] = json.loads(capsys.readouterr().out)
    return plain


def times_asked() -> int:
    log = Path("judged.txt")
    return len(log.read_text().split()) if log.exists() else 0


def another_answer(folder: Path, word: str) -> None:
    """Give one question another answer, in each line of the journal."""
    record = read_journal(folder / "o")
    old = next(one.answer.text for one in record.trials if one.answer and "no, " in one.answer.text)

    def changed(trial: Trial) -> Trial:
        if trial.answer is None or trial.answer.text != old:
            return trial
        return trial._replace(answer=replace(trial.answer, text=old.replace("no, ", word)))

    with Journal(folder, record.header) as journal:
        journal.asked(record.asked.values())
        for trial in record.trials:
            journal.append(changed(trial))
        journal.end(0)
    (folder / "trials.jsonl").replace(folder / "o" / "trials.jsonl")


def test_the_judge_has_a_column_beside_the_others_and_no_answer_is_judged_twice(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plain = found(capsys)
    assert "judge" not in plain
    assert main([*RUN, *ORACLE]) == 0
    out = capsys.readouterr().out
    head = next(line for line in out.splitlines() if line.startswith("category"))
    assert "answer F1" in head
    assert head.endswith("LongMemEval judge")
    assert "\njudged by python:judge.py:oracle: 8 answers\nmade 14 calls, price unknown\n" in out
    asked = times_asked()
    first = found(capsys, *ORACLE)
    mean = first["all"]["metrics"]["longmemeval_judge"]
    record = read_journal(Path("o"))
    right = sum("right" in one.answer.text for one in record.trials[:8] if one.answer is not None)
    assert len(record.trials) == 16  # Each answer, and each verdict on it.
    assert (mean["n"], mean["value"]) == (8, right / 8)
    assert {**first["all"]["metrics"], **plain["all"]["metrics"]} == first["all"]["metrics"]
    assert asked == 8 + 6  # And the known answers.
    assert times_asked() == asked
    # The newest line of an answer is of the judge that was asked for.
    assert found(capsys, "--judge", "python:judge.py:third")["judge"]["models"] == "python:judge.py:third"
    assert times_asked() == 2 * asked
    assert found(capsys, *ORACLE) == first
    assert times_asked() == 2 * asked
    assert main(["memory", "rescore", "o", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["k"]["10"]["all"]["metrics"]["longmemeval_judge"]
    assert told["value"] == mean["value"]
    newest = {one.case_id: one for one in read_journal(Path("o")).trials}
    assert {one.verdicts[-1].panel for one in newest.values() if one.verdicts} == {"python:judge.py:oracle"}
    lines = len(read_journal(Path("o")).trials)
    assert found(capsys, *ORACLE) == first
    assert len(read_journal(Path("o")).trials) == lines
    # Another answer is judged again.
    another_answer(tmp_path, "nothing, ")
    before = times_asked()
    found(capsys, *ORACLE)
    assert times_asked() == before + 1 + 6


def test_what_comes_to_no_verdict_is_no_score_and_judged_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "rubric.yaml").write_text("owner: us\njudge: {preflight: 'off'}\n")
    every = ("--judge", "python:judge.py:prose", "--keep-failed")
    assert main([*RUN, *every, "--fail-under", "longmemeval_judge=0"]) == 1
    captured = capsys.readouterr()
    assert "no verdict, and in no mean of the judge: 8 answers\n" in captured.out
    assert "judge paper: python:judge.py:prose: asked 3 times, and the reply is not one JSON object" in captured.out
    assert "recall: --fail-under: longmemeval_judge was measured on no question\n" in captured.err
    assert "recall: --fail-under: the judge gave no verdict on 8 answers, which are in no mean\n" in captured.err
    assert "recall: no answer was judged: the judge gave no verdict on 8 answers; correct it" in captured.err
    plain = found(capsys, *every, code=1)
    assert (plain["all"]["metrics"]["longmemeval_judge"]["n"], len(plain["judge"]["undecided"])) == (0, 8)
    assert plain["judge"]["cost"]["calls"] == 24
    judged = [one for one in read_journal(Path("o")).trials if one.stage == "judge paper"]
    assert (len(judged), {one.outcome.value for one in judged}) == (16, {"error"})


def test_judging_stops_after_five_answers_without_a_verdict(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "rubric.yaml").write_text("owner: us\njudge: {preflight: 'off'}\n")
    assert main([*RUN, "--judge", "python:judge.py:prose"]) == 1
    err = capsys.readouterr().err
    why = "5 answers in a row came to no verdict, the last one because of `judge paper: python:judge.py:prose: asked"
    assert f"recall: 3 answers not judged, since {why}" in err
    assert "recall: no answer was judged: the judge gave no verdict on 5 answers; correct it" in err
    assert found(capsys, *ORACLE)["judge"]["answers"] == 8


SLOW = """

class Slow:
    def ask(self, ask):
        with open("at-once.txt", "a") as file:
            file.write("+")
        time.sleep(0.1)
        with open("at-once.txt", "a") as file:
            file.write("-")
        return oracle.ask(ask)


slow = Slow()
"""


def test_answers_are_judged_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "rubric.yaml").write_text("owner: us\njudge: {preflight: 'off'}\n")
    (tmp_path / "judge.py").write_text("import time\n" + JUDGE + REMOTE + SLOW)
    by = ("--judge", "python:judge.py:slow")
    one_by_one = found(capsys, *by, "--out", "one")
    assert Path("at-once.txt").read_text() == "+-" * 8
    Path("at-once.txt").unlink()
    at_once = found(capsys, *by, "--out", "four", "--concurrency", "4")
    assert "++++" in Path("at-once.txt").read_text()
    assert at_once["all"] == one_by_one["all"]


HALF = """

class Half:
    def ask(self, ask):
        said = next(text for _, name, text in SECTION.findall(ask.messages[-1].content) if name == "ANSWER")
        return oracle.ask(ask) if "right" in said else Reply(text="I cannot say.")


half = Half()
"""


def test_answers_without_a_verdict_are_left_to_the_same_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "rubric.yaml").write_text("owner: us\njudge: {preflight: 'off'}\n")
    (tmp_path / "judge.py").write_text(JUDGE + REMOTE + HALF)
    by = ("--judge", "python:judge.py:half")
    undecided = len(found(capsys, *by, code=2)["judge"]["undecided"])
    assert 0 < undecided < 8
    assert main([*RUN, *by]) == 2
    told = f"recall: {undecided} answers without a verdict of the judge; the same command judges them again\n"
    assert told in capsys.readouterr().err


def test_a_paper_without_such_a_rule_leaves_unanswerable_questions_out(capsys: pytest.CaptureFixture[str]) -> None:
    run = ("memory", "run", "--dataset", "locomo", "sample", "--memory", "python:client.py:Kept")
    plain = found(capsys, *ORACLE, run=run)
    assert plain["judge"]["answers"] == plain["all"]["metrics"]["locomo_judge"]["n"] == 18
    assert "locomo_judge" not in plain["categories"]["adversarial"]["metrics"]


def test_a_recording_is_replayed_without_the_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, upstream: Upstream
) -> None:
    (tmp_path / "url.txt").write_text(upstream.url)
    remote = ("--judge", "python:judge.py:remote")
    assert main([*RUN, *remote, "--replay", "tapes"]) == 2
    assert ": no such recording; make it with --record, or leave out --replay if" in capsys.readouterr().err
    recorded = found(capsys, *remote, "--record", "tapes")
    served = upstream.count
    assert served == 8 + 6
    replayed = found(capsys, *remote, "--out", "replayed", "--replay", "tapes")
    assert upstream.count == served
    assert replayed["all"] == recorded["all"]
    assert (recorded["judge"]["cost"]["replayed"], replayed["judge"]["cost"]["replayed"]) == (0, 8)
    (folder,) = (tmp_path / "tapes").glob("_membench-longmemeval-*")
    assert len(list(folder.iterdir())) == 8
    # An answer that is not recorded has no verdict, and what is judged is not recorded again.
    another_answer(tmp_path, "right, ")
    assert main([*RUN, *remote, "--replay", "tapes"]) == 2
    captured = capsys.readouterr()
    assert "the same command with --record records it" in captured.out
    assert "recall: 1 answer without a verdict of the judge; the same command judges it again" in captured.err
    assert read_journal(Path("o")).trials[-1].ended_by == "miss"
    found(capsys, *remote, "--record", "tapes")
    assert upstream.count == served + 1 + 6


REFUSED = """

def nonsense(prompt):
    return "nonsense"


def reading(prompt):
    with open("read.txt", "a") as file:
        file.write("x")
    return "Paris"
"""


def test_a_judge_that_must_not_judge_is_told_before_anything_is_paid_and_the_journal_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "judge.py").write_text(JUDGE + REFUSED)
    run = (*RUN[:5], "--memory", "sqlite-fts", "--reader", "python:judge.py:reading", "--out", "o")
    assert main([*run, "--judge", "python:judge.py:nonsense"]) == 2
    told = capsys.readouterr().err.removeprefix("recall: ").removesuffix("\n")
    assert not Path("read.txt").exists()
    record = read_journal(Path("o"))
    assert (record.exit_code, record.trials) == (2, ())
    assert record.calls
    assert record.stop == RunStop("preflight", told)
    # Another reader is another run, and this one has asked nothing yet.
    assert main([*run[:-4], "--out", "o"]) == 0


def test_an_answer_without_a_verdict_says_what_ended_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "rubric.yaml").write_text("owner: us\njudge: {preflight: 'off'}\n")
    (tmp_path / "judge.py").write_text(JUDGE + REFUSED)
    found(capsys, "--judge", "python:judge.py:nonsense", code=1)
    record = read_journal(Path("o"))
    assert record.exit_code == 1
    assert {one.ended_by for one in record.trials if one.outcome is Outcome.ERROR} == {"exception"}


def test_a_question_that_is_not_judged_is_skipped() -> None:
    assert main([*RUN[:5], "--memory", "sqlite-fts", "--out", "o"]) == 0
    skipped = {one.ended_by for one in read_journal(Path("o")).trials if one.outcome is Outcome.SKIPPED}
    assert skipped == {"skip"}
