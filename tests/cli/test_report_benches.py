"""`recall report` on runs of `recall memory run`: the table of memories, alone or above the questions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_recall.cli import main
from tests.cli.conftest import Recall
from tests.cli.samples import Made, made_by
from tests.cli.test_view import get
from tests.helpers.viewing import serving

pytest.importorskip("jinja2")

MEMORIES = ("sqlite-fts", "last-3", "null")


@pytest.fixture(scope="module")
def _three(tmp_path_factory: pytest.TempPathFactory) -> Made:
    run = ("memory", "run", "--dataset", "locomo", "sample", "--memory", ",".join(MEMORIES), "--out", "o")
    return made_by(tmp_path_factory.mktemp("three"), *run)


@pytest.fixture
def three(_three: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], str]:
    """The folders of the runs of three memories, and what their command printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "eval").mkdir()
    shutil.copytree(_three.folder / "o", tmp_path / "o")
    return [line.rpartition(" ")[2] for line in _three.err.splitlines()], _three.out


def test_the_page_of_several_memories_has_what_their_command_prints(
    three: tuple[list[str], str], tmp_path: Path, inside: Recall
) -> None:
    folders, printed = three
    done = inside(tmp_path, "report", *folders, "-o", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"page.html: 3 memory systems, {len(page.encode()) / 1000:,.0f} kB\n"
    for line in printed.splitlines():
        row = line.removesuffix(":").split("  ")
        assert all(f">{cell.strip()}</" in page for cell in row if cell.strip()), line
    for memory in MEMORIES[1:]:
        assert f"{memory} (HEAD) against sqlite-fts (BASE)" in page
    assert page.count('<td class="n">too few</td>') == 8
    assert "1 memory system" not in page


def test_a_folder_of_runs_stands_for_them_and_those_asked_otherwise_stand_apart(
    three: tuple[list[str], str], tmp_path: Path, inside: Recall
) -> None:
    assert main(["memory", "run", "--dataset", "locomo", "sample", "--memory", "null", "--k", "3", "--out", "o/k"]) == 0
    done = inside(tmp_path, "report", "o")
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert done.out.startswith("o/report.html: 4 memory systems, ")
    titles = (
        "3 memory systems on locomo (sample): 22 questions, 10",
        "1 memory system on locomo (sample): 22 questions, 3",
    )
    assert "last-3 (HEAD) against sqlite-fts (BASE)" in page
    assert [f">{title} passages each" in page for title in titles] == [True, True]
    assert "Memories that were asked otherwise" in page
    again = ("memory", "run", "--dataset", "locomo", "sample", "--memory", "null", "--k", "3", "--out", "again/k")
    assert main([*again]) == 0
    assert (
        "null (again/k) (HEAD) against null (o/k) (BASE)" in inside(tmp_path, "report", "o/k", "again/k", "-o", "-").out
    )


def test_the_page_of_several_memories_is_followed_as_well(three: tuple[list[str], str], tmp_path: Path) -> None:
    with serving(None, "o") as server:
        before = get(server, "/stamp")[1]
        assert f'data-stamp="{before}"' in get(server, "/")[1]
        with (tmp_path / three[0][0] / "trials.jsonl").open("a", encoding="utf-8") as lines:
            lines.write("\n")
        assert get(server, "/stamp")[1] != before


def test_two_runs_have_the_tables_above_their_questions_and_one_verdict(
    three: tuple[list[str], str], tmp_path: Path, inside: Recall
) -> None:
    first, _, last = three[0]
    done = inside(tmp_path, "report", first, last, "-o", "-")
    assert (done.code, done.err) == (0, "")
    assert "2 memory systems on locomo (sample): 22 questions" in done.out
    assert "null (HEAD) against sqlite-fts (BASE)" in done.out
    assert "Passed before and fails now (14)" in done.out
    assert ">No difference could have been shown.<" in done.out
    # Of two conversations nothing can be shown, whatever a test would say that takes questions for independent.
    assert "A drop is shown" not in done.out
    assert "1 memory system on locomo" in inside(tmp_path, "report", last, "-o", "-").out


def test_what_cannot_be_shown_is_one_sentence(three: tuple[list[str], str], tmp_path: Path, inside: Recall) -> None:
    first, second, _ = three[0]
    for arguments, told in (
        (
            (first, second, "latest"),
            "3 runs are too many for one page, unless all of them are of `recall memory run`; name one, or two to"
            " compare them",
        ),
        (("o", "--date", "2026-03-01"), "--date has no effect on a table of memories; remove it"),
        (("nowhere",), "no run 'nowhere'; there are none"),
    ):
        assert inside(tmp_path, "report", *arguments) == (2, "", f"recall: {told}\n")


def test_failed_is_what_the_table_of_the_memory_calls_failed(three: tuple[list[str], str], inside: Recall) -> None:
    folders, _ = three
    lines = inside(Path.cwd(), "view", folders[0], "--once").out.splitlines()
    assert lines[0].partition(": ")[2] == "14 passed, 4 did not pass, 4 not judged"
    assert lines[2].startswith("newest: conv-2:q")
    table = next(line for line in lines if line.startswith("sqlite-fts  "))
    assert table.split()[1:3] == ["22", "0"]
    assert inside(Path.cwd(), "report", folders[0], "-o", "one.html").code == 0
    assert ": 14 passed, 4 did not pass, 4 not judged</title>" in Path("one.html").read_text(encoding="utf-8")
