"""Run files: written once, read whole or not at all, and rows of the state before and after a run."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.files import strict_yaml
from pytest_recall.files.errors import RecallError
from pytest_recall.schedule.events import Apart, Event, Events, fold_events
from pytest_recall.schedule.run_file import (
    name_of,
    not_held,
    parse_run_file,
    read_run_file,
    run_file_text,
    run_files,
    trials_known,
    write_run_file,
)
from pytest_recall.schedule.state_file import row_of
from pytest_recall.trials.trial import Row
from tests.helpers.samples import (
    FAILED,
    PASSED,
    TODAY,
    case_ids,
    changes,
    costly,
    cuts,
    dates,
    days,
    maybe_text,
    row,
    rows,
    some_text,
    texts,
    unhurried,
)
from tests.schedule.state_samples import problem

RUN = Events(
    run="2026-03-10T120000",
    date=TODAY,
    who="pr7",
    trials=3,
    model="m",
    quarantine=Quarantine(4, "ana"),
    verdicts=(Event("a", PASSED, "", "due", "7", "m"), Event("b", FAILED, "no “x”", "new", "7", "m")),
)
BEFORE = {"a": row(2, 2), "b": row(3, 3, lapses=1), "z": row(4, 4)}
FIX = "; restore the file from git, or delete it to forget the run"

TRICKY = [
    "null",
    "No",
    "2026-01-31",
    "1",
    "1.5",
    "<<<<<<<",
    "a: b",
    "{",
    " #",
    "a\nb",
    "\u2028",
    "\ufeff",
    "~",
    "'",
    '"',
]
text = texts | st.sampled_from(TRICKY)
maybe = maybe_text | st.sampled_from(TRICKY)
ids = case_ids | st.sampled_from(TRICKY)
events_of_verdicts = st.builds(
    Event,
    ids,
    st.sampled_from([PASSED, FAILED]),
    text,
    text,
    maybe,
    maybe,
    text,
    st.lists(changes, max_size=3).map(tuple),
    st.just("") | text,
    st.none() | st.integers(0, 9),
    st.text("pf", max_size=4),
    st.integers(0, 99),
    st.booleans(),
    run=text,
    earlier=st.none(),
)
aparts = st.builds(Apart, ids, st.none() | dates, st.none() | dates, maybe)


def by_case(found: list[Event] | list[Apart]) -> tuple[Event | Apart, ...]:
    """Return what is told of each case, once, in the order of the file."""
    return tuple(one for _, one in sorted({one.case_id: one for one in found}.items()))


one_run = st.builds(
    Events,
    text,
    dates,
    text,
    st.integers(0, 99),
    maybe,
    st.booleans(),
    st.none() | st.builds(Quarantine, st.integers(1, 9), some_text),
    st.lists(events_of_verdicts, max_size=4).map(by_case),
    st.lists(aparts, max_size=2).map(by_case),
    st.lists(ids, max_size=3, unique=True).map(tuple),
    st.just("") | changes,
    st.lists(ids, max_size=3, unique=True).map(tuple),
    st.just("") | st.text("0123456789abcdef", min_size=40, max_size=40) | text,
    text,
    behind=st.dictionaries(ids, text, max_size=3).map(lambda found: tuple(found.items())),
)
befores: st.SearchStrategy[dict[str, Row]] = st.dictionaries(ids, rows(), max_size=4)


# What is written


@unhurried
@given(one_run, befores)
def test_what_is_read_is_what_was_written(run: Events, before: dict[str, Row]) -> None:
    name = f"eval/runs/{name_of(run)}.yaml"
    assert parse_run_file(run_file_text(run, before), name) == run
    assert parse_run_file(run_file_text(run), name) == run


@costly
@given(one_run, befores)
def test_a_fold_over_the_rows_before_gives_the_rows_after(run: Events, before: dict[str, Row]) -> None:
    written = run_file_text(run, before)
    told = strict_yaml.load(written, "r")["cases"] or {}
    found = {**before, **fold_events(before, {"r": parse_run_file(written, "r")})}
    assert {case_id: row_of(one["after"]) for case_id, one in told.items() if "after" in one} == {
        case_id: found[case_id] for case_id in told if case_id in found
    }
    assert {case_id: row_of(one["before"]) for case_id, one in told.items() if "before" in one} == {
        case_id: before[case_id] for case_id in told if case_id in before
    }
    # What it does not name it leaves as it was.
    assert all(found[case_id] == before.get(case_id) for case_id in found.keys() - told.keys())


def test_a_case_has_its_row_before_and_after_and_its_verdict(tmp_path: Path) -> None:
    path = write_run_file(tmp_path / "runs", RUN, BEFORE)
    after = {**BEFORE, **fold_events(BEFORE, {"": RUN})}
    plain = strict_yaml.load(path.read_text(encoding="utf-8"), "r")
    assert {key: value for key, value in plain.items() if key != "cases"} == {
        "version": 1,
        "run": "2026-03-10T120000",
        "date": "2026-03-10",
        "who": "pr7",
        "trials": 3,
        "model": "m",
        "quarantine": {"lapses": 4, "owner": "ana"},
    }
    assert {case_id: one["verdict"] for case_id, one in plain["cases"].items()} == {
        "a": {"outcome": "passed", "reason": "due", "pr": "7", "model": "m"},
        "b": {"outcome": "failed", "note": "no “x”", "reason": "new", "pr": "7", "model": "m"},
    }
    for case_id, one in plain["cases"].items():
        assert (row_of(one["before"]), row_of(one["after"])) == (BEFORE[case_id], after[case_id])
    assert (after["a"].box, after["b"].box, after["b"].lapses) == (3, 1, 2)
    assert read_run_file(path, "r") == RUN


def test_a_new_case_has_no_row_before() -> None:
    told = strict_yaml.load(run_file_text(RUN, {}), "r")["cases"]
    assert [sorted(one) for one in told.values()] == [["after", "verdict"], ["after", "verdict"]]


def test_rows_that_a_reset_alone_has_moved_are_shown() -> None:
    swap = RUN._replace(model="m2", reset=True)
    before = {"z": row(4, 4, last_model="m1"), "y": row(1, 1, last_model="m2")}
    told = strict_yaml.load(run_file_text(swap, before), "r")["cases"]
    assert sorted(told) == ["a", "b", "z"]
    assert (told["z"]["before"]["box"], told["z"]["after"]["box"], "verdict" in told["z"]) == (4, 1, False)


# Names


def test_the_name_has_the_day_the_run_its_trials_and_a_digest(tmp_path: Path) -> None:
    path = write_run_file(tmp_path, RUN, BEFORE)
    assert re.fullmatch(r"2026-03-10-pr7-2026-03-10T120000-3-[0-9a-f]{6}\.yaml", path.name)
    assert path.stem == name_of(RUN)
    # The digest is of what a fold takes from it, whatever the rows were.
    assert write_run_file(tmp_path, RUN, {}) == path


@pytest.mark.parametrize("commit", ["c" * 40, "1234567e" * 5, "0" * 40, "123e4567" * 5])
def test_the_name_has_the_first_digits_of_the_commit_where_one_is_known(tmp_path: Path, commit: str) -> None:
    run = RUN._replace(commit=commit)
    path = write_run_file(tmp_path, run, BEFORE)
    assert re.fullmatch(rf"2026-03-10-pr7-2026-03-10T120000-{commit[:7]}-3-[0-9a-f]{{6}}\.yaml", path.name)
    plain = strict_yaml.load(path.read_text(encoding="utf-8"), "r")
    assert plain["commit"] == commit
    assert read_run_file(path, path.name) == run
    assert "commit" not in strict_yaml.load(run_file_text(RUN), "r")


def test_runs_of_one_name_at_different_commits_are_different_runs() -> None:
    """As those of two clones that began in the same second."""
    one, other = (RUN._replace(commit=digit * 40, trials=count) for digit, count in (("a", 9), ("b", 3)))
    assert trials_known(one, [name_of(other)]) is None
    assert not_held([name_of(other)], [name_of(one)]) == [name_of(other)]
    assert name_of(RUN) != name_of(RUN._replace(commit="a" * 40))


def test_the_same_run_is_one_file_and_what_goes_on_another(tmp_path: Path) -> None:
    first = write_run_file(tmp_path, RUN, BEFORE)
    before = first.stat()
    assert write_run_file(tmp_path, RUN, BEFORE) == first
    assert first.stat().st_mtime_ns == before.st_mtime_ns
    assert write_run_file(tmp_path, RUN._replace(trials=4), BEFORE) != first
    assert sorted(run_files(tmp_path).values()) == sorted(tmp_path.iterdir())
    assert len(run_files(tmp_path)) == 2


def test_names_sort_by_day_and_are_plain(tmp_path: Path) -> None:
    for day, who, run in ((2, "pr../x y", "late"), (1, "nightly", "z")):
        write_run_file(tmp_path, RUN._replace(date=date(2026, 3, day), who=who, run=run), {})
    names = list(run_files(tmp_path))
    assert [name[:-9] for name in names] == ["2026-03-01-nightly-z", "2026-03-02-pr..-x-y-late"]


def test_other_files_are_passed_over(tmp_path: Path) -> None:
    for name in (".2026-03-01-x.yaml", ".x.tmp", "README.md", "x.jsonl"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert run_files(tmp_path) == {}
    assert run_files(tmp_path / "none") == {}


def test_the_most_trials_of_a_run_are_known_by_names() -> None:
    parts = [name_of(RUN._replace(trials=count)) for count in (9, 10, 2)]
    others = [name_of(RUN._replace(run=f"{RUN.run}-2", trials=99)), name_of(RUN._replace(who="pr8", trials=77)), "mine"]
    assert trials_known(RUN, [*parts, *others]) == 10
    assert trials_known(RUN, parts[2:]) == 2
    assert trials_known(RUN, others) is None


def test_a_file_is_held_by_its_name_and_by_more_trials_of_its_run() -> None:
    few, some, many = (name_of(RUN._replace(trials=count)) for count in (2, 9, 10))
    alike = name_of(RUN._replace(trials=9, model="m2"))
    other = name_of(RUN._replace(run="2026-03-10T120001", trials=1))
    names = [few, some, many, alike, other, "by-hand"]
    assert not_held(names, []) == names
    assert not_held(names, [many]) == [other, "by-hand"]
    assert not_held(names, [some]) == [many, alike, other, "by-hand"]
    assert not_held(names, [few, some, "by-hand"]) == [many, alike, other]
    assert not_held(names, [other]) == [few, some, many, alike, "by-hand"]


# Damage


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "e:1: not what a run has written (`version` is missing)"),
        ("\n", "e:1: not what a run has written (`version` is missing)"),
        ("- a\n", "e:1: not what a run has written (`version` is missing)"),
        ("version: 2\n", "e:1: version 2 is not known to this pytest-recall; upgrade it"),
        ("version: 1\nrun: r\nwho: pr\n", "e:1: not what a run has written (date is missing)"),
        ("version: 1\nrun: 1\nwho: pr\ndate: 2026-03-01\n", "e:1: not what a run has written (run: 1"),
        ("version: 1\nrun: r\nwho: pr\ndate: soon\n", "e:1: not what a run has written (date: 'soon' is not a date"),
        (run_file_text(RUN).replace("outcome: passed", "outcome: error"), "e:12: not what a run has written (a: error"),
        (
            run_file_text(RUN).replace("outcome: failed", "outcome: x"),
            "e:15: not what a run has written (b: 'x' is not",
        ),
        (
            run_file_text(RUN).replace("reason: new", "weighed: pfx"),
            "e:15: not what a run has written (b: weighed: 'pf",
        ),
        (run_file_text(RUN).replace("reason: new", "reason: 3"), "e:15: not what a run has written (b: reason: 3"),
        (run_file_text(RUN).replace("box: 1", "box: 7"), "e:12: not what a run has written (a: box: must be 1 to 5"),
        (run_file_text(RUN) + "<<<<<<< ours\n", "e:17: not what a run has written (merge-conflict marker)"),
        (run_file_text(RUN) + "    quarantine: {until: soon}\n", "e:15: not what a run has written (b: until: 'soon'"),
        (run_file_text(RUN).replace("lapses: 4", "lapses: few"), "e:3: not what a run has written (lapses: must be a"),
    ],
)
def test_a_damaged_file_is_named_with_its_line_and_what_to_do(text: str, said: str) -> None:
    found = problem(lambda: parse_run_file(text, "e"))
    assert found.startswith(said)
    if "not what a run" in said:
        assert found.endswith(FIX)


@pytest.mark.parametrize("before", [BEFORE, {}], ids=["known", "new"])
def test_a_file_that_was_cut_anywhere_is_refused(before: dict[str, Row]) -> None:
    written = run_file_text(RUN._replace(apart=(Apart("z", TODAY, None, "bo"),), unanswered=("c",)), before)
    name = f"eval/runs/{name_of(parse_run_file(written, 'r'))}.yaml"
    data = written.encode()
    for at in range(len(data) - 1):  # What lacks its last line end alone is whole.
        with pytest.raises(RecallError) as refused:
            parse_run_file(data[:at].decode("utf-8", "replace"), name)
        (message,) = refused.value.messages
        assert message.startswith(f"{name}:")
        assert message.endswith(FIX), at
    assert parse_run_file(data[:-1].decode(), name) == parse_run_file(written, name)


@costly
@given(one_run, befores, st.data())
def test_no_cut_of_a_run_file_changes_what_is_folded(run: Events, before: dict[str, Row], data: st.DataObject) -> None:
    name = f"eval/runs/{name_of(run)}.yaml"
    written = run_file_text(run, before)
    places = [place for place in cuts(written.encode(), every=17) if place]
    at = data.draw(st.sampled_from(places))
    try:
        found = parse_run_file(written.encode()[:at].decode("utf-8", "replace"), name)
    except RecallError:
        return
    assert found == run, "rows alone may be lost, as those that a reset has moved: a fold takes none from the file"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("outcome: failed", "outcome: passed"),
        ("who: pr7", "who: pr8"),
        ("trials: 3", "trials: 2"),
        ("date: 2026-03-10", "date: 2026-03-11"),
        ("lapses: 4", "lapses: 5"),
        ("  b:\n", "  c:\n"),
        ('pr: "7"', 'pr: "8"'),
    ],
)
def test_an_edited_file_is_noticed_by_its_name(tmp_path: Path, old: str, new: str) -> None:
    path = write_run_file(tmp_path, RUN, BEFORE)
    written = path.read_text(encoding="utf-8")
    assert old in written
    path.write_text(written.replace(old, new), encoding="utf-8")
    said = problem(lambda: read_run_file(path, f"eval/runs/{path.name}"))
    assert said.startswith(f"eval/runs/{path.name}:3: not what a run has written (lines were lost or changed: ")
    assert said.endswith(FIX)


def test_whole_cases_that_are_lost_are_noticed_by_the_name(tmp_path: Path) -> None:
    path = write_run_file(tmp_path, RUN, BEFORE)
    written = path.read_text(encoding="utf-8")
    path.write_bytes(written.replace("\n", "\r\n").encode())  # As git checks it out on Windows.
    assert read_run_file(path, path.name) == RUN
    for start in ("  a:\n", "  b:\n", "cases:\n"):
        path.write_text(written[: written.index(start)], encoding="utf-8")
        with pytest.raises(RecallError, match=f"^eval/runs/{path.name}:3: not what a run has written"):
            read_run_file(path, f"eval/runs/{path.name}")


def test_a_file_in_a_commit_is_held_to_its_name_as_well() -> None:
    told = run_file_text(RUN).replace("outcome: failed", "outcome: passed")
    with pytest.raises(RecallError, match="lines were lost or changed"):
        parse_run_file(told, f"main:eval/runs/{name_of(RUN)}.yaml")
    # A file with a name of its own is believed.
    assert parse_run_file(told, "main:eval/runs/mine.yaml").verdicts[1].outcome is PASSED


def test_a_folder_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    assert problem(lambda: run_files(tmp_path / "runs")).startswith(f"{tmp_path / 'runs'}: cannot be read (")


def test_a_day_of_tomorrow_is_another_name() -> None:
    assert name_of(RUN._replace(date=TODAY + days(1))).startswith("2026-03-11-")
