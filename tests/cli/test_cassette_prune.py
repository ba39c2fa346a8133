"""`recall cassettes prune`: deletes what it says, and nothing that it cannot know."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.commands.listing import standing
from tests.cli.conftest import Recall
from tests.cli.samples import files, recall
from tests.cli.shelves import cassette, library
from tests.helpers.samples import case_ids
from tests.replay.recordings import call, draft, write

PRUNE = ("cassettes", "prune")


def unfinished(project: Path, days: float) -> Path:
    """Write a draft that was left behind so many days ago."""
    path = draft(library(project).new_draft(library(project).of_case("right", "loans")), call())
    at = time.time() - days * 24 * 60 * 60
    os.utime(path, (at, at))
    return path


def full(project: Path) -> dict[str, Path]:
    """Fill a project with all that there may be, by what it is."""
    shelf = library(project)
    fixture = shelf.of_fixture("client", "session", "x")
    made = {
        "case": cassette(project, "right"),
        "gone": cassette(project, "nowhere"),
        "gone alone in its scenario": cassette(project, "old", scenario="closed"),
        "row of the state": cassette(project, "gone"),
        "moved": cassette(project, "crash"),
        "marked test": cassette(project, "test_fee", scenario=""),
        "marked test with parameters": cassette(project, "test_fee[eu]", scenario="fees"),
        "fixture": write(fixture, call(), fixture="client", scope="session", case=None, scenario=None),
        "misnamed": cassette(project, "elsewhere").rename(shelf.folder / "loans" / "copy.ndjson"),
        "cut off": cassette(project, "broken"),
        "damaged": cassette(project, "rotten"),
        "foreign": shelf.folder / "loans" / "lore.ndjson",
        "notes": shelf.folder / "loans" / "notes.txt",
        "old draft": unfinished(project, 1.5),
        "young draft": unfinished(project, 0.9),
        "empty draft": shelf.new_draft(shelf.of_case("worse", "loans")),
        "foreign draft": shelf.folder / ".drafts" / "mine.ndjson",
        "draft of another run": shelf.new_draft(shelf.of_case("worse", "loans")),
    }
    made["cut off"].write_bytes(made["cut off"].read_bytes()[:-1])
    made["damaged"].write_bytes(made["damaged"].read_bytes().replace(b"A loan", b"A moan"))
    for name in ("foreign", "notes", "foreign draft", "draft of another run"):
        made[name].write_text('{"seq": 0}\n', encoding="utf-8")
    made["empty draft"].touch()
    long_ago = time.time() - 3.5 * 24 * 60 * 60
    for name in ("empty draft", "foreign draft", "draft of another run"):
        os.utime(made[name], (long_ago, long_ago))
    return made


def left(made: dict[str, Path]) -> set[str]:
    """Return what is there no more."""
    return {name for name, path in made.items() if not path.exists()}


GONE = {"gone", "gone alone in its scenario"}


def test_prune_says_what_it_deletes_and_deletes_that(project: Path, inside: Recall) -> None:
    made = full(project)
    before = files(project)
    said = recall(project, *PRUNE, "--dry-run")
    assert files(project) == before
    done = inside(project, *PRUNE)
    assert left(made) == {*GONE, "old draft", "empty draft"}
    assert (said.code, done.code, said.err, done.err) == (1, 1, "", "")
    assert said.out.replace("would delete", "deleted") == done.out
    name = {what: path.relative_to(project).as_posix() for what, path in made.items()}
    freed = sum(len(before[name[what]]) for what in left(made))
    assert done.out.splitlines() == [
        f"deleted  {name['gone alone in its scenario']}  no case `old`",
        f"deleted  {name['gone']}  no case `nowhere`",
        f"deleted  {name['old draft']}  draft, 1 day old",
        f"deleted  {name['empty draft']}  draft, 3 days old",
        f"kept  {name['misnamed']}  not named after what it says it is the recording of, loans/elsewhere",
        f"kept  {name['moved']}  `crash` is in the scenario trouble now; `recall cassettes move crash` puts it there",
        f"kept  {name['row of the state']}  `gone` is in no case file, and has a row in eval/recall.yaml",
        f"kept  {name['cut off']}:5: cut off in its last line; record it again, or restore it from git",
        f"kept  {name['foreign']}:1: not a cassette; import it with `recall cassettes import`, or record it again",
        f"kept  {name['damaged']}:4: damaged (its checksum does not fit);"
        " restore the cassette from git, or record it again",
        f"deleted 2 cassettes and 2 drafts, {freed / 1024:.1f} KB",
    ]
    assert not made["gone alone in its scenario"].parent.exists()
    assert files(project) == {
        path: data for path, data in before.items() if path not in {name[what] for what in left(made)}
    }


@pytest.mark.parametrize(
    ("drafts", "gone"),
    [("none", set()), ("old", {"old draft", "empty draft"}), ("all", {"old draft", "empty draft", "young draft"})],
)
def test_drafts(project: Path, drafts: str, gone: set[str], inside: Recall) -> None:
    made = full(project)
    assert inside(project, *PRUNE, "--drafts", drafts).code == 1  # Some of the others are damaged.
    assert left(made) == GONE | gone


def test_nothing_to_delete(project: Path, inside: Recall) -> None:
    assert inside(project, *PRUNE).out == "nothing to delete\n"
    cassette(project, "right")
    assert inside(project, *PRUNE).out == "nothing to delete\n"


def test_a_case_file_of_another_name(project: Path, inside: Recall) -> None:
    path = cassette(project, "other")
    row = "- id: other\n  scenario: loans\n  dimension: d\n  input: x\n  judges: [exact]\n"
    (project / "eval" / "more.yml").write_text(row, encoding="utf-8")
    assert inside(project, *PRUNE, "--files", "*.yml").out == "nothing to delete\n"
    assert inside(project, *PRUNE, "--dry-run").out.startswith("would delete  eval/cassettes/loans/other.ndjson")
    assert path.exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [("cases.yaml", "- id: x\n"), ("x.cases.jsonl", "{\n"), ("recall.yaml", "cases: 5\n"), ("rubric.yaml", "[]\n")],
)
def test_where_something_cannot_be_read_nothing_is_deleted(project: Path, name: str, text: str, inside: Recall) -> None:
    made = full(project)
    (project / "eval" / name).write_text(text, encoding="utf-8")
    done = inside(project, *PRUNE, "--drafts", "all")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"recall: eval/{name}:1: ")
    assert left(made) == set()


def test_without_case_files_nothing_is_deleted(project: Path, inside: Recall) -> None:
    made = full(project)
    (project / "eval" / "cases.yaml").unlink()
    assert inside(project, *PRUNE) == (
        2,
        "",
        "recall: eval: no case files, so that every case would be gone; give --dir or --files\n",
    )
    assert left(made) == set()


@given(case_id=case_ids, scenario=st.sampled_from(["", "loans"]), known=st.sets(case_ids), rows=st.sets(case_ids))
def test_gone_is_only_what_nobody_knows(case_id: str, scenario: str, known: set[str], rows: set[str]) -> None:
    found = standing({"case": case_id, "scenario": scenario}, dict.fromkeys(known, "loans"), rows)
    if case_id in known:
        assert found == ("case" if scenario == "loans" else "moved")
    elif case_id in rows:
        assert found == "row"
    else:
        assert found == ("gone" if scenario and case_id[0] != "-" else "mark")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ({"fixture": "client", "scope": "session"}, "fixture"),
        ({}, "fixture"),
        ({"case": 5, "scenario": "loans"}, "fixture"),
        ({"case": "test_a[x]", "scenario": "loans"}, "mark"),
        ({"case": "the fee is right", "scenario": "loans"}, "mark"),
        ({"case": "a::b", "scenario": "loans"}, "mark"),
        ({"case": "a"}, "mark"),
        ({"case": "a", "scenario": "loans"}, "gone"),
    ],
)
def test_what_cannot_have_been_in_a_case_file_is_not_gone(header: dict[str, object], expected: str) -> None:
    assert standing(header, {}, ()) == expected
