"""`recall memory run --repeat`: a memory that is another one each time it is told the same."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.trials.journal import read_journal
from tests.cli.test_membench_reader import to_the_limit
from tests.datasets.files import write_few
from tests.helpers import programs
from tests.helpers.priced import priced_folder
from tests.helpers.screens import assert_screen
from tests.models.endpoint import Answer, Asked, Endpoint, chat

SCREENS = Path(__file__).parent / "screens"

RUN = ("memory", "run", "few.json")
FORGETFUL = """
import os, random, signal
from pathlib import Path

TOLD, ASKED = Path("told"), Path("asked")


def count(path):
    # It reads nothing that it writes: what it is made of stays the same.
    with path.open("a") as file:
        file.write("x")
    return path.stat().st_size


class Memory:
    private = True

    def reset(self):
        self.kept, self.luck = [], random.Random(count(TOLD))

    def store(self, content, metadata):
        if self.luck.random() < 0.6:
            self.kept.append(content)

    def recall(self, query, limit, context):
        if ": " in query:  # A turn that is asked back.
            return self.kept[:limit]
        if count(ASKED) == 10 and Path("deadly").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        words = set(query.lower().split())
        return sorted(self.kept, key=lambda one: -len(words & set(one.lower().split())))[:limit]
"""
MEMORY = ("--memory", "python:forgetful.py:Memory")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "forgetful.py").write_text(FORGETFUL)
    write_few(tmp_path)


def found(capsys: pytest.CaptureFixture[str], *more: str, code: int = 0) -> dict[str, Any]:
    assert main([*RUN, *more, "--json"]) == code
    plain: dict[str, Any] = json.loads(capsys.readouterr().out)
    return plain


def answered(folder: str) -> list[str]:
    return [trial.case_id for trial in read_journal(Path(folder)).trials]


def test_each_ingest_has_a_journal_and_the_table_has_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, *MEMORY, "--repeat", "3", "--out", "o"]) == 0
    captured = capsys.readouterr()
    lines = [" ".join(line.split()) for line in captured.out.splitlines()]
    assert lines[0].endswith("7 questions, 10 passages each, stored by the turn, 3 ingests")
    assert any(line.startswith("mean of 3 ingests (95 % interval over 2 groups of") for line in lines)
    place = lines.index("ingest n failed evidence all of it 1 / rank contains")
    assert [line.split()[:3] for line in lines[place + 1 : place + 4]] == [[n, "7", "0"] for n in "123"]
    assert lines[place + 4].startswith("SD 0.")
    assert captured.err.splitlines() == [
        "recall: ingest 1 of 3: o",
        "recall: ingest 2 of 3: o/repeat-2",
        "recall: ingest 3 of 3: o/repeat-3",
    ]
    whole = found(capsys, *MEMORY, "--repeat", "3", "--out", "o")
    folders = ("o", "o/repeat-2", "o/repeat-3")
    alone = [found(capsys, *MEMORY, "--out", folder)["all"] for folder in folders]
    for name, mean in whole["all"]["metrics"].items():
        each = [one["metrics"][name]["value"] for one in alone]
        assert mean["ingests"] == pytest.approx(each)
        assert mean["value"] == pytest.approx(fmean(each))
        assert mean["n"] == alone[0]["metrics"][name]["n"]
    assert len({json.dumps(one["metrics"]) for one in alone}) == 3
    assert (whole["repeat"], whole["complete"]) == (3, True)
    assert [one["folder"] for one in whole["repeats"]] == list(folders)
    assert whole["categories"]["temporal"]["metrics"]["contains_at_k"]["deviation"] is not None


def test_more_ingests_are_added_and_fewer_are_the_first_ones(capsys: pytest.CaptureFixture[str]) -> None:
    first = found(capsys, *MEMORY, "--out", "o")
    assert "ingests" not in first["all"]["metrics"]["contains_at_k"]
    two = found(capsys, *MEMORY, "--out", "o", "--repeat", "2")
    three = found(capsys, *MEMORY, "--out", "o", "--repeat", "3")
    assert three["repeats"][:2] == two["repeats"]
    assert len(Path("asked").read_text()) == 21
    assert main([*RUN, *MEMORY, "--out", "o", "--json", "--repeat", "2"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["all"] == two["all"]
    assert captured.err.splitlines()[-1] == (
        "recall: o: has 3 ingests, and the figures are of the first 2; --repeat 3 takes all of them"
    )
    assert found(capsys, *MEMORY, "--out", "o")["all"] == first["all"]
    assert main(["memory", "rescore", "o"]) == 0
    assert "recall: o: is the first of 3 ingests; o/repeat-2 names the second\n" in capsys.readouterr().err


def test_a_run_that_is_killed_in_the_second_ingest_resumes_there(tmp_path: Path) -> None:
    command = programs.recall(*RUN, *MEMORY, "--repeat", "3", "--out", "o")
    (tmp_path / "deadly").touch()
    killed = subprocess.run(command, capture_output=True, text=True)
    assert (killed.returncode, killed.stdout) == (-9, "")
    assert (len(answered("o")), len(answered("o/repeat-2"))) == (7, 2)
    (tmp_path / "deadly").unlink()
    resumed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert_screen(SCREENS / "memory-run-repeat-resumed.txt", resumed.stderr)
    assert [len(answered(one)) for one in ("o", "o/repeat-2", "o/repeat-3")] == [7, 7, 7]
    assert len(set(answered("o/repeat-2"))) == 7
    # 9 answers and the one that was never given, and then what was left.
    assert len((tmp_path / "asked").read_text()) == 22


def test_a_memory_that_has_changed_is_told_again_as_often(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = (*MEMORY, "--repeat", "2", "--out", "o")
    before = found(capsys, *command)
    found(capsys, *command, "--fresh")
    assert found(capsys, *MEMORY, "--repeat", "2", "--out", "o/earlier-1")["all"] == before["all"]
    assert main(["compare", "o/earlier-1", "o", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (plain["base"]["ingests"], plain["head"]["ingests"]) == (2, 2)
    assert plain["metrics"]["contains_at_k"]["base"] == before["all"]["metrics"]["contains_at_k"]["value"]
    assert plain["metrics"]["contains_at_k"]["test"] == "sign flips of clusters"
    assert main(["view", "o/earlier-1", "o", "--once"]) == 0
    table = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "mean of 2 ingests (95 % interval over 2 groups" in "\n".join(table)
    mean = before["all"]["metrics"]["evidence_recall_at_k"]["value"]
    assert any(row.startswith(f"python:forgetful.py:Memory (o/earlier-1), 2 ingests 7 0 {mean:.2f} (") for row in table)
    path = tmp_path / "o" / "repeat-2" / "trials.jsonl"
    path.write_text(path.read_text().replace('"k":10,', '"k":9,'))
    assert main(["compare", "o/earlier-1", "o"]) == 2
    assert "recall: o/repeat-2: is of another memory or of other questions" in capsys.readouterr().err


def test_ingests_that_do_not_differ_have_the_intervals_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    once = found(capsys)["all"]["metrics"]
    assert main([*RUN, "--repeat", "2", "--out", "o"]) == 0
    assert capsys.readouterr().out.endswith(": this memory stores equal texts in the same way\n")
    twice = found(capsys, "--repeat", "2", "--out", "o")["all"]["metrics"]
    for name, mean in once.items():
        assert {key: twice[name][key] for key in mean} == mean
        assert twice[name]["deviation"] == 0


def test_questions_that_break_stop_before_the_next_ingest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken = FORGETFUL.replace('if ": " in query:', 'assert not Path("down").exists(), "down"\n        if 0:')
    (tmp_path / "forgetful.py").write_text(broken)
    (tmp_path / "down").touch()
    assert main([*RUN, *MEMORY, "--repeat", "3", "--out", "o"]) == 1
    assert len(answered("o")) == 5
    assert not (tmp_path / "o" / "repeat-2").exists()
    assert main([*RUN, *MEMORY, "--repeat", "2", "--out", "o", "--keep-failed"]) == 1
    assert [len(answered(one)) for one in ("o", "o/repeat-2")] == [7, 7]


def first_passage(asked: Asked) -> Answer:
    """Answer with the first passage."""
    answer = chat(asked.body["messages"][-1]["content"].partition("\n\n")[0].partition("\n")[2])
    return answer._replace(body={**answer.body, "model": "reader"})


@pytest.fixture(name="served")
def _served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Endpoint]:
    priced_folder(tmp_path, monkeypatch, {"reader": 1000}, FORGETFUL)
    endpoint = Endpoint(first_passage)
    yield endpoint
    endpoint.close()


def test_each_ingest_is_recorded_apart_and_replayed_from_its_own(
    served: Endpoint, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = (*RUN, *MEMORY, "--reader", f"{served.url}/v1#reader", "--repeat", "2", "--json")
    assert main([*command, "--out", "live", "--record", "tapes"]) == 0
    live = json.loads(capsys.readouterr().out)
    names = [path.name for path in (tmp_path / "tapes").glob("_membench-locomo-*/*")]
    assert (len(names), sum(name.endswith("~2.ndjson") for name in names)) == (14, 7)
    assert [one["cost"]["spent"]["usd"] for one in live["repeats"]] == pytest.approx([0.07, 0.07])
    assert main(["cassettes", "cost", "live", "--json"]) == 0
    cost = json.loads(capsys.readouterr().out)
    assert (cost["scenarios"]["repeat-2"]["calls"], cost["total"]["calls"]) == (7, 14)
    asked = len(served.asked)
    (tmp_path / "told").unlink()
    assert main([*command, "--out", "replayed", "--replay", "tapes"]) == 0
    assert json.loads(capsys.readouterr().out)["all"] == live["all"]
    # Stores that are others than those of the recording find other passages, whose answers are not recorded.
    assert main([*command, "--out", "other", "--replay", "tapes"]) == 2
    assert len(served.asked) == asked


def test_a_budget_is_one_for_all_ingests(served: Endpoint, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    to_the_limit(served, first_passage)
    models = ("--reader", f"{served.url}/v1#reader")
    command = (*RUN, *MEMORY, *models, "--out", "o", "--repeat", "3")
    assert main([*command, "--budget", "0.09"]) == 2
    assert_screen(SCREENS / "memory-run-repeat-budget.txt", capsys.readouterr().err)
    assert len(served.asked) == 9
    assert [len(answered(one)) for one in ("o", "o/repeat-2")] == [7, 2]
    assert not (tmp_path / "o" / "repeat-3").exists()
    assert main(command) == 0
    assert len(served.asked) == 21
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[-4:] == ["spent $0.21", *(f"ingest {n}: spent $0.07" for n in (1, 2, 3))]
