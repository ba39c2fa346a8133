"""`recall memory run`: a dataset asked without pytest, gone on with where it was stopped."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.trials.journal import read_header, read_journal
from tests.cli.conftest import Recall
from tests.datasets.files import write_few
from tests.helpers.screens import assert_screen, shown
from tests.memory.services import Service, serving
from tests.plugin.test_memory import CLIENT

ROOT = Path(__file__).parents[2]
SCREENS = Path(__file__).parent / "screens"
RUN = ("memory", "run", "--dataset", "locomo", "sample")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def found(capsys: pytest.CaptureFixture[str], *more: str, code: int = 0) -> dict[str, Any]:
    assert main([*RUN, *more, "--json"]) == code
    plain: dict[str, Any] = json.loads(capsys.readouterr().out)
    return plain


@pytest.fixture(scope="module", name="_run")
def _a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with chdir(tmp_path_factory.mktemp("run")):
        assert main([*RUN, "--out", "o"]) == 0
        return Path("o").absolute()


@pytest.fixture
def finished(_run: Path, tmp_path: Path) -> None:
    """A finished run in the folder `o`, which the same command only prints."""
    shutil.copytree(_run, tmp_path / "o")


def trials(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    return [line for line in lines if line["kind"] == "trial"]


def untimed(screen: str, folder: Path) -> str:
    """Return a screen without what is another each time: times, and the width of columns, which depends on them."""
    text = re.sub(r" {2,}", "  ", re.sub(r"\d+(\.\d+)? ?(ms|s)\b", "… s", screen))
    text = re.sub(r"-[0-9a-f]{6,}\b", "-…", text.replace(read_header(Path("o")).date, "DATE"))
    return re.sub(r"-{3,}", "---", text.replace(str(folder), "FOLDER"))


@pytest.mark.usefixtures("finished")
def test_what_it_says(inside: Recall, tmp_path: Path) -> None:
    run = "memory run --dataset locomo sample"
    commands = (
        f"{run} --out o",
        f"{run} --out o --published",
        f"{run} --out several --memory sqlite-fts,null,full",
        f"{run} --out two --k 2",
        "memory misses two --limit 1",
        "memory rescore o",
        "memory run --dataset longmemeval sample --memory sqlite-fts,null",
    )
    assert_screen(SCREENS / "memory-run.txt", untimed(shown(partial(inside, tmp_path), *commands), tmp_path))


def test_floors_are_measured_in_as_many_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    plain = found(capsys, "--memory", "sqlite-fts,null,full")
    first, null, full = (one["all"] for one in plain["memories"])
    assert first["floors"]["last"]["tokens_read"] == first["metrics"]["tokens_read"]["value"]
    assert null["floors"]["oracle"]["evidence_recall_at_k"] == 0
    assert "floors" not in full


def test_the_context_as_a_whole_has_no_first_k(capsys: pytest.CaptureFixture[str]) -> None:
    plain = found(capsys, "--memory", "full", "--k", "1")
    assert plain["all"]["metrics"]["evidence_all_at_k"]["value"] == 1
    assert "evidence_precision_at_k" not in plain["all"]["metrics"]
    assert found(capsys, "--memory", "null")["all"]["metrics"]["evidence_all_at_k"]["value"] == 0


def test_all_questions_are_written_down_and_a_finished_run_is_only_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = found(capsys)
    (folder,) = (tmp_path / "eval" / "_artifacts" / "membench").iterdir()
    lines = trials(folder)
    told = [one["case_id"] for one in lines if "memory_store_seconds" in one["answer"]["usage"]]
    assert told == ["conv-1:q1", "conv-2:q1"]
    assert all(one["measures"] for one in lines if one["outcome"] != "skipped")
    assert first["kept"] == {"questions": 0, "from": []}
    assert found(capsys) == {**first, "kept": {"questions": 22, "from": [read_header(folder).date]}}


def test_a_changed_file_is_another_dataset(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_few(tmp_path)
    file = tmp_path / "few.json"
    assert main(["memory", "run", "few.json", "--out", "o"]) == 0
    file.write_text(file.read_text().replace("Heron", "Egret"))
    assert main(["memory", "run", "few.json", "--out", "o"]) == 2
    assert "`sha256` was" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        '{"kind": "trial", "case_id": 3}',
        '{"kind": "trial", "case_id": "x", "outcome": "passed", "measures": {"contains_at_k": 7}}',
    ],
)
@pytest.mark.usefixtures("finished")
def test_a_damaged_journal_names_its_line(capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str) -> None:
    with (tmp_path / "o" / "trials.jsonl").open("a") as file:
        file.write(f"{line}\n")
    assert main([*RUN, "--out", "o"]) == 2
    assert "o/trials.jsonl:47: not a journal line" in capsys.readouterr().err


def test_a_sample_is_drawn_by_category(capsys: pytest.CaptureFixture[str]) -> None:
    plain = found(capsys, "--sample", "11", "--seed", "x")
    assert {name: group["n"] for name, group in plain["categories"].items()} == {
        "adversarial": 2,
        "multi-hop": 2,
        "open-domain": 1,
        "single-hop": 4,
        "temporal": 2,
    }
    assert found(capsys, "--categories", "temporal")["questions"] == 5
    by_title = found(capsys, "--categories", "2 temporal")
    assert (by_title["questions"], by_title["categories"].keys()) == (5, {"temporal"})
    assert main([*RUN, "--categories", "4 multi-hop"]) == 2
    assert "categories: '4 multi-hop' is not in the dataset; did you mean `multi-hop`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("floor", "code"),
    [("evidence_recall_at_k=0.5", 0), ("evidence_recall_at_k=0.99", 1), ("answer_contains=0.1", 1)],
)
@pytest.mark.usefixtures("finished")
def test_a_floor_decides_on_the_exit_code(floor: str, code: int) -> None:
    assert main([*RUN, "--out", "o", "--fail-under", floor]) == code


def test_failures_are_apart_and_reach_no_floor(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken = CLIENT.replace('note(f"recall {query}")', "assert len(query) % 3, 'down'")
    (tmp_path / "client.py").write_text(broken)
    more = ("--memory", "python:client.py:Private", "--fail-under", "contains_at_k=0")
    assert main([*RUN, *more]) == 1
    captured = capsys.readouterr()
    failed = [one for one in captured.out.splitlines() if "memory recall: AssertionError: down" in one]
    assert failed
    assert "questions failed, and are in no mean" in captured.err


BROKEN = CLIENT.replace(
    'note(f"recall {query}")', "assert not (LOG.with_name('down').exists() and len(query) % 7 == 0)"
)


def test_questions_that_failed_are_asked_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(BROKEN)
    command = (*RUN, "--memory", "python:client.py:Private", "--out", "o", "--json")
    (tmp_path / "down").touch()
    assert main(command) == 2
    captured = capsys.readouterr()
    failures = json.loads(captured.out)["all"]["failures"]
    assert failures > 1
    # A question that fails again stays a failure.
    assert main(command) == 2
    assert json.loads(capsys.readouterr().out)["all"] == json.loads(captured.out)["all"]

    assert main([*command, "--keep-failed"]) == 0
    captured = capsys.readouterr()
    assert len(trials(tmp_path / "o")) == 22 + failures, "of two runs"
    assert json.loads(captured.out)["all"]["failures"] == failures

    (tmp_path / "down").unlink()
    before = trials(tmp_path / "o")
    assert main(command) == 0
    captured = capsys.readouterr()
    again = trials(tmp_path / "o")[len(before) :]
    assert {one["case_id"] for one in again} == {one["case_id"] for one in before if one["outcome"] == "error"}
    plain = json.loads(captured.out)
    assert (plain["all"]["n"], plain["all"]["failures"]) == (22, 0)
    assert plain["all"] == found(capsys, "--memory", "python:client.py:Private", "--out", "whole")["all"]


@pytest.mark.usefixtures("finished")
def test_a_run_is_printed_as_json_and_computed_again_from_its_journal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    whole = found(capsys, "--out", "o")
    three = found(capsys, "--out", "three", "--k", "3")
    assert (three["memory"], three["k"], three["questions"], three["complete"]) == ("sqlite-fts", 3, 22, True)
    assert (three["all"]["n"], three["all"]["failures"], three["all"]["unjudged"]) == (22, 0, 4)
    assert three["all"]["metrics"]["evidence_recall_at_k"]["n"] == 18
    assert three["ingest"]["conversations"] == 2
    assert "answer_contains" not in three["all"]["metrics"]
    assert main(["memory", "rescore", "o", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["k"]["10"] == {"all": whole["all"], "categories": whole["categories"]}
    assert captured.err == "recall: all 22 questions come to what the journal says\n"
    # The first three of ten are what three are: this memory ranks the same, whatever the limit.
    assert main(["memory", "rescore", "o", "--k", "3,10", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["k"]["3"]["all"]
    # Floors were measured in as many tokens as ten passages have.
    assert (again, "floors" in again) == ({key: three["all"][key] for key in again}, False)
    path = tmp_path / "o" / "trials.jsonl"
    path.write_text(path.read_text().replace('"evidence_hit_at_k":1.0', '"evidence_hit_at_k":0.0', 1))
    assert main(["memory", "rescore", "o"]) == 1
    assert "1 question came to other values in the journal: conv-1:q" in capsys.readouterr().err


def test_what_a_run_has_missed_is_told_by_category(capsys: pytest.CaptureFixture[str]) -> None:
    found(capsys, "--out", "o", "--k", "2")
    assert main(["memory", "misses", "o", "--categories", "temporal,1 multi-hop", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert {one["category"] for one in plain["missed"]} == {"multi-hop"}
    assert plain["missed"][0]["absent_texts"].keys() == set(plain["missed"][0]["absent"])


def test_a_run_in_which_every_question_failed_has_nothing_to_look_into(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "client.py").write_text(
        CLIENT + "\n    async def recall(self, *given):\n        raise OSError('down')\n"
    )
    command = (*RUN, "--memory", "python:client.py:Late", "--out", "o", "--sample", "3", "--keep-failed")
    assert main(command) == 1
    capsys.readouterr()
    for name in ("misses", "rescore"):
        assert main(["memory", name, "o"]) == 2
        said = capsys.readouterr().err
        assert said.startswith("recall: o: every question failed, so that nothing came back; the first, conv-")
        assert "'memory recall: OSError: down'; correct the memory" in said


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit for the size of files")
def test_a_full_disk_names_the_file_and_how_to_continue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import resource

    # A limit for the size of files ends a write as a full disk does.
    def limited(*more: str) -> tuple[int, str]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (12 * 1024, before[1]))
        try:
            code = main([*RUN, *more])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        return code, capsys.readouterr().err

    then = "make room, and the same command resumes it\n"
    assert limited("--out", "o") == (2, f"recall: o/trials.jsonl: File too large; {then}")
    assert found(capsys, "--out", "o")["questions"] == 22
    # Of several memories, those that come later are not asked what could not be kept.
    done = limited("--memory", "sqlite-fts,sessions", "--out", "p")
    (folder,) = (tmp_path / "p").iterdir()
    told = f"recall: sqlite-fts: p/{folder.name}\nrecall: p/{folder.name}/trials.jsonl: File too large; {then}"
    assert done == (2, told)


@pytest.mark.parametrize("unit", ["turn", "session"])
def test_texts_that_no_question_has_brought_up_are_shown(
    unit: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found(capsys, "--out", "o", "--memory", "null", "--unit", unit)
    assert main(["memory", "misses", "o", "--limit", "1"]) == 0
    (absent,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("  absent"))
    assert absent.startswith("  absent  [D1:4] Tobias: Heron." if unit == "turn" else "  absent  [session_1] Ines: ")
    kept = (tmp_path / "o" / "texts.jsonl").read_text()
    assert unit == "session" or kept.count("Tobias: Heron. ") == 1
    # The journal of an earlier version has no such step.
    path = tmp_path / "o" / "trials.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if "steps" in line:
            line["steps"] = [step for step in line["steps"] if step["kind"] != "evidence"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["memory", "misses", "o", "--limit", "1"]) == 0
    assert f"  absent  [{'D1:4' if unit == 'turn' else 'session_1'}]\n" in capsys.readouterr().out


@pytest.mark.usefixtures("finished")
def test_several_memories_have_each_their_floor(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    alone = found(capsys, "--out", "o")
    command = (*RUN, "--memory", "sqlite-fts,last-3", "--memory", "null", "--out", "several")
    assert main([*command, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert [one["memory"] for one in plain["memories"]] == ["sqlite-fts", "last-3", "null"]
    assert plain["memories"][0]["all"] == alone["all"]
    assert [one["alpha"] for one in plain["against_first"]] == [0.025, 0.025]
    assert len(list((tmp_path / "several").iterdir())) == 3
    assert main([*command, "--fail-under", "evidence_recall_at_k=0.5"]) == 1
    error = capsys.readouterr().err
    assert "recall: null: --fail-under: evidence_recall_at_k" in error
    assert "sqlite-fts: --fail-under" not in error


def test_several_memories_are_there_before_the_first_question(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "gone.py").write_text("import no_such_module\n")
    dead = "http://127.0.0.1:9"
    assert main([*RUN, "--memory", f"sqlite-fts,{dead},null", "--out", "o"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"recall: {dead}: memory healthcheck: GET /health: ")
    assert not (tmp_path / "o").exists()
    assert main([*RUN, "--memory", f"sqlite-fts,python:gone.py:A,{dead}", "--out", "o"]) == 2
    assert "no_such_module" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


def test_one_of_several_that_breaks_later_leaves_the_table_of_the_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "client.py").write_text(CLIENT)
    named = "python:client.py:Full"
    command = [*RUN, "--memory", f"sqlite-fts,{named},null", "--out", "o"]
    assert main(command) == 2
    captured = capsys.readouterr()
    lines = [" ".join(line.split()) for line in captured.out.splitlines()]
    assert lines[0].startswith("2 memory systems on locomo (sample): 22 questions")
    assert [line.split()[0] for line in lines[2:4]] == ["sqlite-fts", "null"]
    said = f"recall: {named}: not in the table, since it broke: memory reset: {named} holds 1 units"
    assert captured.err.splitlines()[-1].startswith(said)
    assert main([*command, "--json"]) == 2
    plain = json.loads(capsys.readouterr().out)
    assert [one["memory"] for one in plain["memories"]] == ["sqlite-fts", "null"]
    assert list(plain["broken"]) == [named]
    assert main([*RUN, "--memory", f"{named},python:client.py:Full2"]) == 2
    assert capsys.readouterr().out == ""


def test_a_service_is_asked_again_by_a_new_command_and_what_it_said_stays_where_it_cannot_be(
    capsys: pytest.CaptureFixture[str],
) -> None:
    service = Service()
    with serving(service):
        command = [*RUN, "--memory", f"null,{service.url}", "--out", "o"]
        assert main(command) == 0
        before = len(service.asked)
        assert main(command) == 0
        assert len(service.asked) >= 2 * before
        asked = {one["memory"]: one["kept"]["questions"] for one in plain_of(capsys, command)["memories"]}
        assert asked == {"null": 22, service.url: 0}
    first = trials(next(Path("o").glob("http*")))
    assert main(command) == 2
    assert "GET /health" in capsys.readouterr().err
    assert trials(next(Path("o").glob("http*"))) == first


def plain_of(capsys: pytest.CaptureFixture[str], command: list[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    plain: dict[str, Any] = json.loads(capsys.readouterr().out)
    return plain


def test_five_failures_in_a_row_stop_it_unless_failures_are_kept(inside: Recall, tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(CLIENT.replace('note(f"recall {query}")', "assert False, 'down'"))
    command = "memory run --dataset locomo sample --memory python:client.py:Private --out o"
    screen = shown(partial(inside, tmp_path), command)
    assert [one["outcome"] for one in trials(tmp_path / "o")] == ["error"] * 5
    screen += shown(partial(inside, tmp_path), f"{command} --keep-failed")
    assert_screen(SCREENS / "memory-run-down.txt", untimed(screen, tmp_path))
    assert [one["outcome"] for one in trials(tmp_path / "o")] == ["error"] * 22


DIES = """
import os, sys, time
from tests.memory.services import Service, serving

class Dying(Service):
    left = int(sys.argv[2])
    def reply(self, method, path, given):
        self.left -= path == "/recall"
        if self.left < 0:
            os._exit(1)
        return super().reply(method, path, given)

with serving(Dying(), int(sys.argv[1])) as service:
    print(service.url.rpartition(":")[2], flush=True)
    time.sleep(600)
"""


@contextmanager
def mortal(port: str, recalls: str) -> Iterator[str]:
    """Run a memory in a process of its own, which ends after so many questions, and return its port."""
    command = [sys.executable, "-c", DIES, port, recalls]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def test_a_service_that_dies_leaves_the_table_of_what_it_has_answered(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with mortal("0", "12") as port:
        command = (*RUN, "--memory", f"http://127.0.0.1:{port}", "--memory-reset", "--out", "o")
        assert main(command) == 2
    captured = capsys.readouterr()
    everything, _ = (line.split() for line in captured.out.splitlines() if line.startswith("all "))
    assert everything[:3] == ["all", "13", "5"]
    assert f"recall: http://127.0.0.1:{port}: could not be emptied: memory reset: POST /reset: " in captured.err
    stop = read_journal(tmp_path / "o").stop
    assert stop is not None
    assert (stop.cause, stop.in_a_row, len(trials(tmp_path / "o"))) == ("undecided", 5, 13)
    with mortal(port, "1000"):
        assert main(command) == 0
    every = trials(tmp_path / "o")
    assert len({one["case_id"] for one in every}) == 22
    assert (len(every), [one["outcome"] for one in every].count("error")) == (27, 5), "five of the first run"


def test_what_is_not_empty_is_left_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(CLIENT)
    assert main([*RUN, "--memory", "python:client.py:Full"]) == 2
    assert "holds 1 units that are not this run's" in capsys.readouterr().err
    assert main([*RUN, "--memory", "python:client.py:Full", "--memory-reset"]) == 0
    assert main([*RUN, "--memory", "full", "--memory-reset"]) == 2


def test_what_others_report_as_json_is_beside_ours(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    answering = CLIENT + "\n    async def answer(self, query, limit, context):\n        return 'Samuel'\n"
    (tmp_path / "client.py").write_text(answering)
    plain = found(capsys, "--memory", "python:client.py:Late", "--published")["published"]
    assert plain["same_file"] is False
    first = plain["figures"][0]
    assert (first["measured_here"], first["value"], first["category"]) == (False, 0.2665, "multi-hop")
    assert first["ours"]["n"] == 4
