"""Files with what runs on branches have recorded: nothing is lost in them, and nothing leaves their folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import CASSETTE_SUFFIX, Place
from pytest_recall.replay.cassette_file import Cassette
from pytest_recall.replay.cassette_library import Layer, Library
from pytest_recall.replay.cassette_lines import sealed
from pytest_recall.replay.run_recordings import (
    UNPACKED,
    VERSION,
    cassettes_in,
    clear_taken_over,
    damaged,
    files_of_runs,
    forget_unpacked,
    layers_from,
    layers_of,
    library_of_runs,
    pack,
    recording_folder,
    taken_over,
    without_secrets,
    write_packed,
    write_recorded,
)
from tests.helpers.samples import POINTER, costly
from tests.replay.recordings import RULES, call, conversation, draft, exchanges, write
from tests.schedule.state_samples import problem

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
EARLY, LATE = "2026-03-01T09:00:00+00:00", "2026-03-09T09:00:00+00:00"
SECRET = "sk-ant-" + "api03-Rk7Wq2Zx9Lm4Tb8Vn1Yc6Pd3Gf5Hj0Ks"


def packed(place: Place, cassettes: Mapping[str, str], *, at: datetime = NOON, stem: str = "one") -> Path:
    """Write the file of a run that has recorded these cases at these times, and return its path."""
    with tempfile.TemporaryDirectory() as scratch:
        library = Library(Path(scratch))
        for case_id, recorded in cassettes.items():
            write(
                library.of_case(case_id, "loans"), call(f"{stem} {case_id}"), case=case_id, run=stem,
                recorded_at=recorded,
            )  # fmt: skip
        return write_packed(place.run_files, stem, pack(Path(scratch), library.files(), at))


def taken(place: Place, case_id: str) -> None:
    """Copy what a run has recorded of a case into the cassettes."""
    target = Library(place.cassettes).of_case(case_id, "loans")
    library = Library(place.cassettes, layers_of(place))
    library.take_over(library.source(target), target)


def whose(library: Library, case_id: str) -> str:
    """Return which run has recorded what is read of a case."""
    path = library.source(library.of_case(case_id, "loans"))
    return str(Cassette(path, path.name, RULES).header["run"])


def in_place(place: Place, case_id: str, recorded: str) -> Path:
    """Write the recording of a case into the folder of cassettes."""
    path = Library(place.cassettes).of_case(case_id, "loans")
    return write(path, call(case_id), case=case_id, run="main", recorded_at=recorded)


def unpacked(place: Place) -> list[str]:
    """Return the names of the folders that hold what was unpacked."""
    folder = place.artifacts.folder / UNPACKED
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


# The format


names = st.from_regex(r"[a-z0-9_~@+-][a-z0-9._~@+-]{0,8}", fullmatch=True).filter(lambda name: name not in (".", ".."))
inside = st.builds(
    lambda parts, name: "/".join([*parts, f"{name}{CASSETTE_SUFFIX}"]), st.lists(names, max_size=3), names
)


@costly
@given(st.dictionaries(inside, st.lists(exchanges, max_size=4), max_size=4))
@example({})
@example({"loans/a.ndjson": [], "loans/a~2.ndjson": [], "_/b@raw.ndjson": []})
def test_what_was_packed_is_found_again_byte_for_byte(calls: dict[str, list[object]]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder, written = Path(scratch) / "recording", {}
        for name, made in calls.items():
            path = folder / name
            if any(parent.is_file() for parent in path.parents) or path.is_dir():
                continue  # A file and a folder of one name.
            write(path, *(one._replace(seq=seq) for seq, one in enumerate(made)))  # type: ignore[attr-defined]
            written[name] = path.read_bytes()
        file = Path(scratch) / "run.ndjson"
        file.write_bytes(pack(folder, [folder / name for name in written], NOON))
        assert dict(cassettes_in(file, "run")) == written
        assert [name for name, _ in cassettes_in(file, "run")] == [
            path.relative_to(folder).as_posix() for path in sorted(folder / name for name in written)
        ]


def test_the_order_in_which_cassettes_are_named_is_nowhere_in_the_file(tmp_path: Path) -> None:
    paths = [write(tmp_path / name) for name in ("b.ndjson", "a.ndjson", "c.ndjson")]
    assert pack(tmp_path, paths, NOON) == pack(tmp_path, reversed(paths), NOON)


@pytest.fixture
def sample(tmp_path: Path) -> tuple[bytes, dict[str, bytes]]:
    """The content of a file of two recordings, and what is in it."""
    folder = tmp_path / "sample"
    paths = [write(folder / "loans" / f"{name}.ndjson", call(name)) for name in "ab"]
    return pack(folder, paths, NOON), {f"loans/{path.name}": path.read_bytes() for path in paths}


def read(tmp_path: Path, data: bytes) -> dict[str, bytes]:
    """Return what is in a file with this content. Raises RecallError."""
    path = tmp_path / "run.ndjson"
    path.write_bytes(data)
    return dict(cassettes_in(path, "run"))


def test_a_file_that_is_cut_at_any_byte_is_refused(tmp_path: Path, sample: tuple[bytes, dict[str, bytes]]) -> None:
    data, cassettes = sample
    assert read(tmp_path, data) == cassettes
    for length in range(len(data)):
        with pytest.raises(RecallError, match=r"^run(:\d+)?: "):
            read(tmp_path, data[:length])


def test_no_changed_byte_takes_a_cassette_away(tmp_path: Path, sample: tuple[bytes, dict[str, bytes]]) -> None:
    """What is changed within a cassette is found where that is read, which has checksums of its own."""
    data, cassettes = sample
    lines = data.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
    own = {
        at for start, line in zip(starts, lines, strict=True) for at in range(start, start + len(line))
        if line[18:].startswith((b'"path":', b'"recordings":'))
    }  # fmt: skip
    for at in range(len(data)):
        for bits in (0x01, 0x20, 0x80):
            changed = data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]
            try:
                found = read(tmp_path, changed)
            except RecallError:
                continue
            assert at not in own, (at, changed)
            assert found.keys() == cassettes.keys()
            damaged = [name for name in found if found[name] != cassettes[name]]
            assert len(damaged) == 1
            path = tmp_path / "damaged.ndjson"
            path.write_bytes(found[damaged[0]])
            with pytest.raises(RecallError):
                Cassette(path, "damaged", RULES).verify()


def test_a_line_that_is_taken_out_or_twice_there_takes_no_cassette_away(
    tmp_path: Path, sample: tuple[bytes, dict[str, bytes]]
) -> None:
    data, cassettes = sample
    lines = data.splitlines(keepends=True)
    for number, line in enumerate(lines):
        for changed in ([*lines[:number], *lines[number + 1 :]], [*lines[:number], line, *lines[number:]]):
            try:
                found = read(tmp_path, b"".join(changed))
            except RecallError:
                continue
            assert found.keys() == cassettes.keys()
            assert b'"path":' not in line
            assert b'"recordings":' not in line


def test_changed_line_ends_are_refused(tmp_path: Path, sample: tuple[bytes, dict[str, bytes]]) -> None:
    with pytest.raises(RecallError):
        read(tmp_path, sample[0].replace(b"\n", b"\r\n"))


def lines_of(*paths: object, version: object = VERSION, end: object = None, more: bytes = b"") -> bytes:
    """Return the content of a file with an empty cassette for each of `paths`."""
    parts = [sealed({"recordings": version, "at": NOON.isoformat()}), *(sealed({"path": path}) for path in paths)]
    return b"".join(parts) + sealed({"recordings": len(paths) if end is None else end}) + more


OUTSIDE = [
    "../a.ndjson",
    "loans/../../a.ndjson",
    "..",
    "/etc/a.ndjson",
    "//host/a.ndjson",
    "C:/a.ndjson",
    "C:a.ndjson",
    "loans\\a.ndjson",
    "..\\a.ndjson",
    "loans//a.ndjson",
    "loans/./a.ndjson",
    "loans/",
    "",
    "a.txt",
    "loans/.gitignore",
    "conftest.py",
    5,
    None,
    ["a.ndjson"],
    "a\0.ndjson",
]


@pytest.mark.parametrize("path", OUTSIDE, ids=repr)
def test_a_path_that_is_none_of_a_cassette_is_refused_and_nothing_is_written(place: Place, path: object) -> None:
    place.run_files.mkdir()
    (place.run_files / "planted.ndjson").write_bytes(lines_of("loans/fine.ndjson", path))
    before = {one for one in place.root.rglob("*") if one.is_file()}
    with pytest.raises(RecallError, match=r"^eval/runs/planted\.ndjson:3: "):
        layers_of(place)
    after = {one for one in place.root.rglob("*") if one.is_file() and UNPACKED not in one.parts}
    assert {one for one in after - before if one.name != ".gitignore"} == set()
    assert not [one for one in place.root.rglob("*.ndjson") if one.parent != place.run_files]


@costly
@given(st.text(st.sampled_from("ab./\\:~ \0\n"), max_size=8).map(lambda text: f"{text}{CASSETTE_SUFFIX}"))
def test_whatever_a_path_says_it_stays_in_the_folder(text: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        file, folder = Path(scratch) / "run.ndjson", Path(scratch) / "into"
        file.write_bytes(lines_of(text))
        try:
            [(name, _)] = cassettes_in(file, "run")
        except RecallError:
            return
        assert os.path.normpath(folder / name) == str(folder / name)
        assert (folder / name).is_relative_to(folder)


@pytest.mark.parametrize("version", [VERSION + 1, 0, "1", None, 1.5])
def test_another_version_is_refused(place: Place, version: object) -> None:
    place.run_files.mkdir()
    (place.run_files / "later.ndjson").write_bytes(lines_of("a.ndjson", version=version))
    assert problem(lambda: files_of_runs(place)).startswith("eval/runs/later.ndjson:1: version ")
    assert problem(lambda: layers_of(place)).startswith("eval/runs/later.ndjson:1: version ")


@pytest.mark.parametrize("more", [b"\n", b"x", b"x\n", sealed({"path": "b.ndjson"}), sealed({"recordings": 1})])
def test_lines_behind_the_end_mark_are_refused(tmp_path: Path, more: bytes) -> None:
    assert read(tmp_path, lines_of("a.ndjson")) == {"a.ndjson": b""}
    with pytest.raises(RecallError):
        read(tmp_path, lines_of("a.ndjson", more=more))


@pytest.mark.parametrize("end", [0, 1, 3, -1, "2", None, [2]])
def test_an_end_mark_that_counts_otherwise_is_refused(tmp_path: Path, end: object) -> None:
    whole = lines_of("a.ndjson", "b.ndjson")
    last = whole.splitlines(keepends=True)[-1]
    with pytest.raises(RecallError):
        read(tmp_path, whole.removesuffix(last) + sealed({"recordings": end}))


@pytest.mark.parametrize("data", [b"", b"\n", b"{}\n", b"x" * 40 + b"\n", sealed({"cassette": 2}), sealed({"end": 0})])
def test_another_file_among_those_of_runs_is_refused(place: Place, data: bytes) -> None:
    place.run_files.mkdir()
    (place.run_files / "notes.ndjson").write_bytes(data)
    assert problem(lambda: files_of_runs(place)).startswith("eval/runs/notes.ndjson:1: ")


def test_a_pointer_of_git_lfs(place: Place) -> None:
    place.run_files.mkdir()
    (place.run_files / "run.ndjson").write_bytes(POINTER)
    assert "git lfs pull" in problem(lambda: files_of_runs(place))
    assert "git lfs pull" in damaged(place)["eval/runs/run.ndjson"]


def test_a_path_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecallError):
        read(tmp_path, lines_of("a.ndjson", "a.ndjson"))


# Unpacking


def test_the_newest_file_comes_first(place: Place) -> None:
    files = [packed(place, {"a": EARLY}, at=NOON + timedelta(minutes=n), stem=stem) for n, stem in enumerate("bca")]
    assert [one.path for one in files_of_runs(place)] == files[::-1]
    assert [layer.name for layer in layers_of(place)] == [place.name(path) for path in files[::-1]]


def test_run_files_of_the_state_are_none_of_recordings(place: Place) -> None:
    file = packed(place, {"a": EARLY})
    file.with_suffix(".yaml").write_text("run: x\n", encoding="utf-8")
    assert [one.path for one in files_of_runs(place)] == [file]
    assert len(layers_of(place)) == 1


def test_without_files_there_are_no_layers_and_nothing_is_made(place: Place) -> None:
    assert layers_of(place) == ()
    assert layers_from(place, place.cassettes) == ()
    assert not place.artifacts.folder.exists()


def test_a_file_is_unpacked_once(place: Place) -> None:
    packed(place, {"a": EARLY})
    (layer,) = layers_of(place)
    path = Library(layer.folder).of_case("a", "loans")
    before = path.stat().st_mtime_ns, path.stat().st_ino
    assert layers_of(place) == (layer,)
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before
    assert unpacked(place) == [layer.folder.name]


def test_threads_that_unpack_at_the_same_time_all_have_everything(place: Place) -> None:
    packed(place, {f"c{number}": EARLY for number in range(40)})
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: [len(Library(one.folder).files()) for one in layers_of(place)], range(16)))
    assert found == [[40]] * 16
    assert len(unpacked(place)) == 1


UNPACKING = """\
import sys, time
from pathlib import Path
from pytest_recall.files.eval_directory import Place
from pytest_recall.replay.cassette_library import Library
from pytest_recall.replay.run_recordings import layers_of
place = Place(Path(sys.argv[1]), Path(sys.argv[1]) / "eval")
while not Path(sys.argv[2]).exists():
    time.sleep(0.001)
print(sorted(path.name for layer in layers_of(place) for path in Library(layer.folder).files()))
"""


def test_processes_that_unpack_at_the_same_time_all_have_everything(place: Place, tmp_path: Path) -> None:
    for stem in ("one", "two"):
        packed(place, {f"{stem}-{number}": EARLY for number in range(60)}, stem=stem)
    go = tmp_path / "go"
    command = [sys.executable, "-c", UNPACKING, str(place.root), str(go)]
    begun = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    go.touch()
    ended = [process.communicate(timeout=60) for process in begun]
    assert [err for _, err in ended] == [""] * 4
    expected = sorted(f"{stem}-{number}.ndjson" for stem in ("one", "two") for number in range(60))
    assert {out for out, _ in ended} == {f"{expected}\n"}
    assert len(unpacked(place)) == 2


def test_a_file_that_is_gone_is_forgotten_and_others_are_not(place: Place) -> None:
    gone, stays = packed(place, {"a": EARLY}, stem="gone"), packed(place, {"b": EARLY}, stem="stays")
    assert len(layers_of(place)) == 2
    gone.unlink()
    assert [layer.name for layer in layers_of(place)] == [place.name(stays)]
    assert library_of_runs(place).sources(library_of_runs(place).of_case("a", "loans")) == []
    forget_unpacked(place)
    assert [name.startswith(stays.stem) for name in unpacked(place)] == [True]
    shutil.rmtree(place.run_files)
    forget_unpacked(place)
    assert unpacked(place) == []


def test_a_file_with_another_content_is_unpacked_again(place: Place) -> None:
    """As where someone resolves a conflict, or puts something into it."""
    file = packed(place, {"a": EARLY})
    assert len(library_of_runs(place).files()) == 1
    other = packed(place, {"a": EARLY, "b": EARLY}, stem="other")
    other.replace(file)
    assert [path.stem for path in library_of_runs(place).files()] == ["a", "b"]


def test_damage_is_found_after_the_file_was_unpacked_too(place: Place) -> None:
    file = packed(place, {"a": EARLY})
    layers_of(place)
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(RecallError):
        layers_of(place)


def test_a_damaged_file_leaves_nothing_behind_however_often_it_is_read(place: Place) -> None:
    file = packed(place, {"a": EARLY})
    file.write_bytes(file.read_bytes()[:-9])
    for _ in range(3):
        with pytest.raises(RecallError):
            layers_of(place)
    assert unpacked(place) == []


def test_what_another_process_is_unpacking_is_not_taken_for_the_whole(place: Place) -> None:
    """A process that was killed on the way leaves a folder with a part of it."""
    file = packed(place, {"a": EARLY, "b": EARLY})
    left = place.artifacts.folder / UNPACKED / f"{file.stem}.killed"
    left.mkdir(parents=True)
    assert len(library_of_runs(place).files()) == 2
    forget_unpacked(place)
    assert [name.startswith(file.stem) for name in unpacked(place)] == [True]


# What counts


def test_what_was_recorded_last_counts_and_not_which_file_it_is_in(place: Place) -> None:
    in_place(place, "a", "2026-03-05T09:00:00+00:00")
    packed(place, {"a": LATE, "b": EARLY}, stem="older-file")
    packed(place, {"a": EARLY, "b": LATE}, stem="newer-file", at=NOON + timedelta(hours=1))
    library = library_of_runs(place)
    assert [whose(library, case_id) for case_id in "ab"] == ["older-file", "newer-file"]
    in_place(place, "a", "2026-03-09T10:00:00+00:00")
    assert whose(library_of_runs(place), "a") == "main"


@given(st.permutations(["1", "2", "3", "4"]), st.permutations(["1", "2", "3", "4"]))
def test_all_recordings_of_a_case_are_sources_the_newest_first(days: list[str], ends: list[str]) -> None:
    """However the files lie among each other."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(Path(scratch), Path(scratch) / "eval")
        in_place(place, "a", f"2026-03-0{days[0]}T09:00:00+00:00")
        for day, end in zip(days[1:], ends[1:], strict=True):
            packed(place, {"a": f"2026-03-0{day}T09:00:00+00:00"}, stem=f"run-{day}", at=NOON + timedelta(int(end)))
        library = library_of_runs(place)
        path = library.of_case("a", "loans")
        found = [Cassette(one, "x", RULES).header["recorded_at"][9] for one in library.sources(path)]
        assert found == ["4", "3", "2", "1"]


def test_what_this_run_records_comes_before_what_was_recorded_in_the_same_second(place: Place) -> None:
    in_place(place, "a", LATE)
    packed(place, {"a": LATE})
    own = recording_folder(place, "feature", "2026-03-10T120000-1")
    write(Library(own).of_case("a", "loans"), call("own"), case="a", run="own", recorded_at=LATE)
    assert whose(Library(own, layers_from(place, own)), "a") == "own"
    shutil.rmtree(own)
    assert whose(library_of_runs(place), "a") == "one"


# Keeping


def test_what_was_recorded_becomes_one_file_and_the_folder_goes(place: Place) -> None:
    own = recording_folder(place, "feature", f"2026-03-10T120000-{os.getpid()}")
    paths = [write(Library(own).of_case(case_id, "loans"), call(case_id), case=case_id) for case_id in "ab"]
    expected = {path.relative_to(own).as_posix(): path.read_bytes() for path in paths}
    told = write_recorded(place, own, "2026-03-10-me-run", NOON)
    (file,) = place.run_files.iterdir()
    assert dict(cassettes_in(file, "x")) == expected
    assert file.name.startswith("2026-03-10-me-run-")
    assert [place.name(file) in line for line in told] == [True]
    assert not own.exists()
    assert not place.cassettes.exists()


def test_a_run_that_recorded_nothing_leaves_nothing(place: Place) -> None:
    own = recording_folder(place, "feature", "2026-03-10T120000-1")
    assert write_recorded(place, own, "stem", NOON) == []
    assert not place.run_files.exists()
    assert not own.exists()


def test_a_cassette_with_a_secret_is_left_out_and_named(place: Place) -> None:
    own = recording_folder(place, "feature", "2026-03-10T120000-1")
    library = Library(own)
    write(library.of_case("fine", "loans"), call("fine"), case="fine")
    write(library.of_case("leak", "loans"), call(f"my key is {SECRET}"), case="leak")
    assert [[path.name for path in without_secrets(own)[0]], without_secrets(own)[1]] == [
        ["fine.ndjson"],
        ["loans/leak.ndjson"],
    ]
    told = write_recorded(place, own, "stem", NOON)
    (file,) = place.run_files.iterdir()
    assert [name for name, _ in cassettes_in(file, "x")] == ["loans/fine.ndjson"]
    assert SECRET.encode() not in file.read_bytes()
    assert [line for line in told if "loans/leak.ndjson" in line]
    assert not [line for line in told if SECRET in line]
    assert not own.exists()


def test_only_secrets_are_no_file(place: Place) -> None:
    own = recording_folder(place, "feature", "2026-03-10T120000-1")
    write(Library(own).of_case("leak", "loans"), call(f"my key is {SECRET}"), case="leak")
    assert len(write_recorded(place, own, "stem", NOON)) == 1
    assert not place.run_files.exists()


def test_drafts_stay_for_the_next_run_that_records(place: Place) -> None:
    own = recording_folder(place, "feature", f"2026-03-10T120000-{ended()}")
    path = Library(own).of_case("a", "loans")
    left = draft(Library(own).new_draft(path), *conversation(2, 20), case="a", scenario="loans")
    write(Library(own).of_case("b", "loans"), call("b"), case="b")
    write_recorded(place, own, "stem", NOON)
    (file,) = place.run_files.iterdir()
    assert [name for name, _ in cassettes_in(file, "x")] == ["loans/b.ndjson"]
    data = left.read_bytes()
    after = recording_folder(place, "feature", f"2026-03-10T130000-{os.getpid()}")
    assert [one.read_bytes() for one in Library(after).drafts()] == [data]
    assert Library(after).drafts()[0].name == left.name


def ended() -> int:
    """Return the number of a process that is there no more."""
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(os.name != "posix", reason="elsewhere it cannot be asked whether a process lives")
def test_a_run_goes_on_with_the_newest_of_what_killed_runs_left_and_lets_living_ones_alone(place: Place) -> None:
    dead = ended()
    left = {"first": f"2026-03-10T080000-{dead}", "second": f"2026-03-10T090000-{dead}"}
    every = recording_folder(place, "feature", f"2026-03-10T070000-{os.getpid()}").parent
    shutil.rmtree(every)
    for run, cases in (("first", "ab"), ("second", "bc")):
        folder = every / left[run]
        for case_id in cases:
            write(Library(folder).of_case(case_id, "loans"), call(case_id), case=case_id, run=run)
    living = every / f"2026-03-10T100000-{os.getppid()}"
    write(Library(living).of_case("d", "loans"), call("d"), case="d", run="living")
    own = recording_folder(place, "feature", f"2026-03-10T120000-{os.getpid()}")
    assert {path.stem: whose(Library(own), path.stem) for path in Library(own).files()} == {
        "a": "first",
        "b": "second",
        "c": "second",
    }
    assert sorted(path.name for path in own.parent.iterdir()) == sorted([living.name, own.name])
    assert len(Library(living).files()) == 1


# Taking over


def test_a_file_is_taken_over_once_the_cassettes_have_all_of_it(place: Place) -> None:
    file = packed(place, {"a": EARLY, "b": EARLY})
    assert taken_over(place) == []
    in_place(place, "a", EARLY)
    in_place(place, "b", LATE)
    assert taken_over(place) == [], "what is there is another recording of the same age"
    taken(place, "a")
    in_place(place, "b", "2026-02-01T09:00:00+00:00")
    assert taken_over(place) == [], "what is there was recorded before"
    in_place(place, "b", LATE)
    assert taken_over(place) == [file]
    assert len(clear_taken_over(place)) == 1
    assert (list(place.run_files.iterdir()), unpacked(place)) == ([], [])
    assert clear_taken_over(place) == []


def test_only_files_that_are_held_are_deleted(place: Place) -> None:
    held, other = packed(place, {"a": EARLY}, stem="held"), packed(place, {"b": EARLY}, stem="other")
    state = place.run_files / "held.yaml"
    state.write_text("run: x\n", encoding="utf-8")
    taken(place, "a")
    clear_taken_over(place)
    assert sorted(place.run_files.iterdir()) == sorted([other, state])
    assert held not in place.run_files.iterdir()


def test_a_recording_that_shares_its_oldest_call_with_the_cassette_is_not_held(place: Place) -> None:
    """What is recorded in several runs is as old as its oldest call, on the branch and on main."""
    in_place(place, "a", EARLY)
    packed(place, {"a": EARLY}, stem="other")
    assert whose(library_of_runs(place), "a") == "other"
    assert taken_over(place) == []


def test_a_layer_names_its_file(place: Place) -> None:
    file = packed(place, {"a": LATE})
    library = library_of_runs(place)
    path = library.source(library.of_case("a", "loans"))
    assert library.name(path).startswith(place.name(file))
    assert library.name(path).endswith("loans/a.ndjson")
    assert not library.is_own(path)
    assert library.layers[-1] == Layer(place.cassettes, "eval/cassettes")
