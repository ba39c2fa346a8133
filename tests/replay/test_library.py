"""The library: names that never meet, drafts that are found again, and recordings that take their place."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_recall.cases.case import ID_PATTERN
from pytest_recall.files import clock
from pytest_recall.files.disk import LinkError
from pytest_recall.replay import cassette_library as libraries
from pytest_recall.replay.cassette_file import Cassette, read_header
from pytest_recall.replay.cassette_library import Layer, Library
from pytest_recall.replay.exchange import Exchange, Response
from pytest_recall.replay.matching import Rules
from tests.helpers.samples import costly
from tests.replay.recordings import HEADER, RULES, call, conversation, draft, request, response, write
from tests.schedule.state_samples import problem

SHELF = Library(Path("eval/cassettes"))


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "cassettes")


def calls_in(path: Path, rules: Rules = RULES) -> list[Exchange]:
    """Return the calls of a finished cassette."""
    return list(Cassette(path, path.name, rules).exchanges())


# Names


@pytest.mark.parametrize(
    ("case_id", "scenario", "name"),
    [
        ("late-fee", "loans", "loans/late-fee"),
        ("v1.2_x", "loans.uk", "loans.uk/v1.2_x"),
        ("late-fee", "", "_/late-fee"),
        ("late-fee", "_", "_/late-fee"),
        ("Late-Fee", "loans", "loans/Late-Fee-a2b05a27567d"),
        ("a/b:c[1]", "loans", "loans/a-b-c-1-128f85e40e4b"),
        ("größe", "loans", "loans/gr-e-d353a2671b67"),
        ("..", "../..", "x-0cfd1c96cbc0/x-5ec1f7e700f3"),
        ("con", "nul.x", "_nul.x-4f25bf6548db/_con-1143da2bc54c"),
    ],
)
def test_names_of_cases(case_id: str, scenario: str, name: str) -> None:
    path = SHELF.of_case(case_id, scenario)
    assert path == SHELF.folder / f"{name}.ndjson"


def test_names_of_fixtures() -> None:
    here, there = (SHELF.of_fixture("client", "session", place) for place in ("eval/0", "eval/1"))
    assert here.parent == there.parent == SHELF.folder / "_fixtures"
    assert here != there
    assert here.name.startswith("session-client-")


case_ids = st.from_regex(ID_PATTERN, fullmatch=True) | st.text(max_size=120) | st.text("aAbB.-", max_size=4)


@costly
@given(first=case_ids, second=case_ids)
@example("a", "A")
@example("straße", "strasse")
@example("a b", "a-b")
@example("x" * 100, "x" * 101)
@example("con", "_con")
@example("\udc80", "\udc81")
def test_two_cases_never_have_one_file(first: str, second: str) -> None:
    """Also on a disk where case does not count, and where a name is that of another one's file."""
    paths = [SHELF.of_case(name, "loans") for name in (first, second, SHELF.of_case(first, "loans").stem)]
    names = [path.name.casefold() for path in paths]
    if first != second:
        assert names[0] != names[1]
    assert (names[0] == names[2]) == (paths[0].stem == first)


@costly
@given(case_id=case_ids, scenario=case_ids)
def test_a_name_is_one_that_every_disk_takes(case_id: str, scenario: str) -> None:
    path = SHELF.of_case(case_id, scenario).relative_to(SHELF.folder)
    assert len(path.parts) == 2
    for part in path.parts:
        assert len(part) <= 120
        assert part.isascii()
        assert not set(part) & set('<>:"/\\|?*+ ')
        assert part[0] not in ".-"
        assert part[-1] not in ".-"
        assert part.split(".")[0].lower() not in {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10))}
    assert SHELF.fits(SHELF.folder / path, {"case": case_id, "scenario": scenario})


def test_two_folders_never_meet() -> None:
    assert SHELF.of_case("a", "Loans").parent != SHELF.of_case("a", "loans").parent
    assert SHELF.of_case("a", "loans/uk").parent != SHELF.of_case("a", "loans-uk").parent


@pytest.mark.parametrize(
    ("header", "fits"),
    [
        ({"case": "late", "scenario": "loans"}, True),
        ({"case": "late"}, False),
        ({"case": "early", "scenario": "loans"}, False),
        ({"case": "late", "scenario": "fees"}, False),
        ({"case": 5, "scenario": "loans"}, False),
        ({"fixture": "late", "scope": "loans"}, False),
        ({}, False),
    ],
)
def test_whether_a_header_fits_the_name(header: dict[str, object], fits: bool) -> None:
    assert SHELF.fits(SHELF.of_case("late", "loans"), header) is fits


def test_whether_a_header_fits_the_name_of_a_fixture() -> None:
    """Where the fixture is defined is not in the header, so that this much can be told and no more."""
    path = SHELF.of_fixture("client", "session", "eval/conftest.py/0")
    assert SHELF.fits(path, {"fixture": "client", "scope": "session"})
    assert not SHELF.fits(path, {"fixture": "client", "scope": "module"})
    assert not SHELF.fits(path, {"fixture": "server", "scope": "session"})
    assert not SHELF.fits(path, {"fixture": 5, "scope": "session"})
    assert not SHELF.fits(path.with_name("session-client.ndjson"), {"fixture": "client", "scope": "session"})
    assert not SHELF.fits(SHELF.folder / path.name, {"fixture": "client", "scope": "session"})


# What lies in the folder


def test_files(library: Library) -> None:
    assert library.files() == []
    assert library.drafts() == []
    late = write(library.of_case("late", "loans"))
    early = write(library.of_case("early", "loans"))
    shared = write(library.of_fixture("client", "session", ""))
    unfinished = draft(library.new_draft(late))
    (library.folder / "notes.txt").write_text("mine")
    assert library.files() == [shared, early, late]
    assert library.drafts() == [unfinished]
    assert (library.folder / ".drafts" / ".gitignore").read_text() == "*\n"


def test_the_lock_of_a_finished_recording_stays_out_of_git(library: Library) -> None:
    library.finish(library.of_case("late", "loans"), HEADER, [call()], RULES)
    assert (library.folder / ".drafts" / ".gitignore").is_file()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "s"), ("a.b", "s")),
        (("b--c", "a"), ("c", "a--b")),
        (("a", "s"), ("a.0-1", "s")),
        (("a", "s"), ("A", "s")),
    ],
)
def test_drafts_of_one_case_are_not_those_of_another(
    library: Library, one: tuple[str, str], other: tuple[str, str]
) -> None:
    first, second = library.of_case(*one), library.of_case(*other)
    mine, theirs = draft(library.new_draft(first)), draft(library.new_draft(second))
    assert library.drafts(first) == [mine]
    assert library.drafts(second) == [theirs]
    assert set(library.drafts()) == {mine, theirs}


def test_drafts_are_listed_in_the_order_of_their_beginnings(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    path = library.of_case("late", "loans")
    drafts = []
    for now in (9, 10, 2**60):
        monkeypatch.setattr(clock, "wall_ns", lambda now=now: now)
        drafts.append(draft(library.new_draft(path)))
    assert library.drafts(path) == drafts


def test_a_later_process_of_the_same_number_has_another_draft(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container the process is number 1 each time, and a killed one has left its draft behind."""
    path = library.of_case("late", "loans")
    monkeypatch.setattr(libraries, "_count", iter([0, 0]))
    assert library.new_draft(path) != library.new_draft(path)


def test_files_of_others_among_the_drafts_are_none(library: Library) -> None:
    (library.folder / ".drafts").mkdir(parents=True)
    (library.folder / ".drafts" / "loans+late.ndjson").write_text("mine")
    (library.folder / ".drafts" / "notes.ndjson").write_text("mine")
    assert library.drafts() == []


# Finishing


def test_a_recording_takes_its_place(library: Library) -> None:
    path = library.of_case("late", "loans")
    library.finish(path, HEADER, [call("old")], RULES)
    library.finish(path, {**HEADER, "run": "next"}, [call("new")], RULES)
    assert calls_in(path) == [call("new")]
    assert read_header(path, "x")["run"] == "next"


def test_a_recording_that_cannot_be_written_changes_nothing(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    path = library.of_case("late", "loans")
    library.finish(path, HEADER, [call("old")], RULES)
    before = path.read_bytes()

    def full(target: Path, data: bytes) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("pytest_recall.replay.cassette_file.write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        library.finish(path, HEADER, [call("new")], RULES)
    assert path.read_bytes() == before


def test_four_processes_of_one_run_make_one_recording(library: Library) -> None:
    path = library.of_fixture("client", "session", "")
    parts = [[call(f"process {p}, call {n}", seq=n) for n in range(30)] for p in range(4)]
    for part in parts:
        assert library.finish(path, HEADER, part, RULES, shared=True)
    found = calls_in(path)
    assert len(found) == 120
    assert {one.key for one in found} == {one.key for part in parts for one in part}


def test_four_processes_that_set_up_the_same_make_the_recording_of_one(library: Library) -> None:
    path = library.of_fixture("client", "session", "")
    calls = list(conversation(3, 300))
    library.finish(path, HEADER, calls, RULES, shared=True)
    alone = path.read_bytes()
    for _ in range(3):
        library.finish(path, HEADER, calls, RULES, shared=True)
    assert path.read_bytes() == alone


def test_a_process_of_the_same_run_that_was_answered_otherwise_is_told(library: Library) -> None:
    path = library.of_fixture("client", "session", "")
    first, other = call("x"), call("x", response=Response(200, chunks=(b"other",)))
    assert library.finish(path, HEADER, [first], RULES, shared=True)
    assert not library.finish(path, HEADER, [other], RULES, shared=True)
    assert calls_in(path) == [first]
    assert library.finish(path, {**HEADER, "run": "next"}, [other], RULES, shared=True)


def test_a_shared_recording_of_an_earlier_run_is_replaced(library: Library) -> None:
    path = library.of_fixture("client", "session", "")
    library.finish(path, HEADER, [call("old")], RULES, shared=True)
    library.finish(path, {**HEADER, "run": "next"}, [call("new")], RULES, shared=True)
    assert calls_in(path) == [call("new")]


def test_a_shared_recording_replaces_a_damaged_one(library: Library) -> None:
    path = write(library.of_fixture("client", "session", ""), call("old"))
    path.write_bytes(path.read_bytes()[:-5])
    library.finish(path, HEADER, [call("new")], RULES, shared=True)
    assert calls_in(path) == [call("new")]


def test_a_recording_without_calls_is_no_file(library: Library) -> None:
    path = library.of_case("late", "loans")
    library.finish(path, HEADER, [], RULES)
    assert not library.folder.exists()
    library.finish(path, HEADER, [call("old")], RULES)
    library.finish(path, HEADER, [], RULES)
    assert library.files() == []


def test_a_process_that_asked_nothing_leaves_what_another_one_of_its_run_recorded(library: Library) -> None:
    path = library.of_fixture("client", "session", "")
    library.finish(path, HEADER, [call("asked")], RULES, shared=True)
    library.finish(path, HEADER, [], RULES, shared=True)
    assert calls_in(path) == [call("asked")]
    library.finish(path, {**HEADER, "run": "next"}, [], RULES, shared=True)
    assert library.files() == []


# Recovering


def test_calls_of_a_killed_recording_are_recovered(library: Library) -> None:
    path = library.of_case("late", "loans")
    calls = list(conversation(3, 300))
    left = draft(library.new_draft(path), *calls, case="late", run="killed")
    left.write_bytes(left.read_bytes()[:-9])
    assert library.recover(path, RULES) == 2
    assert calls_in(path) == calls[:2]
    header = read_header(path, "x")
    assert (header["case"], header["run"], header["rules"]) == ("late", "killed", RULES.digest)
    assert library.drafts() == []
    assert library.recover(path, RULES) == 0


def test_recovered_calls_come_after_those_that_were_there(library: Library) -> None:
    path = write(library.of_case("late", "loans"), call("a"), call("b", seq=1), run="whole")
    draft(library.new_draft(path), call("b"), call("c", seq=1), run="first")
    draft(library.new_draft(path), call("d"), call("c", seq=1), run="second")
    other = draft(library.new_draft(library.of_case("other", "loans")), call("x"))
    assert library.recover(path, RULES) == 2
    assert [one.request for one in calls_in(path)] == [request(text) for text in "abcd"]
    assert read_header(path, "x")["run"] == "whole"
    assert library.drafts() == [other]


def test_a_draft_that_holds_nothing_new_leaves_the_recording_as_it_is(library: Library) -> None:
    path = write(library.of_case("late", "loans"), call("a"))
    before = path.read_bytes()
    draft(library.new_draft(path), call("a"))
    library.new_draft(path).write_bytes(b"")
    assert library.recover(path, RULES) == 0
    assert path.read_bytes() == before
    assert library.drafts() == []


@pytest.mark.skipif(os.name != "posix", reason="elsewhere it cannot be asked whether a process lives")
def test_drafts_that_another_process_is_writing_are_let_alone(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(library.of_fixture("client", "session", ""))
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    mine = draft(library.new_draft(path), call("mine"))
    parent = os.getppid()
    monkeypatch.setattr("os.getpid", lambda: parent)
    living = draft(library.new_draft(path), call("living"))
    begun = library.new_draft(path)
    begun.write_bytes(b'{"crc":"0123')
    monkeypatch.setattr("os.getpid", lambda: int(ended.stdout))
    dead = draft(library.new_draft(path), call("dead"))
    monkeypatch.undo()
    monkeypatch.setattr("os.getpid", lambda: 1 << 80)  # As on a machine whose numbers are larger.
    foreign = draft(library.new_draft(path), call("foreign"))
    monkeypatch.undo()
    assert set(library.drafts(path)) == {mine, living, begun, dead, foreign}
    assert library.left_behind(path) == [mine, dead]
    foreign.unlink()
    assert library.recover(path, RULES) == 2
    assert [one.request for one in calls_in(path)] == [request("mine"), request("dead")]
    assert library.drafts() == [living, begun]


def test_what_was_recorded_under_other_rules_is_the_same_call(library: Library) -> None:
    """Both the recording and the draft have keys of before; the field that differs has become volatile."""
    path = write(library.of_case("late", "loans"), call(request=request("a", trace="1")))
    draft(library.new_draft(path), call(request=request("a", trace="2")), call(request=request("b"), seq=1))
    now = Rules(["trace"])
    assert library.recover(path, now) == 1
    found = calls_in(path, now)
    assert [one.request for one in found] == [request("a", trace="1"), request("b")]
    assert read_header(path, "x")["rules"] == now.digest


def test_a_damaged_recording_keeps_its_drafts(library: Library) -> None:
    path = write(library.of_case("late", "loans"), call("a"))
    path.write_bytes(path.read_bytes()[:-5])
    left = draft(library.new_draft(path), call("b"))
    assert "cut off in its last line" in problem(lambda: library.recover(path, RULES))
    assert library.drafts() == [left]


def test_a_baseline_has_a_file_of_its_own() -> None:
    assert SHELF.of_case("late", "loans", arm="tail-window").name == "late@tail-window.ndjson"
    assert SHELF.of_case("late", "loans", 2, "raw").name == "late@raw~2.ndjson"
    header = {"case": "late", "scenario": "loans", "baseline": "raw", "repeat": 2}
    assert SHELF.fits(SHELF.of_case("late", "loans", 2, "raw"), header)
    assert not SHELF.fits(SHELF.of_case("late", "loans", 2), header)


@given(case_id=case_ids, first=case_ids, second=case_ids)
@example("a", "openai:m;http://127.0.0.1:80/v1", "openai:m;http://127.0.0.1:81/v1")
@example("a@raw", "raw", "Raw")
def test_two_baselines_never_have_one_file(case_id: str, first: str, second: str) -> None:
    names = {SHELF.of_case(case_id, "loans", arm=arm).name.casefold() for arm in ("", first, second)}
    assert len(names) == len({"", first, second})
    path = SHELF.of_case("x" * 200, "y" * 100, 100, first)
    assert len(SHELF.new_draft(path).name) <= 255


# Links


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("loans/a.ndjson", "victim/a.ndjson"),
        ("loans", "victim"),
        (".", "victim"),
        (".drafts", "victim"),
        (".drafts/.lock", "victim/a.ndjson"),
    ],
)
def test_nothing_is_written_through_a_link_out_of_the_folder(tmp_path: Path, link: str, target: str) -> None:
    library = Library(tmp_path / "in" / "cassettes")
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "a.ndjson").write_text("mine", encoding="utf-8")
    planted = library.folder / link
    planted.parent.mkdir(parents=True)
    planted.symlink_to(tmp_path / target)
    path = library.of_case("a", "loans")
    with pytest.raises(LinkError, match="out of its folder"):
        library.check(path)
    with pytest.raises(LinkError, match="out of its folder"):
        library.finish(path, HEADER, [call()], RULES)
    (left,) = (tmp_path / "victim").iterdir()
    assert left.read_text(encoding="utf-8") == "mine"


def test_a_link_within_the_folder_is_followed(library: Library) -> None:
    path = library.of_case("a", "loans")
    (library.folder / "fees").mkdir(parents=True)
    (library.folder / "loans").symlink_to("fees", target_is_directory=True)
    library.finish(path, HEADER, [call()], RULES)
    assert len(calls_in(library.folder / "fees" / "a.ndjson")) == 1


# Layers


def layered(tmp_path: Path, *names: str) -> Library:
    """Return a library that is read from folders of these names, the first of which counts most, and its own."""
    own = tmp_path / "cassettes"
    return Library(own, [*(Layer(tmp_path / name, f"runs/{name}.ndjson") for name in names), Layer(own, "cassettes")])


def put(library: Library, layer: str, at: str, repeats: int = 1, case_id: str = "late") -> None:
    """Write a series of a case into the layer whose folder has this name."""
    folder = next(one.folder for one in library.layers if one.folder.name == layer)
    for repeat in range(1, repeats + 1):
        path = Library(folder).of_case(case_id, "loans", repeat)
        more: dict[str, Any] = {"repeat": repeat} if repeat > 1 else {}
        write(path, call(f"{layer} {repeat}"), case=case_id, run=layer, recorded_at=at, **more)


def origins(library: Library, repeats: int = 3) -> list[str]:
    """Return the folder of the layer that each trial of the case is read from; empty for one that is nowhere."""
    sources = (library.sources(library.of_case("late", "loans", repeat)) for repeat in range(1, repeats + 1))
    return [found[0].parent.parent.name if found else "" for found in sources]


DAYS = [f"2026-03-0{day}T09:00:00+00:00" for day in range(1, 10)]


def test_what_was_recorded_last_counts_whichever_layer_it_is_in(tmp_path: Path) -> None:
    library = layered(tmp_path, "a", "b")
    assert origins(library) == ["", "", ""]
    path = library.of_case("late", "loans")
    assert library.source(path) == path
    put(library, "cassettes", DAYS[3])
    assert origins(library, 1) == ["cassettes"]
    put(library, "b", DAYS[4])
    assert origins(library, 1) == ["b"]
    put(library, "a", DAYS[2])
    assert [one.parent.parent.name for one in library.sources(path)] == ["b", "cassettes", "a"]
    put(library, "a", DAYS[4])
    assert origins(library, 1) == ["a"], "of two of the same age the first layer's"
    put(library, "cassettes", DAYS[5])
    assert origins(library, 1) == ["cassettes"]


def test_one_of_which_a_call_was_made_again_counts_by_that_call(tmp_path: Path) -> None:
    """Its header says how old its oldest call is."""
    library = layered(tmp_path, "a")
    path = library.of_case("late", "loans")
    put(library, "a", DAYS[4])
    again = call("made again", seq=1)._replace(at=DAYS[5])
    write(path, call("old")._replace(at=DAYS[3]), again, case="late", recorded_at=DAYS[3])
    assert origins(library, 1) == ["cassettes"]
    write(path, call("old")._replace(at=DAYS[3]), case="late", recorded_at=DAYS[3])
    assert origins(library, 1) == ["a"]


def test_the_latest_of_a_case_is_found_from_any_of_its_files(tmp_path: Path) -> None:
    library = layered(tmp_path, "a", "b")
    for layer, at in (("cassettes", DAYS[3]), ("a", DAYS[1]), ("b", DAYS[5])):
        put(library, layer, at)
    found = {library.latest(path) for path in library.files()}
    assert [path.parent.parent.name for path in found] == ["b"]
    assert len(library.files()) == 3


@given(
    counts=st.lists(st.integers(0, 3), min_size=3, max_size=3),
    days=st.permutations(range(3)),
    chosen=st.integers(0, 2),
)
def test_a_series_that_has_begun_goes_on_in_the_layer_of_its_first_trial(
    counts: list[int], days: list[int], chosen: int
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        library = layered(Path(scratch), "a", "b")
        for layer, count, day in zip(library.layers, counts, days, strict=True):
            put(library, layer.folder.name, DAYS[day], count)
        if not counts[chosen]:
            return
        folder = library.layers[chosen].folder
        library.use(Library(folder).of_case("late", "loans"))
        assert origins(library)[1:] == [folder.name if counts[chosen] >= repeat else "" for repeat in (2, 3)]


def test_a_series_has_as_many_trials_as_its_newest_recording(tmp_path: Path) -> None:
    """The trials of a replay are counted before the first of them."""
    library = layered(tmp_path, "a")
    put(library, "cassettes", DAYS[1], 3)
    put(library, "a", DAYS[2], 1)
    assert origins(library) == ["a", "", ""]


def test_another_case_is_not_bound_by_the_series_of_this_one(tmp_path: Path) -> None:
    library = layered(tmp_path, "a")
    for case_id in ("late", "early"):
        put(library, "cassettes", DAYS[1], 2, case_id)
        put(library, "a", DAYS[2], 2, case_id)
    library.use(library.of_case("late", "loans"))
    assert origins(library) == ["a", "cassettes", ""], "the first trial of a next attempt is chosen anew"
    early = library.of_case("early", "loans", 2)
    assert library.source(early).parent.parent.name == "a"


def test_a_damaged_recording_among_several_is_named(tmp_path: Path) -> None:
    library = layered(tmp_path, "a")
    put(library, "cassettes", DAYS[1])
    put(library, "a", DAYS[2])
    path = Library(library.layers[0].folder).of_case("late", "loans")
    path.write_bytes(path.read_bytes().replace(b'"late"', b'"lane"', 1))
    assert "damaged" in problem(lambda: library.sources(library.of_case("late", "loans")))


def test_names_say_which_layer_a_cassette_is_in(tmp_path: Path) -> None:
    library = layered(tmp_path, "a")
    put(library, "cassettes", DAYS[1])
    put(library, "a", DAYS[2])
    assert [library.name(path) for path in library.files()] == [
        "runs/a.ndjson: loans/late.ndjson",
        "cassettes/loans/late.ndjson",
    ]
    assert [library.is_own(path) for path in library.files()] == [False, True]
    assert all(library.fits(path, read_header(path, "x")) for path in library.files())


@pytest.mark.parametrize(("before", "after"), [(0, 1), (1, 3), (3, 1), (3, 2), (2, 2), (4, 1)])
def test_a_series_that_is_taken_over_leaves_no_later_trials_of_the_old_one(
    tmp_path: Path, before: int, after: int
) -> None:
    library = layered(tmp_path, "a")
    put(library, "cassettes", DAYS[1], before)
    put(library, "cassettes", DAYS[1], 2, "early")
    put(library, "a", DAYS[2], after)
    source = Library(library.layers[0].folder)
    for repeat in range(1, after + 1):
        library.take_over(source.of_case("late", "loans", repeat), library.of_case("late", "loans", repeat))
    there = {path.name: path.read_bytes() for path in library.folder.glob("loans/late*.ndjson")}
    assert there == {path.name: path.read_bytes() for path in source.folder.glob("loans/*.ndjson")}
    assert len(there) == after
    assert len(list(library.folder.glob("loans/early*.ndjson"))) == 2
    assert library.drafts() == []


def test_what_is_in_its_place_is_not_taken_over(tmp_path: Path) -> None:
    library = layered(tmp_path, "a")
    put(library, "cassettes", DAYS[1], 3)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in library.files()}
    path = library.of_case("late", "loans")
    library.take_over(path, path)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in library.files()} == before


def test_a_draft_is_recovered_into_the_folder_that_is_written_beside_what_another_layer_has(tmp_path: Path) -> None:
    library = layered(tmp_path, "a")
    put(library, "a", DAYS[1])
    kept = library.source(library.of_case("late", "loans"))
    before = kept.read_bytes()
    path = library.of_case("late", "loans")
    draft(library.new_draft(path), call("more"), case="late")
    assert library.recover(path, RULES) == 1
    assert [one.request for one in calls_in(path)] == [request("a 1"), request("more")]
    assert kept.read_bytes() == before


def test_calls_that_all_share_are_added_to_those_of_another_layer(tmp_path: Path) -> None:
    library = layered(tmp_path, "a")
    other = Library(library.layers[0].folder)
    other.share(other.of_fixture("calls", "shared", ""), {**HEADER, "recorded_at": DAYS[1]}, [call("old")], RULES)
    path = library.of_fixture("calls", "shared", "")
    library.share(path, {**HEADER, "recorded_at": DAYS[2]}, [call("new")], RULES)
    assert {one.key for one in calls_in(path)} == {call("old").key, call("new").key}
    assert len(calls_in(other.of_fixture("calls", "shared", ""))) == 1


@pytest.mark.parametrize(
    ("run", "day", "kept"),
    [("other", 2, ["new"]), ("other", 0, ["old"]), ("same", 1, ["old", "new"]), ("same", 0, ["old", "new"])],
)
def test_of_two_runs_the_later_one_counts_and_of_one_run_every_process(
    library: Library, run: str, day: int, kept: list[str]
) -> None:
    path = library.of_fixture("calls", "shared", "")
    earlier, first, second = DAYS[0].replace("2026", "2025"), DAYS[1], DAYS[day]
    library.share(path, {**HEADER, "run": "first", "recorded_at": earlier}, [answered("oldest", earlier)], RULES)
    library.share(path, {**HEADER, "run": "same", "recorded_at": first}, [answered("old", first)], RULES)
    library.share(path, {**HEADER, "run": run, "recorded_at": second}, [answered("new", second)], RULES)
    assert [one.response for one in calls_in(path)] == [response(text) for text in kept]
    # Who comes later in the run that was recorded last joins it, whatever was taken over in between.
    last, at = ("same", first) if kept == ["old"] else (run, second)
    library.share(path, {**HEADER, "run": last, "recorded_at": at}, [answered("more", at)], RULES)
    assert [one.response for one in calls_in(path)] == [response(text) for text in [*kept, "more"]]


def answered(text: str, at: str) -> Exchange:
    """Return a call of the same request each time, with this answer."""
    return call("which?", response=response(text), at=at)
