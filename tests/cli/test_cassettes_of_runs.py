"""The commands for cassettes, on what runs on branches have recorded: it is read as the other cassettes are."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.eval_directory import Place
from pytest_recall.replay.cassette_library import Library
from pytest_recall.replay.exchange import Exchange
from pytest_recall.replay.run_recordings import UNPACKED, pack, write_packed
from tests.cli.conftest import Recall
from tests.cli.samples import DATE, files
from tests.cli.shelves import cassette
from tests.helpers.repository import Repository
from tests.replay.recordings import call, response, write

SECRET = "sk-ant-" + "api03-Rk7Wq2Zx9Lm4Tb8Vn1Yc6Pd3Gf5Hj0Ks"
NEW, OLD = "2026-03-09T10:00:00+00:00", "2026-02-01T10:00:00+00:00"
NOON = datetime(2026, 3, 9, 12, tzinfo=UTC)


def packed(project: Path, stem: str, *cases: str, calls: tuple[Exchange, ...] = (), **header: Any) -> Path:
    """Write the file of a run that has recorded some cases, and return its path."""
    place = Place(project, project / "eval")
    with tempfile.TemporaryDirectory() as scratch:
        library = Library(Path(scratch))
        given = {"recorded_at": NEW, "scenario": "loans", **header}
        for case_id in cases:
            made = calls or (call(f"{stem} {case_id}", at=given["recorded_at"]),)
            write(library.of_case(case_id, given["scenario"]), *made, case=case_id, run=stem, **given)
        return write_packed(place.run_files, stem, pack(Path(scratch), library.files(), NOON))


def tracked(project: Path) -> dict[str, bytes]:
    """Return the files of a project but for those that git ignores."""
    return {name: data for name, data in files(project).items() if not name.startswith("eval/_artifacts/")}


def read(done: Any) -> Any:
    """Return the JSON that a command has printed."""
    assert done.err == ""
    return json.loads(done.out)


@pytest.fixture(params=["without-git", "main", "branch"])
def checkout(project: Path, request: pytest.FixtureRequest) -> Path:
    """The project, wherever these commands are run."""
    if request.param != "without-git":
        repository = Repository.at(project)
        repository.commit("Main")
        repository.git("switch", "-qC", request.param)
    return project


def test_the_list_says_which_file_a_recording_is_in(checkout: Path, inside: Recall) -> None:
    cassette(checkout, "right", recorded_at=OLD)
    file = packed(checkout, "one", "right", "worse")
    other = packed(checkout, "two", "nowhere", recorded_at=OLD)
    before = tracked(checkout)
    found = read(inside(checkout, "cassettes", "list", "--date", DATE, "--json"))["cassettes"]
    assert sorted((one["path"], one["standing"], one["recorded_at"]) for one in found) == sorted(
        [
            ("eval/cassettes/loans/right.ndjson", "case", OLD),
            (f"eval/runs/{file.name}: loans/right.ndjson", "case", NEW),
            (f"eval/runs/{file.name}: loans/worse.ndjson", "case", NEW),
            (f"eval/runs/{other.name}: loans/nowhere.ndjson", "gone", OLD),
        ]
    )
    lines = inside(checkout, "cassettes", "list", "--date", DATE).out.splitlines()
    assert len([line for line in lines if f"in eval/runs/{file.name}" in line]) == 2
    assert len([line for line in lines if other.name in line]) == 1
    assert tracked(checkout) == before


def test_with_a_folder_the_files_of_runs_are_left_out(checkout: Path, inside: Recall) -> None:
    cassette(checkout, "right")
    packed(checkout, "one", "worse")
    found = read(inside(checkout, "cassettes", "list", "--json", "--cassettes", "eval/cassettes"))["cassettes"]
    assert [one["path"] for one in found] == ["eval/cassettes/loans/right.ndjson"]


@pytest.mark.parametrize(("at", "shown"), [(NEW, "on-branch"), (OLD, "at-main")])
def test_show_shows_what_was_recorded_last(checkout: Path, inside: Recall, at: str, shown: str) -> None:
    main = "2026-03-01T09:00:00+00:00"
    cassette(checkout, "right", call(response=response("at-main"), at=main), recorded_at=main)
    file = packed(checkout, "one", "right", calls=(call(response=response("on-branch"), at=at),), recorded_at=at)
    done = inside(checkout, "cassettes", "show", "right", "--date", DATE)
    assert (done.code, done.err) == (0, "")
    assert [text for text in ("on-branch", "at-main") if text in done.out] == [shown]
    assert (file.name in done.out) == (shown == "on-branch")


def test_show_takes_the_names_that_the_list_gives(project: Path, inside: Recall) -> None:
    cassette(project, "right", call(response=response("at-main")), recorded_at=OLD)
    packed(project, "one", "right", calls=(call(response=response("in-one")),))
    packed(project, "two", "right", calls=(call(response=response("in-two")),), recorded_at=OLD)
    found = read(inside(project, "cassettes", "list", "--json", "--date", DATE))["cassettes"]
    shown = [inside(project, "cassettes", "show", one["path"], "--date", DATE) for one in found]
    assert [done.code for done in shown] == [0, 0, 0]
    texts = [text for done in shown for text in ("at-main", "in-one", "in-two") if text in done.out]
    assert sorted(texts) == ["at-main", "in-one", "in-two"]


@pytest.mark.parametrize("given", ["right", "loans/right", "loans/right.ndjson"])
@pytest.mark.parametrize("at", [NEW, OLD])
def test_a_case_and_a_path_among_the_cassettes_are_the_recording_that_counts(
    project: Path, inside: Recall, given: str, at: str
) -> None:
    main = "2026-03-01T09:00:00+00:00"
    cassette(project, "right", call(response=response("at-main"), at=main), recorded_at=main)
    packed(project, "one", "right", calls=(call(response=response("on-branch"), at=at),), recorded_at=at)
    done = inside(project, "cassettes", "show", given, "--date", DATE)
    assert done.code == 0
    assert ("on-branch" in done.out, "at-main" in done.out) == (at == NEW, at == OLD)


def test_a_path_among_the_cassettes_is_found_where_only_a_branch_has_recorded_it(project: Path, inside: Recall) -> None:
    packed(project, "one", "right", calls=(call(response=response("on-branch")),))
    assert "on-branch" in inside(project, "cassettes", "show", "loans/right", "--date", DATE).out


def test_show_shows_all_that_is_in_a_file_of_recordings(project: Path, inside: Recall) -> None:
    cassette(project, "right", call(response=response("at-main")))
    path = packed(project, "one", "right", "worse", calls=(call(response=response("on-branch")),))
    file = f"eval/runs/{path.name}"
    names = [f"{file}: loans/right.ndjson", f"{file}: loans/worse.ndjson"]
    each = [read(inside(project, "cassettes", "show", name, "--json")) for name in names]
    packed(project, "two", "crash").write_bytes(b"cut off")
    done = inside(project, "cassettes", "show", file, "--date", DATE)
    assert (done.code, done.err) == (0, "")
    assert [line for line in done.out.splitlines() if line.startswith("eval/")] == [f"{file}: 2 recordings", *names]
    assert (done.out.count("on-branch"), done.out.count("at-main")) == (2, 0)
    found = read(inside(project, "cassettes", "show", file, "--json"))
    assert found == {"path": file, "recordings": each}


def test_show_says_where_a_file_of_recordings_is_cut_off(project: Path, inside: Recall) -> None:
    file = packed(project, "one", "right")
    file.write_bytes(file.read_bytes()[:-5])
    done = inside(project, "cassettes", "show", f"eval/runs/{file.name}")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"recall: eval/runs/{file.name}:")


@pytest.mark.parametrize("more", [(), ("--cassettes", "eval/cassettes")])
@pytest.mark.parametrize("command", [("show", "--call", "1"), ("export", "out.yaml")])
def test_of_a_file_of_recordings_it_is_said_what_to_give(
    project: Path, inside: Recall, command: tuple[str, ...], more: tuple[str, ...]
) -> None:
    cassette(project, "nowhere")
    file = f"eval/runs/{packed(project, 'one', 'right', 'worse').name}"
    done = inside(project, "cassettes", command[0], file, *command[1:], *more)
    assert (done.code, done.out) == (2, "")
    assert done.err.strip() == (
        f"recall: {file}: is a file of 2 recordings (loans/right.ndjson, loans/worse.ndjson);"
        f' {"leave out --cassettes, and " if more else ""}give one of them, such as "{file}: loans/right.ndjson"'
    )


def test_the_list_marks_which_of_several_recordings_counts(project: Path, inside: Recall) -> None:
    cassette(project, "right", recorded_at=OLD)
    cassette(project, "worse", recorded_at=NEW)
    cassette(project, "nowhere")
    file = packed(project, "one", "right", "worse", recorded_at="2026-03-05T09:00:00+00:00")
    found = read(inside(project, "cassettes", "list", "--date", DATE, "--json"))["cassettes"]
    assert {one["path"]: one["counts"] for one in found} == {
        "eval/cassettes/loans/nowhere.ndjson": True,
        "eval/cassettes/loans/right.ndjson": False,
        "eval/cassettes/loans/worse.ndjson": True,
        f"eval/runs/{file.name}: loans/right.ndjson": True,
        f"eval/runs/{file.name}: loans/worse.ndjson": False,
    }
    only, *several = inside(project, "cassettes", "list", "--date", DATE).out.splitlines()[1:-1]
    assert "count" not in only
    marks = [
        (f"in eval/runs/{file.name}" in line, "does not count" in line, line.endswith(("small-1  counts", ", counts")))
        for line in several
    ]
    assert marks == [(False, True, False), (True, False, True), (False, False, True), (True, True, False)]


def test_the_list_says_why_a_recording_does_not_count(project: Path, inside: Recall) -> None:
    later, same = "2026-03-05T09:00:00+00:00", "2026-03-01T09:00:00+00:00"
    cassette(project, "right", recorded_at=OLD)
    cassette(project, "worse", recorded_at=NEW)
    cassette(project, "crash", recorded_at=same)
    file = f"eval/runs/{packed(project, 'one', 'right', 'worse', recorded_at=later).name}"
    other = f"eval/runs/{packed(project, 'two', 'crash', recorded_at=same).name}"
    found = read(inside(project, "cassettes", "list", "--date", DATE, "--json"))["cassettes"]
    why = {one["path"]: one["why"] for one in found if one["why"]}
    assert why == {
        "eval/cassettes/loans/crash.ndjson": f"{other}: loans/crash.ndjson was recorded at the same time, and is read"
        " first",
        "eval/cassettes/loans/right.ndjson": f"{file}: loans/right.ndjson was recorded later, at {later}",
        f"{file}: loans/worse.ndjson": f"eval/cassettes/loans/worse.ndjson was recorded later, at {NEW}",
    }
    lines = inside(project, "cassettes", "list", "--date", DATE).out.splitlines()
    assert all(any(f"does not count: {one}" in line for line in lines) for one in why.values())


def test_where_one_of_several_is_damaged_none_is_known_to_count(project: Path, inside: Recall) -> None:
    cassette(project, "right", recorded_at=OLD)
    file = packed(project, "one", "right", calls=(call(),))
    file.write_bytes(file.read_bytes().replace(b'"case":"right"', b'"case":"wrong"'))
    found = read(inside(project, "cassettes", "list", "--date", DATE, "--json"))["cassettes"]
    assert [one["counts"] for one in found] == [None, None]
    (why,) = [one["why"] for one in found if one["standing"] != "damaged"]
    assert why.startswith(f"eval/runs/{file.name}: loans/right.ndjson:1: damaged (")
    assert f"not known whether it counts: {why}" in inside(project, "cassettes", "list").out


def test_verify_counts_a_file_that_cannot_be_unpacked_as_a_file(project: Path, inside: Recall) -> None:
    cassette(project, "right")
    file = packed(project, "one", "right", "worse")
    file.write_bytes(file.read_bytes()[:-5])
    done = inside(project, "cassettes", "verify")
    assert done.code == 1
    assert done.out.splitlines()[-1] == "1 damaged file of recordings cannot be relied on"
    cassette(project, "worse").rename(project / "eval/cassettes/loans/crash.ndjson")
    assert inside(project, "cassettes", "verify").out.splitlines()[-1] == (
        "1 of 2 cassettes and 1 damaged file of recordings cannot be relied on"
    )


@pytest.mark.parametrize("old", [b"How long", b'"case":"right"', b'"recordings":1}', b'"path":"loans/r'])
def test_check_finds_what_verify_finds_in_the_file_of_a_run(checkout: Path, inside: Recall, old: bytes) -> None:
    file = packed(checkout, "one", "right", calls=(call(),))
    assert inside(checkout, "check").code == 0
    data = file.read_bytes()
    file.write_bytes(data.replace(old, old.replace(b"o", b"0").replace(b"r", b"R")))
    problems = read(inside(checkout, "cassettes", "verify", "--json"))["problems"]
    done = inside(checkout, "check")
    assert done.code == 1
    assert done.err.splitlines() == [f"recall: {problem}" for problem in problems] != []
    assert file.name in done.err


def test_verify_reads_the_files_of_runs(checkout: Path, inside: Recall) -> None:
    cassette(checkout, "right")
    file = packed(checkout, "one", "right", "worse")
    assert inside(checkout, "cassettes", "verify").code == 0
    assert read(inside(checkout, "cassettes", "verify", "--json")) == {"cassettes": 3, "calls": 3, "problems": []}
    file.rename(file.with_stem("renamed"))
    assert read(inside(checkout, "cassettes", "verify", "--json"))["cassettes"] == 3


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        (b"How long", b"How l0ng", "loans/right.ndjson"),
        (b'"path":"loans/right', b'"path":"loans/wrong', ""),
        (b'"recordings":1}', b'"recordings":2}', ""),
    ],
)
def test_verify_finds_damage_in_the_file_of_a_run(
    checkout: Path, inside: Recall, old: bytes, new: bytes, where: str
) -> None:
    file = packed(checkout, "one", "right", calls=(call(),))
    data = file.read_bytes()
    assert old in data
    file.write_bytes(data.replace(old, new))
    done = inside(checkout, "cassettes", "verify")
    assert done.code != 0
    assert file.name in done.out + done.err
    assert where in done.out + done.err


def test_verify_finds_a_cassette_in_the_place_of_another(project: Path, inside: Recall) -> None:
    place = Place(project, project / "eval")
    with tempfile.TemporaryDirectory() as scratch:
        path = write(Library(Path(scratch)).of_case("worse", "loans"), call(), case="right")
        file = write_packed(place.run_files, "one", pack(Path(scratch), [path], NOON))
    done = inside(project, "cassettes", "verify")
    assert done.code == 1
    assert f"{file.name}: loans/worse.ndjson" in done.out


def with_secret(file: Path) -> None:
    """Put a secret into the file of a run, as someone does who edits it."""
    file.write_bytes(file.read_bytes().replace(b"How long is a loan?", SECRET.encode()))


def test_scan_finds_a_secret_that_was_put_into_the_file_of_a_run(checkout: Path, inside: Recall) -> None:
    cassette(checkout, "right")
    clean, file = packed(checkout, "one", "right"), packed(checkout, "two", "worse", calls=(call(),))
    with_secret(file)
    done = inside(checkout, "cassettes", "scan", "--json")
    assert done.code == 1
    found = read(done)
    assert {one["path"] for one in found["findings"]} == {f"eval/runs/{file.name}: loans/worse.ndjson"}
    assert clean.name not in done.out
    assert SECRET not in done.out


def test_scan_finds_a_secret_that_was_put_into_a_file_that_was_read_before(project: Path, inside: Recall) -> None:
    file = packed(project, "one", "worse", calls=(call(),))
    assert inside(project, "cassettes", "scan").code == 0
    with_secret(file)
    assert inside(project, "cassettes", "scan").code == 1


def test_scan_searches_the_others_where_the_file_of_a_run_is_damaged(project: Path, inside: Recall) -> None:
    cassette(project, "right", call(f"my key is {SECRET}"))
    file = packed(project, "one", "worse")
    file.write_bytes(file.read_bytes()[:-5])
    assert read(inside(project, "cassettes", "scan", "--json"))["findings"]


def test_prune_keeps_a_file_of_which_something_is_to_be_taken_over(checkout: Path, inside: Recall) -> None:
    own = cassette(checkout, "nowhere")
    file = packed(checkout, "one", "nowhere", "elsewhere", "right")
    before = tracked(checkout)
    done = inside(checkout, "cassettes", "prune", "--dry-run")
    assert (done.code, done.err, tracked(checkout)) == (0, "", before)
    deleted = [line for line in done.out.splitlines() if line.startswith("would delete  ")]
    assert len(deleted) == 1
    assert "eval/cassettes/loans/nowhere.ndjson" in deleted[0]
    (kept,) = [line for line in done.out.splitlines() if line.startswith("kept  ")]
    assert kept == (
        f"kept  eval/runs/{file.name}  eval/cassettes lacks loans/right.ndjson of it; `pytest -p recall eval"
        " --record=missing` on the default branch takes over what is asked there; delete the file if that is asked no"
        " more"
    )
    assert inside(checkout, "cassettes", "prune").code == 0
    del before[own.relative_to(checkout).as_posix()]
    after = tracked(checkout)
    assert {name: after[name] for name in before} == before
    assert file.exists()


def test_prune_deletes_a_file_of_which_nothing_is_to_be_taken_over(checkout: Path, inside: Recall) -> None:
    cassette(checkout, "right", recorded_at="2026-03-10T10:00:00+00:00")
    file = packed(checkout, "one", "nowhere", "elsewhere", "right")
    other = packed(checkout, "two", "worse")
    before = tracked(checkout)
    said = inside(checkout, "cassettes", "prune", "--dry-run")
    assert tracked(checkout) == before
    done = inside(checkout, "cassettes", "prune")
    assert (done.code, done.err) == (0, "")
    name, size = f"eval/runs/{file.name}", f"{len(before[f'eval/runs/{file.name}']) / 1024:.1f} KB"
    lines = [line for line in said.out.splitlines() if not line.startswith("kept  ")]
    assert lines == [
        f"would delete  {name}  eval/cassettes has its recordings; of cases that are gone: loans/elsewhere.ndjson,"
        " loans/nowhere.ndjson",
        f"would delete 0 cassettes and 0 drafts, 1 file of recordings, {size}",
    ]
    assert done.out == said.out.replace("would delete", "deleted")
    after = tracked(checkout)
    assert before.keys() - after.keys() == {name}
    assert {path: after[path] for path in after} == {path: before[path] for path in after}
    assert [path.name.startswith("two") for path in (checkout / "eval/_artifacts" / UNPACKED).iterdir()] == [True]
    assert other.exists()


def test_on_the_default_branch_prune_names_each_file_that_waits(project: Path, inside: Recall) -> None:
    """On a branch it is what the branch has recorded."""
    repository = Repository.at(project)
    repository.commit("Main")
    repository.git("switch", "-qC", "main")
    file = packed(project, "one", "right")
    assert file.name in inside(project, "cassettes", "prune").out
    repository.git("switch", "-qC", "feature")
    assert inside(project, "cassettes", "prune").out == "nothing to delete\n"


@pytest.mark.parametrize("state", ["row", "damaged", "folder"])
def test_prune_leaves_a_file_that_it_cannot_judge(project: Path, inside: Recall, state: str) -> None:
    case_id = "gone" if state == "row" else "nowhere"  # The former has a row.
    file = packed(project, "one", case_id, calls=(call(),))
    if state == "damaged":
        file.write_bytes(file.read_bytes().replace(b"How long", b"How l0ng"))
    folder = ("--cassettes", "eval/cassettes") if state == "folder" else ()
    cassette(project, "right")
    done = inside(project, "cassettes", "prune", *folder)
    assert done.code == (state == "damaged")
    assert file.exists()
    assert (file.name in done.out) == (state != "folder")


def test_prune_goes_on_where_a_file_is_cut_off(project: Path, inside: Recall) -> None:
    own = cassette(project, "nowhere")
    cut, gone = packed(project, "one", "right"), packed(project, "two", "elsewhere")
    cut.write_bytes(cut.read_bytes()[:-5])
    number = cut.read_bytes().count(b"\n") + 1
    done = inside(project, "cassettes", "prune")
    assert (done.code, done.err) == (1, "")
    assert f"kept  eval/runs/{cut.name}:{number}: was cut off; restore the file from git, or delete it\n" in done.out
    assert (own.exists(), gone.exists(), cut.exists()) == (False, False, True)


def test_export_takes_a_recording_out_of_the_file_of_a_run(checkout: Path, inside: Recall) -> None:
    cassette(checkout, "right", call(response=response("at-main")), recorded_at=OLD)
    packed(checkout, "one", "right", calls=(call(response=response("on-branch")),))
    done = inside(checkout, "cassettes", "export", "right", "out.yaml")
    assert (done.code, done.err) == (0, "")
    text = (checkout / "out.yaml").read_text(encoding="utf-8")
    assert ("on-branch" in text, "at-main" in text) == (True, False)


def test_a_recording_of_a_branch_cannot_be_moved(checkout: Path, inside: Recall) -> None:
    packed(checkout, "one", "old")
    before = tracked(checkout)
    done = inside(checkout, "cassettes", "move", "old", "right")
    assert (done.code, done.out) == (2, "")
    assert tracked(checkout) == before


@pytest.mark.parametrize("command", ["list", "verify", "scan", "prune"])
def test_another_file_in_the_folder_is_named(project: Path, inside: Recall, command: str) -> None:
    packed(project, "one", "right")
    (project / "eval/runs/notes.ndjson").write_text("mine\n", encoding="utf-8")
    done = inside(project, "cassettes", command)
    assert done.code != 0
    assert "eval/runs/notes.ndjson:1: " in done.err + done.out
    assert "Traceback" not in done.err


def test_what_is_unpacked_stays_out_of_git(project: Path, inside: Recall) -> None:
    repository = Repository.at(project)
    packed(project, "one", "right")
    repository.commit("Main")
    inside(project, "cassettes", "list")
    assert (project / "eval/_artifacts" / UNPACKED).is_dir()
    assert repository.git("status", "--porcelain", "--untracked-files=all") == ""
