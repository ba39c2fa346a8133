"""Events: what a run adds, and a fold that does not ask in which order files are read."""

from __future__ import annotations

from datetime import date
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.schedule.boxes import DATASET, fold, reset
from pytest_recall.schedule.events import (
    Apart,
    Event,
    Events,
    events_of,
    fold_behind,
    fold_events,
    fold_unanswered,
    in_order,
    waiver_of,
)
from pytest_recall.schedule.run_file import parse_run_file, run_file_text
from pytest_recall.schedule.selection import Unanswered
from pytest_recall.schedule.suspects import Touches, with_touches
from pytest_recall.trials.detector import RatioRule
from pytest_recall.trials.record import Record, Waiver
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Outcome, Row, Trial
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
    """As runs on the default branch do: what waits then, the rest another time."""
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


def test_what_a_fail_rests_on_comes_back_from_the_file() -> None:
    rule = str(RatioRule(70))
    told = [trial("a", one, repeat=number, rule=rule) for number, one in enumerate([FAILED, PASSED, PASSED, PASSED], 1)]
    found = events_of(header(), told, 4)
    (read,) = parse_run_file(run_file_text(found), "x.yaml").verdicts
    assert read.weighed == "fppp"
    assert read.trial().weighed == graded(told)["a"].weighed
    assert read.trial().is_doubted


@costly
@given(few_rows, st.lists(st.builds(trial, case_ids, st.sampled_from([PASSED, FAILED, ERROR])), max_size=8))
def test_events_leave_the_rows_that_the_trials_do(known: dict[str, Row], trials: list[Trial]) -> None:
    found = events_of(header(lapses=2, owner="ana"), trials, len(trials))
    assert fold_events(known, {"a": found}) == fold(known, trials, TODAY, Quarantine(2, "ana"))


def test_only_the_first_events_of_a_run_reset() -> None:
    assert events_of(header(reset=True), [], 0).reset
    assert not events_of(header(reset=True), [], 0, first=False).reset


outcomes_of_a_part = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([PASSED, FAILED, ERROR, SKIPPED]))


@costly
@given(
    st.dictionaries(st.sampled_from("abcdef"), rows()),
    st.lists(outcomes_of_a_part, min_size=1, max_size=5),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_the_parts_of_a_resumed_run_fold_as_the_whole_run(
    known: dict[str, Row], parts: list[dict[str, Outcome]], swap: bool, random: Random
) -> None:
    """Each part asks what has no verdict yet, and has a file of its own, whose name says nothing of their order."""
    record = header(
        pr="7",
        model="m2",
        lapses=2,
        owner="ana",
        reset=swap,
        affected=("b", "d"),
    )
    trials: list[Trial] = []
    files: dict[str, Events] = {}
    digests = random.sample(range(100), len(parts))
    for digest, part in zip(digests, parts, strict=True):
        done = {one.case_id for one in trials if one.outcome.is_verdict}
        asked = [trial(each, outcome, reason="affected", row=known.get(each)) for each, outcome in part.items()]
        trials += (one for one in asked if one.case_id not in done)
        found = [one for one in trials if one.case_id in part.keys() - done]
        told = events_of(record, found, len(trials), first=not files)
        files[f"run-{digest:02}"] = told._replace(quarantine=Quarantine(2, "ana"))
    whole = events_of(record, trials, len(trials))
    once = {"run": whole._replace(quarantine=Quarantine(2, "ana"))}
    asked_before = {"a": Unanswered(TODAY - days(3), 2)}
    assert fold_events(known, files) == fold_events(known, once)
    assert fold_unanswered(asked_before, files) == fold_unanswered(asked_before, once)


def test_a_waived_case_is_named_until_it_has_a_verdict() -> None:
    waiver = Events("r", TODAY, "waiver", unanswered=("asked", "never"), waived="ann for #7")
    asked_before = {"asked": Unanswered(TODAY, 1), "other": Unanswered(TODAY, 2)}
    found = fold_unanswered(asked_before, {"waiver": waiver})
    assert found == {
        "asked": Unanswered(TODAY, 1, "ann for #7"),
        "never": Unanswered(TODAY, 0, "ann for #7"),
        "other": Unanswered(TODAY, 2),
    }
    assert not any(found[case_id].rests for case_id in ("asked", "never"))
    failing_again = Events("s", TODAY + days(1), "main", unanswered=("asked",))
    assert fold_unanswered(found, {"main": failing_again})["asked"] == Unanswered(TODAY + days(1), 2, "ann for #7")
    verdicts = Events("s", TODAY + days(1), "main", verdicts=(Event("asked", FAILED), Event("never", PASSED)))
    assert fold_unanswered(found, {"main": verdicts}) == {"other": Unanswered(TODAY, 2)}
    assert fold_events({}, {"waiver": waiver}) == {}


def test_what_the_default_branch_could_not_record_is_behind_until_it_has() -> None:
    missing = (("asked", "", "k1"), ("left", "", "k2"), ("again", "k0", "k3"), ("same", "k4", "k4"), ("gone", "k5", ""))
    of_main = header(mode="main", missing=missing)
    told = events_of(of_main, [trial("asked", PASSED), trial("left", ERROR)], 2)
    assert dict(told.behind) == {"left": "k2", "again": "k3", "gone": ""}
    assert {"left", "again", "gone"} <= told.about
    before = {"again": "k0", "same": "k4", "gone": "k5"}
    after = fold_behind(before, {"main": told})
    assert after == {"left": "k2", "again": "k3", "same": "k4"}
    assert parse_run_file(run_file_text(told), "run.yaml").behind == told.behind
    # What goes on with the run tells of what that has recorded since, and of nothing else.
    rest = events_of(of_main, [trial("left", FAILED), trial("same", PASSED)], 4, first=False)
    assert fold_behind(after, {"rest": rest}) == {"again": "k3"}
    assert events_of(header(mode="main", missing=(("asked", "", "k"),)), [trial("asked", PASSED)], 1).behind == ()


def test_only_a_waiver_adds_such_events() -> None:
    record = Record(header(pr="7", commit="c" * 40))
    assert waiver_of(record) is None
    found = waiver_of(record._replace(waiver=Waiver("ann", "2026-03-10T12:00:00", ("a", "b"), "an outage")))
    assert found is not None
    assert (found.waived, found.unanswered, found.commit) == ("ann for #7", ("a", "b"), "c" * 40)
    assert found.about == {"a", "b"}


def test_runs_that_began_in_one_second_are_folded_one_after_the_other() -> None:
    """Their parts have numbers of their own, and one does not fall between those of the other."""
    one = [Events("r", TODAY, "pr1", trials) for trials in (1, 5)]
    other = [Events("r", TODAY, "pr2", trials) for trials in (3, 9)]
    files = dict(zip("dbca", [one[0], other[0], one[1], other[1]], strict=True))
    assert [files[name] for name in in_order(files)] == [*one, *other]


def test_a_case_is_set_apart_and_taken_back_in_the_order_of_days() -> None:
    before = {"a": row(3, 3, lapses=4)}
    apart = Events("r", TODAY, "quarantine", apart=(Apart("a", TODAY, None, "bo"), Apart("gone", TODAY, None, "bo")))
    back = Events("r", TODAY + days(1), "quarantine", apart=(Apart("a", None),))
    assert fold_events(before, {"x": apart}) == {"a": before["a"]._replace(quarantined=TODAY, owner="bo")}
    assert fold_events(before, {"y": apart, "x": back}) == {"a": before["a"]._replace(lapses=0)}
