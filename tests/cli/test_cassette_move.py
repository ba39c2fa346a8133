"""`recall cassettes move`: a case that was renamed keeps its recordings, and nothing of them is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_recall.replay.exchange import Exchange
from tests.cli.conftest import Recall
from tests.cli.samples import files
from tests.cli.shelves import cassette, library
from tests.replay.recordings import call, opened, request, verify, write

MOVE = ("cassettes", "move")
CALLS = (call(), call(seq=1, request=request("And a fine?")))


def renamed(project: Path) -> tuple[list[Path], list[Path]]:
    """Record the case `before`, twice, and with a baseline; return where that is, and where it is to be."""
    shelf = library(project)
    made = [cassette(project, "before", *CALLS, scenario="closed")]
    for header in ({"repeat": 2}, {"baseline": "null"}):
        own: dict[str, Any] = {"case": "before", "scenario": "closed", **header}
        made.append(write(shelf.of_header(own) or Path(), call(), **own))
    targets = [shelf.of_case("right", "loans", repeat, arm) for repeat, arm in ((1, ""), (2, ""), (1, "null"))]
    return made, targets


def calls(path: Path) -> list[Exchange]:
    """Return the calls of a cassette."""
    return list(opened(path).exchanges())


def test_all_recordings_of_a_case_go_with_it(project: Path, inside: Recall) -> None:
    made, targets = renamed(project)
    other = cassette(project, "worse")
    untouched, before = other.read_bytes(), files(project)
    held = list(map(calls, made))
    headers = [opened(path).header for path in made]
    said = inside(project, *MOVE, "before", "right", "--dry-run")
    assert files(project) == before
    done = inside(project, *MOVE, "before", "right")
    assert (said.code, done.code, said.err, done.err) == (0, 0, "", "")
    assert said.out.replace("would move", "moved") == done.out
    names = [[path.relative_to(project).as_posix() for path in paths] for paths in (made, targets)]
    counts = ["2 calls", "1 call", "1 call"]
    assert sorted(done.out.splitlines()) == sorted(
        f"moved  {old} to {new}  {count}" for old, new, count in zip(*names, counts, strict=True)
    )
    assert not made[0].parent.exists()
    assert list(map(calls, targets)) == held
    for path, header in zip(targets, headers, strict=True):
        verify(path)
        after = opened(path).header
        assert {name for name in header.keys() | after.keys() if header.get(name) != after.get(name)} <= {
            *("case", "scenario", "crc")
        }
        assert (after["case"], after["scenario"]) == ("right", "loans")
    assert other.read_bytes() == untouched
    assert inside(project, "cassettes", "verify").code == 0


def test_a_case_in_another_scenario_has_its_recording_there(project: Path, inside: Recall) -> None:
    path = cassette(project, "crash")
    [kept] = inside(project, "cassettes", "prune").out.splitlines()[:-1]
    assert kept.endswith("in the scenario trouble now; `recall cassettes move crash` puts it there")
    assert inside(project, *MOVE, "crash").code == 0
    assert not path.exists()
    verify(library(project).of_case("crash", "trouble"))


def test_a_marked_test_says_its_scenario(project: Path, inside: Recall) -> None:
    cassette(project, "test_fee[eu]", scenario="fees")
    assert inside(project, *MOVE, "test_fee[eu]", "test_fee[uk]", "--scenario", "fees").code == 0
    verify(library(project).of_case("test_fee[uk]", "fees"))
