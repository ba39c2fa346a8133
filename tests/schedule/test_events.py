"""Events: what a run adds, and a fold that does not ask in which order files are read."""

from __future__ import annotations

from datetime import date
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.schedule.boxes import DATASET, fold, reset
from pytest_recall.schedule.events import Apart, Event, Events, events_of, fold_events
from pytest_recall.schedule.suspects import Touches, with_touches
from pytest_recall.trials.trial import Row, Trial
from tests.helpers.samples import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    TODAY,
    case_ids,
    changes,
    costly,
    dates,
    days,
    header,
    row,
    rows,
    trial,
)


def events(run: str, day: date = TODAY, *verdicts: Event, **more: object) -> Events:
    """Return the events of a run."""
    return Events(run, day, "pr", verdicts=verdicts, **more)  # type: ignore[arg-type]


few_rows: st.SearchStrategy[dict[str, Row]] = st.dictionaries(case_ids, rows(), max_size=8)
runs = st.dictionaries(
    case_ids,
    st.builds(
        lambda run, day, verdicts, swap, touching: events(
            run,
            day,
            *(
                Event(case_id, PASSED if passed else FAILED, cleared=touching if passed and swap else ())
                for case_id, passed in verdicts.items()
            ),
            change=touching[-1],
            affected=tuple(verdicts)[1:],
            model="m2" if swap else None,
            reset=swap,
            quarantine=Quarantine(2, "ana"),
        ),
        st.sampled_from(["2026-03-10T120000", "2026-03-10T120001"]),
        dates,
        st.dictionaries(case_ids, st.booleans(), max_size=4),
        st.booleans(),
        st.lists(changes, min_size=1, max_size=3, unique=True).map(tuple),
    ),
    max_size=6,
)


@costly
@given(few_rows, runs, st.randoms(use_true_random=False))
def test_the_order_of_files_does_not_matter(known: dict[str, Row], files: dict[str, Events], random: Random) -> None:
    shuffled = list(files.items())
    random.shuffle(shuffled)
    assert fold_events(known, dict(shuffled)) == fold_events(known, files)


@costly
@given(few_rows, runs)
def test_the_fold_is_that_of_the_runs_one_after_the_other(known: dict[str, Row], files: dict[str, Events]) -> None:
    expected = dict(known)
    for _, one in sorted(files.items(), key=lambda item: (item[1].date, item[1].run, item[0])):
        if one.reset:
            expected |= reset(expected, one.model, one.date)
        expected |= fold(expected, [event.trial() for event in one.verdicts], one.date, one.quarantine)
        cleared = {event.case_id: event.cleared for event in one.verdicts}
        expected |= with_touches(expected, Touches(one.change, one.affected, cleared))
    assert {**known, **fold_events(known, files)} == expected


@costly
@given(few_rows, runs)
def test_events_may_be_folded_day_by_day(known: dict[str, Row], files: dict[str, Events]) -> None:
    """As `recall state fold` does: the older ones first, the rest another time."""
    middle = date(2026, 6, 1)
    old = {name: one for name, one in files.items() if one.date <= middle}
    new = {name: one for name, one in files.items() if one.date > middle}
    halfway = {**known, **fold_events(known, old)}
    assert {**halfway, **fold_events(halfway, new)} == {**known, **fold_events(known, files)}


def test_events_of_a_run_are_what_the_schedule_learns_from() -> None:
    trials = [
        trial("a", FAILED, reason="due", pr="7", model="m"),
        trial("a", PASSED, reason="due", pr="7", model="m"),
        trial("b", FAILED, reason="new", pr="7", model="m"),
        trial("c", ERROR),
        trial("d", SKIPPED),
        trial("e", counts_for_schedule=False),
        trial("f", reason=DATASET),
        trial("g", FAILED, arm="raw"),
    ]
    found = events_of(header(pr="7", model="m", lapses=4, owner="ana"), trials, 9)
    assert found == Events(
        run="2026-03-10T120000",
        date=TODAY,
        who="pr7",
        trials=9,
        model="m",
        quarantine=Quarantine(4, "ana"),
        verdicts=(
            Event("a", PASSED, "", "due", "7", "m"),
            Event("b", FAILED, "contains: no “one pound”", "new", "7", "m"),
        ),
        unanswered=("c", "d"),
    )


@costly
@given(few_rows, st.lists(st.builds(trial, case_ids, st.sampled_from([PASSED, FAILED, ERROR])), max_size=8))
def test_events_leave_the_rows_that_the_trials_do(known: dict[str, Row], trials: list[Trial]) -> None:
    found = events_of(header(lapses=2, owner="ana"), trials, len(trials))
    assert fold_events(known, {"a": found}) == fold(known, trials, TODAY, Quarantine(2, "ana"))


def test_only_the_first_events_of_a_run_reset() -> None:
    assert events_of(header(reset=True), [], 0).reset
    assert not events_of(header(reset=True), [], 0, first=False).reset


def test_a_case_is_set_apart_and_taken_back_in_the_order_of_days() -> None:
    before = {"a": row(3, 3, lapses=4)}
    apart = Events("r", TODAY, "quarantine", apart=(Apart("a", TODAY, None, "bo"), Apart("gone", TODAY, None, "bo")))
    back = Events("r", TODAY + days(1), "quarantine", apart=(Apart("a", None),))
    assert fold_events(before, {"x": apart}) == {"a": before["a"]._replace(quarantined=TODAY, owner="bo")}
    assert fold_events(before, {"y": apart, "x": back}) == {"a": before["a"]._replace(lapses=0)}
