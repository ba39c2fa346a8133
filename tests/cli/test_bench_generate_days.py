"""`recall bench generate`: days by a model, killed and gone on with."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Recall
from tests.helpers import programs
from tests.helpers.stories import fill
from tests.helpers.writing import Writing, writing

ROOT = Path(__file__).resolve().parents[2]
GENERATE = ("bench", "generate", "--persona", "museum", "--model")


@pytest.fixture
def model() -> Iterator[Writing]:
    """A model on the loopback device."""
    yield from writing()


@pytest.fixture
def museum(tmp_path: Path) -> Path:
    """A folder with the museum's persona in it."""
    fill(tmp_path / "museum")
    return tmp_path


def written(folder: Path) -> dict[str, bytes]:
    """Return the files of the museum's days, or of another folder's."""
    days = folder / "museum" / "memories-12d" if (folder / "museum").exists() else folder
    return {one.name: one.read_bytes() for one in sorted(days.glob("day-*.md"))} if days.exists() else {}


def test_all_days_are_written_and_it_is_said_so(museum: Path, inside: Recall, model: Writing) -> None:
    done = inside(museum, *GENERATE, model.selector)
    assert done.out.startswith("museum/memories-12d: 12 days written; 29 calls, ")
    assert "recall: day 12 of 12" in done.err
    assert len(written(museum)) == 12
    again = inside(museum, *GENERATE, model.selector, "--json")
    assert json.loads(again.out) == {
        "version": 1,
        "folder": "museum/memories-12d",
        "days": 12,
        "written": 0,
        "kept": 12,
        "calls": 0,
        "usd": 0.0,
        "problems": [],
    }


def test_a_model_is_asked_once_for_each_session_of_a_day(museum: Path, inside: Recall, model: Writing) -> None:
    done = inside(museum, "bench", "generate", "--persona", "museum", "--model", model.selector)
    assert done.code == 0, done.err
    headings = sum(text.count(b"# session: ") for text in written(museum).values())
    assert sum(model.answered.values()) == headings == 29
    assert set(model.answered.values()) == {1}
    assert f"12 days written; {headings} calls, $0.00" in done.out
    assert len(written(museum)) == 12


def test_a_killed_pass_goes_on_as_if_it_had_not_been_and_buys_nothing_twice(
    museum: Path, inside: Recall, model: Writing
) -> None:
    command = ("bench", "generate", "--persona", "museum", "--model", model.selector, "--concurrency", "2")
    model.hold = 9
    process = programs.begin(museum, *command)
    assert model.held.wait(60)
    # What was answered has to arrive first: a reply on its way is lost with the process that it goes to.
    kept = museum / "museum" / ".recall-bench" / "replies.jsonl"
    end = time.monotonic() + 60
    while time.monotonic() < end and sum(model.answered.values()) > (
        len(kept.read_text().splitlines()) if kept.exists() else 0
    ):
        time.sleep(0.01)
    before = written(museum)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    model.release()
    assert 0 <= len(before) < 12
    done = inside(museum, *command)
    assert done.code == 0, done.err
    assert set(model.answered.values()) == {1}
    whole = dict(written(museum))
    assert {name: whole[name] for name in before} == before
    shutil.rmtree(museum / "museum" / "memories-12d")
    shutil.rmtree(museum / "museum" / ".recall-bench")
    assert inside(museum, *command).code == 0
    assert written(museum) == whole
    assert set(model.answered.values()) == {2}


def test_a_pass_that_is_stopped_says_how_to_go_on(museum: Path, inside: Recall, model: Writing) -> None:
    command = ("bench", "generate", "--persona", "museum", "--model", model.selector, "--concurrency", "2")
    model.hold = 9
    process = programs.begin(museum, *command)
    assert model.held.wait(60)
    os.killpg(process.pid, signal.SIGINT)
    model.release()
    _, err = process.communicate(timeout=60)
    told = "recall: stopped; whole days stay, replies are kept: the same command resumes it"
    assert (process.returncode, err.splitlines()[-1]) == (130, told)
    before = written(museum)
    assert 0 < len(before) < 12
    assert inside(museum, *command).code == 0
    assert {name: written(museum)[name] for name in before} == before
    assert set(model.answered.values()) == {1}


def test_two_passes_at_once_pay_once(museum: Path, inside: Recall, model: Writing) -> None:
    command = ("bench", "generate", "--persona", "museum", "--model", model.selector)
    model.hold = 9
    process = programs.begin(museum, *command)
    assert model.held.wait(60)
    done = inside(museum, *command)
    told = (
        "recall: museum/memories-12d: another pass is writing there; wait until it is done, then run the same command"
    )
    assert (done.code, done.err) == (2, f"{told} again\n")
    model.release()
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert set(model.answered.values()) == {1}


def test_a_session_that_fails_stops_the_pass_and_the_next_one_goes_on(
    museum: Path, inside: Recall, model: Writing
) -> None:
    command = ("bench", "generate", "--persona", "museum", "--model", model.selector)
    model.broken = {"Write the entry of 2026-01-08 about `team`"}
    done = inside(museum, *command)
    assert done.code == 2
    assert "recall: day 4: is not written\nrecall: day 4, team: openai:scripted;" in done.err
    assert "it is broken" in done.err
    assert list(written(museum)) == ["day-0001.md", "day-0002.md", "day-0003.md"]
    model.broken = set()
    assert inside(museum, *command).code == 0
    assert len(written(museum)) == 12
    assert set(model.answered.values()) == {1}


def test_a_reply_that_was_cut_off_is_no_entry(museum: Path, inside: Recall, model: Writing) -> None:
    model.cut = {"`deal`"}
    done = inside(museum, "bench", "generate", "--persona", "museum", "--model", model.selector, "--max-tokens", "77")
    assert done.code == 2
    assert "the reply was cut at 77 tokens; raise --max-tokens" in done.err
    assert len(written(museum)) == 3


def test_a_session_is_told_so_many_of_its_last_entries(museum: Path, inside: Recall, model: Writing) -> None:
    command = ("bench", "generate", "--persona", "museum", "--model", model.selector, "--history-window", "2")
    assert inside(museum, *command).code == 0
    last = next(user for _, user in model.prompts if "2026-01-16 about `principal`" in user)
    assert [line for line in last.splitlines() if line.startswith("[2026")] == ["[2026-01-14]", "[2026-01-15]"]


def test_a_profile_says_what_no_option_does(museum: Path, inside: Recall, model: Writing) -> None:
    profile: dict[str, object] = {
        "persona": {"id": "museum", "dir": "../museum", "arcs": "arcs-12d.yaml", "memoriesDir": "days"},
        "models": {"generation": model.selector},
        "generate": {"start": 2, "end": 5},
    }
    profile["env"] = {"file": "keys.env"}
    (museum / "profiles").mkdir()
    (museum / "profiles" / "run.yaml").write_text(json.dumps(profile), encoding="utf-8")
    command = ("bench", "generate", "--profile", "profiles/run.yaml")
    done = inside(museum, *command)
    assert done.code == 0
    assert "profiles/run.yaml: env.file: keys.env is not there, and no variable is taken from it" in done.err
    assert sorted(one.name for one in (museum / "museum" / "days").iterdir()) == [
        f"day-000{day}.md" for day in (2, 3, 4, 5)
    ]
    assert "1 day written, 4 were there; " in inside(museum, *command, "--end", "6").out
    assert "1 day written, 5 were there; " in inside(museum, *command, "--days", "6").out


def test_what_a_profile_says_in_vain_is_told(museum: Path, inside: Recall, model: Writing) -> None:
    part = {"days": 5, "start": 2, "maxTokens": 9, "historyWindow": 2}
    profile = {"persona": {"id": "museum", "dir": "museum", "arcs": "arcs-12d.yaml"}, "generate": part}
    (museum / "run.yaml").write_text(json.dumps(profile), encoding="utf-8")
    done = inside(museum, "bench", "generate", "--profile", "run.yaml", "--model", model.selector)
    told = "recall: run.yaml: generate.start: no effect on `recall bench generate`"
    assert (done.code, done.err.splitlines()[0], len(written(museum))) == (0, told, 5)
    for command in ("generate-conversations", "generate-tool-calls"):
        more = ("--model", "openai:gpt-5.4-mini", "--dry-run", "--json")
        done = inside(museum, "bench", command, "--profile", "run.yaml", *more)
        told = f"recall: run.yaml: generate.start, generate.historyWindow: no effect on `recall bench {command}`\n"
        assert (done.err, json.loads(done.out)["days"]) == (told, 5)
    (museum / "run.yaml").write_text(json.dumps({**profile, "generate": {"dais": 3}}), encoding="utf-8")
    done = inside(museum, "bench", "generate", "--profile", "run.yaml", "--model", model.selector)
    assert "generate.dais: unknown field; did you mean `days`?" in done.err


def test_days_after_the_end_of_the_story_are_told_and_not_written(museum: Path, inside: Recall, model: Writing) -> None:
    done = inside(museum, *GENERATE, model.selector, "--days", "9000000")
    told = "museum/arcs-12d.yaml: the story ends with day 12, so that no day after it is written, up to 9,000,000"
    assert (done.code, done.err.splitlines()[0], len(written(museum))) == (0, f"recall: {told}", 12)
    more = ("--persona", "museum", "--model", "claude", "--days", "30", "--dry-run")
    done = inside(museum, "bench", "generate-conversations", *more)
    told = "museum/memories-12d: ends with day 12, and there is nothing up to day 30, which was asked for"
    assert (done.code, done.err) == (0, f"recall: {told}\n")


def test_a_dry_run_counts_and_asks_nobody(museum: Path, inside: Recall, model: Writing) -> None:
    command = ("bench", "generate", "--persona", "museum", "--dry-run")
    done = inside(museum, *command, "--model", model.selector)
    assert done.code == 0
    assert done.out.startswith("12 days: 29 calls or more, about ")
    assert done.out.endswith(" tokens in and at most 58,000 out, at most $0.00 at list price\n")
    told = json.loads(inside(museum, *command, "--model", "openai:gpt-5.4-mini", "--json", "--days", "2").out)
    assert (told["days"], told["calls"], told["output_tokens"]) == (2, 4, 8000)
    assert told["usd"] > 0
    assert model.prompts == []
    assert not (museum / "museum" / ".recall-bench").exists()


def test_the_days_that_a_model_wrote_fit_their_story(inside: Recall) -> None:
    folder = ROOT / "eval" / "personas" / "ferry-office-lighthouse"
    assert len(list((folder / "memories-30d").iterdir())) == 30
    done = inside(ROOT, "bench", "check", str(folder.relative_to(ROOT)))
    assert (done.code, done.out) == (0, "0 errors, 0 warnings\n")
