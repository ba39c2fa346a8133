"""What a report is read from beside its journal: recorded calls and earlier runs, whole or not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pytest_recall.files.eval_directory import Place
from pytest_recall.replay.cassette_library import Layer, Library
from pytest_recall.replay.exchange import Failure
from pytest_recall.results.report import RecordedCalls, RunReport, Upstream
from pytest_recall.runs.report_files import ReportSources, report
from pytest_recall.trials.journal import NAME, write_journal
from pytest_recall.trials.record import Record
from tests.helpers.samples import ERROR, FAILED, TODAY, header, trial
from tests.replay.recordings import CHAT, call, write
from tests.runs.folding import NOON, journal


@pytest.fixture
def library(place: Place) -> Library:
    """Cassettes."""
    return Library(place.cassettes, (Layer(place.cassettes, place.name(place.cassettes)),))


def reported(place: Place, library: Library) -> RunReport:
    """Return the report of the newest run."""
    sources = ReportSources(place=place, case_files=(), library=library, today=TODAY)
    return report(place.artifacts.runs()[-1], sources)


def test_the_recorded_calls_of_what_did_not_pass_are_shown(place: Place, library: Library) -> None:
    calls = [call(), call("And for members?", 1, response=None, failure=Failure("ReadTimeout", "no reply"))]
    write(library.of_case("a", "loans"), *calls)
    write(library.of_case("b", "loans"), call())
    broken = library.of_case("c", "loans")
    broken.write_bytes(b"{}")
    ends = {"a": FAILED, "c": ERROR, "d": FAILED}
    trials = [trial(case_id, end, scenario="loans") for case_id, end in ends.items()]
    journal(place, trial("b", scenario="loans"), *trials)
    found = {entry.case_id: entry.taped for entry in reported(place, library).entries}
    asked = [
        Upstream("agent", f"POST {CHAT}", "200", 0.512, "How long is a loan?", "A loan lasts one week."),
        Upstream("agent", f"POST {CHAT}", "ReadTimeout", 0.512, "And for members?", ""),
    ]
    assert found["a"] == RecordedCalls(place.name(library.of_case("a", "loans")), "2026-03-01", tuple(asked))
    assert found["c"] is not None
    assert found["c"].calls == ()
    assert found["c"].problem.startswith(f"{place.name(broken)}:1: cut off in its last line")
    assert (found["b"], found["d"]) == (None, None)


def test_journals_that_cannot_be_read_are_no_steps(place: Place, library: Library) -> None:
    for damage in ("none", "broken", "large", "gone"):
        run = journal(place, trial("a"))
        if damage == "gone":
            (run / NAME).unlink()
        elif damage == "broken":
            (run / NAME).write_text("{}\n", encoding="utf-8")
        elif damage == "large":
            with (run / NAME).open("ab") as file:
                file.truncate(65 << 20)
    newest = place.artifacts.new_run(NOON + timedelta(days=1))
    write_journal(newest, Record(header(("a", "due"), run=newest.name), (trial("a", FAILED),), 1))
    [entry] = reported(place, library).entries
    assert [(step.run, step.outcome.value) for step in entry.steps] == [
        ("2026-03-10T120000", "passed"),
        (newest.name, "failed"),
    ]
