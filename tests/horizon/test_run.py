"""Runs: told day by day, asked at checkpoints, stopped anywhere and gone on with."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.memory.built_in import BUILT_IN
from pytest_recall.memory.resolve import resolve
from pytest_recall.models.waiting import Break
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.run_stop import RunStop
from tests.helpers import programs
from tests.helpers.grader import Grader
from tests.helpers.persona import amount, write_project
from tests.memory.services import Service, serving
from tests.models.endpoint import endpoint, failure

RUN = ("bench", "run", "--profile", "clerk.profile.yaml", "--no-heatmap-png", "--out", "out")
ASKED = 40
MINE = "python:mine.py:{}".format


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def made(folder: Path, memory: str, *more: str, **models: str) -> Path:
    """Make a run whole, for tests that take a copy of it and go on from there."""
    with contextlib.chdir(folder):
        write_project(folder, memory, models=models)
        assert main([*RUN, *more]) == 0
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of the default memory."""
    return made(tmp_path_factory.mktemp("finished"), "sqlite-fts")


@pytest.fixture(scope="module")
def appealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run in which a judge fails all, and another one is asked."""
    models = {"judge": MINE("judge"), "appellateJudge": MINE("appellate")}
    return made(tmp_path_factory.mktemp("appealed"), "null", "--ranges", "3", "6", **models)


def ran(*more: str, code: int = 0) -> dict[str, Any]:
    assert main([*RUN, *more]) == code
    found: dict[str, Any] = json.loads(Path("out/result.json").read_text())
    return found


def lines(name: str = "questions.jsonl", folder: str = "out") -> list[dict[str, Any]]:
    found = []
    for line in (Path(folder) / name).read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def timeless(value: Any) -> Any:
    """Return a result without times."""
    if isinstance(value, dict):
        times = {"timestamp", "durationMs", "latencyMs", "totalIngestionMs", "totalQueryMs"}
        return {name: timeless(inner) for name, inner in value.items() if name not in times}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def answered() -> int:
    """Return how many answers a run that another process makes has written down."""
    path = Path("out/questions.jsonl")
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for(count: int, process: subprocess.Popen[str]) -> None:
    """Wait until there are so many of these."""
    limit = time.monotonic() + 60
    while answered() < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.01)


def asked(word: str) -> list[str]:
    return [line for line in Path("asked.txt").read_text().splitlines() if line.split()[0] == word]


def test_a_run_writes_its_files_and_asks_at_each_checkpoint(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(finished)
    found = json.loads(Path("out/result.json").read_text())
    ranges = found["personas"][0]["rangeResults"]
    assert [(one["daysIngested"], one["questionsEvaluated"]) for one in ranges] == [(3, 4), (6, 8), (9, 12), (12, 16)]
    header, *checkpoints, summary = lines("progress.jsonl")
    assert (header["adapterName"], header["seed"], sorted(header["hashes"])) == (
        "sqlite-fts",
        42,
        ["code of the memory", "days", "questions", "story"],
    )
    assert [(one["newQuestionCount"], one["historicalEvaluated"], one["newDaysIngested"]) for one in checkpoints] == [
        (4, 0, 3),
        (4, 4, 3),
        (4, 8, 3),
        (4, 12, 3),
    ]
    assert summary["totalEvalsRun"] == ASKED == len(lines())
    assert lines("failures.jsonl") == []
    assert found["metadata"]["answeredBy"] == {"passages": ASKED}
    assert found["disclosureRates"]["leak"] == {"rate": 1.0, "count": 10, "n": 10, "unknown": 0}


def test_each_day_is_told_once_and_a_question_comes_up_in_its_session_and_time(tmp_path: Path) -> None:
    write_project(tmp_path, MINE("Memory"))
    ran("--ranges", "3", "6")
    told = asked("store")
    assert told[:4] == [
        "store day-0001/principal",
        "store day-0002/principal",
        "store day-0003/principal",
        "store day-0003/payroll",
    ]
    assert len(told) == len(set(told)) == 8
    first = asked("principal")[0]
    assert first.startswith("principal 2024-03-03 3d ")
    assert "principal 2024-03-06 6d" in asked("principal")[-1]
    assert "(heard at 1)" in lines()[0]["systemAnswer"]


def test_a_model_answers_from_what_was_found_and_keeps_what_must_be_kept(tmp_path: Path) -> None:
    write_project(tmp_path, models={"answer": MINE("reader")})
    found = ran("--ranges", "3", "6")
    assert found["metadata"]["answeredBy"] == {"model": 12}
    assert found["disclosureRates"]["leak"]["rate"] == 0
    assert {one["composite"] for one in lines()} == {6}
    assert found["metadata"]["usd"] is None, "what a function costs is unknown"


def test_a_judge_sees_excerpts_and_what_must_not_come_out(tmp_path: Path) -> None:
    models = {"judge": MINE("judge"), "appellateJudge": MINE("appellate"), "answer": MINE("reader")}
    write_project(tmp_path, models=models, run={"judgeMemoryWindow": 1})
    ran("--ranges", "3")
    told = asked("judge")
    assert len(told) == 4
    assert "ANSWER EXCERPT 1 OF 2 EXCERPT 2 OF 2 QUESTION REFERENCE" in told[0]
    (secret,) = [line for line in told if "of team" in line]
    assert "EXPECTED DISCLOSURE" in secret
    assert "FORBIDDEN" in secret
    assert all(one["memoryContextProvided"] for one in lines())


def test_what_the_first_judge_fails_is_appealed_and_both_are_kept(tmp_path: Path) -> None:
    models = {"judge": MINE("judge"), "appellateJudge": MINE("appellate")}
    write_project(tmp_path, "null", models=models, run={"groupsEnabled": False})
    found = ran("--ranges", "3")
    assert [(one["composite"], one["usedAppellate"], one["primaryScore"]["correctness"]) for one in lines()] == [
        (6, True, 0)
    ] * 3
    assert [one["appellateScore"]["correctness"] for one in lines("failures.jsonl")] == [3, 3, 3]
    assert found["metadata"]["appellateInvocations"] == 3
    assert found["personas"][0]["rangeResults"][0]["questionResults"][0]["primaryScore"]["hallucination"] == 0


def test_a_judge_that_cannot_be_asked_about_what_is_known_asks_nothing_and_the_journal_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(tmp_path, models={"judge": MINE("broken")})
    assert main(RUN) == 2
    told = "could not be asked about 2 of 2 known answers of the judge `memory`: no model is there"
    assert capsys.readouterr().err == f"recall: python:mine.py:broken {told}\n"
    record = read_journal(Path("out"))
    assert (record.exit_code, record.trials) == (2, ())
    assert record.stop == RunStop("preflight", f"python:mine.py:broken {told}")
    # It has asked nothing, so that another judge is no other run.
    assert main([*RUN, "--judge", MINE("judge")]) == 0


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "no such thing; check OPENAI_API_KEY"), (500, "no such thing; try again later, or")]
)
def test_a_judges_key_or_server_is_named_and_not_its_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, status: int, advice: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    # Who asks for so long a rest is not asked the same again, and by others after a minute.
    monkeypatch.setattr(Break, "begin", lambda self, seconds: None)
    with endpoint(failure(status, "no such thing", retry_after="1000")) as upstream:
        write_project(tmp_path, models={"judge": f"openai:scripted;{upstream.url}/v1"})
        assert main(RUN) == 2
    told = capsys.readouterr().err
    assert "could not be asked about 2 of 2 known answers of the judge `memory`: " in told
    assert f"answered {status}: {advice}" in told
    assert "misjudged" not in told
    assert "--skip-preflight" not in told


def test_a_question_without_points_is_no_score_and_is_asked_again(tmp_path: Path) -> None:
    write_project(tmp_path, MINE("Down"))
    (tmp_path / "down").symlink_to("amberwalnut")
    found = ran(code=2)
    assert found["metadata"]["thirdOutcomes"] == {"memory": 4}
    assert found["metadata"]["totalEvalsRun"] == ASKED - 4
    first = found["personas"][0]["rangeResults"][0]
    assert (first["questionsEvaluated"], first["thirdOutcomes"]) == (3, {"memory": 1})
    assert first["questionFailures"][0]["error"] == "memory answer: ConnectionError: down"
    (tmp_path / "down").unlink()
    assert ran()["metadata"]["thirdOutcomes"] == {}
    assert len(lines()) == ASKED + 4, "nothing else was asked again"
    again = [one for one in lines("progress.jsonl") if one["type"] == "checkpoint"]
    assert [one["questionsEvaluated"] for one in again] == [3, 7, 11, 15, 4, 8, 12, 16]


def test_after_five_in_a_row_it_stops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(tmp_path, MINE("Down"))
    (tmp_path / "down").symlink_to("all")
    assert main([*RUN, "--ranges", "3", "6"]) == 1
    assert capsys.readouterr().out == ""
    stop = read_journal(Path("out")).stop
    assert stop == RunStop("undecided", "memory answer: ConnectionError: down", in_a_row=5)
    assert [one["failure"] for one in lines()] == ["memory"] * 5
    (tmp_path / "down").unlink()
    assert ran("--ranges", "3", "6")["metadata"]["totalEvalsRun"] == 12


@pytest.mark.parametrize(("models", "failure"), [({"judge": "broken"}, "judge"), ({"answer": "broken"}, "answer")])
def test_a_model_that_cannot_be_asked_is_told_apart(tmp_path: Path, models: dict[str, str], failure: str) -> None:
    write_project(tmp_path, models={role: MINE(name) for role, name in models.items()})
    more = ("--skip-preflight",) if failure == "judge" else ()
    assert main([*RUN, *more]) == 1
    assert {(one["failure"], "score" in one) for one in lines()} == {(failure, False)}
    assert all("no model is there" in one["error"] for one in lines())


def test_a_memory_that_takes_too_long_is_no_answer(tmp_path: Path) -> None:
    slow = "import sys, time\ntime.sleep(60 if sys.argv[1] == 'recall' else 0)\n"
    (tmp_path / "slow.py").write_text(slow)
    write_project(tmp_path, f"command:{sys.executable} slow.py")
    assert main([*RUN, "--ranges", "1", "--timeout", "300ms", "--memory-reset"]) == 1
    (one,) = lines()
    assert (one["failure"], one["error"], "score" in one) == (
        "timeout",
        "memory timeout: no answer within 0.3 s",
        False,
    )


def test_another_configuration_is_refused(tmp_path: Path, finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    assert main([*RUN, "--seed", "7", "--k", "3"]) == 2
    assert "out: holds another run: `k` was 10 and is 3; `seed` was 42 and is 7; name" in capsys.readouterr().err
    (tmp_path / "clerk/memories-60d/day-0002.md").write_text("# session: principal\n\nOther.\n")
    assert main(RUN) == 2
    assert "out: holds another run: the days have changed;" in capsys.readouterr().err


def test_a_run_that_has_asked_nothing_is_none(tmp_path: Path, finished: Path) -> None:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    journal = tmp_path / "out/trials.jsonl"
    journal.write_text(journal.read_text().splitlines(keepends=True)[0])
    ran("--seed", "7", "--ranges", "3")
    assert [one["type"] for one in lines("progress.jsonl")].count("header") == 1


def test_several_questions_at_once_come_to_the_same(tmp_path: Path, finished: Path) -> None:
    one = json.loads((finished / "out" / "result.json").read_text())
    write_project(tmp_path)
    (tmp_path / "out").mkdir()
    four = ran("--concurrency", "4")
    assert timeless(four) == timeless(one)


EXPORTS = ("progress.jsonl", "questions.jsonl", "failures.jsonl", "result.json")


@pytest.mark.parametrize("gone", [("progress.jsonl",), ("questions.jsonl", "failures.jsonl"), EXPORTS])
def test_what_a_killed_run_had_no_time_to_write_is_written_from_its_journal(
    tmp_path: Path, appealed: Path, gone: tuple[str, ...]
) -> None:
    shutil.copytree(appealed, tmp_path, dirs_exist_ok=True)
    before = {name: (tmp_path / "out" / name).read_text() for name in EXPORTS}
    journal = tmp_path / "out/trials.jsonl"
    *rest, end = journal.read_text().splitlines(keepends=True)
    assert json.loads(end)["kind"] == "end"
    journal.write_text("".join(rest))
    for name in gone:
        (tmp_path / "out" / name).unlink()
    ran("--ranges", "3", "6")
    for name in EXPORTS[1:]:
        assert (tmp_path / "out" / name).read_text() == before[name]
    told = [line for line in (tmp_path / "out/progress.jsonl").read_text().splitlines() if '"resume"' not in line]
    assert told == before["progress.jsonl"].splitlines()


def test_the_journal_is_one_that_other_commands_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(tmp_path, models={"judge": MINE("judge"), "appellateJudge": MINE("appellate")})
    ran("--ranges", "3", "6")
    assert main([*RUN[:-1], "other", "--memory", "null", "--ranges", "3", "6"]) == 0
    capsys.readouterr()
    assert main(["score", "out"]) == 0
    assert "3 failed, 9 passed" in capsys.readouterr().out
    assert main(["compare", "out", "other", "--fail-on", "never"]) == 0
    assert "12 cases with a verdict in both" in capsys.readouterr().out
    assert main(["cassettes", "cost", "out", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["calls"] == 12 + 3, "those of the judge and of the appellate"
    record = read_journal(tmp_path / "out")
    assert [one.label for one in record.told] == ["3d", "6d"]
    assert record.trials[0].case_id.startswith("3d/")
    assert record.trials[0].measures == {"correctness": 3.0, "completeness": 2.0, "hallucination": 1.0}


def test_killed_anywhere_and_gone_on_with_it_comes_to_the_same(tmp_path: Path) -> None:
    write_project(tmp_path, MINE("Slow"))
    draw = random.Random(3)
    for parallelism in ("1", "3", "3"):
        wanted = answered() + draw.randrange(1, 7)
        process = programs.begin(tmp_path, *RUN, "--concurrency", parallelism)
        wait_for(wanted, process)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert answered() < ASKED
    found = ran("--concurrency", "3")
    keys = [(one["checkpoint"], one["qa"]["id"]) for one in lines()]
    assert len(keys) == len(set(keys)) == ASKED, "nothing was asked twice, and nothing was left out"
    assert main([*RUN[:-1], "whole"]) == 0
    assert timeless(found) == timeless(json.loads(Path("whole/result.json").read_text()))


def test_a_killed_run_may_empty_the_memory_that_it_has_filled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(tmp_path, "sqlite-fts:mine.db")
    (tmp_path / "out").mkdir()
    ran("--ranges", "3")
    assert not (tmp_path / "out/.memory-filled").exists()
    assert main([*RUN[:-1], "a", "--ranges", "3"]) == 0
    # As a kill leaves it: units in the memory, and a question that was not answered.
    memory = resolve("sqlite-fts:mine.db", BUILT_IN)
    memory.store("left over", {"id": "1"})
    memory.close()
    rows = (tmp_path / "out/trials.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "out/trials.jsonl").write_text("".join(rows[:-2]))
    assert main([*RUN, "--ranges", "3"]) == 2
    assert "holds 1 units that are not this run's" in capsys.readouterr().err
    (tmp_path / "out/.memory-filled").touch()
    ran("--ranges", "3")


class Holding(Service):
    """A service that leaves a question without an answer, so that a run can be killed while it asks."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: int | None = None
        """So many questions are answered yet; None of all."""
        self.held, self.released = Event(), Event()

    def reply(self, method: str, path: str, given: Any) -> tuple[int, bytes]:
        if path == "/recall" and self.answers is not None:
            if not self.answers:
                self.held.set()
                self.released.wait(60)
            else:
                self.answers -= 1
        return super().reply(method, path, given)


def test_a_run_that_is_killed_continues_with_what_a_service_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service = Holding()
    run = (*RUN, "--ranges", "3", "6", "9")
    with serving(service):
        write_project(tmp_path, service.url)

        def killed_after(answers: int) -> None:
            service.answers, service.held, service.released = answers, Event(), Event()
            process = programs.begin(tmp_path, *run, "--memory-reset")
            assert service.held.wait(60)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            service.answers = None
            service.released.set()
            assert answered() == answers

        killed_after(6)
        told = Path("out/.memory-filled")
        assert told.read_text().splitlines()[-1] == "told 6"
        before = len(service.asked)
        (lost,) = [service.kept.pop()]
        assert main([*run, "--skip-catchup-ingest"]) == 2
        assert capsys.readouterr().err.endswith(
            "recall: out: --skip-catchup-ingest: the run has told it 8 units, and it says that it holds 7; remove the"
            " option, and all days are told again\n"
        )
        service.kept.append(lost)
        found = ran(*run[len(RUN) :], "--skip-catchup-ingest")
        after = [path for path, _ in service.asked[before:]]
        assert after.count("POST /store") == 4, "those of the days 7 to 9"
        assert after.count("POST /reset") == 1, "the one at the end"
        assert not told.exists()
        assert main([*run, "--out", "whole"]) == 0
        assert timeless(found) == timeless(json.loads(Path("whole/result.json").read_text()))

        # Killed before its first answer: what it was told is there all the same.
        shutil.rmtree("out")
        killed_after(6)
        for name in ("trials.jsonl", "texts.jsonl", "questions.jsonl", "progress.jsonl", "failures.jsonl"):
            Path("out", name).unlink()
        before = len(service.asked)
        ran(*run[len(RUN) :], "--skip-catchup-ingest")
        assert [path for path, _ in service.asked[before:]].count("POST /store") == 4

        shutil.rmtree("out")
        killed_after(1)
        with told.open("a") as file:
            file.write("telling 4\n")
        assert main([*run, "--skip-catchup-ingest"]) == 2
        assert "out: --skip-catchup-ingest: the run stopped within a day; remove the option" in capsys.readouterr().err
        assert ran(*run[len(RUN) :])["metadata"]["totalEvalsRun"] == 24
        assert main([*run, "--skip-catchup-ingest"]) == 0, "nothing is left to be asked"


@pytest.fixture
def served() -> Iterator[Grader]:
    grader = Grader()
    yield grader
    grader.close()


def test_a_model_judges_over_http(tmp_path: Path, served: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    write_project(tmp_path, models={"judge": served.selector}, run={"judgeMemoryWindow": 2})
    found = ran("--ranges", "3", "--skip-preflight")
    assert len(served.bodies) == 4
    assert found["personas"][0]["rangeResults"][0]["overallScore"] == 6
    assert str(amount(1)) in json.dumps(served.bodies), "the judge saw the days"


def test_a_judge_that_takes_too_long_has_no_verdict(
    tmp_path: Path, served: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    served.waits = 0.5
    write_project(tmp_path, models={"judge": served.selector, "timeout": 200})
    command = (*RUN, "--ranges", "1", "--skip-preflight")
    assert main(command) == 1
    (one,) = lines()
    assert (one["failure"], "score" in one) == ("judge", False)
    assert "did not answer within 0.2 s" in one["error"]
    assert main([*command, "--model-timeout", "20"]) == 0, "the option comes before the profile"
    assert main([*RUN[:-1], "other", "--judge", "lexical", "--model-timeout", "0.2"]) == 2


PUBLISHED = os.environ.get("RECALL_BENCH_180D")


@pytest.mark.skipif(not PUBLISHED, reason="RECALL_BENCH_180D names no folder with the published 180-day persona")
def test_the_published_persona_and_profile_run(tmp_path: Path) -> None:
    folder = Path(str(PUBLISHED))
    published = folder / "profiles/ea-180d-openclaw.yaml"
    given = ("--data", str(folder / "persona"), "--memory", "sqlite-fts", "--judge", "lexical", "--ranges", "18d,180d")
    assert main(["bench", "run", "--profile", str(published), *given, "--out", "out"]) == 0
    found = json.loads(Path("out/result.json").read_text())
    assert [one["daysIngested"] for one in found["personas"][0]["rangeResults"]] == [18, 180]
    assert found["metadata"]["uniqueQAPairCount"] == 316
