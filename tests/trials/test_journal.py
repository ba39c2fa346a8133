"""Journal: what was written before a cut survives it, and a broken line is named."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.differences import DifferenceKind, RequestDifference
from pytest_recall.replay.exchange import Call
from pytest_recall.trials import journal as journal_module
from pytest_recall.trials.journal import (
    NAME,
    Journal,
    TrialLog,
    is_cut_off,
    read_header,
    read_journal,
    write_journal,
)
from pytest_recall.trials.record import (
    FailedItem,
    FrequentChange,
    Header,
    LetThrough,
    LostShard,
    NotCompared,
    Record,
    ReplaySummary,
    RequestChange,
    SetApart,
    Waiver,
)
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.trial import Trial
from tests.helpers.samples import (
    ERROR,
    FAILED,
    PASSED,
    POINTER,
    costly,
    cuts,
    maybe_text,
    row,
    trial,
    trials,
    unhurried,
)
from tests.schedule.state_samples import problem

HEADER = Header(
    run="2026-03-10T120000",
    date="2026-03-10",
    mode="pr",
    seed="12",
    started="2026-03-10T12:00:00+00:00",
    scheduled=True,
    writes=True,
    total=3,
    picks=(("a", "box 1"), ("b", "due"), ("c", "new")),
)
TRIALS = (
    trial("a", PASSED, reason="box 1", row=row(1)),
    trial("b", FAILED, reason="due", row=row(2)),
    trial("c", ERROR, reason="new"),
)

counts = st.integers(0, 10**6)
pairs = st.tuples(st.text(max_size=5), st.sampled_from(["box 1", "due", "new", "all", "explicit"]))
names = st.lists(st.text(max_size=5), max_size=3).map(tuple)
run_stops = st.none() | st.builds(
    RunStop,
    st.sampled_from(["budget", "outage", "uncollected"]),
    st.text(max_size=5),
    in_a_row=counts,
    usd=st.none() | st.floats(0.01, 9),
    files=names,
    in_ingest=st.booleans(),
    deselected=counts,
)
lost = st.builds(LostShard, st.sampled_from(["1/2", "2/4"]), st.sampled_from(["missing", "early"]), counts, run_stops)
differences = st.builds(
    RequestDifference, st.sampled_from(DifferenceKind), st.text(max_size=5), st.none() | st.text(max_size=5)
)
request_changes = st.builds(RequestChange, counts, st.none() | differences, counts, st.booleans())
replays = st.builds(
    ReplaySummary,
    of=counts,
    cases=counts,
    affected=counts,
    states=st.dictionaries(st.sampled_from(["changed", "unaffected"]), counts),
    live=st.booleans(),
    behind=counts,
    twice=counts,
    varying=names,
    changes=st.lists(st.builds(FrequentChange, st.text(max_size=5), counts, request_changes), max_size=2).map(tuple),
    more_changes=counts,
    lacking_headers=counts,
)
headers = st.builds(
    Header,
    quarantined=st.lists(st.builds(SetApart, st.text(max_size=5), st.dates().map(str), maybe_text), max_size=2).map(
        tuple
    ),
    settings=st.dictionaries(st.text(max_size=5), maybe_text | counts | st.dictionaries(st.text(max_size=5), counts)),
    lost=st.lists(lost, max_size=2).map(tuple),
    replayed=st.none() | replays,
    run=st.text(max_size=9),
    date=st.dates().map(str),
    mode=st.sampled_from(["pr", "nightly", "all", "explicit"]),
    seed=st.text(max_size=9),
    started=st.text(max_size=9),
    scheduled=st.booleans(),
    writes=st.booleans(),
    total=counts,
    picks=st.lists(pairs, max_size=3).map(tuple),
    state=st.text("0123456789abcdef", max_size=8),
    pr=maybe_text,
    model=maybe_text,
    reset=st.booleans(),
    whole=st.booleans(),
    files=names,
    owner=maybe_text,
    scenarios=names,
    dimensions=names,
    not_due=counts,
    over_cap=counts,
    unseen=counts,
    without_base=counts,
    next_due=st.none() | st.dates().map(str),
    orphans=names,
    swapped=counts,
    budget=st.none() | st.floats(0, 10**6, exclude_min=True),
    allowed=st.floats(0, 10),
    knows_change=st.booleans(),
    affected=names,
    request_changes=st.lists(st.tuples(st.text(max_size=5), request_changes), max_size=2).map(tuple),
    unaffordable=names,
    not_compared=st.none() | st.builds(NotCompared, st.text(max_size=5), st.text(max_size=5)),
)


def keep(folder: Path, header: Header, *done: Trial, exit_code: int | None = None) -> Path:
    """Write a journal into `folder`, which is new."""
    folder.mkdir()
    with Journal(folder, header) as journal:
        for one in done:
            journal.append(one)
        if exit_code is not None:
            journal.end(exit_code)
    return folder / NAME


def lines(folder: Path, *records: Any) -> Path:
    """Write a journal whose first line is right and whose others are `records`; return the folder."""
    path = keep(folder / "run", HEADER)
    with path.open("a", encoding="utf-8") as file:
        for record in records:
            file.write((record if isinstance(record, str) else json.dumps(record)) + "\n")
    return path.parent


RESUMED = {"kind": "resume", "started": "2026-03-10T12:00:00", "budget": None, "ledger": "", "early": ""}


@costly
@given(headers, st.lists(trials, max_size=3), st.none() | st.integers(0, 5))
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, header: Header, done: list[Trial], exit_code: int | None
) -> None:
    folder = tmp_path_factory.mktemp("run") / "run"
    path = keep(folder, header, *done, exit_code=exit_code)
    record = read_journal(folder)
    assert (record.seconds is None) == (exit_code is None)
    assert record == Record(header=header, trials=tuple(done), exit_code=exit_code, seconds=record.seconds)
    assert path.read_bytes().count(b"\n") == 1 + len(done) + (exit_code is not None)


@pytest.mark.parametrize(
    ("parts", "seconds"),
    [
        ([{"kind": "end", "exit_code": 1, "seconds": 2.5}], 2.5),
        (
            [{"kind": "end", "exit_code": 2, "seconds": 2.5}, RESUMED, {"kind": "end", "exit_code": 0, "seconds": 1}],
            3.5,
        ),
        ([RESUMED, {"kind": "end", "exit_code": 0, "seconds": 1}], None),  # It was killed before.
        ([{"kind": "end", "exit_code": 0}], None),  # Of a version that did not count them.
        ([], None),
    ],
)
def test_how_long_a_run_took(tmp_path: Path, parts: list[dict[str, Any]], seconds: float | None) -> None:
    assert read_journal(lines(tmp_path, *parts)).seconds == seconds


def test_a_trial_is_on_disk_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    with Journal(tmp_path, HEADER) as journal:
        assert read_journal(tmp_path) == Record(header=HEADER)
        for count, one in enumerate(TRIALS, start=1):
            journal.append(one)
            assert read_journal(tmp_path).trials == TRIALS[:count]
        journal.end(1)
    assert read_journal(tmp_path).exit_code == 1


RESUMED = {"kind": "resume", "started": "2026-03-10T12:00:00", "budget": None, "ledger": "", "early": ""}


@costly
@given(headers, st.lists(trials, max_size=3), st.none() | st.integers(0, 5), run_stops)
def test_written_at_once_it_reads_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    header: Header,
    done: list[Trial],
    exit_code: int | None,
    stop: RunStop | None,
) -> None:
    folder = tmp_path_factory.mktemp("run")
    header = header._replace(shard="2/4", slice=(("a", "due"), ("b", "new")))
    record = Record(header, tuple(done), exit_code, stop=stop if exit_code is not None else None)
    write_journal(folder, record)
    assert read_journal(folder) == record


def test_a_run_goes_on_behind_its_last_whole_line(tmp_path: Path) -> None:
    folder = keep(tmp_path / "run", HEADER, trial("a")).parent
    with (folder / NAME).open("ab") as file:
        file.write(b'{"kind":"trial","case_id":"b","outc')
    stop, failed = RunStop("budget", usd=5.0, kind="spent"), (FailedItem("test_x.py::test_x", "setup"),)
    with Journal.continued(folder) as journal:
        journal.resume("2026-03-10T13:00:00+00:00", 5.0, ".spent-1", "")
        journal.append(trial("b"))
        assert read_journal(folder).exit_code is None
        journal.end(2, stop, failed)
    record = read_journal(folder)
    assert [one.case_id for one in record.trials] == ["a", "b"]
    assert (record.exit_code, record.stop, record.also) == (2, stop, failed)
    assert (record.header.budget, record.header.ledger) == (5.0, ".spent-1")
    with Journal.continued(folder) as journal:
        journal.resume("2026-03-10T14:00:00+00:00", 5.0, ".spent-1", "")
    record = read_journal(folder)
    assert (record.exit_code, record.stop) == (None, None)


def test_a_journal_has_one_writer(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with Journal(tmp_path, HEADER), pytest.raises(RecallError, match="still runs"):
        Journal.continued(tmp_path)
    Journal.continued(tmp_path).close()


def test_a_journal_is_never_written_over(tmp_path: Path) -> None:
    keep(tmp_path / "run", HEADER)
    with pytest.raises(FileExistsError):
        Journal(tmp_path / "run", HEADER)


def test_amended_header_takes_the_place_of_the_first(tmp_path: Path) -> None:
    with Journal(tmp_path, HEADER) as journal:
        journal.append(TRIALS[0])
        journal.amend(HEADER._replace(started="later", picks=(("a", "box 1"),), total=1))
        journal.append(TRIALS[1])
    found = read_journal(tmp_path)
    assert found.header == HEADER._replace(picks=(("a", "box 1"),), total=1)
    assert found.trials == TRIALS[:2]


def test_cut_off_anywhere(tmp_path: Path) -> None:
    path = keep(tmp_path / "run", HEADER, *TRIALS, exit_code=0)
    whole = path.read_bytes()
    for end in cuts(whole, every=7):
        path.write_bytes(whole[:end])
        ended = whole[:end].count(b"\n")
        if ended == 0:
            message = problem(lambda: read_journal(path.parent))
            said = "the run was cut off before its first case; delete its folder, or name another run"
            assert message == f"{path}: no whole line; {said}"
        else:
            assert read_journal(path.parent) == Record(header=HEADER, trials=TRIALS[: ended - 1])


def test_cut_off_within_a_character(tmp_path: Path) -> None:
    path = keep(tmp_path / "run", HEADER, TRIALS[1]._replace(error="ü😀"), TRIALS[0])
    text = path.read_bytes()
    path.write_bytes(text[: text.index("😀".encode()) + 2])
    assert read_journal(path.parent).trials == ()


@pytest.mark.parametrize(
    "line",
    [
        '{"kind":"tri',
        "",
        "text",
        "[]",
        "5",
        "null",
        "{}",
        "[" * 100_000,
        {"kind": "trial"},
        {"kind": "trial", "case_id": "a"},
        {"kind": "trial", "outcome": "passed"},
        {"kind": "trial", "case_id": "a", "outcome": "great"},
        {"kind": "trial", "case_id": "a", "outcome": "passed", "verdicts": 5},
        {"kind": "trial", "case_id": "a", "outcome": "passed", "verdicts": [5]},
        {"kind": "trial", "case_id": "a", "outcome": "passed", "answer": "text"},
        {"kind": "trial", "case_id": "a", "outcome": "passed", "row": {"box": 1}},
        {"kind": "trial", "case_id": "a", "outcome": "passed", "row": None},
        {"kind": "amend"},
        {"kind": "amend", "version": 2, "picks": 5},
        {"kind": "end"},
        {"kind": "end", "exit_code": "soon"},
    ],
)
def test_broken_line_is_named(tmp_path: Path, line: Any) -> None:
    folder = lines(tmp_path, {"kind": "trial", **TRIALS[0].to_json()}, line, {"kind": "end", "exit_code": 0})
    message = problem(lambda: read_journal(folder))
    assert message.startswith(f"{folder / NAME}:3: not a journal line (")
    assert message.endswith("); restore the file or delete the run")


def test_lines_of_a_later_version_are_passed_over(tmp_path: Path) -> None:
    later = {"kind": "trial", **TRIALS[0].to_json(), "mood": "good"}
    assert read_journal(lines(tmp_path, {"kind": "weather", "sun": 1}, later)).trials == TRIALS[:1]


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("hello", "not a journal line (not JSON from character 1 on); restore the file"),
        ("{}", "not a journal line ('kind' is missing); restore the file"),
        ('{"kind":"run","version":2}', "not a journal line"),
        ('{"kind":"trial","case_id":"a","outcome":"passed"}', "not a journal: the first line must describe the run"),
        ('{"kind":"amend","version":1}', "not a journal: the first line must describe the run"),
        ('{"kind":"run","version":3}', "a journal of version 3, and this pytest-recall reads version 2;"),
    ],
)
def test_first_line_must_describe_the_run(tmp_path: Path, first: str, words: str) -> None:
    (tmp_path / NAME).write_text(f"{first}\n", encoding="utf-8")
    assert problem(lambda: read_journal(tmp_path)).startswith(f"{tmp_path / NAME}:1: {words}")


def test_a_pointer_of_git_lfs(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(POINTER)
    for read in (read_journal, read_header):
        assert "git lfs pull" in problem(lambda read=read: read(tmp_path))  # type: ignore[misc]


def test_no_journal(tmp_path: Path) -> None:
    assert problem(lambda: read_journal(tmp_path)).startswith(f"{tmp_path / NAME}: cannot be read (No such file")
    (tmp_path / NAME).write_bytes(b"\xff\n")
    assert problem(lambda: read_journal(tmp_path)).endswith("byte 0 is not UTF-8; save the file as UTF-8")


@pytest.mark.parametrize(
    "wrong",
    [{"date": "soon"}, {"date": None}, {"total": "three"}, {"orphans": [1]}, {"mode": ["pr"]}, {"not_due": "x"}],
)
def test_header_of_wrong_types(tmp_path: Path, wrong: dict[str, Any]) -> None:
    path = keep(tmp_path / "run", HEADER)
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **wrong}) + "\n", encoding="utf-8")
    assert problem(lambda: read_journal(path.parent)).startswith(f"{path}:1: ")


@pytest.mark.parametrize(
    "wrong", [{"case_id": 5}, {"reason": 5}, {"error": 5}, {"scenario": [1]}, {"answer": {"text": 5}}]
)
def test_trial_of_wrong_types(tmp_path: Path, wrong: dict[str, Any]) -> None:
    folder = lines(tmp_path, {"kind": "trial", "case_id": "a", "outcome": "passed", **wrong})
    assert problem(lambda: read_journal(folder)).startswith(f"{folder / NAME}:2: ")


@pytest.mark.parametrize("wrong", [{"box": "two"}, {"box": 9}, {"pass_streak": None}, {"failure_note": 5}])
def test_row_of_wrong_types(tmp_path: Path, wrong: dict[str, Any]) -> None:
    plain = TRIALS[0].to_json()
    folder = lines(tmp_path, {"kind": "trial", **plain, "row": {**plain["row"], **wrong}})
    assert problem(lambda: read_journal(folder)).startswith(f"{folder / NAME}:2: ")


def test_infinite_exit_code(tmp_path: Path) -> None:
    folder = lines(tmp_path, '{"kind":"end","exit_code":1e999}')
    assert problem(lambda: read_journal(folder)).startswith(f"{folder / NAME}:2: ")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@unhurried
@given(st.text() | json_values.map(json.dumps), st.booleans())
def test_any_line_is_a_record_or_a_sentence(tmp_path_factory: pytest.TempPathFactory, line: str, second: bool) -> None:
    folder = tmp_path_factory.mktemp("run")
    path = keep(folder / "run", HEADER)
    path.write_text((path.read_text(encoding="utf-8") if second else "") + line + "\n", encoding="utf-8")
    said: tuple[str, ...] = ()
    try:
        assert read_journal(path.parent).header == HEADER
    except RecallError as error:
        said = error.messages
    assert all(message.startswith(str(path)) for message in said)


def test_a_waiver_stands_after_the_end_and_a_run_that_goes_on_has_none(tmp_path: Path) -> None:
    waiver = Waiver("ann", "2026-03-10T13:00:00", ("b", "c"), "the provider is down")
    folder = keep(tmp_path / "run", HEADER, *TRIALS, exit_code=0).parent
    assert read_journal(folder).waiver is None
    with Journal.continued(folder) as journal:
        journal.waive(waiver)
    record = read_journal(folder)
    assert (record.waiver, record.exit_code, record.trials) == (waiver, 0, TRIALS)
    assert not is_cut_off(folder)
    write_journal(tmp_path, record)
    assert read_journal(tmp_path).waiver == waiver
    with Journal.continued(folder) as journal:
        journal.resume("2026-03-10T14:00:00", None, "", "")
    assert read_journal(folder).waiver is None


def test_the_commit_that_a_run_was_pushed_with_stands_after_the_end(tmp_path: Path) -> None:
    folder = keep(tmp_path / "run", HEADER, *TRIALS, exit_code=0).parent
    assert read_journal(folder).pushed == ""
    with Journal.continued(folder) as journal:
        journal.pushed("c" * 40)
    record = read_journal(folder)
    assert (record.pushed, record.exit_code, record.trials) == ("c" * 40, 0, TRIALS)
    assert not is_cut_off(folder)
    write_journal(tmp_path, record)
    assert read_journal(tmp_path).pushed == "c" * 40


def test_calls_that_belong_to_no_trial_are_written_again(tmp_path: Path) -> None:
    record = Record(HEADER, TRIALS, 0, (Call("judge", "live", cost=0.5),))
    write_journal(tmp_path, record)
    assert read_journal(tmp_path).calls == record.calls


def test_what_was_let_through_each_time_is_added_up_and_written_again(tmp_path: Path) -> None:
    first, second = LetThrough({"db": 1}, ("db:1",), ("git",)), LetThrough({"db": 2, "llm": 1}, (), ("git", "rg"))
    with Journal(tmp_path, HEADER) as journal:
        journal.let_through(first)
        journal.let_through(second)
    record = read_journal(tmp_path)
    assert record.let_through == LetThrough({"db": 3, "llm": 1}, ("db:1",), ("git", "rg"))
    write_journal(tmp_path, record)
    assert read_journal(tmp_path) == record


def test_where_files_have_no_locks_a_run_without_an_end_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    assert not is_cut_off(tmp_path), "there is no journal"
    with Journal(tmp_path, HEADER) as journal:
        assert is_cut_off(tmp_path)
        journal.end(0)
        assert not is_cut_off(tmp_path)


# What Ctrl-C leaves


def interrupted(taken: TrialLog, journal: Journal, before: int) -> bool:
    """Take a trial and press Ctrl-C before the line with this number; return whether there are so many."""
    left = before

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != journal_module.__file__:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    tracing = sys.gettrace()
    sys.settrace(trace)
    try:
        taken.take(trial("b"), journal)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(tracing)
    return False


def test_wherever_an_interrupt_comes_a_trial_is_in_memory_as_often_as_in_the_journal(tmp_path: Path) -> None:
    lines, counts = 0, set()
    while True:
        folder = tmp_path / str(lines)
        folder.mkdir()
        taken = TrialLog(lambda problem: None)
        with Journal(folder, HEADER) as journal:
            taken.take(trial("a"), journal)
            more = interrupted(taken, journal, lines)
            taken.complete()
        assert read_journal(folder).trials == tuple(taken.all)
        counts.add(len(taken.all))
        if not more:
            break
        lines += 1
    # Before its first line a trial has not come; from then on it is kept.
    assert counts == {1, 2}
    assert lines > 12


def test_what_cannot_be_written_is_told_and_not_written_again(tmp_path: Path) -> None:
    told: list[str] = []
    taken = TrialLog(told.append)
    with Journal(tmp_path, HEADER) as journal, Path("/dev/full").open("wb", buffering=0) as full:
        file, journal._file = journal._file, full
        taken.take(trial("a"), journal)
        journal._file = file
        taken.complete()
    assert told == [f"{tmp_path}: a was not written (No space left on device)"]
    assert [one.case_id for one in taken.all] == ["a"]
