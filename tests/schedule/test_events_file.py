"""Event files: written once, read whole or not at all."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.schedule.events import Apart, Event, Events
from pytest_recall.schedule.state import event_files, events_text, parse_events, read_events, write_events
from tests.helpers.samples import FAILED, PASSED, TODAY, dates, maybe_text, some_text, texts, unhurried
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

verdicts = st.builds(
    Event,
    some_text,
    st.sampled_from([PASSED, FAILED]),
    texts,
    texts,
    st.none() | some_text,
    st.none() | some_text,
    texts,
    st.lists(some_text, max_size=3).map(tuple),
    texts,
    st.none() | st.integers(1, 9),
    st.lists(some_text, max_size=3).map(tuple),
    st.text("pf", max_size=4),
    st.integers(0, 99),
    texts,
)
runs = st.builds(
    Events,
    some_text,
    dates,
    some_text,
    st.integers(0, 99),
    maybe_text,
    st.booleans(),
    st.none() | st.builds(Quarantine, st.integers(1, 9), some_text, st.integers(1, 90)),
    st.lists(verdicts, max_size=4).map(tuple),
    st.lists(st.builds(Apart, some_text, st.none() | dates, st.none() | dates, maybe_text), max_size=2).map(tuple),
    st.lists(some_text, max_size=3).map(tuple),
    texts,
    st.lists(some_text, max_size=3).map(tuple),
    spent=st.none() | st.floats(0, 1e6),
)


@unhurried
@given(runs)
def test_round_trip(events: Events) -> None:
    assert parse_events(events_text(events), "e") == events


def test_a_line_for_the_run_and_one_for_each_case(tmp_path: Path) -> None:
    path = write_events(tmp_path / "events", RUN)
    assert path.name == "2026-03-10-pr7-2026-03-10T120000-e28dd5.jsonl"
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == [
        {
            "version": 1,
            "run": "2026-03-10T120000",
            "date": "2026-03-10",
            "who": "pr7",
            "trials": 3,
            "pr": "7",
            "model": "m",
            "quarantine_lapses": 4,
            "quarantine_days": 30,
            "owner": "ana",
        },
        {"case": "a", "outcome": "passed", "reason": "due"},
        {"case": "b", "outcome": "failed", "note": "no “x”", "reason": "new"},
    ]
    assert read_events(path, "e") == RUN


def test_the_same_events_are_one_file_and_others_another(tmp_path: Path) -> None:
    first = write_events(tmp_path, RUN)
    before = first.stat()
    assert write_events(tmp_path, RUN) == first
    assert first.stat().st_mtime_ns == before.st_mtime_ns
    assert write_events(tmp_path, RUN._replace(trials=4)) != first
    assert len(event_files(tmp_path)) == len(list(tmp_path.iterdir())) == 2


def test_names_sort_by_day_and_are_plain(tmp_path: Path) -> None:
    for day, who, run in ((2, "pr../x y", "late"), (1, "nightly", "z")):
        write_events(tmp_path, RUN._replace(date=date(2026, 3, day), who=who, run=run))
    names = list(event_files(tmp_path))
    assert [name[:-7] for name in names] == ["2026-03-01-nightly-z", "2026-03-02-pr..-x-y-late"]


def test_other_files_are_passed_over(tmp_path: Path) -> None:
    for name in (".2026-03-01-x.jsonl", ".x.tmp", "README.md", "x.json"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert event_files(tmp_path) == {}
    assert event_files(tmp_path / "none") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "e:1: not what a run has written (it was cut off)"),
        (events_text(RUN)[:-1], "e:3: not what a run has written (it was cut off)"),
        ("\n", "e:1: not what a run has written ("),
        ('{"version": 2}\n', "e:1: version 2 is not known to this pytest-recall; upgrade it"),
        ('{"version": 1, "run": "r", "who": "pr"}\n', "e:1: not what a run has written (date is missing)"),
        ('{"version": 1, "run": 1, "who": "pr", "date": "2026-03-01"}\n', "e:1: not what a run has written (run: 1"),
        (events_text(RUN).replace("passed", "error"), "e:2: not what a run has written (error is no verdict)"),
        (events_text(RUN).replace('"case": "b"', '"case": 3'), "e:3: not what a run has written (case_id: 3"),
        (events_text(RUN) + "<<<<<<< ours\n", "e:4: not what a run has written ("),
        (events_text(RUN) + '{"case": "a"}\n', "e:4: not what a run has written (quarantined is missing)"),
    ],
)
def test_a_damaged_file_is_one_sentence(text: str, said: str) -> None:
    found = problem(lambda: parse_events(text, "e"))
    assert found.startswith(said)
    assert found.endswith(("; restore the file from git, or delete it to forget the run", "; upgrade it"))
