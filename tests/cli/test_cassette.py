"""`recall cassettes list`, `show` and `verify`: what is recorded, and whether it is whole."""

from __future__ import annotations

import json
import random
import re
from functools import partial
from pathlib import Path

from pytest_recall.replay.cassette_lines import sealed
from pytest_recall.replay.commands.listing import size
from tests.cli.conftest import Recall
from tests.cli.samples import DATE, files, recall
from tests.cli.shelves import cassette, library
from tests.helpers.screens import assert_screen, shown
from tests.replay.recordings import call, draft, request, response, write

SCREENS = Path(__file__).parent / "screens"
LIST = ("cassettes", "list", "--date", DATE)
SHOW = ("cassettes", "show", "--date", DATE)
VERIFY = ("cassettes", "verify")


# list


def test_list_without_cassettes(project: Path, inside: Recall) -> None:
    done = inside(project, *LIST)
    assert done == (0, "eval/cassettes: no cassettes; `pytest -p recall eval --record` records them\n", "")


def test_list(project: Path, inside: Recall) -> None:
    two = (call(), call("And the fee?", seq=1, response=response(), request=request("And the fee?", model="large-2")))
    right = cassette(project, "right", *two, recorded_at="2026-03-09T10:00:00+00:00")
    cassette(project, "worse", call(at="2026-03-10T09:00:00+00:00"), recorded_at="2026-03-10T09:00:00+00:00")
    cassette(project, "nowhere")
    cassette(project, "crash", scenario="loans")
    cassette(project, "gone")
    cassette(project, "test_fee[eu]", scenario="")
    write(
        library(project).of_fixture("client", "session", "x"),
        fixture="client",
        scope="session",
        case=None,
        scenario=None,
    )
    draft(library(project).new_draft(right), call())
    before = files(project)
    path = cassette(project, "lost")
    path.write_bytes(path.read_bytes()[:-1])
    before = files(project)
    screen = re.sub(r"  +[0-9.]+ K?B ", " … ", shown(partial(inside, project), " ".join(LIST)))
    assert_screen(SCREENS / "cassettes-list.txt", re.sub(r"[0-9.]+ KB;", "… KB;", screen))
    assert files(project) == before


def test_sizes() -> None:
    found = [size(count) for count in (0, 1023, 1024, 1536, 1024**2 - 1, 1024**2, 5 * 1024**3)]
    assert found == ["0 B", "1023 B", "1.0 KB", "1.5 KB", "1024.0 KB", "1.0 MB", "5120.0 MB"]


def test_the_age_is_that_of_the_oldest_call(project: Path, inside: Recall) -> None:
    """Recording what is missing renews the header's day, and not what the older calls are worth."""
    calls = [call(at="2026-01-09T00:00:00+00:00"), call("new", seq=1, at="2026-03-09T00:00:00+00:00")]
    cassette(project, "right", *calls, recorded_at="2026-03-09T00:00:00+00:00")
    assert "2026-01-09, 60 days old" in inside(project, *LIST).out


def test_list_as_json(project: Path, inside: Recall) -> None:
    path = cassette(project)
    left = draft(library(project).new_draft(path))
    found = json.loads(inside(project, *LIST, "--json").out)
    assert found == {
        "date": DATE,
        "cassettes": [
            {
                "path": "eval/cassettes/loans/right.ndjson",
                "case": "right",
                "scenario": "loans",
                "standing": "case",
                "draft": False,
                "counts": True,
                "why": "",
                "calls": 1,
                "bytes": path.stat().st_size,
                "recorded_at": "2026-03-01T09:00:00+00:00",
                "since": "2026-03-01",
                "models": ["small-1"],
            },
            {
                "path": left.relative_to(project).as_posix(),
                "case": "right",
                "scenario": "loans",
                "standing": "case",
                "draft": True,
                "counts": None,
                "why": "",
                "calls": 0,
                "bytes": left.stat().st_size,
                "recorded_at": "2026-03-01T09:00:00+00:00",
                "since": "2026-03-01",
                "models": [],
            },
        ],
    }


def test_list_of_damaged_files(project: Path, inside: Recall) -> None:
    path = cassette(project)
    path.write_bytes(path.read_bytes()[:-1])
    (path.parent / "lore.ndjson").write_text('{"seq": 0}\n', encoding="utf-8")
    (path.parent / "folder.ndjson").mkdir()
    done = inside(project, *LIST)
    assert done.code == 0
    assert done.out.count("damaged; `recall cassettes verify` says where") == 3
    assert done.out.splitlines()[-1].startswith("3 cassettes, 0 calls, ")
    assert done.out.splitlines()[-1].endswith("; 3 damaged")
    (*_, last) = json.loads(inside(project, *LIST, "--json").out)["cassettes"]
    assert last["standing"] == "damaged"
    assert last["problem"].startswith("eval/cassettes/loans/right.ndjson:5: cut off in its last line;")


def test_list_of_another_folder(project: Path, inside: Recall) -> None:
    write(project / "kept" / "loans" / "right.ndjson", call())
    assert "loans/right" in inside(project, *LIST, "--cassettes", "kept").out


def test_list_with_a_case_file_that_cannot_be_read(project: Path, inside: Recall) -> None:
    """Then no one knows what is an orphan."""
    cassette(project)
    (project / "eval" / "x.cases.yaml").write_text("- id: x\n", encoding="utf-8")
    done = inside(project, *LIST)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("recall: eval/x.cases.yaml:1: ")


# verify


def test_verify_all_in_order(project: Path, inside: Recall) -> None:
    cassette(project, "right", call(), call(seq=1))
    cassette(project, "Late[eu]", scenario="")
    write(
        library(project).of_fixture("client", "session", "x"),
        call(),
        fixture="client",
        scope="session",
        case=None,
        scenario=None,
    )
    before = files(project)
    assert recall(project, *VERIFY) == (0, "3 cassettes, 4 calls: all in order\n", "")
    assert json.loads(inside(project, *VERIFY, "--json").out) == {"cassettes": 3, "calls": 4, "problems": []}
    assert files(project) == before


def test_verify_without_cassettes(project: Path, inside: Recall) -> None:
    assert inside(project, *VERIFY) == (0, "0 cassettes, 0 calls: all in order\n", "")


def test_verify_names_every_file_and_line(project: Path, inside: Recall) -> None:
    folder = project / "eval" / "cassettes" / "loans"
    lines = cassette(project, "changed").read_bytes().split(b"\n")
    lines[3] = lines[3].replace(b"small-1", b"large-1")
    (folder / "changed.ndjson").write_bytes(b"\n".join(lines))
    for name, cut in (("cut", 9), ("ended", len(lines[4]) + 1)):
        whole = cassette(project, name)
        whole.write_bytes(whole.read_bytes()[:-cut])
    (folder / "empty.ndjson").touch()
    (folder / "future.ndjson").write_bytes(sealed({"cassette": 3}) + sealed({"end": 0}))
    (folder / "lore.ndjson").write_text('{"seq": 0, "ts": 1}\n', encoding="utf-8")
    (folder / "no-case.ndjson").write_bytes(sealed({"cassette": 1}) + sealed({"end": 0}))
    cassette(project, "right").rename(folder / "other.ndjson")
    write(folder / "shared.ndjson", fixture="client", scope="session", case=None, scenario=None)
    (folder / "folder.ndjson").mkdir()
    cassette(project, "whole")
    assert_screen(SCREENS / "cassettes-verify.txt", shown(partial(inside, project), " ".join(VERIFY)))
    done = inside(project, *VERIFY)
    assert json.loads(inside(project, *VERIFY, "--json").out)["problems"] == done.out.splitlines()[:-1]


def test_verify_notices_a_changed_byte(project: Path, inside: Recall) -> None:
    """Any byte of a file counts; that each one does is shown for the store, and here for the exit code."""
    path = cassette(project)
    data = path.read_bytes()
    choose = random.Random(7)
    for place in choose.sample(range(len(data)), 40):
        other = data[place] ^ choose.randrange(1, 256)
        path.write_bytes(data[:place] + bytes([other]) + data[place + 1 :])
        done = inside(project, *VERIFY)
        assert done.code == 1, place
        assert done.out.startswith("eval/cassettes/loans/right.ndjson:")
    path.write_bytes(data)
    assert inside(project, *VERIFY).code == 0


def test_verify_under_other_rules(project: Path, inside: Recall) -> None:
    cassette(project)
    (project / "eval" / "rubric.yaml").write_text("owner: us\nvolatile: [body.trace]\n", encoding="utf-8")
    assert inside(project, *VERIFY).code == 0


def test_a_command_is_needed(project: Path, inside: Recall) -> None:
    assert inside(project, "cassettes").code == 2


def test_a_cassette_that_does_not_say_whose_it_is(project: Path, inside: Recall) -> None:
    write(library(project).of_case("right", "loans"), call(), case=None, scenario=None)
    assert inside(project, *LIST).out.splitlines()[1].split()[:2] == ["?", "1"]
