"""Scripts: the slice that they print is the one that a run takes, their tables hold, and days can be rehearsed."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from pytest_recall.schedule.events import Event, Events
from pytest_recall.schedule.run_file import write_run_file
from pytest_recall.trials.trial import Outcome
from tests.cli.samples import environment
from tests.helpers import command, programs
from tests.helpers.ferries import ferry_folder
from tests.helpers.project import case, cases_yaml, row, state_yaml
from tests.helpers.repository import write
from tests.helpers.scripts import loaded

ROOT = Path(__file__).resolve().parent.parent
SELECT = ROOT / "scripts" / "select-recall-batch.py"
REHEARSE = ROOT / "scripts" / "rehearse-schedule.py"
DAY = ("--days", "1", "--cases", "20", "--tags", "4", "--pulls", "3")
ON = ("--date", "2026-11-21", "--seed", "42")


class Called(NamedTuple):
    """What a script came to."""

    code: object
    out: str
    err: str


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of our own eval set with a quarter of its cases, so that what is written stays out of this one."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "eval", folder / "eval", ignore=shutil.ignore_patterns("_artifacts", "__pycache__"))
    cases = folder / "eval" / "cases.yaml"
    head, *every = re.split(r"^(?=- id: )", cases.read_text(encoding="utf-8"), flags=re.MULTILINE)
    cases.write_text("".join([head, *every[::4]]), encoding="utf-8")
    return folder


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Called]]:
    """Run a script in a folder, in this process; what it starts of ours comes from the nursery, as in other tests."""
    monkeypatch.setattr(sys, "executable", str(programs.folder() / "python"))
    handler = signal.getsignal(signal.SIGTERM)

    def call(folder: Path, script: Path, *arguments: str) -> Called:
        monkeypatch.chdir(folder)
        monkeypatch.syspath_prepend(script.parent)
        monkeypatch.setattr(sys, "argv", [str(script), *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(script), run_name="__main__")
        return Called(ended.value.code, *capsys.readouterr())

    yield call
    signal.signal(signal.SIGTERM, handler)


def today(folder: Path) -> str:
    return (folder / "eval" / "_artifacts" / "today.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", ["pr", "nightly"])
def test_the_script_the_command_and_the_run_take_one_slice(
    checkout: Path, mode: str, call: Callable[..., Called]
) -> None:
    scripted = call(checkout, SELECT, "--mode", mode, *ON)
    assert scripted.code == 0
    assert scripted.out == today(checkout), scripted.err
    assert command.run(checkout, "schedule", "select", "--mode", mode, *ON).out == scripted.out
    before = (checkout / "eval" / "recall.yaml").read_bytes()
    run = command.apart(
        checkout, "pytest", "-q", "-p", "recall", "eval", "--record=missing", "--recall-dry-run", "--recall-mode", mode,
        "--recall-date", ON[1], "--recall-seed", ON[3], env={**environment(), "PYTEST_PLUGINS": "few_plugins"},
    )  # fmt: skip
    assert run.code == 0, run.out
    assert today(checkout) == scripted.out
    (checkout / "eval" / "recall.yaml").write_bytes(before)


def test_the_script_takes_the_slice_of_a_state_that_waits_in_a_run_file(
    tmp_path: Path, call: Callable[..., Called]
) -> None:
    files = {"cases.yaml": cases_yaml(case("a"), case("b")), "rubric.yaml": "owner: us\nbox_1_cases: 0\n"}
    files["recall.yaml"] = state_yaml(a=row(3, 3, due=ON[1]), b=row(3, 3, due=ON[1]))
    write(tmp_path / "eval", files)
    day = date.fromisoformat(ON[1])
    seen = Events("run", day, "pr5", trials=1, verdicts=(Event("a", Outcome.PASSED, reason="due"),))
    write_run_file(tmp_path / "eval" / "runs", seen, {"a": row(3, 3, due=ON[1])})
    scripted = call(tmp_path, SELECT, "--mode", "pr", *ON)
    assert [one["id"] for one in yaml.safe_load(scripted.out)["cases"]] == ["b"]
    assert command.run(tmp_path, "schedule", "select", "--mode", "pr", *ON).out == scripted.out


def test_of_all_cases_the_script_the_command_and_the_run_take_every_one(
    checkout: Path, call: Callable[..., Called]
) -> None:
    code, scripted, _ = call(checkout, SELECT, "--mode", "all", *ON)
    assert code == 0
    assert command.run(checkout, "schedule", "select", "--mode", "all", *ON).out == scripted
    # To list them is enough: a dry run plays each of them.
    run = command.apart(
        checkout, "pytest", "-q", "-p", "recall", "eval", "--collect-only", "--recall-mode", "all",
        "--recall-date", ON[1], "--recall-seed", ON[3], env={**environment(), "PYTEST_PLUGINS": "few_plugins"},
    )  # fmt: skip
    assert run.code == 0, run.out
    listed = re.findall(r"^\S+::(\S+)$", run.out, re.MULTILINE)
    assert len(listed) > 100
    assert sorted(listed) == sorted(one["id"] for one in yaml.safe_load(scripted)["cases"])


def test_a_mistake_is_one_sentence(tmp_path: Path, call: Callable[..., Called]) -> None:
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "cases.yaml").write_text("- id: a\n", encoding="utf-8")
    told, out, _ = call(tmp_path, SELECT)
    assert str(told).startswith("select-recall-batch: eval/cases.yaml:1: judges: is missing; add it")
    assert out == ""


def test_the_tables_of_the_shipped_memories_still_hold(call: Callable[..., Called]) -> None:
    pytest.importorskip("wordllama")
    done = call(ROOT, ROOT / "scripts" / "memory-baselines.py", "--check")
    assert done.code == 0, done


def test_memories_are_put_into_one_table_by_one_command(tmp_path: Path, call: Callable[..., Called]) -> None:
    persona = ferry_folder()
    script = ROOT / "scripts" / "memories-on-personas.py"
    done = call(tmp_path, script, str(persona), "--memories", "sqlite-fts", "null", "--ranges", "9")
    head, _, searched, nothing = (
        [cell.strip() for cell in line.strip("| ").split("|")] for line in done.out.splitlines()
    )
    assert head[:4] == ["persona", "memory", "answers", "recall %"], done.err
    assert (searched[:2], nothing[:2]) == (["ferry-office", "sqlite-fts"], ["ferry-office", "null"])
    assert float(searched[3].split()[0]) > float(nothing[3].split()[0]) == 0
    assert dict(zip(head, nothing, strict=True))["oracle %"] == "0.0", "nothing is what returns as many tokens"


def test_a_run_takes_the_made_up_days_of_the_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks" / "inside")
    loaded(ROOT / "benchmarks" / "inside" / "horizon_data.py").main(tmp_path, 2, 2)
    done = command.run(tmp_path, "bench", "run", "--profile", "made-up.profile.yaml", "--dry-run")
    assert "memory: 2 questions after 2 days" in done.out, done


def test_a_day_is_rehearsed_in_a_real_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., Called]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = call(tmp_path, REHEARSE, *DAY, "--drift", "0.1", "--json")
    assert done.code == 0, done
    found = json.loads(done.out)
    assert found["faults"] == []
    # One run of everything, a night, and three pull requests, of which one has to push again if it is caught.
    assert found["runs"] == 5 + found["second_pushes"]
    assert found["caught"] == found["second_pushes"] <= found["bad"]
    assert found["longest_night"] > 0
    assert found["largest_pull_request"] >= 5, "all cases of its part"
    assert list(tmp_path.iterdir()) == []


def test_a_rehearsal_tells_the_step_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., Called]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    done = call(tmp_path, REHEARSE, *DAY)
    assert done.code == 2
    assert done.err == "`git init -q -b main` was not started: No such file or directory\n"
    assert list(tmp_path.iterdir()) == []


def test_a_rehearsal_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, str(REHEARSE), *DAY],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Who runs us in the background may have us ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "day 1 of 1\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_rehearsal_that_is_told_to_end_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., Called]
) -> None:
    """In this process: the signal comes while it waits for a run, which has to be ended as well."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    communicate = subprocess.Popen.communicate
    begun: list[subprocess.Popen[Any]] = []

    def told(process: subprocess.Popen[Any], *arguments: Any, **given: Any) -> tuple[Any, Any]:
        assert isinstance(process.args, tuple)
        if "pytest" in process.args:
            begun.append(process)
            # The next one is a process of the installation: of the nursery's, a part would end a moment later.
            monkeypatch.setattr(sys, "executable", str(Path(sys.prefix, "bin", "python")))
        if len(begun) == 2:  # The first one is that of everything, before the days.
            os.kill(os.getpid(), signal.SIGTERM)
        return communicate(process, *arguments, **given)

    monkeypatch.setattr(subprocess.Popen, "communicate", told)
    code, out, err = call(tmp_path, REHEARSE, *DAY)
    assert (code, out, err) == (143, "", "day 1 of 1\n")
    assert [one.returncode for one in begun] == [0, -signal.SIGKILL]
    for one in begun:  # The process of the script would end here.
        assert one.stdout is not None
        one.stdout.close()
    assert list(tmp_path.iterdir()) == []


def test_a_rehearsal_refuses_what_has_no_effect(tmp_path: Path, call: Callable[..., Called]) -> None:
    for given, told in (
        (("--keep", str(tmp_path)), f"--keep: {tmp_path} is there already"),
        (("--tags", "30"), "--tags: 30 are more than 20 cases"),
    ):
        code, out, err = call(tmp_path, REHEARSE, *DAY, *given)
        assert (code, out) == (2, "")
        assert err.endswith(f"error: {told}\n")
