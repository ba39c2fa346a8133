"""Calls of a run's models: within a budget, recorded, and replayed without a socket."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.judges import judge_call
from pytest_recall.trials.journal import read_journal
from tests.helpers.grader import Grader
from tests.helpers.persona import write_project

RUN = ("bench", "run", "--profile", "clerk.profile.yaml", "--no-heatmap-png", "--skip-preflight")
REPLAY = ("bench", "run", "--profile", "clerk.profile.yaml", "--no-heatmap-png", "--replay")
EARLY = ("--ranges", "3d", "6d", "9d")
"""Checkpoints with 4, 8 and 12 questions."""
CENT = 0.01
"""What a call costs."""
TOKENS = 5
"""What a reply of the grader has."""
PRICES = {"grader": {"input": 1000, "output": 0}}


@pytest.fixture(name="served")
def _served() -> Iterator[Grader]:
    grader = Grader()
    yield grader
    grader.close()


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: Grader) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    write_project(tmp_path, models={"judge": served.selector})
    rubric(PRICES)


def rubric(prices: Any) -> None:
    Path("eval").mkdir(exist_ok=True)
    Path("eval/rubric.yaml").write_text(json.dumps({"owner": "us", "prices": prices}))


def result(folder: str = "out") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(folder) / "result.json").read_text())
    return found


def lines(folder: str = "out", name: str = "questions.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(folder) / name).read_text().splitlines()]


def scores(folder: str) -> list[Any]:
    ranges = result(folder)["personas"][0]["rangeResults"]
    return [(one["range"], one["overallScore"], one["questionsEvaluated"]) for one in ranges]


def written() -> float:
    """Let what is written alone cost, a cent a reply; return what a call of a judge reserves."""
    usd = CENT / TOKENS
    prices = {"input": 0, "output": usd * 1e6}
    rubric({"grader": prices, "reader": prices})
    return judge_call.MAX_TOKENS * usd


class TestBudget:
    """No call begins once the money is spent, and what is left is asked later."""

    @pytest.mark.parametrize("parallelism", ["1", "4"])
    def test_what_cannot_be_paid_for_is_not_asked_and_asked_with_a_new_budget(
        self,
        served: Grader,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        parallelism: str,
    ) -> None:
        # A call reserves the cent that it costs, so that it is known how many there are room for.
        monkeypatch.setattr(judge_call, "MAX_TOKENS", TOKENS)
        written()
        run = (*RUN, *EARLY, "--concurrency", parallelism)
        assert main([*run, "--out", "out", "--budget", "0.075"]) == 2
        assert (len(served.bodies), len(lines())) == (7, 7)
        found = result()["metadata"]
        assert (found["unasked"], found["stop"]) == (17, {"cause": "budget", "kind": "no-room", "usd": 0.075})
        assert [one["type"] for one in lines(name="progress.jsonl")] == ["header", "checkpoint"]
        capsys.readouterr()
        assert main(["bench", "report", "out"]) == 0
        told = capsys.readouterr().out
        assert "partial: 1 of 3 checkpoints were reached, 20 of 24 questions are to be asked yet, 1 min at the" in told
        assert "pace so far, $0.04 was spent on what is known, since the budget of $0.075 has no room for" in told
        assert main([*run, "--resume", "out", "--budget", "9"]) == 0
        assert (len(served.bodies), len(lines())) == (24, 24)
        assert "unasked" not in result()["metadata"]
        assert "stop" not in result()["metadata"]
        assert result()["metadata"]["usd"] == 0.24
        every = [({"label": f"{days}d", "days": days}, 6, count) for days, count in ((3, 4), (6, 8), (9, 12))]
        assert scores("out") == every
        if parallelism == "1":
            assert main([*run, "--out", "whole"]) == 0
            assert scores("whole") == every

    def test_an_answer_that_cannot_be_judged_is_not_written_down(self, served: Grader) -> None:
        write = Path("clerk.profile.yaml").read_text()
        models = {"judge": served.selector, "answer": served.selector.replace("#grader", "#reader")}
        profile = {**json.loads(write), "models": models}
        Path("clerk.profile.yaml").write_text(json.dumps(profile))
        # There is room for the fifth call, of the reader, and none for the sixth.
        assert main([*RUN, "--out", "out", "--budget", f"{written() + 4 * CENT}"]) == 2
        assert [one["model"] for one in served.bodies] == ["reader", "grader", "reader", "grader", "reader"]
        assert len(lines()) == 2
        assert result()["metadata"]["unasked"] == 38
        assert result()["personas"] == []

    def test_a_budget_that_goes_on_known_answers_asks_nothing(self, served: Grader) -> None:
        run = [one for one in RUN if one != "--skip-preflight"]
        assert main([*run, "--out", "out", "--budget", f"{written()}"]) == 2
        assert len(served.bodies) == 1
        assert (lines(), result()["metadata"]["unasked"]) == ([], 40)

    def test_a_price_that_nobody_knows_is_told_before_the_first_call(
        self, served: Grader, capsys: pytest.CaptureFixture[str]
    ) -> None:
        rubric({})
        sold = served.selector.replace("#grader", "#deepseek-r1")
        assert main([*RUN, "--judge", sold, "--budget", "1"]) == 2
        assert capsys.readouterr().err == (
            f"recall: judge `{sold}`: its price is unknown, so that no budget can be kept; add"
            " `prices: {deepseek-r1: {input: USD, output: USD}}` to eval/rubric.yaml, in US dollars per million tokens,"
            " or leave out --budget\n"
        )
        assert served.bodies == []

    def test_a_dry_run_has_the_prices_of_the_rubric(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([*RUN[:-1], "--dry-run", "--json"]) == 0
        (one,) = json.loads(capsys.readouterr().out)["models"]
        assert one["usd"] == one["inputTokens"] / 1000
        rubric({})
        assert main([*RUN[:-1], "--dry-run", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["models"][0]["usd"] == 0

    def test_of_ones_own_model_it_is_told_and_no_more(self, capsys: pytest.CaptureFixture[str]) -> None:
        own = ("--judge", "python:mine.py:judge", "--budget", "1", "--out", "own")
        assert main([*RUN, *own, "--ranges", "3d"]) == 0
        told = "judge `python:mine.py:judge`: its price is not known before its calls; if these do not"
        assert told in capsys.readouterr().err


class TestRecordings:
    """Each question has a recording of its own, which takes the place of the models."""

    def test_a_recording_is_replayed_without_the_models(
        self, served: Grader, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert main([*RUN, *EARLY[:3], "--out", "live", "--record"]) == 0
        (folder,) = (tmp_path / "eval/cassettes").glob("_bench-clerk-*")
        assert len(list(folder.iterdir())) == len(served.bodies) == 12
        served.close()
        monkeypatch.delenv("OPENAI_API_KEY")
        replay = (*REPLAY[:-1], *EARLY[:3], "--replay")
        assert main([*replay, "--out", "replayed", "--concurrency", "3"]) == 0
        assert scores("replayed") == scores("live")
        found = result("replayed")["metadata"]
        assert (found["replayed"], found["usd"]) == (True, 0)
        assert "replayed" not in result("live")["metadata"]
        assert lines("replayed", "progress.jsonl")[0]["replayed"] is True
        capsys.readouterr()
        assert main(["bench", "report", "replayed"]) == 0
        assert "models: not asked: their replies are from recordings" in capsys.readouterr().out
        assert main([*replay, "--out", "live"]) == 2

    def test_what_is_not_recorded_is_no_score_and_says_so(
        self, tmp_path: Path, served: Grader, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main([*RUN, "--out", "live", "--record", "tapes", "--ranges", "6d"]) == 0
        gone = sorted(tmp_path.glob("tapes/_bench-*/*.ndjson"))[:6]
        for path in gone:
            path.unlink()
        made = len(served.bodies)
        assert main([*REPLAY, "tapes", "--out", "replayed", "--ranges", "6d"]) == 2
        lost = [one for one in lines("replayed") if "failure" in one]
        assert [(one["failure"], "score" in one) for one in lost] == [("judge", False)] * 6
        assert all("is not recorded; the same command with --record records it" in one["error"] for one in lost)
        ended = [one.ended_by for one in read_journal(Path("replayed")).trials]
        assert (ended.count("miss"), ended.count("")) == (6, len(ended) - 6)
        assert len(served.bodies) == made
        missing = ("--record=missing:tapes", "--out", "again", "--ranges", "6d")
        assert main([*RUN, *missing]) == 0
        assert len(served.bodies) == made + 6
        shutil.rmtree("replayed")
        assert main([*REPLAY, "tapes", "--out", "replayed", "--ranges", "6d"]) == 0

    def test_a_memory_is_told_and_asked_as_always(self, tmp_path: Path) -> None:
        profile = json.loads(Path("clerk.profile.yaml").read_text())
        profile["harness"] = {"adapter": "python:mine.py:Memory"}
        Path("clerk.profile.yaml").write_text(json.dumps(profile))
        assert main([*RUN, "--out", "live", "--record", "--ranges", "3d"]) == 0
        asked = (tmp_path / "asked.txt").read_text()
        assert main([*REPLAY, "--out", "replayed", "--ranges", "3d"]) == 0
        assert (tmp_path / "asked.txt").read_text() == 2 * asked

    def test_a_stopped_recording_goes_on(self, served: Grader, capsys: pytest.CaptureFixture[str]) -> None:
        run = (*RUN, *EARLY[:3], "--out", "live")
        assert main([*run, "--record", "--budget", f"{written() + 4 * CENT}"]) == 2
        assert len(served.bodies) == 5
        assert main([*run, "--record"]) == 0
        assert main([*REPLAY[:-1], *EARLY[:3], "--out", "replayed", "--replay"]) == 0
        assert len(served.bodies) == 12
        assert main([*run, "--record", "other"]) == 0
        assert "live: 12 of the answers are not recorded; --fresh asks and records all" in capsys.readouterr().err
